// What the conditions of a domain say about the ranges of a body.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/instantiate/body.h"
#include "ir/instantiate/loop_variables.h"

namespace polyweft::ir {

/// Greatest (least) value of an expression over indices, over the ranges of all of them but `but`.
Affine greatest_value(const Body& body, const Affine& e, VarId but = kNoVar);
Affine least_value(const Body& body, const Affine& e, VarId but = kNoVar);
bool mentions_reduced(const Body& body, const Affine& condition);
/// Have all indices of a condition become points, but for `but`?
bool others_fixed(const Body& body, const Affine& condition, VarId but = kNoVar);
/// May condition number k cut or be tested here: is it open, and does it not wait for a reduction's first value?
bool is_applicable(const Body& body, size_t k);

/// From here on conditions say the values of indices that are determined: all loops over their tiles are outside.
void settle_determined(Body& body, size_t depth);
/// Is there an index that is determined, or a mixed condition, whose other indices have all become points?
bool has_open_value(const Body& body);
/// Indices that are determined become points where all others are; what must hold then and no loop saw to.
std::vector<Guard> value_of_determined(Body& body, const LoopVariables& variables);
/// The last `count` conditions of a body hold at all its points, and so do others that are no stronger than one of
/// them.
void mark_implied(Body& body, size_t count);

/// outset: what certainly lies outside for all values of the others goes. exact: only by conditions whose other indices
/// are points; those are done then.
enum class Cut : uint8_t { outset, exact };
/// The range of an index, cut by the conditions on it.
Range cut(Body& body, uint32_t index, Cut how, const LoopVariables& variables);

}  // namespace polyweft::ir
