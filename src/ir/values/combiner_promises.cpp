#include "ir/values/combiner_promises.h"

#include <algorithm>
#include <cmath>

#include "ir/oracles/error_bound.h"
#include "ir/text/literal_text.h"
#include "ir/values/combiner_terms.h"

namespace polyweft::ir {
namespace {

using PromiseState = std::vector<Scalar>;

constexpr size_t kOperators = 80'000;  ///< evaluated for one combiner, roughly
constexpr size_t kCombinations = 14;   ///< of two states, for one triple of terms

bool has_argument(std::span<const Scalar> args, bool (*test)(double)) {
  return std::any_of(args.begin(), args.end(),
                     [&](const Scalar& x) { return is_float(x.value.type) && test(x.value.f); });
}
bool is_nan(double x) {
  return std::isnan(x);
}
bool is_infinite(double x) {
  return std::isinf(x);
}

/// An overflow or an invalid operation: what comes of it depends on the order in every arithmetic, and breaks no
/// promise.
bool leaves_the_reals(std::span<const Scalar> args, const Literal& value) {
  if (!is_float(value.type)) return false;
  return (std::isnan(value.f) && !has_argument(args, is_nan)) ||
         (std::isinf(value.f) && !has_argument(args, is_infinite));
}

Scalar applied(const ExprNode& e, std::span<const Scalar> args) {
  Literal plain[3];
  bool known = true;
  for (size_t k = 0; k < args.size(); ++k) {
    plain[k] = args[k].value;
    known &= args[k].error < INFINITY;
  }
  Scalar out;
  out.value = apply(e.op, e.type, std::span<const Literal>(plain, args.size()), MathLibrary::own);
  out.error = known && !leaves_the_reals(args, out.value) ? error_of(e.op, args, out.value) : INFINITY;
  return out;
}

/// Tests one combiner on triples of terms and keeps the first counterexample of each promise.
class PromiseTest {
 public:
  PromiseTest(const Program& program, uint32_t combiner)
      : program_(program), combiner_(program.combiners[combiner]), shapes_(term_shapes(program, combiner)) {
    for (const Literal& value : combiner_.identity) identity_.push_back({value});
  }

  std::vector<BrokenPromise> run() {
    if (!combiner_.associative && !combiner_.commutative) return {};
    const size_t triples = triples_allowed();
    for (const TermShape& shape : shapes_) try_small_values(shape, triples);
    Rng rng(20250611);
    for (size_t k = 0; k < triples / 2 && !is_done(); ++k) try_sample(Sample::plain, rng);
    only_special_ = true;
    for (size_t k = 0; k < triples / 4 && !is_done(); ++k) try_sample(Sample::special, rng);
    return broken_;
  }

 private:
  size_t triples_allowed() const {
    size_t operators = 0;
    for (const Expr& result : combiner_.result) visit(result, [&](const ExprNode&) { ++operators; });
    size_t of_terms = 0;
    for (const TermShape& shape : shapes_) of_terms = std::max(of_terms, shape.size());
    return std::clamp<size_t>(kOperators / (kCombinations * operators + 3 * of_terms + 1), 24, 2500);
  }

  // ---- triples of terms ----

  /// All triples of terms whose leaves have the first few small values, as many as fit.
  void try_small_values(const TermShape& shape, size_t triples) {
    std::vector<std::vector<Literal>> values;
    for (size_t k = 0; k < 3 * shape.leaves(); ++k) values.push_back(shape.small_values(k % shape.leaves()));
    size_t radix = 9;
    while (radix > 1 && count_of(values, radix) > static_cast<double>(triples)) --radix;
    if (radix == 1 && !values.empty()) return;
    std::vector<size_t> digits(values.size(), 0);
    do {
      std::vector<Literal> chosen;
      for (size_t k = 0; k < digits.size(); ++k) chosen.push_back(values[k][digits[k]]);
      try_leaves(shape, chosen);
    } while (!is_done() && next(digits, values, radix));
  }

  static double count_of(const std::vector<std::vector<Literal>>& values, size_t radix) {
    double count = 1;
    for (const auto& each : values) count *= static_cast<double>(std::min(radix, each.size()));
    return count;
  }

  static bool next(std::vector<size_t>& digits, const std::vector<std::vector<Literal>>& values, size_t radix) {
    for (size_t k = digits.size(); k-- > 0; digits[k] = 0)
      if (++digits[k] < std::min(radix, values[k].size())) return true;
    return false;
  }

  void try_leaves(const TermShape& shape, const std::vector<Literal>& values) {
    PromiseState terms[3];
    const auto count = static_cast<ptrdiff_t>(shape.leaves());
    for (ptrdiff_t k = 0; k < 3; ++k)
      terms[k] = scalars(shape.term({values.begin() + k * count, values.begin() + (k + 1) * count}));
    try_triple(combined(identity_, terms[0]), combined(identity_, terms[1]), terms[2]);
  }

  /// A state may be of no terms at all.
  void try_sample(Sample kind, Rng& rng) {
    PromiseState terms[3];
    for (PromiseState& term : terms) {
      const TermShape& shape = shapes_[rng.below(shapes_.size())];
      std::vector<Literal> values;
      for (size_t k = 0; k < shape.leaves(); ++k) values.push_back(shape.sample(k, kind, rng));
      term = scalars(shape.term(values));
    }
    PromiseState first = rng.chance(0.1) ? identity_ : combined(identity_, terms[0]);
    PromiseState second = rng.chance(0.1) ? identity_ : combined(identity_, terms[1]);
    if (rng.chance(0.2)) first = combined(first, terms[2]);
    try_triple(first, second, terms[2]);
  }

