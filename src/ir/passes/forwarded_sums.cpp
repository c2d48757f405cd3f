#include "ir/passes/forwarded_sums.h"

#include <algorithm>
#include <optional>

#include "ir/nests/instruction.h"
#include "ir/nests/walk_nest.h"

namespace polyweft::ir {
namespace {

/// A node of a sequence that allocates sums and ends with copies out of them, and the last node that reads the copy.
struct SumsBefore {
  NodeId sequence = kNoNode;
  size_t at = 0, last = 0;
  BufferId sums = 0, result = 0;
};

class SumForwarder {
 public:
  explicit SumForwarder(LoopNest nest) : nest_(std::move(nest)) {}

  LoopNest run() {
    if (has_data_subscripts()) return std::move(nest_);
    while (const auto found = next()) forward(*found);
    return std::move(nest_);
  }

 private:
  std::optional<SumsBefore> next() const {
    std::optional<SumsBefore> out;
    for (NodeId id = 0; id < nest_.nodes.size() && !out; ++id)
      if (const auto* seq = std::get_if<Seq>(&nest_.nodes[id]))
        for (size_t at = 0; at + 1 < seq->children.size() && !out; ++at) out = sums_at(id, *seq, at);
    return out;
  }

  std::optional<SumsBefore> sums_at(NodeId id, const Seq& seq, size_t at) const {
    const auto* alloc = std::get_if<Alloc>(&nest_.nodes[seq.children[at]]);
    if (!alloc || nest_.buffers[alloc->buffer].scope != Scope::tile ||
        !warp_instruction_of(nest_, alloc->body, alloc->buffer))
      return std::nullopt;
    const auto* inside = std::get_if<Seq>(&nest_.nodes[alloc->body]);
    const auto copied_to = inside ? destination(inside->children.back(), alloc->buffer) : std::nullopt;
    if (!copied_to) return std::nullopt;
    SumsBefore out{id, at, at, alloc->buffer, *copied_to};
    const Buffer& result = nest_.buffers[out.result];
    const bool is_local =
        result.scope != Scope::argument && result.scope != Scope::constant && result.scope != Scope::tile;
    const bool has_guests = std::any_of(nest_.buffers.begin(), nest_.buffers.end(),
                                        [&](const Buffer& b) { return b.within && b.within->host == out.result; });
    if (!is_local || has_guests || !offsets(out) || result.type != nest_.buffers[out.sums].type) return std::nullopt;
    for (size_t k = at + 1; k < seq.children.size(); ++k)
      if (accesses(seq.children[k], out.result) > 0) out.last = k;
    int behind = 0;
    for (size_t k = at + 1; k <= out.last; ++k) behind += accesses(seq.children[k], out.result);
    // Nobody else has to do with the result: all accesses but those of the copies are behind them.
    const int copies = accesses(inside->children.back(), out.result);
    return behind > 0 && behind + copies == accesses(nest_.root, out.result) ? std::optional(out) : std::nullopt;
  }

  /// Of all statements of a node, which are copies out of the sums into one buffer.
  std::optional<BufferId> destination(NodeId id, BufferId sums) const {
    std::optional<BufferId> out;
    bool is_copy = true;
    walk_nodes(nest_, id, [&](const Node& node) {
      is_copy &= !std::holds_alternative<Compute>(node) && !std::holds_alternative<Alloc>(node) &&
                 !std::holds_alternative<Sync>(node);
      const auto* copy = std::get_if<Copy>(&node);
      if (!copy) return is_copy;
      is_copy &= copy->has_src && copy->src.id == sums && (!out || *out == copy->dst.id);
      out = copy->dst.id;
      return is_copy;
    });
    return is_copy ? out : std::nullopt;
  }
  int accesses(NodeId id, BufferId buffer) const {
    int out = 0;
    visit_accesses(nest_, id, [&](const Access& access, bool) { out += access.id == buffer; });
    return out;
  }

  /// What is added to a cell of the result for the cell of the sums that holds the same element.
  std::optional<std::vector<Affine>> offsets(const SumsBefore& of) const {
    const Buffer &result = nest_.buffers[of.result], &sums = nest_.buffers[of.sums];
    const size_t rank = result.extents.size();
    if (sums.extents.size() != rank || result.element.size() != rank || sums.element.size() != rank ||
        result.tensor != sums.tensor)
      return std::nullopt;
    std::vector<Affine> out;
    for (size_t d = 0; d < rank; ++d) {
      const Affine cell = Affine::variable(kCellVar + static_cast<VarId>(d));
      const Affine first = result.element[d] - cell, own = sums.element[d] - cell;
      for (size_t other = 0; other < rank; ++other)
        for (const Affine* e : {&first, &own})
          if (e->coefficient(kCellVar + static_cast<VarId>(other)) != 0) return std::nullopt;
      out.push_back(first - own);
    }
    return out;
  }

