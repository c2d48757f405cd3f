// A folder and a file for each test of the database, and SQL on it behind Polyweft's back.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "db/record_fixture.h"
#include "polyweft/database.h"

namespace polyweft {

inline std::string text_of(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class DatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-db-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ / "schedules.db";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<Database> open() {
    auto database = open_database(path_);
    EXPECT_TRUE(database.ok()) << database.error().message;
    return std::move(database).value();
  }
  void execute(const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &handle), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << (message ? message : "");
    sqlite3_close(handle);
  }
  std::filesystem::path folder_, path_;
};

}  // namespace polyweft
