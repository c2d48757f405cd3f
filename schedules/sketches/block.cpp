// Rules 1 to 3: the register tile, packing, cache tiles.
//
//   GEMM: v = j (unit in C and B), u = i (B does not move with it), k reduced and innermost serial.
//   loops  others | v: nc  k: kc  u: mc  v: nr  u: mr | reduced  u (unrolled)  v (vectors)
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "schedules/queries.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

std::vector<uint32_t> data_indices_but(const PlanContext& c, const BlockShape& shape) {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < c.stage.data_indices; ++k)
    if (k != shape.vector && !(shape.unrolled && k == *shape.unrolled)) out.push_back(k);
  return out;
}

std::vector<uint32_t> reduced_indices(const PlanContext& c) {
  std::vector<uint32_t> out;
  for (uint32_t k = c.stage.data_indices; k < c.table.extent.size(); ++k) out.push_back(k);
  return out;
}

bool has_conditions_on(const PlanContext& c, uint32_t index) {
  VarId var = c.t.program.index_var(index);
  return std::any_of(c.stage.inside.begin(), c.stage.inside.end(),
                     [&](const Affine& e) { return e.coefficient(var) != 0; });
}

constexpr int64_t kMostBlockParts = 11;  ///< each is a copy of the block

/// Small reduced indices that decide with the unrolled one what lies inside: the taps of a padded stencil. In a loop of
/// its own for each value, the rows at the border are a block of another constant size. Only around a serial loop
/// (channels): else the blocks of all taps would be one straight piece of code, whose common loads outlive the
/// registers.
std::vector<SplitStep> split_taps(const PlanContext& c, const BlockShape& shape) {
  std::vector<SplitStep> out;
  if (!shape.unrolled) return out;
  VarId u = c.t.program.index_var(*shape.unrolled);
  const auto reduced = reduced_indices(c);
  for (uint32_t k : reduced) {
    if (k == reduced.back() || c.table.extent[reduced.back()] < 2) continue;
    VarId var = c.t.program.index_var(k);
    bool meets = std::any_of(c.stage.inside.begin(), c.stage.inside.end(),
                             [&](const Affine& e) { return e.coefficient(var) != 0 && e.coefficient(u) != 0; });
    if (!meets || c.table.extent[k] < 2 || c.table.extent[k] > kMostBlockParts) continue;
    SplitStep step{c.stage.name, c.name(k), {}};
    for (int64_t value = c.stage.lo[k] + 1; value < c.stage.hi[k]; ++value) step.at.push_back(value);
    out.push_back(std::move(step));
  }
  return out;
}

/// The data index whose unrolling saves most loads: some operand does not move with it; the innermost such, extents of
/// 4 and more first.
std::optional<uint32_t> unrolled_index(const PlanContext& c, uint32_t vector) {
  std::optional<uint32_t> best;
  for (uint32_t k = 0; k < c.stage.data_indices; ++k) {
    if (k == vector || c.table.extent[k] < 2) continue;
    bool saves =
        std::any_of(c.table.reads.begin(), c.table.reads.end(), [&](const ReadRow& row) { return !row.uses(k); });
    if (!saves) continue;
    if (!best || c.table.extent[k] >= 4 || c.table.extent[*best] < 4) best = k;
  }
  return best;
}

}  // namespace

int64_t block_lanes(const PlanContext& c, const BlockShape& shape) {
  const auto extent = static_cast<uint64_t>(std::max<int64_t>(c.table.extent[shape.vector], 4));
  return std::min(c.lanes(), static_cast<int64_t>(std::bit_ceil(extent)));
}

