// Sliding windows: buffers outside a loop whose iterations compute only what the ones before have not.
//
//   alloc P.w { for w in the iterations before the first: <new rows of P>     for y: { <new rows of P>  rest } }
//
// In iteration y the window of what is read of P begins at rate * y + start and has `extent` rows; the last rate * step of them are new, and those from
// Follower::rest on are computed there. What the first iteration finds computed already (its window but for the new rows) is computed by iterations before the
// first, in which nothing but the windows runs: so a chain of windows warms up in rings no larger than those of the loop.
#include <algorithm>

#include "ir/instantiate/internal.h"

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

}  // namespace

/// Does the guest's window slide along loop `depth` of the body? Not where that loop runs once.
bool Emitter::slides_at(const Body& body, size_t depth, uint32_t stage_id) const {
  const Placement& placement = t_.stages[stage_id].placement;
  if (placement.kind != Placement::Kind::compute_at || !placement.slide || placement.depth != depth + 1) return false;
  const SizedLoop& loop = body.loops[depth];
  return loop.step < body.ranges[loop.index].extent;
}

/// The part of a window that the iteration at this value of the host's index computes.
Window Emitter::only_new(const Follower& follower, Window window, const Affine& at) const {
  const uint32_t d = follower.dim;
  const Affine begin = follower.rate * at + follower.rest;
  const Affine count = window.origin[d] + Affine::of(window.extent[d]) - begin;
  if (!count.is_constant()) return window;
  window.origin[d] = begin;
  window.extent[d] = std::max<int64_t>(count.constant, 0);
  return window;
}

/// Where the window of one guest begins and what of it is new; false where it does not move as the step has proved.
bool Emitter::follow(const Body& body, size_t depth, VarId var, Slider& slider) {
  const Slide& slide = *t_.stages[slider.stage].placement.slide;
  const int64_t step = body.loops[depth].step, rate = slider.window.origin[slide.dim].coefficient(var);
  bool fits = rate > 0;
  for (uint32_t d = 0; d < slider.window.origin.size(); ++d) {
    std::vector<VarId> used;
    collect_variables(slider.window.origin[d], used);
    fits &= slider.window.origin[d].is_linear() && (d == slide.dim || std::find(used.begin(), used.end(), var) == used.end());
  }
  if (!fits) return false;
  const int64_t kept = std::max<int64_t>(slider.window.extent[slide.dim] - rate * step, 0);
  const Affine at = body.ranges[slide.index].origin + Affine::variable(var);
  followers_[slider.stage] = Follower{slide.index, slide.dim, rate, slider.window.origin[slide.dim] + Affine::of(kept) - rate * at};
  return true;
}

/// The guests of this loop that something needs, in their order. Windows of later ones are known first: an earlier one covers what they newly compute.
std::vector<Slider> Emitter::sliders_at(const Body& body, size_t depth, VarId var) {
  const SizedLoop& loop = body.loops[depth];
  const Affine start = body.ranges[loop.index].origin;
  const Body first = at_iteration(body, loop.index, start, loop.step), moving = at_iteration(body, loop.index, start + Affine::variable(var), loop.step);
  std::vector<Slider> out;
  for (uint32_t guest : hosted_[body.id]) {
    const Placement& placement = t_.stages[guest].placement;
    if (placement.kind != Placement::Kind::compute_at || placement.depth != depth + 1) continue;
    if (auto window = window_of_all(first, depth + 1, equation_of(t_.stages[guest]).targets))
      out.push_back({guest, {}, std::move(window->origin), slides_at(body, depth, guest)});
  }
  for (size_t k = out.size(); k-- > 0;) {
    const std::string& name = t_.stages[out[k].stage].name;
    out[k].window = *window_of_all(moving, depth + 1, equation_of(t_.stages[out[k].stage]).targets);
    if (out[k].is_sliding && !follow(body, depth, var, out[k]))
      error("PW0315", "compute_at " + name + ": its window does not slide along " + loop.name + " at these sizes", {"leave out 'slide'"});
  }
  return out;
}

