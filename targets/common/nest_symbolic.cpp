// Symbolic nests: sizes are values of the function, strides are products of them. What of an offset no affine
// expression holds (an index times a stride) becomes a variable of its own, so that the rest of code generation sees
// affine offsets: a row's start and a constant stride along it.
#include "targets/common/nest_code.h"

namespace polyweft::targets {

/// Binds the sizes to `values` and computes the strides, where the builder stands.
void NestCode::open_sizes(const std::vector<llvm::Value*>& values) {
  for (VarId p = 0; p < nest_.params.size(); ++p) {
    variables_.end_substitution(p);
    VarFacts facts{-kLargestSize, kLargestSize, 1};
    for (const Guard& g : nest_.assumptions)
      if (g.kind == Guard::Kind::ge0 && g.e.terms.size() == 1 && g.e.coefficient(p) == 1)
        facts.lo = std::max(facts.lo, -g.e.constant);
    variables_.bind(p, values[p], facts);
  }
  strides_.set(integers_.strides());
}

}  // namespace polyweft::targets
