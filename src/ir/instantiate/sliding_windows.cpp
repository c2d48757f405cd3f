#include "ir/instantiate/sliding_windows.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace polyweft::ir {

namespace {

/// The same body in an iteration that need not be one of the loop: values are not cut to the stage's hull there.
Body at_iteration(Body body, uint32_t index, const Affine& at, int64_t step) {
  body.ranges[index] = Range{at, step, {}, {Affine::of(INT32_MIN)}};
  return body;
}

int64_t quotient_up(int64_t a, int64_t b) {
  return a <= 0 ? 0 : (a + b - 1) / b;
}

bool depends_on(const Affine& e, VarId var) {
  std::vector<VarId> used;
  collect_variables(e, used);
  return std::find(used.begin(), used.end(), var) != used.end();
}

/// So many rows of a window are computed already in all iterations but the first.
int64_t kept_rows(const Window& window, uint32_t dim, int64_t new_rows) {
  return std::max<int64_t>(window.extent[dim] - new_rows, 0);
}

}  // namespace

/// Does the producer's window slide along loop `depth` of the body? Not where that loop runs once.
bool SlidingWindows::slides_at(const Body& body, size_t depth, uint32_t stage) const {
  const Placement& at = schedule_.stage(stage).placement;
  if (at.kind != Placement::Kind::compute_at || !at.slide || at.depth != depth + 1) return false;
  const SizedLoop& loop = body.loops[depth];
  return loop.step < body.ranges[loop.index].extent;
}

bool SlidingWindows::any_at(const Body& body, size_t depth) const {
  const std::vector<uint32_t>& attached = schedule_.attached_to(body.id);
  return std::any_of(attached.begin(), attached.end(), [&](uint32_t stage) { return slides_at(body, depth, stage); });
}

/// Where the window of one producer begins and what of it is new; false where it does not move as the step has proved.
bool SlidingWindows::follow(const Body& body, size_t depth, VarId var, const Producer& producer) {
  const Slide& slide = *schedule_.stage(producer.stage).placement.slide;
  const std::vector<Affine>& origin = producer.window.origin;
  const int64_t step = body.loops[depth].step, rate = origin[slide.dim].coefficient(var);
  bool fits = rate > 0;
  for (uint32_t d = 0; d < origin.size(); ++d)
    fits &= origin[d].is_linear() && (d == slide.dim || !depends_on(origin[d], var));
  if (!fits) return false;
  const int64_t kept = kept_rows(producer.window, slide.dim, rate * step);
  const Affine at = body.ranges[slide.index].origin + Affine::variable(var);
  const Affine rest = origin[slide.dim] + Affine::of(kept) - rate * at;
  slides_.of_stage[producer.stage] = SlidingWindow{slide.index, slide.dim, rate, rest};
  return true;
}

/// The producers at this loop that something needs, in their order. Windows of later ones are known first: an earlier
/// one covers what they newly compute.
std::vector<SlidingWindows::Producer> SlidingWindows::producers_at(const Body& body, size_t depth, VarId var) {
  const SizedLoop& loop = body.loops[depth];
  const Affine start = body.ranges[loop.index].origin;
  const Body first = at_iteration(body, loop.index, start, loop.step);
  const Body moving = at_iteration(body, loop.index, start + Affine::variable(var), loop.step);
  std::vector<Producer> out;
  for (uint32_t stage : schedule_.attached_to(body.id)) {
    const Placement& at = schedule_.stage(stage).placement;
    if (at.kind != Placement::Kind::compute_at || at.depth != depth + 1) continue;
    if (auto window = windows_.window_of_all(first, depth + 1, schedule_.targets_of(stage)))
      out.push_back({stage, {}, std::move(window->origin), slides_at(body, depth, stage)});
  }
  for (size_t k = out.size(); k-- > 0;) {
    out[k].window = *windows_.window_of_all(moving, depth + 1, schedule_.targets_of(out[k].stage));
    if (out[k].is_sliding && !follow(body, depth, var, out[k]))
      nest_.error("PW0315",
                  "compute_at " + schedule_.stage(out[k].stage).name + ": its window does not slide along " +
                      loop.name + " at these sizes",
                  {"leave out 'slide'"});
  }
  return out;
}

