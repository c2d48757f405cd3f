// Loops, branches and lifetimes; what single statements do stands in statements.cpp.
#include "targets/c/body.h"

#include <algorithm>
#include <numeric>

#include "ir/nests/axes.h"

namespace polyweft::targets::c {
namespace {

constexpr int64_t kMostOnStack = 1 << 14;  // bytes

std::string comment_of(const Mark& mark) {
  switch (mark.kind) {
    case MarkKind::parallel:
      return "  // parallel";
    case MarkKind::vector:
      return "  // vector of " + std::to_string(mark.width);
    case MarkKind::unroll:
      return "  // unrolled";
    case MarkKind::tensor:
      return "  // tensor instruction";
    default:
      return "";
  }
}

}  // namespace

Body::Body(const LoopNest& nest, Helpers& helpers, Names names, SumSizes sums)
    : nest_(nest),
      helpers_(helpers),
      names_(std::move(names)),
      sums_(std::move(sums)),
      indices_(facts_, variables_, helpers),
      values_(nest, facts_, indices_, helpers),
      uses_(nest) {
  variables_.resize(nest.params.size() + nest.loop_names.size());
  values_.buffer_names().resize(nest.buffers.size());
  for (size_t p = 0; p < nest.params.size(); ++p) {
    variables_[p] = nest.symbolic ? names_.open(nest.params[p].name) : std::to_string(nest.params[p].value);
    VarFacts facts;
    facts.lo = nest.symbolic ? -kLargestSize : nest.params[p].value;
    facts.hi = nest.symbolic ? kLargestSize : nest.params[p].value;
    facts_.set(static_cast<VarId>(p), facts);
  }
  for (const Guard& g : nest.assumptions) facts_.assume(g, true);
}

std::vector<BufferId> Body::constants() const {
  std::vector<BufferId> out;
  for (BufferId id = 0; id < nest_.buffers.size(); ++id)
    if (nest_.buffers[id].scope == Scope::constant && values_.is_printed(id)) out.push_back(id);
  return out;
}

std::string Body::declared(const std::string& wanted) {
  in_block_.push_back(names_.open(wanted));
  return in_block_.back();
}

std::string Body::argument(BufferId id) {
  return values_.buffer_names()[id] = names_.open(nest_.buffers[id].name);
}

std::string Body::text(NodeId root) {
  const NodeUses& uses = uses_.of(root);
  for (const auto& [buffer, use] : uses.buffers) {
    if (nest_.buffers[buffer].scope == Scope::constant) argument(buffer);
  }
  node(root);
  return std::move(out_);
}

void Body::line(const std::string& text) {
  out_ += std::string(static_cast<size_t>(2 * depth_), ' ') + text + "\n";
}

void Body::node(NodeId id) {
  if (id == kNoNode) return;
  std::visit([&](const auto& n) { put(n, id); }, nest_.nodes[id]);
}

// ---- lifetimes ----

std::string Body::local_name(const BufferUse& use) {
  const bool is_sum = nest_.buffers[use.access.id].type != ElementType::boolean;
  return declared(is_sum ? "acc" : "found");
}

void Body::close(const OpenLocal& local) {
  values_.close_local(local.buffer, local.key);
  line(values_.element(local.element) + " = " + local.name + ";");
}

// Elements that the statement gives their first value, and that stay in one place in the loops behind it: until
// somebody touches others of their buffer.
std::vector<Body::OpenLocal> Body::locals_after(const std::vector<NodeId>& nodes, size_t at) {
  std::vector<OpenLocal> out;
  const auto* compute = std::get_if<Compute>(&nest_.nodes[nodes[at]]);
  if (!compute || (compute->how != Write::init && compute->how != Write::store)) return out;
  for (const Access& dst : compute->dst) {
    const std::string key = key_of(dst);
    if (key.empty() || values_.is_local(dst.id, key) || uses_.reads(*compute, dst.id)) continue;
    NodeUses part;
    BufferUse& first = part.buffers[dst.id];
    first.key = key;
    first.is_written = true;
    first.access = dst;
    NodeId last_writer = kNoNode;
    for (size_t next = at + 1; next < nodes.size(); ++next) {
      const NodeUses& uses = uses_.of(nodes[next]);
      NodeUses longer = part;
      Uses::merge(longer, uses);
      if (!uses_.stays(longer, dst.id)) break;
      part = std::move(longer);
      const auto use = uses.buffers.find(dst.id);
      if (use != uses.buffers.end() && use->second.is_written && (uses.has_loop || last_writer != kNoNode))
        last_writer = nodes[next];
    }
    if (last_writer != kNoNode && part.buffers[dst.id].is_folded)
      out.push_back({dst.id, key, local_name(part.buffers[dst.id]), dst, last_writer});
  }
  return out;
}

bool Body::lies_inside(const Access& access) const {
  const Buffer& buffer = nest_.buffers[access.id];
  for (size_t d = 0; d < access.index.size(); ++d) {
    const Interval range = facts_.range(facts_.simplify(access.index[d].affine));
    if (range.lo < 0 || range.hi >= buffer.extents[d]) return false;
  }
  return true;
}

// An accumulator whose first value stands elsewhere.
std::vector<Body::OpenLocal> Body::locals_around(NodeId id) {
  std::vector<OpenLocal> out;
  const NodeUses& uses = uses_.of(id);
  for (const auto& [buffer, use] : uses.buffers) {
    if (!use.is_folded || !uses_.stays(uses, buffer) || values_.is_local(buffer, use.key)) continue;
    if (nest_.buffers[buffer].type == ElementType::boolean || nest_.symbolic || !lies_inside(use.access)) continue;
    out.push_back({buffer, use.key, local_name(use), use.access, id});
  }
  return out;
}

void Body::put(const Alloc& alloc, NodeId) {
  const Buffer& buffer = nest_.buffers[alloc.buffer];
  const bool is_fixed = buffer.shape.empty() || std::find(buffer.extents.begin(), buffer.extents.end(),
                                                          kSymbolicExtent) == buffer.extents.end();
  const bool is_one = is_fixed && allocated_elements(buffer) == 1 && !uses_.shares_memory(alloc.buffer);
  const bool is_heap = !is_one && (!is_fixed || buffer.scope == Scope::heap ||
                                   allocated_elements(buffer) * size_bytes(buffer.type) > kMostOnStack);
  const std::string name = values_.buffer_names()[alloc.buffer] =
      is_heap ? names_.open(buffer.name) : declared(buffer.name);
  if (!is_one) {
    if (is_heap)
      heap_.push_back(alloc.buffer);
    else
      line(storage_type(buffer.type) + " " + name + "[" +
           std::to_string(std::max<int64_t>(1, allocated_elements(buffer))) + "];");
    return node(alloc.body);
  }
  values_.open_local(alloc.buffer, "", name);
  if (const NodeId first = uses_.first_write(alloc); first != kNoNode)
    declared_at_[first].insert(alloc.buffer);
  else if (const auto use = uses_.of(alloc.body).buffers.find(alloc.buffer);
           use != uses_.of(alloc.body).buffers.end())  // compilers do not see that it is written first
    line(storage_type(buffer.type) + " " + name + " = 0;" +
         (use->second.is_read || use->second.is_folded ? "" : "  (void)" + name + ";"));
  node(alloc.body);
  values_.close_local(alloc.buffer, "");
}

// ---- control ----

void Body::put(const Seq& seq, NodeId) {
  const std::vector<NodeId>& nodes = seq.children;
  std::vector<OpenLocal> open;
  for (size_t k = 0; k < nodes.size(); ++k) {
    for (OpenLocal& local : locals_after(nodes, k)) {
      values_.open_local(local.buffer, local.key, local.name);
      declared_at_[nodes[k]].insert(local.buffer);
      open.push_back(std::move(local));
    }
    node(nodes[k]);
    for (size_t l = 0; l < open.size();) {
      if (open[l].last_writer != nodes[k]) {
        ++l;
        continue;
      }
      close(open[l]);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(l));
    }
  }
}