  void forward(const SumsBefore& of) {
    const std::vector<Affine> by = *offsets(of);
    auto& outer = std::get<Seq>(nest_.nodes[of.sequence]).children;
    const NodeId alloc = outer[of.at];
    std::vector<NodeId> behind(outer.begin() + static_cast<std::ptrdiff_t>(of.at) + 1,
                               outer.begin() + static_cast<std::ptrdiff_t>(of.last) + 1);
    outer.erase(outer.begin() + static_cast<std::ptrdiff_t>(of.at) + 1,
                outer.begin() + static_cast<std::ptrdiff_t>(of.last) + 1);
    auto& inner = std::get<Seq>(nest_.nodes[std::get<Alloc>(nest_.nodes[alloc]).body]).children;
    inner.pop_back();  // the copies
    inner.insert(inner.end(), behind.begin(), behind.end());
    for (NodeId id : behind) read_sums(id, of, by);
    without_buffer(of.result);
  }

  void read_sums(NodeId root, const SumsBefore& of, const std::vector<Affine>& by) {
    std::vector<NodeId> open = {root};
    const auto moved = [&](Access access) {
      access.id = of.sums;
      for (size_t d = 0; d < by.size(); ++d) access.index[d].affine = access.index[d].affine + by[d];
      return access;
    };
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (id == kNoNode) continue;
      Node& node = nest_.nodes[id];
      if (const auto* seq = std::get_if<Seq>(&node))
        open.insert(open.end(), seq->children.begin(), seq->children.end());
      if (const auto* choice = std::get_if<If>(&node)) open.insert(open.end(), {choice->then, choice->otherwise});
      if (const auto* alloc = std::get_if<Alloc>(&node)) open.push_back(alloc->body);
      if (const auto* loop = std::get_if<Loop>(&node)) open.push_back(loop->body);
      if (auto* compute = std::get_if<Compute>(&node))
        for (Expr& rhs : compute->rhs)
          rhs = rewrite(rhs, [&](const Expr& part) -> Expr {
            if (part->op != Op::read || part->access.id != of.result) return nullptr;
            return make_read(part->type, moved(part->access));
          });
      if (auto* copy = std::get_if<Copy>(&node); copy && copy->has_src && copy->src.id == of.result)
        copy->src = moved(copy->src);
    }
  }

  /// Of which nothing is left but its allocation.
  void without_buffer(BufferId buffer) {
    for (Node& node : nest_.nodes)
      if (const auto* alloc = std::get_if<Alloc>(&node); alloc && alloc->buffer == buffer) {
        const NodeId body = alloc->body;
        node = Node(nest_.nodes[body]);
        nest_.nodes[body] = Seq{};
      }
    const auto number = [&](BufferId& id) { id -= id > buffer; };
    const auto numbered = [&](const Expr& e) {
      return rewrite(e, [&](const Expr& part) -> Expr {
        if (part->op != Op::read || part->access.id <= buffer) return nullptr;
        Access access = part->access;
        number(access.id);
        return make_read(part->type, std::move(access));
      });
    };
    for (Node& node : nest_.nodes) {
      if (auto* alloc = std::get_if<Alloc>(&node)) number(alloc->buffer);
      if (auto* loop = std::get_if<Loop>(&node))
        for (Prefetch& each : loop->mark.prefetch) number(each.buffer);
      if (auto* compute = std::get_if<Compute>(&node)) {
        for (Access& dst : compute->dst) number(dst.id);
        for (Expr& rhs : compute->rhs) rhs = numbered(rhs);
      }
      if (auto* copy = std::get_if<Copy>(&node)) {
        number(copy->dst.id);
        if (copy->has_src) number(copy->src.id);
      }
    }
    for (Pack& pack : nest_.packs) number(pack.source), number(pack.packed);
    for (BufferId& id : nest_.arguments) number(id);
    for (Buffer& each : nest_.buffers)
      if (each.within) number(each.within->host);
    nest_.buffers.erase(nest_.buffers.begin() + buffer);
  }

  /// Subscripts that data choose are left alone, with all that is around them.
  bool has_data_subscripts() const {
    bool out = false;
    visit_accesses(nest_, nest_.root, [&](const Access& access, bool) {
      for (const Subscript& s : access.index) out |= s.data != nullptr;
    });
    return out;
  }

  LoopNest nest_;
};

}  // namespace

LoopNest forwarded_sums(LoopNest nest) {
  return SumForwarder(std::move(nest)).run();
}

}  // namespace polyweft::ir
