// Windows: the box of elements that a body reads of a tensor, with its corner affine in the loops around and constant extents.
#include <algorithm>
#include <functional>

#include "ir/clamped.h"
#include "ir/instantiate/internal.h"

namespace polyweft::ir {

namespace {

struct Span1 {
  Affine origin;
  int64_t extent = 1;
};

using Residue = std::function<std::optional<int64_t>(const Affine&, int64_t)>;

/// Of floor(x / den) for the values x of a span; all of one aligned block of den have one quotient.
Span1 quotients_of(const Span1& inner, int64_t den, const Residue& residue) {
  const auto past = residue(inner.origin, den);
  return {floor_div(inner.origin, den), past ? (*past + inner.extent - 1) / den + 1 : (inner.extent - 1 + den - 1) / den + 1};
}

/// The values of one subscript over the ranges, or an interval around them; nothing where it is neither linear in indices and their quotients nor a clamp.
std::optional<Span1> span_of(const Affine& e, const std::vector<Range>& ranges, const Stage& stage, VarId first_index, const Residue& residue) {
  const auto is_whole = [&](uint32_t k) { return ranges[k].extent >= stage.hi[k] - stage.lo[k]; };
  if (auto reach = clamp_reach(e, stage, first_index, is_whole)) {
    auto inner = span_of(e.terms[0].quasi->e, ranges, stage, first_index, residue);
    if (inner) inner = Span1{inner->origin - Affine::of(reach->below), inner->extent + reach->below + reach->above};
    return inner;
  }
  Span1 out{Affine::of(e.constant), 1};
  for (const Term& term : e.terms) {
    if (!term.quasi && term.var < first_index) return std::nullopt;
    std::optional<Span1> one;
    if (!term.quasi)
      one = Span1{ranges[term.var - first_index].origin, ranges[term.var - first_index].extent};
    else if (term.quasi->kind == Quasi::Kind::floor_div)
      if (const auto inner = span_of(term.quasi->e, ranges, stage, first_index, residue)) one = quotients_of(*inner, term.quasi->den, residue);
    if (!one) return std::nullopt;
    out.origin = out.origin + term.coeff * (one->origin + Affine::of(term.coeff > 0 ? 0 : one->extent - 1));
    out.extent += std::abs(term.coeff) * (one->extent - 1);
  }
  return out;
}

}  // namespace

bool reads_tensor(const Equation& equation, TensorId tensor) {
  bool found = false;
  visit(equation.rhs, [&](const ExprNode& e) { found |= e.op == Op::read && e.access.id == tensor; });
  return found;
}

Window Emitter::hull_window(TensorId tensor) const {
  Window out;
  const Box& box = t_.boxes[tensor];
  for (size_t d = 0; d < box.lo.size(); ++d) {
    out.origin.push_back(Affine::of(box.lo[d]));
    out.extent.push_back(std::max<int64_t>(box.hi[d] - box.lo[d], 0));
    out.least.push_back(box.lo[d]);
    out.most.push_back(box.hi[d] - 1);
  }
  return out;
}

/// The union of two windows; a dimension whose corners differ by more than a constant becomes the whole dimension.
void Emitter::join(std::optional<Window>& window, Window other, TensorId tensor) const {
  if (!window) {
    window = std::move(other);
    return;
  }
  const Box& box = t_.boxes[tensor];
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
std::pair<int64_t, int64_t> Emitter::values_of(const Body& body, const Subscript& s, int64_t least, int64_t most) const {
  if (s.data || !s.affine.is_linear()) return {least, most};
  std::pair<int64_t, int64_t> out{s.affine.constant, s.affine.constant};
  for (const Term& term : s.affine.terms) {
    uint32_t k = index_of(term.var);
    auto [lo, hi] = numeric_bounds(body.ranges[k].origin);
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
void Emitter::widen(std::optional<Window>& window, const Access& access, const Body& body, TensorId tensor) const {
  const Box& box = t_.boxes[tensor];
  Window out;
  for (size_t d = 0; d < access.index.size(); ++d) {
    auto span = access.index[d].data ? std::nullopt
                                     : span_of(access.index[d].affine, body.ranges, *body.stage, index_var(0), [&](const Affine& e, int64_t n) { return residue(e, n); });
    int64_t whole = std::max<int64_t>(box.hi[d] - box.lo[d], 0);
    if (!span || (span->extent > whole && sliding_ == 0)) span = Span1{Affine::of(box.lo[d]), whole};
    if (span->origin.is_constant() && sliding_ == 0) {
      int64_t lo = std::max(span->origin.constant, box.lo[d]);
      span->extent = std::max<int64_t>(std::min(span->origin.constant + span->extent, box.hi[d]) - lo, 0);
      span->origin = Affine::of(lo);
    }
    auto [least, most] = values_of(body, access.index[d], box.lo[d], box.hi[d] - 1);
    if (!access.index[d].affine.is_linear()) {  // a clamp's window may leave the box
      least = std::min(least, numeric_bounds(span->origin).first);
      most = std::max(most, numeric_bounds(span->origin).second + span->extent - 1);
    }
    out.origin.push_back(span->origin);
    out.extent.push_back(span->extent);
    out.least.push_back(least);
    out.most.push_back(most);
  }
  join(window, std::move(out), tensor);
}

/// What the body's own statement reads of a tensor.
std::optional<Window> Emitter::footprint(const Body& body, TensorId tensor) const {
  std::optional<Window> window;
  visit(equation_of(*body.stage).rhs, [&](const ExprNode& e) {
    if (e.op == Op::read && e.access.id == tensor) widen(window, e.access, body, tensor);
  });
  return window;
}

/// Does a stage read it, or one placed inside?
bool Emitter::reads_inside(uint32_t stage, TensorId tensor) const {
  if (reads_tensor(equation_of(t_.stages[stage]), tensor)) return true;
  return std::any_of(hosted_[stage].begin(), hosted_[stage].end(), [&](uint32_t guest) { return reads_inside(guest, tensor); });
}

/// What the host reads of a tensor from loop `depth` inwards, through the stages placed there too.
std::optional<Window> Emitter::window_at(const Body& host, size_t depth, TensorId tensor) {
  KnownWindows known;
  return window_at(host, depth, tensor, known);
}

std::optional<Window> Emitter::window_at(const Body& host, size_t depth, TensorId tensor, KnownWindows& known) {
  if (auto found = known.find(tensor); found != known.end()) return found->second;
  std::optional<Window> window = footprint(host, tensor);
  for (uint32_t guest : hosted_[host.id]) {
    const Stage& stage = t_.stages[guest];
    if (stage.placement.depth < depth || stage.placement.kind == Placement::Kind::inlined) continue;
    const auto& targets = equation_of(stage).targets;
    if (!reads_inside(guest, tensor)) continue;
    std::optional<Body> body;
    if (stage.placement.kind == Placement::Kind::fused)
      body = body_tied(guest, host);
    else if (auto own = window_of_all(host, depth, targets, known)) {
      const auto& follower = followers_[guest];
      body = body_in(guest, follower && stage.placement.depth == depth ? only_new(*follower, std::move(*own), host.ranges[follower->index].origin) : *own);
    }
    if (!body) continue;
    if (auto read = window_at(*body, 0, tensor)) join(window, std::move(*read), tensor);
  }
  known.emplace(tensor, window);
  return window;
}

/// Of tensors that one statement defines together: what is read of any of them.
std::optional<Window> Emitter::window_of_all(const Body& host, size_t depth, const std::vector<TensorId>& targets) {
  KnownWindows known;
  return window_of_all(host, depth, targets, known);
}

std::optional<Window> Emitter::window_of_all(const Body& host, size_t depth, const std::vector<TensorId>& targets, KnownWindows& known) {
  std::optional<Window> window;
  for (TensorId tensor : targets)
    if (auto one = window_at(host, depth, tensor, known)) join(window, std::move(*one), tensor);
  return window;
}

/// A stage restricted to a window of its tensor.
Body Emitter::body_in(uint32_t stage_id, const Window& window) {
  Body body = body_of(stage_id);
  const auto& slots = equation_of(*body.stage).slots;
  for (size_t d = 0; d < slots.size(); ++d) {
    if (slots[d].var == kNoVar) continue;
    uint32_t k = index_of(slots[d].var);
    Range range{window.origin[d], window.extent[d], {}, {}};
    if (window.most[d] >= body.stage->hi[k]) range.upper.push_back({Affine::of(body.stage->hi[k]) - range.origin, false});
    if (window.least[d] < body.stage->lo[k]) range.lower.push_back(Affine::of(body.stage->lo[k]) - range.origin);
    prune(range);
    body.ranges[k] = std::move(range);
  }
  return body;
}

/// A fused stage: its tied indices run over the host's present ranges.
Body Emitter::body_tied(uint32_t stage_id, const Body& host) {
  Body body = body_of(stage_id);
  for (auto [own, other] : body.stage->placement.ties) {
    const Range& range = host.ranges[other];
    // Where a frame leaves the whole range to its statements, each has its own.
    const bool is_whole = host.stage->is_frame && range.origin.is_constant() && !range.is_cut();
    const int64_t lo = is_whole ? std::max(range.origin.constant, body.stage->lo[own]) : 0;
    const int64_t hi = is_whole ? std::min(range.origin.constant + range.extent, body.stage->hi[own]) : 0;
    body.ranges[own] = is_whole && lo < hi ? Range{Affine::of(lo), hi - lo, {}, {}} : range;
  }
  bind_to_tile(body, host);
  return body;
}

/// A private buffer for a window.
BufferId Emitter::make_window(const Window& window, TensorId tensor, Scope scope, const std::string& suffix) {
  Buffer buffer;
  const Tensor& of = t_.program.tensors[tensor];
  buffer.name = of.name + suffix;
  buffer.type = of.type;
  buffer.scope = scope;
  buffer.extents = window.extent;
  buffer.layout = row_major(buffer.extents);
  buffer.tensor = original(tensor);
  for (size_t d = 0; d < window.origin.size(); ++d) buffer.element.push_back(window.origin[d] + Affine::variable(kCellVar + static_cast<VarId>(d)));
  nest_.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(nest_.buffers.size() - 1);
}

namespace {

/// The dimension of a tensor along which its elements lie side by side: the last one, or the one that is the last coordinate of skewed or exchanged cells.
uint32_t dense_dimension(const View& view, const Buffer& buffer, uint32_t rank) {
  if (rank == 0 || view.cell.empty() || buffer.layout.pieces.empty()) return rank == 0 ? 0 : rank - 1;
  const Affine& along = view.cell[buffer.layout.pieces.back().dim];
  for (uint32_t d = 0; d < rank; ++d)
    if (along == Affine::variable(kCellVar + d)) return d;
  return rank - 1;
}

/// Loops of a copy: one a digit of the layout, and the tensor's unit-stride dimension `last` innermost where the layout transposes it.
std::vector<SizedLoop> copy_loops(const std::vector<std::pair<uint32_t, int64_t>>& digits, uint32_t rank, uint32_t last, int64_t lanes) {
  std::vector<SizedLoop> out;
  for (auto [dim, step] : digits) out.push_back({dim, step, MarkKind::serial, 0, false, false, "c" + std::to_string(dim)});
  if (rank == 0) return out;
  auto is_point = [&](const SizedLoop& loop) { return loop.index == last && loop.step == 1; };
  auto place = std::find_if(out.begin(), out.end(), is_point);
  bool was_innermost = place + 1 == out.end();
  std::rotate(place, place + 1, out.end());
  if (!was_innermost || lanes < 2) return out;
  out.back().step = lanes;
  out.push_back({last, 1, MarkKind::vector, lanes, false, false, "c" + std::to_string(last) + ".v"});
  return out;
}

/// A layout that ends in [.., unit-stride dimension, another % 2, 4 or 8] interleaves rows, as tensor instructions want them: so many rows at once, by
/// vectors that fill whole lines. Empty for other layouts.
std::vector<SizedLoop> interleaving_loops(const std::vector<std::pair<uint32_t, int64_t>>& digits, uint32_t rank, int64_t bytes) {
  if (digits.size() < 3 || rank < 2) return {};
  const auto [rows, one] = digits.back();
  const bool ends_in_columns = digits[digits.size() - 2] == std::pair<uint32_t, int64_t>(rank - 1, 1);
  int64_t group = 1;
  for (auto [dim, step] : digits)
    if (dim == rows && step > 1) group = step;
  const bool is_group = group == 2 || group == 4 || group == 8;
  if (rows == rank - 1 || one != 1 || !ends_in_columns || !is_group || group * bytes > 8) return {};
  const int64_t lanes = 64 / (group * bytes);
  std::vector<SizedLoop> out;
  for (size_t k = 0; k + 2 < digits.size(); ++k)
    out.push_back({digits[k].first, digits[k].second, MarkKind::serial, 0, false, false, "c" + std::to_string(digits[k].first)});
  out.push_back({rank - 1, lanes, MarkKind::serial, 0, false, false, "c" + std::to_string(rank - 1)});
  out.push_back({rows, 1, MarkKind::unroll, 0, false, false, "c" + std::to_string(rows)});
  out.push_back({rank - 1, 1, MarkKind::vector, lanes, false, false, "c" + std::to_string(rank - 1) + ".v"});
  return out;
}

}  // namespace

/// Limits of what a statement of a band reads of a tensor, by its conditions: what lies beyond them may not be made yet. One read, whose subscripts are single indices.
std::vector<Range> Emitter::read_limits(const Body& body, const Window& window, TensorId tensor) const {
  std::vector<Range> out;
  if (!is_in_band(body) || !body.stage->placement.alone.empty()) return out;
  const Access* access = nullptr;
  int reads = 0;
  visit(equation_of(*body.stage).rhs, [&](const ExprNode& e) {
    if (e.op == Op::read && e.access.id == tensor) access = &e.access, ++reads;
  });
  for (size_t d = 0; d < window.origin.size(); ++d) {
    out.push_back({window.origin[d], window.extent[d], {}, {}});
    if (reads != 1 || access->index[d].data || access->index[d].affine.terms.size() != 1) continue;
    const Affine& e = access->index[d].affine;
    if (e.terms[0].quasi || e.terms[0].coeff != 1) continue;
    const uint32_t index = index_of(e.terms[0].var);
    const Affine first = body.ranges[index].origin + Affine::of(e.constant) - window.origin[d];
    if (!first.is_constant()) continue;
    Body tried = body;
    const Range cut_range = cut(tried, index, Cut::outset);
    const Affine moved = cut_range.origin - body.ranges[index].origin + first;
    Range& range = out.back();
    range.lower.push_back(moved);
    range.upper.push_back({moved + Affine::of(cut_range.extent), false});
    for (const Affine& lower : cut_range.lower) range.lower.push_back(lower + moved);
    for (const Limit& limit : cut_range.upper) range.upper.push_back({limit.e + moved, false});
  }
  return out;
}

/// Copies the part of a window that lies in the tensor's box. A copy that parallel loops will share may be made by all of them: the mark of its first loop.
NodeId Emitter::copy_nest(const Window& window, TensorId tensor, const View& dst, const View& src, const std::vector<LayoutPart>& layout, const CopyOptions& options) {
  auto rank = static_cast<uint32_t>(window.extent.size());
  // All reads lie outside the tensor (each under a guard that never holds), or the tensor has no elements.
  if (std::find(window.extent.begin(), window.extent.end(), 0) != window.extent.end()) return nest_.add(Seq{});
  auto stage = std::make_unique<Stage>();
  stage->name = t_.program.tensors[tensor].name;
  stage->data_indices = rank;
  stage->lo = t_.boxes[tensor].lo;
  stage->hi = t_.boxes[tensor].hi;
  stage->equation = 0;
  Body body;
  body.stage = stage.get();
  body.leaf = Leaf::fill;
  body.initialized = true;
  std::vector<std::pair<uint32_t, int64_t>> digits;
  for (const LayoutPart& part : layout) digits.push_back({part.dim, part.part == LayoutDigit::Part::quotient ? size_of(part.factor) : 1});
  if (layout.empty())
    for (uint32_t d = 0; d < rank; ++d) digits.push_back({d, 1});
  int64_t lanes = 64 / size_bytes(t_.program.tensors[tensor].type);
  const uint32_t dense = dense_dimension(src, nest_.buffers[src.buffer], rank);
  if (rank > 0 && window.extent[dense] < lanes) lanes = 0;
  body.loops = interleaving_loops(digits, rank, size_bytes(t_.program.tensors[tensor].type));
  if (body.loops.empty()) body.loops = copy_loops(digits, rank, dense, lanes);
  if (body.loops.size() > 1 && body.loops[0].mark == MarkKind::serial) body.loops[0].mark = options.outermost;
  for (uint32_t d = 0; d < rank; ++d) {
    Range range = options.limits.empty() ? Range{window.origin[d], window.extent[d], {}, {}} : options.limits[d];
    range.upper.push_back({Affine::of(stage->hi[d]) - range.origin, false});
    range.lower.push_back(Affine::of(stage->lo[d]) - range.origin);
    prune(range);
    body.ranges.push_back(std::move(range));
  }
  body.fill_view = dst;
  body.fill_source = src;
  made_stages_.push_back(std::move(stage));
  return emit(std::move(body), 0);
}

}  // namespace polyweft::ir
