// pipeline C k.1 by 2: what C copies inside loop k.1 is copied one iteration ahead, into the other of two slots.
//
//   for k.1: alloc p            alloc p[2]: copies for k.1 = 0 into slot 0
//     copies into p      -->    for k.1: copies for k.1 + 1 into the other slot, beside the work
//     work on p                   wait for those of k.1; work on its slot
//
// Legal by T13: a copy's source is final before the loop (as promote has proved), and slots that are under way at the
// same time differ. ir::pipelined() writes it, once sizes are known.
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

Result<NestTemplate> pipeline(NestTemplate t, const PipelineStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  const std::string subject = "pipeline " + stage.name + " " + step.loop;
  auto at = loop_named(stage, step.loop);
  if (!at) return at.error();
  TemplateLoop& loop = stage.loops[*at];
  if (step.by.decision.empty() && step.by.constant < 1)
    return fail("PW0308", subject + ": a copy has one slot or more");
  if (loop.mark.kind != MarkKind::serial || !loop.cuts.empty() || loop.wave > 0)
    return fail("PW0304", subject + ": the loop is not serial, or it is split",
                {"copies are made ahead along a plain loop"});
  const auto is_inside = [&](const Promotion& promotion) { return promotion.depth == *at + 1; };
  if (std::none_of(stage.promotions.begin(), stage.promotions.end(), is_inside))
    return fail("PW0308", subject + ": nothing is copied inside this loop",
                {"promote what it reads at " + step.loop + " first"});
  loop.slots = step.by;
  return t;
}

}  // namespace polyweft::schedules
