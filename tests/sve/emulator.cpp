// AArch64 with scalable vectors of 128, 256 and 512 bits.
#include "sve/emulator.h"

#include "emulated/emulated.h"
#include "samples.h"

namespace polyweft {

std::vector<std::string> sve_test::emulator(int vector_bits) {
  return {PW_QEMU_AARCH64, "-cpu", "max,sve-max-vq=" + std::to_string(vector_bits / 128), "-L",
          "/usr/aarch64-linux-gnu"};
}

emulated_test::Emulator emulated_test::emulator_of(const Target& target) {
  std::string command;
  for (const std::string& word : sve_test::emulator(target.machine.units.vector_bits)) command += word + " ";
  return {command, PW_HARNESS};
}

std::vector<emulated_test::EmulatedLevel> emulated_test::emulated_levels() {
  const auto sample = EmulatedLevel::Programs::sample;
  std::vector<EmulatedLevel> out = {{"sve2_128", "aarch64-sve2-128", sample, 5},
                                    {"sve_256", "aarch64-sve-256", sample, 5},
                                    {"sve2_512", "aarch64-sve2-512", sample, 5}};
  if (test::takes_all_cases()) out.push_back({"sve2_256", "aarch64-sve2-256", sample, 5});
  return out;
}

std::string emulated_test::missing_emulator() {
  return "";
}

}  // namespace polyweft
