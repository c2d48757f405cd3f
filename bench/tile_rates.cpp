// What the tile unit (AMX) of this chip does, in cycles of its own clock: products from registers, tiles loaded and
// stored, products with operands from each cache.
//
//   bench_tile_rates            prints a table; the first two rows are the ceiling that products of tiles are compared
//   with
//
// The clock is that of a chain of multiplications run just before; other work on the machine, on the same core's other
// thread above all, makes every row worse.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "support/large_array.h"

namespace {

constexpr long kTile = 1024;  // bytes

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
template <class Body>
double best_ns(int repetitions, const Body& body) {
  double best = 1e300;
  for (int r = 0; r < repetitions; ++r) {
    const double start = now_ns();
    body();
    best = std::min(best, now_ns() - start);
  }
  return best;
}

__attribute__((target("amx-tile"))) void configure() {
  struct {
    uint8_t palette = 1, row = 0, unused[14] = {};
    uint16_t bytes[16] = {};
    uint8_t rows[16] = {};
  } all;
  for (int tile = 0; tile < 8; ++tile) all.bytes[tile] = 64, all.rows[tile] = 16;
  asm volatile("ldtilecfg %0" : : "m"(all));
}

double clock_ghz() {
  constexpr int kRounds = 20'000;
  return 12.0 * kRounds / best_ns(50, [] {
           for (int i = 0; i < kRounds; ++i)
             asm volatile("imul %%rax, %%rax; imul %%rax, %%rax; imul %%rax, %%rax; imul %%rax, %%rax" : : : "rax");
         });
}

#define PW_FOUR(name)                                                                                  \
  name " %%tmm6, %%tmm4, %%tmm0;" name " %%tmm7, %%tmm4, %%tmm1;" name " %%tmm6, %%tmm5, %%tmm2;" name \
       " %%tmm7, %%tmm5, %%tmm3"
#define PW_STEP                                                                                                      \
  "tileloadd (%0, %1), %%tmm4; tileloadd (%2, %1), %%tmm5; tdpbusd %%tmm5, %%tmm4, %%tmm0; tileloadd 1024(%2, %1), " \
  "%%tmm6;"                                                                                                          \
  "tdpbusd %%tmm6, %%tmm4, %%tmm1; tileloadd 1024(%0, %1), %%tmm7; tdpbusd %%tmm5, %%tmm7, %%tmm2; tdpbusd %%tmm6, " \
  "%%tmm7, %%tmm3"

/// Rows from a buffer of so many KiB, passed over again and again.
void print_cache(char* memory, long kib, double ghz) {
  const long tiles = kib, passes = std::max<long>(1, 40'000 / tiles);
  const auto cycles = [&](double units, const auto& body) {
    return ghz *
           best_ns(9,
                   [&] {
                     for (long pass = 0; pass < passes; ++pass)
                       for (long tile = 0; tile < tiles; tile += 4) body(memory + tile * kTile);
                   }) /
           (static_cast<double>(passes * tiles / 4) * units);
  };
  const double load = cycles(4, [](char* at) {
    asm volatile(
        "tileloadd (%0, %1), %%tmm4; tileloadd 1024(%0, %1), %%tmm5; tileloadd 2048(%0, %1), %%tmm6; tileloadd "
        "3072(%0, %1), %%tmm7"
        :
        : "r"(at), "r"(64L)
        : "memory");
  });
  const double store = cycles(4, [](char* at) {
    asm volatile(
        "tilestored %%tmm0, (%0, %1); tilestored %%tmm1, 1024(%0, %1); tilestored %%tmm2, 2048(%0, %1); tilestored "
        "%%tmm3, 3072(%0, %1)"
        :
        : "r"(at), "r"(64L)
        : "memory");
  });
  const double both = cycles(4, [](char* at) {
    asm volatile(PW_STEP : : "r"(at), "r"(64L), "r"(at + 2 * kTile) : "memory");
  });
  char* near = memory + (48L << 20);
  const double one = cycles(8, [&](char* at) {
    asm volatile(PW_STEP : : "r"(near), "r"(64L), "r"(at) : "memory");
    asm volatile(PW_STEP : : "r"(near + 2 * kTile), "r"(64L), "r"(at + 2 * kTile) : "memory");
  });
  std::printf(
      "%6ld KiB: a load %5.1f, a store %5.1f; a product of a 2 x 2 block %5.1f with both operands from there, %5.1f "
      "with one from L1\n",
      kib, load, store, both, one);
}

}  // namespace

int main() {
  if (!__builtin_cpu_supports("amx-tile") || syscall(SYS_arch_prctl, 0x1023, 18) != 0) {
    std::puts("no tile unit in this chip, or none that the system gives to this process");
    return 3;
  }
  configure();
  constexpr int kRounds = 20'000;
  const double ghz = clock_ghz();
  const auto print = [&](const char* what, double operations, double ns) {
    std::printf("%-58s %6.2f cycles a product, %5.0f GOP/s\n", what, ns / (4 * kRounds) * ghz,
                operations * 4 * kRounds / ns);
  };
  std::printf("clock %.2f GHz\n", ghz);
  print("bytes, registers only, four sums", 32768, best_ns(50, [] {
          for (int i = 0; i < kRounds; ++i) asm volatile(PW_FOUR("tdpbusd") : : : "memory");
        }));
  print("bf16, registers only, four sums", 16384, best_ns(50, [] {
          for (int i = 0; i < kRounds; ++i) asm volatile(PW_FOUR("tdpbf16ps") : : : "memory");
        }));
  print("bytes, registers only, one sum", 32768, best_ns(50, [] {
          for (int i = 0; i < 4 * kRounds; ++i) asm volatile("tdpbusd %%tmm6, %%tmm4, %%tmm0" : : : "memory");
        }));
  constexpr size_t kBytes = size_t{64} << 20;
  const polyweft::LargeArray array(kBytes);
  auto* memory = reinterpret_cast<char*>(array.data());
  std::memset(memory, 0, kBytes);
  for (long kib : {8L, 24L, 256L, 1024L, 8192L, 32768L}) print_cache(memory, kib, ghz);
  asm volatile("tilerelease" : : : "memory");
  return 0;
}
