#include "driver/flops.h"

#include <algorithm>
#include <optional>

#include "ir/values/domain.h"

namespace polyweft {
namespace {

bool uses(const Affine& e, VarId var) {
  std::vector<VarId> used;
  collect_variables(e, used);
  return std::find(used.begin(), used.end(), var) != used.end();
}
bool uses(const Guard& g, VarId var) {
  std::vector<VarId> used;
  collect_variables(g, used);
  return std::find(used.begin(), used.end(), var) != used.end();
}

int64_t floor_of(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/// A half-open interval of one variable.
struct Interval {
  int64_t lo, hi;
  double points() const { return hi > lo ? static_cast<double>(hi - lo) : 0; }
};

/// The values of `var` inside `in` that satisfy the condition, the other variables having theirs, where these are an
/// interval that can be computed.
std::optional<Interval> satisfying(const Guard& g, VarId var, Interval in, std::vector<int64_t>& values) {
  if (g.kind == Guard::Kind::all) {
    std::optional<Interval> out = in;
    for (const Guard& part : g.of)
      if (out) out = satisfying(part, var, *out, values);
    return out;
  }
  if (!uses(g, var)) return evaluate(g, values) ? in : Interval{in.lo, in.lo};
  if ((g.kind != Guard::Kind::ge0 && g.kind != Guard::Kind::eq0) || !g.e.is_linear()) return std::nullopt;
  values[var] = 0;
  const int64_t rest = evaluate(g.e, values), c = g.e.coefficient(var);
  if (g.kind == Guard::Kind::eq0) {
    const int64_t at = -rest / c;
    return rest % c == 0 && at >= in.lo && at < in.hi ? Interval{at, at + 1} : Interval{in.lo, in.lo};
  }
  if (c > 0) return Interval{std::max(in.lo, -floor_of(rest, c)), in.hi};
  return Interval{in.lo, std::min(in.hi, floor_of(rest, -c) + 1)};
}

class PointCounter {
 public:
  PointCounter(const std::vector<IndexRange>& ranges, const Guard& where, std::vector<int64_t> values)
      : ranges_(ranges), where_(where), values_(std::move(values)) {
    for (size_t k = 0; k < ranges.size(); ++k) decides_.push_back(does_decide(k));
  }
  double count(size_t k = 0) {
    if (k == ranges_.size()) return evaluate(where_, values_) ? 1 : 0;
    const Interval in{evaluate(ranges_[k].lo, values_), evaluate(ranges_[k].hi, values_)};
    if (in.hi <= in.lo) return 0;
    if (!decides_[k]) {
      values_[ranges_[k].var] = in.lo;
      return in.points() * count(k + 1);
    }
    if (k + 1 == ranges_.size())
      if (const auto found = satisfying(where_, ranges_[k].var, in, values_)) return found->points();
    double total = 0;
    for (int64_t v = in.lo; v < in.hi; ++v) {
      values_[ranges_[k].var] = v;
      total += count(k + 1);
    }
    return total;
  }

 private:
  bool does_decide(size_t k) const {
    const VarId var = ranges_[k].var;
    const auto bounded_by = [&](const IndexRange& range) { return uses(range.lo, var) || uses(range.hi, var); };
    return uses(where_, var) ||
           std::any_of(ranges_.begin() + static_cast<std::ptrdiff_t>(k) + 1, ranges_.end(), bounded_by);
  }
  const std::vector<IndexRange>& ranges_;
  const Guard& where_;
  std::vector<int64_t> values_;
  std::vector<bool> decides_;
};

bool is_arithmetic(Op op) {
  switch (op) {
    case Op::literal:
    case Op::variable:
    case Op::read:
    case Op::affine:
    case Op::convert:
    case Op::tuple:
    case Op::guarded:
    case Op::component:
    case Op::select:
    case Op::reduce:
      return false;
    default:
      return true;
  }
}

/// The indices that are bound where an expression stands, and the conditions under which it is evaluated.
struct FlopScope {
  std::vector<IndexRange> ranges;
  std::vector<Guard> conditions;

  FlopScope under(Guard condition) const {
    FlopScope out = *this;
    if (!condition.is_true()) out.conditions.push_back(std::move(condition));
    return out;
  }
};

class EquationFlops {
 public:
  EquationFlops(const Program& program, const Equation& equation) : values_(ir::environment_of(program, equation)) {}

  double count(const Expr& e, const FlopScope& scope) const {
    if (!e) return 0;
    double own = 0;
    const double all = within(e, scope, own);
    return all + (own > 0 ? own * points(scope) : 0);
  }

 private:
  // What is evaluated once a point of this scope is added to `own`, so that points are counted once; the rest is given.
  double within(const Expr& e, const FlopScope& scope, double& own) const {
    if (!e) return 0;
    if (e->op == Op::reduce) return folds(*e, scope);
    if (e->op == Op::guarded)
      return count(e->args[0], scope.under(e->guard)) + count(e->args[1], scope.under(guard_not(e->guard)));
    own += e->op == Op::fma ? 2 : is_arithmetic(e->op) ? 1 : 0;
    double total = 0;
    for (const Expr& arg : e->args) total += within(arg, scope, own);
    return total;
  }
  double folds(const ExprNode& reduce, const FlopScope& scope) const {
    FlopScope inner = scope.under(reduce.reduction.where);
    inner.ranges.insert(inner.ranges.end(), reduce.reduction.ranges.begin(), reduce.reduction.ranges.end());
    double own = 1, total = 0;
    for (const Expr& arg : reduce.args) total += within(arg, inner, own);
    return total + own * points(inner);
  }
  // The other side of an `if` is all but the one: a formula where the condition has one. Its negation has none.
  double points(FlopScope scope) const {
    const auto other = std::find_if(scope.conditions.begin(), scope.conditions.end(),
                                    [](const Guard& g) { return g.kind == Guard::Kind::negation; });
    if (other == scope.conditions.end()) return count_points(scope.ranges, guard_all(scope.conditions), values_);
    const Guard condition = other->of[0];
    scope.conditions.erase(other);
    return points(scope) - points(scope.under(condition));
  }

  std::vector<int64_t> values_;
};

}  // namespace

double count_points(const std::vector<IndexRange>& ranges, const Guard& where, std::vector<int64_t> values) {
  return PointCounter(ranges, where, std::move(values)).count();
}

double count_flops(const Program& program) {
  double total = 0;
  for (const Equation& equation : program.equations) {
    const FlopScope scope = FlopScope{ir::slot_ranges(equation), {}}.under(equation.where);
    total += EquationFlops(program, equation).count(equation.rhs, scope);
  }
  return total;
}

}  // namespace polyweft
