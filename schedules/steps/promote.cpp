// promote B in C at kc heap layout [j / nr, k, j % nr]: a private copy of what C reads of B inside loop kc.
//
//   for kc: ..C reads B..          for kc: alloc B.p { copy the footprint; ..C reads B.p.. }
//
// Legal by structure: B is an input, a constant, or made by an earlier nest, so that its elements are final before the copy. The layout is
// a mixed-radix digit order of each dimension, hence injective (checked here).
#include <algorithm>

#include "schedules/placement.h"
#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

Result<uint32_t> reader_of(const NestTemplate& t, const PromoteStep& step, TensorId tensor) {
  if (!step.statement.empty()) return stage_named(t, step.statement);
  std::vector<uint32_t> found;
  for (uint32_t k = 0; k < t.stages.size(); ++k)
    if (reads(t, t.stages[k], tensor) && depth_of(t.stages[k], step.at)) found.push_back(k);
  if (found.size() == 1) return found[0];
  return fail("PW0302", "promote " + step.tensor + " at " + step.at + ": " + std::to_string(found.size()) + " statements read it inside a loop of that name",
              {"name the statement: promote " + step.tensor + " in S at " + step.at});
}

/// Are all elements of the tensor's box final before the stage's nest?
Status check_source(const NestTemplate& t, const Stage& stage, TensorId tensor, const PromoteStep& step) {
  for (uint32_t definition : definitions(t, tensor)) {
    const Stage& source = t.stages[definition];
    bool covers_box = definitions(t, tensor).size() == 1 && source.inside.empty() && source.guards.empty();
    if (source.placement.kind != Placement::Kind::at_root || !covers_box)
      return fail("PW0309", "promote " + step.tensor + " in " + stage.name + ": it is not defined on its whole box before this nest",
                  {"promote inputs, constants, or tensors with one equation on a box"});
  }
  return Ok{};
}

}  // namespace

Result<NestTemplate> promote(NestTemplate t, const PromoteStep& step) {
  TensorId tensor = kNoTensor;
  for (TensorId id = 0; id < t.program.tensors.size(); ++id)
    if (t.program.tensors[id].name == step.tensor) tensor = id;
  if (tensor == kNoTensor) return fail("PW0302", "promote: there is no tensor '" + step.tensor + "'");
  auto id = reader_of(t, step, tensor);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  auto depth = depth_of(stage, step.at);
  if (!depth) return depth.error();
  if (!reads(t, stage, tensor)) return fail("PW0308", "promote " + step.tensor + ": statement " + stage.name + " does not read it");
  if (defines(equation_of(t, stage), tensor))
    return fail("PW0309", "promote " + step.tensor + ": statement " + stage.name + " defines it itself", {"a copy made before the loop would miss what the loop writes"});
  for (const auto& promotion : stage.promotions)
    if (promotion.tensor == tensor) return fail("PW0308", "promote " + step.tensor + ": it is promoted in " + stage.name + " already");
  for (uint32_t k = 0; k < *depth; ++k)
    if (is_register_loop(stage.loops[k])) return fail("PW0304", "promote " + step.tensor + ": loop " + step.at + " is inside a register block");
  if (step.scope == Scope::reg || step.scope == Scope::tile)
    return fail("PW0308", "promote " + step.tensor + ": registers hold accumulators only", {"use heap or stack"});
  if (auto status = check_source(t, stage, tensor, step); !status) return status.error();
  auto layout = layout_parts(t, stage, tensor, step.layout);
  if (!layout) return layout.error();
  stage.promotions.push_back({tensor, *depth, step.scope, std::move(*layout)});
  return t;
}

}  // namespace polyweft::schedules
