// Values that one sum reads, each at all its points or at a few results of each: they are made in the sum's own lanes
// and never stored.
//
//   the other results | the other reduced indices  k: width | values of these k in registers | the results that share
//   them  k (vectors)
//
// Pairs of bodies whose distance serves all components of a force, kernels' sums over sources, weighted means.
#include "schedules/sketches/values_in_lanes.h"

#include <algorithm>
#include <map>

#include "schedules/queries.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kMostShared = 8;  ///< results that use one value: each has accumulators of its own
constexpr int64_t kChains = 4;      ///< accumulators at once

/// The host's index at each index of the producer, where the host reads it at plain indices.
std::optional<std::vector<uint32_t>> indices_read(const NestTemplate& t, const Stage& producer, const Stage& host,
                                                  const Access& access) {
  const Equation& equation = equation_of(t, producer);
  std::vector<uint32_t> out(producer.lo.size(), UINT32_MAX);
  for (size_t d = 0; d < equation.slots.size(); ++d) {
    if (equation.slots[d].var == kNoVar) return std::nullopt;
    const uint32_t index = equation.slots[d].var - t.program.index_var(0);
    for (uint32_t k = 0; k < host.lo.size(); ++k)
      if (!access.index[d].data && access.index[d].affine == Affine::variable(t.program.index_var(k))) out[index] = k;
    if (out[index] == UINT32_MAX || std::count(out.begin(), out.end(), out[index]) > 1) return std::nullopt;
  }
  return std::count(out.begin(), out.end(), UINT32_MAX) == 0 ? std::optional(out) : std::nullopt;
}

/// The same, where all its reads agree.
std::optional<std::vector<uint32_t>> indices_read(const NestTemplate& t, const Stage& producer, const Stage& host) {
  std::optional<std::vector<uint32_t>> out;
  for (const Access& access : reads_of(t, host, equation_of(t, producer).targets[0])) {
    auto indices = indices_read(t, producer, host, access);
    if (!indices || (out && out != indices)) return std::nullopt;
    out = std::move(indices);
  }
  return out;
}

struct Attached {
  uint32_t stage = 0;
  uint32_t lane = 0;  ///< its index that runs with the host's lanes
};

/// Producers that this sum alone reads, dense along its lanes, and the sum's results that all of them serve.
struct Hosted {
  std::vector<Attached> attached_stages;
  std::vector<uint32_t> shared;
};
std::optional<Hosted> hosted_by(const Builder& b, uint32_t host, uint32_t lane) {
  const Stage& stage = b.t.stages[host];
  Hosted out;
  for (uint32_t k = 0; k < stage.data_indices; ++k) out.shared.push_back(k);
  for (uint32_t k = 0; k < host; ++k) {
    const Stage& made = b.t.stages[k];
    if (!b.is_alive(k) || made.reduces || !made.inside.empty() || !made.guards.empty() || !is_private(b.t, k) ||
        readers_of(b.t, k) != std::vector<uint32_t>{host})
      continue;
    const auto indices = indices_read(b.t, made, stage);
    if (!indices || std::count(indices->begin(), indices->end(), lane) == 0) continue;
    const Attached attached{
        k, static_cast<uint32_t>(std::find(indices->begin(), indices->end(), lane) - indices->begin())};
    const StageTable table = table_of(b.t, made);
    if (!std::all_of(table.reads.begin(), table.reads.end(),
                     [&](const ReadRow& row) { return is_near_along(row, attached.lane); }))
      continue;
    std::erase_if(out.shared, [&](uint32_t i) { return std::count(indices->begin(), indices->end(), i) > 0; });
    out.attached_stages.push_back(attached);
  }
  int64_t results = 1;
  for (uint32_t k : out.shared) results *= std::max<int64_t>(stage.hi[k] - stage.lo[k], 1);
  return out.attached_stages.empty() || results > kMostShared ? std::nullopt : std::optional(out);
}

