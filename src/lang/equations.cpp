// Equations and combiner bodies: the part of Analyzer that fills in values.
#include <algorithm>

#include "lang/analyzer.h"
#include "lang/wide.h"

namespace polyweft::lang {

void Analyzer::read_combiner_bodies() {
  for (auto& [syntax, id] : combiners_) read_combiner_body(*syntax, context_.program.combiners[id]);
}

void Analyzer::read_combiner_body(CombinerSyntax& syntax, Combiner& combiner) {
  CombinerScope scope;
  scope.syntax = &syntax;
  auto count = static_cast<uint32_t>(syntax.types.size());
  for (uint32_t k = 0; k < count; ++k) {
    scope.components[syntax.left[k].text] = k;
    scope.components[syntax.right[k].text] = count + k;
  }
  context_.begin_equation();
  context_.combiner = &scope;
  Expr result = values_.right_hand_side(*syntax.body, syntax.types);
  context_.combiner = nullptr;
  if (!result) return;
  if (count == 1) {
    combiner.result = {result};
    if (result->type != syntax.types[0])
      report_.error(
          "PW0118", syntax.body->extent,
          combiner.name + " gives " + name_of(result->type) + " where " + name_of(syntax.types[0]) + " is declared");
  } else if (result->op == Op::tuple) {
    combiner.result = result->args;
  } else {
    report_.error("PW0127", syntax.body->extent, "the combiner " + combiner.name + " needs a tuple as its body");
  }
}

namespace {

/// Where the index alone subscripts a tensor of known shape: that extent.
std::string extent_from(const Context& context, const Node& node, const std::string& index) {
  const Symbol* symbol = node.kind == NodeKind::element ? context.symbol(node.text) : nullptr;
  const bool is_tensor = symbol != nullptr && symbol->kind == Symbol::Kind::tensor;
  for (size_t d = 0; d < node.args.size(); ++d) {
    const bool alone = node.args[d]->kind == NodeKind::name && node.args[d]->text == index;
    if (is_tensor && alone && d < context.program.tensors[symbol->id].shape.size())
      return context.compact(context.program.tensors[symbol->id].shape[d]);
    if (std::string found = extent_from(context, *node.args[d], index); !found.empty()) return found;
  }
  return "";
}

}  // namespace

/// A name alone that nothing declares: most likely an index whose range was forgotten. It is one from here on, so that
/// nothing more is said of it.
bool Analyzer::adopt_index(const EquationSyntax& syntax, const Node& position) {
  const bool is_new = position.kind == NodeKind::name && context_.index(position.text) == nullptr &&
                      context_.symbol(position.text) == nullptr;
  const bool is_bound_later = std::any_of(syntax.slots.begin(), syntax.slots.end(), [&](const SlotSyntax& slot) {
    return slot.index && slot.index->name == position.text;
  });
  if (!is_new || is_bound_later) return false;
  std::string extent = extent_from(context_, *syntax.rhs, position.text);
  if (extent.empty()) extent = context_.program.parameters.empty() ? "8" : context_.program.parameters[0].name;
  const std::string shown = position.text.substr(0, 60);
  report_.error("PW0108", position.extent, "'" + shown + "' is not known; a new index needs its range",
                {"write '" + shown + ": " + extent + "'"});
  IndexSyntax index;
  index.name = position.text;
  index.extent = position.extent;
  context_.bind_index(index, Affine::of(0), Affine::of(1));
  return true;
}

bool Analyzer::read_slots(const EquationSyntax& syntax, Equation& out) {
  bool good = true;
  for (const SlotSyntax& each : syntax.slots) {
    Slot slot;
    if (each.index) {
      auto bounds = affine_.range(each.index->range);
      good &= bounds.has_value();
      if (bounds) {
        slot.lo = bounds->lo;
        slot.hi = bounds->hi;
      }
      slot.var = context_.bind_index(*each.index, slot.lo, slot.hi);
    } else if (adopt_index(syntax, *each.position)) {
      good = false;
    } else {
      auto position = affine_.affine(*each.position, "position");
      good &= position.has_value();
      if (position) slot.position = std::move(*position);
    }
    out.slots.push_back(std::move(slot));
  }
  return good;
}

bool Analyzer::check_types(const EquationSyntax& syntax, const Expr& rhs, const std::vector<TensorId>& targets) {
  auto mismatch = [&](TensorId id, ElementType found) {
    const Tensor& tensor = context_.program.tensors[id];
    if (!context_.types[id] || *context_.types[id] == found) return false;
    context_.type_error("PW0118", syntax.rhs->extent,
                        tensor.name + " is " + name_of(tensor.type) + " but this equation gives " + name_of(found) +
                            "; convert it: " + name_of(tensor.type) + "(..)");
    return true;
  };
  if (targets.size() == 1) return !mismatch(targets[0], rhs->type);
  const ExprNode* node = rhs.get();
  while (node->op == Op::guarded) node = node->args[0].get();
  for (size_t c = 0; c < targets.size(); ++c) {
    ElementType found = ElementType::i64;
    if (node->op == Op::tuple)
      found = node->args[c]->type;
    else if (node->reduction.reducer == Reducer::combiner)
      found = context_.program.combiners[node->reduction.combiner].types[c];
    if (mismatch(targets[c], found)) return false;
  }
  return true;
}

void Analyzer::check_equation_bytes(const EquationSyntax& syntax, const Equation& equation) {
  std::vector<int64_t> values;
  for (const Parameter& parameter : context_.program.parameters) values.push_back(parameter.value);
  size_t parameters = values.size();
  std::vector<__int128> extents;
  for (const Slot& slot : equation.slots) {
    if (slot.var == kNoVar) continue;
    std::vector<VarId> used;
    collect_variables(slot.lo, used);
    collect_variables(slot.hi, used);
    bool over_parameters = std::all_of(used.begin(), used.end(), [&](VarId v) { return v < parameters; });
    if (over_parameters) extents.push_back(wide_value(slot.hi, values) - wide_value(slot.lo, values));
  }
  for (size_t c = 0; c < equation.targets.size(); ++c)
    check_bytes(context_.program.tensors[equation.targets[c]], extents, syntax.names[c].extent);
}

void Analyzer::read_equation(size_t number) {
  const EquationSyntax& syntax = *pending_[number].syntax;
  Equation equation;
  equation.targets = pending_[number].targets;
  equation.where_defined = report_.source().span(syntax.left);
  context_.begin_equation();
  bool good = read_slots(syntax, equation);
  if (syntax.where != nullptr) {
    auto guard = affine_.guard(*syntax.where);
    good &= guard.has_value();
    if (guard) equation.where = std::move(*guard);
  }
  std::vector<ElementType> types;
  for (TensorId id : equation.targets) types.push_back(context_.program.tensors[id].type);
  equation.rhs = values_.right_hand_side(*syntax.rhs, types);
  good &= equation.rhs != nullptr;
  good = good && check_types(syntax, equation.rhs, equation.targets);
  if (!good) return;
  check_equation_bytes(syntax, equation);
  equation.index_names = context_.index_names;
  context_.program.equations.push_back(std::move(equation));
}

void Analyzer::warn_unused() {
  std::vector<bool> read(context_.program.tensors.size(), false);
  auto mark = [&](const ExprNode& node) {
    if (node.op == Op::read) read[node.access.id] = true;
  };
  for (const Equation& equation : context_.program.equations) visit(equation.rhs, mark);
  for (const Equation& equation : context_.program.equations) {
    bool any = std::any_of(equation.targets.begin(), equation.targets.end(), [&](TensorId id) { return read[id]; });
    for (TensorId id : equation.targets) read[id] = read[id] || (any && equation.targets.size() > 1);
  }
  for (TensorId id = 0; id < read.size(); ++id) {
    const Tensor& tensor = context_.program.tensors[id];
    if (read[id] || tensor.kind == TensorKind::output) continue;
    bool is_local = tensor.kind == TensorKind::local;
    const char* kind = is_local ? "the let " : (tensor.kind == TensorKind::input ? "the input " : "the constant ");
    report_.warning(is_local ? "PW0141" : "PW0140", context_.symbols.at(tensor.name).where,
                    kind + tensor.name + " is never read");
  }
}

}  // namespace polyweft::lang
