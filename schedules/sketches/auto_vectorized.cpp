#include "schedules/sketches/auto_vectorized.h"

#include <algorithm>

#include "schedules/sketches/table.h"
#include "support/abilities.h"

namespace polyweft::schedules {
namespace {

/// The outermost loops of statements that have some, in as many tasks as they have iterations; nothing where no loop
/// may be parallel.
Trace in_tasks(const Program& normalized, NumericsClass cls, const Isl& isl) {
  Trace trace;
  auto t = base_template(normalized, cls);
  if (!t) return trace;
  for (const Stage& stage : t->stages) {
    if (stage.loops.empty()) continue;
    Trace longer = trace;
    longer.steps.push_back(ParallelStep{stage.name, stage.loops.front().name, 0});
    if (replay(normalized, cls, longer, isl)) trace = std::move(longer);
  }
  return trace;
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
Trace with_rows_innermost(const Program& normalized, NumericsClass cls, const Isl& isl) {
  Trace trace;
  auto t = base_template(normalized, cls);
  if (!t) return trace;
  for (const Stage& stage : t->stages) {
    if (stage.loops.size() < 2) continue;
    const StageTable table = table_of(*t, stage);
    size_t best = stage.loops.size() - 1;
    for (size_t l = 0; l < stage.loops.size(); ++l)
      if (merit_of(table, stage, stage.loops[l].index) > merit_of(table, stage, stage.loops[best].index)) best = l;
    if (best + 1 == stage.loops.size()) continue;
    PermuteStep permute{stage.name, {}};
    for (size_t l = 0; l < stage.loops.size(); ++l)
      if (l != best) permute.loops.push_back(stage.loops[l].name);
    permute.loops.push_back(stage.loops[best].name);
    Trace longer = trace;
    longer.steps.push_back(std::move(permute));
    if (replay(normalized, cls, longer, isl)) trace = std::move(longer);
  }
  return trace;
}

}  // namespace

std::vector<Trace> auto_vectorized_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                            const Isl& isl) {
  std::vector<Trace> out;
  const bool has_loops = !has_recurrence(normalized);
  Trace parallel = machine.cores() > 1 && has_loops ? in_tasks(normalized, cls, isl) : Trace{};
  Trace by_rows = has_loops ? with_rows_innermost(normalized, cls, isl) : Trace{};
  for (const Trace& order : {std::move(parallel), std::move(by_rows), Trace{}})
    for (const bool avoids_gathers : {false, true}) {
      if (avoids_gathers && (!machine.units.has_compiler_gathers || !is_on("rule.without_gathers"))) continue;
      Trace trace = order;
      trace.steps.push_back(AutovectorizeStep{avoids_gathers});
      if (std::find(out.begin(), out.end(), trace) == out.end()) out.push_back(std::move(trace));
    }
  return out;
}

}  // namespace polyweft::schedules
