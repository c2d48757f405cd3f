// promote B in C at kc heap layout [j / nr, k, j % nr]: a private copy of what C reads of B inside loop kc.
//
//   for kc: ..C reads B..          for kc: alloc B.p { copy the footprint; ..C reads B.p.. }
//
// Legal by structure: B is an input, a constant, or made by an earlier nest, so that its elements are final before the
// copy; inside a band, made by other statements. The layout is a mixed-radix digit order of each dimension, hence
// injective (checked here).
#include <algorithm>

#include "schedules/bands.h"
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
  return fail("PW0302",
              "promote " + step.tensor + " at " + step.at + ": " + std::to_string(found.size()) +
                  " statements read it inside a loop of that name",
              {"name the statement: promote " + step.tensor + " in S at " + step.at});
}

/// A statement that runs alone in tiles of a band reads what other tiles made: final, as long as those that run beside
/// it do not define the tensor.
bool is_final_in_tile(const NestTemplate& t, uint32_t id, TensorId tensor) {
  const auto band = band_of(t, id);
  if (!band || t.stages[id].placement.alone.empty()) return false;
  const auto alone = alone_in(t, *band);
  return std::none_of(alone.begin(), alone.end(), [&](uint32_t k) {
    return t.stages[k].placement.depth == t.stages[id].placement.depth && defines(equation_of(t, t.stages[k]), tensor);
  });
}

/// A statement of a band reads what others of it make, or nests before it: each relation between two statements is kept
/// from one's whole nest to the other's, so that what the nest reads is there when it begins.
bool is_made_by_others(const NestTemplate& t, uint32_t id, TensorId tensor) {
  const auto band = band_of(t, id);
  if (!band || t.stages[id].is_frame) return false;
  const auto made = definitions(t, tensor);
  return std::all_of(made.begin(), made.end(), [&](uint32_t k) {
    return k != id && (band_of(t, k) == band ||
                       (t.stages[k].placement.kind == Placement::Kind::at_root && k < t.bands[*band].frame));
  });
}

/// One read of the tensor becomes a read of a tensor that stands for it.
Result<TensorId> alias_for_read(NestTemplate& t, uint32_t id, TensorId tensor, const PromoteStep& step) {
  Stage& stage = t.stages[id];
  Equation equation = equation_of(t, stage);
  Tensor made = t.program.tensors[tensor];
  made.name += "#" + std::to_string(step.read);
  made.kind = TensorKind::local;
  made.is_const_input = false;
  made.hidden = true;
  const TensorId alias = static_cast<TensorId>(t.program.tensors.size());
  uint32_t seen = 0;
  equation.rhs = rewrite(equation.rhs, [&](const Expr& node) -> Expr {
    if (node->op != Op::read || node->access.id != tensor || ++seen != step.read) return nullptr;
    Access access = node->access;
    access.id = alias;
    return make_read(node->type, std::move(access));
  });
  if (seen < step.read)
    return fail("PW0308", "promote " + step.tensor + ": statement " + stage.name + " reads it " + std::to_string(seen) +
                              " times");
  if (!stage.origin) {
    stage.origin = Origin{stage.equation, {}};
    for (uint32_t k = 0; k < equation.index_names.size(); ++k)
      stage.origin->instance.push_back(Affine::variable(t.program.index_var(k)));
  }
  stage.equation = static_cast<EquationId>(t.program.equations.size());
  t.program.equations.push_back(std::move(equation));
  t.program.tensors.push_back(std::move(made));
  t.boxes.push_back(t.boxes[tensor]);
  t.aliases.push_back({alias, tensor});
  return alias;
}

/// Are all elements of the tensor's box final before the stage's nest?
Status check_source(const NestTemplate& t, uint32_t id, TensorId tensor, const PromoteStep& step) {
  const Stage& stage = t.stages[id];
  if (is_final_in_tile(t, id, tensor) || is_made_by_others(t, id, tensor)) return Ok{};
  for (uint32_t definition : definitions(t, tensor)) {
    const Stage& source = t.stages[definition];
    bool covers_box = definitions(t, tensor).size() == 1 && source.inside.empty() && source.guards.empty();
    if (source.placement.kind != Placement::Kind::at_root || !covers_box)
      return fail(
          "PW0309",
          "promote " + step.tensor + " in " + stage.name + ": it is not defined on its whole box before this nest",
          {"promote inputs, constants, or tensors with one equation on a box"});
  }
  return Ok{};
}

}  // namespace

Result<NestTemplate> promote(NestTemplate t, const PromoteStep& step) {
  const auto named = tensor_named(t, step.tensor, "promote");
  if (!named) return named.error();
  TensorId tensor = *named;
  auto id = reader_of(t, step, tensor);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  auto depth = depth_of(stage, step.at);
  if (!depth) return depth.error();
  if (!reads(t, stage, tensor))
    return fail("PW0308", "promote " + step.tensor + ": statement " + stage.name + " does not read it");
  if (defines(equation_of(t, stage), tensor) && stage.placement.alone.empty())
    return fail("PW0309", "promote " + step.tensor + ": statement " + stage.name + " defines it itself",
                {"a copy made before the loop would miss what the loop writes"});
  for (const auto& promotion : stage.promotions)
    if (promotion.tensor == tensor)
      return fail("PW0308", "promote " + step.tensor + ": it is promoted in " + stage.name + " already");
  for (uint32_t k = 0; k < *depth; ++k)
    if (is_register_loop(stage.loops[k]))
      return fail("PW0304", "promote " + step.tensor + ": loop " + step.at + " is inside a register block");
  if (step.scope == Scope::reg || step.scope == Scope::tile || step.scope == Scope::accumulator)
    return fail("PW0308", "promote " + step.tensor + ": registers hold accumulators only", {"use heap or stack"});
  if (auto status = check_source(t, *id, tensor, step); !status) return status.error();
  if (step.read > 0) {
    auto alias = alias_for_read(t, *id, tensor, step);
    if (!alias) return alias.error();
    tensor = *alias;
  }
  if (step.vectors > 1 && step.scope != Scope::shared)
    return fail("PW0308", "promote " + step.tensor + ": vectors are those of threads that share a copy",
                {"promote it shared, or leave vectors out"});
  auto layout = layout_parts(t, stage, tensor, step.layout);
  if (!layout) return layout.error();
  stage.promotions.push_back({tensor, *depth, step.scope, std::move(*layout), step.vectors});
  return t;
}

}  // namespace polyweft::schedules
