// Tensors that equations define, and their types: annotations first, then non-recursive equations, then the rest.
#include <algorithm>
#include <set>

#include "lang/analyzer.h"
#include "lang/types.h"

namespace polyweft::lang {
namespace {

constexpr size_t kMaxEquations = 256;

}  // namespace

void Analyzer::declare_targets(EquationSyntax& equation) {
  if (pending_.size() == kMaxEquations)
    report_.error("PW0803", equation.left, "more than 256 equations in one program");
  if (pending_.size() >= kMaxEquations) return;
  if (equation.slots.size() > kMaxRank)
    report_.error("PW0801", equation.names[0].extent, "rank " + std::to_string(equation.slots.size()) + " is above 8");
  if (!equation.types.empty() && equation.types.size() != equation.names.size()) {
    report_.error(
        "PW0126", equation.left,
        std::to_string(equation.types.size()) + " types for " + std::to_string(equation.names.size()) + " names");
    equation.types.resize(equation.names.size(), equation.types[0]);
  }
  std::set<std::string> names;
  for (const NameSyntax& name : equation.names)
    if (!names.insert(name.text).second)
      report_.error("PW0110", name.extent, "'" + name.text.substr(0, 60) + "' is named twice on the left of '='");
  Pending pending;
  pending.syntax = &equation;
  for (size_t c = 0; c < equation.names.size(); ++c) pending.targets.push_back(declare_target(equation, c));
  if (std::find(pending.targets.begin(), pending.targets.end(), UINT32_MAX) == pending.targets.end())
    pending_.push_back(std::move(pending));
}

TensorId Analyzer::declare_target(const EquationSyntax& equation, size_t component) {
  const NameSyntax& name = equation.names[component];
  auto annotated = equation.types.empty() ? std::nullopt : std::optional(equation.types[component]);
  if (const Symbol* known = context_.symbol(name.text)) {
    bool is_target = known->kind == Symbol::Kind::tensor && targets_.count(known->id) != 0;
    if (!is_target) {
      bool is_input =
          known->kind == Symbol::Kind::tensor && context_.program.tensors[known->id].kind == TensorKind::input;
      if (is_input)
        report_.error("PW0124", name.extent, name.text + " is an input; an equation may not define it");
      else
        declare(name, {});
      return UINT32_MAX;
    }
    check_target(equation, component, known->id);
    return known->id;
  }
  auto id = static_cast<uint32_t>(context_.program.tensors.size());
  declare(name, {Symbol::Kind::tensor, id, 0, {}});
  Tensor tensor;
  tensor.name = name.text;
  tensor.kind = equation.is_output ? TensorKind::output : TensorKind::local;
  tensor.rank = static_cast<uint32_t>(equation.slots.size());
  tensor.partial = equation.partial;
  tensor.where = report_.source().span(name.extent);
  context_.program.tensors.push_back(std::move(tensor));
  context_.types.push_back(annotated);
  targets_[id] = {name.extent, equation.is_output, equation.partial,
                  annotated ? std::optional(name.extent) : std::nullopt};
  return id;
}

void Analyzer::check_target(const EquationSyntax& equation, size_t component, TensorId id) {
  const NameSyntax& name = equation.names[component];
  FirstUse& first = targets_[id];
  std::string line = std::to_string(report_.source().span(first.where).line);
  uint32_t rank = context_.program.tensors[id].rank;
  if (rank != equation.slots.size())
    report_.error("PW0112", name.extent,
                  name.text + " has rank " + std::to_string(equation.slots.size()) + " here and rank " +
                      std::to_string(rank) + " at line " + line);
  if (first.is_output != equation.is_output || first.partial != equation.partial) {
    auto words = [](bool output, bool partial) {
      return std::string(output ? (partial ? "'out partial'" : "'out'") : "'let'");
    };
    report_.error("PW0124", name.extent,
                  name.text + " is " + words(equation.is_output, equation.partial) + " here and " +
                      words(first.is_output, first.partial) + " at line " + line);
  }
  if (equation.types.empty()) return;
  ElementType type = equation.types[component];
  if (!first.annotated) {
    first.annotated = name.extent;
    context_.types[id] = type;
  } else if (context_.types[id] != type) {
    report_.error("PW0123", name.extent,
                  name.text + " is declared " + name_of(type) + " here and " + name_of(*context_.types[id]) +
                      " at line " + std::to_string(report_.source().span(*first.annotated).line));
  }
}

void Analyzer::collect_reads(const Node& node, std::vector<TensorId>& out) const {
  if (node.kind == NodeKind::name || node.kind == NodeKind::element) {
    const Symbol* symbol = context_.symbol(node.text);
    if (symbol != nullptr && symbol->kind == Symbol::Kind::tensor) out.push_back(symbol->id);
  }
  for (const Node* arg : node.args) collect_reads(*arg, out);
}

bool Analyzer::reads_open_type(size_t equation) const {
  const auto& reads = pending_[equation].reads;
  return std::any_of(reads.begin(), reads.end(), [&](TensorId id) { return !context_.types[id]; });
}

bool Analyzer::try_to_decide(bool only_complete) {
  bool progress = false;
  for (size_t q = 0; q < pending_.size(); ++q) {
    const auto& targets = pending_[q].targets;
    bool open = std::any_of(targets.begin(), targets.end(), [&](TensorId id) { return !context_.types[id]; });
    if (!open || (only_complete && reads_open_type(q))) continue;
    for (size_t c = 0; c < targets.size(); ++c) {
      if (context_.types[targets[c]]) continue;
      context_.types[targets[c]] = targets.size() == 1 ? decide(context_, *pending_[q].syntax->rhs)
                                                       : decide_component(context_, *pending_[q].syntax->rhs, c);
      progress |= context_.types[targets[c]].has_value();
    }
  }
  return progress;
}

void Analyzer::find_types() {
  for (Pending& each : pending_) {
    collect_reads(*each.syntax->rhs, each.reads);
    std::sort(each.reads.begin(), each.reads.end());
    each.reads.erase(std::unique(each.reads.begin(), each.reads.end()), each.reads.end());
  }
  while (try_to_decide(true) || try_to_decide(false)) {
  }
  for (const auto& type : context_.types) context_.types_incomplete |= !type.has_value();
  for (TensorId id = 0; id < context_.types.size(); ++id)
    context_.program.tensors[id].type = context_.types[id].value_or(ElementType::f32);
}

void Analyzer::report_open_types() {
  if (!context_.types_incomplete || report_.error_count() != 0) return;
  for (TensorId id = 0; id < context_.types.size(); ++id) {
    if (context_.types[id]) continue;
    const std::string& name = context_.program.tensors[id].name;
    report_.error("PW0122", targets_[id].where, "the type of " + name + " is not known: no equation decides it",
                  {"declare it, e.g. " + name + (context_.program.tensors[id].rank == 0 ? ": f32" : "[..]: f32")});
  }
}

}  // namespace polyweft::lang
