// Each statement in a grid of its own, one element a thread: neighbours along the index that is contiguous in memory
// are neighbours among threads, so that they read and write lines together.
//
//   for i, j            for i.1 axis "block_y"
//     for k      ->       for j.1 axis "block_x"
//                           for i axis "thread_y"
//                             for j axis "thread_x"
//                               for k (sums in a register)
#include "schedules/sketches/grid.h"

#include <algorithm>

#include "schedules/queries.h"
#include "schedules/sketches/rule.h"
#include "schedules/sketches/table.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kThreads = 256;  ///< of a block, where nothing is known of the statement's registers
constexpr int64_t kRow = 32;       ///< threads along x where there is a y: a line of f32 in any device's memory

class GridPlan {
 public:
  explicit GridPlan(const NestTemplate& base) : t_(base) {}

  NestTemplate run() {
    for (uint32_t id = 0; id < t_.stages.size(); ++id) plan(id);
    return std::move(t_);
  }

 private:
  /// All of them, or none.
  bool take(const std::vector<Step>& steps, const std::vector<Decision>& decisions = {}) {
    Trace longer = t_.trace;
    if (decisions.size() > 1) {
      Monomial threads{1, {}};
      for (const Decision& d : decisions) threads.decisions.push_back(d.name);
      longer.constraints.push_back({"threads" + std::to_string(decisions_), {threads}, kThreads});
    }
    longer.steps.insert(longer.steps.end(), steps.begin(), steps.end());
    longer.decisions.insert(longer.decisions.end(), decisions.begin(), decisions.end());
    auto next = replay_rest(t_, longer);
    if (next) t_ = *std::move(next);
    return next.ok();
  }

  /// `least`: so many, or as many as there are iterations.
  Decision threads_along(const char* axis, int64_t extent, int64_t least, int64_t most) {
    Decision out{std::string(axis) + std::to_string(++decisions_), 1, {}};
    while (out.value < most && out.value < extent) out.value *= 2;
    for (int64_t size = std::min(least, out.value); size <= kThreads; size *= 2)
      if (size < 2 * extent) out.candidates.push_back(size);
    return out;
  }

  void plan(uint32_t id) {
    const Stage& stage = t_.stages[id];
    if (stage.placement.kind != Placement::Kind::at_root || stage.loops.empty()) return;
    const StageTable table = table_of(t_, stage);
    std::vector<std::string> data, reduced;  // names of loops, outermost first
    std::string x;
    for (const TemplateLoop& loop : stage.loops) {
      if (loop.index >= stage.data_indices)
        reduced.push_back(loop.name);
      else if (table.unit == loop.index)
        x = loop.name;
      else
        data.push_back(loop.name);
    }
    if (x.empty() && data.empty()) return;
    if (x.empty()) x = data.back(), data.pop_back();
    data.empty() ? row(stage, x, reduced) : rows(stage, x, data, reduced);
  }

  int64_t extent_of(const Stage& stage, const std::string& loop) const {
    for (const TemplateLoop& l : stage.loops)
      if (l.name == loop) return stage.hi[l.index] - stage.lo[l.index];
    return 1;
  }

  void row(const Stage& stage, const std::string& x, const std::vector<std::string>& reduced) {
    const std::string name = stage.name;
    const Decision tx = threads_along("tx", extent_of(stage, x), kRow, kThreads);
    if (!take({TileStep{name, {{x, Size{0, tx.name}}}}, PermuteStep{name, joined({x + ".1", x}, reduced)},
               BindStep{name, x + ".1", "block_x"}, BindStep{name, x, "thread_x"}},
              {tx}))
      return;
    sum_in_register(name, x, reduced);
  }

  void rows(const Stage& stage, const std::string& x, std::vector<std::string> data,
            const std::vector<std::string>& reduced) {
    const std::string name = stage.name, y = data.back();
    data.pop_back();
    const Decision tx = threads_along("tx", extent_of(stage, x), kRow, kRow);
    const Decision ty = threads_along("ty", extent_of(stage, y), 1, kThreads / tx.value);
    std::vector<std::string> order;
    std::string z;
    if (!data.empty()) z = data.back(), data.pop_back(), order.push_back(z);
    for (const std::string& loop : {y + ".1", x + ".1", y, x}) order.push_back(loop);
    order.insert(order.end(), data.begin(), data.end());
    std::vector<Step> steps = {TileStep{name, {{y, Size{0, ty.name}}, {x, Size{0, tx.name}}}},
                               PermuteStep{name, joined(order, reduced)},
                               BindStep{name, y + ".1", "block_y"},
                               BindStep{name, x + ".1", "block_x"},
                               BindStep{name, y, "thread_y"},
                               BindStep{name, x, "thread_x"}};
    if (!z.empty()) steps.push_back(BindStep{name, z, "block_z"});
    if (!take(steps, {tx, ty})) return;
    sum_in_register(name, data.empty() ? x : data.back(), reduced);
  }

  void sum_in_register(const std::string& name, const std::string& at, const std::vector<std::string>& reduced) {
    if (!reduced.empty()) take({AccumulateStep{name, at, Scope::reg}});
  }

  static std::vector<std::string> joined(std::vector<std::string> some, const std::vector<std::string>& others) {
    some.insert(some.end(), others.begin(), others.end());
    return some;
  }

  NestTemplate t_;
  int decisions_ = 0;
};

}  // namespace

std::vector<NestTemplate> grid_sketches(const Program& normalized, NumericsClass cls, const Isl& isl) {
  const auto base = base_template(normalized, cls, isl.recurrence_nest);
  if (!base || base->fixed) return {};
  NestTemplate bound = GridPlan(*base).run();
  if (bound.trace == base->trace) return {};
  return {std::move(bound)};
}

}  // namespace polyweft::schedules
