// What a search proposes from: the cost model of the machine, the sketches with those of known schedules, the strategy,
// and what is tried first.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/derivation.h"
#include "driver/spaces.h"
#include "driver/tune_loop.h"
#include "driver/tune_session.h"
#include "driver/tune_start.h"
#include "polyweft/cost_model.h"
#include "polyweft/search.h"

namespace polyweft {

class SearchParts {
 public:
  /// All must outlive it. Measures the machine where `rates` says so.
  SearchParts(const SessionTask& session, const SessionServices& services, const SearchSpaceOfTask& space, Rates rates);
  SearchParts(const SearchParts&) = delete;
  SearchParts& operator=(const SearchParts&) = delete;
  /// Reads what the database knows of the task. Before all others.
  Status begin();

  const TuneStart& plan() const { return plan_; }
  const CostModel& model() const { return *model_; }
  const SketchSet& sketches() const { return sketches_; }
  Strategy& strategy() { return *strategy_; }
  /// The candidate whose trace this is, of the templates and of what was derived.
  std::optional<Candidate> candidate_of(const std::string& trace);
  /// Seeds with what goes with them; world.candidate_of.
  void put_seeds(TuneWorld& world);
  /// Scorer::stop_where.
  void stop_where(std::function<bool()> is_stopped) { scorer_->stop_where(std::move(is_stopped)); }

 private:
  const SessionTask& session_;
  const SessionServices& services_;
  const SearchSpaceOfTask& space_;
  const TuneStart plan_;
  const Machine machine_;
  const std::unique_ptr<CostModel> model_;
  const std::shared_ptr<Scorer> scorer_;
  SketchSet sketches_;
  std::unique_ptr<MutatedSketches> derivation_;
  std::unique_ptr<Strategy> strategy_;
  std::string nearest_;  ///< the trace of the nearest record
};

}  // namespace polyweft
