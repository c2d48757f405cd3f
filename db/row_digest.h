// The digest of a row: BLAKE2b over its fields, each with its length, so that no two lists of fields give one byte string.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace polyweft::db
