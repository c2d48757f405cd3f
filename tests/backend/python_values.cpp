#include "backend/python_values.h"

#include <algorithm>

#include "ir/values/exact.h"

namespace polyweft::backend_test {
namespace {

std::string magnitude(int64_t value) {
  return std::to_string(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
}

/// Of the pieces of its dimension: it keeps what the later digits leave.
bool is_first_piece(const Layout& layout, size_t piece) {
  const auto is_same_dim = [&](const Piece& other) { return other.dim == layout.pieces[piece].dim; };
  return std::none_of(layout.pieces.begin(), layout.pieces.begin() + static_cast<std::ptrdiff_t>(piece), is_same_dim);
}

}  // namespace

std::string ModuleNames::open(const std::string& wanted) {
  const bool begins_as_number = wanted.empty() || (wanted[0] >= '0' && wanted[0] <= '9');
  std::string base = (begins_as_number ? "_" : "") + wanted;
  for (char& c : base)
    if (!is_word({c})) c = '_';
  std::string name = base;
  for (int k = 2; taken_.contains(name); ++k) name = base + "_" + std::to_string(k);
  taken_.insert(name);
  return name;
}

PythonValues::PythonValues(const LoopNest& nest, ModuleNames names) : nest_(nest) {
  for (const Parameter& p : nest.params) variables_.push_back(literal_text({ElementType::i64, 0, p.value}));
  for (const std::string& name : nest.loop_names) variables_.push_back(names.open(name));
  for (const Buffer& b : nest.buffers) buffers_.push_back(names.open(b.name));
}

// ---- subscripts and conditions ----

std::string PythonValues::affine(const Affine& e) const {
  std::string out;
  const auto add = [&](bool is_negative, const std::string& part) {
    const char* first = is_negative ? "-" : "";
    const char* later = is_negative ? " - " : " + ";
    out += (out.empty() ? first : later) + part;
  };
  for (const Term& t : e.terms) {
    const bool is_one = t.coeff == 1 || t.coeff == -1;
    add(t.coeff < 0, (is_one ? "" : magnitude(t.coeff) + "*") + (t.quasi ? quasi(*t.quasi) : variables_[t.var]));
  }
  if (e.constant != 0 || out.empty()) add(e.constant < 0, magnitude(e.constant));
  return out;
}

std::string PythonValues::quasi(const Quasi& q) const {
  if (q.kind == Quasi::Kind::floor_div) return in_parentheses(atom(affine(q.e)) + " // " + std::to_string(q.den));
  return "min(max(" + affine(q.e) + ", " + affine(q.lo) + "), " + affine(q.hi) + ")";
}

std::string PythonValues::guard(const Guard& g) const {
  if (g.kind == Guard::Kind::ge0) return in_parentheses(affine(g.e) + " >= 0");
  if (g.kind == Guard::Kind::eq0) return in_parentheses(affine(g.e) + " == 0");
  if (g.kind == Guard::Kind::negation) return "(not " + guard(g.of[0]) + ")";
  if (g.of.empty()) return g.kind == Guard::Kind::all ? "True" : "False";
  Texts parts;
  for (const Guard& part : g.of) parts.push_back(guard(part));
  return parts.size() == 1 ? parts[0] : in_parentheses(joined(parts, g.kind == Guard::Kind::all ? " and " : " or "));
}

std::string PythonValues::bound(const Bound& b, const char* of_several) const {
  Texts parts;
  for (const Affine& e : b.of) parts.push_back(affine(e));
  return parts.size() == 1 ? parts[0] : of_several + in_parentheses(joined(parts, ", "));
}

std::string PythonValues::subscript(const Subscript& s) {
  if (!s.data) return affine(s.affine);
  const std::string data = ir::is_exact_operator(*s.data) ? operators_.call("i64", {exact(*s.data)}) : value(*s.data);
  return s.affine == Affine::of(0) ? data : affine(s.affine) + " + " + data;
}

std::string PythonValues::exact(const ExprNode& e) {
  if (!ir::is_exact_operator(e)) return value(e);
  if (e.op == Op::guarded)
    return in_parentheses(exact(*e.args[0]) + " if " + guard(e.guard) + " else " + exact(*e.args[1]));
  if (e.op == Op::select)
    return in_parentheses(exact(*e.args[1]) + " if " + exact_condition(*e.args[0]) + " else " + exact(*e.args[2]));
  Texts args;
  for (const Expr& arg : e.args) args.push_back(exact(*arg));
  return operators_.apply_exactly(e.op, args);
}

std::string PythonValues::exact_condition(const ExprNode& e) {
  if (!ir::is_exact_condition(e)) return value(e);
  const bool is_logic = e.op == Op::logical_not || e.op == Op::logical_and || e.op == Op::logical_or;
  Texts args;
  for (const Expr& arg : e.args) args.push_back(is_logic ? exact_condition(*arg) : exact(*arg));
  return operators_.apply(e.op, ElementType::boolean, args);
}

/// As physical_offset() has it.
std::string PythonValues::offset(const Access& access) {
  const Buffer& b = nest_.buffers[access.id];
  Texts index;
  for (const Subscript& s : access.index) index.push_back(subscript(s));
  for (const Fold& fold : b.folds) index[fold.dim] = atom(index[fold.dim]) + " % " + std::to_string(fold.window);
  std::vector<int64_t> below(index.size(), 1);  // product of the factors of the dimension's later pieces
  int64_t stride = 1;
  Texts terms;
  for (size_t p = b.layout.pieces.size(); p-- > 0;) {
    const Piece& piece = b.layout.pieces[p];
    std::string digit = index[piece.dim];
    if (below[piece.dim] != 1) digit = atom(digit) + " // " + std::to_string(below[piece.dim]);
    if (!is_first_piece(b.layout, p)) digit = atom(digit) + " % " + std::to_string(piece.factor);
    if (digit != "0") terms.insert(terms.begin(), stride == 1 ? digit : atom(digit) + "*" + std::to_string(stride));
    below[piece.dim] *= piece.factor;
    stride *= piece.factor + (p < b.layout.pad.size() ? b.layout.pad[p] : 0);
  }
  return terms.empty() ? "0" : joined(terms, " + ");
}

// ---- values ----

std::string PythonValues::element(const Access& access) {
  return buffers_[access.id] + "[" + offset(access) + "]";
}

std::string PythonValues::read(const Access& access) {
  read_.insert(access.id);
  return nest_.buffers[access.id].type == ElementType::boolean ? in_parentheses(element(access) + " != 0")
                                                               : element(access);
}

std::string PythonValues::value(const ExprNode& e) {
  switch (e.op) {
    case Op::literal:
      return literal_text(e.literal);
    case Op::variable:
      return variables_[e.var];
    case Op::affine:
      return atom(affine(e.affine));
    case Op::read:
      return read(e.access);
    case Op::guarded:
      return in_parentheses(value(*e.args[0]) + " if " + guard(e.guard) + " else " + value(*e.args[1]));
    default:
      return operation(e, [this](const ExprNode& arg) { return value(arg); });
  }
}

std::string PythonValues::component(const ExprNode& e) {
  if (e.op == Op::literal) return literal_text(e.literal);
  if (e.op == Op::variable) return "state[" + std::to_string(e.var) + "]";
  return operation(e, [this](const ExprNode& arg) { return component(arg); });
}

std::string PythonValues::fused_sum(const ExprNode& product, const std::string& sum) {
  if (product.op == Op::add) return fused_sum(*product.args[1], fused_sum(*product.args[0], sum));
  return operators_.apply(Op::fma, product.type, {value(*product.args[0]), value(*product.args[1]), sum});
}

std::string PythonValues::operation(const ExprNode& e, const Operand& operand) {
  Texts args;
  for (const Expr& arg : e.args) args.push_back(operand(*arg));
  if (e.op == Op::convert) return operators_.convert(e.type, e.args[0]->type, args[0]);
  if (e.op == Op::saturate) return operators_.saturate(e.type, e.args[0]->type, args[0]);
  return operators_.apply(e.op, e.type, args);
}

}  // namespace polyweft::backend_test
