// From templates to search spaces: decision vectors to scored, hashed nests.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "polyweft/cost_model.h"
#include "polyweft/nest_template.h"
#include "polyweft/search.h"

namespace polyweft {

/// May it be 0? Then it is of a step that may be left out.
bool is_optional(const Decision& decision);
/// Models hardly see steps that may be left out: where nothing is measured they keep what rules gave them.
enum class OptionalSteps : uint8_t { open, usual };

/// Predictions by the hash of their nest: many decisions make the same one (sizes beyond an extent do), and a
/// prediction takes longer than the nest.
class Scorer {
 public:
  /// The model must outlive it.
  explicit Scorer(const CostModel& model) : model_(model) {}
  /// Nothing where the decisions break a constraint or give no nest.
  std::optional<Score> score(const NestTemplate& nest_template, const std::vector<int64_t>& decisions);
  /// Nests that were scored so far.
  size_t nests() const { return known_.size(); }
  /// From now on nothing is scored: whoever asks has no time left. Empty: never.
  void stop_where(std::function<bool()> is_stopped) { is_stopped_ = std::move(is_stopped); }
  bool is_over() { return is_over_ = is_over_ || (is_stopped_ && is_stopped_()); }

 private:
  const CostModel& model_;
  std::function<bool()> is_stopped_;
  size_t asked_ = 0;
  bool is_over_ = false;
  std::map<std::string, double> known_;
};
/// The template must outlive the result.
SketchSpace search_space(const NestTemplate& nest_template, std::shared_ptr<Scorer> scorer,
                         OptionalSteps optional_steps = OptionalSteps::open);
/// One space a template. The templates and the model must outlive the result.
/// `is_stopped`: Scorer::stop_where.
std::vector<SketchSpace> search_spaces(const std::vector<NestTemplate>& templates, const CostModel& model,
                                       OptionalSteps optional_steps = OptionalSteps::open,
                                       std::function<bool()> is_stopped = {});

/// The trace of a template with these decisions filled in: what is stored, shown and replayed.
std::string trace_text(const NestTemplate& nest_template, const std::vector<int64_t>& decisions);

}  // namespace polyweft
