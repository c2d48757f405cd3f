#pragma once

#include <string>
#include <vector>

namespace polyweft::sve_test {

/// The words of a command that runs a program as a CPU whose scalable vectors have so many bits.
std::vector<std::string> emulator(int vector_bits);

}  // namespace polyweft::sve_test
