#include "ir/passes/vectorize_rows.h"

#include <algorithm>

#include "ir/nests/row_walk.h"
#include "ir/passes/copy_subtree.h"

namespace polyweft::ir {
namespace {

bool is_folded(const Buffer& buffer, size_t dim) {
  return std::any_of(buffer.folds.begin(), buffer.folds.end(), [&](const Fold& fold) { return fold.dim == dim; });
}

/// Different cells whatever the iterations of `var` are: some dimension that does not move with it tells them apart.
bool are_apart(const Buffer& buffer, const Access& a, const Access& b, VarId var) {
  for (size_t d = 0; d < a.index.size(); ++d) {
    const Affine difference = a.index[d].affine - b.index[d].affine;
    if (!difference.is_constant() || mentions(a.index[d].affine, var)) continue;
    int64_t by = difference.constant;
    for (const Fold& fold : buffer.folds)
      if (fold.dim == d) by %= fold.window;
    if (by != 0) return true;
  }
  return false;
}

bool same_cell(const Access& a, const Access& b) {
  for (size_t d = 0; d < a.index.size(); ++d)
    if (!(a.index[d].affine == b.index[d].affine)) return false;
  return true;
}

class Rewriter {
 public:
  Rewriter(LoopNest nest, int64_t vector_bytes) : nest_(std::move(nest)), vector_bytes_(vector_bytes) {}

  LoopNest run() {
    const size_t count = nest_.nodes.size();
    for (NodeId id = 0; id < count; ++id)
      if (const auto* loop = std::get_if<Loop>(&nest_.nodes[id]))
        if (const int64_t lanes = lanes_of(*loop); lanes > 1) replace(id, *loop, lanes);
    return std::move(nest_);
  }

 private:
  /// The Compute in conditions under a loop; null where there is something else.
  const Compute* only_compute(NodeId id) const {
    if (const auto* branch = std::get_if<If>(&nest_.nodes[id]))
      return branch->otherwise == kNoNode ? only_compute(branch->then) : nullptr;
    return std::get_if<Compute>(&nest_.nodes[id]);
  }

  /// 0: the loop stays as it is.
  int64_t lanes_of(const Loop& loop) const {
    const Compute* compute = loop.mark.kind == MarkKind::serial && loop.step == 1 && !loop.mark.non_temporal
                                 ? only_compute(loop.body)
                                 : nullptr;
    if (!compute || compute->dst.size() != 1 || compute->how == Write::merge || compute->reducer == Reducer::combiner)
      return 0;
    const Access& target = compute->dst[0];
    const Buffer& buffer = nest_.buffers[target.id];
    if (walk_of(target, loop.var) != Walk::along_rows || is_folded(buffer, target.index.size() - 1)) return 0;
    int64_t widest = size_bytes(buffer.type);
    bool fits = true;
    for (const Expr& e : compute->rhs)
      visit(e, [&](const ExprNode& node) {
        widest = std::max(widest, size_bytes(node.type));
        if (node.op == Op::read) fits = fits && reads_apart(node.access, target, loop.var);
      });
    return fits ? vector_bytes_ / widest : 0;
  }
  bool reads_apart(const Access& read, const Access& target, VarId var) const {
    const Walk walk = walk_of(read, var);
    if (walk == Walk::other || (walk == Walk::along_rows && is_folded(nest_.buffers[read.id], read.index.size() - 1)))
      return false;
    return read.id != target.id || same_cell(read, target) || are_apart(nest_.buffers[read.id], read, target, var);
  }

  void replace(NodeId id, const Loop loop, int64_t lanes) {
    const bool is_plain = loop.lo.of.size() == 1 && loop.hi.of.size() == 1;
    if (!is_plain) {
      nest_.nodes[id] = blocks(loop, loop.hi, lanes, false);
      return;
    }
    const Affine lo = loop.lo.of[0], hi = loop.hi.of[0], count = hi - lo;
    const NodeId rest_body = nest_.add(rest(loop, lo + lanes * floor_div(count, lanes), hi, lanes));
    If some;
    some.condition = guard_ge0(count - Affine::of(1));
    some.then = rest_body;
    Loop whole = blocks(loop, {{hi - Affine::of(lanes - 1)}}, lanes, true);
    const NodeId first = nest_.add(std::move(whole)), second = nest_.add(std::move(some));
    nest_.nodes[id] = Seq{{first, second}};
  }

  /// Vectors from the loop's first iteration on while they begin below `end`.
  Loop blocks(const Loop& loop, Bound end, int64_t lanes, bool are_whole) {
    Loop outer = loop;
    outer.var = nest_.new_loop_var(name_of(loop.var));
    outer.hi = std::move(end);
    outer.step = lanes;
    Loop inner = loop;
    const Affine start = Affine::variable(outer.var);
    inner.lo = {{start}};
    inner.hi = {{start + Affine::of(lanes)}};
    if (!are_whole) inner.hi.of.insert(inner.hi.of.end(), loop.hi.of.begin(), loop.hi.of.end());
    inner.mark.kind = MarkKind::vector;
    inner.mark.width = static_cast<int32_t>(lanes);
    outer.body = nest_.add(std::move(inner));
    return outer;
  }

  /// The last vector, with a body of its own.
  Loop rest(const Loop& loop, const Affine& start, const Affine& end, int64_t lanes) {
    Loop out = loop;
    out.var = nest_.new_loop_var(name_of(loop.var));
    out.lo = {{start}};
    out.hi = {{start + Affine::of(lanes), end}};
    out.mark.kind = MarkKind::vector;
    out.mark.width = static_cast<int32_t>(lanes);
    out.body = copy_subtree(nest_, loop.body, {{loop.var, Affine::variable(out.var)}});
    return out;
  }

  std::string name_of(VarId var) const { return nest_.loop_names[var - nest_.params.size()]; }

  LoopNest nest_;
  int64_t vector_bytes_;
};

}  // namespace

LoopNest vectorize_rows(LoopNest nest, int64_t vector_bytes) {
  return Rewriter(std::move(nest), vector_bytes).run();
}

}  // namespace polyweft::ir
