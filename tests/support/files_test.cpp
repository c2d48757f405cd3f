// Files by what they are: regular ones are read up to a limit, everything else is refused at once.
#include "support/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace polyweft {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  Files() : folder_(fs::temp_directory_path() / ("polyweft_files_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~Files() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  /// Message and code without the path, or the text behind "read: ".
  static std::string answer(const std::string& path, uint64_t most = 10) {
    const auto text = read_regular_file(path, most, "PW0001");
    if (text) return "read: " + *text;
    EXPECT_EQ(text.error().message.substr(0, path.size() + 2), path + ": ");
    return text.error().message.substr(path.size() + 2) + " [" + text.error().code + "]";
  }

  fs::path folder_;
};

TEST_F(Files, are_read_up_to_the_limit) {
  EXPECT_EQ(answer(file("empty", "")), "read: ");
  EXPECT_EQ(answer(file("short", "abc")), "read: abc");
  EXPECT_EQ(answer(file("full", "0123456789")), "read: 0123456789");
  EXPECT_EQ(answer(file("long", "0123456789a")), "has 11 bytes, the limit is 10 [PW0001]");
  fs::create_symlink(path("short"), path("link"));
  EXPECT_EQ(answer(path("link")), "read: abc");
}

TEST_F(Files, of_other_kinds_are_refused) {
  EXPECT_EQ(answer(path("none")), "cannot be read [PW0001]");
  EXPECT_EQ(answer(folder_.string()), "is a folder, not a file [PW0001]");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(answer(path("pipe")), "is a pipe, not a file [PW0001]");
  EXPECT_EQ(answer("/dev/zero"), "is a device, not a file [PW0001]");
  fs::create_symlink("/dev/zero", path("zeros"));
  EXPECT_EQ(answer(path("zeros")), "is a device, not a file [PW0001]");
  fs::create_symlink("nowhere", path("dangling"));
  EXPECT_EQ(answer(path("dangling")), "cannot be read [PW0001]");
  EXPECT_TRUE(is_there(path("dangling")));
  EXPECT_FALSE(is_there(path("none")));
}

TEST_F(Files, that_are_sockets_are_refused) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path("s").size(), sizeof address.sun_path);
  std::strcpy(address.sun_path, path("s").c_str());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(answer(path("s")), "is a socket, not a file [PW0001]");
  close(socket);
}

TEST_F(Files, with_holes_are_refused_by_their_length) {
  const std::string hole = file("hole", "x");
  ASSERT_EQ(truncate(hole.c_str(), off_t{40} << 30), 0);
  EXPECT_EQ(answer(hole, 1 << 20), "has 42949672960 bytes, the limit is 1048576 [PW0001]");
}

TEST_F(Files, that_hide_their_length_are_read_to_the_limit) {
  const std::string all = read_regular_file("/proc/self/status", 1 << 20, "PW0001").value();
  EXPECT_EQ(why_no_file("/proc/self/status"), "");
  EXPECT_EQ(why_no_kept_file("/proc/self/status"), "is made up by the kernel and keeps nothing");
  EXPECT_EQ(why_no_kept_file("/proc/self/exe"), "");
  EXPECT_GT(all.size(), 100u);
  EXPECT_EQ(answer("/proc/self/status", 10), "has more bytes than it seemed, the limit is 10 [PW0001]");
}

TEST_F(Files, are_read_in_parts) {
  auto open = RegularFile::open(file("parts", "0123456789"), "PW0001");
  ASSERT_TRUE(open);
  EXPECT_EQ(open->bytes(), 10u);
  EXPECT_EQ(open->next(4).value(), "0123");
  EXPECT_EQ(open->next(2).value(), "45");
  EXPECT_EQ(open->rest(10).value(), "6789");
  EXPECT_EQ(open->next(4).value(), "");
}

TEST_F(Files, are_written_and_pipes_only_where_somebody_reads) {
  EXPECT_TRUE(write_whole_file(path("new"), "abc"));
  EXPECT_TRUE(write_whole_file(path("new"), "d"));
  EXPECT_EQ(answer(path("new")), "read: d");
  EXPECT_FALSE(write_whole_file(path("no/new"), "abc"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(write_whole_file(path("pipe"), "abc"));
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_TRUE(write_whole_file(path("pipe"), "abc"));
  char got[4] = {};
  EXPECT_EQ(read(reader, got, sizeof got), 3);
  EXPECT_STREQ(got, "abc");
  close(reader);
}

}  // namespace
}  // namespace polyweft
