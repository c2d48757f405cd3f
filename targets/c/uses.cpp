#include "targets/c/uses.h"

#include <algorithm>

#include "ir/nests/shared_memory.h"
#include "targets/c/value_text.h"

namespace polyweft::targets::c {

Uses::Uses(const LoopNest& nest) : nest_(nest), sharers_(ir::sharers_of(nest)) {
  sharers_.resize(nest.buffers.size());
}

void Uses::add(NodeUses& into, const Access& access, bool is_write, bool is_fold) const {
  for (const Subscript& s : access.index) add_reads(into, s.data);
  BufferUse use;
  use.key = key_of(access);
  use.is_single = !use.key.empty();
  use.is_folded = is_fold;
  use.is_written = is_write;
  use.is_read = !is_write;
  use.access = access;
  NodeUses one;
  one.buffers[access.id] = use;
  merge(into, one);
}

void Uses::add_reads(NodeUses& into, const Expr& e) const {
  if (!e) return;
  if (e->op == Op::read) add(into, e->access, false, false);
  for (const Expr& arg : e->args) add_reads(into, arg);
}

void Uses::merge(NodeUses& into, const NodeUses& part) {
  for (const auto& [buffer, use] : part.buffers) {
    const auto [at, is_new] = into.buffers.try_emplace(buffer, use);
    if (is_new) continue;
    at->second.is_single = at->second.is_single && use.is_single && at->second.key == use.key;
    at->second.is_folded |= use.is_folded;
    at->second.is_written |= use.is_written;
    at->second.is_read |= use.is_read;
  }
  into.bound.insert(part.bound.begin(), part.bound.end());
  into.allocated.insert(part.allocated.begin(), part.allocated.end());
  into.has_loop |= part.has_loop;
}

NodeUses Uses::found(const Node& node) {
  NodeUses out;
  if (const auto* seq = std::get_if<Seq>(&node))
    for (const NodeId child : seq->children) merge(out, of(child));
  if (const auto* loop = std::get_if<Loop>(&node)) {
    out = of(loop->body);
    out.bound.insert(loop->var);
    out.has_loop = true;
  }
  if (const auto* branch = std::get_if<If>(&node)) {
    out = of(branch->then);
    merge(out, of(branch->otherwise));
  }
  if (const auto* alloc = std::get_if<Alloc>(&node)) {
    out = of(alloc->body);
    out.allocated.insert(alloc->buffer);
  }
  if (const auto* copy = std::get_if<Copy>(&node)) {
    if (copy->has_src) add(out, copy->src, false, false);
    add(out, copy->dst, true, false);
  }
  if (const auto* compute = std::get_if<Compute>(&node)) {
    for (const Expr& e : compute->rhs) add_reads(out, e);
    if (compute->how == Write::accumulate || compute->how == Write::merge)
      if (compute->reducer == Reducer::combiner)
        for (const Expr& e : nest_.combiners[compute->combiner].result) add_reads(out, e);
    for (const Access& dst : compute->dst)
      add(out, dst, true, compute->how == Write::accumulate || compute->how == Write::merge);
  }
  return out;
}

const NodeUses& Uses::of(NodeId node) {
  static const NodeUses kNothing;
  if (node == kNoNode) return kNothing;
  if (const auto known = known_.find(node); known != known_.end()) return known->second;
  NodeUses uses = found(nest_.nodes[node]);
  return known_[node] = std::move(uses);
}

bool Uses::stays(const NodeUses& part, BufferId buffer) const {
  const auto use = part.buffers.find(buffer);
  if (use == part.buffers.end() || !use->second.is_single || part.allocated.contains(buffer)) return false;
  std::vector<VarId> used;
  for (const Subscript& s : use->second.access.index) collect_variables(s.affine, used);
  if (std::any_of(used.begin(), used.end(), [&](VarId v) { return part.bound.contains(v); })) return false;
  return std::none_of(sharers_[buffer].begin(), sharers_[buffer].end(),
                      [&](BufferId other) { return part.buffers.contains(other); });
}

NodeId Uses::first_write(const Alloc& alloc) {
  NodeId at = alloc.body;
  const auto uses = [&](NodeId node) { return of(node).buffers.contains(alloc.buffer); };
  while (at != kNoNode) {
    const Node& node = nest_.nodes[at];
    if (const auto* loop = std::get_if<Loop>(&node)) {
      at = loop->body;
    } else if (const auto* inner = std::get_if<Alloc>(&node)) {
      at = inner->body;
    } else if (const auto* branch = std::get_if<If>(&node)) {
      if (uses(branch->then) && uses(branch->otherwise)) return kNoNode;
      at = uses(branch->then) ? branch->then : branch->otherwise;
    } else if (const auto* seq = std::get_if<Seq>(&node)) {
      const auto first = std::find_if(seq->children.begin(), seq->children.end(), uses);
      if (first == seq->children.end()) return kNoNode;
      at = *first;
      if (std::count_if(seq->children.begin(), seq->children.end(), uses) > 1) break;
    } else {
      break;
    }
  }
  const auto* compute = at == kNoNode ? nullptr : std::get_if<Compute>(&nest_.nodes[at]);
  if (!compute || (compute->how != Write::init && compute->how != Write::store)) return kNoNode;
  return reads(*compute, alloc.buffer) ? kNoNode : at;
}

bool Uses::reads(const Compute& compute, BufferId buffer) const {
  NodeUses found;
  for (const Expr& e : compute.rhs) add_reads(found, e);
  for (const Access& dst : compute.dst)
    for (const Subscript& s : dst.index) add_reads(found, s.data);
  return found.buffers.contains(buffer);
}

}  // namespace polyweft::targets::c
