#include "ir/instantiate/emitter.h"

#include <set>
#include <utility>

#include "ir/instantiate/conditions.h"
#include "ir/instantiate/tensor_buffers.h"
#include "ir/instantiate/wavefronts.h"
#include "ir/shared_memory.h"
#include "ir/snapshot.h"

namespace polyweft::ir {

namespace {

LoopNest header_of(const NestTemplate& t) {
  LoopNest out;
  out.name = t.program.name;
  out.cls = t.cls;
  out.params = t.program.parameters;
  out.combiners = t.program.combiners;
  return out;
}

}  // namespace

Emitter::Emitter(const NestTemplate& nest_template, const std::vector<int64_t>& decisions)
    : schedule_(nest_template, decisions),
      nest_(header_of(nest_template)),
      slides_{std::vector<std::optional<SlidingWindow>>(nest_template.stages.size()), 0},
      windows_(schedule_, nest_.variables(), slides_),
      storage_(schedule_, nest_),
      leaves_(schedule_, nest_, storage_),
      branches_(nest_, *this),
      serial_loops_(nest_, *this, branches_),
      register_loops_(schedule_, nest_, storage_, *this),
      copies_(schedule_, nest_, *this),
      promotions_(schedule_, windows_, slides_, nest_, storage_, copies_, *this),
      attached_stages_(schedule_, windows_, slides_, nest_, storage_, *this),
      reductions_(nest_, storage_, *this),
      sliding_windows_(schedule_, windows_, slides_, nest_, storage_, *this),
      overlapped_tiles_(schedule_, windows_, nest_, storage_, copies_, *this) {}

Result<LoopNest> Emitter::run() {
  const NestTemplate& t = schedule_.nest_template();
  storage_.add_arguments_and_constants();
  promotions_.pack_const_inputs();
  LoopNest& nest = nest_.nest();
  const NodeId all = root();
  if (nest_.failed()) return nest_.first_error();
  nest.root = all;
  for (const auto& [local, output] : t.in_outputs)
    if (auto placed = place_in_output(nest, local, output); !placed) return placed.error();
  make_copies(nest, t.program, t.snapshots);
  reuse_dead(nest);
  return std::move(nest);
}

/// Buffers of tensors around all, one nest after the other.
NodeId Emitter::root() {
  std::vector<BufferId> buffers;
  const std::set<TensorId> private_ones = private_tensors(schedule_);
  for (TensorId id = 0; id < schedule_.program().tensors.size(); ++id) {
    const bool is_own = schedule_.tensor(id).kind == TensorKind::local && schedule_.original(id) == id;
    if (is_own && !private_ones.count(id)) buffers.push_back(storage_.add_tensor(id));
  }
  std::vector<NodeId> nests;
  for (uint32_t s = 0; s < schedule_.stages().size() && !nest_.failed(); ++s) {
    if (schedule_.stage(s).placement.kind != Placement::Kind::at_root) continue;
    Body body = schedule_.body_of(s);
    if (has_no_elements(body)) continue;
    nests.push_back(emit(std::move(body), 0));
  }
  const NodeId node = nest_.add(Seq{});
  std::erase(nests, kNoNode);
  std::get<Seq>(nest_.nest().nodes[node]).children = std::move(nests);
  return nest_.within(buffers, node);
}

NodeId Emitter::emit(Body body, size_t depth) {
  if (nest_.failed()) return kNoNode;
  settle_determined(body, depth);
  if (has_open_value(body)) return emit_fixed(nest_, *this, std::move(body), depth);
  const bool is_whole = depth == 0 && body.leaf == Leaf::compute && schedule_.attached_to(body.id).empty();
  if (is_whole && is_null_reduction(body)) return reductions_.data_nest(body, 0, Leaf::init);
  if (!body.branched)
    if (auto index = branches_.index_to_branch(body, depth)) return branches_.branch(std::move(body), depth, *index);
  return emit_from(std::move(body), depth, 0);
}

NodeId Emitter::emit_from(Body body, size_t depth, size_t which) {
  if (nest_.failed()) return kNoNode;
  if (body.leaf == Leaf::compute) {
    Turn turn{which};
    if (auto node = attached_before(body, depth, which, turn)) return *node;
    if (auto node = promoted(body, depth, which, turn)) return *node;
    if (auto node = attached_after(body, depth, which, turn)) return *node;
    if (auto node = reduced(body, depth, which, turn)) return *node;
  }
  return after_all(std::move(body), depth);
}

std::optional<NodeId> Emitter::attached_before(Body& body, size_t depth, size_t which, Turn& turn) {
  if (body.overlap && body.overlap->depth == depth && turn.is_next())
    return overlapped_tiles_.emit(std::move(body), depth, which);
  for (uint32_t attached : schedule_.attached_to(body.id)) {
    const Placement& at = schedule_.stage(attached).placement;
    if (at.kind != Placement::Kind::compute_at || at.depth != depth) continue;
    if (turn.is_next()) return attached_stages_.compute_at(attached, std::move(body), depth, which);
  }
  if (sliding_windows_.any_at(body, depth) && turn.is_next())
    return sliding_windows_.emit(std::move(body), depth, which);
  return std::nullopt;
}

std::optional<NodeId> Emitter::promoted(Body& body, size_t depth, size_t which, Turn& turn) {
  for (const HoistedCopy& copy : promotions_.hoisted_copies(body, depth))
    if (turn.is_next()) return promotions_.hoist(copy, std::move(body), which);
  for (const Promotion& promotion : body.stage->promotions) {
    if (promotion.depth != depth || promotions_.is_hoisted(promotion)) continue;
    if (turn.is_next()) return promotions_.promote(promotion, std::move(body), depth, which);
  }
  return std::nullopt;
}

std::optional<NodeId> Emitter::attached_after(Body& body, size_t depth, size_t which, Turn& turn) {
  std::vector<uint32_t> after, alone;
  for (uint32_t attached : schedule_.attached_to(body.id)) {
    const Placement& at = schedule_.stage(attached).placement;
    if (at.kind == Placement::Kind::fused && at.depth == depth) (at.alone.empty() ? after : alone).push_back(attached);
  }
  if (!alone.empty() && turn.is_next()) return attached_stages_.alone(alone, body, depth, which);
  if (!after.empty() && turn.is_next()) return attached_stages_.fused(after, std::move(body), depth, which);
  return std::nullopt;
}

std::optional<NodeId> Emitter::reduced(Body& body, size_t depth, size_t which, Turn& turn) {
  const Stage& stage = *body.stage;
  const bool is_innermost = depth == body.loops.size();
  if (!is_innermost && body.loops[depth].part && turn.is_next())
    return reductions_.parts(std::move(body), depth, which);
  if (stage.accumulator && stage.accumulator->depth == depth && turn.is_next())
    return reductions_.accumulated(std::move(body), depth, which);
  const bool starts_reduction = stage.reduces && !stage.accumulator && (is_innermost || body.loops[depth].reduced);
  if (starts_reduction && !body.initialized && turn.is_next())
    return reductions_.initialized(std::move(body), depth, which);
  return std::nullopt;
}

NodeId Emitter::after_all(Body body, size_t depth) {
  if (depth == body.loops.size()) return body.stage->is_frame ? kNoNode : leaves_.leaf(body);
  if (body.inset_tried || body.crossed || !all_register_from(body, depth)) return emit_loop(std::move(body), depth);
  body.inset_tried = true;
  return branches_.inset(std::move(body), depth);
}

NodeId Emitter::emit_loop(Body body, size_t depth) {
  const SizedLoop& loop = body.loops[depth];
  if (loop.is_determined) return emit(std::move(body), depth + 1);
  if (loop.part) return serial_loops_.emit_part(std::move(body), depth);
  if (loop.wave > 0) return emit_wave(nest_, *this, std::move(body), depth);
  switch (loop.mark) {
    case MarkKind::tensor:
    case MarkKind::unroll:
      return register_loops_.unroll(std::move(body), depth);
    case MarkKind::vector:
      return register_loops_.vector(std::move(body), depth);
    default:
      return serial_loops_.emit(std::move(body), depth);
  }
}

}  // namespace polyweft::ir
