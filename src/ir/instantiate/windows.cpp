#include "ir/instantiate/windows.h"

#include <algorithm>
#include <cstdlib>

#include "ir/values/clamped.h"

namespace polyweft::ir {

namespace {

struct Span1 {
  Affine origin;
  int64_t extent = 1;
};

/// Of floor(x / den) for the values x of a span; all of one aligned block of den have one quotient.
Span1 quotients_of(const Span1& inner, int64_t den, const LoopVariables& variables) {
  const auto past = variables.residue(inner.origin, den);
  const int64_t further = past ? (*past + inner.extent - 1) / den : (inner.extent - 1 + den - 1) / den;
  return {floor_div(inner.origin, den), further + 1};
}

/// The values of one subscript over the ranges, or an interval around them; nothing where it is neither linear in
/// indices and their quotients nor a clamp.
std::optional<Span1> span_of(const Affine& e, const Body& body, const LoopVariables& variables) {
  const Stage& stage = *body.stage;
  const auto is_whole = [&](uint32_t k) { return body.ranges[k].extent >= stage.hi[k] - stage.lo[k]; };
  if (auto reach = clamp_reach(e, stage, body.first_index, is_whole)) {
    auto inner = span_of(e.terms[0].quasi->e, body, variables);
    if (inner) inner = Span1{inner->origin - Affine::of(reach->below), inner->extent + reach->below + reach->above};
    return inner;
  }
  Span1 out{Affine::of(e.constant), 1};
  for (const Term& term : e.terms) {
    if (!term.quasi && term.var < body.first_index) return std::nullopt;
    std::optional<Span1> one;
    if (!term.quasi)
      one = Span1{body.ranges[body.index_of(term.var)].origin, body.ranges[body.index_of(term.var)].extent};
    else if (term.quasi->kind == Quasi::Kind::floor_div)
      if (const auto inner = span_of(term.quasi->e, body, variables))
        one = quotients_of(*inner, term.quasi->den, variables);
    if (!one) return std::nullopt;
    out.origin = out.origin + term.coeff * (one->origin + Affine::of(term.coeff > 0 ? 0 : one->extent - 1));
    out.extent += std::abs(term.coeff) * (one->extent - 1);
  }
  return out;
}

}  // namespace

SlotWalk slot_walk(const Slot& slot) {
  if (slot.var != kNoVar) return {slot.var, 1, 0};
  const auto& terms = slot.position.terms;
  if (terms.size() != 1 || terms[0].quasi || terms[0].coeff < 1) return {};
  return {terms[0].var, terms[0].coeff, slot.position.constant};
}

Window slot_window(const Body& body) {
  Window window;
  for (const Slot& slot : body.equation->slots) {
    const SlotWalk walk = slot_walk(slot);
    if (walk.var != kNoVar) {
      const Range& range = body.ranges[body.index_of(walk.var)];
      window.origin.push_back(walk.stride * range.origin + Affine::of(walk.first));
      window.extent.push_back(range.extent);
      continue;
    }
    // A position that falls, or moves with several indices (-i, d - j): its least value, and how far it reaches.
    Affine least = Affine::of(slot.position.constant);
    int64_t spread = 0;
    for (const Term& term : slot.position.terms) {
      const uint32_t index = body.index_of(term.var);
      const int64_t last = whole_lanes(body, index) - 1;
      least = least + term.coeff * body.ranges[index].origin + Affine::of(std::min<int64_t>(0, term.coeff) * last);
      spread += std::abs(term.coeff) * last;
    }
    window.origin.push_back(least);
    window.extent.push_back(spread + 1);
  }
  return window;
}

Window only_new(const SlidingWindow& sliding, Window window, const Affine& at) {
  const uint32_t d = sliding.dim;
  const Affine begin = sliding.rate * at + sliding.rest;
  const Affine count = window.origin[d] + Affine::of(window.extent[d]) - begin;
  if (!count.is_constant()) return window;
  window.origin[d] = begin;
  window.extent[d] = std::max<int64_t>(count.constant, 0);
  return window;
}

Window Windows::hull(TensorId tensor) const {
  Window out;
  const Box& box = schedule_.box(tensor);
  for (size_t d = 0; d < box.lo.size(); ++d) {
    out.origin.push_back(Affine::of(box.lo[d]));
    out.extent.push_back(std::max<int64_t>(box.hi[d] - box.lo[d], 0));
    out.least.push_back(box.lo[d]);
    out.most.push_back(box.hi[d] - 1);
  }
  return out;
}

void Windows::join(std::optional<Window>& window, Window other, TensorId tensor) const {
  if (!window) {
    window = std::move(other);
    return;
  }
  const Box& box = schedule_.box(tensor);
  for (size_t d = 0; d < other.origin.size(); ++d) {
    window->least[d] = std::min(window->least[d], other.least[d]);
    window->most[d] = std::max(window->most[d], other.most[d]);
    Affine apart = other.origin[d] - window->origin[d];
    if (!apart.is_constant()) {
      window->origin[d] = Affine::of(box.lo[d]);
      window->extent[d] = box.hi[d] - box.lo[d];
      window->least[d] = box.lo[d];
      window->most[d] = box.hi[d] - 1;
      continue;
    }
    int64_t end = std::max(window->extent[d], apart.constant + other.extent[d]);
    if (apart.constant < 0) {
      window->origin[d] = other.origin[d];
      end -= apart.constant;
    }
    window->extent[d] = end;
  }
}

/// Numeric bounds of a subscript: an index whose range nothing cuts stays inside its hull.
std::pair<int64_t, int64_t> Windows::values_of(const Body& body, const Subscript& s, int64_t least,
                                               int64_t most) const {
  if (s.data || !s.affine.is_linear()) return {least, most};
  std::pair<int64_t, int64_t> out{s.affine.constant, s.affine.constant};
  for (const Term& term : s.affine.terms) {
    const uint32_t k = body.index_of(term.var);
    auto [lo, hi] = variables_.numeric_bounds(body.ranges[k].origin);
    hi += body.ranges[k].extent - 1;
    if (!body.ranges[k].is_cut()) {
      lo = std::max(lo, body.stage->lo[k]);
      hi = std::min(hi, body.stage->hi[k] - 1);
    }
    out.first += term.coeff * (term.coeff > 0 ? lo : hi);
    out.second += term.coeff * (term.coeff > 0 ? hi : lo);
  }
  return out;
}

/// Adds what one access reads over the ranges of a body.
void Windows::widen(std::optional<Window>& window, const Access& access, const Body& body, TensorId tensor) const {
  const bool is_sliding = slides_.loops > 0;
  const Box& box = schedule_.box(tensor);
  Window out;
  for (size_t d = 0; d < access.index.size(); ++d) {
    const Subscript& s = access.index[d];
    auto span = s.data ? std::nullopt : span_of(s.affine, body, variables_);
    const int64_t whole = std::max<int64_t>(box.hi[d] - box.lo[d], 0);
    if (!span || (span->extent > whole && !is_sliding)) span = Span1{Affine::of(box.lo[d]), whole};
    if (span->origin.is_constant() && !is_sliding) {
      const int64_t lo = std::max(span->origin.constant, box.lo[d]);
      span->extent = std::max<int64_t>(std::min(span->origin.constant + span->extent, box.hi[d]) - lo, 0);
      span->origin = Affine::of(lo);
    }
    auto [least, most] = values_of(body, s, box.lo[d], box.hi[d] - 1);
    if (!s.affine.is_linear()) {  // a clamp's window may leave the box
      least = std::min(least, variables_.numeric_bounds(span->origin).first);
      most = std::max(most, variables_.numeric_bounds(span->origin).second + span->extent - 1);
    }
    out.origin.push_back(span->origin);
    out.extent.push_back(span->extent);
    out.least.push_back(least);
    out.most.push_back(most);
  }
  join(window, std::move(out), tensor);
}

std::optional<Window> Windows::footprint(const Body& body, TensorId tensor) const {
  std::optional<Window> window;
  visit(body.equation->rhs, [&](const ExprNode& e) {
    if (e.op == Op::read && e.access.id == tensor) widen(window, e.access, body, tensor);
  });
  return window;
}

std::optional<Window> Windows::window_at(const Body& body, size_t depth, TensorId tensor) const {
  KnownWindows known;
  return window_at(body, depth, tensor, known);
}

/// What an attached stage runs over there; nothing where nobody needs it.
std::optional<Body> Windows::attached_body(const Body& body, size_t depth, uint32_t attached,
                                           KnownWindows& known) const {
  const Placement& at = schedule_.stage(attached).placement;
  if (at.kind == Placement::Kind::fused) return body_tied(attached, body);
  auto own = window_of_all(body, depth, schedule_.targets_of(attached), known);
  if (!own) return std::nullopt;
  const auto& sliding = slides_.of_stage[attached];
  if (!sliding || at.depth != depth) return body_in(attached, *own);
  return body_in(attached, only_new(*sliding, std::move(*own), body.ranges[sliding->index].origin));
}

std::optional<Window> Windows::window_at(const Body& body, size_t depth, TensorId tensor, KnownWindows& known) const {
  if (auto found = known.find(tensor); found != known.end()) return found->second;
  std::optional<Window> window = footprint(body, tensor);
  for (uint32_t attached : schedule_.attached_to(body.id)) {
    const Placement& at = schedule_.stage(attached).placement;
    if (at.depth < depth || at.kind == Placement::Kind::inlined) continue;
    if (!schedule_.reads_inside(attached, tensor)) continue;
    const std::optional<Body> inner = attached_body(body, depth, attached, known);
    if (!inner) continue;
    if (auto read = window_at(*inner, 0, tensor)) join(window, std::move(*read), tensor);
  }
  known.emplace(tensor, window);
  return window;
}

std::optional<Window> Windows::window_of_all(const Body& body, size_t depth,
                                             const std::vector<TensorId>& targets) const {
  KnownWindows known;
  return window_of_all(body, depth, targets, known);
}

std::optional<Window> Windows::window_of_all(const Body& body, size_t depth, const std::vector<TensorId>& targets,
                                             KnownWindows& known) const {
  std::optional<Window> window;
  for (TensorId tensor : targets)
    if (auto one = window_at(body, depth, tensor, known)) join(window, std::move(*one), tensor);
  return window;
}

Body Windows::body_in(uint32_t stage, const Window& window) const {
  Body body = schedule_.body_of(stage);
  const auto& slots = body.equation->slots;
  for (size_t d = 0; d < slots.size(); ++d) {
    if (slots[d].var == kNoVar) continue;
    const uint32_t k = body.index_of(slots[d].var);
    const int64_t lo = body.stage->lo[k], hi = body.stage->hi[k];
    Range range{window.origin[d], window.extent[d], {}, {}};
    if (window.most[d] >= hi) range.upper.push_back({Affine::of(hi) - range.origin, false});
    if (window.least[d] < lo) range.lower.push_back(Affine::of(lo) - range.origin);
    variables_.prune(range);
    body.ranges[k] = std::move(range);
  }
  return body;
}

Body Windows::body_tied(uint32_t stage, const Body& outer) const {
  Body body = schedule_.body_of(stage);
  for (auto [own, other] : body.stage->placement.ties) {
    const Range& range = outer.ranges[other];
    // Where a frame leaves the whole range to its statements, each has its own.
    const bool is_whole = outer.stage->is_frame && range.origin.is_constant() && !range.is_cut();
    const int64_t lo = is_whole ? std::max(range.origin.constant, body.stage->lo[own]) : 0;
    const int64_t hi = is_whole ? std::min(range.origin.constant + range.extent, body.stage->hi[own]) : 0;
    body.ranges[own] = is_whole && lo < hi ? Range{Affine::of(lo), hi - lo, {}, {}} : range;
  }
  bind_to_tile(body, outer);
  return body;
}

/// Conditions of a statement inside a tile of a frame: what of each step the tile and its later steps need.
void Windows::bind_to_tile(Body& body, const Body& frame) const {
  if (!frame.tile) return;
  const OverlapTile& tile = *frame.tile;
  size_t place = 0;  // as band.places
  for (uint32_t attached : schedule_.attached_to(frame.id)) {
    const Stage& near = schedule_.stage(attached);
    if (!near.placement.alone.empty()) continue;
    if (attached == body.id || body.stage->name.starts_with(near.name + ".far")) break;
    ++place;
  }
  std::vector<uint32_t> own(frame.ranges.size());
  for (auto [index, member] : body.stage->placement.ties) own[member] = index;
  const Affine time = Affine::variable(body.index_var(own[tile.time]));
  const Overlap& of = *tile.of;
  for (uint32_t m = 0; m < frame.ranges.size(); ++m) {
    const Range &grown = frame.ranges[m], &range = tile.ranges[m];
    const bool grows = grown.origin != range.origin || grown.extent != range.extent;
    if (m == tile.time || !grows) continue;
    const Affine index = Affine::variable(body.index_var(own[m]));
    const int64_t first = of.first[place][m], last = of.last[place][m];
    body.mixed.push_back({index - of.below[m] * time, of.below[m] * tile.last + Affine::of(first) - range.origin});
    body.mixed.push_back({Affine::of(0) - index - of.above[m] * time,
                          of.above[m] * tile.last + Affine::of(last + range.extent - 1) + range.origin});
  }
}

}  // namespace polyweft::ir
