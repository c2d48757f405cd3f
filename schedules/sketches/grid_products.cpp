// Products by the lanes of a warp together, where the machine has an instruction for the statement's sum.
//
//   for i, j, k    ->    for i.1 axis "block_y", j.1 axis "block_x"
//                          for i.2 axis "thread_z", j.2 axis "thread_y"    a warp each, 32 threads along x
//                            for k.1: (copies of A and B in shared memory)
//                              for k.2
//                                for i.3 unroll, j.3 unroll: one instruction (sums in the warp's registers)
#include <algorithm>
#include <optional>

#include "ir/nests/instruction.h"
#include "ir/values/slots.h"
#include "schedules/queries.h"
#include "schedules/sketches/grid_plan.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kUnitDepth = 64;  ///< least depth of a sum that a unit reads lines of
constexpr int64_t kWarpSide = 32;   ///< of a warp's tile, at least, where the loops are so long

/// Loops of a statement for the axes of an instruction.
struct Product {
  const ir::Instruction* instruction = nullptr;
  std::string rows, columns, depth;
  int64_t row = 0, column = 0, step = 0;  ///< values that the instruction takes of each
};

bool fits_sum(const NestTemplate& t, const Stage& stage, const Product& product) {
  const Equation& equation = equation_of(t, stage);
  ir::Accumulation wanted{
      equation.rhs->reduction.reducer, t.program.tensors[equation.targets[0]].type, {}, equation.rhs->args[0]};
  for (const Slot& slot : equation.slots) wanted.destination.push_back(ir::position_of(slot));
  std::vector<VarId> vars;
  for (const std::string* loop : {&product.rows, &product.columns, &product.depth})
    vars.push_back(t.program.index_var(index_of_loop(stage, *loop)));
  return ir::match(*product.instruction, wanted, vars).ok();
}

/// Is each factor contiguous along a loop of the product, so that it can lie in lines for the unit?
bool has_lines(const NestTemplate& t, const Stage& stage, const Product& product) {
  const auto moves = [&](const Affine& e, const std::string& loop) {
    return e.coefficient(t.program.index_var(index_of_loop(stage, loop))) == 1;
  };
  bool out = true;
  polyweft::visit(equation_of(t, stage).rhs, [&](const ExprNode& e) {
    if (e.op != Op::read) return;
    const auto& index = e.access.index;
    const bool is_factor = index.size() >= 2 && !index.back().data;
    out = out && is_factor &&
          (moves(index.back().affine, product.rows) || moves(index.back().affine, product.columns) ||
           moves(index.back().affine, product.depth));
  });
  return out;
}

/// The loops with most products; of equal ones those whose columns are neighbours in the result's memory.
std::optional<Product> product_of(const GridPlan& plan, const Stage& stage, const GridLoops& loops, bool reads_shared,
                                  int64_t columns_taken) {
  const Equation& equation = equation_of(plan.made(), stage);
  if (equation.targets.size() != 1 || equation.rhs->op != Op::reduce) return std::nullopt;
  std::vector<std::string> data = loops.data;
  if (!loops.x.empty()) data.push_back(loops.x);
  std::optional<Product> best;
  double most = 0;
  for (const std::string& name : plan.machine().units.instructions) {
    const auto instruction = ir::instruction_named(name);
    if (!instruction || !(*instruction)->is_of_warp() || (*instruction)->reads_shared() != reads_shared ||
        !(*instruction)->allows(plan.made().cls))
      continue;
    const auto& axes = (*instruction)->axes;
    if (axes.size() != 3 || axes[0].is_reduced || axes[1].is_reduced || !axes[2].is_reduced) continue;
    if (columns_taken > 0 && axes[1].extent != columns_taken) continue;
    for (const std::string& rows : data)
      for (const std::string& columns : data)
        for (const std::string& depth : loops.reduced) {
          const Product product{*instruction, rows, columns, depth, axes[0].extent, axes[1].extent, axes[2].extent};
          const int64_t m = extent_of_loop(stage, rows), n = extent_of_loop(stage, columns),
                        k = extent_of_loop(stage, depth);
          const bool fits = rows != columns && m >= product.row && n >= product.column && k >= product.step;
          const double products =
              static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) * (columns == loops.x ? 1.5 : 1);
          if (!fits || products <= most || !fits_sum(plan.made(), stage, product)) continue;
          if (reads_shared && (k < kUnitDepth || !has_lines(plan.made(), stage, product))) continue;
          best = product, most = products;
        }
  }
  return best;
}

