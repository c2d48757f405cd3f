// promote B in C at kc heap layout [j / nr, k, j % nr]: a private copy of what C reads of B inside loop kc.
//
//   for kc: ..C reads B..          for kc: alloc B.p { copy the footprint; ..C reads B.p.. }
//
// Legal by structure: B is an input, a constant, or made by an earlier nest, so that its elements are final before the copy. The layout is
// a mixed-radix digit order of each dimension, hence injective (checked here).
#include <algorithm>

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

/// Dimension `dN`, or the one that an index subscripts alone.
Result<uint32_t> dimension_of(const NestTemplate& t, const Stage& stage, TensorId tensor, const std::string& name) {
  uint32_t rank = t.program.tensors[tensor].rank;
  for (uint32_t d = 0; d < rank; ++d)
    if (name == "d" + std::to_string(d)) return d;
  auto index = index_named(t, stage, name);
  if (!index) return index.error();
  std::vector<uint32_t> found;
  for (const Access& access : reads_of(t, stage, tensor))
    for (uint32_t d = 0; d < rank; ++d)
      if (!access.index[d].data && access.index[d].affine == Affine::variable(t.program.index_var(*index))) found.push_back(d);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() == 1) return found[0];
  return fail("PW0308", "promote " + t.program.tensors[tensor].name + ": index " + name + " subscripts " + std::to_string(found.size()) + " of its dimensions alone",
              {"name dimensions by number: d0, d1"});
}

Result<std::vector<LayoutPart>> layout_parts(const NestTemplate& t, const Stage& stage, TensorId tensor, const PromoteStep& step) {
  std::vector<LayoutPart> out;
  for (const auto& digit : step.layout) {
    auto dim = dimension_of(t, stage, tensor, digit.dim);
    if (!dim) return dim.error();
    out.push_back({*dim, digit.part, digit.factor});
  }
  if (out.empty()) return out;
  for (uint32_t d = 0; d < t.program.tensors[tensor].rank; ++d) {
    std::vector<LayoutPart> own;
    std::copy_if(out.begin(), out.end(), std::back_inserter(own), [&](const auto& part) { return part.dim == d; });
    bool is_whole = own.size() == 1 && own[0].part == LayoutDigit::Part::whole;
    bool is_split = own.size() == 2 && own[0].part == LayoutDigit::Part::quotient && own[1].part == LayoutDigit::Part::remainder && own[0].factor == own[1].factor;
    if (!is_whole && !is_split)
      return fail("PW0308", "promote " + step.tensor + ": the layout does not hold dimension " + std::to_string(d) + " exactly once",
                  {"write it whole, or as d / f and later d % f"});
  }
  return out;
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
  for (const auto& promotion : stage.promotions)
    if (promotion.tensor == tensor) return fail("PW0308", "promote " + step.tensor + ": it is promoted in " + stage.name + " already");
  for (uint32_t k = 0; k < *depth; ++k)
    if (is_register_loop(stage.loops[k])) return fail("PW0304", "promote " + step.tensor + ": loop " + step.at + " is inside a register block");
  if (step.scope == Scope::reg) return fail("PW0308", "promote " + step.tensor + ": registers hold accumulators only", {"use heap or stack"});
  if (auto status = check_source(t, stage, tensor, step); !status) return status.error();
  auto layout = layout_parts(t, stage, tensor, step);
  if (!layout) return layout.error();
  stage.promotions.push_back({tensor, *depth, step.scope, std::move(*layout)});
  return t;
}

}  // namespace polyweft::schedules
