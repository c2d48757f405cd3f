#include "ir/instantiate/emitter.h"

#include <set>
#include <utility>

#include "ir/instantiate/conditions.h"
#include "ir/instantiate/tensor_buffers.h"
#include "ir/instantiate/wavefronts.h"
#include "ir/nests/shared_memory.h"
#include "ir/normalize/snapshot.h"

namespace polyweft::ir {

namespace {

LoopNest header_of(const NestTemplate& t) {
  LoopNest out;
  out.name = t.program.name;
  out.cls = t.cls;
  out.params = t.program.parameters;
  out.combiners = t.program.combiners;
  out.online = t.online;
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
  return emit_from({std::move(body), depth, 0});
}

NodeId Emitter::emit_rest(NestPlace at) {
  ++at.which;
  return emit_from(std::move(at));
}

NodeId Emitter::emit_from(NestPlace at) {
  if (nest_.failed()) return kNoNode;
  if (at.body.leaf == Leaf::compute) {
    Turn turn{at.which};
    if (auto node = attached_before(at, turn)) return *node;
    if (auto node = promoted(at, turn)) return *node;
    if (auto node = attached_after(at, turn)) return *node;
    if (auto node = reduced(at, turn)) return *node;
  }
  return after_all(std::move(at.body), at.depth);
}

std::optional<NodeId> Emitter::attached_before(NestPlace& at, Turn& turn) {
  const Overlap* overlap = at.body.overlap;
  if (overlap && overlap->depth == at.depth && turn.is_next()) return overlapped_tiles_.emit(at);
  for (uint32_t attached : schedule_.attached_to(at.body.id)) {
    const Placement& placement = schedule_.stage(attached).placement;
    if (placement.kind != Placement::Kind::compute_at || placement.depth != at.depth) continue;
    if (turn.is_next()) return attached_stages_.compute_at(attached, std::move(at));
  }
  if (sliding_windows_.any_at(at.body, at.depth) && turn.is_next()) return sliding_windows_.emit(std::move(at));
  return std::nullopt;
}

std::optional<NodeId> Emitter::promoted(NestPlace& at, Turn& turn) {
  for (const HoistedCopy& copy : promotions_.hoisted_copies(at.body, at.depth))
    if (turn.is_next()) return promotions_.hoist(copy, std::move(at));
  for (const Promotion& promotion : at.body.stage->promotions) {
    if (promotion.depth != at.depth || promotions_.is_hoisted(promotion)) continue;
    if (turn.is_next()) return promotions_.promote(promotion, std::move(at));
  }
  return std::nullopt;
}

std::optional<NodeId> Emitter::attached_after(NestPlace& at, Turn& turn) {
  std::vector<uint32_t> after, alone;
  for (uint32_t attached : schedule_.attached_to(at.body.id)) {
    const Placement& placement = schedule_.stage(attached).placement;
    if (placement.kind != Placement::Kind::fused || placement.depth != at.depth) continue;
    (placement.alone.empty() ? after : alone).push_back(attached);
  }
  if (!alone.empty() && turn.is_next()) return attached_stages_.alone(alone, at);
  if (!after.empty() && turn.is_next()) return attached_stages_.fused(after, at);
  return std::nullopt;
}

std::optional<NodeId> Emitter::reduced(NestPlace& at, Turn& turn) {
  const Body& body = at.body;
  const Stage& stage = *body.stage;
  const bool is_innermost = at.depth == body.loops.size();
  if (!is_innermost && body.loops[at.depth].part && turn.is_next()) return reductions_.parts(std::move(at));
  if (stage.accumulator && stage.accumulator->depth == at.depth && turn.is_next())
    return reductions_.accumulated(std::move(at));
  const bool starts = stage.reduces && !stage.accumulator && (is_innermost || body.loops[at.depth].reduced);
  if (starts && !body.initialized && turn.is_next()) return reductions_.initialized(std::move(at));
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
