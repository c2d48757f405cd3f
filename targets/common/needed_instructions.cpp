#include "targets/common/needed_instructions.h"

namespace polyweft::targets {

Status has_instruction(const Target& target, const ir::Instruction& instruction) {
  if (instruction.runs_on(target)) return Ok{};
  std::string needs;
  for (const auto& set : instruction.needs) {
    needs += needs.empty() ? "" : ", or";
    for (const auto& feature : set) needs += (needs.empty() ? "" : " ") + feature;
  }
  return fail("PW0518",
              "instruction " + instruction.name + " needs " + needs + ", which target " + target.name + " has not",
              {"tune for this target, or take the step tensorize out of the trace"});
}

Status has_instructions(const Target& target, const LoopNest& nest) {
  for (const Node& node : nest.nodes) {
    const auto* loop = std::get_if<Loop>(&node);
    if (!loop || loop->mark.kind != MarkKind::tensor) continue;
    auto instruction = ir::instruction_named(loop->mark.detail);
    if (!instruction) return instruction.error();
    if (Status has = has_instruction(target, **instruction); !has) return has;
  }
  return Ok{};
}

}  // namespace polyweft::targets
