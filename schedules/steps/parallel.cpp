// parallel S i.1: iterations of this loop may run at once.
// parallel S i in 2: a new outermost loop over two parts of index i, which may run at once. Copies at `root` stay
// outside and are shared.
//
//   for j.1: for i.1, ..: S          parallel i.p step extent / 2: for j.1: for i.1, ..: S
//
// Legal by T2: no relation has a distance other than 0 along a data index of a statement that is no recurrence; two
// points of one reduction differ along its reduced indices. Buffers placed inside the loop are private to an iteration;
// an accumulator outside would be shared.
#include <algorithm>

#include "schedules/bands.h"
#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kMostParallelParts = 1024;

Status is_sole(const Stage& stage, const std::string& subject) {
  for (const auto& other : stage.loops) {
    if (other.mark.kind == MarkKind::parallel)
      return fail("PW0304", subject + ": loop " + other.name + " is parallel already");
    if (other.mark.kind == MarkKind::axis)
      return fail("PW0304", subject + ": loop " + other.name + " is bound to " + other.mark.detail);
  }
  return Ok{};
}

/// Legal by T1 too: the loop over parts is a monotone function of one index. Its step is rounded up to whole register
/// tiles when sizes are known.
Result<NestTemplate> loop_in_parts(NestTemplate t, uint32_t id, const ParallelStep& step) {
  Stage& stage = t.stages[id];
  const std::string subject = "parallel " + stage.name + " " + step.loop + " in " + std::to_string(step.parts);
  auto index = index_named(t, stage, step.loop);
  if (!index) return index.error();
  if (auto status = may_run_at_once_along(t, id, *index, subject); !status) return status.error();
  if (*index >= stage.data_indices)
    return fail("PW0304", subject + ": the index is reduced",
                {"rfactor gives parts of a reduction results of their own"});
  if (auto status = is_sole(stage, subject); !status) return status.error();
  if (stage.placement.kind != Placement::Kind::at_root)
    return fail("PW0304", subject + ": the statement runs inside another nest",
                {"parallel " + stage.name + " " + step.loop + ", without parts"});
  for (const Stage& attached : t.stages) {
    const auto& placement = attached.placement;
    if (placement.kind != Placement::Kind::fused || placement.host != id) continue;
    if (std::none_of(placement.ties.begin(), placement.ties.end(),
                     [&](const auto& tie) { return tie.second == *index; }))
      return fail("PW0304",
                  subject + ": " + attached.name + " runs inside it and has all of " + step.loop + " in each iteration",
                  {"fuse it inside loop " + step.loop + ", or not at all"});
  }
  if (step.parts < 1 || step.parts > kMostParallelParts)
    return fail("PW0304", subject + ": 1 to " + std::to_string(kMostParallelParts) + " parts");
  if (stage.accumulator && stage.accumulator->depth == 0)
    return fail("PW0306", subject + ": the accumulator outside would be shared", {"accumulate inside a loop"});
  for (const auto& other : stage.loops)
    if (other.index == *index && !other.cuts.empty())
      return fail("PW0304", subject + ": loop " + other.name + " is split at values of its own",
                  {"take another index"});
  TemplateLoop loop;
  loop.kind = TemplateLoop::Kind::thread_part;
  loop.index = *index;
  loop.step = Size{std::max<int64_t>(1, (stage.hi[*index] - stage.lo[*index] + step.parts - 1) / step.parts), ""};
  loop.lanes = Size{step.parts, ""};
  loop.mark = Mark{MarkKind::parallel, 0, "", false};
  loop.name = step.loop + ".p";
  shift_depths(t, id, 0, 1);
  stage.loops.insert(stage.loops.begin(), std::move(loop));
  return t;
}

}  // namespace

Result<NestTemplate> parallel(NestTemplate t, const ParallelStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  if (step.parts != 0) return loop_in_parts(std::move(t), *id, step);
  Stage& stage = t.stages[*id];
  auto loop = loop_named(stage, step.loop);
  if (!loop) return loop.error();
  const std::string subject = "parallel " + stage.name + " " + step.loop;
  if (auto status = may_run_at_once(t, *id, *loop, subject); !status) return status.error();
  if (auto status = is_own_loop(t, *id, stage.loops[*loop], subject); !status) return status.error();
  if (auto status = is_sole(stage, subject); !status) return status.error();
  stage.loops[*loop].mark = Mark{MarkKind::parallel, 0, "", false};
  return t;
}

}  // namespace polyweft::schedules
