#include "lang/canonical_affine.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "lang/affine_reader.h"
#include "support/integer_division.h"

namespace polyweft::lang {
namespace {

std::string three_digits(size_t number) {
  std::string text = std::to_string(number);
  return std::string(text.size() < 3 ? 3 - text.size() : 0, '0') + text;
}

/// A sum over texts, sorted by text: parameters, then indices, then divisions ("w..").
struct Sum {
  std::map<std::string, int64_t> terms;
  int64_t constant = 0;
};

std::string quasi_text(const Quasi& quasi, const VariableTexts& variables) {
  std::string e = canonical_affine(quasi.e, variables);
  if (quasi.kind == Quasi::Kind::floor_div) return "w(" + e + ")/" + std::to_string(quasi.den);
  return "wclamp(" + e + "," + canonical_affine(quasi.lo, variables) + "," + canonical_affine(quasi.hi, variables) +
         ")";
}

Sum sum_of(const Affine& e, const VariableTexts& variables) {
  Sum sum;
  sum.constant = e.constant;
  for (const Term& term : e.terms)
    sum.terms[term.quasi ? quasi_text(*term.quasi, variables) : variables[term.var]] += term.coeff;
  for (auto each = sum.terms.begin(); each != sum.terms.end();)
    each = each->second == 0 ? sum.terms.erase(each) : std::next(each);
  return sum;
}

std::string text_of(const Sum& sum) {
  std::string text;
  for (const auto& [name, coefficient] : sum.terms)
    text += (coefficient < 0 ? "" : "+") + std::to_string(coefficient) + name;
  return text + (sum.constant < 0 ? "" : "+") + std::to_string(sum.constant);
}

int64_t divisor_of(const Sum& sum) {
  int64_t divisor = 0;
  for (const auto& [name, coefficient] : sum.terms) divisor = std::gcd(divisor, coefficient);
  return divisor;
}

void divide(Sum& sum, int64_t divisor) {
  for (auto& [name, coefficient] : sum.terms) coefficient /= divisor;
  sum.constant = floor_quotient(sum.constant, divisor);
}

/// One constraint; "1" holds always, "0" never.
std::string ge0_text(Sum sum) {
  int64_t divisor = divisor_of(sum);
  if (divisor == 0) return sum.constant >= 0 ? "1" : "0";
  divide(sum, divisor);
  return text_of(sum) + ">=0";
}

std::string eq0_text(Sum sum) {
  int64_t divisor = divisor_of(sum);
  if (divisor == 0) return sum.constant == 0 ? "1" : "0";
  if (sum.constant % divisor != 0) return "0";
  divide(sum, sum.terms.begin()->second < 0 ? -divisor : divisor);
  return text_of(sum) + "==0";
}

using Conjunct = std::vector<std::string>;
using Disjuncts = std::vector<Conjunct>;

Sum shifted(Sum sum, int64_t sign, int64_t offset) {
  for (auto& [name, coefficient] : sum.terms) coefficient *= sign;
  sum.constant = sign * sum.constant + offset;
  return sum;
}

class Normalizer {
 public:
  explicit Normalizer(const VariableTexts& variables) : variables_(variables) {}

  Disjuncts run(const Guard& guard, bool negated) const {
    switch (guard.kind) {
      case Guard::Kind::negation:
        return run(guard.of[0], !negated);
      case Guard::Kind::ge0:
        return ge0(guard, negated);
      case Guard::Kind::eq0:
        return eq0(guard, negated);
      default:
        break;
    }
    bool is_product = (guard.kind == Guard::Kind::all) != negated;
    Disjuncts result;
    if (is_product) result.emplace_back();
    for (const Guard& each : guard.of) {
      Disjuncts next = run(each, negated);
      result = is_product ? product(result, next) : united(std::move(result), next);
    }
    return result;
  }

 private:
  Disjuncts ge0(const Guard& guard, bool negated) const {
    Sum sum = sum_of(guard.e, variables_);
    return {{ge0_text(negated ? shifted(sum, -1, -1) : sum)}};
  }

  Disjuncts eq0(const Guard& guard, bool negated) const {
    Sum sum = sum_of(guard.e, variables_);
    if (!negated) return {{eq0_text(sum)}};
    return {{ge0_text(shifted(sum, 1, -1))}, {ge0_text(shifted(sum, -1, -1))}};
  }

  static Disjuncts product(const Disjuncts& a, const Disjuncts& b) {
    Disjuncts result;
    for (const Conjunct& left : a) {
      for (const Conjunct& right : b) {
        result.push_back(left);
        result.back().insert(result.back().end(), right.begin(), right.end());
      }
    }
    return result;
  }

  static Disjuncts united(Disjuncts a, const Disjuncts& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  const VariableTexts& variables_;
};

void sort_unique(std::vector<std::string>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

std::string joined(const std::vector<std::string>& items, const char* separator) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : separator) + items[i];
  return text;
}

std::string as_written(const Guard& guard, const VariableTexts& variables) {
  switch (guard.kind) {
    case Guard::Kind::ge0:
      return ge0_text(sum_of(guard.e, variables));
    case Guard::Kind::eq0:
      return eq0_text(sum_of(guard.e, variables));
    case Guard::Kind::negation:
      return "not(" + as_written(guard.of[0], variables) + ")";
    default:
      break;
  }
  std::vector<std::string> items;
  for (const Guard& each : guard.of) items.push_back(as_written(each, variables));
  return (guard.kind == Guard::Kind::all ? "all(" : "any(") + joined(items, ";") + ")";
}

}  // namespace

std::string parameter_text(size_t position) {
  return "p" + three_digits(position);
}
std::string index_text(size_t depth) {
  return "v" + three_digits(depth);
}

std::string canonical_affine(const Affine& e, const VariableTexts& variables) {
  return text_of(sum_of(e, variables));
}

std::string canonical_guard(const Guard& guard, const VariableTexts& variables) {
  if (count_disjuncts(guard) > kMaxDisjuncts) return as_written(guard, variables);
  std::vector<std::string> disjuncts;
  for (Conjunct& conjunct : Normalizer(variables).run(guard, false)) {
    if (std::find(conjunct.begin(), conjunct.end(), "0") != conjunct.end()) continue;
    sort_unique(conjunct);
    std::erase(conjunct, "1");
    disjuncts.push_back(joined(conjunct, "&"));
  }
  sort_unique(disjuncts);
  return "{" + joined(disjuncts, "|") + "}" + std::to_string(disjuncts.size());
}

Guard range_guard(VarId var, const Affine& lo, const Affine& hi) {
  return guard_all({guard_ge0(Affine::variable(var) - lo), guard_ge0(hi - Affine::of(1) - Affine::variable(var))});
}

}  // namespace polyweft::lang