/// Sizes of these that are multiples of `unit`, up to the first that holds the extent.
std::vector<int64_t> tile_sizes(std::initializer_list<int64_t> sizes, int64_t unit, int64_t extent) {
  std::vector<int64_t> out;
  for (int64_t size : sizes) {
    if (size % unit != 0 || (!out.empty() && out.back() >= extent)) continue;
    out.push_back(size);
  }
  return out;
}
std::vector<std::string> operands_of(const NestTemplate& t, const Stage& stage) {
  std::vector<std::string> out;
  for (const ReadRow& row : table_of(t, stage).reads) {
    const std::string& name = t.program.tensors[row.tensor].name;
    if (std::count(out.begin(), out.end(), name) == 0) out.push_back(name);
  }
  return out;
}

}  // namespace

std::vector<int64_t> columns_read_by_unit(const Machine& machine) {
  std::vector<int64_t> out;
  for (const std::string& name : machine.units.instructions) {
    const auto instruction = ir::instruction_named(name);
    if (!instruction || !(*instruction)->reads_shared()) continue;
    const int64_t columns = (*instruction)->axes[1].extent;
    if (std::count(out.begin(), out.end(), columns) == 0) out.push_back(columns);
  }
  std::sort(out.rbegin(), out.rend());
  return out;
}

