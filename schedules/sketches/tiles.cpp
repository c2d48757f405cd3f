// Rule 10 for tile units: two data indices and a reduced one become 16 rows, 16 columns and 64 bytes of an instruction;
// a block of such tiles holds its sums over the loop of the reduced index, so that each tile that is loaded serves as
// many as the block is wide or high.
//
//   loops  others  v: panel | u: mr  k: kc  v: nr  other reduced  k: 64 bytes | u: 16  v: 16 (unrolled)  the
//   instruction      (or u and v exchanged)
//
// A panel of u stays in the first cache (where k is long, a part of it), one of v in the second. An elementwise reader
// of the sums runs in the block, or for a whole panel where k is in parts. The operand that moves with v is packed in
// groups of the reduced index (pairs of bf16, quads of bytes), 16 columns together. The other one lies as it is where
// its rows are dense, or is packed in tiles.
#include <algorithm>
#include <map>

#include "ir/nests/instruction.h"
#include "ir/values/slots.h"
#include "schedules/queries.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kSide = 16;
constexpr int64_t kLeastTilePoints = 16 * 16 * 16;  ///< below, a tile is mostly padding

/// Which indices of the stage are the instruction's rows, columns and depth.
struct TileUse {
  const ir::Instruction* instruction = nullptr;
  uint32_t u = 0, v = 0, k = 0;
  int64_t depth = 0, group = 0;  ///< values of k in a tile, and side by side
  TensorId by_rows = 0, by_columns = 0;
};

std::optional<ir::OperandBinding> matched(const PlanContext& c, const ir::Instruction& instruction,
                                          const TileUse& use) {
  constexpr VarId kAxis = 0x40000000;
  const Equation& equation = equation_of(c.t, c.stage);
  std::map<VarId, Affine> map;
  map[c.t.program.index_var(use.u)] = Affine::variable(kAxis);
  map[c.t.program.index_var(use.v)] = Affine::variable(kAxis + 1);
  map[c.t.program.index_var(use.k)] = Affine::variable(kAxis + 2, use.group) + Affine::variable(kAxis + 3);
  ir::Accumulation wanted{equation.rhs->reduction.reducer,
                          c.t.program.tensors[equation.targets[0]].type,
                          {},
                          substitute(equation.rhs->args[0], map)};
  for (const Slot& slot : equation.slots) wanted.destination.push_back(substitute(ir::position_of(slot), map));
  auto binding = ir::match(instruction, wanted, {kAxis, kAxis + 1, kAxis + 2, kAxis + 3});
  if (!binding) return std::nullopt;
  return *std::move(binding);
}

const ReadRow* find_row(const PlanContext& c, TensorId tensor) {
  const ReadRow* found = nullptr;
  for (const ReadRow& row : c.table.reads)
    if (row.tensor == tensor) {
      if (found) return nullptr;
      found = &row;
    }
  return found;
}

bool can_pack(const PlanContext& c, const ReadRow& row, uint32_t data, uint32_t reduced) {
  return dimension_alone(c.t, row.access, data) && dimension_alone(c.t, row.access, reduced);
}

std::optional<TileUse> use_of(const PlanContext& c, const ir::Instruction& instruction) {
  if (!instruction.is_tile() || instruction.axes.size() != 4 || !instruction.allows(c.t.cls)) return std::nullopt;
  TileUse use;
  use.instruction = &instruction;
  use.group = instruction.axes[3].extent;
  use.depth = use.group * instruction.axes[2].extent;
  if (!c.table.unit) return std::nullopt;
  use.v = *c.table.unit;  // rows of sums are rows of the result
  for (use.u = c.stage.data_indices; use.u-- > 0;)
    for (use.k = c.stage.data_indices; use.u != use.v && use.k < c.table.extent.size(); ++use.k) {
      if (c.table.extent[use.u] * c.table.extent[use.v] * c.table.extent[use.k] < kLeastTilePoints) continue;
      const auto binding = matched(c, instruction, use);
      if (!binding || !binding->access[0] || !binding->access[1]) continue;
      use.by_rows = binding->access[0]->id;
      use.by_columns = binding->access[1]->id;
      const ReadRow *rows = find_row(c, use.by_rows), *columns = find_row(c, use.by_columns);
      if (rows && columns && can_pack(c, *columns, use.v, use.k)) return use;
    }
  return std::nullopt;
}

/// The target's first instruction that fits.
std::optional<TileUse> use_in(const PlanContext& c) {
  const Equation& equation = equation_of(c.t, c.stage);
  if (!c.stage.reduces || !c.stage.guards.empty() || !c.stage.inside.empty() || equation.targets.size() != 1 ||
      equation.rhs->op != Op::reduce)
    return std::nullopt;
  std::optional<TileUse> use;
  for (const std::string& name : c.machine.units.instructions)
    if (const auto instruction = ir::instruction_named(name); instruction && !use) use = use_of(c, **instruction);
  return use;
}

