// vectorize S j 16: lanes innermost; the loop over vectors stays where j was, unrolled where j is tiled.
//
//   for j: for k: S          for j step 16: for k: vector j.v: S
//
// Over a data index legal by T4: no relation inside the statement has a distance along it, and moving it inwards is T1.
// Over a reduced index legal by T6, where the class lets the reduction be reordered: each lane folds its own part, a
// tree merges them at the end.
#include <algorithm>

#include "schedules/bands.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

Status check_reduced(const NestTemplate& t, const Stage& stage, uint32_t index, const std::string& subject) {
  const Equation& equation = equation_of(t, stage);
  if (!is_order_free(t.cls, t.program, equation)) {
    Error error =
        fail("PW0307", subject + ": " + why_order_counts(t.cls, t.program, equation) + ", lanes would change it");
    if (auto pair = neighbours_along(t, stage, index))
      error.notes.push_back(instance_text(t, stage, pair->first) + " comes before " +
                            instance_text(t, stage, pair->second) + "; in lock step neither does");
    error.notes.push_back(
        "vectorize a data index, or use class reassoc and combiners that are associative and commutative");
    return error;
  }
  if (!stage.accumulator)
    return fail("PW0307", subject + ": lanes of a reduction need accumulators of their own", {"accumulate first"});
  return Ok{};
}

}  // namespace

Result<NestTemplate> vectorize(NestTemplate t, const VectorizeStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  auto at = loop_named(stage, step.loop);
  if (!at) return at.error();
  const std::string subject = "vectorize " + stage.name + " " + step.loop;
  if (stage.is_frame)
    return fail("PW0304", subject + ": a band computes nothing itself",
                {"distribute " + stage.name + " at a loop, then vectorize its statements"});
  for (const auto& loop : stage.loops)
    if (loop.mark.kind == MarkKind::vector)
      return fail("PW0304", subject + ": loop " + loop.name + " is vectorized already");
  TemplateLoop& loop = stage.loops[*at];
  if (!loop.cuts.empty()) return fail("PW0304", subject + ": the loop is split", {"split its tile loop"});
  if (!is_point_loop(loop))
    return fail("PW0304", subject + ": only point loops have lanes", {"vectorize the index itself"});
  if (step.lanes.decision.empty() && (step.lanes.constant < 1 || step.lanes.constant > 128))
    return fail("PW0304", subject + ": " + std::to_string(step.lanes.constant) + " lanes; possible are 1 to 128");
  if (loop.index >= stage.data_indices)
    if (auto status = check_reduced(t, stage, loop.index, subject); !status) return status.error();
  if (auto status = is_own_loop(t, *id, loop, subject); !status) return status.error();
  bool is_tiled =
      std::any_of(stage.loops.begin(), stage.loops.begin() + *at, [&](const auto& l) { return l.index == loop.index; });
  TemplateLoop lanes = loop;
  lanes.kind = TemplateLoop::Kind::lanes;
  lanes.name = loop.name + ".v";
  lanes.mark = Mark{MarkKind::vector, 0, "", false};
  lanes.lanes = step.lanes;
  loop.step = step.lanes;
  if (is_tiled) loop.mark.kind = MarkKind::unroll;
  stage.loops.push_back(std::move(lanes));
  return t;
}

}  // namespace polyweft::schedules
