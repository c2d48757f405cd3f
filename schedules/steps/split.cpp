// split S r at 1, 2: the range of index r in parts, one loop after the other.
//
//   for r in 0..3: body          for r in 0..1: body ; for r in 1..2: body ; for r in 2..3: body
//
// Legal by T1: the number of the part and then the index are monotone functions of the index. In a part of one value,
// whatever depends on r is a constant: the first tap of a stencil at the border cuts a register block to another
// constant size, not to single rows. One tile of all values is none until it is split: then its parts stand outside the
// loops in it.
#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

Result<NestTemplate> split(NestTemplate t, const SplitStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  auto at = loop_named(stage, step.loop);
  if (!at) return at.error();
  TemplateLoop& loop = stage.loops[*at];
  const std::string subject = "split " + stage.name + " " + step.loop;
  if (stage.parted == loop.index) return fail("PW0304", subject + ": the reduction is in parts already");
  if (is_register_loop(loop))
    return fail("PW0304", subject + ": the loop is unrolled or vectorized", {"split serial loops"});
  for (uint32_t k = 0; k < *at; ++k)
    if (stage.loops[k].index == loop.index)
      return fail("PW0304", subject + ": loop " + stage.loops[k].name + " over the same index is outside",
                  {"split that one"});
  if (step.at.front() <= stage.lo[loop.index] || step.at.back() >= stage.hi[loop.index])
    return fail("PW0303",
                subject + ": the index runs from " + std::to_string(stage.lo[loop.index]) + " to " +
                    std::to_string(stage.hi[loop.index] - 1),
                {"split where a part of it begins"});
  loop.cuts = step.at;
  if (auto status = keeps_reduction_order(t, stage, stage.loops, subject); !status) return status.error();
  return t;
}

}  // namespace polyweft::schedules