  // ---- the promises ----

  void try_triple(const PromiseState& a, const PromiseState& b, const PromiseState& term) {
    PromiseState c = combined(identity_, term);
    if (combiner_.associative && is_open(Promise::identity) && !only_special_)
      try_identity(c);  // a NaN may spread over a state
    if (combiner_.associative && is_open(Promise::associative)) {
      try_grouping(a, b, c);
      try_grouping(a, b, term);
    }
    if (combiner_.commutative && is_open(Promise::commutative)) try_order(b, c);
  }

  void try_identity(const PromiseState& s) {
    const std::string& f = combiner_.name;
    PromiseState after = combined(identity_, s), before = combined(s, identity_);
    if (!agree(after, s))
      return report(Promise::identity,
                    f + "(" + text(identity_) + ", " + text(s) + ") = " + text(after) + ", not " + text(s));
    if (!agree(before, s))
      report(Promise::identity,
             f + "(" + text(s) + ", " + text(identity_) + ") = " + text(before) + ", not " + text(s));
  }

  void try_grouping(const PromiseState& a, const PromiseState& b, const PromiseState& c) {
    if (!is_open(Promise::associative)) return;
    PromiseState left = combined(combined(a, b), c), right = combined(a, combined(b, c));
    if (agree(left, right)) return;
    const std::string& f = combiner_.name;
    report(Promise::associative, f + "(" + f + "(" + text(a) + ", " + text(b) + "), " + text(c) + ") = " + text(left) +
                                     ", but " + f + "(" + text(a) + ", " + f + "(" + text(b) + ", " + text(c) +
                                     ")) = " + text(right));
  }

  void try_order(const PromiseState& a, const PromiseState& b) {
    PromiseState one = combined(a, b), other = combined(b, a);
    if (agree(one, other)) return;
    const std::string& f = combiner_.name;
    report(Promise::commutative, f + "(" + text(a) + ", " + text(b) + ") = " + text(one) + ", but " + f + "(" +
                                     text(b) + ", " + text(a) + ") = " + text(other));
  }

  void report(Promise promise, std::string witness) { broken_.push_back({promise, std::move(witness), only_special_}); }

  bool is_open(Promise promise) const {
    return std::none_of(broken_.begin(), broken_.end(),
                        [&](const BrokenPromise& each) { return each.promise == promise; });
  }

  bool is_done() const {
    const bool grouped =
        !combiner_.associative || ((only_special_ || !is_open(Promise::identity)) && !is_open(Promise::associative));
    return grouped && (!combiner_.commutative || !is_open(Promise::commutative));
  }

  // ---- values ----

  static PromiseState scalars(const std::vector<Literal>& values) {
    PromiseState out;
    for (const Literal& value : values) out.push_back({value});
    return out;
  }

  PromiseState combined(const PromiseState& left, const PromiseState& right) const {
    PromiseState both = left, out;
    both.insert(both.end(), right.begin(), right.end());
    for (const Expr& result : combiner_.result) out.push_back(value(*result, both));
    return out;
  }

  /// The variables of a combiner are its components, left then right; a read is of a scalar constant.
  Scalar value(const ExprNode& e, const PromiseState& state) const {
    if (e.op == Op::literal) return {e.literal};
    if (e.op == Op::variable) return state[e.var];
    if (e.op == Op::read) return {program_.tensors[e.access.id].data.at(0)};
    PW_CHECK(e.args.size() <= 3);
    Scalar args[3];
    for (size_t k = 0; k < e.args.size(); ++k) args[k] = value(*e.args[k], state);
    return applied(e, std::span<const Scalar>(args, e.args.size()));
  }

  /// Equal, or within the bounds of what the rounding of either may have done; twice, as for results (LANGUAGE.md
  /// section 4).
  static bool agree(const PromiseState& a, const PromiseState& b) {
    for (size_t k = 0; k < a.size(); ++k)
      if (!agree(a[k], b[k])) return false;
    return true;
  }
  static bool agree(const Scalar& a, const Scalar& b) {
    const double error = a.error + b.error;
    if (!is_float(a.value.type) && error == 0) return a.value.i == b.value.i;
    const double x = as_double(a.value), y = as_double(b.value);
    if (x == y || (std::isnan(x) && std::isnan(y)) || error == INFINITY) return true;
    return std::fabs(x - y) <= 2 * error;
  }

  static std::string text(const PromiseState& state) {
    std::string out;
    for (const Scalar& part : state) out += (out.empty() ? "" : ", ") + text_of(part.value);
    return state.size() == 1 ? out : "(" + out + ")";
  }

  const Program& program_;
  const Combiner& combiner_;
  std::vector<TermShape> shapes_;
  PromiseState identity_;
  std::vector<BrokenPromise> broken_;
  bool only_special_ = false;
};

}  // namespace

std::vector<BrokenPromise> broken_promises(const Program& program, uint32_t combiner) {
  return PromiseTest(program, combiner).run();
}

}  // namespace polyweft::ir