std::optional<BlockShape> block_shape(const PlanContext& c) {
  if (!c.stage.reduces || !c.table.unit || !c.stage.guards.empty()) return std::nullopt;
  BlockShape shape;
  shape.vector = *c.table.unit;
  if (c.table.extent[shape.vector] < 2) return std::nullopt;
  auto cuts = cuts_at_clamps(c.table, c.stage, shape.vector);
  if (!cuts) return std::nullopt;
  shape.cuts = std::move(*cuts);
  shape.unrolled = unrolled_index(c, shape.vector);
  for (const ReadRow& row : c.table.reads) {
    if (row.irregular[shape.vector]) return std::nullopt;
    const bool is_near = is_near_along(row, shape.vector);
    if (row.quotient[shape.vector] != 0 && !is_near) return std::nullopt;
    if (row.block[shape.vector] != 0 && !is_near)
      shape.lane_block = std::gcd(shape.lane_block, row.block[shape.vector]);
    int64_t stride = row.stride[shape.vector];
    if (stride == 0 || stride == 1) continue;
    // Strided along the lanes: worth it only if a copy makes it dense and is used again.
    bool used_again = shape.unrolled && !row.uses(*shape.unrolled) && c.table.extent[*shape.unrolled] > 4;
    if (!used_again || !dimension_alone(c.t, row.access, shape.vector)) {
      if (!is_near) return std::nullopt;
      continue;  // every second element of two vectors
    }
    shape.must_pack = true;
  }
  shape.tensor = tensor_use(c, shape);
  for (const ReadRow& row : c.table.reads)
    if (shape.tensor && !c.t.program.tensors[row.tensor].is_const_input)
      shape.must_pack |= std::count(shape.tensor->lane_groups.begin(), shape.tensor->lane_groups.end(), row.tensor) > 0;
  if (shape.lane_block % c.lanes() != 0 || (shape.lane_block != 0 && c.stage.lo[shape.vector] % shape.lane_block != 0))
    return std::nullopt;
  return shape;
}

namespace {

/// The whole program is a few vector operations: no loop at all.
bool is_tiny(const PlanContext& c, const BlockShape& shape) {
  constexpr int64_t kMostOperations = 128;
  if (shape.tensor || c.table.extent.size() != c.stage.data_indices + 1) return false;
  int64_t operations = 1, lanes = block_lanes(c, shape);
  for (uint32_t k = 0; k < c.table.extent.size(); ++k)
    operations *=
        std::min(k == shape.vector ? (c.table.extent[k] + lanes - 1) / lanes : c.table.extent[k], kMostOperations + 1);
  return operations <= kMostOperations && c.stage.guards.empty();
}

/// So few folds, each of few vectors, that their loop costs as much as they do: written out, if no border is to be
/// tested for each. (Blocks of several vectors a row are long enough: written out they were 4 % slower.)
bool has_few_folds(const PlanContext& c, const BlockShape& shape) {
  constexpr double kMostFolds = 16;
  double folds = 1;
  for (uint32_t k : reduced_indices(c)) {
    folds *= static_cast<double>(c.table.extent[k]);
    if (has_conditions_on(c, k)) return false;
  }
  const bool is_narrow = shape.lane_block == c.lanes() || c.table.extent[shape.vector] <= c.lanes();
  return is_narrow && folds > 1 && folds <= kMostFolds && !shape.tensor && c.stage.guards.empty();
}

struct Sizes {
  Size nr, mr;
  std::optional<Size> nc, kc, mc;
  std::optional<TensorId> passing = std::nullopt;  ///< panels outside: whose
  std::optional<Size> ahead = std::nullopt;        ///< they are asked for so many values of the reduced index before
};

void add_register_sizes(Plan& plan, const PlanContext& c, const BlockShape& shape, Sizes& sizes) {
  int64_t lanes = block_lanes(c, shape), extent_v = c.table.extent[shape.vector];
  int64_t whole = (extent_v + lanes - 1) / lanes * lanes;
  const int64_t budget = c.machine.units.vector_registers - (c.uses_all_registers ? 0 : 1);
  std::vector<int64_t> nr, mr;
  for (int64_t w : {1, 2, 3, 4, 6})
    if (w * lanes <= whole && shape.lane_block % (w * lanes) == 0) nr.push_back(w * lanes);
  int64_t nr_guess = shape.lane_block % (2 * lanes) == 0 ? std::min<int64_t>(2 * lanes, whole) : lanes, mr_guess = 1;
  if (shape.unrolled) {
    int64_t extent_u = c.table.extent[*shape.unrolled];
    for (int64_t u : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14})
      if (u <= extent_u && u + 2 <= budget) mr.push_back(u);
    if (extent_u > 14 && extent_u + 2 <= budget) mr.push_back(extent_u);  // all rows at once
    int64_t fits = (budget - 2 - nr_guess / lanes) / (nr_guess / lanes);
    mr_guess = std::max<int64_t>(1, std::min({fits, extent_u, int64_t{14}}));
    if (has_conditions_on(c, *shape.unrolled) && split_taps(c, shape).empty())
      mr_guess = std::min<int64_t>(mr_guess, 4);
  }
  sizes.nr = c.panel ? *c.panel : add_size(plan, c, "nr", nr_guess, nr);
  sizes.mr = add_size(plan, c, "mr", mr_guess, mr);
  if (sizes.nr.decision.empty() || sizes.mr.decision.empty()) return;
  Constraint registers =
      block_in_registers(sizes.mr.decision, sizes.nr.decision, lanes, c.machine.units.vector_registers);
  if (c.uses_all_registers) registers.at_most = static_cast<double>(c.machine.units.vector_registers);
  plan.constraints.push_back(std::move(registers));
}

