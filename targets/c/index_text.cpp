#include "targets/c/index_text.h"

#include <algorithm>

namespace polyweft::targets::c {

std::string within(const Text& text, Level least) {
  return text.level < least ? "(" + text.text + ")" : text.text;
}
std::string right_of(const Text& text, Level level) {
  return within(text, static_cast<Level>(static_cast<int>(level) + 1));
}

Text sum(const Text& a, const Text& b) {
  if (b.level >= Level::mul && b.text[0] == '-') return {within(a, Level::add) + " - " + b.text.substr(1), Level::add};
  return {within(a, Level::add) + " + " + right_of(b, Level::add), Level::add};
}

Text IndexText::product(const Part& part) {
  const int64_t magnitude = std::abs(part.coeff);
  if (magnitude == 1) return part.text;
  return {std::to_string(magnitude) + "*" + right_of(part.text, Level::mul), Level::mul};
}

Text IndexText::divided(const Affine& e, int64_t den, bool wants_quotient) const {
  const Text of = affine(e);
  if (facts_.range(e).lo >= 0)
    return {within(of, Level::mul) + (wants_quotient ? "/" : " % ") + std::to_string(den), Level::mul};
  return {helpers_.use(wants_quotient ? "floor_div_i64" : "floor_mod_i64") + "(" + of.text + ", " +
          std::to_string(den) + ")"};
}

Text IndexText::quasi(const Quasi& q) const {
  if (q.kind == Quasi::Kind::floor_div) return divided(q.e, q.den, true);
  const Text e = affine(q.e), lo = affine(q.lo), hi = affine(q.hi);
  return {helpers_.use("min_i64") + "(" + helpers_.use("max_i64") + "(" + e.text + ", " + lo.text + "), " + hi.text +
          ")"};
}

// e - den * floor(e / den) is a remainder.
IndexText::Parts IndexText::parts(const Affine& e) const {
  Parts out;
  for (const Term& term : e.terms) {
    if (!term.quasi || term.quasi->kind != Quasi::Kind::floor_div || term.coeff % term.quasi->den != 0) continue;
    const int64_t times = -term.coeff / term.quasi->den;
    Affine quotient;
    quotient.terms = {term};
    const Affine rest = e - times * term.quasi->e - quotient;
    if (rest.terms.size() + term.quasi->e.terms.size() >= e.terms.size()) continue;
    out = parts(rest);
    out.parts.push_back({times, divided(term.quasi->e, term.quasi->den, false)});
    return out;
  }
  out.constant = e.constant;
  for (const Term& term : e.terms)
    out.parts.push_back({term.coeff, term.quasi ? quasi(*term.quasi) : Text{variables_.at(term.var)}});
  return out;
}

Text IndexText::sum_of(const Parts& of) const {
  std::vector<Part> ordered = of.parts;
  std::stable_partition(ordered.begin(), ordered.end(), [](const Part& p) { return p.coeff > 0; });
  Text out;
  for (const Part& part : ordered) {
    const Text term = product(part);
    if (out.text.empty() && part.coeff > 0)
      out = term;
    else if (out.text.empty())
      out = of.constant > 0 ? Text{std::to_string(of.constant) + " - " + right_of(term, Level::add), Level::add}
                            : Text{"-" + within(term, Level::mul), Level::unary};
    else
      out = {out.text + (part.coeff > 0 ? " + " : " - ") + right_of(term, Level::add), Level::add};
  }
  if (out.text.empty()) return {std::to_string(of.constant), of.constant < 0 ? Level::unary : Level::atom};
  const bool is_said = of.constant > 0 && !ordered.empty() && ordered.front().coeff < 0;
  if (of.constant == 0 || is_said) return out;
  return {out.text + (of.constant > 0 ? " + " : " - ") + std::to_string(std::abs(of.constant)), Level::add};
}

Text IndexText::affine(const Affine& e) const {
  return sum_of(parts(facts_.simplify(e)));
}

Text IndexText::remainder(const Affine& e, int64_t den) const {
  const Affine simple = facts_.simplify(facts_.remainder(facts_.simplify(e), den));
  return sum_of(parts(simple));
}

Text IndexText::comparison(const Affine& e, const char* op, const char* flipped) const {
  const Parts all = parts(facts_.simplify(e));
  Parts left, right;
  for (const Part& part : all.parts) (part.coeff > 0 ? left : right).parts.push_back({std::abs(part.coeff), part.text});
  if (left.parts.empty()) {  // i <= 5, not 5 >= i
    std::swap(left, right);
    right.constant = all.constant;
    op = flipped;
  } else if (all.constant > 0 && !right.parts.empty()) {
    left.constant = all.constant;
  } else {
    right.constant = -all.constant;
  }
  return {within(sum_of(left), Level::add) + " " + op + " " + within(sum_of(right), Level::add), Level::compare};
}

Text IndexText::joined(const std::vector<Guard>& of, const char* op) const {
  const bool is_or = std::string(op) == "||";
  std::vector<Text> texts;
  for (const Guard& g : of) {
    const auto known = facts_.decide(g);
    if (known && *known != is_or) continue;
    texts.push_back(guard(g));
  }
  if (texts.empty()) return {is_or ? "false" : "true"};
  if (texts.size() == 1) return texts[0];
  std::string out;
  for (const Text& t : texts) out += (out.empty() ? "" : " " + std::string(op) + " ") + within(t, Level::bits);
  return {out, Level::logical};
}

Text IndexText::guard(const Guard& g) const {
  if (const auto known = facts_.decide(g)) return {*known ? "true" : "false"};
  switch (g.kind) {
    case Guard::Kind::ge0:
      return comparison(g.e, ">=", "<=");
    case Guard::Kind::eq0:
      return comparison(g.e, "==", "==");
    case Guard::Kind::negation:
      return {"!" + within(guard(g.of[0]), Level::atom), Level::unary};
    case Guard::Kind::all:
      return joined(g.of, "&&");
    case Guard::Kind::any:
      return joined(g.of, "||");
  }
  return {"true"};
}

Text IndexText::bound(const Bound& b, bool greatest) const {
  Text out = affine(b.of[0]);
  for (size_t k = 1; k < b.of.size(); ++k)
    out = {helpers_.use(greatest ? "max_i64" : "min_i64") + "(" + out.text + ", " + affine(b.of[k]).text + ")"};
  return out;
}

}  // namespace polyweft::targets::c
