// parallel S i.1: iterations of this loop may run at once.
//
// Legal by T2: no relation has a distance other than 0 along a data index of a statement that is no recurrence; two points of one
// reduction differ along its reduced indices. Buffers placed inside the loop are private to an iteration; an accumulator outside
// would be shared.
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

Result<NestTemplate> parallel(NestTemplate t, const ParallelStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  auto loop = loop_named(stage, step.loop);
  if (!loop) return loop.error();
  uint32_t index = stage.loops[*loop].index;
  const std::string subject = "parallel " + stage.name + " " + step.loop;
  if (index >= stage.data_indices) {
    Error error = fail("PW0306", subject + ": iterations fold into the same element");
    if (auto pair = neighbours_along(t, stage, index))
      error.notes.push_back(instance_text(t, stage, pair->first) + " and " + instance_text(t, stage, pair->second) + " update one accumulator");
    error.notes.push_back("make a loop over a data index parallel");
    return error;
  }
  if (is_register_loop(stage.loops[*loop])) return fail("PW0304", subject + ": the loop is unrolled or vectorized");
  if (stage.accumulator && stage.accumulator->depth <= *loop)
    return fail("PW0306", subject + ": the accumulator outside would be shared", {"accumulate inside this loop"});
  for (const auto& other : stage.loops)
    if (other.mark.kind == MarkKind::parallel) return fail("PW0304", subject + ": loop " + other.name + " is parallel already");
  if (stage.placement.kind != Placement::Kind::at_root) return fail("PW0304", subject + ": the statement runs inside another nest");
  stage.loops[*loop].mark = Mark{MarkKind::parallel, 0, "", false};
  return t;
}

}  // namespace polyweft::schedules
