// Kernels in a program of their own: a static executable for a machine without a C library, which serves requests on
// its standard input (program_requests.h). A command runs it, an emulator's or one that sends it to a board. It is a
// process for each kernel, which ends with whoever started it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "polyweft/loop_nest.h"
#include "targets/gpu/held_kernel.h"

namespace polyweft::targets {

using Bytes = std::vector<unsigned char>;

/// Behind the command, on a line of its own, as scripts have it: the executable (ELF of 32 bits).
Bytes program_with_command(const std::string& command, const Bytes& executable);
bool is_program(std::string_view module);

/// `module`: as program_with_command() made it. PW0516 where it has no such function, PW0606 where the command cannot
/// be started, PW0658 where the program has no memory for the arguments, PW06xx where it ends.
Result<std::unique_ptr<HeldKernel>> kernel_of_program(LoopNest nest, std::string_view module,
                                                      const std::string& symbol);

}  // namespace polyweft::targets
