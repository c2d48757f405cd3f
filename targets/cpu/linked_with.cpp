#include "targets/cpu/linked_with.h"

#include <algorithm>

#include "ir/nests/workspace.h"

namespace polyweft::targets {
namespace {

bool has_tasks(const LoopNest& nest) {
  return std::any_of(nest.nodes.begin(), nest.nodes.end(), [](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    return loop && loop->mark.kind == MarkKind::parallel;
  });
}

bool has_workspace(const LoopNest& nest) {
  if (nest.symbolic)
    return std::any_of(nest.buffers.begin(), nest.buffers.end(),
                       [](const Buffer& buffer) { return buffer.scope == Scope::heap; });
  const auto workspace = ir::workspace_of(nest);
  return !workspace || !workspace->blocks.empty();
}

}  // namespace

std::string linked_with_object(const LoopNest& nest, Caller caller) {
  std::string functions;
  if (has_workspace(nest) && caller != Caller::plain_c_alone) functions = "halide_malloc, halide_free";
  if (has_tasks(nest)) functions += (functions.empty() ? "" : ", ") + std::string("halide_do_par_for");
  if (functions.empty()) return "the C library alone";
  return functions + " of Halide's runtime, which the archive of --emit static brings (" + kLinkedWithArchive + ")";
}

}  // namespace polyweft::targets
