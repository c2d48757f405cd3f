// Products and sums in one rounding, as every class but strict allows.
#pragma once

#include <functional>

#include "polyweft/program.h"

namespace polyweft::ir {

/// The expression with fma in place of a * b + c, a * b - c and c - a * b, for types that `fuses` admits. Of two
/// products in one sum that stays a product of its own which does not read `target`: the chain from one element of a
/// recurrence to the next is one operation then.
Expr contracted(const Expr& e, TensorId target, const std::function<bool(ElementType)>& fuses);
/// The same for what a sum folds by fma, a product or a sum of products: these stay, their factors are contracted.
Expr contracted_inside(const Expr& e, TensorId target, const std::function<bool(ElementType)>& fuses);

}  // namespace polyweft::ir
