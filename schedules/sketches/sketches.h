// Sketches: traces with open decisions, made by rules on structure alone (SCHEDULES.md section 3): coefficient of index x access,
// never a name of an operator. Arithmetic only, some milliseconds.
#pragma once

#include <memory>
#include <vector>

#include "polyweft/nest_template.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

/// What the rules must know of a target, as plain numbers.
struct TargetFacts {
  int vector_bytes = 64;
  int vector_registers = 32;
  std::vector<int64_t> cache_bytes = {48 << 10, 2 << 20, 32 << 20};  ///< L1 first, of one core
  int threads = 1;
  std::vector<std::string> instructions = {};  ///< tensor instructions that the target has
  bool compiler_gathers = false;               ///< the compiler's vectorizers may load and store what lies apart by gathers and scatters
};

/// 1 to 12 traces, each replayable on this program and class, the plainest last; for threads each in parts, and for little work each on one thread after those. A program
/// with a recurrence has the empty trace alone here.
std::vector<Trace> sketches(const Program& normalized, NumericsClass cls, const TargetFacts& facts);

/// The sketches as templates. `recurrence_nest` as for base_template.
Result<std::vector<NestTemplate>> sketch_templates(const Program& normalized, NumericsClass cls, const TargetFacts& facts,
                                                   std::shared_ptr<const LoopNest> recurrence_nest = nullptr);
/// The same; of programs with recurrences those of recurrences.h first, and the base order.
Result<std::vector<NestTemplate>> sketch_templates(const Program& normalized, NumericsClass cls, const TargetFacts& facts, const Isl& isl);

}  // namespace polyweft::schedules
