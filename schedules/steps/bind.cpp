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
#include "schedules/bands.h"
#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

/// The loops around a statement, outermost first: those of its band's frame, then its own.
std::vector<const TemplateLoop*> loops_around(const NestTemplate& t, uint32_t id) {
  std::vector<const TemplateLoop*> out;
  const Stage& stage = t.stages[id];
  if (const auto band = band_of(t, id); band && !stage.is_frame) {
    const Stage& frame = t.stages[t.bands[*band].frame];
    const size_t shared = std::min<size_t>(stage.placement.depth, frame.loops.size());
    for (size_t k = 0; k < shared; ++k) out.push_back(&frame.loops[k]);
  }
  for (const TemplateLoop& loop : stage.loops) out.push_back(&loop);
  return out;
}

/// Blocks stand outside threads, each axis once.
Status fits_between(const std::vector<const TemplateLoop*>& loops, const TemplateLoop* bound, const BindStep& step,
                    const std::string& subject) {
  const auto loop = static_cast<size_t>(std::find(loops.begin(), loops.end(), bound) - loops.begin());
  for (size_t k = 0; k < loops.size(); ++k) {
    const TemplateLoop& other = *loops[k];
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
  if (auto status = is_own_loop(t, *id, stage.loops[*loop], subject); !status) return status.error();
  std::vector<uint32_t> inside = {*id};
  if (const auto band = band_of(t, *id); band && stage.is_frame) inside = stages_of(t, *band);
  for (uint32_t k : inside)
    if (auto status = fits_between(loops_around(t, k), &stage.loops[*loop], step, subject); !status)
      return status.error();
  if (has_lanes)
    stage.loops[*loop].mark.detail = step.axis;
  else
    stage.loops[*loop].mark = Mark{MarkKind::axis, 0, step.axis, false};
  return t;
}

}  // namespace polyweft::schedules
