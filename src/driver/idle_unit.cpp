#include "driver/idle_unit.h"

#include <algorithm>

#include "driver/threads.h"
#include "ir/nests/instruction.h"

namespace polyweft {
namespace {

bool is_of_unit(const std::string& name) {
  const auto instruction = ir::instruction_named(name);
  return instruction && (*instruction)->is_of_unit();
}

bool uses_unit(const NestTemplate& made) {
  return std::any_of(made.trace.steps.begin(), made.trace.steps.end(), [](const Step& step) {
    const auto* tensorize = std::get_if<TensorizeStep>(&step);
    return tensorize && is_of_unit(tensorize->instruction);
  });
}

bool is_any_used(const std::vector<NestTemplate>& templates) {
  return std::any_of(templates.begin(), templates.end(), [](const NestTemplate& each) { return uses_unit(each); });
}

std::string products_of(const Machine& machine) {
  std::string out;
  for (const std::string& name : machine.units.instructions)
    if (is_of_unit(name)) out += (out.empty() ? "" : ", or ") + ir::product_text(**ir::instruction_named(name));
  return out;
}

/// Sizes for a template that no candidate is of.
std::vector<int64_t> decisions_for(const UnitCase& of, size_t sketch) {
  for (const Candidate& candidate : of.candidates)
    if (candidate.sketch == sketch) return candidate.decisions;
  return values_of(of.templates[sketch].trace);
}

}  // namespace

bool uses_unit(const LoopNest& nest) {
  return std::any_of(nest.nodes.begin(), nest.nodes.end(), [](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    return loop && loop->mark.kind == MarkKind::tensor && is_of_unit(loop->mark.detail);
  });
}

std::string why_unit_cannot(const UnitCase& of,
                            const std::function<std::vector<NestTemplate>(const Machine&)>& templates_for) {
  std::string first;
  for (size_t k = 0; k < of.templates.size(); ++k) {
    if (!uses_unit(of.templates[k])) continue;
    const auto nest = instantiate(of.templates[k], decisions_for(of, k));
    const auto kernel =
        nest ? of.compiler.for_runner(on_threads(*nest, of.task.key.threads)) : Result<LoadableKernel>(nest.error());
    if (kernel) return {};
    if (first.empty()) first = kernel.error().message + " [" + kernel.error().code + "]";
  }
  if (!first.empty()) return first;
  const Machine& machine = of.compiler.target().machine;
  Machine large = machine;
  large.unit.scratchpad_bytes.value = large.unit.accumulator_bytes.value = int64_t{1} << 40;
  if (is_any_used(templates_for(large)))
    return "a tile of its operands and sums does not fit its memories (scratchpad_bytes, accumulator_bytes)";
  return "no sum of the program is " + products_of(machine) + " in class " + name_of(of.task.key.cls);
}

std::string idle_unit_notice(const Task& task, const Target& target, const std::string& why) {
  return "target " + target.name + ": its unit computes nothing of " + task.source.name + ": " + why;
}

}  // namespace polyweft
