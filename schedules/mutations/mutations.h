// Mutations: small changes of a trace, which derive schedules that no rule proposes from those that rules, people or
// earlier mutations made. `mutations()` (mutations.cpp) lists all kinds. None of them knows whether its change is legal
// or good: the steps refuse what is not legal when the changed trace is replayed, models and measurements judge the
// rest. They hold for any program and any trace, bands included.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "polyweft/nest_template.h"
#include "polyweft/target.h"
#include "schedules/steps.h"
#include "support/rng.h"

namespace polyweft::schedules {

/// A template and values for its decisions.
struct Individual {
  const NestTemplate& t;
  const std::vector<int64_t>& decisions;
};

/// What a change is made of. `whole` is the template that the trace made, `at` what it was before the place of the
/// change.
struct Change {
  const NestTemplate& whole;
  const NestTemplate& at;
  const Machine& machine;
  const std::string& statement;  ///< the statement or band that is to be changed
  Rng& rng;
};
/// Steps to put in at the place; empty: no such change there.
using Insert = std::vector<Step> (*)(const Change&);
/// Changes steps or decisions of the trace in place. False: there is nothing of the kind.
using Edit = bool (*)(Trace&, const Change&);

struct Mutation {
  const char* name;  ///< the ability (support/abilities.h) that turns it off
  const char* what;
  double weight;  ///< how often it is drawn, relative to the others
  Insert insert = nullptr;
  Edit edit = nullptr;  ///< one of the two
};
std::span<const Mutation> mutations();

/// Makes templates for one program from others of it. Copies are cheap beside a replay.
class Mutator {
 public:
  Mutator(const Program& normalized, NumericsClass cls, const Machine& machine, Isl isl);

  /// One change at random; where a later step of the trace does not go with it that step is mended (names of loops that
  /// are gone are left out) or left out, two at most. Nothing where the drawn change is refused, changes nothing, or
  /// the parent is a base order. Costs a replay, 0.05 to some ms, and what isl takes where a band changes.
  std::optional<NestTemplate> mutated(const Individual& parent, Rng& rng) const;
  /// The parent with all steps of one statement as the other has them.
  std::optional<NestTemplate> crossed(const Individual& parent, const Individual& other, Rng& rng) const;

 private:
  struct Insertion {
    size_t at = 0;  ///< before the step of this number
    Insert steps = nullptr;
    const Change* change = nullptr;
  };
  std::optional<NestTemplate> replayed(Trace trace, const Insertion& insertion) const;

  NestTemplate begun_;
  Machine machine_;
  Isl isl_;
};

}  // namespace polyweft::schedules