/// Row strides of more than a page along the rows of the block, or an operand strided along the lanes.
bool wants_vector_pack(const PlanContext& c, const ReadRow& row, const BlockShape& shape) {
  if (!row.uses(shape.vector) || !dimension_alone(c.t, row.access, shape.vector)) return false;
  if (shape.unrolled && row.uses(*shape.unrolled)) return false;
  if (shape.tensor && std::count(shape.tensor->lane_groups.begin(), shape.tensor->lane_groups.end(), row.tensor))
    return true;
  if (row.stride[shape.vector] != 1) return true;
  return c.packing != Packing::none || c.t.program.tensors[row.tensor].is_const_input;
}

bool wants_row_pack(const PlanContext& c, const ReadRow& row, const BlockShape& shape) {
  if (shape.tensor) return std::count(shape.tensor->row_groups.begin(), shape.tensor->row_groups.end(), row.tensor) > 0;
  return c.packing == Packing::all && shape.unrolled && row.uses(*shape.unrolled) && !row.uses(shape.vector) &&
         dimension_alone(c.t, row.access, *shape.unrolled);
}

bool is_input(const PlanContext& c, TensorId tensor) {
  auto kind = c.t.program.tensors[tensor].kind;
  if (kind == TensorKind::input || kind == TensorKind::constant) return true;
  auto definers = definitions(c.t, tensor);
  return definers.size() == 1 && c.t.stages[definers[0]].inside.empty() && c.t.stages[definers[0]].guards.empty() &&
         c.t.stages[definers[0]].placement.kind == Placement::Kind::at_root && c.site == Site::root;
}

}  // namespace

std::vector<LayoutDigit> panel_layout(const ReadRow& row, uint32_t dim, const Size& factor) {
  std::vector<LayoutDigit> out = {{LayoutDigit::Part::quotient, "d" + std::to_string(dim), factor}};
  for (uint32_t d = 0; d < row.access.index.size(); ++d)
    if (d != dim) out.push_back({LayoutDigit::Part::whole, "d" + std::to_string(d), {}});
  out.push_back({LayoutDigit::Part::remainder, "d" + std::to_string(dim), factor});
  return out;
}

