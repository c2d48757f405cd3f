// LoopNest -> LLVM IR of a CPU's kernel, for the ABI of halide_buffer_t and Halide's runtime. Explicit vectors,
// unrolling of our own, register buffers as SSA values; nothing is left to the middle end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/passes/passes.h"
#include "polyweft/loop_nest.h"
#include "targets/common/instruction_hooks.h"
#include "targets/common/llvm.h"
#include "targets/common/unit_hooks.h"

namespace polyweft::targets {

/// Writes the body of the kernel (the nest's root) or of a pack function, which takes the addresses of these buffers
/// and returns a code (i32); gives the number of its instructions.
using BodyWriter = std::function<int64_t(llvm::Function& body, const std::vector<BufferId>& arguments, NodeId root)>;

struct LowerOptions {
  std::string symbol;        ///< of the kernel; packs are symbol_pack_TENSOR
  std::string cpu;           ///< that LLVM knows, with the basic instructions of the architecture
  std::string cpu_features;  ///< "+fma,.." for the functions' attributes
  std::string tuned_for;     ///< a CPU that LLVM knows, whose costs its passes use; empty: none
  int vector_bits = 256;
  int scalable_units = 0;       ///< set_vector_length() in pipeline.h
  bool plain_pointers = false;  ///< arguments are addresses of elements, packed ones of bytes: no halide_buffer_t
  bool memory_of_c = false;     ///< malloc and free in place of the runtime's
  int expected_threads = 0;     ///< 0: nothing; else branches say how often they are taken, by samples of the nest's
                                ///< iterations, with so many threads at work
  bool explains = true;         ///< answers bounds queries, and refuses wrong arguments with the code of what is wrong
  const UnitHooks* unit = nullptr;     ///< beside the CPU; null: there is none
  BodyWriter write_body;               ///< empty: bodies are code for the nest's loops, behind the passes over nests
  int64_t instruction_limit = 40'000;  ///< PW0502 above: such a block would take seconds in code generation
};

/// What passes over nests must know of a CPU with these instructions.
ir::PassOptions pass_options(const InstructionCapabilities& can);

/// A verified module with the kernel and its pack functions. PW0501.. where the nest cannot be lowered.
Result<std::unique_ptr<llvm::Module>> lower(llvm::LLVMContext& context, const LoopNest& nest,
                                            const InstructionHooks& instructions, const LowerOptions& options);

}  // namespace polyweft::targets
