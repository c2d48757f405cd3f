// Tiles of blocks, of threads and of registers; sums of rows by the threads of a block.
//
//   for i, j            for i.1 axis "block_y"
//     for k      ->       for j.1 axis "block_x"
//                           for i.2 axis "thread_y"
//                             for k.1: (copies of A and B in shared memory)
//                               for k
//                                 for i unroll, j unroll: for j.v lanes "thread_x" (sums in registers)
//
// The lanes are innermost in the text and become threads around all of it (ir/passes/lanes_as_threads.h): the elements
// of one thread lie the threads of a row apart, so that neighbours read and write neighbours.
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/sketches/grid_plan.h"
#include "support/abilities.h"

namespace polyweft::schedules {
namespace {

constexpr double kSumRegisters = 0.75;  ///< share of a thread's registers that sums may take

/// Multiples of `unit` by powers of two, up to the first that holds the extent.
std::vector<int64_t> sizes_of(int64_t unit, int64_t extent, int64_t most) {
  std::vector<int64_t> out;
  for (int64_t size = unit; size <= most; size *= 2) {
    out.push_back(size);
    if (size >= extent) break;
  }
  if (out.empty()) out.push_back(unit);
  return out;
}

Size decided(const Decision& d) {
  return Size{0, d.name};
}

/// Does one read not move with x, and another not with y? Then both are read once for all of a tile's elements along
/// them.
bool share_operands(const StageTable& table, uint32_t x, uint32_t y) {
  const auto stands = [&](uint32_t index) {
    return std::any_of(table.reads.begin(), table.reads.end(), [&](const ReadRow& row) { return !row.uses(index); });
  };
  return stands(x) && stands(y);
}

/// The data loop besides x that shares operands with it, the longest.
std::string rows_loop(const NestTemplate& t, const Stage& stage, const GridLoops& loops) {
  const StageTable table = table_of(t, stage);
  std::string best;
  for (const std::string& y : loops.data)
    if (share_operands(table, index_of_loop(stage, loops.x), index_of_loop(stage, y)) &&
        (best.empty() || extent_of_loop(stage, y) >= extent_of_loop(stage, best)))
      best = y;
  return best;
}

/// Reads that a block's threads share and that are made before the statement's nest.
std::vector<std::string> staged_operands(const NestTemplate& t, const Stage& stage) {
  std::vector<std::string> out;
  for (const ReadRow& row : table_of(t, stage).reads) {
    const std::string& name = t.program.tensors[row.tensor].name;
    const bool is_irregular = std::any_of(row.irregular.begin(), row.irregular.end(), [](char c) { return c != 0; });
    if (!is_irregular && std::count(out.begin(), out.end(), name) == 0) out.push_back(name);
  }
  return out;
}

}  // namespace

namespace {

constexpr int64_t kNeighbours = 4;        ///< elements of a row that a thread has in one access
constexpr int64_t kThreadsOfUnit = 1024;  ///< that hide what the others wait for, with as many registers for sums

bool plan_tiles_of(GridPlan& plan, uint32_t id, bool staged, const GridLoops& loops) {
  const Stage stage = plan.stage(id);
  if (!loops.is_plain || !stage.reduces || loops.reduced.empty() || loops.x.empty()) return false;
  const std::string y = rows_loop(plan.made(), stage, loops), x = loops.x, name = stage.name;
  if (y.empty()) return false;
  const GridFigures& grid = plan.machine().grid;
  const int64_t tx = grid.lockstep_threads.value;
  if (extent_of_loop(stage, x) < tx) return false;
  auto most_sums = static_cast<int64_t>(kSumRegisters * static_cast<double>(grid.thread_registers.value));
  if (grid.unit_registers.value > 0) most_sums = std::min(most_sums, grid.unit_registers.value / kThreadsOfUnit);
  Decision by{plan.fresh("by"), 0, {}}, bx{plan.fresh("bx"), 0, {}}, py{plan.fresh("py"), 0, {}}, slots;
  const int64_t most_rows = std::max<int64_t>(8, 4 * grid.block_threads.value / tx);
  for (int64_t rows : {1, 2, 4, 6, 8, 12, 16})
    if (rows <= most_sums && (rows == 1 || rows < 2 * extent_of_loop(stage, y))) py.candidates.push_back(rows);
  by.candidates = sizes_of(4, extent_of_loop(stage, y), std::min<int64_t>(128, most_rows));
  for (int64_t columns : {1, 2, 3, 4, 6, 8})
    if (columns == 1 || columns * tx <= extent_of_loop(stage, x)) bx.candidates.push_back(columns * tx);
  bx.value = at_most(bx.candidates, 3 * tx);
  py.value = at_most(py.candidates, std::min<int64_t>(8, most_sums / (bx.value / tx)));
  by.value = at_most(by.candidates, 32);
  std::vector<Decision> decisions = {by, bx, py};
  std::vector<Constraint> constraints = {
      {plan.fresh("sums"), {{1, {py.name, bx.name}}}, static_cast<double>(most_sums * tx)}};
  std::vector<TileStep::Level> levels = {{y, decided(by)}, {x, decided(bx)}};
  std::vector<std::string> order, rest;
  for (const std::string& loop : loops.data)
    if (loop != y) rest.push_back(loop);
  std::string z;
  if (!rest.empty()) {
    const auto longest = std::max_element(rest.begin(), rest.end(), [&](const auto& a, const auto& b) {
      return extent_of_loop(stage, a) < extent_of_loop(stage, b);
    });
    z = *longest;
    rest.erase(longest);
    order.push_back(z);
  }
  order = joined(order, {y + ".1", x + ".1", y + ".2"});
  order = joined(order, rest);
  const std::string k = loops.reduced.back();
  order.insert(order.end(), loops.reduced.begin(), loops.reduced.end() - 1);
  if (staged) {
    const auto operands = staged_operands(plan.made(), stage);
    Decision bk{plan.fresh("bk"), 0, sizes_of(8, extent_of_loop(stage, k), 32)};
    bk.value = at_most(bk.candidates, 16);
    levels.push_back({k, decided(bk)});
    decisions.push_back(bk);
    order.push_back(k + ".1");
    constexpr int64_t kElementBytes = 4;
    const auto cells = static_cast<double>(grid.block_shared_bytes.value / kElementBytes);
    std::vector<std::string> rows = {by.name, bk.name}, columns = {bx.name, bk.name};
    if (grid.copy_stages.value > 1) {
      for (int64_t count = 1; count <= std::min<int64_t>(3, grid.copy_stages.value); ++count)
        slots.candidates.push_back(count);
      slots.name = plan.fresh("slots"), slots.value = slots.candidates.back();
      decisions.push_back(slots);
      rows.push_back(slots.name), columns.push_back(slots.name);
    }
    constraints.push_back({plan.fresh("shared"), {{1, rows}, {1, columns}}, cells});
  }
  levels.push_back({y, decided(py)});
  // A thread has neighbours of a row in one access.
  const bool is_wide = staged && grid.shared_bytes_per_cycle.value > 0 && extent_of_loop(stage, k) % kNeighbours == 0;
  if (is_wide) levels.push_back({k, Size{kNeighbours, ""}}), order.push_back(k + ".2");
  std::vector<Step> steps = {TileStep{name, levels},
                             VectorizeStep{name, x, Size{tx, ""}},
                             PermuteStep{name, joined(order, {k, y, x})},
                             BindStep{name, y + ".1", "block_y"},
                             BindStep{name, x + ".1", "block_x"},
                             BindStep{name, y + ".2", "thread_y"}};
  if (!z.empty()) steps.push_back(BindStep{name, z, "block_z"});
  steps.push_back(AccumulateStep{name, rest.empty() ? y + ".2" : rest.back(), Scope::reg});
  if (staged)
    for (const std::string& operand : staged_operands(plan.made(), stage))
      steps.push_back(PromoteStep{operand, name, k + ".1", Scope::shared, {}, 0, vectors_of(plan, operand)});
  if (!slots.candidates.empty()) steps.push_back(PipelineStep{name, k + ".1", decided(slots)});
  steps.push_back(UnrollStep{name, is_wide ? std::vector<std::string>{k, y} : std::vector<std::string>{y}});
  steps.push_back(BindStep{name, x + ".v", "thread_x"});
  return plan.take(steps, decisions, constraints);
}

// One sum keeps one unit busy. Where there are few and they are long, blocks fold parts of each, and the threads of
// another one put these together: a sum after the other.
std::optional<RfactorStep> parts_of_sums(const GridPlan& plan, const Stage& stage, const GridLoops& loops,
                                         int64_t threads) {
  constexpr int64_t kLongSum = 1 << 16, kTermsOfThread = 16, kBlocksOfUnit = 8, kMostParts = 1024;
  int64_t sums = 1, terms = 1;
  for (const TemplateLoop& loop : stage.loops)
    (loop.index < stage.data_indices ? sums : terms) *= stage.hi[loop.index] - stage.lo[loop.index];
  const int64_t units = plan.machine().block_units();
  const bool are_few = 8 * sums <= units || (sums == 1 && units > 1);
  if (!are_few || terms < kLongSum || !is_on("sketch.parts_of_sums")) return std::nullopt;
  const std::string& outermost = loops.reduced.front();
  const bool is_own = loops.reduced.size() > 1;  // else threads run along it, too
  const int64_t most = extent_of_loop(stage, outermost) / (is_own ? 1 : kTermsOfThread * threads);
  const int64_t parts = std::min({kBlocksOfUnit * units, kMostParts, most});
  return parts < 2 ? std::nullopt : std::optional(RfactorStep{stage.name, outermost, parts});
}

}  // namespace

// The longest reduced loop innermost: taps of a window around it (a convolution of 3 x 3 taps and 64 channels took 1.6
// ms so, 8 ms with taps inside); in the order of the text where the class keeps that.
bool plan_tiles(GridPlan& plan, uint32_t id, bool staged) {
  const GridLoops as_written = grid_loops(plan.made(), id);
  GridLoops loops = as_written;
  const Stage stage = plan.stage(id);
  std::stable_sort(loops.reduced.begin(), loops.reduced.end(),
                   [&](const auto& a, const auto& b) { return extent_of_loop(stage, a) < extent_of_loop(stage, b); });
  return plan_tiles_of(plan, id, staged, loops) ||
         (loops.reduced != as_written.reduced && plan_tiles_of(plan, id, staged, as_written));
}

bool plan_rows(GridPlan& plan, uint32_t id) {
  const Stage stage = plan.stage(id);
  const GridLoops loops = grid_loops(plan.made(), id);
  if (!loops.is_plain || !stage.reduces || loops.reduced.empty()) return false;
  const StageTable table = table_of(plan.made(), stage);
  const std::string k = loops.reduced.back(), name = stage.name;
  const uint32_t along = index_of_loop(stage, k);
  const auto is_along = [](const ReadRow& row, uint32_t index) {
    return row.stride[index] == 1 && !row.irregular[index];
  };
  const bool is_row = std::any_of(table.reads.begin(), table.reads.end(), [&](const ReadRow& row) {
    return is_along(row, along) && (loops.x.empty() || !is_along(row, index_of_loop(stage, loops.x)));
  });
  const GridFigures& grid = plan.machine().grid;
  const int64_t extent = extent_of_loop(stage, k), least = grid.lockstep_threads.value;
  if (!is_row || extent < least) return false;
  std::vector<std::string> data = loops.data;
  if (!loops.x.empty()) data.push_back(loops.x);
  const int64_t most = std::min<int64_t>(grid.block_threads.value, 256);
  Decision tx{plan.fresh("tx"), 0, {}};
  for (int64_t size = least; size <= most && size <= extent; size *= 2) tx.candidates.push_back(size);
  if (tx.candidates.empty()) return false;
  tx.value = at_most(tx.candidates, std::max(least, extent / 8));
  const Step order = PermuteStep{name, joined(data, loops.reduced)};
  const Step accumulate = AccumulateStep{name, data.empty() ? "root" : data.back(), Scope::reg};
  const std::vector<Step> lanes = {VectorizeStep{name, k, decided(tx)}, BindStep{name, k + ".v", "thread_x"}};
  if (const auto parts = parts_of_sums(plan, stage, loops, most)) {
    Decision all = tx;
    all.value = tx.candidates.back();
    const std::vector<Step> steps = {
        order, accumulate, lanes[0], *parts, BindStep{name, parts->index + ".p", "block_x"}, lanes[1]};
    if (plan.take(steps, {all})) return true;
  }
  std::vector<Step> steps = {order};
  for (Step& step : over_blocks(name, data)) steps.push_back(std::move(step));
  steps.push_back(accumulate);
  steps.insert(steps.end(), lanes.begin(), lanes.end());
  return plan.take(steps, {tx});
}

bool plan_columns(GridPlan& plan, uint32_t id) {
  const Stage stage = plan.stage(id);
  const GridLoops loops = grid_loops(plan.made(), id);
  if (!loops.is_plain || !stage.reduces || loops.reduced.empty() || loops.x.empty()) return false;
  const StageTable table = table_of(plan.made(), stage);
  const std::string x = loops.x, name = stage.name, k = loops.reduced.front();
  const uint32_t index = index_of_loop(stage, x);
  const bool is_dense = std::any_of(table.reads.begin(), table.reads.end(), [&](const ReadRow& row) {
    return row.stride[index] == 1 && !row.irregular[index];
  });
  const GridFigures& grid = plan.machine().grid;
  const int64_t tx = grid.lockstep_threads.value, extent = extent_of_loop(stage, x);
  if (!is_dense || extent < 2 * tx || loops.data.size() > 1) return false;
  Decision bx{plan.fresh("bx"), 0, {}};
  for (int64_t columns : {1, 2, 4, 8})
    if (columns * tx <= extent) bx.candidates.push_back(columns * tx);
  bx.value = at_most(bx.candidates, 4 * tx);
  std::vector<Step> steps = {TileStep{name, {{x, decided(bx)}}}, VectorizeStep{name, x, Size{tx, ""}},
                             PermuteStep{name, joined(joined(loops.data, {x + ".1"}), joined(loops.reduced, {x}))},
                             BindStep{name, x + ".1", "block_x"}};
  if (!loops.data.empty()) steps.push_back(BindStep{name, loops.data.front(), "block_y"});
  steps.push_back(AccumulateStep{name, x + ".1", Scope::reg});
  // Few columns, of many terms: parts of them by rows of threads.
  constexpr int64_t kParts = 8, kTermsOfPart = 32;
  std::vector<Step> parted = steps;
  parted.push_back(RfactorStep{name, k, kParts});
  parted.push_back(BindStep{name, k + ".p", "thread_y"});
  for (std::vector<Step>* each : {&steps, &parted}) each->push_back(BindStep{name, x + ".v", "thread_x"});
  if (extent_of_loop(stage, k) >= kParts * kTermsOfPart && kParts * tx <= grid.block_threads.value &&
      plan.take(parted, {bx}))
    return true;
  return plan.take(steps, {bx});
}

bool plan_transposed(GridPlan& plan, uint32_t id) {
  const Stage stage = plan.stage(id);
  const GridLoops loops = grid_loops(plan.made(), id);
  if (!loops.is_plain || stage.reduces || loops.x.empty()) return false;
  const StageTable table = table_of(plan.made(), stage);
  const uint32_t x = index_of_loop(stage, loops.x);
  const GridFigures& grid = plan.machine().grid;
  const int64_t tx = grid.lockstep_threads.value;
  for (const ReadRow& row : table.reads) {
    const auto y = std::find_if(loops.data.begin(), loops.data.end(), [&](const std::string& loop) {
      const uint32_t index = index_of_loop(stage, loop);
      return row.stride[index] == 1 && !row.irregular[index] && row.stride[x] > 1 && !row.irregular[x];
    });
    if (y == loops.data.end() || extent_of_loop(stage, *y) < tx || extent_of_loop(stage, loops.x) < tx) continue;
    const std::string name = stage.name;
    Decision by{plan.fresh("by"), 0, {}}, py{plan.fresh("py"), 4, {1, 2, 4}};
    by.candidates = sizes_of(tx, extent_of_loop(stage, *y), 4 * tx);
    by.value = at_most(by.candidates, 4 * tx);
    std::vector<std::string> rest;
    for (const std::string& loop : loops.data)
      if (loop != *y) rest.push_back(loop);
    std::vector<Step> steps = {TileStep{name, {{*y, decided(by)}, {loops.x, Size{tx, ""}}, {*y, decided(py)}}},
                               VectorizeStep{name, loops.x, Size{tx, ""}},
                               PermuteStep{name, joined(rest, {*y + ".1", loops.x + ".1", *y + ".2", *y, loops.x})},
                               BindStep{name, *y + ".1", "block_y"},
                               BindStep{name, loops.x + ".1", "block_x"},
                               BindStep{name, *y + ".2", "thread_y"}};
    if (!rest.empty()) steps.push_back(BindStep{name, rest.back(), "block_z"});
    steps.push_back(PromoteStep{plan.made().program.tensors[row.tensor].name, name, *y + ".2", Scope::shared, {}, 0});
    steps.push_back(UnrollStep{name, {*y}});
    steps.push_back(BindStep{name, loops.x + ".v", "thread_x"});
    constexpr int64_t kElementBytes = 4;
    const auto cells = static_cast<double>(grid.block_shared_bytes.value / kElementBytes / (tx + 1));
    if (plan.take(steps, {by, py}, {{plan.fresh("shared"), {{1, {by.name}}}, cells}})) return true;
  }
  return false;
}

}  // namespace polyweft::schedules
