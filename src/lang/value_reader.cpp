#include "lang/value_reader.h"

#include <cmath>
#include <limits>

#include "lang/number.h"
#include "lang/types.h"

namespace polyweft::lang {
namespace {

bool is_untyped_literal(const Node& node) {
  return node.kind == NodeKind::integer || node.kind == NodeKind::decimal || node.kind == NodeKind::infinity ||
         node.kind == NodeKind::not_a_number;
}

bool has_decimal(const Node& node) {
  if (node.kind == NodeKind::decimal || node.kind == NodeKind::infinity || node.kind == NodeKind::not_a_number)
    return true;
  for (const Node* arg : node.args)
    if (has_decimal(*arg)) return true;
  return false;
}

Expr literal_expr(Literal literal, Extent where, const Context& context) {
  return make_literal(literal, context.report.source().span(where));
}

std::string type_text(ElementType type) {
  return name_of(type);
}

}  // namespace

Op comparison_of(const std::string& text) {
  if (text == "==") return Op::eq;
  if (text == "!=") return Op::ne;
  if (text == "<") return Op::lt;
  if (text == "<=") return Op::le;
  return text == ">" ? Op::gt : Op::ge;
}

Op operator_of(const std::string& text) {
  if (text == "+") return Op::add;
  if (text == "-") return Op::sub;
  if (text == "*") return Op::mul;
  if (text == "/") return Op::div;
  if (text == "//") return Op::floor_div;
  if (text == "%") return Op::floor_mod;
  if (text == "&") return Op::bit_and;
  if (text == "|") return Op::bit_or;
  if (text == "^") return Op::bit_xor;
  return text == "<<" ? Op::shl : Op::shr;
}

Expr ValueReader::value(Node& node, std::optional<ElementType> wanted) {
  switch (node.kind) {
    case NodeKind::integer:
    case NodeKind::decimal:
    case NodeKind::infinity:
    case NodeKind::not_a_number:
    case NodeKind::truth:
      return literal(node, wanted, node.extent, false);
    case NodeKind::name:
      return name(node, wanted);
    case NodeKind::element:
      return element(node);
    case NodeKind::call:
      return call(node, wanted);
    case NodeKind::convert:
      return convert(node);
    case NodeKind::negate:
      return negation(node, wanted);
    case NodeKind::complement:
      return complement(node, wanted);
    case NodeKind::chain:
      return chain(node, wanted);
    case NodeKind::compare:
      return comparison(node);
    case NodeKind::conjunction:
      return logical(node, Op::logical_and);
    case NodeKind::disjunction:
      return logical(node, Op::logical_or);
    case NodeKind::logical_not: {
      Expr inner = boolean(*node.args[0]);
      return inner ? make_op(Op::logical_not, ElementType::boolean, {inner}, context_.report.source().span(node.extent))
                   : nullptr;
    }
    case NodeKind::guarded:
      return guarded(node, wanted);
    case NodeKind::reduction:
      return reduction(node, wanted, 1);
    case NodeKind::tuple:
      break;
  }
  context_.report.error("PW0126", node.extent,
                        "a tuple may stand only as the whole right-hand side, or under a combiner");
  return nullptr;
}

Expr ValueReader::literal(const Node& node, std::optional<ElementType> wanted, Extent where, bool negative) {
  Literal literal;
  if (node.kind == NodeKind::truth) {
    literal.type = ElementType::boolean;
    literal.i = node.text == "true" ? 1 : 0;
    return literal_expr(literal, where, context_);
  }
  std::string shown = (negative ? "-" : "") + show(node);
  if (!wanted) {
    context_.type_error("PW0122", where,
                        "the type of " + shown + " is not known; write it as a conversion, e.g. f32(" + shown + ")");
    return nullptr;
  }
  ElementType type = *wanted;
  bool special = node.kind == NodeKind::infinity || node.kind == NodeKind::not_a_number;
  if (special && is_float(type)) {
    double value = node.kind == NodeKind::infinity ? std::numeric_limits<double>::infinity() : std::nan("");
    return literal_expr(special_literal(type, negative ? -value : value), where, context_);
  }
  auto value = special ? std::nullopt : literal_of(type, node.text, negative);
  if (value) return literal_expr(*value, where, context_);
  context_.type_error("PW0121", where, shown + " does not fit " + type_text(type));
  return nullptr;
}

Expr ValueReader::name(Node& node, std::optional<ElementType> wanted) {
  Span where = context_.report.source().span(node.extent);
  if (context_.combiner != nullptr) {
    auto found = context_.combiner->components.find(node.text);
    if (found != context_.combiner->components.end()) {
      const auto& types = context_.combiner->syntax->types;
      auto variable = std::make_shared<ExprNode>(*make_variable(found->second, where));
      variable->type = types[found->second % types.size()];
      return variable;
    }
  }
  if (const auto* index = context_.index(node.text)) return make_variable(index->var, where);
  const Symbol* symbol = context_.symbol(node.text);
  if (symbol == nullptr) {
    context_.report_unknown(node);
    return nullptr;
  }
  if (symbol->kind == Symbol::Kind::tensor) return element(node);
  if (symbol->kind == Symbol::Kind::combiner) {
    context_.report.error("PW0127", node.extent,
                          node.text + " is a combiner; use it in a reduction: reduce " + node.text + "[..] ..");
    return nullptr;
  }
  if (symbol->kind == Symbol::Kind::const_parameter) {
    Node number;
    number.kind = NodeKind::integer;
    number.text = std::to_string(symbol->value);
    number.extent = node.extent;
    return literal(number, wanted, node.extent, false);
  }
  if (context_.combiner != nullptr) {
    context_.report.error("PW0127", node.extent,
                          "a combiner may use its own parameters and constants only, not " + node.text);
    return nullptr;
  }
  return make_variable(symbol->id, where);
}

Expr ValueReader::negation(Node& node, std::optional<ElementType> wanted) {
  Node& inner = *node.args[0];
  const Symbol* symbol =
      inner.kind == NodeKind::name && context_.index(inner.text) == nullptr ? context_.symbol(inner.text) : nullptr;
  bool is_number = symbol != nullptr && symbol->kind == Symbol::Kind::const_parameter &&
                   (context_.combiner == nullptr || context_.combiner->components.count(inner.text) == 0);
  if (is_untyped_literal(inner)) return literal(inner, wanted, node.extent, true);
  if (is_number) {
    Node number;
    number.kind = NodeKind::integer;
    number.text = std::to_string(symbol->value);
    number.extent = node.extent;
    return literal(number, wanted, node.extent, true);
  }
  Expr arg = value(inner, wanted);
  if (!arg) return nullptr;
  if (arg->type == ElementType::boolean) {
    context_.type_error("PW0119", node.extent, "'-' has no meaning for bool", {"write 'not'"});
    return nullptr;
  }
  if (arg->op == Op::literal) {
    Literal flipped = arg->literal;
    flipped.f = -flipped.f;
    bool least_value = is_integer(flipped.type) && flipped.i == least(flipped.type);
    if (!least_value && flipped.type != ElementType::u8) flipped.i = -flipped.i;
    if (is_float(flipped.type) || (!least_value && flipped.type != ElementType::u8))
      return literal_expr(flipped, node.extent, context_);
  }
  return make_op(Op::neg, arg->type, {arg}, context_.report.source().span(node.extent));
}

Expr ValueReader::complement(Node& node, std::optional<ElementType> wanted) {
  Expr arg = value(*node.args[0], wanted);
  if (!arg) return nullptr;
  if (!is_integer(arg->type)) {
    context_.type_error(
        "PW0119", node.extent, "'~' needs an integer, not " + type_text(arg->type),
        arg->type == ElementType::boolean ? std::vector<std::string>{"write 'not'"} : std::vector<std::string>{});
    return nullptr;
  }
  return make_op(Op::bit_not, arg->type, {arg}, context_.report.source().span(node.extent));
}

bool ValueReader::check_same(const Node& left, ElementType left_type, const Node& right, ElementType right_type,
                             const std::string& op) {
  if (left_type == right_type) return true;
  ElementType target = wider(left_type, right_type);
  const Node& narrow = target == left_type ? right : left;
  std::string remedy = left_type == ElementType::boolean || right_type == ElementType::boolean
                           ? "bool and numbers do not mix"
                           : "convert one side, e.g. " + type_text(target) + "(" + show(narrow) + ")";
  context_.type_error("PW0118", join(left.extent, right.extent),
                      type_text(left_type) + " " + op + " " + type_text(right_type) + ": " + remedy);
  return false;
}

bool ValueReader::check_operator(const Node& node, size_t op, ElementType type) {
  const std::string& text = node.op_text[op];
  std::string both = type_text(type) + " " + text + " " + type_text(type) + ": ";
  Extent where = join(node.args[op]->extent, node.args[op + 1]->extent);
  bool bits = text == "&" || text == "|" || text == "^" || text == "<<" || text == ">>";
  if (type == ElementType::boolean) {
    std::string remedy = text == "&"
                             ? "write 'and'"
                             : (text == "|" ? "write 'or'" : (text == "^" ? "write !=" : "bool is not a number"));
    context_.type_error("PW0119", where, both + remedy);
  } else if (text == "/" && !is_float(type)) {
    context_.type_error("PW0131", where, both + "use // (floor) or convert");
  } else if ((text == "//" || text == "%") && !is_integer(type)) {
    context_.type_error("PW0131", where, both + "needs integers" + (text == "//" ? "; write floor(.. / ..)" : ""));
  } else if (bits && !is_integer(type)) {
    context_.type_error("PW0119", where, both + "needs integers");
  } else {
    return true;
  }
  return false;
}

bool ValueReader::operands(Node& node, ElementType type, std::vector<Expr>& out) {
  bool good = true;
  for (size_t i = 0; i < node.args.size(); ++i) {
    if (i > 0) context_.chains.push_back({&node, i});
    out.push_back(value(*node.args[i], type));
    if (i > 0) context_.chains.pop_back();
    good &= out.back() != nullptr;
  }
  for (size_t i = 0; good && i + 1 < out.size(); ++i)
    good = check_same(*node.args[i], out[i]->type, *node.args[i + 1], out[i + 1]->type, node.op_text[i]);
  return good;
}

Expr ValueReader::chain(Node& node, std::optional<ElementType> wanted) {
  auto type = decide(context_, node);
  if (!type) type = wanted;
  if (!type) {
    context_.type_error(
        "PW0122", node.extent,
        "the type of " + show(node) + " is not known; write a conversion, e.g. f32(" + show_again(*node.args[0]) + ")");
    return nullptr;
  }
  std::vector<Expr> values;
  if (!operands(node, *type, values)) return nullptr;
  Expr result = values[0];
  for (size_t i = 0; i < node.ops.size(); ++i) {
    if (!check_operator(node, i, result->type)) return nullptr;
    Extent extent = join(node.extent, node.args[i + 1]->extent);
    result = make_op(operator_of(node.op_text[i]), result->type, {result, values[i + 1]},
                     context_.report.source().span(extent));
  }
  return result;
}

Expr ValueReader::comparison(Node& node) {
  std::optional<ElementType> type;
  for (Node* arg : node.args)
    if (!type) type = decide(context_, *arg);
  if (!type) type = has_decimal(node) ? ElementType::f64 : ElementType::i64;
  std::vector<Expr> values;
  if (!operands(node, *type, values)) return nullptr;
  Span where = context_.report.source().span(node.extent);
  Expr result;
  for (size_t i = 0; i < node.ops.size(); ++i) {
    const std::string& text = node.op_text[i];
    if (values[0]->type == ElementType::boolean && text != "==" && text != "!=") {
      context_.type_error("PW0119", node.extent, "bool " + text + " bool: bool has no order");
      return nullptr;
    }
    Expr pair = make_op(comparison_of(text), ElementType::boolean, {values[i], values[i + 1]}, where);
    result = result ? make_op(Op::logical_and, ElementType::boolean, {result, pair}, where) : pair;
  }
  return result;
}

Expr ValueReader::boolean(Node& node) {
  Expr result = value(node, ElementType::boolean);
  if (!result || result->type == ElementType::boolean) return result;
  context_.type_error(
      "PW0119", node.extent,
      show(node) + " is " + type_text(result->type) + ", not bool; write " + show_again(node) + " != 0");
  return nullptr;
}

Expr ValueReader::logical(Node& node, Op op) {
  Expr result = boolean(*node.args[0]);
  for (size_t i = 1; i < node.args.size(); ++i) {
    Expr next = boolean(*node.args[i]);
    Span where = context_.report.source().span(join(node.extent, node.args[i]->extent));
    result = result && next ? make_op(op, ElementType::boolean, {result, next}, where) : nullptr;
  }
  return result;
}

Expr ValueReader::guarded(Node& node, std::optional<ElementType> wanted) {
  auto type = decide(context_, node);
  if (!type) type = wanted;
  std::vector<Expr> values;
  for (Node* arg : node.args) values.push_back(value(*arg, type));
  for (const Expr& each : values)
    if (!each) return nullptr;
  for (size_t i = 0; i + 1 < values.size(); ++i)
    if (!check_same(*node.args[i], values[i]->type, *node.args[i + 1], values[i + 1]->type, "where .. else"))
      return nullptr;
  return guarded_of(node, std::move(values));
}

Expr ValueReader::guarded_of(const Node& node, std::vector<Expr> values) {
  std::vector<Guard> guards;
  for (const Node* condition : node.conditions) {
    auto guard = affine_.guard(*condition);
    if (!guard) return nullptr;
    guards.push_back(std::move(*guard));
  }
  Expr result = values.back();
  for (size_t i = guards.size(); i-- > 0;) {
    auto made = std::make_shared<ExprNode>();
    made->op = Op::guarded;
    made->type = values[i]->type;
    made->args = {values[i], result};
    made->guard = std::move(guards[i]);
    made->where = context_.report.source().span(node.extent);
    result = std::move(made);
  }
  return result;
}

}  // namespace polyweft::lang
