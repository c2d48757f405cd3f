// Reads what GPUs did: the files of tests/gpu/recorded, whose format its README.md states.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace polyweft::emulator_test {

struct RecordedArray {
  std::vector<int64_t> extents;
  std::vector<uint64_t> words;
};
struct Record {
  std::string name;
  std::map<std::string, std::string> values;  ///< KEY=VALUE
  std::map<std::string, RecordedArray> arrays;
};
/// All records of a file of that folder; none where it cannot be read.
std::vector<Record> recorded(const std::string& file);

}  // namespace polyweft::emulator_test
