// LoopNest -> LLVM IR. Explicit vectors, unrolling of our own, register buffers as SSA values; nothing is left to the middle end.
#pragma once

#include <memory>
#include <string>

#include "polyweft/loop_nest.h"
#include "targets/common/llvm.h"
#include "targets/common/soft_float.h"

namespace polyweft::targets {

struct LowerOptions {
  std::string symbol;        ///< of the kernel; packs are symbol_pack_TENSOR
  std::string cpu_features;  ///< "+avx512f,..." for the functions' attributes
  std::string tuned_for;     ///< a CPU that LLVM knows, whose costs its passes use; empty: none
  std::string cpu = "x86-64";
  int vector_bits = 256;
  FloatUnits units;
  bool plain_pointers = false;         ///< arguments are addresses of elements, packed ones of bytes: no halide_buffer_t
  int expected_threads = 0;            ///< 0: nothing; else branches say how often they are taken, by samples of the nest's iterations, with so many threads at work
  bool explains = true;                ///< answers bounds queries, and refuses wrong arguments with the code of what is wrong
  int64_t instruction_limit = 40'000;  ///< PW0502 above: such a block would take seconds in code generation
};

/// Of functions, where branches say how often they are taken: how often a call of the kernel runs them one after the other, in decimal; none: once.
inline constexpr const char* kRunsAttribute = "polyweft-runs";

/// Of functions with loops, and of loops: where these lie modulo a line of the caches of instructions, or modulo what is fetched at a time, is then the same in every product. What the lab raced, with
/// shorter checks before the body, took 13 % longer in the shared object that was served (the base order of a random system: 0.86 and 0.97 ms, the same instructions 80 bytes further on).
inline constexpr uint64_t kCodeLine = 64, kLoopLine = 32;

/// A verified module with the kernel and its pack functions. PW0501.. where the nest cannot be lowered.
Result<std::unique_ptr<llvm::Module>> lower(llvm::LLVMContext& context, const LoopNest& nest, const LowerOptions& options);

/// The constant that LDTILECFG reads: every tile has 16 rows of 64 bytes.
llvm::Constant* tile_configuration(llvm::Module& module);

}  // namespace polyweft::targets
