// Scalar replacement across iterations: what an innermost loop stores and its next iteration reads again stays in a register. A recurrence D[i, j] over D[i, j-1] then
// waits for its arithmetic and not for memory, and the compiler's vectorizers see a value of the last iteration, not a store that may meet a load.
//
//   for j: D[i, j] = f(D[i, j - 1], ..)     ->     d = D[i, lo - 1];  for j: d = f(d, ..), D[i, j] = d
//
// Legal where no other statement of the loop stores there until then and the read stands a step behind it: the element was stored by the iteration before. One
// of two or three steps behind goes through as many registers. Rows side by side (an unrolled loop inside) have a register each.
#include <algorithm>

#include "targets/common/nest_code.h"

namespace polyweft::targets {
namespace {

/// Elements read by an expression, under guards too.
void collect_reads(const Expr& e, std::vector<const Access*>& out) {
  if (e->op == Op::read) out.push_back(&e->access);
  for (const Expr& arg : e->args) collect_reads(arg, out);
}

/// The element that an earlier iteration stores.
Access steps_back(const Access& stored, VarId var, int64_t steps) {
  Access out = stored;
  for (Subscript& s : out.index) s.affine = substitute(s.affine, {{var, Affine::variable(var) - Affine::of(steps)}});
  return out;
}

/// Does some dimension keep the two in different cells, whatever the variables are?
bool lie_apart(const Access& a, const Access& b, const Buffer& buffer) {
  for (uint32_t d = 0; d < a.index.size(); ++d) {
    if (a.index[d].data || b.index[d].data) continue;
    const Affine difference = a.index[d].affine - b.index[d].affine;
    const auto fold = std::find_if(buffer.folds.begin(), buffer.folds.end(), [&](const Fold& each) { return each.dim == d; });
    if (difference.is_constant() && (fold == buffer.folds.end() ? difference.constant : difference.constant % fold->window) != 0) return true;
  }
  return false;
}

/// Are the subscripts of an element inside the buffer's extents?
Guard is_within(const Access& access, const Buffer& buffer) {
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

Access NestCode::folded(const Access& access) const {
  Access out = access;
  for (Subscript& s : out.index) s.affine = fold(s.affine);
  return out;
}

/// What an iteration does, unrolled loops written out and conditions decided. False where something else is in it.
bool NestCode::collect_instances(NodeId id, std::vector<Instance>& out) {
  constexpr size_t kMostInstances = 128;
  if (id == kNoNode) return true;
  if (out.size() > kMostInstances) return false;
  const Node& node = nest_.nodes[id];
  if (const auto* seq = std::get_if<Seq>(&node))
    return std::all_of(seq->children.begin(), seq->children.end(), [&](NodeId child) { return collect_instances(child, out); });
  if (const auto* choice = std::get_if<If>(&node)) {
    const auto known = facts_.decide(fold(choice->condition));
    return known && collect_instances(*known ? choice->then : choice->otherwise, out);
  }
  if (const auto* loop = std::get_if<Loop>(&node)) {
    const auto trips = loop->mark.kind == MarkKind::unroll ? constant_trips(*loop, fold(loop->lo.of[0])) : std::nullopt;
    if (!trips || *trips > static_cast<int64_t>(kMostInstances)) return false;
    const Affine lo = fold(loop->lo.of[0]);
    bool all = true;
    for (int64_t n = 0; n < *trips && all; n += loop->step) {
      substitution_[loop->var] = lo + Affine::of(n);
      all = collect_instances(loop->body, out);
    }
    substitution_.erase(loop->var);
    return all;
  }
  const auto* compute = std::get_if<Compute>(&node);
  if (!compute) return false;
  Instance& made = out.emplace_back();
  made.compute = compute;
  made.at = substitution_;
  for (const Access& dst : compute->dst) made.stores.push_back(folded(dst));
  std::vector<const Access*> reads;
  for (const Expr& rhs : compute->rhs) collect_reads(rhs, reads);
  for (const Access* read : reads) made.reads.push_back(folded(*read));
  return true;
}

/// Of a loop without other loops inside than those that are written out.
std::vector<NestCode::Carried> NestCode::carried_along(const Loop& loop, const VarFacts& facts) {
  if (nest_.symbolic || loop.step != 1 || lanes_.width > 1) return {};
  const Facts outside = facts_;
  facts_.set(loop.var, facts);
  std::vector<Instance> instances;
  std::vector<Carried> out;
  if (collect_instances(loop.body, instances))
    for (size_t k = 0; k < instances.size(); ++k) add_carried(loop, instances, k, out);
  facts_ = outside;
  // The compiler's own passes split what has no room in registers; elsewhere the values stay where they are.
  const auto most = static_cast<size_t>(scalar_.can().carried_values);
  return nest_.auto_vectorized || out.size() <= most ? out : std::vector<Carried>{};
}

/// What instance `k` stores, as far as later iterations read it. It must be the only one that stores there until then.
void NestCode::add_carried(const Loop& loop, const std::vector<Instance>& instances, size_t k, std::vector<Carried>& out) const {
  constexpr int64_t kMostSteps = 3;
  const Instance& instance = instances[k];
  if (instance.compute->how != Write::store || instance.stores.size() != 1) return;
  const Access& dst = instance.stores[0];
  const Buffer& buffer = nest_.buffers[dst.id];
  const bool is_shared = std::any_of(sharers_[dst.id].begin(), sharers_[dst.id].end(), [&](BufferId other) { return touches(loop.body, other); });
  if (has_data(dst) || short_[dst.id] || in_registers(dst.id) || is_shared || !is_held_as_stored(buffer.type)) return;
  std::vector<Carried> steps;
  size_t needed = 0;
  for (int64_t n = 1; n <= kMostSteps; ++n) {
    const Access before = steps_back(dst, loop.var, n);
    // A cell that the loop does not move is kept by nest_cells.cpp, without its stores.
    if (n > 1 || !nest_.auto_vectorized ? !lie_apart(before, dst, buffer) : same_element(before, dst)) break;
    bool is_read = false, is_alone = true;
    for (size_t other = 0; other < instances.size(); ++other) {
      const bool reads = std::any_of(instances[other].reads.begin(), instances[other].reads.end(), [&](const Access& read) { return same_element(read, before); });
      is_read |= reads;
      // Behind the store the cell may hold what this iteration stored.
      is_alone &= !reads || other <= k || buffer.folds.empty();
      for (const Access& store : instances[other].stores)
        is_alone &= other == k || store.id != dst.id || (lie_apart(store, before, buffer) && (n > 1 || lie_apart(store, dst, buffer)));
    }
    if (!is_alone) break;
    steps.push_back({dst, before, nullptr, nullptr, false, n > 1});
    if (is_read) needed = steps.size();
  }
  out.insert(out.end(), steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(needed));
}

/// What the first iteration reads. Where a guard keeps it from reading, the element may lie outside, and any value will do.
llvm::Value* NestCode::first_carried(const Access& read) {
  const Buffer& buffer = nest_.buffers[read.id];
  const Guard inside = fold(is_within(read, buffer));
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
  const Access at = folded(access);
  for (const Carried& each : carried_)
    if (each.lanes == 0 && same_element(each.read, at)) return each.phi;
  for (const Carried& each : carried_)
    if (each.lanes == 0 && each.is_made && !each.is_older && same_element(each.stored, at)) return each.last;
  return nullptr;
}

void NestCode::note_carried(const Access& access, llvm::Value* value) {
  if (carried_.empty()) return;
  const Access at = folded(access);
  for (Carried& each : carried_)
    if (each.lanes == 0 && !each.is_older && same_element(each.stored, at)) each.last = value, each.is_made = true;
}

bool NestCode::reads_carried(const Expr& e) const {
  return (e->op == Op::read && carried_value(e->access)) || std::any_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return reads_carried(arg); });
}

}  // namespace polyweft::targets
