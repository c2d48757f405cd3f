#pragma once

#include <string>
#include <vector>

namespace polyweft::riscv_test {

/// The words of a command that runs a program as a CPU with vector registers of so many bits.
std::vector<std::string> emulator(int vector_bits);

}  // namespace polyweft::riscv_test