/// So many iterations before the first one compute what that one finds ready.
int64_t SlidingWindows::iterations_before(const std::vector<Producer>& producers, const Range& range, int64_t step) {
  int64_t out = 0;
  for (const Producer& producer : producers) {
    if (!producer.is_sliding) continue;
    const SlidingWindow& sliding = *slides_.of_stage[producer.stage];
    const Affine missing = sliding.rate * range.origin + sliding.rest - producer.base[sliding.dim];
    if (missing.is_constant())
      out = std::max(out, quotient_up(missing.constant, sliding.rate * step));
    else
      nest_.error("PW0315",
                  "compute_at " + schedule_.stage(producer.stage).name +
                      ": where its window starts depends on more than the loop",
                  {"leave out 'slide'"});
  }
  return out;
}

/// The buffer outside the loop: all that the loop needs along the dimension that moves, in a circular buffer of the
/// window's size.
View SlidingWindows::make_line_buffer(const Producer& producer, const Range& range, int64_t step) {
  const Stage& stage = schedule_.stage(producer.stage);
  const Slide& slide = *stage.placement.slide;
  const SlidingWindow& sliding = *slides_.of_stage[producer.stage];
  const int64_t kept = kept_rows(producer.window, slide.dim, sliding.rate * step);
  const int64_t last = (range.extent - 1) / step * step, window = producer.window.extent[slide.dim];
  const Affine at_last = sliding.rate * (range.origin + Affine::of(last)) + sliding.rest;
  const Affine end = at_last + Affine::of(window - kept - 1);  // last element that is computed
  Window whole = producer.window;
  whole.origin[slide.dim] = producer.base[slide.dim];
  const int64_t multiple = schedule_.size_of(slide.multiple), rows = (window + multiple - 1) / multiple * multiple;
  whole.extent[slide.dim] = (end - whole.origin[slide.dim]).constant + 1;
  const bool is_circular = !slide.is_whole && rows < whole.extent[slide.dim];
  const TensorId tensor = schedule_.targets_of(producer.stage)[0];
  const BufferId id = storage_.make_window(whole, tensor, stage.placement.scope, ".w");
  Buffer& buffer = nest_.buffer(id);
  if (is_circular) whole.extent[slide.dim] = rows;
  if (is_circular) buffer.folds = {{slide.dim, rows}};
  buffer.layout = schedule_.layout_of(stage.placement.layout, whole.extent);
  if (stage.placement.layout.empty() && stage.placement.scope == Scope::heap && has_long_rows(buffer))
    align_rows(buffer);
  View view{id, {}, std::nullopt};
  for (size_t d = 0; d < buffer.element.size(); ++d)
    view.origin.push_back(buffer.element[d] - Affine::variable(kCellVar + static_cast<VarId>(d)));
  return view;
}

std::vector<char> SlidingWindows::needed_before(const std::vector<Producer>& producers) const {
  std::vector<char> out(producers.size(), 0);
  for (size_t k = producers.size(); k-- > 0;) {
    out[k] = producers[k].is_sliding;
    const TensorId tensor = schedule_.targets_of(producers[k].stage)[0];
    for (size_t later = k + 1; later < producers.size(); ++later)
      if (out[later] && schedule_.reads_inside(producers[later].stage, tensor)) out[k] = 1;
  }
  return out;
}

/// What one producer computes in an iteration before the first: nothing that the loop does not need, so nothing below
/// its base.
SlidingWindows::TestedBody SlidingWindows::body_before(const Warming& loop, size_t which, Window window,
                                                       const Affine& at) const {
  const LoopVariables& variables = nest_.variables();
  const Producer& producer = loop.producers[which];
  if (producer.is_sliding) window = only_new(*slides_.of_stage[producer.stage], std::move(window), loop.start + at);
  std::vector<uint32_t> moving;
  for (uint32_t d = 0; d < window.origin.size(); ++d) {
    if (producer.window.origin[d].coefficient(loop.var) == 0) continue;
    moving.push_back(d);
    window.least[d] = INT32_MIN;
    window.most[d] = INT32_MAX;
  }
  TestedBody out{{}, windows_.body_in(producer.stage, window)};
  Body& body = out.body;
  for (uint32_t d : moving) {
    const Slot& slot = body.equation->slots[d];
    if (slot.var == kNoVar) continue;
    Range& range = body.ranges[body.index_of(slot.var)];
    range.lower.push_back(producer.base[d] - range.origin);
    // Where iterations are as far apart as the new rows are many, all of these are needed, or none.
    std::erase_if(range.lower, [&](const Affine& below) {
      if (below.is_constant() || variables.residue(below, range.extent) != 0) return false;
      const Guard test = guard_ge0(Affine::of(0) - below);
      const bool is_new = std::find(out.tests.begin(), out.tests.end(), test) == out.tests.end();
      if (variables.numeric_bounds(below).second > 0 && is_new) out.tests.push_back(test);
      return true;
    });
    variables.prune(range);
  }
  return out;
}

