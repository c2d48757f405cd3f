// What a code object for AMD's GPUs says of its kernels: metadata in MessagePack in an ELF note (LLVM's "User Guide for
// AMDGPU Backend", section "Code Object Metadata").
#pragma once

#include <string>
#include <vector>

#include "targets/backend.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {

struct CodeObjectKernel {
  struct Argument {
    int64_t offset = 0, bytes = 0;
    std::string kind;  ///< "global_buffer", "by_value", or one that the driver fills in
  };
  std::string name;
  std::vector<Argument> arguments;
  int64_t argument_bytes = 0;
  int64_t shared_bytes = 0;   ///< of a block
  int64_t private_bytes = 0;  ///< of a thread, in memory
  int64_t vector_registers = 0, scalar_registers = 0, accumulation_registers = 0;
  int64_t vector_spills = 0, scalar_spills = 0;  ///< registers
  int64_t lanes = 0, most_threads = 0;
  std::vector<int64_t> threads;  ///< of a block, along x, y, z
};
/// PW0512 where the bytes are no code object whose metadata LLVM's verifier takes.
Result<std::vector<CodeObjectKernel>> kernels_of_code_object(const Bytes& bytes);

/// PW0512 where it does not say of each kernel what the nest's launch of it needs: threads, shared memory, arguments.
Status checked_code_object(const Bytes& bytes, const DeviceNest& nest, const std::string& symbol,
                           const Machine& machine);
/// PW0512 where an object for AMD's GPUs has symbols that are defined elsewhere, by their names.
Status calls_nothing_outside(const Bytes& object);

}  // namespace polyweft::targets