/// [.. data / 16 .., reduced / depth, data % 16, reduced % depth]
std::vector<LayoutDigit> tile_layout(const PlanContext& c, const ReadRow& row, uint32_t data, uint32_t reduced,
                                     int64_t depth) {
  auto layout = panel_layout(row, *dimension_alone(c.t, row.access, data), Size{kSide, ""});
  return in_groups(std::move(layout), c, row, TensorUse{"", reduced, depth, {}, {}});
}

bool are_rows_outside(TileOrder order) {
  return order == TileOrder::rows_outside || order == TileOrder::rows_packed;
}

/// Sizes of the block, of the part of the reduced index that it runs over, and of the panel of the outer operand's
/// partner that stays in the second cache.
struct TileSizes {
  Size mr, nr, kc, panel;
  bool has_parts() const { return !kc.decision.empty(); }
  bool has_panel() const { return !panel.decision.empty() || panel.constant > 0; }
};

TileSizes add_sizes(Plan& plan, const PlanContext& c, const TileUse& use, const TileForm& form) {
  const auto sides = [&](uint32_t index) {
    std::vector<int64_t> out;
    for (int64_t tiles : {1, 2, 3, 4})
      if (tiles == 1 || (tiles - 1) * kSide < c.table.extent[index]) out.push_back(tiles * kSide);
    return out;
  };
  const auto guess = [&](uint32_t index) { return c.table.extent[index] > kSide ? 2 * kSide : kSide; };
  const int64_t depth = (c.table.extent[use.k] + use.depth - 1) / use.depth * use.depth;
  TileSizes out{add_size(plan, c, "mr", guess(use.u), sides(use.u)),
                add_size(plan, c, "nr", guess(use.v), sides(use.v)), Size{depth, ""}, Size{}};
  if (form.in_parts && depth > 8 * use.depth) {
    std::vector<int64_t> depths = equal_parts(c.table.extent[use.k], {16 * use.depth, 8 * use.depth}, use.depth);
    const int64_t first = form.reader ? depths.back() : depth;
    if (!form.reader) depths.push_back(depth);
    if (form.reader && first >= depth) depths.clear();
    if (depths.size() == 1) depths.push_back(depths[0]);
    out.kc = add_size(plan, c, "kc", first, depths);
  }
  // What each panel of the outer index reads anew should stay in the second cache meanwhile, beside the panel and the
  // sums.
  const uint32_t inner = are_rows_outside(form.order) ? use.v : use.u;
  const double bytes_of_one = static_cast<double>(depth) * 64 / static_cast<double>(use.depth),
               cache = static_cast<double>(c.machine.caches() > 1 ? c.machine.cache_bytes(1) : 1 << 20);
  if (c.site == Site::root && static_cast<double>(c.table.extent[inner]) * bytes_of_one > cache / 4) {
    const auto side = std::max<int64_t>(static_cast<int64_t>(cache / 2 / bytes_of_one), 4 * kSide);
    std::vector<int64_t> panels = equal_parts(c.table.extent[inner], {side, side / 2}, 2 * kSide);
    panels.push_back((c.table.extent[inner] + 2 * kSide - 1) / (2 * kSide) * (2 * kSide));
    out.panel = add_size(plan, c, "panel", panels.front(), panels);
  }
  // Sums, one tile of rows and all tiles of columns: then each is loaded once a step. In strips one tile of columns at
  // a time, whose rows are near anyway.
  const double most = ir::kLiveTiles - (c.site == Site::root ? 1 : 4);
  if (!out.mr.decision.empty() && !out.nr.decision.empty()) {
    Constraint fits{"tiles", {{1.0 / (kSide * kSide), {out.mr.decision, out.nr.decision}}}, most};
    if (c.site == Site::root) fits.terms.push_back({1.0 / kSide, {out.nr.decision}});
    plan.constraints.push_back(std::move(fits));
  }
  return out;
}

/// The elementwise reader of the sums in the block, while they are near: from a buffer of the block where it holds
/// whole sums, else of the panel.
void add_reader(Plan& plan, const PlanContext& c, const PlanContext& reader, const TileUse& use,
                const std::string& place) {
  std::vector<std::string> loops;
  for (uint32_t k = 0; k < reader.stage.data_indices; ++k)
    if (k != use.u && k != use.v) loops.push_back(reader.name(k));
  loops.push_back(reader.name(use.u));
  loops.push_back(reader.name(use.v));
  plan.steps.push_back(PermuteStep{reader.stage.name, loops});
  plan.steps.push_back(
      VectorizeStep{reader.stage.name, reader.name(use.v), Size{std::min<int64_t>(reader.lanes(), 2 * kSide), ""}});
  plan.steps.push_back(FuseStep{reader.stage.name, c.stage.name, place});
}

}  // namespace

