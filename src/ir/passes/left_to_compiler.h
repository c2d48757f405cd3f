// The base order for the compiler's own vectorizers.
#pragma once

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// A nest with the mark auto_vectorized; with avoids_gathers, LLVM's vectorizers take no gathers for it.
LoopNest left_to_compiler(LoopNest nest, bool avoids_gathers);

/// A base nest with products and sums that round once where the class and the target allow it.
LoopNest with_fused_products(LoopNest nest, bool fuses_products);

}  // namespace polyweft::ir
