#include "ir/nests/axes.h"

#include <algorithm>

namespace polyweft::ir {

const std::vector<std::string>& axis_names() {
  static const std::vector<std::string> names = {"block_x", "block_y", "block_z", "thread_x", "thread_y", "thread_z"};
  return names;
}

bool is_axis_name(const std::string& name) {
  return std::count(axis_names().begin(), axis_names().end(), name) == 1;
}

bool is_thread_axis(const std::string& name) {
  return name.rfind("thread", 0) == 0;
}

bool is_thread_axis(const Loop& loop) {
  return loop.mark.kind == MarkKind::axis && is_thread_axis(loop.mark.detail);
}

namespace {

using NodeTest = std::function<bool(const Node&)>;

bool mark_nodes(const LoopNest& nest, NodeId id, const NodeTest& is_such, std::vector<bool>& out) {
  if (id == kNoNode) return false;
  const Node& node = nest.nodes[id];
  bool found = is_such(node);
  if (const auto* seq = std::get_if<Seq>(&node))
    for (NodeId child : seq->children) found |= mark_nodes(nest, child, is_such, out);
  if (const auto* branch = std::get_if<If>(&node)) {
    found |= mark_nodes(nest, branch->then, is_such, out);
    found |= mark_nodes(nest, branch->otherwise, is_such, out);
  }
  if (const auto* alloc = std::get_if<Alloc>(&node)) found |= mark_nodes(nest, alloc->body, is_such, out);
  if (const auto* loop = std::get_if<Loop>(&node)) found |= mark_nodes(nest, loop->body, is_such, out);
  out[id] = found;
  return found;
}

}  // namespace

std::vector<bool> nodes_with(const LoopNest& nest, const NodeTest& is_such) {
  std::vector<bool> out(nest.nodes.size());
  for (const Pack& pack : nest.packs) mark_nodes(nest, pack.root, is_such, out);
  mark_nodes(nest, nest.root, is_such, out);
  return out;
}

std::vector<bool> nodes_with_sync(const LoopNest& nest) {
  return nodes_with(nest, [](const Node& node) { return std::holds_alternative<Sync>(node); });
}

}  // namespace polyweft::ir