namespace {

std::vector<LayoutDigit> panel_layout(const PlanContext& c, const ReadRow& row, uint32_t index, const Size& factor) {
  return polyweft::schedules::panel_layout(row, *dimension_alone(c.t, row.access, index), factor);
}

/// The innermost of these loops on whose index the read depends; "root" where there is none.
std::string place_of(const PlanContext& c, const ReadRow& row, const std::vector<std::string>& order,
                     size_t outside_block) {
  std::string place = "root";
  for (size_t k = 0; k < outside_block; ++k) {
    std::string index = order[k].substr(0, order[k].find('.'));
    for (uint32_t i = 0; i < c.table.extent.size(); ++i)
      if (c.name(i) == index && row.uses(i)) place = order[k];
  }
  return place;
}

/// Blocks of columns of whole tiles of three and of four vectors, for a quarter to five eighths of the second cache.
void add_columns(const PlanContext& c, int64_t extent, int64_t bytes, int64_t l2, const std::vector<int64_t>& depths,
                 std::vector<int64_t>& out) {
  for (const int64_t depth : depths)
    for (const int64_t sixteenths : {4, 6, 7, 8, 10})
      for (const int64_t vectors : {3, 4}) {
        const int64_t columns = std::max<int64_t>(l2 * sixteenths / 16 / std::max<int64_t>(depth * bytes, 1), 1);
        out.push_back(equal_parts(extent, {columns}, vectors * c.lanes())[0]);
      }
}

/// Where rows stand outside: a panel of rows takes half of the first cache or, as deep as the sum, passes from the
/// second; the block of the other operand takes a quarter to five eighths of the second (pages are scattered over its
/// sets, so that more does not stay). Deeper blocks pass the result less often.
void add_panel_sizes(Plan& plan, const PlanContext& c, const BlockShape& shape, int64_t bytes, int64_t l1, int64_t l2,
                     Sizes& sizes) {
  auto reduced = reduced_indices(c);
  if (reduced.size() != 1) return;
  constexpr int64_t kRows = 12;
  int64_t extent_k = c.table.extent[reduced[0]], extent_v = c.table.extent[shape.vector], depth = extent_k,
          deepest = extent_k;
  const int64_t most = std::max<int64_t>(l1 / 2 / (kRows * bytes), 1);
  if (!c.is_whole_depth && extent_k > most * 5 / 4 && !has_conditions_on(c, reduced[0])) {
    depth = equal_parts(extent_k, {most}, 1)[0];
    const std::vector<int64_t> depths = equal_parts(extent_k, {most, most * 2, most * 5}, 1);
    sizes.kc = add_size(plan, c, "kc", depth, depths);
    deepest = *std::max_element(depths.begin(), depths.end());
  }
  const int64_t unit = 6 * c.lanes();  // whole tiles of two and of three vectors
  const int64_t columns = std::max<int64_t>(l2 * 3 / 8 / std::max<int64_t>(depth * bytes, 1), unit);
  if (extent_v * deepest <= columns * depth * 3 / 2) return;
  std::vector<int64_t> wide =
      equal_parts(extent_v, {columns / 4, columns / 3, columns / 2, columns * 2 / 3, columns}, unit);
  if (c.has_more_sizes) add_columns(c, extent_v, bytes, l2, {depth, extent_k, deepest}, wide);
  sizes.nc = add_size(plan, c, "nc", equal_parts(extent_v, {columns}, unit)[0], wide);
  const int64_t most_bytes = l2 * 5 / 8;
  if (sizes.nc->decision.empty() || most_bytes < unit * deepest * bytes) return;
  const bool is_cut = sizes.kc && !sizes.kc->decision.empty();
  Monomial block{static_cast<double>(is_cut ? bytes : depth * bytes), {sizes.nc->decision}};
  if (is_cut) block.decisions.push_back(sizes.kc->decision);
  plan.constraints.push_back({"second_cache", {block}, static_cast<double>(most_bytes)});
}

bool is_packed_ahead(const PlanContext& c, TensorId tensor) {
  return c.t.program.tensors[tensor].is_const_input && !c.t.program.tensors[tensor].hidden;
}

/// The panels that come from memory, one after the other.
std::optional<TensorId> passing_panels(const PlanContext& c, const BlockShape& shape) {
  if (!c.panels_outside || reduced_indices(c).size() != 1 || c.machine.caches() < 2) return std::nullopt;
  for (const ReadRow& row : c.table.reads)
    if ((is_packed_ahead(c, row.tensor) || (shape.unrolled && is_input(c, row.tensor))) &&
        wants_vector_pack(c, row, shape) && bytes_of(c.t, row.tensor) > static_cast<double>(c.machine.cache_bytes(1)))
      return row.tensor;
  return std::nullopt;
}

/// How far along the sum a line of panels is asked for: values of the reduced index in a page of the narrowest panel.
/// Hardware does not look across its end.
int64_t page_of_panel(const PlanContext& c, TensorId panels) {
  return std::max<int64_t>(c.machine.page_bytes.value / (c.lanes() * size_bytes(c.t.program.tensors[panels].type)), 4);
}

/// Of weights packed ahead, what rows of registers use one after the other: two vectors wide, as deep as the sum.
double bytes_of_panel(const PlanContext& c, const ReadRow& row) {
  double bytes = 2.0 * static_cast<double>(c.lanes() * size_bytes(c.t.program.tensors[row.tensor].type));
  for (uint32_t k : reduced_indices(c))
    if (row.uses(k)) bytes *= static_cast<double>(c.table.extent[k]);
  return bytes;
}

/// Weights packed ahead that do not stay near from one call to the next (in a network other layers run in between), or
/// from one row of registers to the next: each line is asked for before. Those of 16 KB lost up to 3 % by it, those of
/// 1 to 9 MB gained 4 to 18 %, panels of 50 to 150 KB that the second cache holds 1 to 5 %.
bool is_usually_asked_for(const PlanContext& c, const ReadRow& row) {
  constexpr double kLeastShare = 1.0 / 8;  // of the second cache
  if (!is_packed_ahead(c, row.tensor) || c.machine.caches() < 2) return false;
  const double first = static_cast<double>(c.machine.cache_bytes(0)),
               second = static_cast<double>(c.machine.cache_bytes(1));
  return bytes_of(c.t, row.tensor) > kLeastShare * second || bytes_of_panel(c, row) > first;
}

/// How far before its turn a line of the panels is asked for: a decision, since it depends on what else the cores do.
/// At distance 0 it is not.
void add_prefetch(Plan& plan, const PlanContext& c, const BlockShape& shape) {
  const auto reduced = reduced_indices(c);
  if (reduced.empty()) return;
  for (const ReadRow& row : c.table.reads) {
    if (!wants_vector_pack(c, row, shape) || !row.uses(reduced.back())) continue;
    const int64_t page = page_of_panel(c, row.tensor);
    const Size by =
        add_size(plan, c, "ahead", is_usually_asked_for(c, row) ? page / 4 : 0, {0, page / 8, page / 4, page / 2});
    if (by != Size{})
      plan.steps.push_back(
          PrefetchStep{c.t.program.tensors[row.tensor].name, c.stage.name, c.name(reduced.back()), by});
    return;
  }
}

/// A piece of a panel that all rows use: its depth; and how far before a line is asked for.
void add_passing_sizes(Plan& plan, const PlanContext& c, Sizes& sizes) {
  const int64_t extent = c.table.extent[reduced_indices(c)[0]];
  if (extent > 384 && !has_conditions_on(c, reduced_indices(c)[0])) {
    std::vector<int64_t> depths{256, 512, 1024};
    if (c.has_more_sizes) depths.push_back(extent);
    sizes.kc = add_size(plan, c, "kc", equal_parts(extent, {512}, 1)[0], equal_parts(extent, depths, 1));
  }
  if (!is_packed_ahead(c, *sizes.passing)) return;
  const int64_t page = page_of_panel(c, *sizes.passing);
  sizes.ahead = add_size(plan, c, "ahead", page / 2, {0, page / 4, page / 2, page});
}

/// Cache tiles, where the problem is larger than the caches. kc only with a single reduced index (T6: else its order
/// would break, and the block streams all of it anyway).
void add_cache_sizes(Plan& plan, const PlanContext& c, const BlockShape& shape, Sizes& sizes) {
  if (c.site == Site::attached && !c.cuts_attached) return;
  int64_t bytes = size_bytes(
      c.t.program.tensors[shape.tensor ? shape.tensor->lane_groups.front() : equation_of(c.t, c.stage).targets[0]]
          .type);
  int64_t l1 = c.machine.cache_bytes(0);
  int64_t l2 = c.machine.caches() < 2 ? 16 * l1 : c.machine.cache_bytes(1);
  sizes.passing = passing_panels(c, shape);
  if (sizes.passing) return add_passing_sizes(plan, c, sizes);
  if (c.rows_outside) return add_panel_sizes(plan, c, shape, bytes, l1, l2, sizes);
  auto reduced = reduced_indices(c);
  int64_t extent_k = reduced.size() == 1 ? c.table.extent[reduced[0]] : 0;
  int64_t depth = extent_k;
  if (extent_k > 192 && !c.is_whole_depth && !has_conditions_on(c, reduced[0])) {
    auto wanted = equal_parts(extent_k, {l1 * 3 / 8 / (32 * bytes), l1 * 3 / 4 / (32 * bytes), 512}, 1);
    if (c.has_more_sizes) wanted.push_back(extent_k);
    int64_t guess = equal_parts(extent_k, {l1 * 3 / 4 / (32 * bytes)}, 1)[0];
    sizes.kc = add_size(plan, c, "kc", guess, wanted);
    depth = guess;
  }
  if (!shape.unrolled || depth == 0 || c.site == Site::attached) return;
  const int64_t extent_u = (c.table.extent[*shape.unrolled] + c.machine.cores() - 1) / c.machine.cores(),
                extent_v = c.table.extent[shape.vector];
  int64_t rows = std::max<int64_t>(l2 / 2 / std::max<int64_t>(depth * bytes, 1), 16);
  if (extent_u > rows || c.packing == Packing::all) {
    int64_t guess = equal_parts(extent_u, {rows}, 1)[0];
    sizes.mc = add_size(plan, c, "mc", guess,
                        equal_parts(extent_u, {rows / 4, rows / 2, rows, c.has_more_sizes ? extent_u : rows}, 1));
  }
  int64_t l3 = c.machine.caches() < 3 ? 4 * l2 : c.machine.cache_bytes(2);
  if (c.packing != Packing::none && extent_v * depth * bytes > l3 / 2)
    sizes.nc = Size{equal_parts(extent_v, {l3 / 4 / (depth * bytes)}, c.lanes())[0], ""};
}

}  // namespace

