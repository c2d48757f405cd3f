// Strips: all producers of an output run in strips of their common outer indices (softmax, layernorm, attention,
// separable stencils).
//
//   others | y: strip | producers of the strip, in order | y  x: width | a stencil of the row in registers  x (vectors)
//   others | y: strip | x: width | columns' sums and the stencil of their rows in registers  y  x (vectors)
#include "schedules/sketches/strips.h"

#include <algorithm>
#include <map>

#include "schedules/queries.h"
#include "schedules/sketches/alignment.h"
#include "schedules/sketches/lane_windows.h"

namespace polyweft::schedules {

std::vector<uint32_t> readers_of(const NestTemplate& t, uint32_t stage) {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < t.stages.size(); ++k)
    if (t.stages[k].placement.kind != Placement::Kind::inlined &&
        reads_any(t, t.stages[k], equation_of(t, t.stages[stage]).targets))
      out.push_back(k);
  return out;
}

bool stores_lines(const Plan& plan, const PlanContext& c) {
  if (equation_of(c.t, c.stage).rhs->op == Op::read) return true;
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    const auto* lanes = std::get_if<VectorizeStep>(&step);
    return lanes && c.table.unit && lanes->statement == c.stage.name && lanes->loop == c.name(*c.table.unit);
  });
}

bool writes_output(const NestTemplate& t, uint32_t stage) {
  const auto& targets = equation_of(t, t.stages[stage]).targets;
  return !t.stages[stage].reduces && targets.size() == 1 && t.program.tensors[targets[0]].kind == TensorKind::output;
}

namespace {

constexpr int64_t kRowsOfWindow = 4;  ///< in a block of columns whose sums stand in registers

/// The stencil that only the host reads, point by point: it can live in the registers of the host's vectors.
std::optional<uint32_t> stencil_for_registers(const Builder& b, uint32_t host, const Alignment& placed,
                                              const Plan& own) {
  bool has_vector = std::any_of(own.steps.begin(), own.steps.end(),
                                [](const Step& s) { return std::holds_alternative<VectorizeStep>(s); });
  for (const auto& [k, indices] : placed)
    if (has_vector && k != host && is_epilogue_of(b.t, k, host)) {
      const PlanContext c = b.context(k, Packing::none, Site::attached);
      if (is_row_stencil(c) && block_shape(c)->cuts.empty()) return k;
    }
  return std::nullopt;
}

/// Does the subscript follow the index, behind a clamp or not? `ahead` grows to the rows beyond its own that taps read.
bool moves_with(const Stage& stage, VarId first, const Affine& subscript, VarId index, int64_t& ahead) {
  const Affine* e = &subscript;
  if (subscript.terms.size() == 1 && subscript.terms[0].quasi && subscript.terms[0].quasi->kind == Quasi::Kind::clamp &&
      subscript.terms[0].coeff == 1)
    e = &subscript.terms[0].quasi->e;
  if (e->coefficient(index) != 1) return false;
  int64_t most = e->constant;
  for (const Term& term : e->terms)
    if (!term.quasi && term.var >= first + stage.data_indices && term.coeff > 0)
      most += term.coeff * (stage.hi[term.var - first] - 1);
  ahead = std::max(ahead, most);
  return true;
}

/// Inputs that several stages of a strip read row by row: the first one waits for memory, so the second one asks for
/// the next strip, or for what lies beyond the rows that the first one's taps have read.
std::vector<Step> prefetches(const Builder& b, const Alignment& placed, const Size& strip, int64_t rows) {
  constexpr int64_t kRowsBeyond = 2;
  std::vector<Step> out;
  const VarId first = b.t.program.index_var(0);
  for (TensorId id : b.t.program.inputs()) {
    std::vector<uint32_t> passes;
    int64_t ahead = 0;
    for (const auto& [k, indices] : placed) {
      const PlanContext c = b.context(k, Packing::none, Site::attached);
      const auto is_pass = [&](const ReadRow& row) {
        return row.tensor == id && std::count(row.stride.begin(), row.stride.end(), 1) > 0 &&
               std::any_of(row.access.index.begin(), row.access.index.end(), [&](const Subscript& s) {
                 return !s.data && moves_with(c.stage, first, s.affine, first + indices.back(), ahead);
               });
      };
      if (std::any_of(c.table.reads.begin(), c.table.reads.end(), is_pass)) passes.push_back(k);
    }
    if (passes.size() < 2) continue;
    const Stage& second = b.t.stages[passes[1]];
    const Size by = ahead > 0 ? Size{ahead + std::max(kRowsBeyond, rows), ""} : strip;
    out.push_back(PrefetchStep{b.t.program.tensors[id].name, second.name,
                               index_name(b.t, second, placed.at(passes[1]).back()), by});
  }
  return out;
}

/// Elements of the innermost tile of this index.
int64_t width_of(const std::vector<TileStep::Level>& levels, const std::string& index) {
  int64_t out = 1;
  for (const TileStep::Level& level : levels)
    if (level.index == index && level.size.decision.empty()) out = level.size.constant;
  return out;
}

/// What the stencil in the host's registers reads along its lanes only, from one producer: that stands in registers
/// too. Where its columns meet a border, blocks of the host are apart.
struct Beside {
  uint32_t producer = 0;
  std::vector<int64_t> cuts;  ///< of the host
};
std::optional<Beside> beside_stencil(const Builder& b, uint32_t stencil, const PlanContext& host, int64_t width) {
  const auto window = lane_window_of_reader(b.t, b.machine, stencil);
  if (!window) return std::nullopt;
  const auto shape = block_shape(b.context(window->producer, Packing::none, Site::attached));
  return Beside{window->producer,
                cuts_of_reader(host.stage, shape->cuts, b.t.stages[window->producer], *window, width)};
}

}  // namespace

