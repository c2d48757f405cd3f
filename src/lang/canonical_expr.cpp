#include "lang/canonical_expr.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <utility>

#include "ir/values/commutative.h"
#include "ir/values/exact.h"
#include "ir/values/scalar.h"

namespace polyweft::lang {
namespace {

bool is_foldable(Op op) {
  auto number = static_cast<unsigned>(op);
  return number >= 10 && number < 80 && op != Op::fma;
}

bool is_exact_literal(const Expr& e) {
  return e->op == Op::literal && !is_float(e->literal.type);
}

/// What wraps is another number inside a subscript than outside, and stays as it is written.
bool is_exact(const ExprNode& e, const std::vector<Literal>& values, const Literal& result) {
  if (e.op == Op::select) return true;
  std::vector<ir::Int128> args;
  for (const Literal& value : values) args.push_back(value.i);
  return ir::exact_apply(e.op, args) == result.i;
}

/// Folds operators whose operands are integer or bool literals.
Expr folded(const Expr& e) {
  if (!is_foldable(e->op) || e->args.empty() || is_float(e->type)) return nullptr;
  if (!std::all_of(e->args.begin(), e->args.end(), is_exact_literal)) return nullptr;
  std::vector<Literal> values;
  for (const Expr& arg : e->args) values.push_back(arg->literal);
  const Literal value = ir::apply(e->op, e->type, values);
  return ir::is_exact_operator(*e) && !is_exact(*e, values, value) ? nullptr : make_literal(value);
}

std::string hex_of(uint64_t bits) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(bits >> shift) & 15];
  return text;
}

}  // namespace

Expr with_folded_integers(const Expr& e) {
  return rewrite(e, folded);
}

std::string canonical_literal(const Literal& literal) {
  std::string type = name_of(literal.type);
  if (!is_float(literal.type)) return type + ":" + std::to_string(literal.i);
  return type + ":" + (std::isnan(literal.f) ? "nan" : hex_of(std::bit_cast<uint64_t>(literal.f)));
}

void CanonicalWriter::bind(VarId var) {
  variables_[var] = index_text(depth_++);
}

std::string CanonicalWriter::equation(const Equation& equation) {
  variables_.assign(program_.parameters.size() + equation.index_names.size(), "");
  for (size_t p = 0; p < program_.parameters.size(); ++p) variables_[p] = parameter_text(p);
  depth_ = 0;
  std::string targets;
  bool is_output = false;
  for (TensorId id : equation.targets) {
    targets += labels_[id] + " ";
    is_output |= program_.tensors[id].kind == TensorKind::output;
  }
  Guard domain;
  std::string text = targets + slots(equation, is_output, domain);
  text += canonical_guard(guard_all({domain, equation.where}), variables_);
  text += "=";
  expr(equation.rhs, text);
  return text;
}

/// An output keeps the upper bounds that fix its extents, which its domain as a set does not tell.
std::string CanonicalWriter::slots(const Equation& equation, bool is_output, Guard& domain) {
  std::string text = "[";
  std::vector<Guard> ranges;
  for (const Slot& slot : equation.slots) {
    if (slot.var == kNoVar) {
      text += canonical_affine(slot.position, variables_) + ",";
      continue;
    }
    std::vector<VarId> used;
    collect_variables(slot.hi, used);
    bool is_extent = std::all_of(used.begin(), used.end(), [&](VarId v) { return v < program_.parameters.size(); });
    std::string extent = is_output && is_extent ? "<" + canonical_affine(slot.hi, variables_) : "";
    bind(slot.var);
    text += variables_[slot.var] + extent + ",";
    ranges.push_back(range_guard(slot.var, slot.lo, slot.hi));
  }
  domain = guard_all(std::move(ranges));
  return text + "]";
}

