// Loops of one statement, or of a band: their order, their tiles, which ones are unrolled, lanes, or parts.
#include <algorithm>

#include "schedules/mutations/draws.h"
#include "schedules/mutations/kinds.h"
#include "schedules/queries.h"

namespace polyweft::schedules {
namespace {

/// Numbers of the steps of the statement that are of this kind.
template <typename S>
std::vector<size_t> steps_of(const Trace& trace, const std::string& statement) {
  std::vector<size_t> out;
  for (size_t k = 0; k < trace.steps.size(); ++k)
    if (std::holds_alternative<S>(trace.steps[k]) && owner_of(trace.steps[k]) == statement) out.push_back(k);
  return out;
}

/// The loop of number `from` takes place `to`; those between move by one.
PermuteStep moved(const std::string& statement, const std::vector<std::string>& loops, size_t from, size_t to) {
  std::vector<std::string> order(loops.begin() + static_cast<std::ptrdiff_t>(std::min(from, to)),
                                 loops.begin() + static_cast<std::ptrdiff_t>(std::max(from, to)) + 1);
  if (from > to)
    std::rotate(order.begin(), order.end() - 1, order.end());
  else
    std::rotate(order.begin(), order.begin() + 1, order.end());
  return {statement, order};
}

/// What is about the order of the band or the form of the program, without which the rest says nothing.
bool is_needed(const Step& step) {
  return std::holds_alternative<BandStep>(step) || std::holds_alternative<CutStep>(step) ||
         std::holds_alternative<SnapshotStep>(step) || std::holds_alternative<OnlineStep>(step);
}

}  // namespace

bool exchange_loops(Trace& trace, const Change& c) {
  constexpr double kNeighbours = 0.7;
  const auto steps = steps_of<PermuteStep>(trace, c.statement);
  if (steps.empty()) return false;
  auto& loops = std::get<PermuteStep>(trace.steps[one_of(steps, c.rng)]).loops;
  if (loops.size() < 2) return false;
  const size_t a = c.rng.below(loops.size() - 1);
  const size_t b = c.rng.chance(kNeighbours) ? a + 1 : c.rng.below(loops.size());
  if (a == b) return false;
  std::swap(loops[a], loops[b]);
  return true;
}

// Of a list of unrolled loops, or of tile levels, one goes.
bool leave_out_a_step(Trace& trace, const Change& c) {
  std::vector<size_t> steps;
  for (size_t k = 0; k < trace.steps.size(); ++k)
    if (!is_needed(trace.steps[k]) && owner_of(trace.steps[k]) == c.statement) steps.push_back(k);
  if (steps.empty()) return false;
  const size_t at = one_of(steps, c.rng);
  if (auto* unroll = std::get_if<UnrollStep>(&trace.steps[at]); unroll && unroll->loops.size() > 1) {
    unroll->loops.erase(unroll->loops.begin() + static_cast<std::ptrdiff_t>(c.rng.below(unroll->loops.size())));
    return true;
  }
  if (auto* tile = std::get_if<TileStep>(&trace.steps[at]); tile && tile->levels.size() > 1) {
    tile->levels.erase(tile->levels.begin() + static_cast<std::ptrdiff_t>(c.rng.below(tile->levels.size())));
    return true;
  }
  trace.steps.erase(trace.steps.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

// Lanes, unrolling and registers are the compiler's; or, of what is left to it, without gathers or with them.
bool leave_to_compiler(Trace& trace, const Change& c) {
  constexpr double kWithoutGathers = 0.3;
  if (!trace.steps.empty())
    if (auto* last = std::get_if<AutovectorizeStep>(&trace.steps.back())) {
      last->avoids_gathers = !last->avoids_gathers;
      return true;
    }
  std::erase_if(trace.steps, [](const Step& step) {
    return std::holds_alternative<VectorizeStep>(step) || std::holds_alternative<UnrollStep>(step) ||
           std::holds_alternative<AccumulateStep>(step) || std::holds_alternative<TensorizeStep>(step) ||
           std::holds_alternative<StreamStep>(step) || std::holds_alternative<PrefetchStep>(step);
  });
  trace.steps.push_back(AutovectorizeStep{c.rng.chance(kWithoutGathers)});
  return true;
}

std::vector<Step> move_loop(const Change& c) {
  const Stage* stage = stage_of(c);
  if (stage == nullptr) return {};
  const auto loops = loops_of(*stage);
  if (loops.size() < 2) return {};
  const size_t from = c.rng.below(loops.size()), to = c.rng.below(loops.size());
  if (from == to) return {};
  return {moved(stage->name, loops, from, to)};
}

// The new loop stands before the point loops, or further out.
std::vector<Step> add_tile(const Change& c) {
  constexpr double kFurtherOut = 0.6;
  const Stage* stage = stage_of(c);
  if (stage == nullptr || stage->lo.empty()) return {};
  const auto index = static_cast<uint32_t>(c.rng.below(stage->lo.size()));
  const int64_t extent = stage->hi[index] - stage->lo[index];
  if (extent < 2) return {};
  const std::string name = index_name(c.at, *stage, index);
  const int64_t size = tile_size(extent, lanes_of(c.at, *stage, c.machine), c.rng);
  std::vector<Step> out{TileStep{stage->name, {{name, {size, ""}}}}};
  const auto first_point = std::find_if(stage->loops.begin(), stage->loops.end(), is_point_loop);
  const auto place = static_cast<size_t>(first_point - stage->loops.begin());
  if (place == 0 || !c.rng.chance(kFurtherOut)) return out;
  const auto levels = std::count_if(stage->loops.begin(), stage->loops.end(),
                                    [&](const TemplateLoop& l) { return l.index == index && !is_point_loop(l); });
  std::vector<std::string> loops;
  for (size_t k = 0; k < place; ++k) loops.push_back(stage->loops[k].name);
  loops.push_back(name + "." + std::to_string(levels + 1));
  out.push_back(moved(stage->name, loops, place, c.rng.below(place)));
  return out;
}

std::vector<Step> add_unroll(const Change& c) {
  const Stage* stage = stage_of(c);
  if (stage == nullptr) return {};
  std::vector<std::string> loops;
  for (const TemplateLoop& loop : stage->loops)
    if (loop.mark.kind == MarkKind::serial) loops.push_back(loop.name);
  return loops.empty() ? std::vector<Step>{} : std::vector<Step>{UnrollStep{stage->name, {one_of(loops, c.rng)}}};
}

// Tiled by some vectors first, which are then unrolled, or not.
std::vector<Step> add_lanes(const Change& c) {
  constexpr double kTiled = 0.7;
  constexpr uint64_t kMostVectors = 4;
  const Stage* stage = stage_of(c);
  if (stage == nullptr || stage->lo.empty()) return {};
  const int64_t lanes = lanes_of(c.at, *stage, c.machine);
  const std::string name = index_name(c.at, *stage, static_cast<uint32_t>(c.rng.below(stage->lo.size())));
  std::vector<Step> out;
  if (c.rng.chance(kTiled)) {
    const auto vectors = 1 + static_cast<int64_t>(c.rng.below(kMostVectors));
    out.push_back(TileStep{stage->name, {{name, {vectors * lanes, ""}}}});
  }
  out.push_back(VectorizeStep{stage->name, name, {lanes, ""}});
  return out;
}

std::vector<Step> add_parts(const Change& c) {
  const Stage* stage = stage_of(c);
  if (stage == nullptr || !stage->reduces || stage->lo.size() == stage->data_indices) return {};
  const auto reduced = stage->data_indices + static_cast<uint32_t>(c.rng.below(stage->lo.size() - stage->data_indices));
  return {RfactorStep{stage->name, index_name(c.at, *stage, reduced), int64_t{2} << c.rng.below(3)}};
}

}  // namespace polyweft::schedules
