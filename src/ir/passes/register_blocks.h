// Products over sizes that are not known: blocks of sums that stay in registers, rows by vectors of columns.
#pragma once

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"

namespace polyweft::ir {

struct BlockShape {
  int64_t vector_bytes = 64;
  int64_t rows = 4;     ///< sums that share what is loaded along the columns
  int64_t vectors = 2;  ///< along the columns
};
/// Sums in half of the registers: the rest hold what they are made of.
BlockShape block_shape(const Target& target);
/// for i { for j: C[.., i, .., j] = 0; for k ..: for j: C[.., i, .., j] += .. } becomes blocks of `rows` by `vectors`,
/// then what is left over by single rows and masked vectors; sums are in registers over k. Where the sums of all i and
/// j are independent by their subscripts and no bound depends on i or j. The order in each sum stays.
LoopNest block_rows(LoopNest nest, const BlockShape& shape);

}  // namespace polyweft::ir
