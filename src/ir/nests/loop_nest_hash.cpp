// The identity of a LoopNest: BLAKE2b-128 of the text of its canonical form. The canonical form has no names,
// parameters replaced by their values (of symbolic nests: numbered), loops of one iteration replaced by that iteration,
// sequences flattened, variables and buffers numbered in order of binding. Two nests with one hash compute the same in
// the same order.
#include <map>

#include "ir/text/loop_nest_text.h"
#include "support/hash.h"

namespace polyweft {
namespace {

class Canonizer {
 public:
  explicit Canonizer(const LoopNest& nest) : nest_(nest) {}

  LoopNest whole() {
    out_.cls = nest_.cls;
    out_.auto_vectorized = nest_.auto_vectorized;
    out_.avoids_gathers = nest_.avoids_gathers;
    out_.online = nest_.online;
    out_.combiners = nest_.combiners;
    for (Combiner& c : out_.combiners) c.name.clear();
    if (nest_.symbolic) {
      out_.symbolic = true;
      out_.assumptions = nest_.assumptions;
      out_.params.resize(nest_.params.size());
    } else {
      for (VarId p = 0; p < nest_.params.size(); ++p) values_[p] = Affine::of(nest_.params[p].value);
    }
    for (BufferId id : nest_.arguments) out_.arguments.push_back(buffer(id));
    for (BufferId id = 0; id < nest_.buffers.size(); ++id)
      if (nest_.buffers[id].scope == Scope::constant) buffer(id);
    for (const Pack& p : nest_.packs) {
      BufferId source = buffer(p.source), packed = buffer(p.packed);
      out_.packs.push_back({source, packed, single(body(p.root))});
    }
    out_.root = single(body(nest_.root));
    return std::move(out_);
  }

 private:
  BufferId buffer(BufferId id) {
    auto [at, is_new] = buffers_.emplace(id, static_cast<BufferId>(out_.buffers.size()));
    if (is_new) {
      Buffer b = nest_.buffers[id];
      b.name.clear();
      for (Affine& e : b.element) e = affine(e);
      out_.buffers.push_back(std::move(b));
      const BufferId number = at->second;
      if (const auto& within = nest_.buffers[id].within) {
        const BufferId host = buffer(within->host);
        out_.buffers[number].within->host = host;
      }
      return number;
    }
    return at->second;
  }

  Affine affine(const Affine& e) const { return substitute(e, values_); }

  /// The nodes that stand for one node: none for an empty loop, several for a sequence.
  std::vector<NodeId> body(NodeId id) {
    return std::visit([&](const auto& node) { return put(node); }, nest_.nodes[id]);
  }

  NodeId single(std::vector<NodeId> nodes) { return nodes.size() == 1 ? nodes[0] : out_.add(Seq{std::move(nodes)}); }

  std::vector<NodeId> put(const Seq& seq) {
    std::vector<NodeId> all;
    for (NodeId child : seq.children)
      for (NodeId id : body(child)) all.push_back(id);
    return all;
  }

  std::vector<NodeId> put(const Loop& loop) {
    Loop copy = loop;
    for (Affine& e : copy.lo.of) e = affine(e);
    for (Affine& e : copy.hi.of) e = affine(e);
    if (runs_once(copy)) {
      values_[loop.var] = copy.lo.of[0];
      return body(loop.body);
    }
    copy.var = out_.new_loop_var("");
    for (Prefetch& ahead : copy.mark.prefetch) ahead.buffer = buffer(ahead.buffer);
    values_[loop.var] = Affine::variable(copy.var);
    copy.body = single(body(loop.body));
    return {out_.add(std::move(copy))};
  }

  static bool runs_once(const Loop& loop) {
    if (loop.lo.of.size() != 1) return false;
    bool once = false;
    for (const Affine& hi : loop.hi.of) {
      Affine extent = hi - loop.lo.of[0];
      if (!extent.is_constant() || extent.constant <= 0) return false;
      once |= extent.constant <= loop.step;
    }
    return once;
  }

  std::vector<NodeId> put(const If& branch) {
    If copy;
    copy.condition = substitute(branch.condition, values_);
    copy.then = single(body(branch.then));
    if (branch.otherwise != kNoNode) copy.otherwise = single(body(branch.otherwise));
    return {out_.add(std::move(copy))};
  }

  std::vector<NodeId> put(const Alloc& alloc) {
    BufferId id = buffer(alloc.buffer);
    NodeId inner = single(body(alloc.body));
    return {out_.add(Alloc{id, inner})};
  }

  std::vector<NodeId> put(const Sync& sync) { return {out_.add(sync)}; }

  std::vector<NodeId> put(const Copy& c) {
    Copy copy = c;
    copy.dst = access(c.dst);
    if (c.has_src) copy.src = access(c.src);
    copy.valid = substitute(c.valid, values_);
    return {out_.add(std::move(copy))};
  }

  std::vector<NodeId> put(const Compute& c) {
    Compute copy = c;
    for (Affine& e : copy.instance) e = affine(e);
    for (Access& a : copy.dst) a = access(a);
    for (Expr& e : copy.rhs) e = expression(e);
    return {out_.add(std::move(copy))};
  }

  Access access(const Access& a) {
    Access copy = a;
    copy.id = buffer(a.id);
    for (Subscript& s : copy.index) {
      s.affine = affine(s.affine);
      s.lo = affine(s.lo);
      s.hi = affine(s.hi);
      s.data = expression(s.data);
    }
    return copy;
  }

  Expr expression(const Expr& e) {
    if (!e) return e;
    auto copy = std::make_shared<ExprNode>(*e);
    for (Expr& arg : copy->args) arg = expression(arg);
    if (e->op == Op::read) copy->access = access(e->access);
    if (e->op == Op::guarded) copy->guard = substitute(e->guard, values_);
    if (e->op == Op::affine) copy->affine = affine(e->affine);
    if (e->op == Op::variable) {
      copy->op = Op::affine;
      copy->affine = affine(Affine::variable(e->var));
      copy->var = kNoVar;
    }
    return copy;
  }

  const LoopNest& nest_;
  LoopNest out_;
  std::map<VarId, Affine> values_;
  std::map<BufferId, BufferId> buffers_;
};

}  // namespace

std::string hash(const LoopNest& nest) {
  return hex(blake2b_128(print(Canonizer(nest).whole())));
}

}  // namespace polyweft
