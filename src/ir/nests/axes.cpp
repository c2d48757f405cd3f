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

bool mark_syncs(const LoopNest& nest, NodeId id, std::vector<bool>& out) {
  if (id == kNoNode) return false;
  bool found = false;
  const Node& node = nest.nodes[id];
  if (const auto* seq = std::get_if<Seq>(&node))
    for (NodeId child : seq->children) found |= mark_syncs(nest, child, out);
  if (const auto* branch = std::get_if<If>(&node)) {
    found = mark_syncs(nest, branch->then, out);
    found |= mark_syncs(nest, branch->otherwise, out);
  }
  if (const auto* alloc = std::get_if<Alloc>(&node)) found = mark_syncs(nest, alloc->body, out);
  if (const auto* loop = std::get_if<Loop>(&node)) found = mark_syncs(nest, loop->body, out);
  found |= std::holds_alternative<Sync>(node);
  out[id] = found;
  return found;
}

}  // namespace

std::vector<bool> nodes_with_sync(const LoopNest& nest) {
  std::vector<bool> out(nest.nodes.size());
  for (const Pack& pack : nest.packs) mark_syncs(nest, pack.root, out);
  mark_syncs(nest, nest.root, out);
  return out;
}

}  // namespace polyweft::ir