void CanonicalWriter::expr(const Expr& e, std::string& out) {
  switch (e->op) {
    case Op::literal:
      out += canonical_literal(e->literal);
      return;
    case Op::variable:
      out += variables_[e->var];
      return;
    case Op::affine:
      out += "(" + canonical_affine(e->affine, variables_) + ")";
      return;
    case Op::read:
      return read(*e, out);
    case Op::reduce:
      return reduction(*e, out);
    case Op::guarded:
      out += "guarded(" + canonical_guard(e->guard, variables_) + ",";
      return list(e->args, out);
    case Op::component:
      out += "component" + std::to_string(e->var) + "(";
      return list(e->args, out);
    default:
      return operation(*e, out);
  }
}

void CanonicalWriter::list(const std::vector<Expr>& args, std::string& out) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (i != 0) out += ",";
    expr(args[i], out);
  }
  out += ")";
}

void CanonicalWriter::operation(const ExprNode& e, std::string& out) {
  if (e.op == Op::convert && e.args[0]->type == e.type && (!is_exact_ || !ir::is_exact_operator(*e.args[0])))
    return expr(e.args[0], out);
  bool mirrored = e.op == Op::gt || e.op == Op::ge;
  out += name_of(e.op == Op::gt ? Op::lt : (e.op == Op::ge ? Op::le : e.op));
  if (e.op == Op::convert || e.op == Op::saturate) out += std::string("_") + name_of(e.type);
  out += "(";
  if (mirrored) return list({e.args[1], e.args[0]}, out);
  if (ir::is_commutative(e.op)) return sorted_pair(e, out);
  list(e.args, out);
}

/// Written in place and swapped where the second operand is the lesser text: a chain of n is written in O(n), not
/// O(n^2).
void CanonicalWriter::sorted_pair(const ExprNode& e, std::string& out) {
  size_t first = out.size();
  expr(e.args[0], out);
  out += ",";
  size_t second = out.size();
  expr(e.args[1], out);
  std::string_view all(out);
  if (all.substr(second) < all.substr(first, second - 1 - first)) {
    std::string lesser = out.substr(second) + ",";
    out.resize(second - 1);
    out.insert(first, lesser);
  }
  out += ")";
}

void CanonicalWriter::read(const ExprNode& e, std::string& out) {
  out += labels_[e.access.id] + "[";
  for (const Subscript& each : e.access.index) {
    out += canonical_affine(each.affine, variables_);
    if (each.data) out += "~";
    const bool around = std::exchange(is_exact_, each.data != nullptr);
    if (each.data) expr(each.data, out);
    is_exact_ = around;
    out += ",";
  }
  out += "]";
}

void CanonicalWriter::reduction(const ExprNode& e, std::string& out) {
  const Reduction& r = e.reduction;
  size_t depth_before = depth_;
  std::vector<Guard> domain;
  out += r.reducer == Reducer::combiner ? "reduce<" + combiners_[r.combiner] + ">" : name_of(r.reducer);
  out += "[" + std::to_string(r.ranges.size());
  for (const IndexRange& range : r.ranges) {
    bind(range.var);
    domain.push_back(range_guard(range.var, range.lo, range.hi));
  }
  domain.push_back(r.where);
  out += canonical_guard(guard_all(std::move(domain)), variables_) + "](";
  list(e.args, out);
  depth_ = depth_before;
}

std::string CanonicalWriter::combiner(const Program& program, const Combiner& combiner) {
  std::vector<std::string> none;
  CanonicalWriter writer(program, none, none);
  size_t count = combiner.types.size();
  for (size_t i = 0; i < count; ++i) writer.variables_.push_back("l" + std::to_string(i));
  for (size_t i = 0; i < count; ++i) writer.variables_.push_back("r" + std::to_string(i));
  std::string text = std::string(combiner.associative ? "a" : "-") + (combiner.commutative ? "c" : "-");
  for (size_t i = 0; i < count; ++i) {
    text += std::string(";") + name_of(combiner.types[i]) + "," + canonical_literal(combiner.identity[i]) + ",";
    writer.expr(with_folded_integers(combiner.result[i]), text);
  }
  return text;
}

}  // namespace polyweft::lang