bool plan_products(GridPlan& plan, uint32_t id, Factors factors, int64_t columns_taken) {
  const bool staged = factors != Factors::in_place, by_unit = factors == Factors::read_by_unit;
  const GridLoops loops = grid_loops(plan.made(), id);
  const Stage stage = plan.stage(id);
  if (!loops.is_plain || !stage.reduces || loops.reduced.empty()) return false;
  const auto product = product_of(plan, stage, loops, by_unit, columns_taken);
  if (!product) return false;
  const std::string &s = stage.name, &u = product->rows, &v = product->columns, &k = product->depth;
  const GridFigures& grid = plan.machine().grid;
  const int64_t lanes = product->instruction->lanes();
  Decision by{plan.fresh("by"), 0, {}}, bx{plan.fresh("bx"), 0, {}}, wy{plan.fresh("wy"), 0, {}},
      wx{plan.fresh("wx"), 0, {}}, bk{plan.fresh("bk"), 0, {}}, stages{plan.fresh("slots"), 0, {}};
  const int64_t m = extent_of_loop(stage, u), n = extent_of_loop(stage, v);
  if (by_unit) {
    wy.candidates = tile_sizes({64, 128}, product->row, m);
    wx.candidates = tile_sizes({64, 128, 256}, product->column, n);
    by.candidates = tile_sizes({64, 128, 256}, product->row, m);
    bx.candidates = tile_sizes({64, 128, 256}, product->column, n);
    for (int64_t depth : {64, 128})
      if (depth == 64 || depth < 2 * extent_of_loop(stage, k)) bk.candidates.push_back(depth);
    wy.value = at_most(wy.candidates, 64), wx.value = wx.candidates.front();
    by.value = at_most(by.candidates, 128), bx.value = at_most(bx.candidates, 256);
    bk.value = bk.candidates.front();
  } else {
    wy.candidates =
        m < kWarpSide ? tile_sizes({8, 16}, product->row, m) : std::vector<int64_t>{kWarpSide, 2 * kWarpSide};
    wx.candidates =
        n < kWarpSide ? tile_sizes({8, 16}, product->column, n) : std::vector<int64_t>{kWarpSide, 2 * kWarpSide};
    by.candidates = tile_sizes({8, 16, 32, 64, 128, 256}, wy.candidates.front(), m);
    bx.candidates = tile_sizes({8, 16, 32, 64, 128, 256}, wx.candidates.front(), n);
    for (int64_t steps : {1, 2, 4, 8})
      if (steps == 1 || steps * product->step < 2 * extent_of_loop(stage, k))
        bk.candidates.push_back(steps * product->step);
    wy.value = at_most(wy.candidates, 32), wx.value = at_most(wx.candidates, 32);
    by.value = std::max(at_most(by.candidates, 64), wy.value),
    bx.value = std::max(at_most(bx.candidates, 64), wx.value);
    bk.value = at_most(bk.candidates, 2 * product->step);
  }
  std::vector<Decision> decisions = {by, bx, wy, wx};
  const auto decided = [](const Decision& d) { return Size{0, d.name}; };
  // Half of what a lane holds for sums, the rest for operands and addresses.
  const auto most_sums = static_cast<double>((grid.thread_registers.value + 1) / 2 * lanes);
  // Operands and addresses of a warp's thread take registers, too: so many threads as have 128 each.
  constexpr int64_t kRegisters = 128;
  const int64_t most_threads = std::min(grid.block_threads.value, grid.unit_registers.value / kRegisters);
  const auto most_warps = static_cast<double>(std::max<int64_t>(1, most_threads / lanes));
  std::vector<Constraint> constraints = {
      {plan.fresh("rows"), {{1, {wy.name}}, {-1, {by.name}}}, 0},
      {plan.fresh("columns"), {{1, {wx.name}}, {-1, {bx.name}}}, 0},
      {plan.fresh("sums"), {{1, {wy.name, wx.name}}}, most_sums},
      {plan.fresh("warps"), {{1, {by.name, bx.name}}, {-most_warps, {wy.name, wx.name}}}, 0},
      // Sums are half of the unit's registers: 256 x 256 sums of bytes spilled, and took 22 times as long.
      {plan.fresh("block"), {{1, {by.name, bx.name}}}, static_cast<double>(grid.unit_registers.value / 2)}};
  std::vector<TileStep::Level> levels = {{u, decided(by)}, {v, decided(bx)}};
  if (staged) {
    levels.push_back({k, decided(bk)});
    decisions.push_back(bk);
    const int64_t bytes = size_bytes(product->instruction->operands[1].type);
    if (grid.copy_stages.value > 1) {
      for (int64_t slots = 1; slots <= grid.copy_stages.value; ++slots)
        if (!by_unit || slots != 3) stages.candidates.push_back(slots);  // products under way need four
      stages.value = at_most(stages.candidates, by_unit ? 4 : 3);
      decisions.push_back(stages);
    }
    std::vector<std::string> a = {by.name, bk.name}, b = {bx.name, bk.name};
    if (!stages.candidates.empty()) a.push_back(stages.name), b.push_back(stages.name);
    constraints.push_back(
        {plan.fresh("shared"), {{1, a}, {1, b}}, static_cast<double>(grid.block_shared_bytes.value / bytes)});
  }
  for (const TileStep::Level& level : {TileStep::Level{u, decided(wy)},
                                       {v, decided(wx)},
                                       {u, Size{product->row, ""}},
                                       {v, Size{product->column, ""}},
                                       {k, Size{product->step, ""}}})
    levels.push_back(level);
  std::vector<std::string> order, rest;
  std::vector<std::string> data = loops.data;
  if (!loops.x.empty()) data.push_back(loops.x);
  for (const std::string& loop : data)
    if (loop != u && loop != v) rest.push_back(loop);
  // One of the others over blocks, those inside it serial around the block's tiles.
  std::string z;
  if (!rest.empty()) {
    const auto longest = std::max_element(rest.begin(), rest.end(), [&](const auto& a, const auto& b) {
      return extent_of_loop(stage, a) < extent_of_loop(stage, b);
    });
    z = *longest;
    rest.erase(longest);
    order.push_back(z);
  }
  order = joined(order, {u + ".1", v + ".1", u + ".2", v + ".2"});
  order = joined(order, rest);
  for (const std::string& loop : loops.reduced)
    if (loop != k) order.push_back(loop);
  const std::string staging = k + ".1";
  if (staged) order.push_back(staging);
  order = joined(order, {staged ? k + ".2" : k + ".1", u + ".3", v + ".3", u, v, k});
  std::vector<Step> steps = {TileStep{s, levels},
                             PermuteStep{s, order},
                             BindStep{s, u + ".1", "block_y"},
                             BindStep{s, v + ".1", "block_x"},
                             BindStep{s, u + ".2", "thread_z"},
                             BindStep{s, v + ".2", "thread_y"}};
  if (!z.empty()) steps.push_back(BindStep{s, z, "block_z"});
  steps.push_back(AccumulateStep{s, rest.empty() ? v + ".2" : rest.back(), Scope::tile});
  if (staged)
    for (const std::string& operand : operands_of(plan.made(), stage))
      steps.push_back(PromoteStep{operand, s, staging, Scope::shared, {}, 0, vectors_of(plan, operand)});
  if (!stages.candidates.empty()) steps.push_back(PipelineStep{s, staging, decided(stages)});
  steps.push_back(TensorizeStep{s, {u, v, k}, product->instruction->name});
  std::vector<std::string> unrolled = {u + ".3", v + ".3"};
  if (by_unit) unrolled.insert(unrolled.begin(), k + ".2");
  steps.push_back(UnrollStep{s, unrolled});
  return plan.take(steps, decisions, constraints);
}

}  // namespace polyweft::schedules
