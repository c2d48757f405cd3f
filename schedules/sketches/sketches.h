// Sketches: traces with open decisions, made by rules on structure alone (SCHEDULES.md section 3): coefficient of index
// x access, never a name of an operator. Arithmetic only, some milliseconds.
#pragma once

#include <memory>
#include <vector>

#include "polyweft/nest_template.h"
#include "polyweft/target.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

/// All sketches of a program, each a template with the trace that made it: what the rules (rule.h) propose. Each is
/// applied once. `recurrence_nest` as for base_template.
Result<std::vector<NestTemplate>> sketch_templates(const Program& normalized, NumericsClass cls, const Machine& machine,
                                                   std::shared_ptr<const LoopNest> recurrence_nest = nullptr);
/// The same; of programs with recurrences those of recurrences.h first, and the base order.
Result<std::vector<NestTemplate>> sketch_templates(const Program& normalized, NumericsClass cls, const Machine& machine,
                                                   const Isl& isl);

/// What a search tries beside those (Rule::in_searches), none of which is in `known`; empty for a program with a
/// recurrence where isl says nothing.
std::vector<NestTemplate> search_templates(const Program& normalized, NumericsClass cls, const Machine& machine,
                                           const std::vector<NestTemplate>& known, const Isl& isl = {});

/// Those alone that plan each stage: 1 to 12 traces, the simplest last; for several cores of the machine (on_cores)
/// each in parts, and for little work each on one thread after those. A program with a recurrence has the empty trace
/// alone here.
std::vector<Trace> sketches(const Program& normalized, NumericsClass cls, const Machine& machine);
std::vector<Trace> traces_of(const std::vector<NestTemplate>& sketches);

}  // namespace polyweft::schedules
