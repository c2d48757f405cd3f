#include "ir/oracles/expression_value.h"

#include <algorithm>
#include <cmath>

#include "ir/values/exact.h"

namespace polyweft::ir {
namespace {

const Scalar kUnknown = {{}, 0, false, {}};

Literal integer(int64_t value) {
  return {ElementType::i64, 0, value};
}

bool all_known(std::span<const Scalar> values) {
  return std::all_of(values.begin(), values.end(), [](const Scalar& x) { return x.known; });
}

double distance(const Scalar& a, const Scalar& b) {
  double x = as_double(a.value), y = as_double(b.value);
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  double d = std::fabs(x - y);
  return std::isnan(d) ? INFINITY : d;
}

}  // namespace

Scalar ExpressionEvaluator::literal(const Literal& value) const {
  return {value, 0, true, tags_ ? tag_of_literal(value) : Tag{}};
}

Scalar ExpressionEvaluator::applied(Op op, ElementType type, std::span<const Scalar> args) const {
  Literal plain[3];
  Tag tags[3];
  for (size_t k = 0; k < args.size(); ++k) {
    plain[k] = args[k].value;
    tags[k] = args[k].tag;
  }
  Scalar out;
  out.value = apply(op, type, std::span<const Literal>(plain, args.size()));
  out.error = error_of(op, args, out.value);
  if (tags_) out.tag = tag_of_operation(op, type, std::span<const Tag>(tags, args.size()));
  return out;
}

/// The variables of a combiner are its components, left then right; a read is of a constant.
Scalar ExpressionEvaluator::combiner_value(const ExprNode& e, std::span<const Scalar> state) const {
  if (e.op == Op::literal) return literal(e.literal);
  if (e.op == Op::variable) return state[e.var];
  Environment nothing;
  if (e.op == Op::read) return read(e.access, nothing);
  Scalar args[3];
  for (size_t k = 0; k < e.args.size(); ++k) args[k] = combiner_value(*e.args[k], state);
  return applied(e.op, e.type, std::span<const Scalar>(args, e.args.size()));
}

void ExpressionEvaluator::fold_term(const ExprNode& e, std::span<const Scalar> term, std::vector<Tag>& tags) const {
  const Reduction& r = e.reduction;
  const Combiner* combiner = r.reducer == Reducer::combiner ? &program_.combiners[r.combiner] : nullptr;
  FoldOrder order = fold_order(*tags_, r.reducer, e.type, combiner);
  std::vector<Tag> values;
  for (const Scalar& part : term) values.push_back(part.tag);
  for (size_t k = 0; k < tags.size(); ++k)
    tags[k] = fold_tags(order, tags[k], tag_of_term(r.reducer, r.combiner, static_cast<uint32_t>(k), values));
}

Scalar ExpressionEvaluator::scalar(const ExprNode& e, Environment& env) const {
  switch (e.op) {
    case Op::literal:
      return literal(e.literal);
    case Op::variable:
      return literal(integer(env[e.var]));
    case Op::affine:
      return literal(integer(evaluate(e.affine, env)));
    case Op::read:
      return read(e.access, env);
    case Op::guarded:
      return scalar(*e.args[evaluate(e.guard, env) ? 0 : 1], env);
    case Op::reduce:
      return reduction(e, env).back();
    case Op::component:
      return components(*e.args[0], env, 0)[e.var];
    default:
      return operation(e, env);
  }
}

std::vector<Scalar> ExpressionEvaluator::components(const ExprNode& e, Environment& env, size_t width) const {
  if (e.op == Op::guarded) return components(*e.args[evaluate(e.guard, env) ? 0 : 1], env, width);
  if (e.op == Op::tuple) {
    State out;
    for (const Expr& arg : e.args) out.push_back(scalar(*arg, env));
    return out;
  }
  if (e.op != Op::reduce) return {scalar(e, env)};
  State out = reduction(e, env);
  bool argument = e.reduction.reducer == Reducer::argmax || e.reduction.reducer == Reducer::argmin;
  if (argument && width != out.size()) out.erase(out.begin());
  return out;
}

Scalar ExpressionEvaluator::operation(const ExprNode& e, Environment& env) const {
  PW_CHECK(e.args.size() <= 3);
  Scalar args[3];
  for (size_t k = 0; k < e.args.size(); ++k) args[k] = scalar(*e.args[k], env);
  std::span<const Scalar> used(args, e.args.size());
  return all_known(used) ? applied(e.op, e.type, used) : kUnknown;
}

Scalar ExpressionEvaluator::read(const Access& access, Environment& env) const {
  std::vector<int64_t> point;
  bool known = true;
  double error = 0;
  for (const Subscript& s : access.index) {
    int64_t at = evaluate(s.affine, env);
    if (s.data) at += index_data(*s.data, env, known, error);
    point.push_back(at);
  }
  if (!known) return kUnknown;
  Scalar out = read_(access.id, point);
  if (error > 0) out.error = INFINITY;
  return out;
}

/// Exact integers; what they stand for lies in 64 bits again.
int64_t ExpressionEvaluator::index_data(const ExprNode& data, Environment& env, bool& known, double& error) const {
  struct Leaves {
    const ExpressionEvaluator& evaluator;
    Environment& env;
    bool& known;
    double& error;
    int64_t leaf(const ExprNode& e) {
      Scalar value = evaluator.scalar(e, env);
      known &= value.known;
      error += value.error;
      return value.value.i;
    }
    bool truth(const ExprNode& e) { return leaf(e) != 0; }
    bool holds(const Guard& guard) { return evaluate(guard, env); }
  } leaves{*this, env, known, error};
  return static_cast<int64_t>(ExactValue<Leaves>(leaves).of(data));
}

std::vector<Scalar> ExpressionEvaluator::reduction(const ExprNode& e, Environment& env) const {
  switch (e.reduction.reducer) {
    case Reducer::argmax:
    case Reducer::argmin:
      return argument_reduction(e, env);
    case Reducer::combiner:
      return combiner_reduction(e, env);
    default:
      return simple_reduction(e, env);
  }
}

std::vector<Scalar> ExpressionEvaluator::simple_reduction(const ExprNode& e, Environment& env) const {
  const Reduction& r = e.reduction;
  Scalar out = {identity(r.reducer, e.type), 0, true, {}};
  std::vector<Tag> tags(1);
  ReductionError error(r.reducer, e.type);
  for_each_point(r.ranges, r.where, env, [&] {
    Scalar term = scalar(*e.args[0], env);
    out.known &= term.known;
    if (!out.known) return true;
    out.value = combine(r.reducer, out.value, term.value);
    error.add(term);
    if (tags_) fold_term(e, {&term, 1}, tags);
    return true;
  });
  if (out.known) out.error = error.result(out.value);
  out.tag = tags[0];
  return {out};
}

/// State: best value, then its index. An index is uncertain by as much as the indices of the other candidates whose
/// values may tie.
std::vector<Scalar> ExpressionEvaluator::argument_reduction(const ExprNode& e, Environment& env) const {
  const Reduction& r = e.reduction;
  struct Candidate {
    Scalar value;
    std::vector<int64_t> index;
  };
  std::vector<Candidate> candidates;
  bool known = true;
  size_t best = 0;
  for_each_point(r.ranges, r.where, env, [&] {
    Candidate next = {scalar(*e.args[0], env), {}};
    for (const IndexRange& range : r.ranges) next.index.push_back(env[range.var]);
    known &= next.value.known;
    candidates.push_back(std::move(next));
    const Candidate &now = candidates.back(), &champion = candidates[best];
    if (known && beats(r.reducer, now.value.value, now.index, champion.value.value, champion.index))
      best = candidates.size() - 1;
    return true;
  });
  State out(r.ranges.size() + 1, kUnknown);
  if (!known) return out;
  PW_CHECK(!candidates.empty());
  const Candidate& champion = candidates[best];
  out[0] = champion.value;
  for (size_t k = 0; k < r.ranges.size(); ++k) out[k + 1] = {integer(champion.index[k]), 0, true, {}};
  std::vector<Tag> tags(out.size());
  for (const Candidate& other : candidates) {
    if (tags_) {
      State term = {other.value};
      for (int64_t index : other.index) term.push_back(literal(integer(index)));
      fold_term(e, term, tags);
    }
    out[0].error = std::max(out[0].error, other.value.error);
    double tie = champion.value.error + other.value.error;
    if (tie == 0 || distance(champion.value, other.value) > tie) continue;
    for (size_t k = 0; k < r.ranges.size(); ++k)
      out[k + 1].error = std::max(out[k + 1].error, std::fabs(static_cast<double>(other.index[k] - champion.index[k])));
  }
  for (size_t k = 0; k < out.size(); ++k) out[k].tag = tags[k];
  return out;
}

std::vector<Scalar> ExpressionEvaluator::combined(const Combiner& combiner, const State& left,
                                                  const State& right) const {
  State both = left;
  both.insert(both.end(), right.begin(), right.end());
  State out;
  for (const Expr& result : combiner.result) out.push_back(combiner_value(*result, both));
  return out;
}

std::vector<Scalar> ExpressionEvaluator::fold(const Combiner& combiner, const std::vector<State>& terms) const {
  State out;
  for (const Literal& value : combiner.identity) out.push_back(literal(value));
  for (const State& term : terms) out = combined(combiner, out, term);
  return out;
}

std::vector<Scalar> ExpressionEvaluator::tree(const Combiner& combiner, const std::vector<State>& terms) const {
  std::vector<State> level = terms;
  while (level.size() > 1) {
    std::vector<State> next;
    for (size_t k = 0; k + 1 < level.size(); k += 2) next.push_back(combined(combiner, level[k], level[k + 1]));
    if (level.size() % 2) next.push_back(level.back());
    level = std::move(next);
  }
  return level[0];
}

/// The fold is the value; its error is the largest over the orders that the promises allow, plus their differences
/// (LANGUAGE.md section 4; the factor 2 is applied to every bound alike).
std::vector<Scalar> ExpressionEvaluator::combiner_reduction(const ExprNode& e, Environment& env) const {
  const Combiner& combiner = program_.combiners[e.reduction.combiner];
  std::vector<State> terms;
  bool known = true;
  for_each_point(e.reduction.ranges, e.reduction.where, env, [&] {
    State term;
    if (e.args.size() == 1 && combiner.types.size() > 1)
      term = components(*e.args[0], env, combiner.types.size());
    else
      for (const Expr& arg : e.args) term.push_back(scalar(*arg, env));
    known &= all_known(term);
    terms.push_back(std::move(term));
    return true;
  });
  if (!known) return State(combiner.types.size(), kUnknown);
  State out = fold(combiner, terms);
  std::vector<Tag> tags(out.size());
  if (tags_)
    for (const State& term : terms) fold_term(e, term, tags);
  std::vector<State> others;
  if (combiner.associative && !terms.empty()) others.push_back(tree(combiner, terms));
  if (combiner.commutative) {
    std::reverse(terms.begin(), terms.end());
    others.push_back(fold(combiner, terms));
  }
  for (size_t k = 0; k < out.size(); ++k) {
    double differences = 0, greatest = out[k].error;
    for (const State& other : others) {
      differences += distance(out[k], other[k]);
      greatest = std::max(greatest, other[k].error);
    }
    out[k].error = greatest + differences;
    out[k].tag = tags[k];
  }
  return out;
}

}  // namespace polyweft::ir
