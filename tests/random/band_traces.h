// Random traces of bands for systems of recurrences, and what the steps refused on the way.
#pragma once

#include <vector>

#include "polyweft/trace.h"
#include "schedules/steps.h"
#include "support/rng.h"

namespace polyweft::random_test {

/// A step that a template did not take, and the trace that had made the template.
struct Refused {
  Trace before;
  Step step;
  Error error;
};
struct Drawn {
  Trace trace;
  std::vector<Refused> refused;  ///< by reason of a dependence or not; steps that name what is not there are left out
};

/// Answers about bands of `program`, in this process. `program` must live as long.
schedules::Isl isl_of(const Program& program);
/// As isl_of, but no relation between instances is known: whatever the order, steps take it.
schedules::Isl isl_without_relations(const Program& program);

/// The bands that isl proposes for a normalized program, some of them changed, then steps of every kind on their frames
/// and statements. Empty where nothing is proposed.
Drawn random_band_trace(Rng& rng, const Program& program, NumericsClass cls);
/// As test::random_trace, for programs without recurrences.
Drawn random_dense_trace(Rng& rng, const Program& program, NumericsClass cls);

}  // namespace polyweft::random_test
