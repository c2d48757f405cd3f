// RISC-V with vector registers of 128 and of 256 bits.
#include "riscv/emulator.h"

#include "emulated/emulated.h"

namespace polyweft {

std::vector<std::string> riscv_test::emulator(int vector_bits) {
  return {PW_QEMU_RISCV64, "-cpu", "rv64,v=true,vext_spec=v1.0,vlen=" + std::to_string(vector_bits), "-L",
          "/usr/riscv64-linux-gnu"};
}

emulated_test::Emulator emulated_test::emulator_of(const Target& target) {
  std::string command;
  for (const std::string& word : riscv_test::emulator(target.machine.units.vector_bits)) command += word + " ";
  // qemu 7.2 does not survive two vfcvt.rtz in a row; 8.0 does.
  return {command, PW_HARNESS, "decode_save_opc: Assertion"};
}

std::vector<emulated_test::EmulatedLevel> emulated_test::emulated_levels() {
  using Programs = EmulatedLevel::Programs;
  return {{"vlen_128", "riscv64-v128", Programs::sample, 10}, {"vlen_256", "riscv64-v256", Programs::all, 10}};
}

std::string emulated_test::missing_emulator() {
  return "";
}

}  // namespace polyweft