/// One iteration before the first: the producers from number `which` on, without what follows in the loop. `at` is the
/// value that the loop's variable would have.
NodeId SlidingWindows::warm_up(const Warming& loop, size_t which, const Affine& at) {
  if (which == loop.producers.size() || nest_.failed()) return kNoNode;
  const Producer& producer = loop.producers[which];
  if (!loop.is_needed[which]) return warm_up(loop, which + 1, at);
  const Placement& placement = schedule_.stage(producer.stage).placement;
  const TensorId tensor = schedule_.targets_of(producer.stage)[0];
  Window window = producer.window;
  for (Affine& e : window.origin) e = substitute(e, {{loop.var, at}});
  std::vector<BufferId> own;
  if (!producer.is_sliding) {
    own.push_back(storage_.make_window(window, tensor, placement.scope, ".w"));
    nest_.buffer(own[0]).layout = schedule_.layout_of(placement.layout, window.extent);
    storage_.push(tensor, {own[0], window.origin, std::nullopt});
  }
  TestedBody before = body_before(loop, which, std::move(window), at);
  const NodeId made = inner_.emit(std::move(before.body), 0);
  const NodeId tested = nest_.guarded(std::move(before.tests), made);
  const NodeId rest = warm_up(loop, which + 1, at);
  if (!producer.is_sliding) storage_.pop(tensor);
  return nest_.within(own, nest_.seq({tested, rest}));
}

/// for var in 0..count: the iterations that many before the first. A single one needs no loop.
NodeId SlidingWindows::iterations(const Warming& loop, int64_t count) {
  if (count == 1) return warm_up(loop, 0, Affine::of(-loop.step));
  nest_.variables().set_most(loop.var, (count - 1) * loop.step);
  const NodeId body = warm_up(loop, 0, Affine::variable(loop.var) - Affine::of(count * loop.step));
  Loop out = counted_loop(loop.var, count * loop.step, body);
  out.step = loop.step;
  return nest_.add(std::move(out));
}

NodeId SlidingWindows::emit(NestPlace at) {
  const SizedLoop& sized = at.body.loops[at.depth];
  const Range range = at.body.ranges[sized.index];
  Warming loop;
  loop.start = range.origin;
  loop.step = sized.step;
  ++slides_.loops;
  loop.var = nest_.variable(sized.name, loop.step, (range.extent - 1) / loop.step * loop.step);
  loop.producers = producers_at(at.body, at.depth, loop.var);
  loop.is_needed = needed_before(loop.producers);
  const int64_t before = nest_.failed() ? 0 : iterations_before(loop.producers, range, loop.step);
  if (before < 2) nest_.drop_last_variable();  // no loop
  std::vector<BufferId> buffers;
  for (const Producer& producer : loop.producers) {
    if (nest_.failed() || !producer.is_sliding) continue;
    View view = make_line_buffer(producer, range, loop.step);
    buffers.push_back(view.buffer);
    storage_.push(nest_.buffer(view.buffer).tensor, std::move(view));
  }
  NodeId node = kNoNode;
  if (!nest_.failed()) {
    const NodeId first = before > 0 ? iterations(loop, before) : kNoNode;
    node = nest_.seq({first, inner_.emit_rest(std::move(at))});
  }
  for (const Producer& producer : loop.producers) slides_.of_stage[producer.stage].reset();
  for (BufferId buffer : buffers) storage_.pop(nest_.buffer(buffer).tensor);
  --slides_.loops;
  return nest_.within(buffers, node);
}

}  // namespace polyweft::ir
