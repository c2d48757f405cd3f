// The passes from a lowered module to machine code: LLVM's back end with the few passes before it that our code needs.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/CodeGen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "polyweft/result.h"
#include "targets/common/instruction_hooks.h"
#include "targets/cpu/build.h"

namespace llvm {
class Function;
class Module;
class TargetMachine;
}  // namespace llvm

namespace polyweft::targets {

/// LLVM's words for the target's features: each with a plus sign, commas between.
std::string feature_string(const Target& target);
/// The function's vectors have so many bits. `scalable_units`: how many times 128 bits a register of scalable vectors
/// has, exactly (LLVM's vscale); 0: there are none.
void set_vector_length(llvm::Function& f, int bits, int scalable_units);
void set_vector_length(llvm::Function& f, const Target& target);
/// The thread's machine for the target; it lives until the thread asks for another one.
Result<llvm::TargetMachine*> machine_for(const Target& target);

/// What is worth doing to the code as a whole before the back end sees it.
void run_light_passes(llvm::Module& module, llvm::TargetMachine& machine, const InstructionHooks& instructions);

/// What code generation has to do for a module, in LLVM's instructions: masked accesses for which the machine has none
/// become a branch a lane.
int64_t code_size(llvm::Module& module, const llvm::TargetMachine& machine);

/// LLVM's own pipeline with its vectorizers (O3), for nests that leave vectors to it. It may make calls of memcpy,
/// memmove and memset and of no other library function. What it unrolls stays short: its vectorizers of straight code,
/// and all passes behind them, take seconds for thousands of instructions.
void run_vectorizing_passes(llvm::Module& module, llvm::TargetMachine& machine);

/// Of a basic block in the code that was written: by LLVM's analysis of what branches say.
struct BlockFrequency {
  std::string label;   ///< in the assembly text
  double visits = 0;   ///< a call of the kernel
  double entries = 0;  ///< of the loop whose first block this is, from outside; else 0
  std::string loop;    ///< label of the first block of the loop around it, where that has no loop inside; else empty
};
/// `full`: every pass that LLVM's own pipeline has before instruction selection; tile registers need some of them.
enum class Pipeline : uint8_t { lean, full };
Result<llvm::SmallVector<char, 0>> write_machine_code(llvm::Module& module, llvm::TargetMachine& machine,
                                                      llvm::CodeGenFileType kind, Pipeline pipeline,
                                                      CodegenTimes* times,
                                                      std::vector<BlockFrequency>* frequencies = nullptr);

}  // namespace polyweft::targets
