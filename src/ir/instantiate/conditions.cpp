#include "ir/instantiate/conditions.h"

#include <algorithm>
#include <map>
#include <memory>

#include "polyweft/result.h"

namespace polyweft::ir {

namespace {

enum class Corner : uint8_t { least, greatest };

Affine corner(const Body& body, const Affine& e, VarId but, Corner which) {
  Affine out = Affine::of(e.constant);
  for (const Term& term : e.terms) {
    PW_CHECK(!term.quasi);
    if (term.var == but) continue;
    const Range& range = body.ranges[body.index_of(term.var)];
    const bool at_end = (term.coeff > 0) == (which == Corner::greatest);
    out = out + term.coeff * (range.origin + Affine::of(at_end ? range.extent - 1 : 0));
  }
  return out;
}

}  // namespace

Affine greatest_value(const Body& body, const Affine& e, VarId but) {
  return corner(body, e, but, Corner::greatest);
}

Affine least_value(const Body& body, const Affine& e, VarId but) {
  return corner(body, e, but, Corner::least);
}

bool mentions_reduced(const Body& body, const Affine& condition) {
  return std::any_of(condition.terms.begin(), condition.terms.end(),
                     [&](const Term& term) { return body.index_of(term.var) >= body.stage->data_indices; });
}

bool others_fixed(const Body& body, const Affine& condition, VarId but) {
  return std::all_of(condition.terms.begin(), condition.terms.end(), [&](const Term& term) {
    return term.var == but || body.ranges[body.index_of(term.var)].is_point();
  });
}

bool is_applicable(const Body& body, size_t k) {
  return !body.done[k] && (body.initialized || !mentions_reduced(body, body.conditions()[k]));
}

void settle_determined(Body& body, size_t depth) {
  for (DeterminedIndex& each : body.determined) {
    const bool has_tiles =
        std::any_of(body.from(std::min(depth, body.loops.size())), body.loops.cend(),
                    [&](const SizedLoop& loop) { return loop.index == each.is.index && !loop.is_determined; });
    if (each.is_settled || has_tiles) continue;
    each.is_settled = true;
    const std::map<VarId, Affine> value = {{body.index_var(each.is.index), each.is.value}};
    for (MixedCondition& mixed : body.mixed) mixed.of_indices = substitute(mixed.of_indices, value);
    const Range& own = body.ranges[each.is.index];  // the loops over the others stay inside it
    auto within = [&](int64_t sign, const Affine& rest) { body.mixed.push_back({sign * each.is.value, rest}); };
    within(1, Affine::of(0) - own.origin);
    within(-1, own.origin + Affine::of(own.extent - 1));
    for (const Affine& e : own.lower) within(1, Affine::of(0) - own.origin - e);
    for (const Limit& limit : own.upper) within(-1, own.origin + limit.e - Affine::of(1));
    auto conditions = std::make_shared<std::vector<Affine>>(body.conditions());
    for (size_t k = 0; k < conditions->size(); ++k) {
      Affine& e = (*conditions)[k];
      if (e.coefficient(body.index_var(each.is.index)) != 0) e = substitute(e, value);
      if (e.is_constant() && e.constant >= 0) body.done[k] = 1;
    }
    body.rewritten = std::move(conditions);
  }
}

bool has_open_value(const Body& body) {
  const auto is_open = [&](const DeterminedIndex& each) {
    return each.is_settled && !each.is_point && others_fixed(body, each.is.value);
  };
  return std::any_of(body.determined.begin(), body.determined.end(), is_open) ||
         std::any_of(body.mixed.begin(), body.mixed.end(), [&](const MixedCondition& mixed) {
           return !mixed.is_done && others_fixed(body, mixed.of_indices);
         });
}

std::vector<Guard> value_of_determined(Body& body, const LoopVariables& variables) {
  for (DeterminedIndex& each : body.determined) {
    if (!each.is_settled || each.is_point || !others_fixed(body, each.is.value)) continue;
    each.is_point = true;
    body.ranges[each.is.index] = Range{greatest_value(body, each.is.value), 1, {}, {}};
  }
  std::vector<Guard> tests;
  for (MixedCondition& mixed : body.mixed) {
    if (mixed.is_done || !others_fixed(body, mixed.of_indices)) continue;
    mixed.is_done = true;
    const Affine value = greatest_value(body, mixed.of_indices) + mixed.rest;
    if (variables.numeric_bounds(value).first < 0) tests.push_back(guard_ge0(value));
  }
  return tests;
}

void mark_implied(Body& body, size_t count) {
  const std::vector<Affine>& inside = body.conditions();
  for (size_t k = 0; k < inside.size(); ++k)
    for (size_t known = inside.size() - count; known < inside.size(); ++known)
      if (const Affine more = inside[k] - inside[known]; more.is_constant() && more.constant >= 0) body.done[k] = 1;
}

Range cut(Body& body, uint32_t index, Cut how, const LoopVariables& variables) {
  const VarId var = body.index_var(index);
  Range range = body.ranges[index];
  auto limit = [&](int64_t coeff, const Affine& rest) {  // coeff * offset + rest >= 0
    if (coeff < 0)
      range.upper.push_back({floor_div(rest, -coeff) + Affine::of(1), false});
    else
      range.lower.push_back(Affine::of(0) - floor_div(rest, coeff));  // offset >= ceil(-rest / coeff)
  };
  for (size_t k = 0; k < body.done.size(); ++k) {
    const Affine& condition = body.conditions()[k];
    const int64_t coeff = condition.coefficient(var);
    if (coeff == 0 || !is_applicable(body, k)) continue;
    if (how == Cut::exact && !others_fixed(body, condition, var)) continue;
    limit(coeff, greatest_value(body, condition, var) + coeff * range.origin);
    if (how == Cut::exact) body.done[k] = 1;
  }
  for (MixedCondition& mixed : body.mixed) {
    const int64_t coeff = mixed.of_indices.coefficient(var);
    if (mixed.is_done || coeff == 0 || (how == Cut::exact && !others_fixed(body, mixed.of_indices, var))) continue;
    limit(coeff, greatest_value(body, mixed.of_indices, var) + mixed.rest + coeff * range.origin);
    mixed.is_done = how == Cut::exact;
  }
  variables.prune(range);
  return range;
}

}  // namespace polyweft::ir
