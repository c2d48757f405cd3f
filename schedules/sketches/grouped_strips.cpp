// Strips of rows that share operands by a quotient of their index, as several heads of queries do keys.
//
//   others | h: group | producers of the group, each operand once for all of it | h  d: vectors
//     a sum along k    others  k: vectors | h (unrolled)  k
//     a sum across d   others  d: vectors | reduced  h (unrolled)  d
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/sketches/alignment.h"
#include "schedules/sketches/lane_strips.h"

namespace polyweft::schedules {
namespace {

/// Rows of a group that the registers hold sums of.
constexpr int64_t kMostRows = 8;

/// The innermost leading index that a sum's operand has as a quotient alone, and by how much.
struct RowGroup {
  uint32_t position = 0;
  int64_t size = 1;
};
std::optional<RowGroup> rows_that_share(const Builder& b, const Alignment& placed, uint32_t host) {
  std::optional<RowGroup> out;
  for (const auto& [k, indices] : placed) {
    if (k == host || !b.t.stages[k].reduces) continue;
    const PlanContext c = b.context(k, Packing::none, Site::attached);
    for (uint32_t p = 0; p < indices.size(); ++p)
      for (const ReadRow& row : c.table.reads)
        if (row.block[indices[p]] > 1 && row.block[indices[p]] <= kMostRows && row.stride[indices[p]] == 0)
          out = RowGroup{p, row.block[indices[p]]};
  }
  return out;
}

/// Widths in vectors so that all sums of a group, and an operand, stay in registers; the greatest first.
Size add_width(Plan& plan, PlanContext c, const std::string& what, int64_t rows, int64_t extent) {
  c.openness = Openness::open;
  const int64_t lanes = c.lanes(), whole = (extent + lanes - 1) / lanes * lanes;
  std::vector<int64_t> widths;
  for (const int64_t vectors : {1, 2, 4})
    if (vectors * lanes <= whole && vectors * (rows + 1) < c.machine.units.vector_registers)
      widths.push_back(vectors * lanes);
  if (widths.empty()) widths.push_back(lanes);
  const int64_t widest = widths.back();
  return add_size(plan, c, what, widest, std::move(widths));
}

/// Sums of a group's rows in registers at once, lanes along `lane`, what they share loaded once.
Plan plan_group(const PlanContext& c, uint32_t rows, int64_t group, uint32_t lane) {
  Plan plan;
  const Size width = add_width(plan, c, "nr", group, c.table.extent[lane]);
  const std::string along = c.name(lane), name = c.stage.name, row = c.name(rows);
  std::vector<std::string> data, reduced;
  for (uint32_t k = 0; k < c.table.extent.size(); ++k)
    if (k != lane && k != rows) (k < c.stage.data_indices ? data : reduced).push_back(c.name(k));
  std::vector<std::string> order = data;
  const bool is_along_sum = lane >= c.stage.data_indices;
  if (!is_along_sum) order.push_back(along + ".1");
  const std::string at = order.empty() ? "root" : order.back();
  order.insert(order.end(), reduced.begin(), reduced.end());
  if (is_along_sum) order.push_back(along + ".1");
  order.insert(order.end(), {row, along});
  plan.steps = {TileStep{name, {{along, width}}}, PermuteStep{name, order}, AccumulateStep{name, at, Scope::reg},
                UnrollStep{name, {row}}, VectorizeStep{name, along, Size{c.lanes(), ""}}};
  return plan;
}

/// Inside a group: sums that share an operand in blocks, the others as they are best.
Plan plan_inside(PlanContext c, uint32_t rows, int64_t group) {
  c.openness = Openness::settled;
  c.panel.reset();
  const bool shares = std::any_of(c.table.reads.begin(), c.table.reads.end(),
                                  [&](const ReadRow& row) { return row.block[rows] == group; });
  if (!c.stage.reduces || !shares || equation_of(c.t, c.stage).targets.size() != 1) return plan_stage(c);
  if (const auto shape = block_shape(c); shape && !shape->must_pack) return plan_group(c, rows, group, shape->vector);
  const auto lane = lane_index(c);
  return lane ? plan_group(c, rows, group, *lane) : plan_stage(c);
}

}  // namespace

std::optional<Plan> plan_grouped_strips(const Builder& b) {
  const auto host = static_cast<uint32_t>(b.t.stages.size()) - 1;
  const Stage& h = b.t.stages[host];
  if (h.reduces || h.data_indices < 2 || !h.inside.empty() || !h.guards.empty()) return std::nullopt;
  int64_t reach = 0;
  Alignment all = align_leading(b, host, reach);
  const auto group = all.empty() || reach > 0 ? std::nullopt : rows_that_share(b, all, host);
  if (!group) return std::nullopt;
  const PlanContext c = b.context(host, Packing::none, Site::attached);
  for (size_t p = group->position + 1; p < all.at(host).size(); ++p)
    if (c.table.extent[all.at(host)[p]] > 1) return std::nullopt;  // a strip of many rows of each
  std::vector<uint32_t> leading = all.at(host);
  leading.resize(group->position + 1);
  const Alignment placed = align(b, host, leading, reach);
  const std::string rows = c.name(leading.back());
  Plan plan = plan_pure(c);
  TileStep tile{h.name, {{rows, Size{group->size, ""}}}};
  PermuteStep permute{h.name, {}};
  std::vector<Step> marks;
  for (const uint32_t k : leading) permute.loops.push_back(c.name(k) + (k == leading.back() ? ".1" : ""));
  for (const Step& step : plan.steps) {
    if (const auto* tiled = std::get_if<TileStep>(&step)) {
      tile.levels.insert(tile.levels.end(), tiled->levels.begin(), tiled->levels.end());
    } else if (const auto* permuted = std::get_if<PermuteStep>(&step)) {
      for (const std::string& loop : permuted->loops)
        if (std::count(permute.loops.begin(), permute.loops.end(), loop) == 0) permute.loops.push_back(loop);
    } else {
      marks.push_back(step);
    }
  }
  plan.steps = {tile, permute};
  for (auto it = placed.rbegin(); it != placed.rend(); ++it)
    if (it->first != host)
      plan.steps.push_back(ComputeAtStep{b.t.stages[it->first].name, h.name, rows + ".1", Scope::heap});
  plan.steps.insert(plan.steps.end(), marks.begin(), marks.end());
  for (uint32_t k = 0; k < host; ++k) {
    if (!b.is_alive(k)) continue;
    const auto own = placed.find(k);
    const PlanContext each = b.context(k, Packing::none, own == placed.end() ? Site::root : Site::attached);
    plan.append(own == placed.end() ? plan_stage(each) : plan_inside(each, own->second.back(), group->size));
  }
  return plan;
}

}  // namespace polyweft::schedules
