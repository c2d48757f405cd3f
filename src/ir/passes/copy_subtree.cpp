#include "ir/passes/copy_subtree.h"

namespace polyweft::ir {
namespace {

class Copier {
 public:
  Copier(LoopNest& nest, VariableValues values) : nest_(nest), values_(std::move(values)) {}

  NodeId copied(NodeId id) {
    if (id == kNoNode) return kNoNode;
    const Node node = nest_.nodes[id];  // by value: the list of nodes grows
    return nest_.add(std::visit([&](const auto& each) -> Node { return copy(each); }, node));
  }

 private:
  Seq copy(const Seq& seq) {
    Seq out;
    for (const NodeId child : seq.children) out.children.push_back(copied(child));
    return out;
  }
  If copy(const If& branch) {
    const NodeId then = copied(branch.then), otherwise = copied(branch.otherwise);
    return {substitute(branch.condition, values_), then, otherwise};
  }
  static Alloc copy(const Alloc& alloc) {
    PW_CHECK(false);
    return alloc;
  }
  Compute copy(const Compute& compute) { return ir::substitute(compute, values_); }
  Copy copy(const Copy& copy) {
    Copy out = copy;
    out.dst = ir::substitute(copy.dst, values_);
    if (copy.has_src) out.src = ir::substitute(copy.src, values_);
    out.valid = substitute(copy.valid, values_);
    return out;
  }
  Loop copy(const Loop& loop) {
    Loop out = loop;
    for (Bound* bound : {&out.lo, &out.hi})
      for (Affine& e : bound->of) e = substitute(e, values_);
    out.var = nest_.new_loop_var(nest_.loop_names[loop.var - nest_.params.size()]);
    values_[loop.var] = Affine::variable(out.var);
    out.body = copied(loop.body);
    values_.erase(loop.var);
    return out;
  }
  static Sync copy(const Sync& sync) { return sync; }

  LoopNest& nest_;
  VariableValues values_;
};

}  // namespace

Access substitute(const Access& access, const VariableValues& values) {
  Access out = access;
  for (Subscript& s : out.index) {
    s.affine = substitute(s.affine, values);
    s.lo = substitute(s.lo, values);
    s.hi = substitute(s.hi, values);
    if (s.data) s.data = substitute(s.data, values);
  }
  return out;
}

Compute substitute(const Compute& compute, const VariableValues& values) {
  Compute out = compute;
  for (Affine& e : out.instance) e = substitute(e, values);
  for (Access& access : out.dst) access = substitute(access, values);
  for (Expr& e : out.rhs) e = substitute(e, values);
  return out;
}

NodeId copy_subtree(LoopNest& nest, NodeId id, VariableValues values) {
  return Copier(nest, std::move(values)).copied(id);
}

}  // namespace polyweft::ir
