// Text of affine expressions and guards, in the language.
#include <functional>

#include "polyweft/program.h"

namespace polyweft {
namespace {

using VariableNames = std::vector<std::string>;

std::string name_of_variable(VarId var, const VariableNames& names) {
  return var < names.size() ? names[var] : "?" + std::to_string(var);
}

bool is_atom(const Affine& e) {
  if (e.terms.empty()) return e.constant >= 0;
  return e.terms.size() == 1 && e.constant == 0 && e.terms[0].coeff == 1 && !e.terms[0].quasi;
}

std::string operand(const Affine& e, const VariableNames& names) {
  return is_atom(e) ? print(e, names) : "(" + print(e, names) + ")";
}

std::string affine_text(const Quasi& q, const VariableNames& names) {
  if (q.kind == Quasi::Kind::floor_div) return operand(q.e, names) + " // " + std::to_string(q.den);
  return "clamp(" + print(q.e, names) + ", " + print(q.lo, names) + ", " + print(q.hi, names) + ")";
}

/// |coeff| * base. A minus sign before the first term binds tighter than //: -(W // 2).
std::string affine_text(const Term& term, const VariableNames& names, bool is_first) {
  uint64_t magnitude = term.coeff < 0 ? 0 - static_cast<uint64_t>(term.coeff) : static_cast<uint64_t>(term.coeff);
  std::string factor = magnitude == 1 ? "" : std::to_string(magnitude) + "*";
  if (!term.quasi) return factor + name_of_variable(term.var, names);
  std::string base = affine_text(*term.quasi, names);
  bool needs_parentheses =
      term.quasi->kind == Quasi::Kind::floor_div && (!factor.empty() || (is_first && term.coeff < 0));
  return factor + (needs_parentheses ? "(" + base + ")" : base);
}

/// Splits e into p - n with non-negative coefficients on both sides.
std::pair<Affine, Affine> sides(const Affine& e) {
  Affine positive, negative;
  for (const Term& term : e.terms) {
    Term copy = term;
    if (term.coeff < 0) copy.coeff = -copy.coeff;
    (term.coeff < 0 ? negative : positive).terms.push_back(std::move(copy));
  }
  if (e.constant > 0) positive.constant = e.constant;
  if (e.constant < 0) negative.constant = -e.constant;
  return {positive, negative};
}

std::string comparison(const Affine& e, const char* relation, const VariableNames& names) {
  auto [left, right] = sides(e);
  return print(left, names) + " " + relation + " " + print(right, names);
}

/// e >= 0, as a strict relation where that drops a constant 1.
std::string text_of_ge0(const Affine& e, const VariableNames& names) {
  auto [left, right] = sides(e);
  if (left.is_constant() && !right.is_constant()) {
    if (e.constant >= 1 && right.terms.size() == 1)
      return print(right, names) + " < " + print(left + Affine::of(1), names);
    return print(right, names) + " <= " + print(left, names);
  }
  if (e.constant == -1) return comparison(e + Affine::of(1), ">", names);
  return print(left, names) + " >= " + print(right, names);
}

std::string joined_guards(const Guard& g, const char* word, const VariableNames& names) {
  if (g.of.empty()) return g.kind == Guard::Kind::all ? "0 == 0" : "0 == 1";
  std::string out;
  for (const Guard& inner : g.of) {
    bool nested = inner.kind == Guard::Kind::all || inner.kind == Guard::Kind::any;
    std::string text = print(inner, names);
    out += (out.empty() ? "" : word) + (nested ? "(" + text + ")" : text);
  }
  return out;
}

}  // namespace

std::string print(const Affine& e, const std::vector<std::string>& names) {
  std::string out;
  for (const Term& term : e.terms) {
    bool negative = term.coeff < 0;
    bool is_first = out.empty();
    out += is_first ? (negative ? "-" : "") : negative ? " - " : " + ";
    out += affine_text(term, names, is_first);
  }
  if (e.terms.empty()) return std::to_string(e.constant);
  if (e.constant > 0) out += " + " + std::to_string(e.constant);
  if (e.constant < 0) out += " - " + std::to_string(0 - static_cast<uint64_t>(e.constant));
  return out;
}

std::string print(const Guard& g, const std::vector<std::string>& names) {
  switch (g.kind) {
    case Guard::Kind::ge0:
      return text_of_ge0(g.e, names);
    case Guard::Kind::eq0:
      return comparison(g.e, "==", names);
    case Guard::Kind::all:
      return joined_guards(g, " and ", names);
    case Guard::Kind::any:
      return joined_guards(g, " or ", names);
    case Guard::Kind::negation:
      break;
  }
  const Guard& inner = g.of.front();
  if (inner.kind == Guard::Kind::eq0) return comparison(inner.e, "!=", names);
  return "not (" + print(inner, names) + ")";
}

}  // namespace polyweft
