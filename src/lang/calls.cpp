// Functions, conversions, reductions and tuples: the part of ValueReader that reads forms with arguments.
#include <array>
#include <string_view>

#include "lang/lexer.h"
#include "lang/types.h"
#include "lang/value_reader.h"

namespace polyweft::lang {
namespace {

struct FloatFunction {
  std::string_view name;
  Op op;
};
constexpr std::array<FloatFunction, 13> kFloatFunctions = {{{"exp", Op::exp},
                                                            {"log", Op::log},
                                                            {"tanh", Op::tanh},
                                                            {"sqrt", Op::sqrt},
                                                            {"rsqrt", Op::rsqrt},
                                                            {"erf", Op::erf},
                                                            {"sigmoid", Op::sigmoid},
                                                            {"sin", Op::sin},
                                                            {"cos", Op::cos},
                                                            {"floor", Op::floor},
                                                            {"ceil", Op::ceil},
                                                            {"round", Op::round},
                                                            {"pow", Op::pow}}};

size_t arity(std::string_view name) {
  if (name == "select" || name == "clamp") return 3;
  return name == "max" || name == "min" || name == "pow" ? 2 : 1;
}

bool is_numeric(ElementType type) {
  return type != ElementType::boolean;
}

}  // namespace

Expr ValueReader::call(Node& node, std::optional<ElementType> wanted) {
  size_t expected = arity(node.text);
  if (node.args.size() != expected) {
    std::string count = std::to_string(expected) + (expected == 1 ? " argument" : " arguments");
    std::vector<std::string> notes;
    if ((node.text == "max" || node.text == "min") && node.args.size() > 2)
      notes = {"write " + node.text + "(a, " + node.text + "(b, c))"};
    context_.report.error("PW0128", node.extent,
                          node.text + " takes " + count + ", not " + std::to_string(node.args.size()),
                          std::move(notes));
    return nullptr;
  }
  for (const FloatFunction& each : kFloatFunctions)
    if (node.text == each.name) return float_function(node, each.op, wanted);
  if (node.text == "select") return select_call(node, wanted);
  if (node.text.rfind("sat_", 0) == 0) return saturate(node);
  Op op = Op::abs;
  if (node.text == "max") op = Op::max;
  if (node.text == "min") op = Op::min;
  if (node.text == "clamp") op = Op::clamp;
  return numeric_function(node, op, wanted);
}

Expr ValueReader::float_function(Node& node, Op op, std::optional<ElementType> wanted) {
  Expr result = numeric_function(node, op, wanted);
  if (!result || is_float(result->type)) return result;
  context_.type_error("PW0119", node.extent, node.text + " needs a float, not " + name_of(result->type),
                      {"convert: " + node.text + "(f32(" + show(*node.args[0]) + "))"});
  return nullptr;
}

Expr ValueReader::numeric_function(Node& node, Op op, std::optional<ElementType> wanted) {
  auto type = decide(context_, node);
  if (!type) type = wanted;
  std::vector<Expr> args;
  bool good = true;
  for (Node* arg : node.args) {
    args.push_back(value(*arg, type));
    good &= args.back() != nullptr;
  }
  if (!good) return nullptr;
  for (size_t i = 0; i + 1 < args.size(); ++i)
    if (!check_same(*node.args[i], args[i]->type, *node.args[i + 1], args[i + 1]->type, "and")) return nullptr;
  ElementType found = args[0]->type;
  if (is_numeric(found)) return make_op(op, found, std::move(args), context_.report.source().span(node.extent));
  context_.type_error("PW0119", node.extent, node.text + " needs numbers, not bool");
  return nullptr;
}

Expr ValueReader::select_call(Node& node, std::optional<ElementType> wanted) {
  auto type = decide(context_, node);
  if (!type) type = wanted;
  Expr condition = boolean(*node.args[0]);
  Expr yes = value(*node.args[1], type);
  Expr no = value(*node.args[2], type);
  if (!condition || !yes || !no) return nullptr;
  if (!check_same(*node.args[1], yes->type, *node.args[2], no->type, "or")) return nullptr;
  ElementType found = yes->type;
  return make_op(Op::select, found, {condition, yes, no}, context_.report.source().span(node.extent));
}

Expr ValueReader::saturate(Node& node) {
  Node& arg_node = *node.args[0];
  bool whole = arg_node.kind == NodeKind::integer ||
               (arg_node.kind == NodeKind::negate && arg_node.args[0]->kind == NodeKind::integer);
  Expr arg = value(arg_node, decide(context_, arg_node).value_or(whole ? ElementType::i64 : ElementType::f64));
  if (!arg) return nullptr;
  if (is_numeric(arg->type))
    return make_op(Op::saturate, *element_type_named(node.text.substr(4)), {arg},
                   context_.report.source().span(node.extent));
  context_.type_error("PW0119", node.extent, node.text + " needs a number, not bool");
  return nullptr;
}

Expr ValueReader::convert(Node& node) {
  if (node.args.size() != 1) {
    context_.report.error(
        "PW0128", node.extent,
        std::string(name_of(node.type)) + " takes 1 argument, not " + std::to_string(node.args.size()));
    return nullptr;
  }
  Node& inner = *node.args[0];
  if (node.type == ElementType::boolean) {
    context_.report.error("PW0132", node.extent, "there is no conversion to bool; write " + show(inner) + " != 0");
    return nullptr;
  }
  auto decided = decide(context_, inner);
  Expr arg = value(inner, decided ? decided : node.type);
  if (!arg || (!decided && arg->type == node.type)) return arg;
  return make_op(Op::convert, node.type, {arg}, context_.report.source().span(node.extent));
}

bool ValueReader::header(const ReductionSyntax& syntax, Reduction& out) {
  out.reducer = syntax.reducer;
  bool good = true;
  for (const IndexSyntax& each : syntax.indices) {
    auto bounds = affine_.range(each.range);
    good &= bounds.has_value();
    AffineReader::Bounds found = bounds.value_or(AffineReader::Bounds{});
    VarId var = context_.bind_index(each, found.lo, found.hi);
    out.ranges.push_back({var, std::move(found.lo), std::move(found.hi)});
  }
  if (syntax.where != nullptr) {
    auto guard = affine_.guard(*syntax.where);
    good &= guard.has_value();
    if (guard) out.where = std::move(*guard);
  }
  return good;
}

bool ValueReader::check_results(const Node& node, size_t found, size_t expected) {
  if (found == expected) return true;
  std::string text =
      show_header(*node.reduction) + " gives " + std::to_string(found) + (found == 1 ? " value" : " values");
  if (expected == 1) {
    context_.report.error("PW0126", node.extent, text + "; give each a name: let (a, b)[..] = ..");
  } else {
    context_.report.error("PW0126", node.extent, text + " for " + std::to_string(expected) + " names");
  }
  return false;
}

Expr ValueReader::reduction(Node& node, std::optional<ElementType> wanted, size_t results) {
  if (context_.combiner != nullptr) {
    context_.report.error("PW0127", node.extent, "a combiner may not hold a reduction");
    return nullptr;
  }
  auto made = std::make_shared<ExprNode>();
  made->op = Op::reduce;
  made->where = context_.report.source().span(node.extent);
  size_t open_before = context_.open.size();
  bool good = header(*node.reduction, made->reduction);
  bool is_combiner = node.reduction->reducer == Reducer::combiner;
  bool is_arg = node.reduction->reducer == Reducer::argmax || node.reduction->reducer == Reducer::argmin;
  if (is_combiner) {
    good = combiner_body(node, *made, results) && good;
  } else {
    good = reduction_body(node, wanted, *made) && good;
    good = good && check_results(node, is_arg ? node.reduction->indices.size() : 1, results);
  }
  context_.close_indices(open_before);
  return good ? Expr(made) : nullptr;
}

bool ValueReader::reduction_body(Node& node, std::optional<ElementType> wanted, ExprNode& out) {
  Reducer reducer = out.reduction.reducer;
  bool is_logical = reducer == Reducer::any || reducer == Reducer::all;
  bool is_arg = reducer == Reducer::argmax || reducer == Reducer::argmin;
  Expr body =
      is_logical ? boolean(*node.args[0]) : value(*node.args[0], is_arg ? decide(context_, *node.args[0]) : wanted);
  if (!body) return false;
  if (!is_logical && !is_numeric(body->type)) {
    context_.type_error("PW0119", node.extent, std::string(name_of(reducer)) + " needs numbers, not bool",
                        reducer == Reducer::sum || reducer == Reducer::prod
                            ? std::vector<std::string>{"write any or all"}
                            : std::vector<std::string>{});
    return false;
  }
  out.type = is_arg ? ElementType::i64 : body->type;
  out.args = {body};
  return true;
}

bool ValueReader::combiner_body(Node& node, ExprNode& out, size_t results) {
  const Symbol* symbol = context_.symbol(node.reduction->combiner);
  if (symbol == nullptr || symbol->kind != Symbol::Kind::combiner) {
    context_.report.error("PW0127", node.reduction->combiner_extent,
                          "there is no combiner '" + node.reduction->combiner + "'",
                          {"write combine " + node.reduction->combiner + "(a, b): f32 from 0 = .."});
    return false;
  }
  const Combiner& combiner = context_.program.combiners[symbol->id];
  out.reduction.combiner = symbol->id;
  out.type = combiner.types[0];
  size_t count = combiner.types.size();
  if (!check_results(node, count, results)) return false;
  Node& body = *node.args[0];
  if (count == 1) {
    Expr only = value(body, combiner.types[0]);
    if (only) out.args = {only};
    if (!only || only->type == combiner.types[0]) return only != nullptr;
    context_.type_error("PW0118", body.extent,
                        combiner.name + " takes " + name_of(combiner.types[0]) + ", not " + name_of(only->type));
    return false;
  }
  if (body.kind != NodeKind::tuple || body.args.size() != count) {
    context_.report.error("PW0127", body.extent,
                          combiner.name + " takes a tuple of " + std::to_string(count) + " values");
    return false;
  }
  bool good = true;
  for (size_t i = 0; i < count; ++i) {
    out.args.push_back(value(*body.args[i], combiner.types[i]));
    bool fits = out.args[i] && out.args[i]->type == combiner.types[i];
    if (out.args[i] && !fits)
      context_.type_error(
          "PW0118", body.args[i]->extent,
          combiner.name + " takes " + name_of(combiner.types[i]) + ", not " + name_of(out.args[i]->type));
    good &= fits;
  }
  return good;
}

Expr ValueReader::tuple(Node& node, const std::vector<ElementType>& types) {
  if (node.args.size() != types.size()) {
    context_.report.error(
        "PW0126", node.extent,
        "a tuple of " + std::to_string(node.args.size()) + " values for " + std::to_string(types.size()) + " names");
    return nullptr;
  }
  std::vector<Expr> values;
  bool good = true;
  for (size_t i = 0; i < types.size(); ++i) {
    values.push_back(value(*node.args[i], types[i]));
    bool fits = values[i] && values[i]->type == types[i];
    if (values[i] && !fits)
      context_.type_error("PW0118", node.args[i]->extent,
                          show(*node.args[i]) + " is " + name_of(values[i]->type) + " where " + name_of(types[i]) +
                              " is declared; convert it: " + name_of(types[i]) + "(..)");
    good &= fits;
  }
  return good ? make_op(Op::tuple, types[0], std::move(values), context_.report.source().span(node.extent)) : nullptr;
}

Expr ValueReader::right_hand_side(Node& node, const std::vector<ElementType>& types) {
  if (types.size() == 1) return value(node, types[0]);
  if (node.kind == NodeKind::tuple) return tuple(node, types);
  if (node.kind == NodeKind::reduction) return reduction(node, types[0], types.size());
  if (node.kind == NodeKind::guarded) {
    std::vector<Expr> values;
    for (Node* arg : node.args) values.push_back(right_hand_side(*arg, types));
    for (const Expr& each : values)
      if (!each) return nullptr;
    return guarded_of(node, std::move(values));
  }
  context_.report.error("PW0126", node.extent, "one value for " + std::to_string(types.size()) + " names",
                        {"a tuple, a combiner or argmax over several indices gives several"});
  return nullptr;
}

}  // namespace polyweft::lang
