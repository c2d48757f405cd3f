// The sketches of one search: those that it begins with, and those that mutations derive while it runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/spaces.h"
#include "polyweft/search.h"
#include "polyweft/target.h"
#include "schedules/mutations/mutations.h"

namespace polyweft {

class SketchSet {
 public:
  /// The templates must outlive it.
  explicit SketchSet(const std::vector<NestTemplate>& first);
  const NestTemplate& operator[](uint32_t sketch) const { return *sketches_[sketch]; }
  size_t size() const { return sketches_.size(); }
  const NestTemplate& add(NestTemplate sketch);
  /// The sketch that was added with this trace and these values for its decisions.
  std::optional<uint32_t> added(const std::string& trace) const;
  /// Of a derived one, whose number stays taken.
  void forget(uint32_t sketch) { sketches_[sketch].reset(); }

 private:
  std::vector<std::shared_ptr<const NestTemplate>> sketches_;
  size_t first_ = 0;  ///< so many are not ours
};

/// Derives by the mutations of schedules/mutations; each child is a nest that nobody scored before.
class MutatedSketches final : public Derivation {
 public:
  /// The sketches must outlive it.
  MutatedSketches(SketchSet& sketches, schedules::Mutator mutator, Target target, std::shared_ptr<Scorer> scorer);
  std::optional<Derived> mutated(const Candidate& parent, uint64_t seed) override;
  std::optional<Derived> crossed(const Candidate& parent, const Candidate& other, uint64_t seed) override;
  void forget(uint32_t sketch) override { sketches_.forget(sketch); }

 private:
  std::optional<Derived> taken(std::optional<NestTemplate> child);
  schedules::Individual individual(const Candidate& candidate) const {
    return {sketches_[candidate.sketch], candidate.decisions};
  }

  SketchSet& sketches_;
  schedules::Mutator mutator_;
  Target target_;
  std::shared_ptr<Scorer> scorer_;
};

}  // namespace polyweft
