// Scans: running maxima, minima and integer sums along a row, which code generation computes a vector at a time.
#pragma once

#include "ir/passes/statements.h"

namespace polyweft::ir {

struct Scan {
  std::vector<Access> chains;  ///< stores of running values
  int64_t lanes = 0, vectors = 0;
};

/// Operations whose order is free in every class: these are exact.
bool is_scanned(Op op, ElementType type);
/// Operands of one operation, parentheses aside.
void collect_scan_terms(const Expr& e, Op op, std::vector<Expr>& out);
/// The access with a value for a variable in its subscripts.
Access with(const Access& access, VarId var, const Affine& value);

/// The running values of a serial loop with step 1 and constant length, and how many lanes there may be. Each statement
/// takes at most one operand of a scanned operation, and nothing else, from the iteration before; all accesses stand
/// still or go along the row. Nothing where the loop has no running values, or less than two vectors of four lanes.
std::optional<Scan> scan_along(LoopContext& context, const Loop& loop, int64_t vector_bits);

}  // namespace polyweft::ir
