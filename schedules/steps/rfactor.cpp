// rfactor S k in 4: parts of a reduction, each with an accumulator of its own, and a tree that puts them together.
//
//   alloc a { a = 0;  for k: a += ..;  S = a }
//   alloc S.f { for k.p: alloc a { a = 0;  for k in part: a += ..;  S.f[k.p] = a };  for m: S.f[m] += S.f[m + 2];  ..;
//   S = S.f[0] }
//
// Legal by T6, where the class lets the reduction be reordered: a part folds its own points in their order, the tree's
// shape depends on the number of parts only. The loop over parts may then be parallel: its iterations write cells of
// their own.
#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kMostFactorParts = 4096;

Status is_reorderable(const NestTemplate& t, const Stage& stage, uint32_t index, const std::string& subject) {
  const Equation& equation = equation_of(t, stage);
  if (is_order_free(t.cls, t.program, equation)) return Ok{};
  Error error =
      fail("PW0307", subject + ": " + why_order_counts(t.cls, t.program, equation) + ", parts would change it");
  if (auto pair = neighbours_along(t, stage, index))
    error.notes.push_back(instance_text(t, stage, pair->first) + " comes before " +
                          instance_text(t, stage, pair->second) + "; folded apart they would be added as a group");
  error.notes.push_back("use class reassoc and combiners that are associative and commutative");
  return error;
}

}  // namespace

Result<NestTemplate> rfactor(NestTemplate t, const RfactorStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  const std::string subject = "rfactor " + stage.name + " " + step.index;
  auto index = index_named(t, stage, step.index);
  if (!index) return index.error();
  if (*index < stage.data_indices) return fail("PW0308", subject + ": the index is not reduced");
  if (auto status = is_reorderable(t, stage, *index, subject); !status) return status.error();
  if (step.parts < 1 || step.parts > kMostFactorParts)
    return fail("PW0304", subject + ": 1 to " + std::to_string(kMostFactorParts) + " parts");
  if (!stage.accumulator) return fail("PW0308", subject + ": each part needs an accumulator", {"accumulate first"});
  if (stage.part == SumPart::folds)
    return fail("PW0304", subject + ": its first values are a statement of their own",
                {"take the whole sum into the band"});
  if (stage.parted) return fail("PW0304", subject + ": the reduction is in parts already");
  for (const Slot& slot : equation_of(t, stage).slots)
    if (slot.var == kNoVar && !slot.position.is_constant())
      return fail("PW0308", subject + ": the statement is a part of an index set itself");
  const uint32_t place = stage.accumulator->depth;
  for (uint32_t k = 0; k < place; ++k)
    if (stage.loops[k].index >= stage.data_indices)
      return fail("PW0304", subject + ": loop " + stage.loops[k].name + " folds outside the accumulator",
                  {"accumulate outside it"});
  for (const auto& loop : stage.loops)
    if (loop.index == *index && !loop.cuts.empty()) return fail("PW0304", subject + ": the index is split");
  TemplateLoop loop;
  loop.kind = TemplateLoop::Kind::reduction_part;
  loop.index = *index;
  loop.step = Size{std::max<int64_t>(1, (stage.hi[*index] - stage.lo[*index] + step.parts - 1) / step.parts), ""};
  loop.name = step.index + ".p";
  // The accumulator, and copies inside the same loop, move inside the loop over parts.
  if (place == 0)
    stage.accumulator->depth = 1;
  else
    shift_depths(t, *id, place - 1, 1);
  stage.loops.insert(stage.loops.begin() + place, std::move(loop));
  stage.parted = *index;
  return t;
}

}  // namespace polyweft::schedules