std::optional<TileAxes> tile_axes(const PlanContext& c) {
  const auto use = use_in(c);
  if (!use) return std::nullopt;
  return TileAxes{use->u, use->v, use->k, kSide, use->depth, use->by_rows};
}

bool fills_tiles(const PlanContext& c) {
  const auto use = use_in(c);
  return use && c.table.extent[use->u] >= kSide && c.table.extent[use->v] >= kSide &&
         c.table.extent[use->k] >= use->depth;
}

Plan plan_tiles(const PlanContext& c, const TileForm& form) {
  Plan plan;
  const auto use = use_in(c);
  if (!use) return plan;
  const ReadRow &rows = *find_row(c, use->by_rows), &columns = *find_row(c, use->by_columns);
  const bool packs_rows = form.order == TileOrder::rows_packed || form.order == TileOrder::columns_outside_packed;
  if (packs_rows ? !can_pack(c, rows, use->u, use->k)
                 : rows.stride[use->k] != 1 || rows.irregular[use->k] || rows.quotient[use->k] != 0)
    return plan;
  const TileSizes sizes = add_sizes(plan, c, *use, form);
  if (form.reader && form.in_parts && !sizes.has_parts()) return {};
  const std::string &s = c.stage.name, u = c.name(use->u), v = c.name(use->v), k = c.name(use->k);
  const bool rows_outside = are_rows_outside(form.order);
  const std::string &outer = rows_outside ? u : v, &inner = rows_outside ? v : u;
  const Size side{kSide, ""};
  std::vector<TileStep::Level> levels;
  if (c.group) levels.push_back({c.name(c.group->index), Size{c.group->size, ""}});
  if (sizes.has_panel()) levels.push_back({inner, sizes.panel});
  if (sizes.has_parts()) levels.push_back({k, sizes.kc});
  for (const TileStep::Level& level : {TileStep::Level{u, sizes.mr},
                                       {v, sizes.nr},
                                       {k, Size{use->depth, ""}},
                                       {u, side},
                                       {v, side},
                                       {k, Size{use->group, ""}}})
    levels.push_back(level);
  plan.steps.push_back(TileStep{s, levels});
  std::map<std::string, int> count;
  const auto next = [&](const std::string& index) { return index + "." + std::to_string(++count[index]); };
  std::vector<std::string> loops;
  for (uint32_t other = 0; other < c.stage.data_indices; ++other) {
    if (other == use->u || other == use->v) continue;
    if (c.group && other == c.group->index) loops.push_back(next(c.name(other)));
    loops.push_back(c.name(other));
  }
  if (sizes.has_panel()) loops.push_back(next(inner));
  const std::string row = next(outer);
  loops.push_back(row);
  if (sizes.has_parts()) loops.push_back(next(k));
  const std::string place = next(inner);
  loops.push_back(place);
  for (uint32_t other = c.stage.data_indices; other < c.table.extent.size(); ++other)
    if (other != use->k) loops.push_back(c.name(other));
  loops.push_back(next(k));
  const std::string tile_u = next(u), tile_v = next(v), group = next(k);
  for (const std::string& each : {tile_u, tile_v, group, u, v, k}) loops.push_back(each);
  plan.steps.push_back(PermuteStep{s, loops});
  const auto promote = [&](const ReadRow& operand, uint32_t data, const std::string& at, int64_t depth) {
    plan.steps.push_back(PromoteStep{c.t.program.tensors[operand.tensor].name, s, at, Scope::heap,
                                     tile_layout(c, operand, data, use->k, depth)});
  };
  promote(columns, use->v, c.copies_at.value_or("root"), use->group);
  if (packs_rows)
    promote(rows, use->u, !rows_outside || c.t.program.tensors[rows.tensor].is_const_input ? "root" : row, use->depth);
  plan.steps.push_back(AccumulateStep{s, place, Scope::tile});
  plan.steps.push_back(TensorizeStep{s, {u, v, group, k}, use->instruction->name});
  plan.steps.push_back(UnrollStep{s, {tile_u, tile_v}});
  // Rows where they lie come from beyond the second cache once: blocks over these rows ask for the next ones (each for
  // its share of them).
  if (!packs_rows && rows_outside && c.table.extent[use->u] > kSide)
    plan.steps.push_back(PrefetchStep{c.t.program.tensors[rows.tensor].name, s, u, sizes.mr});
  if (form.reader) add_reader(plan, c, *form.reader, *use, sizes.has_parts() ? row : place);
  return plan;
}

}  // namespace polyweft::schedules
