// bind S i.1 to block_y: iterations of this loop are the blocks of a grid, or the threads of a block.
//
//   for i.1            for i.1 axis "block_y"
//     for j.1    ->      for j.1 axis "block_x"
//       for i              for i axis "thread_y"
//
// Legal by T2, as `parallel`: at one place in time blocks and threads run concurrently. A loop over an axis ends when
// all its iterations have ended, so what stands between two loops over threads is done once a block.
//
// bind S j.v to thread_x: lanes are threads, each with registers of its own (ir/passes/lanes_as_threads.h). Legal by T4
// as the lanes were; where lanes meet in memory, as in the tree that merges those of a sum, barriers stand between.
#include <algorithm>

#include "ir/nests/axes.h"
#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

/// Blocks stand outside threads, each axis once.
Status fits_between(const Stage& stage, uint32_t loop, const BindStep& step, const std::string& subject) {
  for (uint32_t k = 0; k < stage.loops.size(); ++k) {
    const TemplateLoop& other = stage.loops[k];
    if (other.mark.kind == MarkKind::parallel)
      return fail("PW0304", subject + ": loop " + other.name + " is parallel: tasks of a CPU do not launch blocks");
    if (other.mark.detail.empty() || !ir::is_axis_name(other.mark.detail)) continue;
    if (k == loop || other.mark.detail == step.axis)
      return fail("PW0304", subject + ": loop " + other.name + " is bound to " + other.mark.detail + " already");
    const std::string& outer = k < loop ? other.mark.detail : step.axis;
    const std::string& inner = k < loop ? step.axis : other.mark.detail;
    if (ir::is_thread_axis(outer) && !ir::is_thread_axis(inner))
      return fail("PW0304", subject + ": loop " + other.name + " is bound to " + other.mark.detail +
                                ", and blocks stand outside threads");
  }
  return Ok{};
}

}  // namespace

Result<NestTemplate> bind(NestTemplate t, const BindStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  auto loop = loop_named(stage, step.loop);
  if (!loop) return loop.error();
  const std::string subject = "bind " + stage.name + " " + step.loop;
  if (!ir::is_axis_name(step.axis))
    return fail("PW0304", subject + ": axis '" + step.axis + "' is unknown",
                {"known are block_x block_y block_z thread_x thread_y thread_z"});
  const bool has_lanes = stage.loops[*loop].mark.kind == MarkKind::vector;
  if (has_lanes && step.axis != "thread_x")
    return fail("PW0304", subject + ": lanes are neighbours, which threads along x alone are",
                {"bind them to thread_x"});
  if (!has_lanes)
    if (auto status = may_run_at_once(t, *id, *loop, subject); !status) return status.error();
  if (auto status = fits_between(stage, *loop, step, subject); !status) return status.error();
  if (has_lanes)
    stage.loops[*loop].mark.detail = step.axis;
  else
    stage.loops[*loop].mark = Mark{MarkKind::axis, 0, step.axis, false};
  return t;
}

}  // namespace polyweft::schedules
