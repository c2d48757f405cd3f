// What follows sums of warps in their nest: elements whose sums a warp holds are made by it, without a launch and
// memory between (ir/passes/forwarded_sums.h).
//
//   for i.1, j.1, i.2, j.2                          for i.1, j.1, i.2, j.2
//     C[i, j] = sum A[i, k] * B[k, j]        ->       sums of i, j in registers
//   for i, j: Y[i, j] = f(C[i, j])                    Y[i, j] = f(sums of i, j)
#include <algorithm>

#include "ir/nests/instruction.h"
#include "schedules/queries.h"
#include "schedules/sketches/grid_plan.h"

namespace polyweft::schedules {
namespace {

bool holds_sums_of_warps(const Stage& stage) {
  return stage.accumulator && stage.accumulator->scope == Scope::tile &&
         std::any_of(stage.loops.begin(), stage.loops.end(), [](const TemplateLoop& loop) {
           const auto instruction = ir::instruction_named(loop.mark.detail);
           return loop.mark.kind == MarkKind::tensor && instruction && (*instruction)->is_of_warp();
         });
}

}  // namespace

bool plan_epilogue(GridPlan& plan, uint32_t id) {
  const NestTemplate& made = plan.made();
  const Stage stage = plan.stage(id);
  if (stage.reduces || !grid_loops(made, id).is_plain) return false;
  for (uint32_t other = 0; other < made.stages.size(); ++other) {
    const Stage& sums = made.stages[other];
    if (!holds_sums_of_warps(sums) || sums.accumulator->depth == 0) continue;
    const TensorId tensor = equation_of(made, sums).targets[0];
    const bool is_alone = std::none_of(made.stages.begin(), made.stages.end(), [&](const Stage& each) {
      return each.name != stage.name && each.name != sums.name && reads(made, each, tensor);
    });
    if (!is_alone || made.program.tensors[tensor].kind != TensorKind::local || !reads(made, stage, tensor)) continue;
    return plan.take({FuseStep{stage.name, sums.name, sums.loops[sums.accumulator->depth - 1].name}});
  }
  return false;
}

}  // namespace polyweft::schedules
