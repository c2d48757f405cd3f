// Answers kept in a file: found by question, build and secret; whatever happens to the file, they are right or absent.
#include "db/answer_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace polyweft {
namespace {

class AnswerCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("polyweft-answers-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return (folder_ / "a" / "answers.db").string(); }
  AnswerCache cache(const std::string& build = "build", const std::string& secret = std::string(32, 's'),
                    int64_t most_bytes = int64_t{64} << 20) const {
    return AnswerCache({path(), secret, build, most_bytes});
  }
  std::string bytes() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void write(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }

  std::filesystem::path folder_;
};

TEST_F(AnswerCacheTest, another_process_finds_what_one_kept) {
  EXPECT_FALSE(cache().find("why"));
  EXPECT_FALSE(std::filesystem::exists(path())) << "who only looks makes no file";
  cache().keep("why", "because");
  cache().keep("empty", "");
  EXPECT_EQ(cache().find("why"), "because");
  EXPECT_EQ(cache().find("empty"), "");
  EXPECT_FALSE(cache().find("how"));
  cache().keep("why", "for a reason");
  EXPECT_EQ(cache().find("why"), "for a reason");
}

TEST_F(AnswerCacheTest, nobody_else_may_read_the_file) {
  cache().keep("why", "because");
  struct stat found {};
  ASSERT_EQ(::stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  EXPECT_EQ(bytes().find("why"), std::string::npos) << "questions are texts of programs";
}

TEST_F(AnswerCacheTest, other_builds_and_other_hosts_find_nothing) {
  cache().keep("why", "because");
  EXPECT_FALSE(cache("other build").find("why"));
  EXPECT_FALSE(cache("build", std::string(32, 't')).find("why"));
  EXPECT_FALSE(cache("build", "").find("why"));
  EXPECT_EQ(cache().find("why"), "because");
}

TEST_F(AnswerCacheTest, any_altered_byte_gives_the_answer_or_none) {
  const std::string answer = "the answer " + std::string(200, 'x');
  cache().keep("why", answer);
  const std::string whole = bytes();
  std::mt19937 random(1);
  int found = 0;
  for (int n = 0; n < 300; ++n) {
    std::string altered = whole;
    for (int k = 0; k <= n % 3; ++k) altered[random() % altered.size()] ^= static_cast<char>(1u << random() % 8);
    if (n % 10 == 0) altered.resize(random() % altered.size());
    write(altered);
    AnswerCache again = cache();
    if (const auto got = again.find("why")) {
      EXPECT_EQ(*got, answer);
      ++found;
    }
    again.keep("how", "so");
    EXPECT_TRUE(!again.find("how") || again.find("how") == "so");
  }
  EXPECT_GT(found, 30) << "most of the file is empty";
}

TEST_F(AnswerCacheTest, a_file_of_something_else_is_made_anew) {
  std::filesystem::create_directories(std::filesystem::path(path()).parent_path());
  write("this is not a database, but some text that somebody left here, long enough to be looked at\n");
  cache().keep("why", "because");
  EXPECT_EQ(cache().find("why"), "because");
}

TEST_F(AnswerCacheTest, what_cannot_be_written_is_no_trouble) {
  std::filesystem::create_directories(path());  // a folder
  cache().keep("why", "because");
  EXPECT_FALSE(cache().find("why"));
  AnswerCache nowhere({"/proc/nowhere/answers.db", std::string(32, 's'), "build"});
  nowhere.keep("why", "because");
  EXPECT_FALSE(nowhere.find("why"));
}

TEST_F(AnswerCacheTest, the_oldest_answers_go_where_it_is_full) {
  constexpr int64_t kMost = 200'000;
  AnswerCache full = cache("build", std::string(32, 's'), kMost);
  for (int n = 0; n < 200; ++n) full.keep("question " + std::to_string(n), std::string(4000, 'a'));
  EXPECT_LT(std::filesystem::file_size(path()), 2 * kMost);
  EXPECT_TRUE(full.find("question 199"));
  EXPECT_FALSE(full.find("question 0"));
  full.keep("long", std::string(kMost, 'b'));
  EXPECT_FALSE(full.find("long")) << "one answer must not drive out all others";
}

TEST_F(AnswerCacheTest, several_may_write_at_once) {
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w)
    writers.emplace_back([&, w] {
      AnswerCache own = cache();
      for (int n = 0; n < 40; ++n) {
        const std::string question = std::to_string(w) + " " + std::to_string(n);
        own.keep(question, "answer to " + question);
        if (const auto got = own.find(question)) EXPECT_EQ(*got, "answer to " + question);
      }
    });
  for (std::thread& writer : writers) writer.join();
  int found = 0;
  AnswerCache all = cache();
  for (int w = 0; w < 4; ++w)
    for (int n = 0; n < 40; ++n) {
      const std::string question = std::to_string(w) + " " + std::to_string(n);
      if (const auto got = all.find(question)) found += *got == "answer to " + question;
    }
  EXPECT_GT(found, 80) << "a busy file may cost answers, not many";
}

}  // namespace
}  // namespace polyweft
