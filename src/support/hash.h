// BLAKE2b (RFC 7693) digests: the identity of programs, nests, objects and rows. Never XXH or std::hash: identities
// cross trust borders, so they must resist collisions made on purpose.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace polyweft {

template <size_t Bytes>
struct Digest {
  std::array<uint8_t, Bytes> bytes{};
  bool operator==(const Digest&) const = default;
  auto operator<=>(const Digest&) const = default;
};
using Digest128 = Digest<16>;
using Digest256 = Digest<32>;

/// Lower case hexadecimal, two digits a byte.
std::string hex(const Digest128& digest);
std::string hex(const Digest256& digest);
/// The inverse of hex(); nothing for a wrong length or a character that is no digit.
std::optional<Digest128> digest128_from_hex(std::string_view text);
std::optional<Digest256> digest256_from_hex(std::string_view text);

/// BLAKE2b-256 of the bytes; digest128 is its first 16 bytes, so that a short key is a prefix of the long one.
Digest256 blake2b_256(std::string_view bytes);
Digest128 blake2b_128(std::string_view bytes);
/// Keyed BLAKE2b-256, key of 16 to 64 bytes: only who knows the key can make the digest.
Digest256 blake2b_256_keyed(std::string_view key, std::string_view bytes);

/// The same digest in pieces: update() with the parts gives the digest of their concatenation.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  Hasher& update(std::string_view bytes);
  Hasher& update(const void* data, size_t bytes);
  /// Length first, then the bytes: a list of fields hashed so cannot be confused with another split of the same bytes.
  Hasher& field(std::string_view bytes);
  /// Ends the stream; the hasher may not be used afterwards.
  Digest256 finish256();
  Digest128 finish128();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace polyweft
