#include "ir/output_extents.h"

#include <algorithm>
#include <numeric>

#include "support/integer_division.h"

namespace polyweft::ir {
namespace {

/// Values of one index. Wide: a sum of products of affine integers (at most 2^40 each) fits.
using Wide = __int128;
struct Values {
  Wide lo = 0, hi = 0;
  bool is_empty() const { return lo > hi; }
  bool is_point() const { return lo == hi; }
};
using Box = std::vector<Values>;  ///< by VarId; parameters are points

enum class Truth : uint8_t { no, open, yes };

Values values_of(const Affine& e, const Box& box);

Values values_of(const Quasi& q, const Box& box) {
  const Values e = values_of(q.e, box);
  if (q.kind == Quasi::Kind::floor_div) return {floor_quotient<Wide>(e.lo, q.den), floor_quotient<Wide>(e.hi, q.den)};
  const Values lo = values_of(q.lo, box), hi = values_of(q.hi, box);
  return {std::min(std::max(e.lo, lo.lo), hi.lo), std::min(std::max(e.hi, lo.hi), hi.hi)};
}

Values values_of(const Affine& e, const Box& box) {
  Values out{e.constant, e.constant};
  for (const Term& term : e.terms) {
    const Values x = term.quasi ? values_of(*term.quasi, box) : box[term.var];
    out.lo += term.coeff * (term.coeff > 0 ? x.lo : x.hi);
    out.hi += term.coeff * (term.coeff > 0 ? x.hi : x.lo);
  }
  return out;
}

/// 2 * i + 4 * j == 7 has no solution in integers.
bool has_no_integer_root(const Affine& e, const Box& box) {
  Wide rest = e.constant;
  int64_t unit = 0;
  for (const Term& term : e.terms) {
    const Values x = term.quasi ? values_of(*term.quasi, box) : box[term.var];
    if (x.is_point())
      rest += term.coeff * x.lo;
    else
      unit = std::gcd(unit, term.coeff);
  }
  return unit > 1 && rest % unit != 0;
}

Truth truth_of(const Guard& g, const Box& box) {
  if (g.kind == Guard::Kind::ge0 || g.kind == Guard::Kind::eq0) {
    const Values e = values_of(g.e, box);
    if (g.kind == Guard::Kind::ge0) return e.lo >= 0 ? Truth::yes : e.hi < 0 ? Truth::no : Truth::open;
    if (e.lo > 0 || e.hi < 0 || has_no_integer_root(g.e, box)) return Truth::no;
    return e.is_point() ? Truth::yes : Truth::open;
  }
  if (g.kind == Guard::Kind::negation) {
    const Truth inner = truth_of(g.of.front(), box);
    return inner == Truth::yes ? Truth::no : inner == Truth::no ? Truth::yes : Truth::open;
  }
  const Truth decides = g.kind == Guard::Kind::all ? Truth::no : Truth::yes;
  Truth out = decides == Truth::no ? Truth::yes : Truth::no;
  for (const Guard& part : g.of) {
    const Truth one = truth_of(part, box);
    if (one == decides) return decides;
    if (one == Truth::open) out = Truth::open;
  }
  return out;
}

/// Bounds that e >= 0 gives the variables of its linear terms.
bool narrow(const Affine& e, Box& box) {
  const Values whole = values_of(e, box);
  for (const Term& term : e.terms) {
    if (term.quasi) continue;
    Values& v = box[term.var];
    const Wide rest = whole.hi - term.coeff * (term.coeff > 0 ? v.hi : v.lo);  // coeff * v + rest >= 0
    const Values before = v;
    if (term.coeff > 0)
      v.lo = std::max(v.lo, -floor_quotient<Wide>(rest, term.coeff));
    else
      v.hi = std::min(v.hi, floor_quotient<Wide>(rest, -Wide{term.coeff}));
    if (before.lo != v.lo || before.hi != v.hi) return true;  // `whole` is of the box before
  }
  return false;
}

class Maximum {
 public:
  Maximum(const Program& bound, const Equation& equation, const Affine& e, int64_t most_boxes) : e_(e), left_(most_boxes) {
    for (const Parameter& p : bound.parameters) start_.push_back({p.value, p.value});
    start_.resize(bound.parameters.size() + equation.index_names.size());
    for (const Slot& slot : equation.slots) {
      if (slot.var == kNoVar) continue;
      slots_.push_back(slot.var);
      start_[slot.var] = {values_of(slot.lo, start_).lo, values_of(slot.hi, start_).hi - 1};
      add(guard_ge0(Affine::variable(slot.var) - slot.lo));
      add(guard_ge0(slot.hi - Affine::of(1) - Affine::variable(slot.var)));
    }
    add(equation.where);
  }

  /// False where the boxes were spent.
  bool run() { return search(start_); }
  std::optional<int64_t> best() const { return best_ ? std::optional(static_cast<int64_t>(*best_)) : std::nullopt; }

