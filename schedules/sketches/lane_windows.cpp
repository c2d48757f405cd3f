// A separable stencil is two sums: columns of the image first, then neighbours of these along the row. In rows of
// memory the second one loads every tap anew, most of them across two lines (two cycles each), and what lies between is
// stored and loaded again. In registers a block of four vectors of the reader takes five of the producer, a quarter of
// them again in the next block, and neighbours are shuffled.
#include "schedules/sketches/lane_windows.h"

#include <algorithm>

#include "schedules/queries.h"

namespace polyweft::schedules {
namespace {

/// Taps of a row stencil along its last index, unit stride.
bool is_stencil(const NestTemplate& t, const Machine& machine, uint32_t k) {
  const PlanContext c = context_for(t, k, machine);
  const auto shape = block_shape(c);
  return shape && is_row_stencil(c) && t.stages[k].guards.empty() && shape->vector + 1 == t.stages[k].data_indices &&
         c.table.unit == shape->vector;
}

std::optional<uint32_t> only_reader(const NestTemplate& t, TensorId tensor) {
  std::optional<uint32_t> out;
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    if (!is_alive(t, k) || !reads(t, t.stages[k], tensor)) continue;
    if (out) return std::nullopt;
    out = k;
  }
  return out;
}

/// Elements from the reader's own along its last index, for all values of its taps; nothing where it reads others.
std::optional<Interval> reach(const NestTemplate& t, const Stage& reader, const Access& access) {
  const uint32_t last = reader.data_indices - 1;
  const VarId first = t.program.index_var(0);
  if (access.index.size() != reader.data_indices) return std::nullopt;
  for (uint32_t d = 0; d < last; ++d)
    if (access.index[d].data || !(access.index[d].affine == Affine::variable(first + d))) return std::nullopt;
  const Affine rest = access.index[last].affine - Affine::variable(first + last);
  if (access.index[last].data || !rest.is_linear()) return std::nullopt;
  Interval out{rest.constant, rest.constant};
  for (const Term& term : rest.terms) {
    if (term.var < first + reader.data_indices) return std::nullopt;
    const int64_t a = term.coeff * reader.lo[term.var - first], b = term.coeff * (reader.hi[term.var - first] - 1);
    out.lo += std::min(a, b);
    out.hi += std::max(a, b);
  }
  return out;
}

}  // namespace

std::optional<LaneWindow> lane_window(const NestTemplate& t, const Machine& machine, uint32_t producer) {
  const auto& made = equation_of(t, t.stages[producer]).targets;
  if (!is_alive(t, producer) || !is_private(t, producer)) return std::nullopt;
  const auto reader = only_reader(t, made[0]);
  if (!reader || t.stages[*reader].data_indices != t.stages[producer].data_indices || !t.stages[*reader].inside.empty())
    return std::nullopt;
  if (!is_stencil(t, machine, producer) || !is_stencil(t, machine, *reader)) return std::nullopt;
  std::optional<Interval> all;
  for (const Access& access : reads_of(t, t.stages[*reader], made[0])) {
    const auto one = reach(t, t.stages[*reader], access);
    if (!one) return std::nullopt;
    all = all ? Interval{std::min(all->lo, one->lo), std::max(all->hi, one->hi)} : *one;
  }
  if (!all || all->hi == all->lo || all->hi - all->lo >= context_for(t, producer, machine).lanes()) return std::nullopt;
  return LaneWindow{producer, *reader, all->lo, all->hi};
}

std::optional<LaneWindow> lane_window_of_reader(const NestTemplate& t, const Machine& machine, uint32_t reader) {
  for (uint32_t k = 0; k < reader; ++k)
    if (reads(t, t.stages[reader], equation_of(t, t.stages[k]).targets[0]))
      if (const auto window = lane_window(t, machine, k); window && window->reader == reader) return window;
  return std::nullopt;
}

std::vector<int64_t> cuts_of_reader(const Stage& reader, const std::vector<int64_t>& cuts, const Stage& producer,
                                    const LaneWindow& window, int64_t width) {
  const uint32_t last = reader.data_indices - 1;
  const int64_t lo = reader.lo[last], hi = reader.hi[last];
  std::vector<int64_t> out;
  for (int64_t cut : cuts) {
    const bool is_low = cut - producer.lo[last] <= producer.hi[last] - cut;
    const int64_t past = (is_low ? cut - window.least : cut - window.most) - lo;
    const int64_t at = lo + (is_low ? past + width - 1 : past) / width * width;
    if (at > lo && at < hi && std::count(out.begin(), out.end(), at) == 0) out.push_back(at);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Plan plan_lane_window(const PlanContext& producer, const LaneWindow& window, const std::string& place) {
  Plan plan = plan_stencil_in_registers(producer, producer.t.stages[window.reader].name, place);
  std::vector<std::string> rows;
  for (uint32_t k = 0; k + 1 < producer.stage.data_indices; ++k) rows.push_back(producer.name(k));
  plan.steps.push_back(UnrollStep{producer.stage.name, std::move(rows)});
  return plan;
}

namespace {

/// So many rows at a time, inside the taps: what they load is the same but for the first and the last.
void take_rows(Plan& plan, const PlanContext& reader, int64_t rows) {
  const uint32_t last = reader.stage.data_indices - 1;
  const std::string &y = reader.name(last - 1), v = reader.name(last);
  for (Step& step : plan.steps) {
    if (auto* tile = std::get_if<TileStep>(&step)) tile->levels.insert(tile->levels.begin(), {y, Size{rows, ""}});
    if (auto* order = std::get_if<PermuteStep>(&step)) {
      std::replace(order->loops.begin(), order->loops.end(), y, y + ".1");
      order->loops.insert(std::find(order->loops.begin(), order->loops.end(), v), y);
    }
    if (auto* unrolled = std::get_if<UnrollStep>(&step)) unrolled->loops.push_back(y);
  }
}

}  // namespace

Plan plan_row_with_window(const PlanContext& reader, const LaneWindow& window, int64_t rows) {
  PlanContext own = reader;
  own.row_vectors = kWindowVectors;
  Plan plan = plan_row_stencil(own);
  if (rows > 1) take_rows(plan, reader, rows);
  const PlanContext producer = context_for(reader.t, window.producer, reader.machine);
  const std::string v = reader.name(reader.stage.data_indices - 1);
  const auto cuts = cuts_of_reader(reader.stage, block_shape(producer)->cuts, producer.stage, window, 1);
  const auto is_accumulation = [](const Step& step) { return std::holds_alternative<AccumulateStep>(step); };
  auto at = std::find_if(plan.steps.begin(), plan.steps.end(), is_accumulation) + 1;
  if (!cuts.empty()) at = plan.steps.insert(at, SplitStep{reader.stage.name, v + ".1", cuts}) + 1;
  const Plan inner = rows > 1 ? plan_lane_window(producer, window, v + ".1")
                              : plan_stencil_in_registers(producer, reader.stage.name, v + ".1");
  plan.steps.insert(at, inner.steps.begin(), inner.steps.end());
  plan.steps.push_back(UnrollStep{reader.stage.name, {v}});
  return plan;
}

}  // namespace polyweft::schedules
