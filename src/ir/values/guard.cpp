// Affine conditions. The constructors fold constants and flatten nested conjunctions and disjunctions; they do not
// change what holds. False is `any` of nothing.
#include "polyweft/program.h"

namespace polyweft {
namespace {

bool is_false(const Guard& g) {
  return g.kind == Guard::Kind::any && g.of.empty();
}

Guard leaf(Guard::Kind kind, Affine e) {
  Guard g;
  g.kind = kind;
  g.e = std::move(e);
  return g;
}

Guard constant_guard(bool holds) {
  Guard g;
  g.kind = holds ? Guard::Kind::all : Guard::Kind::any;
  return g;
}

/// Members of a conjunction (or disjunction), nested ones of the same kind spliced in.
Guard flattened(Guard::Kind kind, std::vector<Guard> of) {
  Guard out;
  out.kind = kind;
  for (Guard& g : of) {
    if (g.kind == kind)
      for (Guard& inner : g.of) out.of.push_back(std::move(inner));
    else
      out.of.push_back(std::move(g));
  }
  if (out.of.size() != 1) return out;
  Guard only = std::move(out.of.front());
  return only;
}

}  // namespace

Guard guard_ge0(Affine e) {
  return e.is_constant() ? constant_guard(e.constant >= 0) : leaf(Guard::Kind::ge0, std::move(e));
}

Guard guard_eq0(Affine e) {
  return e.is_constant() ? constant_guard(e.constant == 0) : leaf(Guard::Kind::eq0, std::move(e));
}

Guard guard_all(std::vector<Guard> of) {
  for (const Guard& g : of)
    if (is_false(g)) return constant_guard(false);
  return flattened(Guard::Kind::all, std::move(of));
}

Guard guard_any(std::vector<Guard> of) {
  for (const Guard& g : of)
    if (g.is_true()) return constant_guard(true);
  return flattened(Guard::Kind::any, std::move(of));
}

Guard guard_not(Guard g) {
  if (g.is_true()) return constant_guard(false);
  if (is_false(g)) return constant_guard(true);
  if (g.kind == Guard::Kind::negation) {
    Guard inner = std::move(g.of.front());
    return inner;
  }
  if (g.kind == Guard::Kind::ge0) return guard_ge0(Affine::of(-1) - g.e);
  Guard out;
  out.kind = Guard::Kind::negation;
  out.of.push_back(std::move(g));
  return out;
}

Guard substitute(const Guard& g, const std::map<VarId, Affine>& map) {
  if (g.kind == Guard::Kind::ge0) return guard_ge0(substitute(g.e, map));
  if (g.kind == Guard::Kind::eq0) return guard_eq0(substitute(g.e, map));
  std::vector<Guard> of;
  of.reserve(g.of.size());
  for (const Guard& inner : g.of) of.push_back(substitute(inner, map));
  if (g.kind == Guard::Kind::negation) return guard_not(std::move(of.front()));
  return g.kind == Guard::Kind::all ? guard_all(std::move(of)) : guard_any(std::move(of));
}

bool evaluate(const Guard& g, const std::vector<int64_t>& values) {
  switch (g.kind) {
    case Guard::Kind::ge0:
      return evaluate(g.e, values) >= 0;
    case Guard::Kind::eq0:
      return evaluate(g.e, values) == 0;
    case Guard::Kind::negation:
      return !evaluate(g.of.front(), values);
    case Guard::Kind::all:
      for (const Guard& inner : g.of)
        if (!evaluate(inner, values)) return false;
      return true;
    case Guard::Kind::any:
      for (const Guard& inner : g.of)
        if (evaluate(inner, values)) return true;
      return false;
  }
  return false;
}

void collect_variables(const Guard& g, std::vector<VarId>& out) {
  collect_variables(g.e, out);
  for (const Guard& inner : g.of) collect_variables(inner, out);
}

}  // namespace polyweft
