#include "driver/derivation.h"

#include "ir/nests/suit_target.h"
#include "support/stage_times.h"

namespace polyweft {
namespace {

constexpr const char* kDeriving = "search: deriving schedules";

}  // namespace

SketchSet::SketchSet(const std::vector<NestTemplate>& first) {
  for (const NestTemplate& each : first) sketches_.emplace_back(std::shared_ptr<void>(), &each);  // not owned
  first_ = sketches_.size();
}

const NestTemplate& SketchSet::add(NestTemplate sketch) {
  sketches_.push_back(std::make_shared<const NestTemplate>(std::move(sketch)));
  return *sketches_.back();
}

std::optional<uint32_t> SketchSet::added(const std::string& trace) const {
  for (size_t k = first_; k < sketches_.size(); ++k)
    if (sketches_[k] && trace_text(*sketches_[k], values_of(sketches_[k]->trace)) == trace)
      return static_cast<uint32_t>(k);
  return std::nullopt;
}

MutatedSketches::MutatedSketches(SketchSet& sketches, schedules::Mutator mutator, Target target,
                                 std::shared_ptr<Scorer> scorer)
    : sketches_(sketches), mutator_(std::move(mutator)), target_(std::move(target)), scorer_(std::move(scorer)) {}

std::optional<Derivation::Derived> MutatedSketches::taken(std::optional<NestTemplate> child) {
  if (!child) return std::nullopt;
  ir::suit_target(*child, target_);
  std::vector<int64_t> decisions = values_of(child->trace);
  const size_t before = scorer_->nests();
  if (!scorer_->score(*child, decisions) || scorer_->nests() == before) return std::nullopt;
  const NestTemplate& kept = sketches_.add(std::move(*child));
  return Derived{search_space(kept, scorer_), std::move(decisions)};
}

std::optional<Derivation::Derived> MutatedSketches::mutated(const Candidate& parent, uint64_t seed) {
  if (scorer_->is_over()) return std::nullopt;
  const StageTimes::Running part(kDeriving);
  Rng rng(seed);
  return taken(mutator_.mutated(individual(parent), rng));
}

std::optional<Derivation::Derived> MutatedSketches::crossed(const Candidate& parent, const Candidate& other,
                                                            uint64_t seed) {
  if (scorer_->is_over()) return std::nullopt;
  const StageTimes::Running part(kDeriving);
  Rng rng(seed);
  return taken(mutator_.crossed(individual(parent), individual(other), rng));
}

}  // namespace polyweft
