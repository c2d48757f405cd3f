// Where values lie: copies of operands, accumulators, cells of recurrences, non-temporal stores, prefetches.
#include <algorithm>

#include "schedules/mutations/draws.h"
#include "schedules/mutations/kinds.h"
#include "schedules/queries.h"

namespace polyweft::schedules {

std::vector<Step> add_copy(const Change& c) {
  constexpr double kStack = 0.2;
  const Stage* stage = stage_of(c);
  if (stage == nullptr) return {};
  const auto tensors = tensors_read(c.at, *stage);
  if (tensors.empty()) return {};
  const TensorId tensor = one_of(tensors, c.rng);
  const auto rank = static_cast<uint32_t>(c.at.boxes[tensor].lo.size());
  return {PromoteStep{c.at.program.tensors[tensor].name, stage->name, place_in(*stage, c.rng),
                      c.rng.chance(kStack) ? Scope::stack : Scope::heap,
                      some_layout(rank, lanes_of(c.at, *stage, c.machine), c.rng)}};
}

std::vector<Step> add_accumulator(const Change& c) {
  constexpr double kRegisters = 0.8;
  const Stage* stage = stage_of(c);
  if (stage == nullptr || !stage->reduces) return {};
  return {AccumulateStep{stage->name, place_in(*stage, c.rng), c.rng.chance(kRegisters) ? Scope::reg : Scope::stack}};
}

std::vector<Step> add_stream(const Change& c) {
  const Stage* stage = stage_of(c);
  return stage == nullptr ? std::vector<Step>{} : std::vector<Step>{StreamStep{stage->name}};
}

std::vector<Step> add_prefetch_of_reads(const Change& c) {
  constexpr uint64_t kMostPower = 7;
  const Stage* stage = stage_of(c);
  if (stage == nullptr || stage->lo.empty()) return {};
  const auto tensors = tensors_read(c.at, *stage);
  if (tensors.empty()) return {};
  const auto index = static_cast<uint32_t>(c.rng.below(stage->lo.size()));
  return {PrefetchStep{c.at.program.tensors[one_of(tensors, c.rng)].name,
                       stage->name,
                       index_name(c.at, *stage, index),
                       {int64_t{1} << c.rng.below(kMostPower), ""}}};
}

// Two coordinates of a tensor's cells exchanged.
std::vector<Step> add_storage(const Change& c) {
  const Stage* stage = stage_of(c);
  if (stage == nullptr || equation_of(c.at, *stage).targets.empty()) return {};
  const TensorId tensor = equation_of(c.at, *stage).targets[0];
  const size_t rank = c.at.boxes[tensor].lo.size();
  if (rank < 2 || c.at.program.tensors[tensor].kind != TensorKind::local) return {};
  StoreStep store{c.at.program.tensors[tensor].name, {}};
  for (size_t d = 0; d < rank; ++d) store.cell.push_back({{{1, "d" + std::to_string(d)}}, 0});
  const size_t a = c.rng.below(rank - 1);
  std::swap(store.cell[a], store.cell[a + 1 + c.rng.below(rank - a - 1)]);
  return {store};
}

// Another place, another layout, or other memory.
bool change_copy(Trace& trace, const Change& c) {
  const auto id = stage_named(c.whole, c.statement);
  if (!id) return false;
  const Stage& stage = c.whole.stages[*id];
  std::vector<PromoteStep*> copies;
  for (Step& step : trace.steps)
    if (auto* copy = std::get_if<PromoteStep>(&step); copy && copy->statement == c.statement) copies.push_back(copy);
  if (copies.empty()) return false;
  PromoteStep& copy = *one_of(copies, c.rng);
  switch (c.rng.below(3)) {
    case 0:
      copy.at = place_in(stage, c.rng);
      return true;
    case 1:
      copy.scope = copy.scope == Scope::heap ? Scope::stack : Scope::heap;
      return true;
    default: {
      const auto& tensors = c.whole.program.tensors;
      const auto read =
          std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == copy.tensor; });
      if (read == tensors.end()) return false;
      const auto rank = static_cast<uint32_t>(c.whole.boxes[static_cast<size_t>(read - tensors.begin())].lo.size());
      copy.layout = some_layout(rank, lanes_of(c.whole, stage, c.machine), c.rng);
      return true;
    }
  }
}

}  // namespace polyweft::schedules
