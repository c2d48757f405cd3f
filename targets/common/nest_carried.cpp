// Scalar replacement across iterations: what an innermost loop stores and its next iteration reads again stays in a register. A recurrence D[i, j] over D[i, j-1] then
// waits for its arithmetic and not for memory, and the compiler's vectorizers see a value of the last iteration, not a store that may meet a load.
//
//   for j: D[i, j] = f(D[i, j - 1], ..)     ->     d = D[i, lo - 1];  for j: d = f(d, ..), D[i, j] = d
//
// Legal where one statement of the loop stores to the buffer and the read stands a step behind it: the element was stored by the iteration before.
#include <algorithm>

#include "targets/common/nest_code.h"

namespace polyweft::targets {
namespace {

bool same_element(const Access& a, const Access& b) {
  return a.id == b.id && a.index.size() == b.index.size() &&
         std::equal(a.index.begin(), a.index.end(), b.index.begin(), [](const Subscript& x, const Subscript& y) { return !x.data && !y.data && x.affine == y.affine; });
}

/// Statements of a loop's body; empty where something else is in it.
std::vector<const Compute*> statements_of(const LoopNest& nest, NodeId id) {
  if (const auto* compute = std::get_if<Compute>(&nest.nodes[id])) return {compute};
  std::vector<const Compute*> out;
  const auto* seq = std::get_if<Seq>(&nest.nodes[id]);
  for (NodeId child : seq ? seq->children : std::vector<NodeId>{}) {
    const auto inside = statements_of(nest, child);
    if (inside.empty()) return {};
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

/// Reads that iterations do, under guards too.
void collect_reads(const Expr& e, std::vector<const Access*>& out) {
  if (e->op == Op::read) out.push_back(&e->access);
  for (const Expr& arg : e->args) collect_reads(arg, out);
}

/// The element that the iteration before stores.
Access one_step_back(const Access& stored, VarId var) {
  Access out = stored;
  for (Subscript& s : out.index) s.affine = substitute(s.affine, {{var, Affine::variable(var) - Affine::of(1)}});
  return out;
}

/// Are the subscripts of an element inside the buffer's extents?
Guard is_inside(const Access& access, const Buffer& buffer) {
  std::vector<Guard> all;
  for (size_t d = 0; d < access.index.size(); ++d) {
    all.push_back(guard_ge0(access.index[d].affine));
    all.push_back(guard_ge0(Affine::of(buffer.extents[d] - 1) - access.index[d].affine));
  }
  return guard_all(std::move(all));
}

bool is_held_as_stored(ElementType type) {
  return type != ElementType::f16 && type != ElementType::bf16 && type != ElementType::boolean;
}

}  // namespace

/// Of a loop without loops inside.
std::vector<NestCode::Carried> NestCode::carried_along(const Loop& loop) const {
  std::vector<Carried> out;
  if (!nest_.auto_vectorized || nest_.symbolic || loop.step != 1) return out;
  const std::vector<const Compute*> statements = statements_of(nest_, loop.body);
  std::vector<int> stores(nest_.buffers.size(), 0);
  for (const Compute* s : statements)
    for (const Access& dst : s->dst) ++stores[dst.id];
  std::vector<const Access*> reads, later;
  const auto is_in = [](const std::vector<const Access*>& some, const Access& element) {
    return std::any_of(some.begin(), some.end(), [&](const Access* read) { return same_element(*read, element); });
  };
  for (size_t k = 0; k < statements.size(); ++k) {
    const Compute* s = statements[k];
    for (const Expr& rhs : s->rhs) collect_reads(rhs, reads);
    const Access& dst = s->dst[0];
    const bool is_alone = s->dst.size() == 1 && s->how == Write::store && stores[dst.id] == 1 && !has_data(dst) && !short_[dst.id];
    const bool is_shared = std::any_of(sharers_[dst.id].begin(), sharers_[dst.id].end(), [&](BufferId other) { return touches(loop.body, other); });
    if (!is_alone || is_shared || !is_held_as_stored(nest_.buffers[dst.id].type)) continue;
    const Access before = one_step_back(dst, loop.var);
    if (same_element(before, dst)) continue;
    later.clear();
    for (size_t after = k + 1; after < statements.size(); ++after)
      for (const Expr& rhs : statements[after]->rhs) collect_reads(rhs, later);
    // Behind the store the cell may hold what this iteration stored.
    const bool may_be_taken = !nest_.buffers[dst.id].folds.empty() && is_in(later, before);
    if (!may_be_taken && (is_in(reads, before) || is_in(later, before))) out.push_back({dst, before, nullptr, nullptr});
  }
  return out;
}

/// What the first iteration reads. Where a guard keeps it from reading, the element may lie outside, and any value will do.
llvm::Value* NestCode::first_carried(const Access& read) {
  const Buffer& buffer = nest_.buffers[read.id];
  const Guard inside = fold(is_inside(read, buffer));
  llvm::Value* none = llvm::Constant::getNullValue(scalar_.register_type(buffer.type));
  const auto known = facts_.decide(inside);
  if (known) return *known ? load_place(place_of(read), buffer.type) : none;
  llvm::BasicBlock *loaded = nullptr, *skipped = nullptr;
  llvm::Value* value = nullptr;
  branch(
      condition(inside), [&] { value = load_place(place_of(read), buffer.type), loaded = b_.GetInsertBlock(); }, [&] { skipped = b_.GetInsertBlock(); });
  llvm::PHINode* phi = llvm::PHINode::Create(value->getType(), 2, "", b_.GetInsertBlock()->begin());
  phi->addIncoming(value, loaded);
  phi->addIncoming(none, skipped);
  return phi;
}

/// In a block that runs once before the first iteration; `lo` is its value of the variable.
void NestCode::load_carried(const Loop& loop, llvm::Value* lo, const VarFacts& facts, std::vector<Carried>& carried) {
  const auto integers = integers_;
  const Facts outside = facts_;
  bind_variable(loop.var, lo, facts);
  for (Carried& each : carried) each.last = first_carried(each.read);
  variables_.erase(loop.var);
  facts_ = outside;
  integers_ = integers;
  loads_.clear();
}

/// The register of what the last iteration stored; null where the access is none of these.
llvm::Value* NestCode::carried_value(const Access& access) const {
  for (const Carried& each : carried_)
    if (same_element(each.read, access)) return each.phi;
  return nullptr;
}

void NestCode::note_carried(const Access& access, llvm::Value* value) {
  for (Carried& each : carried_)
    if (same_element(each.stored, access)) each.last = value;
}

bool NestCode::reads_carried(const Expr& e) const {
  return (e->op == Op::read && carried_value(e->access)) || std::any_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return reads_carried(arg); });
}

}  // namespace polyweft::targets
