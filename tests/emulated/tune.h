// What tests of searches by a runner in an emulator have: a folder with a database, a small program, few trials.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "polyweft/tuner.h"

namespace polyweft::emulated_test {

class TuneFolder {
 public:
  TuneFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-emulated-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~TuneFolder() { std::filesystem::remove_all(path_); }
  TuneFolder(const TuneFolder&) = delete;
  TuneFolder& operator=(const TuneFolder&) = delete;

  Tuner tuner(const Target& target, std::vector<std::string> runner = {}) const {
    TunerOptions options;
    options.database = path_ / "s.db";
    options.may_miss_database = true;
    options.runner = std::move(runner);
    return Tuner(target, options);
  }
  std::string file(const std::string& name) const { return path_ / name; }
  void write(const std::string& name, const std::vector<unsigned char>& bytes) const {
    write(name, std::string(bytes.begin(), bytes.end()));
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

 private:
  std::filesystem::path path_;
};

inline Program tuned_product() {
  return parse_program(
             "program product(M = 24, N = 40, K = 32)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] "
             "A[i, k] * B[k, j]\n")
      .value();
}

inline TuneOptions trials(int count) {
  TuneOptions options;
  options.trials = count;
  options.budget = TuneOptions::kNoLimit;
  return options;
}

}  // namespace polyweft::emulated_test
