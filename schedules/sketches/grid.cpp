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
#include "schedules/sketches/first_steps.h"
#include "schedules/sketches/grid_plan.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kPlainBlock = 256;  ///< threads of a block, where nothing is known of the statement's registers

/// As many threads as fill a block without a statement's own reasons for fewer.
int64_t plain_threads(const Machine& machine) {
  return std::min(machine.grid.block_threads.value, kPlainBlock);
}
/// Threads along x where there is a y: a line of memory, and a group in lockstep.
int64_t row_threads(const Machine& machine) {
  constexpr int64_t kElementBytes = 4;
  const int64_t line = machine.grid.coalesced_bytes.value / kElementBytes;
  return std::clamp<int64_t>(std::max(line, machine.grid.lockstep_threads.value), 1, plain_threads(machine));
}

/// `least`: so many, or as many as there are iterations.
Decision threads_along(GridPlan& plan, const char* axis, int64_t extent, int64_t least, int64_t most) {
  Decision out{plan.fresh(axis), 1, {}};
  while (out.value * 2 <= most && out.value < extent) out.value *= 2;
  for (int64_t size = std::min(least, out.value); size <= plain_threads(plan.machine()); size *= 2)
    if (size < 2 * extent) out.candidates.push_back(size);
  return out;
}

Constraint block_limit(GridPlan& plan, const std::vector<Decision>& decisions) {
  Monomial threads{1, {}};
  for (const Decision& d : decisions) threads.decisions.push_back(d.name);
  return {plan.fresh("threads"), {threads}, static_cast<double>(plain_threads(plan.machine()))};
}

void sum_in_register(GridPlan& plan, const std::string& name, const std::string& at,
                     const std::vector<std::string>& reduced) {
  if (!reduced.empty()) plan.take({AccumulateStep{name, at, Scope::reg}});
}

void plan_row_of_elements(GridPlan& plan, const Stage& stage, const GridLoops& loops) {
  const std::string name = stage.name, x = loops.x;
  const Decision tx =
      threads_along(plan, "tx", extent_of_loop(stage, x), row_threads(plan.machine()), plain_threads(plan.machine()));
  if (plan.take({TileStep{name, {{x, Size{0, tx.name}}}}, PermuteStep{name, joined({x + ".1", x}, loops.reduced)},
                 BindStep{name, x + ".1", "block_x"}, BindStep{name, x, "thread_x"}},
                {tx}))
    sum_in_register(plan, name, x, loops.reduced);
}

void plan_rows_of_elements(GridPlan& plan, const Stage& stage, const GridLoops& loops) {
  const std::string name = stage.name, x = loops.x, y = loops.data.back();
  std::vector<std::string> data = loops.data;
  data.pop_back();
  const int64_t row = row_threads(plan.machine());
  const Decision tx = threads_along(plan, "tx", extent_of_loop(stage, x), row, row);
  const int64_t rows = extent_of_loop(stage, y);
  Decision ty = threads_along(plan, "ty", rows, 1, plain_threads(plan.machine()) / std::max<int64_t>(1, tx.value));
  // Several rows a thread, whose loads are on their way together.
  Decision py{"", 1, {1}};
  if (loops.reduced.empty() && plan.machine().grid.shared_bytes_per_cycle.value > 0)
    for (int64_t of_thread : {2, 4})
      if (of_thread <= rows / 2) py.candidates.push_back(of_thread), ty.candidates.push_back(of_thread * ty.value);
  std::sort(ty.candidates.begin(), ty.candidates.end());
  ty.candidates.erase(std::unique(ty.candidates.begin(), ty.candidates.end()), ty.candidates.end());
  const bool has_rows = py.candidates.size() > 1;
  std::vector<std::string> order;
  std::string z;
  if (!data.empty()) z = data.back(), data.pop_back(), order.push_back(z);
  for (const std::string& loop : {y + ".1", x + ".1", has_rows ? y + ".2" : y, x}) order.push_back(loop);
  order.insert(order.end(), data.begin(), data.end());
  std::vector<TileStep::Level> levels = {{y, Size{0, ty.name}}, {x, Size{0, tx.name}}};
  std::vector<Decision> decisions = {tx, ty};
  std::vector<Constraint> constraints = {block_limit(plan, {tx, ty})};
  if (has_rows) {
    py.name = plan.fresh("py");
    levels.push_back({y, Size{0, py.name}});
    order.push_back(y);
    decisions.push_back(py);
    const auto most = static_cast<double>(plain_threads(plan.machine()));
    constraints = {{plan.fresh("threads"), {{1, {tx.name, ty.name}}, {-most, {py.name}}}, 0},
                   {plan.fresh("rows"), {{1, {py.name}}, {-1, {ty.name}}}, 0}};
  }
  std::vector<Step> steps = {TileStep{name, levels},
                             PermuteStep{name, joined(order, loops.reduced)},
                             BindStep{name, y + ".1", "block_y"},
                             BindStep{name, x + ".1", "block_x"},
                             BindStep{name, has_rows ? y + ".2" : y, "thread_y"},
                             BindStep{name, x, "thread_x"}};
  if (has_rows) steps.push_back(UnrollStep{name, {y}});
  if (!z.empty()) steps.push_back(BindStep{name, z, "block_z"});
  if (plan.take(steps, decisions, constraints))
    sum_in_register(plan, name, data.empty() ? x : data.back(), loops.reduced);
}

}  // namespace

