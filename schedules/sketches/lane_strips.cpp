// Strips whose rows are lanes: values of a strip are stored with its rows innermost, so that maxima and sums along rows
// need no merge of lanes, and a product's operands are read as they lie.
//
//   whole rows  others | i: strip | producers of the strip | i  d: vectors
//   blocks      others | i: strip | tuple: b | producers of the block | i  d: vectors | i  d: vectors
//
// With an instruction for tiles the sums of a strip run in blocks of tiles instead, and what they make and read is
// stored tile by tile.
#include "schedules/sketches/lane_strips.h"

#include <algorithm>
#include <map>
#include <set>

#include "schedules/queries.h"
#include "schedules/sketches/alignment.h"

namespace polyweft::schedules {
namespace {

/// Where producers run: inside a loop of `frame`, with one value of each aligned index but the strip's.
struct Strip {
  uint32_t frame = 0;
  Alignment placed;
  size_t position = 0;  ///< of the strip's index among the aligned ones
  bool holds(uint32_t stage) const { return stage != frame && placed.contains(stage); }
  uint32_t rows(uint32_t stage) const { return placed.at(stage)[position]; }
};

enum class StripForm : uint8_t { as_they_lie, rows_in_lanes, in_tiles };

class Producers {
 public:
  Producers(const Builder& b, Strip strip, StripForm form) : b_(b), t_(b.t), strip_(std::move(strip)), form_(form) {
    if (form_ == StripForm::rows_in_lanes) find_stored_by_rows();
    if (form_ == StripForm::in_tiles) find_stored_by_tiles();
  }

  /// Does the form change how anything is stored?
  bool has_layouts() const { return !layouts_.empty(); }
  /// Values of the index before the strip's that share operands of tiles; 1: none do.
  int64_t group() const { return group_; }

  /// Consumers first.
  std::vector<Step> places(const std::string& frame, const std::string& at) const {
    std::vector<Step> out;
    for (auto it = strip_.placed.rbegin(); it != strip_.placed.rend(); ++it) {
      if (!strip_.holds(it->first)) continue;
      ComputeAtStep step{t_.stages[it->first].name, frame, at, Scope::heap};
      if (const auto layout = layouts_.find(it->first); layout != layouts_.end()) step.layout = layout->second;
      out.emplace_back(std::move(step));
    }
    return out;
  }

  Plan plan() const {
    Plan out;
    for (const auto& [k, indices] : strip_.placed)
      if (strip_.holds(k)) out.append(plan_of(k));
    return out;
  }

 private:
  size_t dimension_of_rows(uint32_t stage) const {
    const auto& slots = equation_of(t_, t_.stages[stage]).slots;
    size_t d = 0;
    while (d < slots.size() && slots[d].var != t_.program.index_var(strip_.rows(stage))) ++d;
    return d;
  }

  /// Have the dimensions behind the rows one value at a time?
  bool ends_with_rows(uint32_t stage) const {
    const auto& slots = equation_of(t_, t_.stages[stage]).slots;
    const auto& indices = strip_.placed.at(stage);
    for (size_t d = dimension_of_rows(stage) + 1; d < slots.size(); ++d)
      if (std::none_of(indices.begin(), indices.end(),
                       [&](uint32_t k) { return slots[d].var == t_.program.index_var(k); }))
        return false;
    return true;
  }

  /// Rows that are summed into one value each, and what those are made of, element by element.
  void find_stored_by_rows() {
    for (auto it = strip_.placed.rbegin(); it != strip_.placed.rend(); ++it) {
      const uint32_t k = it->first;
      if (!strip_.holds(k) || ends_with_rows(k) || equation_of(t_, t_.stages[k]).targets.size() != 1) continue;
      const auto readers = readers_of(t_, k);
      if (std::any_of(readers.begin(), readers.end(), [&](uint32_t r) {
            return strip_.holds(r) && (t_.stages[r].reduces ? ends_with_rows(r) : layouts_.contains(r));
          }))
        layouts_[k] = layout_with_last(equation_of(t_, t_.stages[k]).slots.size(), dimension_of_rows(k));
    }
  }

