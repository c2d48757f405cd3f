// unroll S i, s: the iterations are written out, and jammed into the loops inside. Structural: a LoopNest's unroll mark
// changes nothing about the order of execution; the jam itself was the choice of the loop order (T1).
#include "schedules/bands.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

Result<NestTemplate> unroll(NestTemplate t, const UnrollStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  for (const auto& name : step.loops) {
    auto at = loop_named(stage, name);
    if (!at) return at.error();
    TemplateLoop& loop = stage.loops[*at];
    if (loop.mark.kind == MarkKind::vector || loop.mark.kind == MarkKind::parallel)
      return fail("PW0304", "unroll " + stage.name + " " + name + ": the loop is vectorized or parallel");
    if (auto status = is_own_loop(t, *id, loop, "unroll " + stage.name + " " + name); !status) return status.error();
    if (!loop.cuts.empty())
      return fail("PW0304", "unroll " + stage.name + " " + name + ": the loop is split",
                  {"a part of one value needs no unrolling"});
    for (size_t k = *at + 1; k < stage.loops.size(); ++k)
      if (stage.loops[k].index == loop.index && !is_register_loop(stage.loops[k]))
        return fail("PW0304", "unroll " + stage.name + " " + name + ": a serial loop over the same index is inside",
                    {"unroll the point loop"});
    loop.mark = Mark{MarkKind::unroll, 0, "", false};
  }
  return t;
}

}  // namespace polyweft::schedules
