// instantiate(): sizes into a template. The root of the nest: buffers of tensors, packs of constant inputs, one nest after the other.
#include <algorithm>

#include "ir/instantiate/internal.h"
#include "ir/batch_lanes.h"
#include "ir/left_to_compiler.h"
#include "ir/scalar.h"
#include "ir/shared_memory.h"
#include "ir/slots.h"
#include "ir/snapshot.h"
#include "support/integer_division.h"

namespace polyweft {
namespace ir {

Emitter::Emitter(const NestTemplate& nest_template, const std::vector<int64_t>& decisions) : t_(nest_template), decisions_(decisions) {
  nest_.name = t_.program.name;
  nest_.cls = t_.cls;
  nest_.params = t_.program.parameters;
  nest_.combiners = t_.program.combiners;
  views_.resize(t_.program.tensors.size());
  hosted_.resize(t_.stages.size());
  followers_.resize(t_.stages.size());
  for (uint32_t k = 0; k < t_.stages.size(); ++k)
    if (t_.stages[k].placement.kind != Placement::Kind::at_root && t_.stages[k].placement.kind != Placement::Kind::inlined)
      hosted_[t_.stages[k].placement.host].push_back(k);
}

Result<LoopNest> Emitter::run() {
  make_tensor_buffers();
  pack_const_inputs();
  nest_.root = root();
  if (failed_) return error_;
  for (const auto& [local, output] : t_.in_outputs)
    if (auto placed = place_in_output(nest_, local, output); !placed) return placed.error();
  make_copies(nest_, t_.program, t_.snapshots);
  reuse_dead(nest_);
  return std::move(nest_);
}

NodeId Emitter::error(std::string code, std::string message, std::vector<std::string> notes) {
  if (!failed_) error_ = fail(std::move(code), std::move(message), std::move(notes));
  failed_ = true;
  return kNoNode;
}

int64_t Emitter::size_of(const Size& size) const {
  if (size.decision.empty()) return std::max<int64_t>(size.constant, 1);
  for (size_t k = 0; k < t_.trace.decisions.size(); ++k)
    if (t_.trace.decisions[k].name == size.decision) return std::max<int64_t>(decisions_[k], 1);
  PW_CHECK(false);
  return 1;
}

NodeId Emitter::seq(std::vector<NodeId> children) {
  std::erase(children, kNoNode);
  if (children.size() == 1) return children[0];
  return add(Seq{std::move(children)});
}

/// A new loop variable whose values are multiples of step in [0, hi].
VarId Emitter::variable(const std::string& name, int64_t step, int64_t hi, bool is_register) {
  facts_.push_back({step, std::max<int64_t>(hi, 0), is_register});
  return nest_.new_loop_var(name);
}

/// Registers have no address: an index that a serial loop moves cannot reach them.
void Emitter::check_register_index(const Access& access) {
  if (nest_.buffers[access.id].scope != Scope::reg) return;
  for (const Subscript& s : access.index) {
    std::vector<VarId> used;
    collect_variables(s.affine, used);
    bool fits = !s.data && std::all_of(used.begin(), used.end(), [&](VarId v) { return facts_[v - nest_.params.size()].is_register; });
    if (!fits)
      error("PW0311", "registers: " + nest_.buffers[access.id].name + " would be indexed by a serial loop",
            {"unroll or vectorize the loops inside, or use stack or heap"});
  }
}

bool Emitter::made_in_band(TensorId id) const {
  return std::any_of(t_.stages.begin(), t_.stages.end(), [&](const Stage& stage) {
    const auto& targets = equation_of(stage).targets;
    return stage.placement.kind == Placement::Kind::fused && t_.stages[stage.placement.host].is_frame && std::find(targets.begin(), targets.end(), id) != targets.end();
  });
}

bool has_long_rows(const Buffer& buffer) {
  return buffer.layout.pieces.size() >= 2 && buffer.layout.pieces.back().factor * size_bytes(buffer.type) >= 4 * kLineBytes;
}

/// Cells before the first element of each row put what begins `first` cells further on a cache line.
void put_on_line(Buffer& buffer, View& view, int64_t first) {
  const int64_t line = kLineBytes / size_bytes(buffer.type), before = floor_remainder(-first, line);
  const VarId along = kCellVar + static_cast<VarId>(buffer.extents.size()) - 1;
  buffer.extents.back() += before;
  for (Affine& e : buffer.element) e = substitute(e, {{along, Affine::variable(along) - Affine::of(before)}});
  view.origin.back() = view.origin.back() - Affine::of(before);
  buffer.layout = row_major(folded_extents(buffer));
}

/// Rows of several cache lines begin on lines, and not all at one place of the first cache: what lies above and below in a stencil is then aligned alike.
void align_rows(Buffer& buffer) {
  constexpr int64_t kAlias = 512;
  const int64_t bytes = size_bytes(buffer.type);
  int64_t row = (buffer.layout.pieces.back().factor * bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  if (row % kAlias == 0) row += kLineBytes;
  buffer.layout.pad.assign(buffer.layout.pieces.size(), 0);
  buffer.layout.pad.back() = row / bytes - buffer.layout.pieces.back().factor;
}

namespace {

/// Least and greatest value over the elements of a box.
std::pair<int64_t, int64_t> reach(const Affine& e, const Box& box) {
  std::pair<int64_t, int64_t> out{e.constant, e.constant};
  for (const Term& term : e.terms) {
    const size_t d = term.var - kCellVar;
    const int64_t first = term.coeff * box.lo[d], last = term.coeff * std::max(box.lo[d], box.hi[d] - 1);
    out.first += std::min(first, last);
    out.second += std::max(first, last);
  }
  return out;
}

/// The dimension of the cells that is dimension d of the elements.
uint32_t cell_dimension(const TensorStorage& storage, uint32_t d) {
  for (uint32_t k = 0; k < storage.cell.size(); ++k)
    if (storage.cell[k] == Affine::variable(kCellVar + d)) return k;
  return 0;
}

void move_cells(const TensorStorage& storage, const Box& box, Buffer& buffer, View& view) {
  buffer.extents.clear();
  view.origin.clear();
  std::map<VarId, Affine> shifted;
  for (uint32_t k = 0; k < storage.cell.size(); ++k) {
    const auto [least, most] = reach(storage.cell[k], box);
    buffer.extents.push_back(most - least + 1);
    view.origin.push_back(Affine::of(least));
    shifted[kCellVar + k] = Affine::variable(kCellVar + k) + Affine::of(least);
  }
  buffer.element.clear();
  for (const Affine& e : storage.element) buffer.element.push_back(substitute(e, shifted));
  view.cell = storage.cell;
}

}  // namespace

/// Where the vectors along an index begin: at the first value that a tile loop around the band's statements counts from, or at the statement's own.
int64_t Emitter::first_vector(const Stage& stage, uint32_t index) const {
  const Placement& at = stage.placement;
  if (at.kind != Placement::Kind::fused) return stage.lo[index];
  const Stage& host = t_.stages[at.host];
  const auto tie = std::find_if(at.ties.begin(), at.ties.end(), [&](const auto& own_and_host) { return own_and_host.first == index; });
  if (tie == at.ties.end()) return stage.lo[index];
  const int64_t values = host.hi[tie->second] - host.lo[tie->second];  // one tile of all of them is none
  const bool is_tiled =
      std::any_of(host.loops.begin(), host.loops.begin() + at.depth, [&](const TemplateLoop& loop) { return loop.index == tie->second && size_of(loop.step) < values; });
  return is_tiled ? host.lo[tie->second] : stage.lo[index];
}

/// The cell along rows of the tensor where the lanes of its greatest writer in a band begin. Nothing where rows begin at another place of a cache line each, or no lanes
/// run along them.
std::optional<int64_t> Emitter::first_of_lanes(TensorId id, const Affine& cell) const {
  std::optional<int64_t> out;
  double most = 0;
  for (const Stage& stage : t_.stages) {
    const Equation& equation = equation_of(stage);
    const auto lanes = std::find_if(stage.loops.begin(), stage.loops.end(), [](const TemplateLoop& loop) { return loop.mark.kind == MarkKind::vector; });
    if (lanes == stage.loops.end() || equation.targets.front() != id) continue;
    std::map<VarId, Affine> of_dimensions;
    for (uint32_t d = 0; d < equation.slots.size(); ++d) of_dimensions[kCellVar + d] = position_of(equation.slots[d]);
    const Affine along = substitute(cell, of_dimensions);
    const int64_t line = kLineBytes / size_bytes(t_.program.tensors[id].type);
    int64_t first = along.constant;
    bool is_even = along.is_linear() && along.coefficient(index_var(lanes->index)) == 1;
    for (const Term& term : along.terms) {
      if (term.quasi) break;
      if (term.var == index_var(lanes->index))
        first += first_vector(stage, lanes->index);
      else
        is_even = is_even && term.coeff % line == 0;
    }
    double points = 1;
    for (size_t k = 0; k < stage.lo.size(); ++k) points *= static_cast<double>(stage.hi[k] - stage.lo[k]);
    if (points <= most) continue;
    most = points;
    out = is_even ? std::optional(first) : std::nullopt;
  }
  return out;
}

BufferId Emitter::make_tensor_buffer(TensorId id) {
  const Tensor& tensor = t_.program.tensors[id];
  Buffer buffer;
  buffer.name = tensor.name;
  buffer.type = tensor.type;
  const Box& box = t_.boxes[id];
  for (size_t d = 0; d < box.lo.size(); ++d) {
    buffer.extents.push_back(std::max<int64_t>(box.hi[d] - box.lo[d], 0));
    buffer.element.push_back(Affine::variable(kCellVar + static_cast<VarId>(d)) + Affine::of(box.lo[d]));
  }
  View view;
  for (int64_t lo : box.lo) view.origin.push_back(Affine::of(lo));
  const TensorStorage* storage = nullptr;
  for (const TensorStorage& each : t_.storages)
    if (each.tensor == id) storage = &each;
  if (storage) move_cells(*storage, box, buffer, view);
  for (const TensorFold& fold : t_.folds) {
    const uint32_t dim = storage && fold.cell.empty() ? cell_dimension(*storage, fold.dim) : fold.dim;
    const int64_t window = fold.tensor == id ? window_between_blocks(id, fold.dim, fold.window) : 0;
    if (fold.tensor == id && window < buffer.extents[dim]) buffer.folds.push_back({dim, window});
  }
  buffer.layout = storage ? layout_of(storage->layout, folded_extents(buffer)) : row_major(folded_extents(buffer));
  const bool in_output = std::any_of(t_.in_outputs.begin(), t_.in_outputs.end(), [&](const auto& pair) { return pair.first == id; });
  if (tensor.kind == TensorKind::local && !in_output && made_in_band(id) && has_long_rows(buffer)) {
    const bool is_free = (!storage || storage->layout.empty()) &&
                         std::none_of(buffer.folds.begin(), buffer.folds.end(), [&](const auto& fold) { return fold.dim + 1 == buffer.extents.size(); });
    const Affine along = storage ? storage->cell.back() : Affine::variable(kCellVar + static_cast<VarId>(box.lo.size()) - 1);
    if (auto first = is_free ? first_of_lanes(id, along) : std::nullopt) put_on_line(buffer, view, *first - view.origin.back().constant);
    align_rows(buffer);
  }
  buffer.tensor = id;
  buffer.scope = Scope::heap;
  if (tensor.kind == TensorKind::input || tensor.kind == TensorKind::output) {
    buffer.scope = Scope::argument;
    buffer.align_bytes = size_bytes(tensor.type);
    buffer.is_output = tensor.kind == TensorKind::output;
    buffer.values = promised_values(tensor);
  }
  if (tensor.kind == TensorKind::constant) {
    buffer.scope = Scope::constant;
    buffer.data = tensor.data;
  }
  nest_.buffers.push_back(std::move(buffer));
  view.buffer = static_cast<BufferId>(nest_.buffers.size() - 1);
  views_[id].push_back(view);
  return view.buffer;
}

/// Arguments first, in the order of the ABI; then what has a buffer of its own for the whole nest.
void Emitter::make_tensor_buffers() {
  for (TensorId id : t_.program.inputs()) nest_.arguments.push_back(make_tensor_buffer(id));
  for (TensorId id : t_.program.outputs()) nest_.arguments.push_back(make_tensor_buffer(id));
  for (TensorId id = 0; id < t_.program.tensors.size(); ++id)
    if (t_.program.tensors[id].kind == TensorKind::constant) make_tensor_buffer(id);
}

/// The layout in which a `const in` arrives: that of the reader with most points among those that promote it outside all loops; the
/// others read it as it is. Nullptr where the greatest reader does not.
const Promotion* Emitter::layout_ahead(TensorId tensor) const {
  const Promotion* found = nullptr;
  double most = -1;
  for (const Stage& stage : t_.stages) {
    bool reads = false;
    visit(equation_of(stage).rhs, [&](const ExprNode& e) { reads |= e.op == Op::read && e.access.id == tensor; });
    double points = 1;
    for (size_t k = 0; k < stage.lo.size(); ++k) points *= static_cast<double>(std::max<int64_t>(stage.hi[k] - stage.lo[k], 0));
    if (!reads || points <= most) continue;
    most = points;
    found = nullptr;
    for (const Promotion& promotion : stage.promotions)
      if (promotion.tensor == tensor && promotion.depth == 0) found = &promotion;
  }
  return found;
}

/// Every `const in` is packed by a function of its own, and the argument is the packed buffer: callers need not know what the schedule made of it.
void Emitter::pack_const_inputs() {
  for (TensorId tensor : t_.program.inputs()) {
    if (!t_.program.tensors[tensor].is_const_input) continue;
    const Promotion* promotion = layout_ahead(tensor);
    View source = views_[tensor].front();
    Window window = hull_window(tensor);
    BufferId packed = make_window(window, tensor, Scope::argument, ".p");
    Buffer& buffer = nest_.buffers[packed];
    if (promotion) buffer.layout = layout_of(promotion->layout, window.extent);
    buffer.is_packed = true;
    std::replace(nest_.arguments.begin(), nest_.arguments.end(), source.buffer, packed);
    View view{packed, window.origin, std::nullopt};
    NodeId copy = copy_nest(window, tensor, view, source, promotion ? promotion->layout : std::vector<LayoutPart>{});
    nest_.packs.push_back({source.buffer, packed, copy});
    views_[tensor] = {view};
  }
}

/// Physical dimensions of a promoted window.
Layout Emitter::layout_of(const std::vector<LayoutPart>& parts, const std::vector<int64_t>& extents) const {
  if (parts.empty()) return row_major(extents);
  std::vector<int64_t> low(extents.size(), 1);
  for (const LayoutPart& part : parts)
    if (part.part == LayoutDigit::Part::remainder) low[part.dim] = size_of(part.factor);
  Layout layout;
  for (const LayoutPart& part : parts) {
    int64_t extent = std::max<int64_t>(extents[part.dim], 1);
    int64_t factor = part.part == LayoutDigit::Part::remainder ? low[part.dim]
                     : part.part == LayoutDigit::Part::whole   ? extent
                                                               : (extent + low[part.dim] - 1) / low[part.dim];
    layout.pieces.push_back({part.dim, factor});
  }
  return layout;
}

/// Sizes become numbers; each is rounded up to a multiple of the next smaller one of the same index; parts of a parallel index to a multiple of its register tile.
std::vector<SizedLoop> Emitter::sized_loops(const Stage& stage) const {
  std::vector<SizedLoop> out;
  for (const TemplateLoop& loop : stage.loops)
    out.push_back({loop.index, size_of(loop.step), loop.mark.kind, loop.mark.kind == MarkKind::vector || loop.mark.kind == MarkKind::tensor ? size_of(loop.lanes) : 0,
                   loop.index >= stage.data_indices, false, loop.name, loop.cuts, loop.mark.detail, loop.mark.non_temporal, loop.kind == TemplateLoop::Kind::reduction_part, loop.wave});
  for (const SizedLoop& vector : std::vector<SizedLoop>(out))
    if (vector.mark == MarkKind::vector && vector.reduced)
      for (SizedLoop& loop : out) loop.lane |= loop.is_register() && loop.index == vector.index;
  std::map<uint32_t, int64_t> inner, tile;
  for (size_t k = out.size(); k-- > 0;) {
    const bool is_part = out[k].mark == MarkKind::parallel && stage.loops[k].lanes.constant > 0;
    int64_t& unit = (is_part ? tile : inner).try_emplace(out[k].index, 1).first->second;
    out[k].step = (out[k].step + unit - 1) / unit * unit;
    unit = out[k].mark == MarkKind::vector ? out[k].lanes : out[k].step;
    if (!out[k].is_register()) tile.try_emplace(out[k].index, out[k].step);
  }
  return out;
}

bool Emitter::is_null_reduction(const Body& body) const {
  if (!body.stage->reduces) return false;
  for (uint32_t k = body.stage->data_indices; k < body.stage->lo.size(); ++k)
    if (body.stage->hi[k] <= body.stage->lo[k]) return true;
  return false;
}

bool Emitter::has_no_elements(const Body& body) const {
  for (uint32_t k = 0; k < body.ranges.size(); ++k)
    if (body.ranges[k].extent == 0 && (k < body.stage->data_indices || !body.stage->reduces)) return true;
  return false;
}

Body Emitter::body_of(uint32_t stage_id) {
  const Stage& stage = t_.stages[stage_id];
  Body body;
  body.stage = &stage;
  body.id = stage_id;
  body.loops = sized_loops(stage);
  body.done.assign(stage.inside.size(), 0);
  for (Determined& each : determined_indices(t_, stage_id)) {
    for (SizedLoop& loop : body.loops)
      if (loop.index == each.index && loop.step == 1) loop.gone = true;
    body.gone.push_back({std::move(each)});
  }
  body.initialized = !stage.reduces || stage.part == SumPart::folds;
  if (stage.part == SumPart::first) body.leaf = Leaf::init;
  for (size_t k = 0; k < stage.lo.size(); ++k) body.ranges.push_back({Affine::of(stage.lo[k]), std::max<int64_t>(stage.hi[k] - stage.lo[k], 0), {}, {}});
  return body;
}

NodeId Emitter::root() {
  std::vector<BufferId> allocated;
  std::set<TensorId> private_ones;
  for (const Stage& stage : t_.stages)
    if (stage.placement.kind == Placement::Kind::compute_at || stage.placement.kind == Placement::Kind::inlined)
      for (TensorId id : equation_of(stage).targets) private_ones.insert(id);
  for (TensorId id = 0; id < t_.program.tensors.size(); ++id)
    if (is_made_in_tiles(id) && !kept_of(id)) private_ones.insert(id);
  for (uint32_t s = 0; s < t_.stages.size(); ++s)
    if (private_results(s))
      for (TensorId id : equation_of(t_.stages[s]).targets) private_ones.insert(id);
  for (TensorId id = 0; id < t_.program.tensors.size(); ++id)
    if (t_.program.tensors[id].kind == TensorKind::local && original(id) == id && !private_ones.count(id)) allocated.push_back(make_tensor_buffer(id));
  std::vector<NodeId> nests;
  for (uint32_t s = 0; s < t_.stages.size() && !failed_; ++s) {
    if (t_.stages[s].placement.kind != Placement::Kind::at_root) continue;
    Body body = body_of(s);
    if (has_no_elements(body)) continue;
    nests.push_back(emit(std::move(body), 0));
  }
  NodeId node = add(Seq{});
  std::erase(nests, kNoNode);
  std::get<Seq>(nest_.nodes[node]).children = std::move(nests);
  for (size_t k = allocated.size(); k-- > 0;) node = add(Alloc{allocated[k], node});
  return node;
}

}  // namespace ir

Result<LoopNest> instantiate(const NestTemplate& nest_template, const std::vector<int64_t>& decisions) {
  if (nest_template.fixed) {
    if (!nest_template.auto_vectorized && !nest_template.batch) return *nest_template.fixed;
    LoopNest nest = ir::with_fused_products(*nest_template.fixed, nest_template.fuses_products);
    if (nest_template.auto_vectorized) return ir::left_to_compiler(std::move(nest), nest_template.avoids_gathers);
    return ir::batch_lanes(nest, *nest_template.batch);
  }
  if (decisions.size() != nest_template.trace.decisions.size())
    return fail("PW0310", "instantiate: " + std::to_string(decisions.size()) + " values for " + std::to_string(nest_template.trace.decisions.size()) + " decisions");
  auto nest = ir::Emitter(nest_template, decisions).run();
  if (nest && nest_template.auto_vectorized) nest = ir::left_to_compiler(std::move(nest).value(), nest_template.avoids_gathers);
  if (nest && nest_template.batch) return ir::batch_lanes(*nest, *nest_template.batch);
  return nest;
}

}  // namespace polyweft