/// So many iterations before the first one compute what that one finds ready.
int64_t Emitter::iterations_before(const std::vector<Slider>& sliders, const Range& range, int64_t step) {
  int64_t out = 0;
  for (const Slider& slider : sliders) {
    if (!slider.is_sliding) continue;
    const Follower& follower = *followers_[slider.stage];
    const Affine missing = follower.rate * range.origin + follower.rest - slider.base[follower.dim];
    if (!missing.is_constant())
      error("PW0315", "compute_at " + t_.stages[slider.stage].name + ": where its window starts depends on more than the loop", {"leave out 'slide'"});
    else
      out = std::max(out, quotient_up(missing.constant, follower.rate * step));
  }
  return out;
}

/// The buffer outside the loop: all that the loop needs along the dimension that moves, in a ring of the window's size.
BufferId Emitter::make_ring(const Slider& slider, const Range& range, int64_t step) {
  const Stage& stage = t_.stages[slider.stage];
  const Slide& slide = *stage.placement.slide;
  const Follower& follower = *followers_[slider.stage];
  const int64_t kept = std::max<int64_t>(slider.window.extent[slide.dim] - follower.rate * step, 0);
  const int64_t last = (range.extent - 1) / step * step, window = slider.window.extent[slide.dim];
  const Affine end = follower.rate * (range.origin + Affine::of(last)) + follower.rest + Affine::of(window - kept - 1);  // last element that is computed
  Window whole = slider.window;
  whole.origin[slide.dim] = slider.base[slide.dim];
  const int64_t multiple = size_of(slide.multiple), ring = (window + multiple - 1) / multiple * multiple;
  whole.extent[slide.dim] = (end - whole.origin[slide.dim]).constant + 1;
  const bool is_ring = !slide.is_whole && ring < whole.extent[slide.dim];
  BufferId buffer = make_window(whole, equation_of(stage).targets[0], stage.placement.scope, ".w");
  if (is_ring) whole.extent[slide.dim] = ring;
  if (is_ring) nest_.buffers[buffer].folds = {{slide.dim, ring}};
  nest_.buffers[buffer].layout = layout_of(stage.placement.layout, whole.extent);
  if (stage.placement.layout.empty() && stage.placement.scope == Scope::heap && has_long_rows(nest_.buffers[buffer])) align_rows(nest_.buffers[buffer]);
  return buffer;
}

/// Those that the iterations before the first run: what slides, and what that reads.
std::vector<char> Emitter::needed_before(const std::vector<Slider>& sliders) const {
  std::vector<char> out(sliders.size(), 0);
  for (size_t k = sliders.size(); k-- > 0;) {
    out[k] = sliders[k].is_sliding;
    const TensorId tensor = equation_of(t_.stages[sliders[k].stage]).targets[0];
    for (size_t later = k + 1; later < sliders.size(); ++later)
      if (out[later] && reads_inside(sliders[later].stage, tensor)) out[k] = 1;
  }
  return out;
}

/// What one guest computes in an iteration before the first where the tests hold: nothing that the loop does not need, so nothing below its base.
Body Emitter::body_before(const Slider& slider, Window window, VarId var, const Affine& start, std::vector<Guard>& tests) {
  const Stage& stage = t_.stages[slider.stage];
  if (slider.is_sliding) window = only_new(*followers_[slider.stage], std::move(window), start);
  std::vector<uint32_t> moving;
  for (uint32_t d = 0; d < window.origin.size(); ++d) {
    if (slider.window.origin[d].coefficient(var) == 0) continue;
    moving.push_back(d);
    window.least[d] = INT32_MIN;
    window.most[d] = INT32_MAX;
  }
  Body body = body_in(slider.stage, window);
  for (uint32_t d : moving) {
    const Slot& slot = equation_of(stage).slots[d];
    if (slot.var == kNoVar) continue;
    Range& range = body.ranges[index_of(slot.var)];
    range.lower.push_back(slider.base[d] - range.origin);
    // Where iterations are as far apart as the new rows are many, all of these are needed, or none.
    std::erase_if(range.lower, [&](const Affine& below) {
      if (below.is_constant() || residue(below, range.extent) != 0) return false;
      const Guard test = guard_ge0(Affine::of(0) - below);
      if (numeric_bounds(below).second > 0 && std::find(tests.begin(), tests.end(), test) == tests.end()) tests.push_back(test);
      return true;
    });
    prune(range);
  }
  return body;
}

