// `assume`: guards over parameters; a lower bound of one parameter alone replaces its default `>= 1` (LANGUAGE.md
// section 2).
#include <algorithm>

#include "lang/analyzer.h"
#include "lang/wide.h"

namespace polyweft::lang {
namespace {

/// The parameter p and bound b where the guard says just p >= b.
struct LowerBound {
  VarId parameter = kNoVar;
  int64_t least = 0;
};

std::optional<LowerBound> lower_bound_of(const Guard& guard) {
  if (guard.kind != Guard::Kind::ge0 || guard.e.terms.size() != 1) return std::nullopt;
  const Term& term = guard.e.terms[0];
  if (term.quasi || term.coeff <= 0) return std::nullopt;
  Affine floor = floor_div(Affine::of(guard.e.constant), term.coeff);
  return LowerBound{term.var, -floor.constant};
}

}  // namespace

void Analyzer::add_assumption(const Guard& guard) {
  if (guard.kind == Guard::Kind::all) {
    for (const Guard& each : guard.of) add_assumption(each);
    return;
  }
  auto bound = lower_bound_of(guard);
  if (!bound) return other_assumptions_.push_back(guard);
  int64_t& least = context_.parameter_least[bound->parameter];
  least = least_is_stated_[bound->parameter] ? std::max(least, bound->least) : bound->least;
  least_is_stated_[bound->parameter] = true;
}

void Analyzer::read_assumptions() {
  Program& program = context_.program;
  context_.parameter_least.assign(program.parameters.size(), 1);
  least_is_stated_.assign(program.parameters.size(), false);
  std::vector<int64_t> defaults;
  for (const Parameter& parameter : program.parameters) defaults.push_back(parameter.value);
  for (const Node* node : syntax_.assumptions) {
    context_.begin_equation();
    auto guard = affine_.guard(*node);
    if (!guard) continue;
    add_assumption(*guard);
    if (!wide_holds(*guard, defaults))
      report_.error("PW0125", node->extent, "the default sizes do not meet the assumption '" + show(*node) + "'");
  }
  for (VarId p = 0; p < program.parameters.size(); ++p)
    program.assumptions.push_back(guard_ge0(Affine::variable(p) - Affine::of(context_.parameter_least[p])));
  program.assumptions.insert(program.assumptions.end(), other_assumptions_.begin(), other_assumptions_.end());
  check_defaults();
}

void Analyzer::check_defaults() {
  const auto& parameters = context_.program.parameters;
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (least_is_stated_[p] || parameters[p].value >= 1) continue;
    report_.error("PW0125", context_.symbols.at(parameters[p].name).where,
                  "the default of " + parameters[p].name + " is " + std::to_string(parameters[p].value) +
                      ", but parameters are at least 1",
                  {"write 'assume " + parameters[p].name + " >= 0' to allow 0"});
  }
}

}  // namespace polyweft::lang