  /// [.., a / rows, b / columns, a % rows, b % columns] for the dimensions that these indices have.
  void store_by_tiles(uint32_t stage, uint32_t by_rows, uint32_t by_columns, int64_t rows, int64_t columns) {
    using Part = LayoutDigit::Part;
    std::vector<LayoutDigit> layout, digits(4);
    const auto& slots = equation_of(t_, t_.stages[stage]).slots;
    for (size_t d = 0; d < slots.size(); ++d) {
      const std::string dim = "d" + std::to_string(d);
      if (slots[d].var == t_.program.index_var(by_rows)) {
        digits[0] = {Part::quotient, dim, Size{rows, ""}};
        digits[2] = {Part::remainder, dim, Size{rows, ""}};
      } else if (slots[d].var == t_.program.index_var(by_columns)) {
        digits[1] = {Part::quotient, dim, Size{columns, ""}};
        digits[3] = {Part::remainder, dim, Size{columns, ""}};
      } else {
        layout.push_back({Part::whole, dim, {}});
      }
    }
    if (digits[0].dim.empty() || digits[1].dim.empty()) return;
    layout.insert(layout.end(), digits.begin(), digits.end());
    layouts_[stage] = std::move(layout);
  }

  /// Sums in tiles that are read inside, and what tiles of rows are loaded from.
  void find_stored_by_tiles() {
    for (const auto& [k, indices] : strip_.placed) {
      const auto axes = strip_.holds(k) ? tile_axes(context(k)) : std::nullopt;
      if (!axes || !fills_tiles(context(k))) continue;
      const auto readers = readers_of(t_, k);
      if (std::all_of(readers.begin(), readers.end(), [&](uint32_t r) { return strip_.holds(r); }))
        store_by_tiles(k, axes->rows, axes->columns, axes->side, axes->side);
      for (const auto& [made, own] : strip_.placed)
        if (strip_.holds(made) && equation_of(t_, t_.stages[made]).targets.front() == axes->by_rows)
          for (const Access& access : reads_of(t_, t_.stages[k], axes->by_rows)) store_operand(made, access, *axes);
      for (const ReadRow& row : context(k).table.reads)
        if (strip_.position > 0) group_ = std::max(group_, row.block[indices[strip_.position - 1]]);
    }
  }

  void store_operand(uint32_t made, const Access& access, const TileAxes& axes) {
    const auto rows = dimension_alone(t_, access, axes.rows), reduced = dimension_alone(t_, access, axes.reduced);
    const auto& slots = equation_of(t_, t_.stages[made]).slots;
    if (!rows || !reduced || slots[*rows].var == kNoVar || slots[*reduced].var == kNoVar) return;
    const VarId first = t_.program.index_var(0);
    store_by_tiles(made, slots[*rows].var - first, slots[*reduced].var - first, axes.side, axes.depth);
  }

  /// The table as the strip's buffers are stored: neighbouring rows side by side.
  PlanContext context(uint32_t stage) const {
    PlanContext c = b_.context(stage, Packing::none, Site::attached);
    c.openness = Openness::settled;
    c.panel.reset();  // it may name a decision that this plan does not have
    if (form_ != StripForm::rows_in_lanes) return c;
    if (layouts_.contains(stage) || ends_with_rows(stage)) c.table.unit = strip_.rows(stage);
    for (ReadRow& row : c.table.reads)
      for (const auto& [k, indices] : strip_.placed)
        if (strip_.holds(k) && equation_of(t_, t_.stages[k]).targets.front() == row.tensor &&
            (layouts_.contains(k) || ends_with_rows(k)))
          store_by_rows(row, dimension_of_rows(k));
    return c;
  }

  void store_by_rows(ReadRow& row, size_t rows) const {
    const Box& box = t_.boxes[row.tensor];
    std::fill(row.stride.begin(), row.stride.end(), 0);
    int64_t stride = std::max<int64_t>(box.hi[rows] - box.lo[rows], 2);
    for (size_t d = row.access.index.size(); d-- > 0;) {
      for (const Term& term : row.access.index[d].affine.terms)
        if (!term.quasi && term.var >= t_.program.index_var(0))
          row.stride[term.var - t_.program.index_var(0)] += term.coeff * (d == rows ? 1 : stride);
      if (d != rows) stride *= std::max<int64_t>(box.hi[d] - box.lo[d], 1);
    }
  }

  Plan plan_of(uint32_t stage) const {
    PlanContext c = context(stage);
    if (form_ == StripForm::in_tiles && tile_axes(c) && fills_tiles(c)) return plan_in_tiles(std::move(c));
    if (form_ != StripForm::rows_in_lanes || !c.stage.reduces || equation_of(t_, c.stage).targets.size() != 1)
      return plan_stage(c);
    const auto shape = block_shape(c);
    if (!shape || !shape->unrolled) {
      const auto columns = c.table.unit == strip_.rows(stage) ? plan_columns(c) : std::nullopt;
      return columns ? *columns : plan_stage(c);
    }
    c.openness = Openness::open;
    c.cuts_attached = c.table.unit != strip_.rows(stage);
    if (!c.cuts_attached) c.copies_at = outside(c, stage);
    return plan_block(c, *shape);
  }

