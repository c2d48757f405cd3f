#include "schedules/sketches/auto_vectorized.h"

#include <algorithm>

#include "schedules/sketches/rule.h"
#include "schedules/sketches/table.h"
#include "support/abilities.h"

namespace polyweft::schedules {
namespace {

/// With the step where it is legal.
void extend(NestTemplate& t, const Step& step) {
  Trace longer = t.trace;
  longer.steps.push_back(step);
  if (auto next = replay_rest(t, longer)) t = *std::move(next);
}

/// The outermost loops of statements that have some, in as many tasks as they have iterations; not those that may not
/// be parallel.
NestTemplate in_tasks(const NestTemplate& base) {
  NestTemplate out = base;
  for (const Stage& stage : base.stages)
    if (!stage.loops.empty()) extend(out, ParallelStep{stage.name, stage.loops.front().name, 0});
  return out;
}

/// How well the compiler's lanes fit an index: contiguous elements or the same count for it, those far apart against
/// it; what is written counts more.
int merit_of(const StageTable& table, const Stage& stage, uint32_t index) {
  const bool is_reduced = index >= stage.data_indices;
  int merit = is_reduced ? 2 : table.unit == index ? 3 : table.spread == index ? 1 : -3;
  for (const ReadRow& read : table.reads) {
    const int64_t stride = read.stride[index] < 0 ? -read.stride[index] : read.stride[index];
    merit += read.irregular[index] || stride > 2 ? -2 : stride == 2 ? 1 : 2;
  }
  return merit;
}

/// Each statement with the index innermost along which memory is read and written contiguously, where that is not so in
/// the text's order.
NestTemplate with_rows_innermost(const NestTemplate& base) {
  NestTemplate out = base;
  for (const Stage& stage : base.stages) {
    if (stage.loops.size() < 2) continue;
    const StageTable table = table_of(base, stage);
    size_t best = stage.loops.size() - 1;
    for (size_t l = 0; l < stage.loops.size(); ++l)
      if (merit_of(table, stage, stage.loops[l].index) > merit_of(table, stage, stage.loops[best].index)) best = l;
    if (best + 1 == stage.loops.size()) continue;
    PermuteStep permute{stage.name, {}};
    for (size_t l = 0; l < stage.loops.size(); ++l)
      if (l != best) permute.loops.push_back(stage.loops[l].name);
    permute.loops.push_back(stage.loops[best].name);
    extend(out, permute);
  }
  return out;
}

}  // namespace

std::vector<NestTemplate> auto_vectorized_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                                   const Isl& isl) {
  std::vector<NestTemplate> out;
  if (!machine.units.has_compiler_vectors) return out;
  const auto base = base_template(normalized, cls, isl.recurrence_nest);
  if (!base) return out;
  // On one core the order of the text comes first: of equals the first is taken.
  std::vector<NestTemplate> orders = {!base->fixed && machine.cores() > 1 ? in_tasks(*base) : *base};
  if (!base->fixed) orders.push_back(with_rows_innermost(*base));
  orders.push_back(*base);
  for (const NestTemplate& order : orders)
    for (const bool avoids_gathers : {false, true}) {
      if (avoids_gathers && (!machine.units.has_compiler_gathers || !is_on("rule.without_gathers"))) continue;
      Trace trace = order.trace;
      trace.steps.push_back(AutovectorizeStep{avoids_gathers});
      if (has_trace(out, trace)) continue;
      if (auto made = replay_rest(order, trace, isl)) out.push_back(*std::move(made));
    }
  return out;
}

}  // namespace polyweft::schedules
