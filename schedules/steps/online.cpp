// online m by 256: the maximum m and the sums over its index of exponentials below it in one pass.
//
//   m: for i: for j: max     e: for i, j     s: for i: for j: +     o: for i: for d: for j: +
// becomes
//   m.x, m.e, s.b, o.b: the same, for i: for b (blocks of j): ..     m.m, s.s, o.s: for i, d: for b: combine
//
// Legal by T11, in class reassoc. From then on the template is one of the program in this form; its nest says so, and
// the checker proves it for that program.
#include <algorithm>

#include "ir/normalize/online_maximum.h"
#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

Result<NestTemplate> online(NestTemplate t, const OnlineStep& step) {
  const std::string subject = "online " + step.statement;
  if (t.cls != NumericsClass::reassoc)
    return fail("PW0308", subject + ": class " + name_of(t.cls) + " keeps the sums of exponentials as they are");
  const auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  const auto is_touched = [&](const Stage& stage) {
    return stage.placement.kind != Placement::Kind::at_root || !stage.promotions.empty() || !stage.ahead.empty() ||
           stage.accumulator || stage.parted || stage.loops != fresh_stage(t, stage.equation).loops;
  };
  if (t.program.equations.size() != t.stages.size() || !t.bands.empty() || !t.cuts.empty() || !t.folds.empty() ||
      !t.storages.empty() || !t.snapshots.empty() || std::any_of(t.stages.begin(), t.stages.end(), is_touched))
    return fail("PW0304", subject + ": other steps came before", {"online comes first"});
  const OnlineMaximum made{equation_of(t, t.stages[*id]).targets.front(), step.block};
  auto program = ir::with_online_maximum(t.program, made);
  if (!program) return program.error();
  NestTemplate out = unscheduled_template(*program, t.cls);
  out.online = std::move(t.online);
  out.online.push_back(made);
  out.trace = std::move(t.trace);
  out.fuses_products = t.fuses_products;
  out.fuses_halves = t.fuses_halves;
  return out;
}

}  // namespace polyweft::schedules
