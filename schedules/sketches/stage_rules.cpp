#include "schedules/sketches/stage_rules.h"

#include <algorithm>
#include <map>

#include "schedules/queries.h"
#include "schedules/sketches/lane_strips.h"
#include "schedules/sketches/strips.h"
#include "schedules/sketches/unit_tiles.h"
#include "schedules/sketches/values_in_lanes.h"
#include "support/abilities.h"

namespace polyweft::schedules {
namespace {

/// Arguments that do not fit this cache: what is written leaves it anyway.
bool is_larger_than_cache(const Builder& b, size_t level) {
  double bytes = 0;
  for (TensorId id = 0; id < b.t.program.tensors.size(); ++id) {
    const TensorKind kind = b.t.program.tensors[id].kind;
    if (kind == TensorKind::input || kind == TensorKind::output) bytes += bytes_of(b.t, id);
  }
  return b.machine.caches() > level && bytes > static_cast<double>(b.machine.cache_bytes(level));
}

/// An output of few taps each: whole lines, stored once.
bool writes_taps(const Builder& b, uint32_t stage) {
  const PlanContext c = b.context(stage, Packing::vectors);
  const auto shape = block_shape(c);
  return shape && is_tap_block(c, *shape) &&
         b.t.program.tensors[equation_of(b.t, c.stage).targets[0]].kind == TensorKind::output;
}

/// An output of sums that stay in registers for all they add up.
bool writes_whole_sums(const Builder& b, const Plan& plan, const PlanContext& c) {
  const auto& targets = equation_of(b.t, c.stage).targets;
  if (!c.stage.reduces || targets.size() != 1 || b.t.program.tensors[targets[0]].kind != TensorKind::output)
    return false;
  bool in_registers = false, in_parts = false;
  for (const Step& step : plan.steps) {
    if (const auto* sums = std::get_if<AccumulateStep>(&step)) in_registers |= sums->scope == Scope::reg;
    const auto* tile = std::get_if<TileStep>(&step);
    for (uint32_t k = c.stage.data_indices; tile && k < c.table.extent.size(); ++k)
      in_parts |= std::any_of(tile->levels.begin(), tile->levels.end(),
                              [&](const TileStep::Level& level) { return level.index == c.name(k); });
  }
  return in_registers && !in_parts;
}

/// Rows of lanes that the last cache keeps beside the inputs are written faster into it: X + 2 of 3 to 13 MB in 0.7 to
/// 0.8 of the time, of 26 MB and more in 1.2. Sums and transpositions are bound by other things.
bool is_row_for_last_cache(const Builder& b, const Plan& plan, const PlanContext& c) {
  const bool has_lanes = std::any_of(plan.steps.begin(), plan.steps.end(),
                                     [](const Step& step) { return std::holds_alternative<VectorizeStep>(step); });
  return has_lanes && !c.stage.reduces && !is_larger_than_cache(b, 2);
}

}  // namespace

Plan plain_plan(const Builder& b, Packing packing, Stores stores) {
  Plan plan;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k) {
    if (!b.is_alive(k)) continue;
    const PlanContext c = b.context(k, packing);
    Plan own = plan_stage(c);
    const bool writes_once = writes_output(b.t, k) || writes_taps(b, k) || writes_whole_sums(b, own, c);
    const bool may_leave =
        stores == Stores::all_streamed || (stores == Stores::streamed && !is_row_for_last_cache(b, own, c));
    if (may_leave && writes_once && stores_lines(own, c)) own.steps.push_back(StreamStep{c.stage.name});
    plan.append(own);
  }
  return plan;
}

namespace {

/// Every reduction with an elementwise reader of its own is computed in that reader's register tile.
std::optional<Plan> epilogue_plan(const Builder& b) {
  std::map<uint32_t, uint32_t> reader_of;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k) {
    if (!b.is_alive(k) || !b.t.stages[k].reduces) continue;
    auto readers = readers_of(b.t, k);
    if (readers.size() == 1 && is_epilogue_of(b.t, k, readers[0]) && block_shape(b.context(k, Packing::vectors)))
      reader_of[k] = readers[0];
  }
  Plan plan;
  bool any = false;
  std::vector<uint32_t> hosts;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k) {
    auto found = reader_of.find(k);
    if (found == reader_of.end()) {
      if (b.is_alive(k) && !std::count(hosts.begin(), hosts.end(), k))
        plan.append(plan_stage(b.context(k, Packing::vectors)));
      continue;
    }
    auto c = b.context(k, Packing::vectors);
    // The elementwise reader may serve one reduction only.
    if (std::count(hosts.begin(), hosts.end(), found->second) || block_shape(c)->must_pack) {
      plan.append(plan_stage(c));
      continue;
    }
    hosts.push_back(found->second);
    plan.append(plan_epilogue(c, b.context(found->second, Packing::none), *block_shape(c)));
    any = true;
  }
  if (!any) return std::nullopt;
  return plan;
}

/// A stencil and the product that alone reads it, in one nest.
std::optional<Plan> chain_plan(const Builder& b, const ChainForm& form) {
  Plan plan;
  std::vector<char> placed(b.t.stages.size(), 0);
  bool any = false;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k) {
    if (!b.is_alive(k) || placed[k] || !b.t.stages[k].reduces) continue;
    const auto readers = readers_of(b.t, k);
    const TensorId made = equation_of(b.t, b.t.stages[k]).targets[0];
    if (readers.size() != 1 || placed[readers[0]] || !b.t.stages[readers[0]].reduces ||
        b.t.program.tensors[made].kind != TensorKind::local || definitions(b.t, made).size() != 1)
      continue;
    const PlanContext producer = b.context(k, Packing::none, Site::attached),
                      host = b.context(readers[0], Packing::vectors);
    if (!is_chain(producer, host)) continue;
    ChainForm own = form;
    own.streams =
        form.streams && b.t.program.tensors[equation_of(b.t, host.stage).targets[0]].kind == TensorKind::output;
    plan.append(plan_chain(producer, host, own));
    placed[k] = placed[readers[0]] = 1;
    any = true;
  }
  if (!any) return std::nullopt;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k)
    if (b.is_alive(k) && !placed[k]) plan.append(plan_stage(b.context(k, Packing::vectors)));
  return plan;
}

