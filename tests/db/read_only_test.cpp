// Files that cannot be written: rights, folders, file systems. Root may write everything, so each test runs as somebody
// else in a child.
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/database_fixture.h"

namespace polyweft {
namespace {

constexpr uid_t kNobody = 65534;

// Exit status 0 where `body` gives an empty text, which is what went wrong; 77 where the child could not become nobody.
template <class F>
std::string in_child(const F& body) {
  int ends[2];
  PW_CHECK(pipe(ends) == 0);
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string wrong = body();
    PW_CHECK(write(ends[1], wrong.data(), wrong.size()) == static_cast<ssize_t>(wrong.size()));
    _exit(0);
  }
  close(ends[1]);
  std::string out(4096, '\0');
  const ssize_t count = read(ends[0], out.data(), out.size());
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  out.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? out : "the child ended with status " + std::to_string(status);
}

bool become_nobody() {
  return geteuid() != 0 || (setgroups(0, nullptr) == 0 && setgid(kNobody) == 0 && setuid(kNobody) == 0);
}

class ReadOnly : public DatabaseTest {
 protected:
  // A look-up finds the record, and nothing can be stored; empty: so it is.
  std::string reads_and_refuses() const {
    const TuningRecord wanted = numbered_record(1);
    auto database = open_database(path_);
    if (!database) return "it does not open: " + database.error().message;
    auto found = (*database)->best(wanted.key, wanted.canonical_text);
    if (!found) return "it does not read: " + found.error().message;
    if (!*found || (*found)->nest_text != wanted.nest_text) return "the record is not found";
    if ((*database)->integrity()->size() != 0) return "it is damaged: " + (*database)->integrity()->front();
    const std::string message = "database " + path_.string() + ": cannot be written";
    if (auto writable = (*database)->is_writable(); writable || writable.error().message != message)
      return "is_writable: " + (writable ? "yes" : writable.error().message);
    if (auto attested = (*database)->attest(1, {std::string(16, 'h'), 1, std::string(32, 'm')});
        attested || attested.error().code != "PW0704")
      return "attest() says yes";
    if (auto stored = (*database)->insert(wanted); stored || stored.error().code != "PW0704")
      return "insert() says yes";
    return "";
  }
  void as_nobody(mode_t file, mode_t folder) {
    ASSERT_EQ(chmod(path_.c_str(), file), 0);
    ASSERT_EQ(chmod(folder_.c_str(), folder), 0);
    EXPECT_EQ(in_child([&] { return become_nobody() ? reads_and_refuses() : std::string("setuid failed"); }), "");
    ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
  }
};

TEST_F(ReadOnly, a_log_database_is_read_without_rights_to_file_and_folder) {
  ASSERT_TRUE(open()->insert(numbered_record(1)).ok());
  as_nobody(0444, 0555);
  EXPECT_FALSE(std::filesystem::exists(path_.string() + "-shm"));
}

TEST_F(ReadOnly, a_log_database_is_read_where_its_folder_alone_cannot_be_written) {
  ASSERT_TRUE(open()->insert(numbered_record(1)).ok());
  as_nobody(0666, 0555);
}

TEST_F(ReadOnly, a_database_without_log_is_read_too) {
  ASSERT_TRUE(open()->insert(numbered_record(1)).ok());
  execute("PRAGMA journal_mode = DELETE");
  as_nobody(0444, 0555);
}

TEST_F(ReadOnly, an_older_schema_is_read_from_a_copy_in_memory) {
  for (const char* older : {"/tests/db/schema_1.sql", "/tests/db/schema_2.sql"}) {
    SCOPED_TRACE(older);
    std::filesystem::remove(path_);
    execute("PRAGMA journal_mode = WAL;" + text_of((std::string(PW_SOURCE_DIR) + older).c_str()));
    as_nobody(0444, 0555);
  }
}

// What was committed and stands in the log alone is never left out unsaid.
TEST_F(ReadOnly, rows_that_stand_in_the_log_alone_are_read_or_the_file_is_refused) {
  auto writer = open();
  ASSERT_TRUE(writer->insert(numbered_record(1)).ok());
  for (const char* suffix : {"", "-wal", "-shm"})
    std::filesystem::copy_file(path_.string() + suffix, folder_ / ("copy" + std::string(suffix)));
  writer.reset();
  path_ = folder_ / "copy";
  ASSERT_GT(std::filesystem::file_size(path_.string() + "-wal"), 0u);
  for (const char* suffix : {"-wal", "-shm"}) ASSERT_EQ(chmod((path_.string() + suffix).c_str(), 0444), 0);
  as_nobody(0444, 0555);
  std::filesystem::remove(path_.string() + "-shm");
  ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
  EXPECT_EQ(in_child([&]() -> std::string {
              if (!become_nobody()) return "setuid failed";
              auto database = open_database(path_);
              return database ? reads_and_refuses() : database.error().message;
            }),
            "database " + path_.string() + ": cannot be written, and rows stand in its log " + path_.string() +
                "-wal, which SQLite cannot read so");
  ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
}

TEST_F(ReadOnly, a_read_only_file_system) {
  ASSERT_TRUE(open()->insert(numbered_record(1)).ok());
  const std::string wrong = in_child([&]() -> std::string {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 && unshare(CLONE_NEWNS) != 0) return "skip";
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "skip";
    if (mount(folder_.c_str(), folder_.c_str(), nullptr, MS_BIND, nullptr) != 0) return "skip";
    if (mount(nullptr, folder_.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0) return "skip";
    return reads_and_refuses();
  });
  if (wrong == "skip") GTEST_SKIP() << "this machine lets nobody mount a folder";
  EXPECT_EQ(wrong, "");
}

}  // namespace
}  // namespace polyweft
