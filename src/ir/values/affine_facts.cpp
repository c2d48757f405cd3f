#include "ir/values/affine_facts.h"

#include <algorithm>
#include <numeric>

#include "ir/values/index_boxes.h"

namespace polyweft::ir {
namespace {

constexpr int kMostBranches = 48;          ///< of one question's alternatives
constexpr size_t kMostInequalities = 160;  ///< at once, in one elimination
constexpr Wide kMostCoefficient = Wide{1} << 62;

/// coefficients * variables + constant >= 0; variables sorted, no zeros.
struct Inequality {
  std::vector<std::pair<uint32_t, int64_t>> terms;
  int64_t constant = 0;
  bool operator==(const Inequality&) const = default;

  int64_t coefficient(uint32_t var) const {
    const auto at =
        std::lower_bound(terms.begin(), terms.end(), var, [](const auto& term, uint32_t v) { return term.first < v; });
    return at != terms.end() && at->first == var ? at->second : 0;
  }
};

int64_t floor_of(Wide a, Wide b) {
  return static_cast<int64_t>(a >= 0 ? a / b : -((-a + b - 1) / b));
}

/// a * x + b * y, divided by what the coefficients share; none where a number grows too large.
std::optional<Inequality> combined(Wide a, const Inequality& x, Wide b, const Inequality& y) {
  std::vector<std::pair<uint32_t, Wide>> terms;
  size_t i = 0, j = 0;
  while (i < x.terms.size() || j < y.terms.size()) {
    const uint32_t u = i < x.terms.size() ? x.terms[i].first : UINT32_MAX,
                   v = j < y.terms.size() ? y.terms[j].first : UINT32_MAX;
    Wide value = 0;
    if (u <= v) value += a * x.terms[i++].second;
    if (v <= u) value += b * y.terms[j++].second;
    if (value != 0) terms.push_back({std::min(u, v), value});
  }
  const Wide constant = a * x.constant + b * y.constant;
  Wide divisor = 0;
  for (const auto& [var, value] : terms) {
    if (value >= kMostCoefficient || -value >= kMostCoefficient) return std::nullopt;
    divisor = std::gcd(static_cast<int64_t>(divisor), static_cast<int64_t>(value < 0 ? -value : value));
  }
  if (constant >= kMostCoefficient || -constant >= kMostCoefficient) return std::nullopt;
  if (divisor == 0) divisor = 1;
  Inequality out;
  for (const auto& [var, value] : terms) out.terms.push_back({var, static_cast<int64_t>(value / divisor)});
  out.constant = floor_of(constant, divisor);
  return out;
}

/// A conjunction of inequalities.
class System {
 public:
  void add(const Affine& e) { insert(linear(e)); }
  /// Is there no point, not even a rational one after rounding? False where that is not found.
  bool is_refuted() const;

 private:
  struct Division {
    std::shared_ptr<const Quasi> quasi;
    uint32_t var;
  };

  void insert(std::optional<Inequality> e) {
    if (!e) return;  // knows less, and stays right
    for (Inequality& known : all_)
      if (known.terms == e->terms) {
        known.constant = std::min(known.constant, e->constant);
        return;
      }
    all_.push_back(std::move(*e));
  }

  std::optional<Inequality> linear(const Affine& e) {
    Inequality out{{}, e.constant};
    for (const Term& term : e.terms)
      out = add_term(std::move(out), term.quasi ? variable_of(term.quasi) : term.var, term.coeff);
    return combined(1, out, 0, Inequality{});
  }

  static Inequality add_term(Inequality e, uint32_t var, int64_t coeff) {
    const auto at = std::lower_bound(e.terms.begin(), e.terms.end(), var,
                                     [](const auto& term, uint32_t v) { return term.first < v; });
    if (at == e.terms.end() || at->first != var)
      e.terms.insert(at, {var, coeff});
    else if ((at->second += coeff) == 0)
      e.terms.erase(at);
    return e;
  }

  uint32_t variable_of(const std::shared_ptr<const Quasi>& quasi);

