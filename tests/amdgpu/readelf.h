// LLVM's llvm-readelf: what the notes of a code object say of its kernels. It shares no code with the reader under test
// but LLVM's own.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace polyweft::amdgpu_test {

struct NotedArgument {
  int offset = 0, bytes = 0;
  std::string kind;
};
struct NotedKernel {
  std::map<std::string, int> numbers;  ///< ".vgpr_count": 79
  std::vector<NotedArgument> arguments;
  std::vector<int> threads;
};
struct Notes {
  std::string problem;  ///< empty: none
  std::string target;   ///< "amdgcn-amd-amdhsa--gfx942"
  std::map<std::string, NotedKernel> kernels;
};
Notes notes_of(const std::vector<unsigned char>& code_object);
/// What a command writes to its standard output.
std::string output_of(const std::string& command, int& code);

}  // namespace polyweft::amdgpu_test