bool GridPlan::take(const std::vector<Step>& steps, const std::vector<Decision>& decisions,
                    const std::vector<Constraint>& constraints) {
  Trace longer = t_.trace;
  longer.steps.insert(longer.steps.end(), steps.begin(), steps.end());
  longer.decisions.insert(longer.decisions.end(), decisions.begin(), decisions.end());
  longer.constraints.insert(longer.constraints.end(), constraints.begin(), constraints.end());
  auto next = replay_rest(t_, longer);
  if (next) t_ = *std::move(next);
  return next.ok();
}

GridLoops grid_loops(const NestTemplate& t, uint32_t id) {
  const Stage& stage = t.stages[id];
  const StageTable table = table_of(t, stage);
  GridLoops out;
  for (const TemplateLoop& loop : stage.loops) {
    out.is_plain &= is_point_loop(loop) && loop.mark.kind == MarkKind::serial;
    if (loop.index >= stage.data_indices)
      out.reduced.push_back(loop.name);
    else if (table.unit == loop.index)
      out.x = loop.name;
    else
      out.data.push_back(loop.name);
  }
  out.is_plain &= stage.placement.kind == Placement::Kind::at_root && !stage.accumulator && !stage.is_frame;
  if (out.x.empty() && !out.data.empty()) out.x = out.data.back(), out.data.pop_back();
  return out;
}

int64_t extent_of_loop(const Stage& stage, const std::string& loop) {
  for (const TemplateLoop& l : stage.loops)
    if (l.name == loop) return stage.hi[l.index] - stage.lo[l.index];
  return 1;
}

uint32_t index_of_loop(const Stage& stage, const std::string& name) {
  for (const TemplateLoop& loop : stage.loops)
    if (loop.name == name) return loop.index;
  return 0;
}

std::vector<Step> over_blocks(const std::string& statement, const std::vector<std::string>& loops) {
  const char* const axes[] = {"block_x", "block_y", "block_z"};
  std::vector<Step> out;
  for (size_t d = loops.size(); d-- > 0 && out.size() < std::size(axes);)
    out.push_back(BindStep{statement, loops[d], axes[out.size()]});
  return out;
}

uint32_t vectors_of(const GridPlan& plan, const std::string& tensor) {
  const auto& tensors = plan.made().program.tensors;
  const auto at = std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& each) { return each.name == tensor; });
  return static_cast<uint32_t>(std::max<int64_t>(1, plan.machine().grid.access_bytes.value / size_bytes(at->type)));
}

int64_t at_most(const std::vector<int64_t>& sizes, int64_t most) {
  int64_t out = sizes.front();
  for (int64_t size : sizes)
    if (size <= most) out = std::max(out, size);
  return out;
}

std::vector<std::string> joined(std::vector<std::string> some, const std::vector<std::string>& others) {
  some.insert(some.end(), others.begin(), others.end());
  return some;
}

void plan_elements(GridPlan& plan, uint32_t id) {
  const GridLoops loops = grid_loops(plan.made(), id);
  if (!loops.is_plain || loops.x.empty()) return;
  const Stage stage = plan.stage(id);
  loops.data.empty() ? plan_row_of_elements(plan, stage, loops) : plan_rows_of_elements(plan, stage, loops);
}

bool plan_statement(GridPlan& plan, uint32_t id, bool staged) {
  if (plan_tiles(plan, id, staged)) return true;
  if (!plan_rows(plan, id) && !plan_columns(plan, id) && !plan_transposed(plan, id)) plan_elements(plan, id);
  return false;
}

std::vector<NestTemplate> grid_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                        const Isl& isl) {
  const auto base = base_template(normalized, cls, isl.recurrence_nest);
  if (!base || base->fixed) return {};
  GridPlan plan(*base, machine);
  for (uint32_t id = 0; id < base->stages.size(); ++id) plan_elements(plan, id);
  if (plan.made().trace == base->trace) return {};
  return {plan.made()};
}

std::vector<NestTemplate> grid_product_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                                const Isl& isl) {
  const auto base = base_template(normalized, cls, isl.recurrence_nest);
  if (!base || base->fixed) return {};
  const NestTemplate begun = with_inlined(*base);
  std::vector<NestTemplate> out;
  const auto add = [&](Factors factors, int64_t columns) {
    GridPlan plan(begun, machine);
    bool has_products = false;
    for (uint32_t id = 0; id < begun.stages.size(); ++id) {
      const bool is_product = plan_products(plan, id, factors, columns);
      has_products |= is_product;
      const bool is_other = !is_product && factors == Factors::read_by_unit && plan_products(plan, id, Factors::staged);
      if (!is_product && !is_other && !plan_epilogue(plan, id)) plan_statement(plan, id, factors != Factors::in_place);
    }
    if (has_products) out.push_back(plan.made());
  };
  for (const int64_t columns : columns_read_by_unit(machine)) add(Factors::read_by_unit, columns);
  for (const Factors factors : {Factors::staged, Factors::in_place}) add(factors, 0);
  return out;
}

std::vector<NestTemplate> grid_tile_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                             const Isl& isl) {
  const auto base = base_template(normalized, cls, isl.recurrence_nest);
  if (!base || base->fixed) return {};
  const NestTemplate begun = with_inlined(*base);
  std::vector<NestTemplate> out;
  bool has_tiles = false;
  for (const bool staged : {false, true}) {
    if (staged && !has_tiles) break;
    GridPlan plan(begun, machine);
    for (uint32_t id = 0; id < begun.stages.size(); ++id) has_tiles |= plan_statement(plan, id, staged);
    if (plan.made().trace != base->trace) out.push_back(plan.made());
  }
  return out;
}

}  // namespace polyweft::schedules