  std::vector<Inequality> all_;
  std::vector<Division> divisions_;
};

bool same(const Quasi& a, const Quasi& b) {
  return a.kind == b.kind && a.den == b.den && a.e == b.e && a.lo == b.lo && a.hi == b.hi;
}

uint32_t System::variable_of(const std::shared_ptr<const Quasi>& quasi) {
  for (const Division& known : divisions_)
    if (same(*known.quasi, *quasi)) return known.var;
  const auto var = static_cast<uint32_t>((uint32_t{1} << 30) + divisions_.size());
  divisions_.push_back({quasi, var});
  const Affine value = Affine::variable(var);
  if (quasi->kind == Quasi::Kind::floor_div) {
    add(quasi->e - quasi->den * value);
    add(quasi->den * value + Affine::of(quasi->den - 1) - quasi->e);
  } else {
    add(quasi->hi - value);
    const Affine width = quasi->hi - quasi->lo;
    if (width.is_constant() && width.constant >= 0) add(value - quasi->lo);
  }
  return var;
}

bool System::is_refuted() const {
  std::vector<Inequality> rest = all_;
  for (;;) {
    std::map<uint32_t, std::pair<size_t, size_t>> signs;
    for (const Inequality& e : rest) {
      if (e.terms.empty() && e.constant < 0) return true;
      for (const auto& [var, coeff] : e.terms) ++(coeff > 0 ? signs[var].first : signs[var].second);
    }
    if (signs.empty()) return false;
    const auto cost = [](const auto& sign) { return sign.second.first * sign.second.second; };
    const auto best =
        std::min_element(signs.begin(), signs.end(), [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
    System next;
    std::vector<const Inequality*> below, above;
    for (const Inequality& e : rest) {
      const int64_t coeff = e.coefficient(best->first);
      if (coeff == 0)
        next.insert(e);
      else
        (coeff > 0 ? below : above).push_back(&e);
    }
    for (const Inequality* low : below)
      for (const Inequality* high : above) {
        if (next.all_.size() >= kMostInequalities) return false;
        next.insert(combined(-Wide{high->coefficient(best->first)}, *low, low->coefficient(best->first), *high));
      }
    rest = std::move(next.all_);
  }
}

/// Can no point satisfy all of these? Alternatives one by one.
bool refuted(System system, std::vector<Guard> open, int& branches) {
  while (!open.empty()) {
    const Guard g = std::move(open.back());
    open.pop_back();
    std::vector<Guard> either;
    const Guard* inner = g.kind == Guard::Kind::negation ? &g.of.front() : nullptr;
    if (g.kind == Guard::Kind::ge0) {
      system.add(g.e);
    } else if (g.kind == Guard::Kind::eq0) {
      system.add(g.e);
      system.add(Affine::of(0) - g.e);
    } else if (g.kind == Guard::Kind::all) {
      open.insert(open.end(), g.of.begin(), g.of.end());
    } else if (g.kind == Guard::Kind::any) {
      either = g.of;
      if (either.empty()) return true;
    } else if (inner->kind == Guard::Kind::eq0) {
      either = {guard_ge0(inner->e - Affine::of(1)), guard_ge0(Affine::of(-1) - inner->e)};
    } else if (inner->kind == Guard::Kind::any) {
      for (const Guard& part : inner->of) open.push_back(guard_not(part));
    } else if (inner->kind == Guard::Kind::all) {
      for (const Guard& part : inner->of) either.push_back(guard_not(part));
      if (either.empty()) return true;
    } else {
      open.push_back(guard_not(*inner));
    }
    if (either.empty()) continue;
    if (system.is_refuted()) return true;
    if ((branches -= static_cast<int>(either.size())) < 0) return false;
    return std::all_of(either.begin(), either.end(), [&](const Guard& part) {
      std::vector<Guard> rest = open;
      rest.push_back(part);
      return refuted(system, std::move(rest), branches);
    });
  }
  return system.is_refuted();
}

bool has_alternatives(const Guard& g, bool negated = false) {
  switch (g.kind) {
    case Guard::Kind::ge0:
      return false;
    case Guard::Kind::eq0:
      return negated;
    case Guard::Kind::negation:
      return has_alternatives(g.of.front(), !negated);
    default:
      break;
  }
  if ((g.kind == Guard::Kind::any) != negated && g.of.size() > 1) return true;
  return std::any_of(g.of.begin(), g.of.end(), [&](const Guard& part) { return has_alternatives(part, negated); });
}

}  // namespace

AffineFacts::AffineFacts(const Program& program) : known_(program.assumptions) {}

AffineFacts AffineFacts::in(const ExprScope& scope) const {
  AffineFacts out = *this;
  for (const IndexRange& range : scope.indices) out = out.with(range);
  for (const Guard& g : scope.conditions) out.known_.push_back(g);
  return out;
}

AffineFacts AffineFacts::with(const Guard& g) const {
  AffineFacts out = *this;
  out.known_.push_back(g);
  return out;
}

AffineFacts AffineFacts::with(const IndexRange& range) const {
  return with(guard_all({guard_ge0(Affine::variable(range.var) - range.lo),
                         guard_ge0(range.hi - Affine::of(1) - Affine::variable(range.var))}));
}

/// First without the facts that have alternatives: most questions need none of them.
bool AffineFacts::never(const Guard& g) const {
  if (g.kind == Guard::Kind::any && g.of.empty()) return true;
  std::vector<Guard> plain = {g};
  for (const Guard& fact : known_)
    if (!has_alternatives(fact)) plain.push_back(fact);
  std::reverse(plain.begin(), plain.end());
  int branches = kMostBranches;
  if (refuted({}, plain, branches)) return true;
  if (plain.size() == known_.size() + 1) return false;
  branches = kMostBranches;
  std::vector<Guard> all = known_;
  all.push_back(g);
  return refuted({}, std::move(all), branches);
}

bool AffineFacts::always(const Guard& g) const {
  return g.is_true() || never(guard_not(g));
}

Guard AffineFacts::simplified(const Guard& g) const {
  if (always(g)) return Guard{};
  if (never(g)) return guard_any({});
  if (g.kind == Guard::Kind::all) return simplified_all(g);
  if (g.kind == Guard::Kind::any) return simplified_any(g);
  if (g.kind == Guard::Kind::negation) return guard_not(simplified(g.of.front()));
  return g;
}

/// From the last to the first: what the others say is left out.
Guard AffineFacts::simplified_all(const Guard& g) const {
  std::vector<Guard> parts = g.of;
  for (size_t k = parts.size(); k-- > 0;) {
    AffineFacts others = *this;
    for (size_t n = 0; n < parts.size(); ++n)
      if (n != k) others.known_.push_back(parts[n]);
    parts[k] = others.simplified(parts[k]);
  }
  return guard_all(std::move(parts));
}

Guard AffineFacts::simplified_any(const Guard& g) const {
  std::vector<Guard> parts;
  for (const Guard& part : g.of) {
    Guard next = simplified(part);
    if (next.kind != Guard::Kind::any || !next.of.empty()) parts.push_back(std::move(next));
  }
  return guard_any(std::move(parts));
}

}  // namespace polyweft::ir
