// NVIDIA's assembler, where it is installed: what it says of each kernel of a module.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace polyweft::nvptx_test {

struct AssembledKernel {
  int registers = 0, spill_bytes = 0;
  int64_t shared_bytes = 0;
};
struct Assembled {
  std::string problem;  ///< what it refuses; empty: nothing
  std::map<std::string, AssembledKernel> kernels;
};
/// Of build/venv (scripts/setup.sh), or of the path; none: there is none.
std::optional<std::string> ptxas();
/// What a command writes to its standard output.
std::string output_of(const std::string& command, int& code);
Assembled assembled(const std::string& ptx, const std::string& machine);

}  // namespace polyweft::nvptx_test
