// Templates of seeds: traces that were written for one task, replayed for another.
#pragma once

#include <string>
#include <vector>

#include "polyweft/nest_template.h"
#include "schedules/seeds/counterparts.h"
#include "schedules/seeds/open_sizes.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

/// A trace with open decisions, and the vectors of values that its authors chose.
struct OpenTrace {
  Trace trace;
  std::vector<std::vector<int64_t>> chosen;
  std::vector<std::string> names = {};  ///< where they are from, one a vector
};
/// `with_open_sizes`, then `renamed`: the trace for the second program. Nothing where either gives nothing.
std::optional<OpenTrace> open_trace(const Trace& trace, const Counterparts& counterparts, const SizeChange& change);
/// Traces of equal steps are one: its decisions offer what any of them offers. The order of the first ones stays.
std::vector<OpenTrace> merged(std::vector<OpenTrace> traces);

/// Replay where a step that only helps (prefetch, stream, unroll, promote, split) is left out if it is refused, and
/// where the tiles of bands keep their sizes if other ones are. The template's trace has the steps that are left and
/// the decisions that these use; `chosen` loses the same ones. The error of the first other step that is refused. At
/// most twice the questions to isl that a replay asks.
struct SeedTemplate {
  NestTemplate made;
  std::vector<std::vector<int64_t>> chosen;
  std::vector<std::string> names = {};
  std::vector<std::string> left_out = {};  ///< steps
};
Result<SeedTemplate> seed_template(const Program& normalized, NumericsClass cls, const OpenTrace& trace,
                                   const Isl& isl);

/// The outermost loops of nests of their own run in parallel where they are over data and may. The template as it is
/// where its trace says itself what runs in parallel, and in bands.
NestTemplate in_parallel(NestTemplate made);

/// The values, or where no nest is made of them the first vector that differs in one decision and of which one is.
std::optional<std::vector<int64_t>> instantiable(const NestTemplate& made, const std::vector<int64_t>& values);

}  // namespace polyweft::schedules
