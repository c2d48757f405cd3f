#include "support/host_secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace polyweft {
namespace {

class HostSecret : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-secret-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ / "state/polyweft/secret";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  mode_t mode(const std::filesystem::path& path) const {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  std::string why(const std::string& path) const {
    const auto secret = host_secret(path);
    return secret ? "" : secret.error().code + " " + secret.error().message;
  }
  std::filesystem::path folder_, path_;
};

TEST_F(HostSecret, is_made_once_for_its_user_alone) {
  const auto made = host_secret(path_);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->size(), 32u);
  EXPECT_NE(*made, std::string(32, '\0'));
  EXPECT_EQ(*host_secret(path_), *made);
  EXPECT_EQ(mode(path_), 0600u);
  EXPECT_EQ(mode(path_.parent_path()), 0700u);
  EXPECT_NE(*host_secret(folder_ / "another"), *made);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path_.parent_path())) files += entry.is_regular_file();
  EXPECT_EQ(files, 1u) << "a draft was left behind";
}

TEST_F(HostSecret, that_others_may_know_is_none) {
  ASSERT_TRUE(host_secret(path_).ok());
  for (const mode_t open : {0640, 0604, 0620, 0602, 0644}) {
    ASSERT_EQ(chmod(path_.c_str(), open), 0);
    EXPECT_EQ(why(path_),
              "PW0722 secret of this host, " + path_.string() + ": others may read or write it; its mode must be 0600");
  }
}

TEST_F(HostSecret, comes_from_a_whole_regular_file_only) {
  std::filesystem::create_directories(path_.parent_path());
  for (const size_t bytes : {size_t{0}, size_t{31}, size_t{33}, size_t{4096}}) {
    std::filesystem::remove(path_);
    std::ofstream(path_) << std::string(bytes, 'x');
    ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
    EXPECT_EQ(why(path_), "PW0722 secret of this host, " + path_.string() + ": it does not hold 32 bytes");
  }
  std::filesystem::rename(path_, folder_ / "elsewhere");
  std::filesystem::create_symlink(folder_ / "elsewhere", path_);
  EXPECT_NE(why(path_), "");
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_NE(why(path_), "");
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(why(path_), "PW0722 secret of this host, " + path_.string() + ": no regular file of this user");
}

TEST_F(HostSecret, cannot_be_made_everywhere) {
  EXPECT_EQ(why(""), "PW0722 no file for a secret of this host is known");
  EXPECT_NE(why("/proc/nowhere/polyweft/secret"), "");
}

TEST_F(HostSecret, is_one_for_all_who_make_it_at_once) {
  constexpr int kMakers = 8;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (int k = 0; k < kMakers; ++k)
    if (fork() == 0) {
      const auto secret = host_secret(path_);
      _exit(secret && write(ends[1], secret->data(), 32) == 32 ? 0 : 1);
    }
  close(ends[1]);
  for (int k = 0; k < kMakers; ++k) {
    int status = 0;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  std::string all(32 * kMakers + 1, '\0');
  ASSERT_EQ(read(ends[0], all.data(), all.size()), 32 * kMakers);
  for (int k = 0; k < kMakers; ++k) EXPECT_EQ(all.substr(32 * static_cast<size_t>(k), 32), all.substr(0, 32));
  close(ends[0]);
}

}  // namespace
}  // namespace polyweft
