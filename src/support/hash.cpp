#include "support/hash.h"

#include <sodium/core.h>
#include <sodium/crypto_generichash_blake2b.h>

#include <algorithm>

#include "polyweft/result.h"

namespace polyweft {
namespace {

// Without it libsodium hashes with its portable code, half as fast; the call is safe from any thread and does its work
// once.
void choose_implementation() {
  static const int ready = sodium_init();
  PW_CHECK(ready >= 0);
}

const unsigned char* raw(const void* data) {
  return static_cast<const unsigned char*>(data);
}

Digest128 shortened(const Digest256& digest) {
  Digest128 out;
  std::copy_n(digest.bytes.begin(), out.bytes.size(), out.bytes.begin());
  return out;
}

std::string hex_of(const uint8_t* bytes, size_t count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * count);
  for (size_t i = 0; i < count; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

int value_of_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

template <size_t Bytes>
std::optional<Digest<Bytes>> from_hex(std::string_view text) {
  if (text.size() != 2 * Bytes) return std::nullopt;
  Digest<Bytes> out;
  for (size_t i = 0; i < Bytes; ++i) {
    const int high = value_of_digit(text[2 * i]), low = value_of_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out.bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return out;
}

}  // namespace

std::string hex(const Digest128& digest) {
  return hex_of(digest.bytes.data(), digest.bytes.size());
}
std::string hex(const Digest256& digest) {
  return hex_of(digest.bytes.data(), digest.bytes.size());
}
std::optional<Digest128> digest128_from_hex(std::string_view text) {
  return from_hex<16>(text);
}
std::optional<Digest256> digest256_from_hex(std::string_view text) {
  return from_hex<32>(text);
}

Digest256 blake2b_256(std::string_view bytes) {
  choose_implementation();
  Digest256 out;
  crypto_generichash_blake2b(out.bytes.data(), out.bytes.size(), raw(bytes.data()), bytes.size(), nullptr, 0);
  return out;
}

Digest128 blake2b_128(std::string_view bytes) {
  return shortened(blake2b_256(bytes));
}

Digest256 blake2b_256_keyed(std::string_view key, std::string_view bytes) {
  PW_CHECK(key.size() >= 16 && key.size() <= crypto_generichash_blake2b_KEYBYTES_MAX);
  choose_implementation();
  Digest256 out;
  crypto_generichash_blake2b(out.bytes.data(), out.bytes.size(), raw(bytes.data()), bytes.size(), raw(key.data()),
                             key.size());
  return out;
}

struct Hasher::State {
  crypto_generichash_blake2b_state blake;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  choose_implementation();
  crypto_generichash_blake2b_init(&state_->blake, nullptr, 0, sizeof(Digest256));
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

Hasher& Hasher::update(std::string_view bytes) {
  return update(bytes.data(), bytes.size());
}

Hasher& Hasher::update(const void* data, size_t bytes) {
  PW_CHECK(state_ != nullptr);
  crypto_generichash_blake2b_update(&state_->blake, raw(data), bytes);
  return *this;
}

Hasher& Hasher::field(std::string_view bytes) {
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<uint8_t>(static_cast<uint64_t>(bytes.size()) >> (8 * i));
  update(length, sizeof length);
  return update(bytes);
}

Digest256 Hasher::finish256() {
  PW_CHECK(state_ != nullptr);
  Digest256 out;
  crypto_generichash_blake2b_final(&state_->blake, out.bytes.data(), out.bytes.size());
  state_.reset();
  return out;
}

Digest128 Hasher::finish128() {
  return shortened(finish256());
}

}  // namespace polyweft
