#include "lang/types.h"

#include <array>

#include "lang/lexer.h"

namespace polyweft::lang {
namespace {

std::optional<ElementType> decide_any(const Context& context, const std::vector<Node*>& nodes, size_t first = 0) {
  for (size_t i = first; i < nodes.size(); ++i)
    if (auto type = decide(context, *nodes[i])) return type;
  return std::nullopt;
}

std::optional<ElementType> decide_name(const Context& context, const Node& node) {
  if (context.combiner != nullptr) {
    auto found = context.combiner->components.find(node.text);
    if (found != context.combiner->components.end()) {
      const auto& types = context.combiner->syntax->types;
      return types[found->second % types.size()];
    }
  }
  const Symbol* symbol = context.symbol(node.text);
  if (symbol == nullptr || symbol->kind == Symbol::Kind::parameter) return ElementType::i64;
  if (symbol->kind == Symbol::Kind::tensor) return context.types[symbol->id];
  return std::nullopt;
}

std::optional<ElementType> decide_call(const Context& context, const Node& node) {
  if (node.text.rfind("sat_", 0) == 0) return element_type_named(node.text.substr(4));
  return decide_any(context, node.args, node.text == "select" ? 1 : 0);
}

std::optional<ElementType> combiner_type(const Context& context, const Node& node, size_t c) {
  const Symbol* symbol = context.symbol(node.reduction->combiner);
  if (symbol == nullptr || symbol->kind != Symbol::Kind::combiner) return std::nullopt;
  const auto& types = context.program.combiners[symbol->id].types;
  return c < types.size() ? std::optional(types[c]) : std::nullopt;
}

std::optional<ElementType> decide_reduction(const Context& context, const Node& node) {
  switch (node.reduction->reducer) {
    case Reducer::any:
    case Reducer::all:
      return ElementType::boolean;
    case Reducer::argmax:
    case Reducer::argmin:
      return ElementType::i64;
    case Reducer::combiner:
      return combiner_type(context, node, 0);
    default:
      return decide(context, *node.args[0]);
  }
}

std::optional<ElementType> find(const Context& context, const Node& node) {
  switch (node.kind) {
    case NodeKind::truth:
    case NodeKind::compare:
    case NodeKind::conjunction:
    case NodeKind::disjunction:
    case NodeKind::logical_not:
      return ElementType::boolean;
    case NodeKind::name:
    case NodeKind::element:
      return decide_name(context, node);
    case NodeKind::call:
      return decide_call(context, node);
    case NodeKind::convert:
      return node.type;
    case NodeKind::negate:
    case NodeKind::complement:
    case NodeKind::chain:
    case NodeKind::guarded:
      return decide_any(context, node.args);
    case NodeKind::reduction:
      return decide_reduction(context, node);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<ElementType> decide(const Context& context, Node& node) {
  if (!node.decided) node.decided = find(context, node);
  return node.decided;
}

std::optional<ElementType> decide_component(const Context& context, Node& node, size_t c) {
  if (node.kind == NodeKind::tuple) return c < node.args.size() ? decide(context, *node.args[c]) : std::nullopt;
  if (node.kind == NodeKind::reduction && node.reduction->reducer == Reducer::combiner)
    return combiner_type(context, node, c);
  if (node.kind != NodeKind::guarded) return decide(context, node);
  for (Node* arg : node.args)
    if (auto type = decide_component(context, *arg, c)) return type;
  return std::nullopt;
}

ElementType wider(ElementType a, ElementType b) {
  static constexpr std::array<int, 10> kRank = {9, 8, 6, 7, 5, 4, 3, 1, 2, 0};
  return kRank[static_cast<size_t>(a)] >= kRank[static_cast<size_t>(b)] ? a : b;
}

}  // namespace polyweft::lang
