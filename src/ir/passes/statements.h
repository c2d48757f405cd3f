// What one iteration of an innermost loop does, statement by statement.
#pragma once

#include <memory>

#include "ir/passes/loop_context.h"

namespace polyweft::ir {

/// A Compute with the variables of unrolled loops around it written out, and the vector loop around it, if any. Values
/// of its own: the nest may change.
struct Statement {
  Compute compute;        ///< as it stands in the nest
  VariableValues values;  ///< of the variables that are written out
  std::shared_ptr<const Loop> lanes =
      {};                  ///< the vector loop, the same for all statements inside; subscripts keep its variable
  Affine first_lane = {};  ///< value of that variable for lane 0
  std::vector<Access> stores = {};  ///< as compute.dst, folded
  std::vector<Access> reads = {};   ///< of compute.rhs, under conditions too, folded; in the order of the text
  std::vector<Guard> when = {};     ///< of each read: the conditions inside the expression that it stands under
};

/// The statements of an iteration in order: unrolled loops written out, conditions decided by what is known. Nothing
/// where an iteration has something else in it, a condition that is not decided, or more than 128 statements. With
/// `vectors`, vector loops of as many iterations as they have lanes may stand around statements; else they count as
/// something else.
std::optional<std::vector<Statement>> statements_of(LoopContext& context, NodeId body, bool vectors);

/// The same element, and no value of memory subscripts it?
bool is_same_element(const Access& a, const Access& b);
/// Does a value of memory subscript it?
bool has_data(const Access& access);
/// Does some dimension keep the two in different cells, whatever the variables are?
bool lie_apart(const Access& a, const Access& b, const Buffer& buffer);

}  // namespace polyweft::ir
