// Code generation, first part: what happens to a nest before instructions are chosen for it. Each pass takes a nest and
// gives a nest of the same meaning, which is printed, interpreted and compared as any other. Backends run them in this
// order:
//
//   split loops          between values of a variable at which conditions change: the hot part has none
//   scalar replacement   what an innermost loop keeps in memory only for its own next iterations becomes registers
//
// Symbolic nests go through them too: specialize() of what comes out is what the interpreter runs.
//
// A nest behind them may have register buffers where LoopNest::auto_vectorized leaves registers to the compiler.
#pragma once

#include <span>
#include <string_view>

#include "ir/passes/scalar_replacement.h"
#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// What passes must know of the machine.
struct PassOptions {
  ScalarReplacement scalars;
};

struct NestPass {
  std::string_view name;     ///< as `show --stage vectors` takes it
  std::string_view ability;  ///< of src/support/abilities.cpp: leaves it out
  LoopNest (*run)(LoopNest, const PassOptions&);
};
std::span<const NestPass> nest_passes();

/// The nest behind all passes, or those up to the one named `last`. Arithmetic only; some milliseconds for large nests.
LoopNest run_passes(LoopNest nest, const PassOptions& options, std::string_view last = {});

}  // namespace polyweft::ir
