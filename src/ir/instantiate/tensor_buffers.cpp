#include "ir/instantiate/tensor_buffers.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "ir/values/scalar.h"
#include "ir/values/slots.h"

namespace polyweft::ir {

namespace {

bool made_in_band(const SizedTemplate& schedule, TensorId id) {
  return std::any_of(schedule.stages().begin(), schedule.stages().end(), [&](const Stage& stage) {
    return stage.placement.kind == Placement::Kind::fused && schedule.stage(stage.placement.host).is_frame &&
           defines(schedule.equation_of(stage), id);
  });
}

bool is_made_in_tiles(const SizedTemplate& schedule, TensorId id) {
  return std::any_of(schedule.stages().begin(), schedule.stages().end(), [&](const Stage& stage) {
    return stage.placement.kind == Placement::Kind::fused && schedule.overlap_of(stage.placement.host) &&
           defines(schedule.equation_of(stage), id);
  });
}

/// A fold for the cells that outlive blocks: while tiles still copy what was made before a block, others write what
/// outlives it, so many steps later as the block has. A block writes its own steps only, however many outlive it (tiles
/// refuse blocks of fewer).
int64_t window_between_blocks(const SizedTemplate& schedule, const TensorFold& fold) {
  const Overlap::Kept* kept = schedule.kept_of(fold.tensor);
  int64_t window = fold.window;
  if (!kept || kept->dim != fold.dim) return window;
  for (const Band& band : schedule.nest_template().bands) {
    const auto& all_kept = band.overlap.kept;
    const auto is_kept = [&](const Overlap::Kept& each) { return &each == kept; };
    if (band.overlap.depth == 0 || std::none_of(all_kept.begin(), all_kept.end(), is_kept)) continue;
    const Stage& frame = schedule.stage(band.frame);
    const uint32_t time = frame.loops[0].index;
    const int64_t all = frame.hi[time] - frame.lo[time];
    const int64_t block = std::min(schedule.sized_loops(frame)[0].step, std::max<int64_t>(all, 1));
    auto meets = [&](int64_t w) {
      for (int64_t steps : {block, all % block})
        for (int64_t before = 1; steps > 0 && before <= kept->before; ++before)
          for (int64_t after = 1; after <= std::min(kept->after, steps); ++after)
            if ((steps + before - after) % w == 0) return true;
      return false;
    };
    window = std::max({window, kept->before, kept->after});
    while (meets(window)) ++window;  // ends at block + before
  }
  return window;
}

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

void move_cells(const TensorStorage& storage, const Box& box, TensorBuffer& out) {
  out.buffer.extents.clear();
  out.view.origin.clear();
  std::map<VarId, Affine> shifted;
  for (uint32_t k = 0; k < storage.cell.size(); ++k) {
    const auto [least, most] = reach(storage.cell[k], box);
    out.buffer.extents.push_back(most - least + 1);
    out.view.origin.push_back(Affine::of(least));
    shifted[kCellVar + k] = Affine::variable(kCellVar + k) + Affine::of(least);
  }
  out.buffer.element.clear();
  for (const Affine& e : storage.element) out.buffer.element.push_back(substitute(e, shifted));
  out.view.cell = storage.cell;
}

/// Where the vectors along an index begin: at the first value that a tile loop around the band's statements counts
/// from, or at the statement's own.
int64_t first_vector(const SizedTemplate& schedule, const Stage& stage, uint32_t index) {
  const Placement& at = stage.placement;
  if (at.kind != Placement::Kind::fused) return stage.lo[index];
  const Stage& frame = schedule.stage(at.host);
  const auto tie = std::find_if(at.ties.begin(), at.ties.end(),
                                [&](const auto& own_and_frame) { return own_and_frame.first == index; });
  if (tie == at.ties.end()) return stage.lo[index];
  const int64_t values = frame.hi[tie->second] - frame.lo[tie->second];  // one tile of all of them is none
  const bool is_tiled = std::any_of(frame.loops.begin(), frame.loops.begin() + at.depth, [&](const TemplateLoop& loop) {
    return loop.index == tie->second && schedule.size_of(loop.step) < values;
  });
  return is_tiled ? frame.lo[tie->second] : stage.lo[index];
}

double points_of(const Stage& stage) {
  double points = 1;
  for (size_t k = 0; k < stage.lo.size(); ++k) points *= static_cast<double>(stage.hi[k] - stage.lo[k]);
  return points;
}

/// The cell along rows of the tensor where the lanes of its greatest writer in a band begin. Nothing where rows begin
/// at another place of a cache line each, or no lanes run along them.
std::optional<int64_t> first_of_lanes(const SizedTemplate& schedule, TensorId id, const Affine& cell) {
  std::optional<int64_t> out;
  double most = 0;
  for (const Stage& stage : schedule.stages()) {
    const Equation& equation = schedule.equation_of(stage);
    const auto lanes = std::find_if(stage.loops.begin(), stage.loops.end(),
                                    [](const TemplateLoop& loop) { return loop.mark.kind == MarkKind::vector; });
    if (lanes == stage.loops.end() || equation.targets.front() != id) continue;
    std::map<VarId, Affine> of_dimensions;
    for (uint32_t d = 0; d < equation.slots.size(); ++d) of_dimensions[kCellVar + d] = position_of(equation.slots[d]);
    const Affine along = substitute(cell, of_dimensions);
    const int64_t line = kLineBytes / size_bytes(schedule.tensor(id).type);
    const VarId lane = schedule.program().index_var(lanes->index);
    int64_t first = along.constant;
    bool is_even = along.is_linear() && along.coefficient(lane) == 1;
    for (const Term& term : along.terms) {
      if (term.quasi) break;
      if (term.var == lane)
        first += first_vector(schedule, stage, lanes->index);
      else
        is_even = is_even && term.coeff % line == 0;
    }
    const double points = points_of(stage);
    if (points <= most) continue;
    most = points;
    out = is_even ? std::optional(first) : std::nullopt;
  }
  return out;
}

const TensorStorage* storage_of(const SizedTemplate& schedule, TensorId id) {
  const TensorStorage* out = nullptr;
  for (const TensorStorage& each : schedule.nest_template().storages)
    if (each.tensor == id) out = &each;
  return out;
}

/// The elements of the tensor's box in the coordinates of their cells.
TensorBuffer all_cells(const SizedTemplate& schedule, TensorId id) {
  TensorBuffer out;
  const Box& box = schedule.box(id);
  for (size_t d = 0; d < box.lo.size(); ++d) {
    out.buffer.extents.push_back(std::max<int64_t>(box.hi[d] - box.lo[d], 0));
    out.buffer.element.push_back(Affine::variable(kCellVar + static_cast<VarId>(d)) + Affine::of(box.lo[d]));
  }
  for (int64_t lo : box.lo) out.view.origin.push_back(Affine::of(lo));
  const TensorStorage* storage = storage_of(schedule, id);
  if (storage) move_cells(*storage, box, out);
  for (const TensorFold& fold : schedule.nest_template().folds) {
    if (fold.tensor != id) continue;
    const uint32_t dim = storage && fold.cell.empty() ? cell_dimension(*storage, fold.dim) : fold.dim;
    const int64_t window = window_between_blocks(schedule, fold);
    if (window < out.buffer.extents[dim]) out.buffer.folds.push_back({dim, window});
  }
  const std::vector<int64_t> extents = folded_extents(out.buffer);
  out.buffer.layout = storage ? schedule.layout_of(storage->layout, extents) : row_major(extents);
  return out;
}

/// Long rows of a band's own tensor: what lanes begin with lies on a cache line where rows allow it.
void align_to_lanes(const SizedTemplate& schedule, TensorId id, TensorBuffer& made) {
  const auto& in_outputs = schedule.nest_template().in_outputs;
  const bool in_output =
      std::any_of(in_outputs.begin(), in_outputs.end(), [&](const auto& pair) { return pair.first == id; });
  if (schedule.tensor(id).kind != TensorKind::local || in_output || !made_in_band(schedule, id)) return;
  Buffer& buffer = made.buffer;
  if (!has_long_rows(buffer)) return;
  const TensorStorage* storage = storage_of(schedule, id);
  const bool is_free = (!storage || storage->layout.empty()) &&
                       std::none_of(buffer.folds.begin(), buffer.folds.end(),
                                    [&](const auto& fold) { return fold.dim + 1 == buffer.extents.size(); });
  const auto rank = static_cast<VarId>(schedule.box(id).lo.size());
  const Affine along = storage ? storage->cell.back() : Affine::variable(kCellVar + rank - 1);
  if (auto first = is_free ? first_of_lanes(schedule, id, along) : std::nullopt)
    put_on_line(buffer, made.view, *first - made.view.origin.back().constant);
  align_rows(buffer);
}

}  // namespace

TensorBuffer tensor_buffer(const SizedTemplate& schedule, TensorId id) {
  const Tensor& tensor = schedule.tensor(id);
  TensorBuffer out = all_cells(schedule, id);
  Buffer& buffer = out.buffer;
  buffer.name = tensor.name;
  buffer.type = tensor.type;
  align_to_lanes(schedule, id, out);
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
  return out;
}

std::optional<size_t> private_results(const SizedTemplate& schedule, uint32_t stage_id) {
  const Stage& stage = schedule.stage(stage_id);
  if (stage.placement.kind != Placement::Kind::at_root || stage.is_frame) return std::nullopt;
  std::optional<size_t> depth;
  for (TensorId target : schedule.targets_of(stage_id)) {
    if (schedule.tensor(target).kind != TensorKind::local || schedule.original(target) != target) return std::nullopt;
    for (uint32_t k = 0; k < schedule.stages().size(); ++k) {
      const Stage& reader = schedule.stage(k);
      const Placement& at = reader.placement;
      const Equation& equation = schedule.equation_of(reader);
      if (k != stage_id && defines(equation, target)) return std::nullopt;
      if (at.kind == Placement::Kind::inlined || !reads_tensor(equation, target)) continue;
      if (at.kind != Placement::Kind::fused || !at.alone.empty() || at.host != stage_id) return std::nullopt;
      depth = std::min<size_t>(depth.value_or(at.depth), at.depth);
    }
  }
  return depth;
}

std::set<TensorId> private_tensors(const SizedTemplate& schedule) {
  std::set<TensorId> out;
  for (uint32_t s = 0; s < schedule.stages().size(); ++s) {
    const Placement::Kind kind = schedule.stage(s).placement.kind;
    const bool is_private = kind == Placement::Kind::compute_at || kind == Placement::Kind::inlined ||
                            private_results(schedule, s).has_value();
    if (is_private) out.insert(schedule.targets_of(s).begin(), schedule.targets_of(s).end());
  }
  for (TensorId id = 0; id < schedule.program().tensors.size(); ++id)
    if (is_made_in_tiles(schedule, id) && !schedule.kept_of(id)) out.insert(id);
  return out;
}

}  // namespace polyweft::ir
