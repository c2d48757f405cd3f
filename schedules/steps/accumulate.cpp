// accumulate C at i.2 reg: inside that loop partial results live in a private buffer; reduced loops run outside the
// data loops there.
//
//   for i.2: for i, j, k: C            for i.2: alloc a { a = first ? identity : C;  for k: for i, j: a += ..;  C = a }
//
// Legal by T1: the store sits after all folds of this tile, nobody else reads or writes these elements in between (each
// element has one accumulator); the reordering below is a permutation of monotone loops, checked against the order that
// the class keeps.
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

Result<NestTemplate> accumulate(NestTemplate t, const AccumulateStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  const std::string subject = "accumulate " + stage.name + " at " + step.at;
  auto depth = depth_of(stage, step.at);
  if (!depth) return depth.error();
  if (!stage.reduces) return fail("PW0308", subject + ": it is not a reduction");
  if (step.scope == Scope::shared)
    return fail("PW0308", subject + ": threads share copies, each has sums of its own", {"use reg or stack"});
  if (stage.accumulator) return fail("PW0308", subject + ": it has an accumulator already");
  // Folds whose first values are written elsewhere may be added to them in any number of goes: one a value of a reduced
  // index outside, where others are left inside.
  const auto is_fold = [&](const TemplateLoop& loop) { return loop.index >= stage.data_indices; };
  const bool in_goes =
      stage.part == SumPart::folds && std::any_of(stage.loops.begin() + *depth, stage.loops.end(), is_fold);
  for (uint32_t k = 0; k < *depth; ++k) {
    if (is_register_loop(stage.loops[k])) return fail("PW0304", subject + ": the place is inside a register block");
    if (is_fold(stage.loops[k]) && is_point_loop(stage.loops[k]) && !in_goes)
      return fail("PW0308", subject + ": loop " + stage.loops[k].name + " outside folds single points",
                  {"tile it first"});
  }
  for (uint32_t other : used_depths(t, *id))
    if (other > *depth) return fail("PW0304", subject + ": something is placed inside already", {"accumulate first"});
  std::vector<TemplateLoop> loops = stage.loops;
  auto rank = [&](const TemplateLoop& loop) {
    if (loop.mark.kind == MarkKind::vector) return 2;
    return loop.index >= stage.data_indices ? 0 : 1;
  };
  std::stable_sort(loops.begin() + *depth, loops.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  if (auto status = keeps_reduction_order(t, stage, loops, subject); !status) return status.error();
  stage.loops = std::move(loops);
  stage.accumulator = Accumulator{*depth, step.scope};
  return t;
}

}  // namespace polyweft::schedules
