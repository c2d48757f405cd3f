// The nodes of a nest in program order.
#pragma once

#include <vector>

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// Calls enter(node) for each node from `root` on, those inside it only where it returns true.
template <class Enter>
void walk_nodes(const LoopNest& nest, NodeId root, const Enter& enter) {
  std::vector<NodeId> open = {root};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (id == kNoNode) continue;
    const Node& node = nest.nodes[id];
    if (!enter(node)) continue;
    if (const auto* seq = std::get_if<Seq>(&node))
      open.insert(open.end(), seq->children.rbegin(), seq->children.rend());
    if (const auto* choice = std::get_if<If>(&node)) open.insert(open.end(), {choice->otherwise, choice->then});
    if (const auto* alloc = std::get_if<Alloc>(&node)) open.push_back(alloc->body);
    if (const auto* loop = std::get_if<Loop>(&node)) open.push_back(loop->body);
  }
}

/// Calls f(access, is_write) for each access of the statements and copies from `id` on, in program order.
template <class F>
void visit_accesses(const LoopNest& nest, NodeId id, const F& f) {
  walk_nodes(nest, id, [&](const Node& node) {
    if (const auto* compute = std::get_if<Compute>(&node)) {
      for (const auto& dst : compute->dst) f(dst, true);
      for (const auto& rhs : compute->rhs)
        polyweft::visit(rhs, [&](const ExprNode& e) {
          if (e.op == Op::read) f(e.access, false);
        });
    } else if (const auto* copy = std::get_if<Copy>(&node)) {
      f(copy->dst, true);
      if (copy->has_src) f(copy->src, false);
    }
    return true;
  });
}

}  // namespace polyweft::ir
