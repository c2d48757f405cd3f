#include "targets/common/nest_code.h"

#include <algorithm>

#include "ir/nests/shared_memory.h"
#include "ir/nests/workspace.h"
#include "support/abilities.h"
#include "targets/common/nest_walk.h"

namespace polyweft::targets {
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
      statements_(values(), memory_, accesses_, registers_, branches_, expressions_, combiners_),
      tile_instructions_(code),
      tile_places_(addresses(), registers_),
      tile_registers_(addresses()),
      tile_parts_(addresses(), tile_instructions_),
      tile_operands_(addresses(), tile_instructions_, tile_registers_, tile_parts_),
      tile_products_(tiles(), branches_),
      tile_sums_(tiles(), branches_, *this),
      heap_blocks_(addresses(), tile_instructions_),
      vector_loops_(addresses(), branches_, strided_lanes_),
      serial_loops_(addresses(), registers_, branches_, strided_lanes_, running_values_, division_, tile_products_,
                    *this),
      scan_loops_(addresses(), serial_loops_, vector_loops_, *this),
      interleaved_copies_(addresses(), registers_, vector_loops_),
      dot_products_(addresses(), registers_, memory_, vector_loops_, *this),
      unrolled_loops_(addresses(), serial_loops_, vector_loops_, running_values_, interleaved_copies_, dot_products_,
                      *this),
      matrix_products_(addresses(), registers_),
      tensor_loops_(addresses(), registers_, memory_, statements_, vector_loops_, matrix_products_, tile_products_),
      transpositions_(addresses(), registers_, branches_),
      late_blocks_(tiles(), registers_, branches_, serial_loops_, tile_products_, tile_sums_, *this),
      parallel_loops_(addresses(), branches_, heap_blocks_, tile_instructions_),
      async_copies_(addresses()),
      fragment_loops_(addresses(), branches_, serial_loops_, statements_, *this),
      axis_loops_(addresses(), branches_, serial_loops_, async_copies_, fragment_loops_, *this),
      streaming_stores_(addresses(), branches_),
      unit_loops_(addresses(), serial_loops_, *this) {}

TileState NestCode::tiles() {
  return {addresses(), tile_instructions_, tile_places_, tile_registers_, tile_parts_, tile_operands_};
}

int64_t NestCode::instructions() const {
  return static_cast<int64_t>(function_->getInstructionCount());
}

void NestCode::refuse_too_many() const {
  if (instructions() <= most_instructions_) return;
  throw Refusal{fail("PW0502",
                     "the unrolled code has " + std::to_string(instructions()) + " instructions, at most " +
                         std::to_string(most_instructions_),
                     {"use smaller unrolled or vector loops"})};
}

void NestCode::emit(NodeId id) {
  constexpr uint32_t kBetweenCounts = 1024;
  if (id == kNoNode) return;
  if (++emitted_ % kBetweenCounts == 0) refuse_too_many();
  if (!std::holds_alternative<Seq>(nest_.nodes[id])) {
    if (!async_copies_.only_copies(id)) async_copies_.finish();
    return emit_node(id);
  }
  emit_node(id);
  if (!async_copies_.only_copies(id)) async_copies_.finish();
}

void NestCode::emit_node(NodeId id) {
  if (axis_loops_.takes(id) || fragment_loops_.takes(id) || unit_loops_.takes(id)) return;
  if (tile_instructions_.begin_at(id)) return tile_instructions_.with_tiles(id, *this);
  std::visit([this](const auto& node) { on(node); }, nest_.nodes[id]);
}

void NestCode::emit_region(NodeId root) {
  const auto block = ir::block_of(nest_, root);
  if (!block) throw Refusal{block.error()};
  if (block->buffers.empty()) return emit(root);
  heap_blocks_.open_block(*block);
  emit(root);
  heap_blocks_.tell_apart(*block);
  heap_blocks_.close_block(*block);
}

void NestCode::emit_kernel(NodeId root) {
  axis_loops_.begin_kernel(root);
  emit(root);
  async_copies_.finish();
}

void NestCode::open_sizes(const std::vector<llvm::Value*>& values) {
  for (VarId p = 0; p < nest_.params.size(); ++p) {
    variables_.end_substitution(p);
    variables_.bind(p, values[p], ir::facts_of_size(nest_, p));
  }
  open_strides();
}

void NestCode::start_as_task(const Variables& outside, const Buffers& around) {
  variables_.start_as(outside);
  buffers_.start_as_task(around);
}

void NestCode::open_strides() {
  if (nest_.symbolic) strides_.set(integers_.strides());
}

void NestCode::on(const Compute& compute) {
  statements_.compute(compute);
}

void NestCode::on(const Copy& copy) {
  if (!async_copies_.takes(copy)) statements_.copy(copy);
}

void NestCode::on(const Seq& seq) {
  for (NodeId child : seq.children) emit(child);
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
  emit(node.then);
  masks_.guard_by(masks_.both_masks(outer.mask, b_.CreateNot(chosen)), outer.may_read);
  emit(node.otherwise);
  masks_.set(outer);
}

void NestCode::vector_loop(const Loop& loop) {
  if (lanes_.width > 1 || !first_lane(loop)) return serial_loops_.serial_loop(loop);
  if (async_copies_.takes(loop)) return;
  vector_loops_.over_lanes(loop, [&] { emit(loop.body); });
}

void NestCode::on(const Loop& loop) {
  const VarFacts facts = variables_.loop_facts(loop);
  if (facts.hi < facts.lo || does_nothing(loop.body)) return;
  switch (loop.mark.kind) {
    case MarkKind::unroll:
      return streaming_stores_.with_streams(loop, [&] { unrolled_loops_.unroll_loop(loop); });
    case MarkKind::vector:
      return streaming_stores_.with_streams(loop, [&] { vector_loop(loop); });
    case MarkKind::parallel:
      return parallel_loops_.parallel_loop(loop);
    case MarkKind::tensor:
      if (tensor_loops_.tensor_loop(loop)) return;
      return is_tile_loop(loop) ? serial_loops_.serial_loop(loop) : unrolled_loops_.unroll_loop(loop);
    default: {
      const std::vector<BufferId> opened = heap_blocks_.open_symbolic_inside(loop.body);
      const bool is_done = (is_on("code.transposing_copies") && transpositions_.transposing_copy(loop)) ||
                           (is_on("code.transposing_groups") && transpositions_.transposing_groups(loop)) ||
                           (is_on("code.late_loops") && late_blocks_.late_loop(loop));
      if (!is_done) streaming_stores_.with_streams(loop, [&] { scan_loops_.serial_or_scan(loop); });
      for (size_t k = opened.size(); k-- > 0;) {
        heap_blocks_.free_last();
        buffers_.remove(opened[k]);
      }
    }
  }
}

/// Barriers are for backends whose code runs on several threads at once: they lower them, or refuse them before.
void NestCode::on(const Sync& sync) {
  if (sync.is_of_copies()) return async_copies_.meet(sync);
  throw Refusal{fail("PW0523", "code for one thread has no barriers")};
}

void NestCode::on(const Alloc& alloc) {
  const Buffer& buffer = nest_.buffers[alloc.buffer];
  if (buffer.scope == Scope::reg && registers_.open(alloc.buffer, alloc.body)) {
    emit(alloc.body);
    return registers_.close(alloc.buffer);
  }
  if (fragment_loops_.allocates(alloc) || unit_loops_.allocates(alloc)) return;
  if (buffer.scope == Scope::tile) return tile_sums_.allocate_tiles(alloc.buffer, alloc.body);
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

void NestCode::allocate_symbolic(BufferId id, NodeId body) {
  heap_blocks_.open_symbolic(id);
  emit(body);
  heap_blocks_.free_last();
  buffers_.remove(id);
}

void NestCode::allocate_stack(BufferId id, NodeId body) {
  const Buffer& buffer = nest_.buffers[id];
  buffers_.place(id, on_stack(scalar_.memory_type(buffer.type), allocated_elements(buffer), buffer.name));
  emit(body);
  buffers_.remove(id);
}

}  // namespace polyweft::targets