 private:
  void add(const Guard& g) {
    if (g.kind == Guard::Kind::all)
      conditions_.insert(conditions_.end(), g.of.begin(), g.of.end());
    else
      conditions_.push_back(g);
  }

  static bool is_empty(const Box& box) {
    return std::any_of(box.begin(), box.end(), [](const Values& v) { return v.is_empty(); });
  }

  void narrow_all(Box& box) const {
    constexpr int kRounds = 16;
    bool changed = true;
    for (int round = 0; round < kRounds && changed; ++round) {
      changed = false;
      for (const Guard& g : conditions_) {
        if (g.kind != Guard::Kind::ge0 && g.kind != Guard::Kind::eq0) continue;
        changed |= narrow(g.e, box);
        if (g.kind == Guard::Kind::eq0) changed |= narrow(-1 * g.e, box);
        if (is_empty(box)) return;
      }
    }
  }

  Truth truth(const Box& box) const {
    Truth out = Truth::yes;
    for (const Guard& g : conditions_) {
      const Truth one = truth_of(g, box);
      if (one == Truth::no) return one;
      if (one == Truth::open) out = one;
    }
    return out;
  }

  /// Of what is to be maximized first, then the narrowest.
  std::optional<VarId> variable_to_halve(const Box& box) const {
    std::vector<VarId> wanted;
    collect_variables(e_, wanted);
    std::optional<VarId> out;
    bool is_wanted = false;
    for (VarId var : slots_) {
      if (box[var].is_point()) continue;
      const bool is_one = std::find(wanted.begin(), wanted.end(), var) != wanted.end();
      if (out && (is_wanted && !is_one)) continue;
      if (!out || (is_one && !is_wanted) || box[var].hi - box[var].lo < box[*out].hi - box[*out].lo) out = var, is_wanted = is_one;
    }
    return out;
  }

  bool search(Box box) {
    if (left_-- <= 0) return false;
    narrow_all(box);
    if (is_empty(box)) return true;
    const Truth all = truth(box);
    const Wide most = values_of(e_, box).hi;
    if (all == Truth::no || (best_ && most <= *best_)) return true;
    const std::optional<VarId> var = variable_to_halve(box);
    if (all == Truth::yes && (!var || e_.is_linear())) return best_ = most, true;
    PW_CHECK(var);
    const Values whole = box[*var];
    const Wide middle = floor_quotient<Wide>(whole.lo + whole.hi, 2);
    const Values below{whole.lo, middle}, above{middle + 1, whole.hi};
    const bool rises = !e_.is_linear() || e_.coefficient(*var) >= 0;
    for (const Values& half : rises ? std::vector<Values>{above, below} : std::vector<Values>{below, above}) {
      box[*var] = half;
      if (!search(box)) return false;
    }
    return true;
  }

  const Affine e_;
  int64_t left_;
  Box start_;
  std::vector<VarId> slots_;
  std::vector<Guard> conditions_;
  std::optional<Wide> best_;
};

}  // namespace

Result<std::optional<int64_t>> greatest_value(const Program& bound, const Equation& equation, const Affine& e, int64_t most_boxes) {
  Maximum maximum(bound, equation, e, most_boxes);
  if (maximum.run()) return maximum.best();
  return fail("PW0838",
              bound.name + ": the extents of " + bound.tensors[equation.targets.front()].name + " are not found: the largest value of " +
                  print(e, variable_names(bound, equation)) + " is not decided within " + std::to_string(most_boxes) + " boxes",
              {"give the slot a range whose upper bound is a sum of parameters"});
}

Result<std::vector<int64_t>> output_extents(const Program& bound, TensorId output) {
  std::vector<int64_t> out(bound.tensors[output].rank, 0);
  for (const Equation& equation : bound.equations) {
    if (std::find(equation.targets.begin(), equation.targets.end(), output) == equation.targets.end()) continue;
    for (size_t d = 0; d < equation.slots.size(); ++d) {
      const Slot& slot = equation.slots[d];
      if (slot.var != kNoVar && slot.hi.is_constant()) {
        out[d] = std::max(out[d], slot.hi.constant);
        continue;
      }
      auto most = greatest_value(bound, equation, slot.var == kNoVar ? slot.position : Affine::variable(slot.var));
      if (!most) return most.error();
      if (*most) out[d] = std::max(out[d], **most + 1);
    }
  }
  return out;
}

Result<std::vector<std::vector<int64_t>>> output_extents(const Program& bound) {
  std::vector<std::vector<int64_t>> out;
  for (TensorId id : bound.outputs()) {
    auto one = output_extents(bound, id);
    if (!one) return one.error();
    out.push_back(*std::move(one));
  }
  return out;
}

}  // namespace polyweft::ir