/// The one elementwise reader of the dominant stage.
std::optional<uint32_t> reader_of_tiles(const Builder& b) {
  for (uint32_t k = 0; k < b.t.stages.size(); ++k)
    if (b.is_alive(k) && k != b.dominant && is_epilogue_of(b.t, b.dominant, k)) return k;
  return std::nullopt;
}

/// The dominant stage in blocks of tiles, its reader in them or by itself; the others as they are best by themselves.
std::optional<Plan> tile_plan(const Builder& b, TileOrder order, std::optional<uint32_t> reader, bool in_parts) {
  const std::optional<PlanContext> attached =
      reader ? std::optional(b.context(*reader, Packing::none, Site::attached)) : std::nullopt;
  Plan plan = plan_tiles(b.context(b.dominant, Packing::none), {order, attached ? &*attached : nullptr, in_parts});
  if (plan.steps.empty()) return std::nullopt;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k)
    if (b.is_alive(k) && k != b.dominant && k != reader) plan.append(plan_stage(b.context(k, Packing::none)));
  return plan;
}

/// Operands in the order in which register blocks read them, or where they lie.
std::vector<Packing> packings() {
  if (!is_on("rule.packing")) return {Packing::none};
  return {Packing::vectors, Packing::all, Packing::none};
}

}  // namespace

void propose_tiles(StageCase& c) {
  const Builder b = c.builder();
  const auto reader = reader_of_tiles(b);
  for (TileOrder order : {TileOrder::columns_outside, TileOrder::columns_outside_packed, TileOrder::rows_outside,
                          TileOrder::rows_packed}) {
    if (!reader) {
      c.add(tile_plan(b, order, std::nullopt, true));
      continue;
    }
    for (bool in_parts : {false, true}) c.add(tile_plan(b, order, reader, in_parts));
  }
}

void propose_unit_tiles(StageCase& c) {
  const Builder b = c.builder();
  for (const UnitForm form : {UnitForm{2, true}, UnitForm{2, false}, UnitForm{3, false}, UnitForm{1, false}}) {
    Plan plan;
    bool any = false;
    for (uint32_t k = 0; k < b.t.stages.size(); ++k) {
      if (!b.is_alive(k)) continue;
      const PlanContext context = b.context(k, Packing::none);
      const auto own = plan_unit_tiles(context, form);
      any |= own.has_value();
      plan.append(own ? *own : plan_stage(context));
    }
    if (any) c.add(plan);
  }
}

bool has_full_tiles(const StageCase& c) {
  return !c.out.empty() && fills_tiles(c.builder().context(c.dominant, Packing::none));
}

void propose_epilogues(StageCase& c) {
  c.add(epilogue_plan(c.builder()));
}

void propose_values_in_lanes(StageCase& c) {
  c.add(plan_values_in_lanes(c.builder()));
}

void propose_chains(StageCase& c) {
  constexpr int64_t kPrefetchRows = 2;  // of a stencil in front of a product, from memory: 0.9 of the time of none
  const Builder b = c.builder();
  for (bool streams : {true, false})
    for (bool by_rows : {false, true})
      if (may_stream(c) || !streams)
        c.add(chain_plan(b, {by_rows, streams, streams && is_larger_than_cache(b, 2) ? kPrefetchRows : 0}));
}

void propose_windows(StageCase& c) {
  for (bool streams : {true, false})
    if (may_stream(c) || !streams) c.add(plan_windows(c.planned, c.machine, streams));
}

bool has_long_chain(const StageCase& c) {
  return !c.out.empty() && is_long_chain(c.planned);
}

void propose_strips(StageCase& c) {
  const Builder b = c.builder();
  const auto strips = strip_plan(b, Stores::cached);
  c.has_strips = strips.has_value();
  if (!strips) return;
  if (may_stream(c) && is_larger_than_cache(b, 2)) c.add(strip_plan(b, Stores::streamed));
  if (is_larger_than_cache(b, 0)) c.add(strip_plan(b, Stores::ahead));
  c.add(strips);
}

bool may_stream(const StageCase& c) {
  return is_larger_than_cache(c.builder(), 1) && is_on("rule.streams");
}

void propose_tuples_in_blocks(StageCase& c) {
  const Builder b = c.builder();
  for (const bool are_rows_lanes : {true, false}) c.add(plan_blocks_of_tuple(b, are_rows_lanes));
}

void propose_streams(StageCase& c) {
  c.add(plain_plan(c.builder(), Packing::vectors, Stores::streamed));
}

void propose_blocks(StageCase& c) {
  Builder b = c.builder();
  for (Packing packing : packings()) c.add(plain_plan(b, packing));
  b.rows_outside = true;
  for (Packing packing : packings())
    if (packing != Packing::all) c.add(plain_plan(b, packing));
  b.rows_outside = false;
  b.panels_outside = true;
  for (Packing packing : packings())
    if (packing != Packing::none) c.add(plain_plan(b, packing));
  b.panels_outside = false;
  b.lanes_outside = true;
  if (is_on("rule.epilogue")) c.add(epilogue_plan(b));
  c.add(plain_plan(b, packings().front()));
}

}  // namespace polyweft::schedules
