// Affine expressions, guards, literals, values and accesses of a nest text.
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "ir/text/loop_nest_parser.h"

namespace polyweft::ir {

VarId NestParser::variable_id() {
  if (accept("$")) return kCellVar + static_cast<uint32_t>(std::min<int64_t>(natural(), kMaxNestRank));
  auto found = variables_.find(now().text);
  if (now().kind != TokenKind::name || found == variables_.end()) refuse("expected a declared variable");
  advance();
  return found->second;
}

Affine NestParser::affine(size_t depth) {
  check_depth(depth, kMaxAffineDepth);
  Affine sum = affine_term(accept("-") ? -1 : 1, depth);
  while (is_symbol("+") || is_symbol("-")) {
    if (is_symbol("+") && next().kind == TokenKind::symbol && next().text == "{") break;
    int64_t sign = is_symbol("-") ? -1 : 1;
    advance();
    sum = sum + affine_term(sign, depth);
    bounded(sum);
  }
  return sum;
}

void NestParser::bounded(const Affine& e) const {
  bool fits = std::llabs(e.constant) <= kMaxNestNumber;
  for (const Term& t : e.terms) fits &= std::llabs(t.coeff) <= kMaxNestNumber;
  if (!fits) over_limit("a coefficient is larger than 2^40");
  if (e.terms.size() > 256) over_limit("a sum has more than 256 terms");
}

Affine NestParser::affine_term(int64_t sign, size_t depth) {
  if (now().kind != TokenKind::integer) return sign * affine_atom(depth);
  int64_t value = sign * natural();
  return accept("*") ? value * affine_atom(depth) : Affine::of(value);
}

Affine NestParser::affine_atom(size_t depth) {
  bool is_call = next().kind == TokenKind::symbol && next().text == "(";
  if (is_name("floor") && is_call) return floor_atom(depth + 1);
  if (is_name("clamp") && is_call) return clamp_atom(depth + 1);
  return Affine::variable(variable_id());
}

Affine NestParser::floor_atom(size_t depth) {
  advance();
  expect("(");
  Affine e = affine(depth);
  expect("/");
  int64_t den = natural();
  if (den < 1) refuse("a divisor must be >= 1 before this");
  expect(")");
  return polyweft::floor_div(e, den);
}

Affine NestParser::clamp_atom(size_t depth) {
  advance();
  expect("(");
  Affine e = affine(depth);
  expect(",");
  Affine lo = affine(depth);
  expect(",");
  Affine hi = affine(depth);
  expect(")");
  return polyweft::clamp(e, lo, hi);
}

Guard NestParser::guard(size_t depth) {
  check_depth(depth, kMaxAffineDepth);
  bool is_call = next().kind == TokenKind::symbol && next().text == "(";
  if (accept_name("true")) return Guard{};
  if (is_call && is_name("not")) return group(Guard::Kind::negation, depth);
  if (is_call && is_name("all")) return group(Guard::Kind::all, depth);
  if (is_call && is_name("any")) return group(Guard::Kind::any, depth);
  Guard g;
  g.e = affine(depth);
  g.kind = is_symbol("==") ? Guard::Kind::eq0 : Guard::Kind::ge0;
  if (!accept("==")) expect(">=");
  if (natural() != 0) refuse("a condition compares with 0, before this");
  return g;
}

Guard NestParser::group(Guard::Kind kind, size_t depth) {
  Guard g;
  g.kind = kind;
  advance();
  expect("(");
  if (!is_symbol(")")) do
      g.of.push_back(guard(depth + 1));
    while (accept(","));
  expect(")");
  if (kind == Guard::Kind::negation && g.of.size() != 1) refuse("'not' takes one condition, before this");
  return g;
}

Literal NestParser::literal() {
  bool negative = accept("-");
  std::string text = now().text;
  bool is_word = is_name("inf") || is_name("nan");
  if (!is_word && now().kind != TokenKind::integer && now().kind != TokenKind::real) refuse("expected a literal");
  advance();
  expect(":");
  Literal l;
  l.type = type();
  if (is_float(l.type)) {
    double magnitude = text == "inf"   ? std::numeric_limits<double>::infinity()
                       : text == "nan" ? std::nan("")
                                       : std::strtod(text.c_str(), nullptr);
    l.f = negative ? -magnitude : magnitude;
    return l;
  }
  errno = 0;
  l.i = static_cast<int64_t>(std::strtoull(text.c_str(), nullptr, 10) * (negative ? ~0ull : 1ull));
  if (is_word || errno != 0 || text.find_first_not_of("0123456789") != std::string::npos)
    refuse("expected an integer literal before this");
  return l;
}

bool NestParser::at_literal() const {
  if (now().kind == TokenKind::integer || now().kind == TokenKind::real || is_symbol("-")) return true;
  return (is_name("inf") || is_name("nan")) && next().text == ":";
}

Expr NestParser::expression(size_t depth) {
  check_depth(depth, kMaxExpressionDepth);
  if (at_literal()) return make_literal(literal());
  if (accept("(")) return infix(depth);
  if (is_symbol("$")) return component();
  if (now().kind != TokenKind::name) refuse("expected an expression");
  const std::string& after = next().text;
  bool typed_call = after == ":" && next(3).text == "(";
  if (after == "(" || typed_call) return call(depth);
  return after == "[" ? read(depth) : data_variable();
}

Expr NestParser::infix(size_t depth) {
  Expr left = expression(depth + 1);
  auto op = now().kind == TokenKind::symbol ? op_infix(now().text) : std::nullopt;
  if (!op) refuse("expected an operator");
  advance();
  Expr right = expression(depth + 1);
  expect(")");
  std::vector<Expr> args{left, right};
  ElementType t = implied_type(*op, args);
  return make_op(*op, t, std::move(args));
}

Expr NestParser::typed_variable(VarId var, ElementType t) {
  auto node = std::make_shared<ExprNode>();
  node->op = Op::variable;
  node->var = var;
  node->type = t;
  return node;
}

Expr NestParser::component() {
  VarId var = variable_id() - kCellVar;
  if (combiner_types_.empty() || var >= 2 * combiner_types_.size())
    refuse("'$' names a component of a combiner only, before this");
  ElementType t = accept(":") ? type() : combiner_types_[var % combiner_types_.size()];
  return typed_variable(var, t);
}

Expr NestParser::data_variable() {
  VarId var = variable_id();
  return typed_variable(var, accept(":") ? type() : ElementType::i64);
}

Expr NestParser::read(size_t depth) {
  Access a = access(depth);
  ElementType t = nest_.buffers[a.id].type;
  if (accept(":")) t = type();
  return make_read(t, std::move(a));
}

Expr NestParser::call(size_t depth) {
  std::string text = name();
  std::optional<ElementType> given;
  if (accept(":")) given = type();
  expect("(");
  if (text == "affine") return affine_data();
  auto node = std::make_shared<ExprNode>();
  bool is_guarded = text == "guarded";
  auto op = is_guarded ? std::optional<Op>(Op::guarded) : op_called(text);
  if (!op) refuse("'" + text + "' is not an operator, before this");
  node->op = *op;
  if (is_guarded) {
    node->guard = guard(depth + 1);
    expect(";");
  }
  do node->args.push_back(expression(depth + 1));
  while (accept(","));
  expect(")");
  node->type = given ? *given : implied_type(*op, node->args);
  return node;
}

Expr NestParser::affine_data() {
  auto node = std::make_shared<ExprNode>();
  node->op = Op::affine;
  node->type = ElementType::i64;
  node->affine = affine(0);
  expect(")");
  return node;
}

Access NestParser::access(size_t depth) {
  Access a;
  a.id = buffer_id();
  expect("[");
  if (accept("]")) return a;
  do {
    if (a.index.size() >= kMaxNestRank) over_limit("too many subscripts");
    a.index.push_back(subscript(depth + 1));
  } while (accept(","));
  expect("]");
  return a;
}

Subscript NestParser::subscript(size_t depth) {
  Subscript s;
  if (!is_symbol("{")) s.affine = affine(depth);
  if (is_symbol("+")) advance();
  if (!accept("{")) return s;
  s.data = expression(depth + 1);
  expect_name("in");
  s.lo = affine(depth);
  expect("..");
  s.hi = affine(depth);
  expect("}");
  return s;
}

}  // namespace polyweft::ir
