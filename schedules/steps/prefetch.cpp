// prefetch X in S along i by 4: with each vector that S reads of X it asks the caches for the one that it reads 4
// iterations of i later. With each tile of X that it loads it asks the second cache for the lines of a later one.
//
//   vector j.v: ..X[i, j]..          vector prefetch X[4, 0] j.v: ..X[i, j]..
//
// Legal by structure: a hint changes no value, and may point outside of X.
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

Result<NestTemplate> prefetch(NestTemplate t, const PrefetchStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  const std::string subject = "prefetch " + step.tensor + " in " + stage.name + " along " + step.index;
  auto index = index_named(t, stage, step.index);
  if (!index) return index.error();
  auto tensor = std::find_if(t.program.tensors.begin(), t.program.tensors.end(),
                             [&](const Tensor& each) { return each.name == step.tensor; });
  if (tensor == t.program.tensors.end()) return fail("PW0302", subject + ": there is no tensor " + step.tensor);
  const auto number = static_cast<TensorId>(tensor - t.program.tensors.begin());
  auto accesses = reads_of(t, stage, number);
  const VarId var = t.program.index_var(*index);
  const bool moves = std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    return std::any_of(access.index.begin(), access.index.end(),
                       [&](const Subscript& s) { return s.affine.coefficient(var) != 0; });
  });
  if (!moves) return fail("PW0308", subject + ": it reads nothing of " + step.tensor + " that moves with this index");
  if (std::none_of(stage.loops.begin(), stage.loops.end(),
                   [](const auto& l) { return l.mark.kind == MarkKind::vector || l.mark.kind == MarkKind::tensor; }))
    return fail("PW0304", subject + ": it has no vector loop and no instruction", {"vectorize it first"});
  stage.ahead.push_back({number, *index, step.by});
  return t;
}

}  // namespace polyweft::schedules
