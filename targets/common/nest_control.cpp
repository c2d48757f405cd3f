// The tree of a nest: sequences, conditions, buffers, and which kind of loop a loop is; stores past the caches, which
// exist twice.
#include <algorithm>

#include "support/abilities.h"
#include "targets/common/nest_code.h"
#include "targets/common/nest_walk.h"

namespace polyweft::targets {
namespace {

constexpr uint64_t kTaskAlignment = 64;

}  // namespace

NestCode::NestCode(const NewFunction& of, std::vector<llvm::Value*> bases)
    : AddressParts(of, std::move(bases), *this),
      MemoryPart(addresses()),
      registers_(values()),
      accesses_(addresses()),
      prefetches_(addresses()),
      strided_lanes_(addresses(), accesses_, registers_),
      aligned_pairs_(addresses(), accesses_, prefetches_),
      neighbour_loads_(addresses(), accesses_, prefetches_, registers_),
      memory_(addresses(), registers_, accesses_, prefetches_, strided_lanes_, aligned_pairs_, neighbour_loads_),
      branches_(addresses(), registers_, strided_lanes_),
      division_(values()),
      running_values_(addresses(), accesses_, branches_, *this),
      exact_integers_(values(), branches_, *this),
      expressions_(values(), memory_, registers_, branches_, division_, running_values_),
      combiners_(values(), expressions_),
      statements_(values(), memory_, accesses_, registers_, branches_, expressions_, combiners_) {
  scan_for_tiles();
}

int64_t NestCode::instructions() const {
  return static_cast<int64_t>(function_->getInstructionCount());
}

void NestCode::emit(NodeId id) {
  if (id == kNoNode) return;
  if (!tiles_on_ && !tile_nodes_.empty() && tile_nodes_[id]) return with_tiles(id);
  std::visit([this](const auto& node) { on(node); }, nest_.nodes[id]);
}

void NestCode::on(const Compute& compute) {
  statements_.compute(compute);
}

void NestCode::on(const Copy& copy) {
  statements_.copy(copy);
}

void NestCode::on(const Seq& seq) {
  for (NodeId child : seq.children) emit(child);
}

bool NestCode::touches(NodeId id, BufferId buffer) const {
  bool found = false;
  visit_accesses(nest_, id, [&](const Access& access, bool) { found |= access.id == buffer; });
  return found;
}

/// Loops and conditions around statements that move values to the cells in which they lie.
bool NestCode::does_nothing(NodeId id) {
  if (id == kNoNode) return true;
  if (idle_.empty()) idle_.assign(nest_.nodes.size(), -1);
  if (idle_[id] >= 0) return idle_[id] > 0;
  const Node& node = nest_.nodes[id];
  bool out = false;
  if (const auto* seq = std::get_if<Seq>(&node)) {
    out = std::all_of(seq->children.begin(), seq->children.end(), [&](NodeId child) { return does_nothing(child); });
  } else if (const auto* choice = std::get_if<If>(&node)) {
    out = does_nothing(choice->then) && does_nothing(choice->otherwise);
  } else if (const auto* loop = std::get_if<Loop>(&node)) {
    out = does_nothing(loop->body);
  } else if (const auto* compute = std::get_if<Compute>(&node);
             compute && compute->how == Write::store && compute->dst.size() == 1) {
    const Expr& value = compute->rhs[0];
    if (value->op == Op::read && value->access.id == compute->dst[0].id && !registers_.in_registers(value->access.id) &&
        !strides_.is_symbolic(value->access.id) && !has_data(value->access) && !has_data(compute->dst[0])) {
      std::vector<Affine> from, to;
      for (const Subscript& s : value->access.index) from.push_back(s.affine);
      for (const Subscript& s : compute->dst[0].index) to.push_back(s.affine);
      const Facts nothing;
      out =
          nothing.offset(nest_.buffers[value->access.id], from) == nothing.offset(nest_.buffers[value->access.id], to);
    } else if (value->op == Op::read) {
      out = ir::stays_in_place(nest_, *compute, value->access.id);
    }
  }
  idle_[id] = out;
  return out;
}

// A loop takes its time for lanes that are all off, too: it is branched around then.
void NestCode::emit_if_any_lane(NodeId id, std::optional<double> share) {
  if (is_straight(nest_, id, false) || !is_on("code.any_lane")) return emit(id);
  branches_.branch(
      b_.CreateOrReduce(lanes_.mask), [&] { emit(id); }, [] {}, branches_.weights(share));
}

void NestCode::on(const If& node) {
  if (does_nothing(node.then) && does_nothing(node.otherwise)) return;
  const Guard g = fold(node.condition);
  if (const auto known = facts_.decide(g)) return emit(*known ? node.then : node.otherwise);
  if (!integers_.depends_on_lane(g)) {
    const Facts before = facts_;
    const auto side = [&](bool holds) {
      variables_.assume(g, holds);
      emit(holds ? node.then : node.otherwise);
      variables_.restore(before);
    };
    return branches_.branch(
        integers_.condition(g), [&] { side(true); }, [&] { side(false); },
        branches_.weights(branches_.share_of(&node)));
  }
  llvm::Value* chosen = scalar_.splat(
      integers_.condition(g), lanes_.width);  // what is known of some parts may leave nothing of the lanes in it
  const Lanes outer = lanes_;
  llvm::Value* mask = masks_.both_masks(outer.mask, chosen);
  masks_.guard_by(mask, integers_.condition_of_all_lanes(g, outer.may_read));
  const auto share = branches_.share_of(&node);
  emit_if_any_lane(node.then, share);
  masks_.guard_by(masks_.both_masks(outer.mask, b_.CreateNot(chosen)), outer.may_read);
  emit_if_any_lane(node.otherwise, share ? std::optional(1 - *share) : std::nullopt);
  masks_.set(outer);
}

void NestCode::on(const Loop& loop) {
  const VarFacts facts = variables_.loop_facts(loop);
  if (facts.hi < facts.lo || does_nothing(loop.body)) return;
  switch (loop.mark.kind) {
    case MarkKind::unroll:
      return with_streams(loop, [&] { unroll_loop(loop); });
    case MarkKind::vector:
      return with_streams(loop, [&] { vector_loop(loop); });
    case MarkKind::parallel:
      return parallel_loop(loop);
    case MarkKind::tensor:
      return tensor_loop(loop);
    default: {
      const std::vector<BufferId> opened = open_symbolic_inside(loop.body);
      const bool is_done = (is_on("code.transposing_copies") && transposing_copy(loop)) ||
                           (is_on("code.transposing_groups") && transposing_groups(loop)) ||
                           (is_on("code.late_loops") && late_loop(loop));
      if (!is_done) with_streams(loop, [&] { serial_or_scan(loop); });
      for (size_t k = opened.size(); k-- > 0;) {
        free_last();
        buffers_.remove(opened[k]);
      }
    }
  }
}

/// Arguments that vector loops in there store past the caches.
std::vector<BufferId> NestCode::streamed_arguments(NodeId id) const {
  std::vector<BufferId> out;
  walk_nodes(nest_, id, [&](const Node& node) {
    if (const auto* loop = std::get_if<Loop>(&node)) add_streamed_by(*loop, out);
    return true;
  });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void NestCode::add_streamed_by(const Loop& loop, std::vector<BufferId>& out) const {
  if (!loop.mark.non_temporal) return;
  visit_accesses(nest_, loop.body, [&](const Access& access, bool written) {
    if (written && nest_.buffers[access.id].scope == Scope::argument) out.push_back(access.id);
  });
}

void NestCode::fence_after(NodeId id) {
  if (!streamed_arguments(id).empty()) b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
}

/// Stores past the caches want whole lines, and an argument's address is known at the call only: the code exists twice,
/// an innermost loop or, where sums are stored behind theirs, what is written out of the block.
void NestCode::with_streams(const Loop& loop, const std::function<void()>& code) {
  std::vector<BufferId> open;
  if (lanes_.width == 1 && is_straight(nest_, loop.body, false)) {
    std::vector<BufferId> streamed = streamed_arguments(loop.body);
    add_streamed_by(loop, streamed);
    for (BufferId id : streamed)
      if (!buffers_.is_tested(id) && std::find(open.begin(), open.end(), id) == open.end()) open.push_back(id);
  }
  if (open.empty()) return code();
  llvm::Value* together = b_.getInt64(0);
  for (BufferId id : open) together = b_.CreateOr(together, b_.CreatePtrToInt(buffers_.base_of(id), b_.getInt64Ty()));
  llvm::Value* is_aligned = b_.CreateICmpEQ(b_.CreateAnd(together, b_.getInt64(kTaskAlignment - 1)), b_.getInt64(0));
  const auto with = [&](bool aligned) {
    for (BufferId id : open) buffers_.tell_alignment(id, aligned);
    code();
    for (BufferId id : open) buffers_.forget_alignment(id);
  };
  branches_.branch(
      is_aligned, [&] { with(true); }, [&] { with(false); });
}

/// Barriers are for backends whose code runs on several threads at once: they lower them, or refuse them before.
void NestCode::on(const Sync&) {
  throw Refusal{fail("PW0523", "code for one thread has no barriers")};
}

void NestCode::on(const Alloc& alloc) {
  const Buffer& buffer = nest_.buffers[alloc.buffer];
  if (buffer.scope == Scope::reg && registers_.open(alloc.buffer, alloc.body)) {
    emit(alloc.body);
    return registers_.close(alloc.buffer);
  }
  if (buffer.scope == Scope::tile) return allocate_tiles(alloc.buffer, alloc.body);
  if (strides_.is_symbolic(alloc.buffer))
    return bases_[alloc.buffer] ? emit(alloc.body) : allocate_symbolic(alloc.buffer, alloc.body);
  if (bases_[alloc.buffer]) return emit(alloc.body);  // in the region's block
  if (buffer.within) {
    buffers_.place(alloc.buffer,
                   b_.CreateInBoundsGEP(b_.getInt8Ty(), buffers_.base_of(buffer.within->host),
                                        b_.getInt64(static_cast<uint64_t>(buffer.within->at_bytes)), buffer.name));
    emit(alloc.body);
    buffers_.remove(alloc.buffer);
    return;
  }
  allocate_stack(alloc.buffer, alloc.body);
}

}  // namespace polyweft::targets
