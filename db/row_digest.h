// The digest of a row: BLAKE2b over its fields, each with its length, so that no two lists of fields give one byte
// string.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polyweft/records.h"

namespace polyweft::db {

class RowDigest {
 public:
  explicit RowDigest(const std::string& table) { text(table); }
  RowDigest& text(const std::string& field);
  RowDigest& integer(int64_t field);
  RowDigest& real(double field);
  /// 16 bytes.
  std::string finish() const;

 private:
  std::string payload_;
};

/// The values of a binding, as table `binding` keeps them.
std::string join(const std::vector<int64_t>& values);
/// The inverse of join(), for what join() gives.
std::vector<int64_t> split(const std::string& text);
/// What column `key` of table `record` holds: 16 bytes, the same for equal keys.
std::string task_digest(const TaskKey& key);

}  // namespace polyweft::db
