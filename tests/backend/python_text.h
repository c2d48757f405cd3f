// A LoopNest as a Python 3 module that needs the standard library alone: a function for the kernel and one for each
// pack.
//
// Each buffer is a memoryview of its element type over the bytes of its cells in physical order, so that buffers within
// others share memory as in any kernel. Values are Python's floats and integers; every operator of f32 and of integers
// is rounded or wrapped by a function of the module. Loops are serial, whatever their marks.
#pragma once

#include <string>
#include <vector>

#include "polyweft/loop_nest.h"

namespace polyweft::backend_test {

struct PythonModule {
  std::string text;
  std::vector<std::string> functions;  ///< SYMBOL, then SYMBOL_pack_TENSOR of each packed input
};
/// Functions take the bytes of their arguments in order of the ABI and give 0, or ir::kValueOutOfRange. PW0523 names
/// the first construct that has no Python here.
Result<PythonModule> python_module(const LoopNest& nest, const std::string& symbol);
/// Whether the kernel's function may have this name: an identifier of ASCII letters that neither Python nor the module
/// has taken.
bool is_free_in_python(const std::string& symbol);

}  // namespace polyweft::backend_test
