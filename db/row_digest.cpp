#include "db/row_digest.h"

#include <cstring>

#include "support/hash.h"

namespace polyweft::db {

RowDigest& RowDigest::text(const std::string& field) {
  integer(static_cast<int64_t>(field.size()));
  payload_ += field;
  return *this;
}

RowDigest& RowDigest::integer(int64_t field) {
  for (int shift = 0; shift < 64; shift += 8) payload_ += static_cast<char>((static_cast<uint64_t>(field) >> shift) & 0xff);
  return *this;
}

RowDigest& RowDigest::real(double field) {
  int64_t bits = 0;
  std::memcpy(&bits, &field, sizeof bits);
  return integer(bits);
}

namespace {
std::string payload_digest(const std::string& payload) {
  const auto digest = blake2b_128(payload);
  return std::string(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
}
}  // namespace

std::string RowDigest::finish() const {
  return payload_digest(payload_);
}

}  // namespace polyweft::db
