// Private: loops that run instances in the order of given times, by isl's AST generator.
#pragma once

#include "poly/nest_builder.h"
#include "poly/timeline.h"

namespace polyweft::poly {

/// The loops of the recursive part `part`. Throws IslFailure; PW0835 where isl's loops use an operator that LoopNest
/// does not have.
Result<NodeId> scanning_loops(const Model& model, const std::vector<Timed>& times, uint32_t part, NestBuilder& builder);

}  // namespace polyweft::poly
