// Rules for searches alone: forms of the stages' plans that cost models do not tell apart from those of the other
// rules.
#include <algorithm>
#include <map>

#include "schedules/queries.h"
#include "schedules/sketches/lane_strips.h"
#include "schedules/sketches/stage_rules.h"
#include "schedules/sketches/strips.h"

namespace polyweft::schedules {
namespace {

/// Each sum in register blocks whose one reader is elementwise has it at the end of its tiles.
std::optional<Plan> plan_with_readers(const Builder& b) {
  std::map<uint32_t, uint32_t> sum_of;  // by reader
  for (uint32_t k = 0; k < b.t.stages.size(); ++k) {
    if (!b.is_alive(k) || !b.t.stages[k].reduces) continue;
    const auto readers = readers_of(b.t, k);
    const PlanContext c = b.context(k, Packing::vectors);
    const auto shape = block_shape(c);
    if (shape && !shape->tensor && !is_tap_block(c, *shape) && readers.size() == 1 &&
        reads_in_place(b.t, k, readers[0]))
      sum_of.try_emplace(readers[0], k);
  }
  if (sum_of.empty()) return std::nullopt;
  Plan plan;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k) {
    const auto reader = std::find_if(sum_of.begin(), sum_of.end(), [&](const auto& pair) { return pair.second == k; });
    if (!b.is_alive(k) || sum_of.contains(k)) continue;
    const PlanContext c = b.context(k, Packing::vectors);
    if (reader == sum_of.end())
      plan.append(plan_stage(c));
    else
      plan.append(plan_block_with_reader(c, b.context(reader->first, Packing::none), *block_shape(c)));
  }
  return plan;
}

bool is_output(const Builder& b, uint32_t stage) {
  const auto& targets = equation_of(b.t, b.t.stages[stage]).targets;
  return targets.size() == 1 && b.t.program.tensors[targets[0]].kind == TensorKind::output;
}

/// The dominant stage by this plan, the others as ever.
Plan plan_around(const Builder& b, Plan dominant) {
  Plan plan;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k) {
    if (!b.is_alive(k)) continue;
    plan.append(k == b.dominant ? dominant : plan_stage(b.context(k, Packing::vectors)));
  }
  return plan;
}

}  // namespace

void propose_more_streams(StageCase& c) {
  Builder b = c.builder();
  if (const auto strips = strip_plan(b, Stores::streamed)) return c.add(strips);
  c.add(plain_plan(b, Packing::vectors, Stores::all_streamed));
  b.lanes_outside = true;
  c.add(plain_plan(b, Packing::vectors, Stores::all_streamed));
}

void propose_more_blocks(StageCase& c) {
  Builder b = c.builder();
  if (!c.planned.stages[c.dominant].reduces || !block_shape(b.context(c.dominant, Packing::vectors))) return;
  b.has_more_sizes = b.uses_all_registers = true;
  c.add(plain_plan(b, Packing::vectors));
  b.rows_outside = true;
  c.add(plain_plan(b, Packing::vectors));
  b.is_whole_depth = true;
  c.add(plan_with_readers(b));
  c.add(plain_plan(b, Packing::vectors));
  b.rows_outside = false;
  c.add(plan_with_readers(b));
  b.is_whole_depth = false;
  b.panels_outside = true;
  c.add(plain_plan(b, Packing::vectors));
  b.panels_outside = false;
  b.lanes_outside = true;
  c.add(plain_plan(b, Packing::none));
}

void propose_blocks_of_rows(StageCase& c) {
  Builder b = c.builder();
  b.lanes_outside = b.uses_all_registers = true;
  const PlanContext dominant = b.context(c.dominant, Packing::vectors);
  const auto shape = block_shape(dominant);
  if (!shape || is_tap_block(dominant, *shape)) return;
  for (const BlockRows rows : {BlockRows::two_apart, BlockRows::open})
    if (auto plan = plan_block_of_rows(dominant, *shape, rows)) c.add(plan_around(b, *std::move(plan)));
}

void propose_more_taps(StageCase& c) {
  const Builder b = c.builder();
  const PlanContext dominant = b.context(c.dominant, Packing::vectors);
  const auto shape = block_shape(dominant);
  if (!shape || !is_tap_block(dominant, *shape)) return;
  for (const TapOrder order : {TapOrder::outside_rows, TapOrder::inside_rows, TapOrder::inside_columns}) {
    Plan plan = plan_open_taps(dominant, *shape, order);
    c.add(plan_around(b, plan));
    if (!may_stream(c) || !is_output(b, c.dominant)) continue;
    plan.steps.push_back(StreamStep{dominant.stage.name});
    c.add(plan_around(b, std::move(plan)));
  }
}

void propose_rows_in_lanes(StageCase& c) {
  const Builder b = c.builder();
  c.add(plan_lane_strips(b));
  c.add(plan_tile_strips(b));
}

void propose_groups_of_rows(StageCase& c) {
  c.add(plan_grouped_strips(c.builder()));
}

}  // namespace polyweft::schedules
