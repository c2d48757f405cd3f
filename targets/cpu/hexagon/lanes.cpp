#include "targets/cpu/hexagon/lanes.h"

#include <algorithm>

#include "ir/nests/walk_nest.h"

namespace polyweft::targets {
namespace {

/// LLVM 22.1 gives wrong bits for some vectors of fewer or odd lanes, and takes others apart.
constexpr int32_t kWholeLanes = 32;

bool has_lanes(ElementType type) {
  return type == ElementType::i32 || type == ElementType::i16 || size_bytes(type) == 1;
}

/// Numbers of loops as data are narrowed where they are used.
bool has_lanes(const Expr& value) {
  bool out = true;
  visit(value, [&](const ExprNode& e) {
    const bool is_number_of_loop = e.op == Op::variable || e.op == Op::affine;
    out = out && (is_number_of_loop || has_lanes(e.type));
  });
  return out;
}

bool has_lanes(const LoopNest& nest, NodeId root) {
  bool out = true;
  ir::walk_nodes(nest, root, [&](const Node& node) {
    if (const auto* compute = std::get_if<Compute>(&node))
      out = out && std::all_of(compute->rhs.begin(), compute->rhs.end(), [](const Expr& e) { return has_lanes(e); });
    return out;
  });
  ir::visit_accesses(nest, root,
                     [&](const Access& access, bool) { out = out && has_lanes(nest.buffers[access.id].type); });
  return out;
}

}  // namespace

LoopNest with_lanes_of_the_machine(LoopNest nest) {
  for (Node& node : nest.nodes) {
    auto* loop = std::get_if<Loop>(&node);
    if (!loop || loop->mark.kind != MarkKind::vector) continue;
    if (loop->mark.width % kWholeLanes == 0 && has_lanes(nest, loop->body)) continue;
    loop->mark = Mark{};
    ir::visit_accesses(nest, loop->body, [&](const Access& access, bool) {
      Buffer& buffer = nest.buffers[access.id];
      if (buffer.scope == Scope::reg) buffer.scope = Scope::stack;
    });
  }
  return nest;
}

}  // namespace polyweft::targets