Size lane_tile(const PlanContext& c, const BlockShape& shape) {
  Plan plan;
  Sizes sizes;
  add_register_sizes(plan, c, shape, sizes);
  return sizes.nr;
}

Plan plan_block(const PlanContext& c, const BlockShape& shape) {
  Plan plan;
  Sizes sizes;
  add_register_sizes(plan, c, shape, sizes);
  add_cache_sizes(plan, c, shape, sizes);
  const std::string& s = c.stage.name;
  auto reduced = reduced_indices(c);
  std::string v = c.name(shape.vector), u = shape.unrolled ? c.name(*shape.unrolled) : "";
  std::vector<TileStep::Level> levels;
  const auto passing = sizes.passing;
  if (passing) levels.push_back({v, sizes.nr});
  if (sizes.nc) levels.push_back({v, *sizes.nc});
  if (sizes.kc) levels.push_back({c.name(reduced[0]), *sizes.kc});
  if (sizes.mc) levels.push_back({u, *sizes.mc});
  if (c.rows_outside && shape.unrolled) levels.push_back({u, sizes.mr});
  if (!passing) levels.push_back({v, sizes.nr});
  if (!c.rows_outside && shape.unrolled) levels.push_back({u, sizes.mr});
  auto outer = data_indices_but(c, shape);
  const size_t lane_levels = levels.size() - (shape.unrolled ? 1 : 0);
  const size_t last_level = outer.size() + levels.size() - 1;
  if (shape.tensor) levels.push_back({c.name(shape.tensor->reduced), Size{shape.tensor->extent, ""}});
  plan.steps.push_back(TileStep{s, levels});
  std::vector<uint32_t> points = reduced;
  if (shape.unrolled) points.push_back(*shape.unrolled);
  points.push_back(shape.vector);
  auto order = loop_order(c, c.lanes_outside || passing ? lane_levels : 0, outer, levels, points);
  plan.steps.push_back(PermuteStep{s, order});
  size_t block = last_level - (shape.unrolled ? 1 : 0);
  std::vector<TensorId> promoted;
  for (const ReadRow& row : c.table.reads) {
    bool by_vector = wants_vector_pack(c, row, shape), by_row = wants_row_pack(c, row, shape);
    if (!(by_vector || by_row) || !is_input(c, row.tensor) || std::count(promoted.begin(), promoted.end(), row.tensor))
      continue;
    promoted.push_back(row.tensor);
    PromoteStep step;
    step.tensor = c.t.program.tensors[row.tensor].name;
    step.statement = s;
    step.scope = Scope::heap;
    const bool is_shared = c.machine.cores() > 1 && shape.unrolled && !row.uses(*shape.unrolled);
    step.at = is_packed_ahead(c, row.tensor) || is_shared || (passing && !by_vector)
                  ? "root"
                  : place_of(c, row, order, passing ? last_level : block);
    step.layout = panel_layout(c, row, by_vector ? shape.vector : *shape.unrolled, by_vector ? sizes.nr : sizes.mr);
    if (shape.tensor) step.layout = in_groups(step.layout, c, row, *shape.tensor);
    if (by_vector && c.copies_at) {
      step.at = *c.copies_at;
      step.layout = layout_with_last(row.access.index.size(), *dimension_alone(c.t, row.access, shape.vector));
    }
    plan.steps.push_back(std::move(step));
  }
  std::string last = order[last_level];
  plan.steps.push_back(AccumulateStep{s, last, Scope::reg});
  if (!shape.cuts.empty()) plan.steps.push_back(SplitStep{s, v + ".1", shape.cuts});
  for (auto& step : split_taps(c, shape)) plan.steps.push_back(std::move(step));
  std::vector<std::string> unrolled_loops;
  if (is_tiny(c, shape)) {
    unrolled_loops.push_back(c.name(reduced[0]));
  } else if (has_few_folds(c, shape)) {
    for (uint32_t k : reduced)
      if (c.table.extent[k] > 1) unrolled_loops.push_back(c.name(k));
  }
  if (shape.unrolled) unrolled_loops.push_back(u);
  if (!unrolled_loops.empty()) plan.steps.push_back(UnrollStep{s, unrolled_loops});
  plan.steps.push_back(VectorizeStep{s, v, Size{block_lanes(c, shape), ""}});
  if (sizes.ahead)
    plan.steps.push_back(PrefetchStep{c.t.program.tensors[*passing].name, s, c.name(reduced.back()), *sizes.ahead});
  else if (!c.copies_at)
    add_prefetch(plan, c, shape);
  if (shape.tensor) plan.steps.push_back(TensorizeStep{s, {c.name(shape.tensor->reduced)}, shape.tensor->instruction});
  return plan;
}

