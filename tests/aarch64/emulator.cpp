// The first version of AArch64, and one with dot products, products of small matrices, bf16 and arithmetic of halves.
#include "emulated/emulated.h"

namespace polyweft::emulated_test {

Emulator emulator_of(const Target&) {
  return {PW_QEMU_AARCH64 " -cpu max -L /usr/aarch64-linux-gnu", PW_HARNESS};
}

std::vector<EmulatedLevel> emulated_levels() {
  using Programs = EmulatedLevel::Programs;
  return {{"plain", "aarch64", Programs::all, 20}, {"with_features", "aarch64-v8.6", Programs::sample, 8}};
}

std::string missing_emulator() {
  return "";
}

}  // namespace polyweft::emulated_test
