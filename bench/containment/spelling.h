// Traces in one spelling, so that two of them can be compared step by step: numbers instead of decisions, loops by
// index and level, bands by their number.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "polyweft/trace.h"
#include "schedules/steps.h"

namespace polyweft::containment {

/// The program and what steps of its schedules ask.
struct Case {
  const Program& program;
  NumericsClass cls;
  const schedules::Isl& isl;
};

/// The trace with its bands called band1, band2, .., as rules call them.
Trace with_numbered_bands(Trace trace);
/// The trace with these values instead of its decisions, loops by index and level. Replays its steps: an error is the
/// first one's that is refused.
Result<Trace> spelled(const Case& c, const Trace& trace, const std::vector<int64_t>& values);
/// The same without replay: numbers instead of decisions in sizes, loops as they are.
Trace in_numbers(Trace trace, const std::vector<int64_t>& values);

/// What a trace says of each statement or band, in its order: a level of tiles, an unrolled loop, else a step, each as
/// its words.
using Parts = std::map<std::string, std::vector<std::vector<std::string>>>;
Parts parts_of(const Trace& trace);
std::vector<std::string> words_of(const std::string& text);

struct Difference {
  double weight = 0;   ///< parts of one kind that differ in some words weigh less than one that is missing
  size_t changes = 0;  ///< parts to put in, take out or change
  std::map<std::string, size_t> of = {};  ///< changes by statement
};
Difference difference(const Parts& a, const Parts& b);

}  // namespace polyweft::containment
