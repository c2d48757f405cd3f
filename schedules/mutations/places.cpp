// Where statements run: in a nest of their own, inside a loop of a reader, at the end of a source's loop, or inline.
#include <algorithm>

#include "schedules/mutations/draws.h"
#include "schedules/mutations/kinds.h"
#include "schedules/queries.h"

namespace polyweft::schedules {
namespace {

bool is_placed(const Stage& stage) {
  return stage.placement.kind != Placement::Kind::at_root;
}

}  // namespace

std::vector<Step> place_in_reader(const Change& c) {
  const Stage* stage = stage_of(c);
  if (stage == nullptr || is_placed(*stage)) return {};
  const auto& targets = equation_of(c.at, *stage).targets;
  std::vector<const Stage*> readers;
  for (const Stage& reader : c.at.stages)
    if (&reader != stage && !reader.needs_band && reads_any(c.at, reader, targets)) readers.push_back(&reader);
  if (readers.empty() || targets.empty()) return {};
  const Stage& host = *one_of(readers, c.rng);
  const auto rank = static_cast<uint32_t>(c.at.boxes[targets[0]].lo.size());
  return {ComputeAtStep{stage->name, host.name, place_in(host, c.rng), Scope::heap,
                        some_layout(rank, lanes_of(c.at, *stage, c.machine), c.rng)}};
}

std::vector<Step> inline_in_readers(const Change& c) {
  const Stage* stage = stage_of(c);
  if (stage == nullptr || is_placed(*stage) || stage->reduces) return {};
  return {InlineStep{stage->name}};
}

std::vector<Step> fuse_into_source(const Change& c) {
  const Stage* stage = stage_of(c);
  if (stage == nullptr || is_placed(*stage)) return {};
  std::vector<const Stage*> sources;
  for (const Stage& source : c.at.stages)
    if (&source < stage && !is_placed(source) && !source.is_frame && !source.needs_band) sources.push_back(&source);
  if (sources.empty()) return {};
  const Stage& source = *one_of(sources, c.rng);
  const auto loops = loops_of(source);
  return loops.empty() ? std::vector<Step>{}
                       : std::vector<Step>{FuseStep{stage->name, source.name, one_of(loops, c.rng)}};
}

// Of a statement inside another's loop: another loop, other memory, another layout; or a nest of its own.
bool change_place(Trace& trace, const Change& c) {
  std::vector<size_t> steps;
  for (size_t k = 0; k < trace.steps.size(); ++k)
    if (owner_of(trace.steps[k]) == c.statement &&
        (std::holds_alternative<ComputeAtStep>(trace.steps[k]) || std::holds_alternative<FuseStep>(trace.steps[k])))
      steps.push_back(k);
  if (steps.empty()) return false;
  const size_t at = one_of(steps, c.rng);
  const auto place_of = [&](const std::string& host) {
    const auto id = stage_named(c.whole, host);
    return id ? place_in(c.whole.stages[*id], c.rng) : "root";
  };
  if (auto* fuse = std::get_if<FuseStep>(&trace.steps[at])) {
    fuse->at = place_of(fuse->into);
    return true;
  }
  auto& place = std::get<ComputeAtStep>(trace.steps[at]);
  switch (c.rng.below(3)) {
    case 0:
      place.at = place_of(place.consumer);
      return true;
    case 1:
      place.scope = place.scope == Scope::heap ? Scope::stack : Scope::heap;
      return true;
    default: {
      const auto id = stage_named(c.whole, c.statement);
      if (!id || equation_of(c.whole, c.whole.stages[*id]).targets.empty()) return false;
      const TensorId made = equation_of(c.whole, c.whole.stages[*id]).targets[0];
      place.layout = some_layout(static_cast<uint32_t>(c.whole.boxes[made].lo.size()),
                                 lanes_of(c.whole, c.whole.stages[*id], c.machine), c.rng);
      return true;
    }
  }
}

}  // namespace polyweft::schedules