/// One iteration before the first: the guests from number `which` on, without the host. `at` is the value that the loop's variable `var` would have.
NodeId Emitter::warm_up(const std::vector<Slider>& sliders, size_t which, const Affine& start, VarId var, const Affine& at) {
  if (which == sliders.size() || failed_) return kNoNode;
  const Slider& slider = sliders[which];
  const Stage& stage = t_.stages[slider.stage];
  if (!needed_before(sliders)[which]) return warm_up(sliders, which + 1, start, var, at);
  const TensorId tensor = equation_of(stage).targets[0];
  Window window = slider.window;
  for (Affine& e : window.origin) e = substitute(e, {{var, at}});
  BufferId own = 0;
  if (!slider.is_sliding) {
    own = make_window(window, tensor, stage.placement.scope, ".w");
    nest_.buffers[own].layout = layout_of(stage.placement.layout, window.extent);
    views_[tensor].push_back({own, window.origin, std::nullopt});
  }
  std::vector<Guard> tests;
  Body body = body_before(slider, std::move(window), var, start + at, tests);
  NodeId made = emit(std::move(body), 0);
  if (!tests.empty()) made = add(If{guard_all(std::move(tests)), made, kNoNode});
  NodeId rest = warm_up(sliders, which + 1, start, var, at);
  if (slider.is_sliding) return seq({made, rest});
  views_[tensor].pop_back();
  return add(Alloc{own, seq({made, rest})});
}

/// for var in 0..count: the iterations that many before the first. A single one needs no loop.
NodeId Emitter::iterations(const std::vector<Slider>& sliders, const Affine& start, VarId var, int64_t count, int64_t step) {
  if (count == 1) return warm_up(sliders, 0, start, var, Affine::of(-step));
  Loop out;
  out.var = var;
  out.lo.of = {Affine::of(0)};
  out.hi.of = {Affine::of(count * step)};
  out.step = step;
  facts_[var - nest_.params.size()].hi = (count - 1) * step;
  out.body = warm_up(sliders, 0, start, var, Affine::variable(var) - Affine::of(count * step));
  return add(std::move(out));
}

NodeId Emitter::hook_slides(Body body, size_t depth, size_t which) {
  const SizedLoop loop = body.loops[depth];
  const Range range = body.ranges[loop.index];
  ++sliding_;
  VarId var = variable(loop.name, loop.step, (range.extent - 1) / loop.step * loop.step);
  const std::vector<Slider> sliders = sliders_at(body, depth, var);
  const int64_t before = failed_ ? 0 : iterations_before(sliders, range, loop.step);
  if (before < 2) {  // no loop
    facts_.pop_back();
    nest_.loop_names.pop_back();
  }
  std::vector<BufferId> rings;
  for (const Slider& slider : sliders) {
    if (failed_ || !slider.is_sliding) continue;
    rings.push_back(make_ring(slider, range, loop.step));
    View view{rings.back(), {}, std::nullopt};
    for (const Affine& e : nest_.buffers[rings.back()].element) view.origin.push_back(e);
    for (size_t d = 0; d < view.origin.size(); ++d) view.origin[d] = view.origin[d] - Affine::variable(kCellVar + static_cast<VarId>(d));
    views_[nest_.buffers[rings.back()].tensor].push_back(std::move(view));
  }
  NodeId first = before > 0 && !failed_ ? iterations(sliders, range.origin, var, before, loop.step) : kNoNode;
  NodeId node = failed_ ? kNoNode : seq({first, hooks(std::move(body), depth, which + 1)});
  for (const Slider& slider : sliders) followers_[slider.stage].reset();
  for (size_t k = rings.size(); k-- > 0;) {
    views_[nest_.buffers[rings[k]].tensor].pop_back();
    node = add(Alloc{rings[k], node});
  }
  --sliding_;
  return node;
}

}  // namespace polyweft::ir