VarFacts Body::facts_of(const Loop& loop) const {
  VarFacts out;
  for (const Affine& e : loop.lo.of) out.lo = std::max(out.lo, facts_.range(facts_.simplify(e)).lo);
  for (const Affine& e : loop.hi.of) {
    out.hi = std::min(out.hi, facts_.range(facts_.simplify(e)).hi - 1);
    if (!e.is_constant()) out.at_most.push_back(e - Affine::of(1));
  }
  out.divisor = loop.step;
  for (const Affine& e : loop.lo.of) out.divisor = std::gcd(out.divisor, facts_.divisor(e));
  out.divisor = std::max<int64_t>(1, out.divisor);
  return out;
}

void Body::put(const Loop& loop, NodeId id) {
  const std::vector<OpenLocal> locals = locals_around(id);
  for (const OpenLocal& local : locals) {
    line(storage_type(nest_.buffers[local.buffer].type) + " " + local.name + " = " + values_.element(local.element) +
         ";");
    values_.open_local(local.buffer, local.key, local.name);
  }
  const Facts outside = facts_;
  const VarFacts facts = facts_of(loop);
  const std::string from = indices_.bound(loop.lo, true).text, to = indices_.bound(loop.hi, false).text;
  const std::string name = names_.open(nest_.loop_names[loop.var - nest_.params.size()]);
  variables_[loop.var] = name;
  facts_.set(loop.var, facts);
  for (const Affine& end : loop.hi.of)
    for (const Affine& begin : loop.lo.of) facts_.assume(end - begin - Affine::of(1));
  const std::string step = loop.step == 1 ? name + "++" : name + " += " + std::to_string(loop.step);
  line("for (int64_t " + name + " = " + from + "; " + name + " < " + to + "; " + step + ") {" + comment_of(loop.mark));
  loops_.push_back({loop.var, facts.hi < facts.lo ? 0 : (static_cast<__int128>(facts.hi) - facts.lo) / loop.step + 1});
  block([&] { node(loop.body); });
  loops_.pop_back();
  line("}");
  names_.close(name);
  facts_ = outside;
  for (size_t k = locals.size(); k-- > 0;) close(locals[k]);
}

void Body::put(const If& branch, NodeId) {
  if (const auto known = facts_.decide(branch.condition)) return node(*known ? branch.then : branch.otherwise);
  const Facts before = facts_;
  line("if (" + indices_.guard(branch.condition).text + ") {");
  for (const bool holds : {true, false}) {
    const NodeId part = holds ? branch.then : branch.otherwise;
    if (part == kNoNode) continue;
    if (!holds) line("} else {");
    facts_.assume(branch.condition, holds);
    block([&] { node(part); });
    facts_ = before;
  }
  line("}");
}

void Body::put(const Sync&, NodeId) {}  // what stands before has been done

}  // namespace polyweft::targets::c
