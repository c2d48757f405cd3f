// A small, fast, forkable random generator: xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number
// generators", 2021) seeded through splitmix64. Results depend on the seed and on nothing else, on every platform; the
// standard distributions differ between libraries, so the few that we need are here.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace polyweft {

/// One step of splitmix64: advances `state`, returns 64 well mixed bits.
constexpr uint64_t splitmix64(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// A uniform random bit generator (usable with std::shuffle). Copying copies the state; fork() makes independent
/// streams.
class Rng {
 public:
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return UINT64_MAX; }

  explicit constexpr Rng(uint64_t seed) {
    uint64_t s = seed;
    for (auto& word : state_) word = splitmix64(s);
  }

  /// 64 uniform bits.
  constexpr uint64_t operator()() {
    const uint64_t out = rotate_left(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate_left(state_[3], 45);
    return out;
  }

  /// Uniform in [0, n), n > 0; unbiased (Lemire, "Fast random integer generation in an interval", 2019).
  constexpr uint64_t below(uint64_t n) {
    auto wide = static_cast<unsigned __int128>((*this)()) * n;
    if (static_cast<uint64_t>(wide) < n) {
      const uint64_t threshold = -n % n;
      while (static_cast<uint64_t>(wide) < threshold) wide = static_cast<unsigned __int128>((*this)()) * n;
    }
    return static_cast<uint64_t>(wide >> 64);
  }

  /// Uniform in [lo, hi], lo <= hi.
  constexpr int64_t between(int64_t lo, int64_t hi) {
    const uint64_t width = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) + 1;
    const uint64_t offset = width == 0 ? (*this)() : below(width);
    return static_cast<int64_t>(static_cast<uint64_t>(lo) + offset);
  }

  /// Uniform in [0, 1), 53 bits.
  constexpr double uniform() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }
  /// True with probability p.
  constexpr bool chance(double p) { return uniform() < p; }

  /// An independent generator for the stream of that number; this one does not advance, so the order of forks is
  /// irrelevant.
  constexpr Rng fork(uint64_t stream) const {
    uint64_t s = state_[0] ^ rotate_left(state_[1], 16) ^ rotate_left(state_[2], 32) ^ rotate_left(state_[3], 48);
    s = splitmix64(s) ^ stream;
    return Rng(splitmix64(s));
  }
  /// The same, by name (FNV-1a of the name as the stream's number).
  constexpr Rng fork(std::string_view name) const {
    uint64_t h = 0xcbf29ce484222325u;
    for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return fork(h);
  }

 private:
  static constexpr uint64_t rotate_left(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::array<uint64_t, 4> state_{};
};

}  // namespace polyweft