std::optional<Plan> strip_plan(const Builder& b, Stores stores) {
  uint32_t host = static_cast<uint32_t>(b.t.stages.size()) - 1;
  const Stage& h = b.t.stages[host];
  if (h.reduces || h.data_indices < 2 || !h.inside.empty()) return std::nullopt;
  int64_t reach = 0;
  const Alignment best = align_leading(b, host, reach);
  if (best.empty()) return std::nullopt;
  const size_t leading = best.at(host).size();
  PlanContext c = b.context(host, Packing::none);
  c.openness = Openness::open;
  Plan plan;
  bool any_block = false;
  for (const auto& [k, indices] : best)
    if (k != host && b.t.stages[k].reduces) {
      const PlanContext attached = b.context(k, Packing::none, Site::attached);
      any_block |= block_shape(attached).has_value() && !is_row_stencil(attached);
    }
  any_block |= reach > 0;  // rows computed again ask for high strips like register blocks do
  int64_t extent = c.table.extent[leading - 1];
  std::vector<int64_t> heights;
  for (int64_t height : any_block ? std::vector<int64_t>{4, 8, 14, 16, 28, 32, 64} : std::vector<int64_t>{1, 2, 4, 8})
    if (height <= extent) heights.push_back(height);
  // The host's own plan, with the strip loop before its tile loops.
  Plan own = plan_pure(b.context(host, Packing::none, Site::attached));
  const auto in_registers = stencil_for_registers(b, host, best, own);
  const bool has_window = in_registers && c.table.unit == h.data_indices - 1 && leading + 1 == h.data_indices &&
                          lane_window_of_reader(b.t, b.machine, *in_registers);
  const int64_t rows = has_window ? std::min(kRowsOfWindow, extent) : 1;
  Size strip = add_size(plan, c, "strip", any_block ? std::min<int64_t>(16, extent) : rows, heights);
  std::string last = c.name(static_cast<uint32_t>(leading - 1));
  std::vector<TileStep::Level> levels = {{last, strip}};
  std::vector<std::string> order;
  for (size_t k = 0; k + 1 < leading; ++k) order.push_back(c.name(static_cast<uint32_t>(k)));
  order.push_back(last + ".1");
  size_t outside = order.size();
  std::vector<Step> marks;
  plan.decisions.insert(plan.decisions.end(), own.decisions.begin(), own.decisions.end());
  plan.constraints.insert(plan.constraints.end(), own.constraints.begin(), own.constraints.end());
  for (const Step& step : own.steps) {
    if (const auto* tiled = std::get_if<TileStep>(&step))
      levels.insert(levels.end(), tiled->levels.begin(), tiled->levels.end());
    else if (const auto* permuted = std::get_if<PermuteStep>(&step)) {
      for (const auto& name : permuted->loops)
        if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
    } else {
      marks.push_back(step);
    }
  }
  if (has_window && !any_block) {  // the rows of a strip inside its blocks: what their columns' sums load is the same
                                   // but for the first and the last
    std::erase(order, last);
    order.insert(std::find(order.begin(), order.end(), c.name(*c.table.unit)), last);
  }
  plan.steps.push_back(TileStep{h.name, levels});
  if (order.size() > outside) plan.steps.push_back(PermuteStep{h.name, order});
  std::optional<Beside> beside;
  if (in_registers) {
    const std::string x = c.name(*c.table.unit);
    if (has_window) beside = beside_stencil(b, *in_registers, c, width_of(levels, x));
    if (beside && !beside->cuts.empty()) plan.steps.push_back(SplitStep{h.name, x + ".1", beside->cuts});
    plan.append(plan_stencil_in_registers(b.context(*in_registers, Packing::none, Site::attached), h.name, x + ".1"));
    if (beside)
      plan.append(
          plan_stencil_in_registers(b.context(beside->producer, Packing::none, Site::attached), h.name, x + ".1"));
    if (beside && !any_block) {
      for (uint32_t k : {*in_registers, beside->producer})
        plan.steps.push_back(
            UnrollStep{b.t.stages[k].name,
                       {b.context(k, Packing::none, Site::attached).name(static_cast<uint32_t>(leading - 1))}});
      marks.push_back(UnrollStep{h.name, {last}});
    }
    if (beside) marks.push_back(UnrollStep{h.name, {x}});
  }
  const auto has_place = [&](uint32_t k) { return k == in_registers || (beside && k == beside->producer); };
  for (auto it = best.rbegin(); it != best.rend(); ++it)
    if (it->first != host && !has_place(it->first))
      plan.steps.push_back(ComputeAtStep{b.t.stages[it->first].name, h.name, last + ".1", Scope::heap});
  plan.steps.insert(plan.steps.end(), marks.begin(), marks.end());
  for (uint32_t k = 0; k < host; ++k) {
    if (!b.is_alive(k) || has_place(k)) continue;
    PlanContext attached = b.context(k, Packing::none, best.count(k) ? Site::attached : Site::root);
    attached.openness = Openness::settled;
    attached.panel.reset();  // it may name a decision that this plan does not have
    plan.append(plan_stage(attached));
  }
  if (stores == Stores::cached) return plan;
  if (stores == Stores::streamed && (!writes_output(b.t, host) || !stores_lines(own, c))) return std::nullopt;
  if (stores == Stores::streamed) plan.steps.push_back(StreamStep{h.name});
  for (Step& step : prefetches(b, best, strip, rows)) plan.steps.push_back(std::move(step));
  return plan;
}

}  // namespace polyweft::schedules