  /// The loop around the one over strips.
  std::string outside(const PlanContext& c, uint32_t stage) const {
    return strip_.position == 0 ? "root" : c.name(strip_.placed.at(stage)[strip_.position - 1]);
  }

  Plan plan_in_tiles(PlanContext c) const {
    const auto stage = static_cast<uint32_t>(&c.stage - t_.stages.data());
    c.openness = Openness::open;
    c.copies_at = outside(c, stage);
    if (group_ > 1) {
      c.group = {strip_.placed.at(stage)[strip_.position - 1], group_};
      *c.copies_at += ".1";
    }
    return plan_tiles(c, {TileOrder::columns_outside, nullptr, false});
  }

  const Builder& b_;
  const NestTemplate& t_;
  Strip strip_;
  StripForm form_;
  std::map<uint32_t, std::vector<LayoutDigit>> layouts_;  ///< by stage
  int64_t group_ = 1;
};

/// Four vectors along this index.
void add_lanes(Plan& out, const PlanContext& c, uint32_t index, std::vector<std::string> order) {
  const int64_t lanes = c.lanes();
  if (c.table.extent[index] < lanes) {
    order.push_back(c.name(index));
    out.steps.push_back(PermuteStep{c.stage.name, order});
    return;
  }
  out.steps.push_back(TileStep{c.stage.name, {{c.name(index), Size{4 * lanes, ""}}}});
  order.insert(order.end(), {c.name(index) + ".1", c.name(index)});
  out.steps.push_back(PermuteStep{c.stage.name, order});
  out.steps.push_back(VectorizeStep{c.stage.name, c.name(index), Size{lanes, ""}});
}

/// Strips of some vectors of rows.
Size add_strip(Plan& out, PlanContext c, uint32_t index) {
  c.openness = Openness::open;
  const int64_t extent = c.table.extent[index], lanes = c.lanes();
  std::vector<int64_t> heights;
  for (const int64_t vectors : {1, 2, 4, 8})
    if (vectors * lanes <= extent) heights.push_back(vectors * lanes);
  return add_size(out, c, "strip", std::min(4 * lanes, extent), heights);
}

/// The host's rows in strips, its last index in lanes, and what stands in the loop over strips.
void add_host(Plan& out, const PlanContext& c, uint32_t rows, int64_t group, const std::vector<Step>& inside) {
  const Size strip = add_strip(out, c, rows);
  const std::string name = c.name(rows);
  const uint32_t last = c.stage.data_indices - 1;
  const int64_t lanes = c.lanes();
  std::vector<TileStep::Level> levels = {{name, strip}};
  const bool has_lanes = c.table.extent[last] >= lanes;
  if (has_lanes) levels.push_back({c.name(last), Size{4 * lanes, ""}});
  if (group > 1) levels.push_back({c.name(rows - 1), Size{group, ""}});
  std::vector<std::string> order;
  for (uint32_t k = 0; k < last; ++k) {
    if (k == rows || (group > 1 && k + 1 == rows)) order.push_back(c.name(k) + ".1");
    order.push_back(c.name(k));
  }
  if (has_lanes) order.push_back(c.name(last) + ".1");
  order.push_back(c.name(last));
  out.steps.push_back(TileStep{c.stage.name, levels});
  out.steps.push_back(PermuteStep{c.stage.name, order});
  out.steps.insert(out.steps.end(), inside.begin(), inside.end());
  if (has_lanes) out.steps.push_back(VectorizeStep{c.stage.name, c.name(last), Size{lanes, ""}});
}

/// What is in no strip, as it is best by itself.
void add_others(Plan& out, const Builder& b, const std::set<uint32_t>& placed) {
  for (uint32_t k = 0; k < b.t.stages.size(); ++k) {
    if (!b.is_alive(k) || placed.contains(k)) continue;
    PlanContext c = b.context(k, Packing::none);
    c.openness = Openness::settled;
    c.panel.reset();
    out.append(plan_stage(c));
  }
}

bool is_host(const Builder& b, uint32_t host) {
  const Stage& h = b.t.stages[host];
  return !h.reduces && h.data_indices >= 2 && h.inside.empty() && h.guards.empty() && writes_output(b.t, host);
}

}  // namespace

namespace {

/// Strips of the last stage's rows; nothing where the form changes nothing.
std::optional<Plan> plan_strips_as(const Builder& b, StripForm form) {
  const auto host = static_cast<uint32_t>(b.t.stages.size()) - 1;
  if (!is_host(b, host)) return std::nullopt;
  int64_t reach = 0;
  Alignment placed = align_leading(b, host, reach);
  if (placed.empty() || reach > 0) return std::nullopt;
  const PlanContext c = b.context(host, Packing::none, Site::attached);
  const auto rows = static_cast<uint32_t>(placed.at(host).size()) - 1;
  if (c.table.extent[rows] < c.lanes()) return std::nullopt;
  std::set<uint32_t> inside;
  for (const auto& [k, indices] : placed) inside.insert(k);
  const Producers producers(b, {host, std::move(placed), rows}, form);
  if (!producers.has_layouts()) return std::nullopt;
  Plan out;
  add_host(out, c, rows, producers.group(), producers.places(c.stage.name, c.name(rows) + ".1"));
  out.append(producers.plan());
  add_others(out, b, inside);
  return out;
}

}  // namespace

std::optional<Plan> plan_lane_strips(const Builder& b) {
  return plan_strips_as(b, StripForm::rows_in_lanes);
}

std::optional<Plan> plan_tile_strips(const Builder& b) {
  return plan_strips_as(b, StripForm::in_tiles);
}

std::optional<Plan> plan_blocks_of_tuple(const Builder& b, bool are_rows_lanes) {
  const auto host = static_cast<uint32_t>(b.t.stages.size()) - 1;
  if (!is_host(b, host)) return std::nullopt;
  std::optional<uint32_t> tuple;
  for (uint32_t k = 0; k < host; ++k) {
    const Equation& equation = equation_of(b.t, b.t.stages[k]);
    if (b.is_alive(k) && equation.rhs->op == Op::reduce && equation.targets.size() > 1 &&
        b.t.stages[k].lo.size() == b.t.stages[k].data_indices + 1 && readers_of(b.t, k) == std::vector{host})
      tuple = k;
  }
  if (!tuple) return std::nullopt;
  const Stage& t = b.t.stages[*tuple];
  int64_t reach = 0;
  const Alignment rows_of_host = align_leading(b, host, reach);
  if (!rows_of_host.contains(*tuple)) return std::nullopt;
  const std::vector<uint32_t> leading = rows_of_host.at(*tuple);
  const auto rows = static_cast<uint32_t>(leading.size()) - 1;
  std::vector<uint32_t> aligned = leading;
  aligned.push_back(t.data_indices);  // the block
  Alignment placed = align(b, *tuple, aligned, reach);
  const PlanContext c = b.context(host, Packing::none, Site::attached),
                    of_tuple = b.context(*tuple, Packing::none, Site::attached);
  if (reach > 0 || placed.size() < 2 || c.table.extent[rows] < c.lanes()) return std::nullopt;
  std::set<uint32_t> inside = {host};
  for (const auto& [k, indices] : placed) inside.insert(k);
  const Producers producers(b, {*tuple, std::move(placed), rows},
                            are_rows_lanes ? StripForm::rows_in_lanes : StripForm::as_they_lie);
  if (are_rows_lanes && !producers.has_layouts()) return std::nullopt;
  Plan out;
  add_host(out, c, rows, 1, {ComputeAtStep{t.name, c.stage.name, c.name(rows) + ".1", Scope::heap}});
  std::vector<std::string> order;
  for (size_t k = 0; k < rows; ++k) order.push_back(of_tuple.name(leading[k]));
  const std::string block = of_tuple.name(t.data_indices);
  order.push_back(block);
  const uint32_t last = t.data_indices - 1;
  for (uint32_t k = 0; k < last; ++k)
    if (std::count(order.begin(), order.end(), of_tuple.name(k)) == 0) order.push_back(of_tuple.name(k));
  if (std::count(leading.begin(), leading.end(), last) > 0) return std::nullopt;
  add_lanes(out, of_tuple, last, order);
  for (Step& step : producers.places(t.name, block)) out.steps.push_back(std::move(step));
  out.append(producers.plan());
  add_others(out, b, inside);
  return out;
}

}  // namespace polyweft::schedules
