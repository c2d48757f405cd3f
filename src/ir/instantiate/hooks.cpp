// What happens between two loops of a stage: stages placed there and private copies; accumulators and first values of reductions (accumulators.cpp).
//
//   compute_at T   alloc T.w { <T's nest on the window>  rest }   (a window for each of its targets)
//   promote B      alloc B.p { <copy of the footprint>  rest }
//   fused Z        rest, then <Z's nest on the same ranges>
#include <algorithm>
#include <numeric>

#include "ir/instantiate/internal.h"

namespace polyweft::ir {

/// Runs hook number `which` at this place, the next ones inside it.
NodeId Emitter::hooks(Body body, size_t depth, size_t which) {
  if (failed_) return kNoNode;
  if (body.leaf != Leaf::compute) return after_hooks(std::move(body), depth);
  const Stage& stage = *body.stage;
  size_t number = 0;
  if (const Overlap* overlap = overlap_of(body.id); overlap && overlap->depth == depth && number++ == which) return hook_overlap(std::move(body), depth, which);
  for (uint32_t guest : hosted_[body.id]) {
    const Placement& placement = t_.stages[guest].placement;
    if (placement.kind != Placement::Kind::compute_at || placement.depth != depth) continue;
    if (number++ == which) return hook_compute_at(std::move(body), depth, which, guest);
  }
  const bool any_slides = std::any_of(hosted_[body.id].begin(), hosted_[body.id].end(), [&](uint32_t guest) { return slides_at(body, depth, guest); });
  if (any_slides && number++ == which) return hook_slides(std::move(body), depth, which);
  for (const Carried& out : carried_out(body, depth)) {
    if (number++ != which) continue;
    carried_.push_back(out);
    const NodeId made = hook_promotion(std::move(body), depth, which, *out.promotion);
    carried_.pop_back();
    return made;
  }
  for (const Promotion& promotion : stage.promotions) {
    const bool is_carried = std::any_of(carried_.begin(), carried_.end(), [&](const Carried& out) { return out.promotion == &promotion; });
    if (promotion.depth != depth || is_carried) continue;
    if (number++ == which) return hook_promotion(std::move(body), depth, which, promotion);
  }
  std::vector<uint32_t> after, alone;
  for (uint32_t guest : hosted_[body.id])
    if (t_.stages[guest].placement.kind == Placement::Kind::fused && t_.stages[guest].placement.depth == depth)
      (t_.stages[guest].placement.alone.empty() ? after : alone).push_back(guest);
  if (!alone.empty() && number++ == which) return hook_alone(body, depth, which, alone);
  if (!after.empty() && number++ == which) return hook_fused(std::move(body), depth, which, after);
  if (depth < body.loops.size() && body.loops[depth].part && number++ == which) return hook_parts(std::move(body), depth, which);
  if (stage.accumulator && stage.accumulator->depth == depth && number++ == which) return hook_accumulator(std::move(body), depth, which);
  bool starts_reduction = stage.reduces && !stage.accumulator && (depth == body.loops.size() || body.loops[depth].reduced);
  if (starts_reduction && !body.initialized && number++ == which) return hook_init(std::move(body), depth, which);
  return after_hooks(std::move(body), depth);
}

/// Rows of a window in memory: the vectors that begin where the guest's greatest part does lie on cache lines.
void Emitter::line_up(const Stage& guest, View& view) {
  Buffer& buffer = nest_.buffers[view.buffer];
  const std::vector<Slot>& slots = equation_of(guest).slots;
  if (buffer.scope != Scope::heap || !guest.placement.layout.empty() || !buffer.folds.empty() || !has_long_rows(buffer) || slots.back().var == kNoVar) return;
  const uint32_t along = index_of(slots.back().var);
  const auto tile = std::find_if(guest.loops.begin(), guest.loops.end(), [&](const TemplateLoop& loop) { return loop.index == along && !loop.cuts.empty(); });
  const auto lanes =
      std::find_if(guest.loops.begin(), guest.loops.end(), [&](const TemplateLoop& loop) { return loop.index == along && loop.mark.kind == MarkKind::vector; });
  if (tile == guest.loops.end() || lanes == guest.loops.end()) return;
  const auto past = residue(view.origin.back() - Affine::of(tile->cuts.front()), kLineBytes / size_bytes(buffer.type));
  if (past && *past != 0) put_on_line(buffer, view, -*past);
}

NodeId Emitter::hook_compute_at(Body body, size_t depth, size_t which, uint32_t stage_id) {
  const Stage& guest = t_.stages[stage_id];
  const auto& targets = equation_of(guest).targets;
  const auto window = window_of_all(body, depth, targets);
  if (!window) return hooks(std::move(body), depth, which + 1);
  if (const auto& follower = followers_[stage_id]) {
    const Window part = only_new(*follower, *window, body.ranges[follower->index].origin);
    NodeId made = is_empty(part) ? kNoNode : emit(body_in(stage_id, part), 0);
    NodeId rest = hooks(std::move(body), depth, which + 1);
    return seq({made, rest});
  }
  std::vector<View> views;
  for (TensorId tensor : targets) {
    BufferId buffer = make_window(*window, tensor, guest.placement.scope, ".w");
    nest_.buffers[buffer].layout = layout_of(guest.placement.layout, window->extent);
    views.push_back({buffer, window->origin, std::nullopt});
    line_up(guest, views.back());
    views_[tensor].push_back(views.back());
  }
  NodeId made = is_empty(*window) ? kNoNode : emit(body_in(stage_id, *window), 0);
  NodeId rest = hooks(std::move(body), depth, which + 1);
  for (TensorId tensor : targets) views_[tensor].pop_back();
  return within(views, seq({made, rest}));
}

/// Copies of inputs that statements placed further in ask for at their beginning, and that are the same in all iterations of the loops from here to there: they are made
/// here.
std::vector<Emitter::Carried> Emitter::carried_out(const Body& body, size_t depth) {
  std::vector<Carried> out;
  if (sliding_ > 0 || body.stage->is_frame) return out;
  for (uint32_t guest : hosted_[body.id]) {
    const Stage& stage = t_.stages[guest];
    const Placement& at = stage.placement;
    if (at.kind != Placement::Kind::compute_at || at.slide || at.depth <= depth || followers_[guest]) continue;
    for (const Promotion& promotion : stage.promotions) {
      const bool is_done = std::any_of(carried_.begin(), carried_.end(), [&](const Carried& known) { return known.promotion == &promotion && known.depth < depth; });
      if (promotion.scope != Scope::heap || t_.program.tensors[promotion.tensor].kind != TensorKind::input || is_done ||
          nest_.buffers[view_of(promotion.tensor, guest).buffer].is_packed)
        continue;
      const auto read_by = [&](const Body& host) -> std::optional<std::pair<Body, Window>> {
        const auto window = window_of_all(host, depth, equation_of(stage).targets);
        if (!window) return std::nullopt;
        Body own = body_in(guest, *window);
        auto read = footprint(own, promotion.tensor);
        if (!read) return std::nullopt;
        return std::pair{std::move(own), *std::move(read)};
      };
      Body first = body;  // in the first iteration of the loops from here to there
      for (size_t k = depth; k < at.depth && k < body.loops.size(); ++k) {
        Range& range = first.ranges[body.loops[k].index];
        range.extent = std::min(range.extent, body.loops[k].step);
      }
      auto all = read_by(body), once = read_by(first);
      if (!all || !once || all->second.origin != once->second.origin || all->second.extent != once->second.extent) continue;
      const auto is_one = [&](const SizedLoop& loop) { return once->first.ranges[loop.index].extent <= loop.step; };
      if (!std::all_of(once->first.loops.begin(), once->first.loops.begin() + promotion.depth, is_one)) continue;
      out.push_back({guest, &promotion, depth, std::move(all->first)});
    }
  }
  return out;
}

NodeId Emitter::hook_promotion(Body body, size_t depth, size_t which, const Promotion& promotion) {
  const auto carried = std::find_if(carried_.begin(), carried_.end(), [&](const Carried& out) { return out.promotion == &promotion; });
  const Body& reader = carried != carried_.end() ? carried->body : body;
  const uint32_t reader_id = reader.id;
  auto window = footprint(reader, promotion.tensor);
  if (!window) return hooks(std::move(body), depth, which + 1);
  View source = view_of(promotion.tensor, reader_id);
  if (promotion.depth == 0 && nest_.buffers[source.buffer].is_packed && layout_ahead(promotion.tensor)) return hooks(std::move(body), depth, which + 1);
  BufferId buffer = make_window(*window, promotion.tensor, promotion.scope, ".p");
  nest_.buffers[buffer].layout = layout_of(promotion.layout, window->extent);
  View view{buffer, window->origin, reader_id};
  const bool is_shared = depth == 0 && !body.loops.empty() && body.loops[0].mark == MarkKind::parallel;
  NodeId copy = copy_nest(*window, promotion.tensor, view, source, promotion.layout,
                          {is_shared ? MarkKind::parallel : MarkKind::serial, read_limits(reader, *window, promotion.tensor)});
  views_[promotion.tensor].push_back(view);
  NodeId rest = hooks(std::move(body), depth, which + 1);
  views_[promotion.tensor].pop_back();
  return add(Alloc{buffer, seq({copy, rest})});
}

/// The last conditions of a body hold at all its points, and so do others that are no stronger than one of them.
void Emitter::mark_implied(Body& body, size_t count) {
  const std::vector<Affine>& inside = body.conditions();
  for (size_t k = 0; k < inside.size(); ++k)
    for (size_t known = inside.size() - count; known < inside.size(); ++known)
      if (const Affine more = inside[k] - inside[known]; more.is_constant() && more.constant >= 0) body.done[k] = 1;
}

/// What loop variables reach where e >= 0.
void Emitter::narrow(const Affine& e) {
  for (const Term& term : e.terms) {
    if (term.quasi || term.coeff >= 0 || term.var < nest_.params.size()) continue;
    const int64_t most = numeric_bounds(e - Affine::variable(term.var, term.coeff)).second;
    VarFacts& facts = facts_[term.var - nest_.params.size()];
    facts.hi = std::min(facts.hi, std::max<int64_t>(most, 0) / -term.coeff / facts.step * facts.step);
  }
}

/// if <the conditions hold at every point reached here>: these statements, in loops of their own; else the rest.
NodeId Emitter::hook_alone(const Body& body, size_t depth, size_t which, const std::vector<uint32_t>& guests) {
  const std::vector<Affine>& conditions = t_.stages[guests[0]].placement.alone;
  std::vector<Guard> tests;
  bool is_never_so = false;
  for (const Affine& condition : conditions) {
    const Affine least = corner(body, condition, std::nullopt, false);
    const auto [from, to] = numeric_bounds(least);
    is_never_so |= to < 0;
    if (from < 0) tests.push_back(guard_ge0(least));
  }
  if (is_never_so) return hooks(body, depth, which + 1);
  std::vector<NodeId> nests;
  const std::vector<VarFacts> outside = facts_;
  for (const Guard& test : tests) narrow(test.e);
  for (uint32_t guest : guests) {
    Body own = body_tied(guest, body);
    mark_implied(own, conditions.size());
    nests.push_back(with_fixed_conditions(std::move(own), 0));
  }
  std::copy(outside.begin(), outside.end(), facts_.begin());
  NodeId then = seq(std::move(nests));
  if (tests.empty()) return then;
  NodeId rest = hooks(body, depth, which + 1);
  return add(If{guard_all(std::move(tests)), then, rest});
}

/// The outermost loop at whose end all readers of a stage's results run: in each iteration the results fit into a buffer of its own. Nothing where somebody else reads
/// them.
std::optional<size_t> Emitter::private_results(uint32_t stage_id) const {
  const Stage& stage = t_.stages[stage_id];
  if (stage.placement.kind != Placement::Kind::at_root || stage.is_frame) return std::nullopt;
  std::optional<size_t> depth;
  for (TensorId target : equation_of(stage).targets) {
    if (t_.program.tensors[target].kind != TensorKind::local || original(target) != target) return std::nullopt;
    for (uint32_t k = 0; k < t_.stages.size(); ++k) {
      const Stage& reader = t_.stages[k];
      const auto& made = equation_of(reader).targets;
      if (k != stage_id && std::count(made.begin(), made.end(), target)) return std::nullopt;
      if (reader.placement.kind == Placement::Kind::inlined || !reads_tensor(equation_of(reader), target)) continue;
      if (reader.placement.kind != Placement::Kind::fused || !reader.placement.alone.empty() || reader.placement.host != stage_id) return std::nullopt;
      depth = std::min<size_t>(depth.value_or(reader.placement.depth), reader.placement.depth);
    }
  }
  return depth;
}

/// rest, then the guests on the same ranges; what only they read is kept near.
NodeId Emitter::hook_fused(Body body, size_t depth, size_t which, const std::vector<uint32_t>& guests) {
  constexpr int64_t kMostStackBytes = 32 << 10;
  std::vector<View> own;
  const auto& targets = equation_of(*body.stage).targets;
  if (private_results(body.id) == depth) {
    const Window window = slot_window(body);
    for (TensorId tensor : targets) {
      const int64_t cells = std::accumulate(window.extent.begin(), window.extent.end(), int64_t{1}, std::multiplies<>());
      const bool is_small = cells * size_bytes(t_.program.tensors[tensor].type) <= kMostStackBytes;
      own.push_back({make_window(window, tensor, is_small ? Scope::stack : Scope::heap, ".l"), window.origin, std::nullopt});
      views_[tensor].push_back(own.back());
    }
  }
  const bool is_frame = body.stage->is_frame;
  std::vector<NodeId> children = {hooks(body, depth, which + 1)};
  for (uint32_t guest : guests) {
    Body tied = body_tied(guest, body);
    if (has_no_elements(tied)) continue;
    children.push_back(is_frame ? with_fixed_conditions(std::move(tied), 0) : emit(std::move(tied), 0));
  }
  for (size_t k = 0; k < own.size(); ++k) views_[targets[k]].pop_back();
  return within(own, seq(std::move(children)));
}

/// alloc C.f { for k.p: { <accumulator and folds of this part>  C.f[.., k.p] = accumulator }  merge the parts pairwise  C = C.f[.., 0] }
/// A state of several components has a C.f for each.
NodeId Emitter::hook_parts(Body body, size_t depth, size_t which) {
  const SizedLoop& loop = body.loops[depth];
  const Window window = slot_window(body);
  const int64_t step = std::min(loop.step, std::max<int64_t>(1, body.ranges[loop.index].extent));
  const int64_t parts = (body.ranges[loop.index].extent + step - 1) / step;
  std::vector<View> views;
  for (TensorId tensor : equation_of(*body.stage).targets) {
    BufferId buffer = make_window(window, tensor, Scope::heap, ".f");
    Buffer& made = nest_.buffers[buffer];
    made.layout = {};
    made.layout.pieces.push_back({static_cast<uint8_t>(made.extents.size()), parts});
    for (size_t d = 0; d < made.extents.size(); ++d) made.layout.pieces.push_back({static_cast<uint8_t>(d), made.extents[d]});
    made.extents.push_back(parts);
    views.push_back({buffer, window.origin, std::nullopt});
  }
  Body merge = body;
  merge.partials = views;
  merge.merge_parts = true;
  body.partials = views;
  NodeId rest = hooks(std::move(body), depth, which + 1);
  NodeId finish = data_nest(merge, depth, Leaf::store);
  return within(views, seq({rest, finish}));
}

/// The lifetimes of these buffers around the body.
NodeId Emitter::within(const std::vector<View>& views, NodeId body) {
  for (size_t k = views.size(); k-- > 0;) body = add(Alloc{views[k].buffer, body});
  return body;
}

}  // namespace polyweft::ir
