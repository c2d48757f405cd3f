// Running maxima and minima in lanes: elements that are no number are seen apart.
#pragma once

namespace llvm {
class FunctionPass;
}

namespace polyweft::targets {

struct InstructionCapabilities;

/// A pass for targets whose comparisons make masks (least_masked_bits). A maximum that keeps NaN takes three
/// operations, and the next one waits for all of them; in a loop the plain one, which forgets NaN, runs beside a mask
/// of the lanes that have seen only numbers, and what is read after the loop is put together from both.
llvm::FunctionPass* running_extremes(const InstructionCapabilities& can);

}  // namespace polyweft::targets