/// Z's loops are tiled; in each tile the reduction runs whole, in registers, and Z reads it from there.
Plan plan_epilogue(const PlanContext& c, const PlanContext& z, const BlockShape& shape) {
  Plan plan;
  Sizes sizes;
  add_register_sizes(plan, c, shape, sizes);
  std::string v = z.name(shape.vector), u = shape.unrolled ? z.name(*shape.unrolled) : "";
  std::vector<TileStep::Level> levels;
  levels.push_back({v, sizes.nr});
  if (shape.unrolled) levels.push_back({u, sizes.mr});
  auto outer = data_indices_but(c, shape);
  std::vector<uint32_t> points;
  if (shape.unrolled) points.push_back(*shape.unrolled);
  points.push_back(shape.vector);
  const size_t lane_levels = levels.size() - (shape.unrolled ? 1 : 0);
  auto order = loop_order(z, c.lanes_outside ? lane_levels : 0, outer, levels, points);
  const std::string &s = c.stage.name, &reader = z.stage.name;
  std::string place = order[outer.size() + levels.size() - 1];
  plan.steps.push_back(TileStep{reader, levels});
  plan.steps.push_back(PermuteStep{reader, order});
  if (!shape.cuts.empty()) plan.steps.push_back(SplitStep{reader, v + ".1", shape.cuts});
  plan.steps.push_back(ComputeAtStep{s, reader, place, Scope::reg});
  auto own = reduced_indices(c);
  for (uint32_t k : outer) own.push_back(k);
  own.insert(own.end(), points.begin(), points.end());
  std::vector<TileStep::Level> groups;
  if (shape.tensor) groups.push_back({c.name(shape.tensor->reduced), Size{shape.tensor->extent, ""}});
  if (shape.tensor) plan.steps.push_back(TileStep{s, groups});
  plan.steps.push_back(PermuteStep{s, loop_order(c, {}, groups, own)});
  for (auto& step : split_taps(c, shape)) plan.steps.push_back(std::move(step));
  for (const ReadRow& row : c.table.reads)
    if (c.t.program.tensors[row.tensor].is_const_input && wants_vector_pack(c, row, shape)) {
      auto layout = panel_layout(c, row, shape.vector, sizes.nr);
      if (shape.tensor) layout = in_groups(layout, c, row, *shape.tensor);
      plan.steps.push_back(
          PromoteStep{c.t.program.tensors[row.tensor].name, s, "root", Scope::heap, std::move(layout)});
    }
  for (const PlanContext* each : {&c, &z}) {
    if (shape.unrolled) plan.steps.push_back(UnrollStep{each->stage.name, {each->name(*shape.unrolled)}});
    plan.steps.push_back(VectorizeStep{each->stage.name, each->name(shape.vector), Size{block_lanes(c, shape), ""}});
  }
  plan.steps.push_back(UnrollStep{s, {c.name(shape.vector)}});
  add_prefetch(plan, c, shape);
  if (shape.tensor) plan.steps.push_back(TensorizeStep{s, {c.name(shape.tensor->reduced)}, shape.tensor->instruction});
  return plan;
}

}  // namespace polyweft::schedules
