#include "db/row_digest.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "support/hash.h"

namespace polyweft::db {

RowDigest& RowDigest::text(const std::string& field) {
  integer(static_cast<int64_t>(field.size()));
  payload_ += field;
  return *this;
}

RowDigest& RowDigest::integer(int64_t field) {
  std::array<char, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>((static_cast<uint64_t>(field) >> (8 * i)) & 0xff);
  payload_.append(bytes.data(), bytes.size());
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

std::string join(const std::vector<int64_t>& values) {
  std::string out;
  for (int64_t v : values) out += (out.empty() ? "" : ",") + std::to_string(v);
  return out;
}

std::vector<int64_t> split(const std::string& text) {
  std::vector<int64_t> out;
  std::stringstream in(text);
  for (std::string field; std::getline(in, field, ',');) out.push_back(std::strtoll(field.c_str(), nullptr, 10));
  return out;
}

std::string task_digest(const TaskKey& key) {
  return RowDigest("task")
      .text(key.program)
      .text(join(key.binding))
      .integer(static_cast<int>(key.cls))
      .text(key.target)
      .integer(key.abi)
      .integer(key.threads)
      .finish();
}

}  // namespace polyweft::db
