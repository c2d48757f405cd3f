// stream Y: the stores of Y's vector loop bypass the caches.
//
//   vector j.v: Y[..] = ..          vector non_temporal j.v: Y[..] = ..
//
// Legal by structure: a mark of how a store is lowered; code generation fences before anybody else may look.
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

/// Elements that only move, in serial loops: code generation turns squares of them in registers and stores their rows.
bool is_transposition(const NestTemplate& t, const Stage& stage) {
  return !stage.reduces && equation_of(t, stage).rhs->op == Op::read && !stage.loops.empty() &&
         stage.loops.back().mark.kind == MarkKind::serial;
}

}  // namespace

Result<NestTemplate> stream(NestTemplate t, const StreamStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  const std::string subject = "stream " + stage.name;
  for (TensorId target : equation_of(t, stage).targets)
    if (t.program.tensors[target].kind != TensorKind::output)
      return fail("PW0308", subject + ": what it stores is read again soon", {"stream outputs only"});
  if (stage.reduces && !stage.accumulator)
    return fail("PW0308", subject + ": each store is read by the next one", {"accumulate first"});
  auto lanes = std::find_if(stage.loops.begin(), stage.loops.end(), [&](const auto& l) {
    return l.mark.kind == MarkKind::vector && l.index < stage.data_indices;
  });
  if (lanes == stage.loops.end() && is_transposition(t, stage)) lanes = stage.loops.end() - 1;
  if (lanes == stage.loops.end())
    return fail("PW0304", subject + ": it has no vector loop over a data index", {"vectorize it first"});
  lanes->mark.non_temporal = true;
  return t;
}

}  // namespace polyweft::schedules