Plan plan_hosted(const Builder& b, uint32_t host, uint32_t lane, const Hosted& hosted) {
  const PlanContext c = b.context(host, Packing::none);
  Plan plan;
  const int64_t lanes = c.lanes(), whole = (c.table.extent[lane] + lanes - 1) / lanes * lanes;
  const auto is_shared = [&](uint32_t k) { return std::count(hosted.shared.begin(), hosted.shared.end(), k) > 0; };
  int64_t results = 1;
  std::vector<std::string> order, inside;
  for (uint32_t k : hosted.shared) results *= std::max<int64_t>(c.table.extent[k], 1), inside.push_back(c.name(k));
  std::vector<int64_t> widths;
  for (int64_t w : {1, 2, 4})
    if (w * lanes <= whole && w * results <= 2 * kMostShared) widths.push_back(w * lanes);
  const int64_t guess = std::min(std::max<int64_t>(kChains / results, 1) * lanes, whole);
  const std::string k = c.name(lane);
  plan.steps.push_back(TileStep{c.stage.name, {{k, add_size(plan, c, "kw", guess, widths)}}});
  for (uint32_t i = 0; i < c.stage.data_indices; ++i)
    if (!is_shared(i)) order.push_back(c.name(i));
  const std::string place = order.empty() ? "root" : order.back();
  for (uint32_t i = c.stage.data_indices; i < c.table.extent.size(); ++i)
    if (i != lane) order.push_back(c.name(i));
  order.push_back(k + ".1");
  order.insert(order.end(), inside.begin(), inside.end());
  order.push_back(k);
  plan.steps.push_back(PermuteStep{c.stage.name, order});
  plan.steps.push_back(AccumulateStep{c.stage.name, place, Scope::reg});
  if (!inside.empty()) plan.steps.push_back(UnrollStep{c.stage.name, inside});
  plan.steps.push_back(VectorizeStep{c.stage.name, k, Size{lanes, ""}});
  for (auto attached = hosted.attached_stages.rbegin(); attached != hosted.attached_stages.rend(); ++attached) {
    const PlanContext own = b.context(attached->stage, Packing::none, Site::attached);
    std::vector<std::string> loops;
    for (uint32_t i = 0; i < own.stage.data_indices; ++i)
      if (i != attached->lane) loops.push_back(own.name(i));
    loops.push_back(own.name(attached->lane));
    plan.steps.push_back(ComputeAtStep{own.stage.name, c.stage.name, k + ".1", Scope::reg});
    plan.steps.push_back(PermuteStep{own.stage.name, loops});
    plan.steps.push_back(UnrollStep{own.stage.name, {own.name(attached->lane)}});
    plan.steps.push_back(VectorizeStep{own.stage.name, own.name(attached->lane), Size{lanes, ""}});
  }
  return plan;
}

}  // namespace

std::optional<Plan> plan_values_in_lanes(const Builder& b) {
  Plan plan;
  std::vector<char> placed(b.t.stages.size(), 0);
  for (uint32_t k = 0; k < b.t.stages.size(); ++k) {
    if (!b.is_alive(k) || !b.t.stages[k].reduces || equation_of(b.t, b.t.stages[k]).targets.size() != 1) continue;
    const auto lane = lane_index(b.context(k, Packing::none));
    const auto hosted = lane ? hosted_by(b, k, *lane) : std::nullopt;
    if (!hosted) continue;
    plan.append(plan_hosted(b, k, *lane, *hosted));
    placed[k] = 1;
    for (const Attached& attached : hosted->attached_stages) placed[attached.stage] = 1;
  }
  if (std::count(placed.begin(), placed.end(), 1) == 0) return std::nullopt;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k)
    if (b.is_alive(k) && !placed[k]) plan.append(plan_stage(b.context(k, Packing::vectors)));
  return plan;
}

}  // namespace polyweft::schedules
