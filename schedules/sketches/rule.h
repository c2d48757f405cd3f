// Rules: what makes sketches. `rules()` (rules.cpp) lists all of them in the order in which they are tried.
#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "poly/band.h"
#include "schedules/sketches/builder.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

/// What every rule sees, and what it and those before it have proposed: templates, each with the trace that made it.
struct SketchCase {
  const Program& program;  ///< normalized
  NumericsClass cls;
  const Machine& machine;
  const Isl& isl;
  std::vector<NestTemplate> out = {};
  bool is_for_search = false;  ///< what first choices do not look at, see Rule::in_searches
};

/// A program with recurrences, and the bands that isl proposes for it.
struct BandCase : SketchCase {
  std::vector<poly::BandProposal> proposals = {};
  /// Keeps what stands and can be instantiated: with locals in the cells of outputs, where that is legal.
  void keep(std::optional<NestTemplate> sketch);
};

/// A program without recurrences: a plan for each stage, after the steps that every sketch begins with.
struct StageCase : SketchCase {
  NestTemplate begun = {}, planned = {};  ///< see first_steps.h
  uint32_t dominant = 0;                  ///< the stage with most points
  bool has_strips = false;
  Builder builder() const { return {planned, machine, dominant}; }
  /// Applies the plan and keeps the sketch, where no step is refused and no other sketch has this trace.
  void add(const std::optional<Plan>& plan);
};

/// Any program: loops in the order of the text.
struct OrderCase : SketchCase {};

/// Any program, on a machine that runs blocks of threads; no other rule is asked there.
struct GridCase : SketchCase {};

template <typename Case>
struct RuleOn {
  bool (*applies)(const Case&);
  void (*propose)(Case&);
  bool (*is_enough)(const Case&) = nullptr;  ///< true: what is found leaves nothing to the rules after this one
};
struct Rule {
  const char* name;      ///< the ability (support/abilities.h) that turns it off
  const char* when;      ///< its precondition in words
  const char* proposes;  ///< in words
  std::variant<RuleOn<BandCase>, RuleOn<SketchCase>, RuleOn<StageCase>, RuleOn<OrderCase>, RuleOn<GridCase>> on;
  /// Cost models hardly see what its sketches are good for: a search tries them, first choices are made without them.
  bool in_searches = false;
};
/// In the order in which they are tried.
std::span<const Rule> rules();

/// All rules of this kind, one after the other; what they propose joins `found.out`.
void propose(BandCase& found);
void propose(SketchCase& found);
void propose(StageCase& found);
void propose(OrderCase& found);
void propose(GridCase& found);

bool has_trace(const std::vector<NestTemplate>& sketches, const Trace& trace);

}  // namespace polyweft::schedules
