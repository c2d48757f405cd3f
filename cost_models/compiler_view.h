// What a compiler's vectorizers make of plain loops, as a LoopNest with explicit vectors: the model then costs both
// kinds of nests alike.
#pragma once

#include "polyweft/cost_model.h"
#include "polyweft/loop_nest.h"

namespace polyweft::cost {

/// Of a nest that is left to the compiler (LoopNest::auto_vectorized): innermost loops whose iterations are
/// independent, or fold into one cell in an order that is free, become `kInterleaved` vectors an iteration and a scalar
/// rest. The others stay as they are. No pass of a compiler is run: dependences are read off the subscripts, as its
/// analyses do. For prediction only; the result is never executed.
LoopNest compiler_view(const LoopNest& nest, int vector_bytes);

/// Vectors an iteration that LLVM and GCC make of a vectorized loop where registers allow it.
inline constexpr int64_t kInterleaved = 4;

}  // namespace polyweft::cost
