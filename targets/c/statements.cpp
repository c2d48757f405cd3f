// What single statements assign.
#include <algorithm>

#include "ir/values/scalar.h"
#include "targets/c/body.h"

namespace polyweft::targets::c {
namespace {

constexpr __int128 kUnbounded = static_cast<__int128>(1) << 100;

bool is_index_reducer(Reducer reducer) {
  return reducer == Reducer::argmax || reducer == Reducer::argmin;
}

Literal first_value(const LoopNest& nest, const Compute& compute, size_t component) {
  const ElementType type = nest.buffers[compute.dst[component].id].type;
  if (compute.reducer == Reducer::combiner) return nest.combiners[compute.combiner].identity[component];
  if (is_index_reducer(compute.reducer) && component > 0) return ir::integer_literal(type, INT64_MAX);
  return ir::identity(compute.reducer, type);
}

}  // namespace

std::string Body::target(const Access& access, NodeId id) {
  const std::string name = values_.element(access);
  const auto declared = declared_at_.find(id);
  const bool begins = declared != declared_at_.end() && declared->second.contains(access.id);
  return begins ? storage_type(nest_.buffers[access.id].type) + " " + name : name;
}

void Body::assign(const Access& access, const std::string& stored, NodeId id) {
  const auto declared = declared_at_.find(id);
  line(target(access, id) + " = " + stored + ";");
  if (declared == declared_at_.end() || !declared->second.contains(access.id)) return;
  const auto use = uses_.of(nest_.root).buffers.find(access.id);
  const bool is_plain_local =
      nest_.buffers[access.id].scope != Scope::argument && use != uses_.of(nest_.root).buffers.end();
  if (is_plain_local && !use->second.is_read && !use->second.is_folded) line("(void)" + values_.element(access) + ";");
}

std::string Body::begin_temporary(const std::string& wanted, ElementType type, const std::string& value) {
  const std::string name = declared(wanted);
  line("const " + storage_type(type) + " " + name + " = " + value + ";");
  return name;
}

void Body::put(const Copy& copy, NodeId id) {
  const ElementType type = nest_.buffers[copy.dst.id].type;
  const auto known = copy.has_src ? facts_.decide(copy.valid) : std::optional(false);
  Literal fill = copy.fill;
  fill.type = type;
  const std::string filled = values_.stored(type, values_.literal(fill));
  if (known) return assign(copy.dst, *known ? values_.element(copy.src) : filled, id);
  const std::string condition = within(indices_.guard(copy.valid), Level::compare);
  const Facts before = facts_;
  facts_.assume(copy.valid, true);
  const std::string element = values_.element(copy.src);
  facts_ = before;
  assign(copy.dst, condition + " ? " + element + " : " + filled, id);
}

void Body::put(const Compute& compute, NodeId id) {
  if (compute.how == Write::init) return put_init(compute, id);
  if (compute.how == Write::store) return put_store(compute, id);
  if (compute.reducer == Reducer::combiner) return put_combined(compute);
  if (is_index_reducer(compute.reducer)) return put_extreme(compute);
  put_fold(compute);
}

void Body::put_init(const Compute& compute, NodeId id) {
  for (size_t k = 0; k < compute.dst.size(); ++k) {
    const ElementType type = nest_.buffers[compute.dst[k].id].type;
    const Value first = values_.literal(first_value(nest_, compute, k));
    assign(compute.dst[k], values_.stored(type, first), id);
  }
}

void Body::put_store(const Compute& compute, NodeId id) {
  for (const Access& dst : compute.dst) found_[dst.id].is_known = false;
  const auto stored = [&](size_t k) { return values_.stored(nest_.buffers[compute.dst[k].id].type, *compute.rhs[k]); };
  if (compute.dst.size() == 1) return assign(compute.dst[0], stored(0), id);
  std::vector<std::string> names;  // all sides are read before any is written
  for (size_t k = 0; k < compute.dst.size(); ++k)
    names.push_back(begin_temporary("next", nest_.buffers[compute.dst[k].id].type, stored(k)));
  for (size_t k = 0; k < compute.dst.size(); ++k) assign(compute.dst[k], names[k], id);
}

// An upper bound of how often an element is folded into: all loops around that are not a subscript of their own.
__int128 Body::most_times(const Access& dst) const {
  std::set<VarId> own;
  const Buffer& buffer = nest_.buffers[dst.id];
  for (size_t d = 0; d < dst.index.size(); ++d) {
    const Subscript& s = dst.index[d];
    const bool is_folded =
        std::any_of(buffer.folds.begin(), buffer.folds.end(), [&](const Fold& f) { return f.dim == d; });
    if (!s.data && !is_folded && s.affine.terms.size() == 1 && !s.affine.terms[0].quasi)
      own.insert(s.affine.terms[0].var);
  }
  __int128 times = 1;
  for (const OpenLoop& loop : loops_)
    if (!own.contains(loop.var))
      times =
          std::min(kUnbounded, times * std::min(kUnbounded / (1 << 20), std::max<__int128>(1, loop.trips)) > kUnbounded
                                   ? kUnbounded
                                   : times * loop.trips);
  return times;
}

void Body::note_sum(const Compute& compute, const Value& term) {
  SumSize& size = found_[compute.dst[0].id];
  size.is_known &= compute.how == Write::accumulate && compute.reducer == Reducer::sum;
  const __int128 most = std::max<__int128>(-static_cast<__int128>(term.lo), term.hi),
                 times = most_times(compute.dst[0]);
  size.most = times > INT64_MAX || size.most > INT64_MAX ? kUnbounded : std::min(kUnbounded, size.most + most * times);
}

Value Body::integer_sum(const Compute& compute, const Value& state, const Value& term) {
  note_sum(compute, term);
  const auto size = sums_.find(compute.dst[0].id);
  const bool fits = size != sums_.end() && size->second.is_known && size->second.most <= ir::greatest_of(state.type);
  if (!fits) return values_.binary(Op::add, state.type, state, term);
  Value out = state;
  out.text = sum(state.text, term.text);
  return out;
}

Value Body::folded(const Compute& compute, const Value& state, const Value& term) {
  switch (compute.reducer) {
    case Reducer::sum:
      return is_float(state.type) ? values_.binary(Op::add, state.type, state, term)
                                  : integer_sum(compute, state, term);
    case Reducer::prod:
      return values_.binary(Op::mul, state.type, state, term);
    case Reducer::max:
    case Reducer::min:
      return values_.binary(compute.reducer == Reducer::max ? Op::max : Op::min, state.type, state, term);
    default:
      return values_.binary(compute.reducer == Reducer::any ? Op::logical_or : Op::logical_and, ElementType::boolean,
                            state, term);
  }
}

void Body::put_fold(const Compute& compute) {
  const Access& dst = compute.dst[0];
  const ElementType type = nest_.buffers[dst.id].type;
  const Value state = values_.element_value(dst), term = values_.value(*compute.rhs[0]);
  const Value next = folded(compute, state, term);
  const std::string name = values_.element(dst);
  const bool is_wide =
      type == ElementType::f64 || type == ElementType::f32 || type == ElementType::i64 || type == ElementType::i32;
  const char* op = compute.reducer == Reducer::sum ? "+" : "*";
  const bool is_plain =
      next.text.text == name + " " + op + " " + right_of(term.text, op[0] == '+' ? Level::add : Level::mul);
  if (is_wide && (compute.reducer == Reducer::sum || compute.reducer == Reducer::prod) && is_plain)
    return line(name + " " + op + "= " + term.text.text + ";");
  line(name + " = " + values_.stored(type, next) + ";");
}

// The first index of a value that is better, or as good.
void Body::put_extreme(const Compute& compute) {
  line("{");
  block([&] { print_extreme(compute); });
  line("}");
}

void Body::print_extreme(const Compute& compute) {
  std::vector<std::string> names, stored;
  for (size_t k = 0; k < compute.dst.size(); ++k) {
    const ElementType type = nest_.buffers[compute.dst[k].id].type;
    names.push_back(begin_temporary(k == 0 ? "x" : "at", type, values_.stored(type, *compute.rhs[k])));
  }
  std::string earlier = "false";
  for (size_t k = compute.dst.size(); k-- > 1;) {
    const std::string best = values_.element(compute.dst[k]);
    const std::string less = names[k] + " < " + best;
    earlier = k + 1 == compute.dst.size() ? less
                                          : "(" + less + ") | ((" + names[k] + " == " + best + ") & (" + earlier + "))";
  }
  const ElementType type = nest_.buffers[compute.dst[0].id].type, in = is_float(type)             ? carrier(type)
                                                                       : type == ElementType::i64 ? type
                                                                                                  : ElementType::i32;
  const auto as_value = [&](const std::string& text) {
    return type == ElementType::bf16  ? helpers_.use("f32_of_bf16") + "(" + text + ")"
           : type == ElementType::f16 ? "(float)" + text
                                      : text;
  };
  const std::string helper =
      helpers_.use(std::string(compute.reducer == Reducer::argmax ? "greater_" : "less_") + name_of(in));
  names.push_back(begin_temporary(
      "better", ElementType::boolean,
      helper + "(" + as_value(names[0]) + ", " + as_value(values_.element(compute.dst[0])) + ", " + earlier + ")"));
  for (size_t k = 0; k < compute.dst.size(); ++k) {
    const std::string best = values_.element(compute.dst[k]);
    line(best + " = " + names.back() + " ? " + names[k] + " : " + best + ";");
  }
}

void Body::put_combined(const Compute& compute) {
  line("{");
  block([&] { print_combined(compute); });
  line("}");
}

void Body::print_combined(const Compute& compute) {
  const Combiner& combiner = nest_.combiners[compute.combiner];
  std::vector<Value> state;
  const auto component = [&](const std::string& wanted, ElementType type, const Value& value) {
    const std::string name = declared(wanted);
    line("const " + value_type(type) + " " + name + " = " + value.text.text + ";");
    Value out = value;
    out.text = {name};
    out.type = type;
    out.is_literal = false;
    state.push_back(out);
  };
  const size_t n = combiner.types.size();
  for (size_t k = 0; k < n; ++k)
    component(k < combiner.left.size() ? combiner.left[k] : "left", combiner.types[k],
              values_.element_value(compute.dst[k]));
  for (size_t k = 0; k < n; ++k)
    component(k < combiner.right.size() ? combiner.right[k] : "right", combiner.types[k],
              values_.value(*compute.rhs[k]));
  values_.set_state(state);
  std::vector<std::string> results;
  for (size_t k = 0; k < n; ++k) results.push_back(values_.stored(combiner.types[k], *combiner.result[k]));
  values_.set_state({});
  for (size_t k = 0; k < n; ++k) line(values_.element(compute.dst[k]) + " = " + results[k] + ";");
}

}  // namespace polyweft::targets::c
