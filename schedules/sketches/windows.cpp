// Rule 12: a chain of stencils in one nest, row by row of its last stage. Each producer keeps the rows that are still read in a ring outside that loop and makes
// the new ones only; none is computed twice, and only the output goes to memory.
//
//   x: columns | y: rows | new rows of each producer, in order | x: width | stencils that this row alone reads, in registers  planes  x (vectors)
//
// Planes: a few values of an index that no producer knows (the colours of a picture that its grey value sharpens), written out: what they share is computed once.
// Proposed where some producer is read across rows and all of them can follow the loop (the step compute_at .. slide says so by the subscripts).
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/sketches/plans.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kMostAccumulators = 6;  ///< vectors of several stencils that wait in registers for their reader: what they all read stays there too

bool is_alive(const NestTemplate& t, uint32_t k) {
  return t.stages[k].placement.kind != Placement::Kind::inlined;
}

/// The last stage makes an output, element by element, and all others lead to it.
std::optional<uint32_t> last_stage(const NestTemplate& t) {
  if (t.stages.size() < 2) return std::nullopt;
  const auto host = static_cast<uint32_t>(t.stages.size()) - 1;
  const Stage& h = t.stages[host];
  const auto& targets = equation_of(t, h).targets;
  const bool fits = is_alive(t, host) && !h.reduces && h.data_indices >= 2 && h.inside.empty() && h.guards.empty() && targets.size() == 1 &&
                    t.program.tensors[targets[0]].kind == TensorKind::output;
  if (!fits) return std::nullopt;
  for (uint32_t k = 0; k < host; ++k) {
    const auto& made = equation_of(t, t.stages[k]).targets;
    if (is_alive(t, k) && (made.size() != 1 || t.program.tensors[made[0]].kind != TensorKind::local || definitions(t, made[0]).size() != 1)) return std::nullopt;
  }
  return host;
}

/// Do the reads of one stage lie in several rows of dimension `dim` for one row of the reader?
bool reads_rows(const NestTemplate& t, const Stage& reader, TensorId tensor, uint32_t dim) {
  const auto accesses = reads_of(t, reader, tensor);
  for (const Access& access : accesses) {
    const Affine& e = access.index[dim].affine;
    if (access.index[dim].data || !(e == accesses[0].index[dim].affine)) return true;
    for (uint32_t k = reader.data_indices; k < reader.lo.size(); ++k)
      if (e.coefficient(t.program.index_var(k)) != 0 && reader.hi[k] - reader.lo[k] > 1) return true;
    if (!e.is_linear()) return true;
  }
  return false;
}

bool is_read_across_rows(const NestTemplate& t, uint32_t producer) {
  const TensorId tensor = equation_of(t, t.stages[producer]).targets[0];
  const uint32_t dim = t.stages[producer].placement.slide->dim;
  return std::any_of(t.stages.begin(), t.stages.end(), [&](const Stage& reader) { return reads_rows(t, reader, tensor, dim); });
}

struct Placed {
  NestTemplate t;
  std::vector<Step> steps;
  size_t windows = 0;
};

/// Everything but what waits in registers, last producer first, at this loop; nothing where one cannot follow it or none is read across rows.
std::optional<Placed> place_windows(NestTemplate t, uint32_t host, const std::string& loop, const std::vector<uint32_t>& in_registers) {
  Placed out{std::move(t), {}, 0};
  for (uint32_t k = host; k-- > 0;) {
    if (!is_alive(out.t, k) || std::count(in_registers.begin(), in_registers.end(), k)) continue;
    ComputeAtStep step{out.t.stages[k].name, out.t.stages[host].name, loop, Scope::heap, {}, Sliding{}};
    auto next = compute_at(out.t, step);
    if (!next) return std::nullopt;
    if (is_read_across_rows(*next, k)) {
      ++out.windows;
    } else {  // its rows are read once, where they are made
      step.sliding.reset();
      next = compute_at(std::move(out.t), step);
      if (!next) return std::nullopt;
    }
    out.t = std::move(*next);
    out.steps.push_back(std::move(step));
  }
  if (out.windows == 0) return std::nullopt;
  return out;
}

/// Leading data indices of the host that none of the values made for it depends on, few values each: what is made serves all of them.
std::vector<uint32_t> planes_of(const NestTemplate& t, const PlanContext& host, uint32_t row) {
  constexpr int64_t kMostPlanes = 8;
  std::vector<uint32_t> out;
  int64_t values = 1;
  for (uint32_t k = 0; k < row; ++k) {
    const bool is_known = std::any_of(host.table.reads.begin(), host.table.reads.end(),
                                      [&](const ReadRow& r) { return t.program.tensors[r.tensor].kind == TensorKind::local && r.uses(k); });
    if (is_known || host.table.extent[k] * values > kMostPlanes) continue;
    values *= host.table.extent[k];
    out.push_back(k);
  }
  return out;
}

/// Does the host alone read what this stage makes, at its own point, planes left aside?
bool is_read_at_points(const NestTemplate& t, uint32_t producer, uint32_t host, const std::vector<uint32_t>& planes) {
  const Stage &p = t.stages[producer], &h = t.stages[host];
  const TensorId tensor = equation_of(t, p).targets[0];
  for (uint32_t k = 0; k < t.stages.size(); ++k)
    if (k != host && is_alive(t, k) && reads(t, t.stages[k], tensor)) return false;
  std::vector<uint32_t> own;
  for (uint32_t k = 0; k < h.data_indices; ++k)
    if (!std::count(planes.begin(), planes.end(), k)) own.push_back(k);
  if (own.size() != p.data_indices || !p.inside.empty() || !p.guards.empty()) return false;
  for (uint32_t d = 0; d < own.size(); ++d)
    if (p.lo[d] != h.lo[own[d]] || p.hi[d] != h.hi[own[d]]) return false;
  const auto accesses = reads_of(t, h, tensor);
  return !accesses.empty() && std::all_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    for (uint32_t d = 0; d < access.index.size(); ++d)
      if (access.index[d].data || !(access.index[d].affine == Affine::variable(t.program.index_var(own[d])))) return false;
    return access.index.size() == own.size();
  });
}

/// Stencils whose values the host alone reads, point by point.
std::vector<uint32_t> stencils_for_registers(const NestTemplate& t, const TargetFacts& facts, uint32_t host, const std::vector<uint32_t>& planes) {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < host; ++k) {
    if (!is_alive(t, k) || !is_read_at_points(t, k, host, planes)) continue;
    const PlanContext c = context_for(t, k, facts);
    const auto shape = block_shape(c);
    if (shape && is_row_stencil(c) && shape->cuts.empty() && shape->vector + 1 == t.stages[k].data_indices) out.push_back(k);
  }
  return out;
}

/// The index of the rows: the innermost but the one along which vectors lie.
std::optional<uint32_t> row_index(const PlanContext& host) {
  if (host.table.unit != host.stage.data_indices - 1) return std::nullopt;
  return host.stage.data_indices - 2;
}

/// Do some rows of everything that is made for the host stay in the second cache?
bool rings_are_near(const PlanContext& c, uint32_t host) {
  constexpr double kRows = 8;
  double bytes = 0;
  for (uint32_t k = 0; k < host; ++k)
    if (is_alive(c.t, k) && c.t.stages[k].data_indices >= 2) {
      const Stage& s = c.t.stages[k];
      bytes += kRows * bytes_of(c.t, equation_of(c.t, s).targets[0]) / static_cast<double>(std::max<int64_t>(s.hi[s.data_indices - 2] - s.lo[s.data_indices - 2], 1));
    }
  return c.facts.cache_bytes.size() > 1 && bytes <= static_cast<double>(c.facts.cache_bytes[1]) / 2;
}

/// Widths of columns: all of them, or so many that the rings of a long chain stay in a cache; neighbours' borders are computed twice.
Size column_size(Plan& plan, const PlanContext& c, uint32_t host) {
  const int64_t extent = c.table.extent[*c.table.unit], lanes = c.lanes(), whole = (extent + lanes - 1) / lanes * lanes;
  if (rings_are_near(c, host)) return Size{whole, ""};
  std::vector<int64_t> candidates;
  for (int64_t vectors : {4, 8, 16, 32, 64})
    if (vectors * lanes < extent) candidates.push_back(vectors * lanes);
  return add_size(plan, c, "column", whole, candidates);
}

void tile_host(Plan& plan, const PlanContext& c, uint32_t row, const std::vector<uint32_t>& planes, const Size& column, const Size& rows, const Size& width) {
  const std::string x = c.name(*c.table.unit), y = c.name(row);
  std::vector<std::string> order;
  for (uint32_t k = 0; k < row; ++k)
    if (!std::count(planes.begin(), planes.end(), k)) order.push_back(c.name(k));
  for (const std::string& loop : {x + ".1", y + ".1", y, x + ".2"}) order.push_back(loop);
  for (uint32_t k : planes) order.push_back(c.name(k));
  order.push_back(x);
  plan.steps.push_back(TileStep{c.stage.name, {{x, column}, {y, rows}, {x, width}}});
  plan.steps.push_back(PermuteStep{c.stage.name, order});
}

}  // namespace

std::optional<Plan> plan_windows(const NestTemplate& t, const TargetFacts& facts, bool streams) {
  const auto host = last_stage(t);
  if (!host) return std::nullopt;
  PlanContext c = context_for(t, *host, facts);
  c.openness = Openness::open;
  const auto row = row_index(c);
  if (!row) return std::nullopt;
  const auto planes = planes_of(t, c, *row);
  const auto in_registers = stencils_for_registers(t, facts, *host, planes);
  const int64_t lanes = c.lanes(), extent = c.table.extent[*c.table.unit],
                vectors = in_registers.size() < 2 ? 4 : kMostAccumulators / static_cast<int64_t>(in_registers.size());
  if (vectors < 1 || extent < lanes) return std::nullopt;
  Plan plan;
  std::vector<int64_t> heights;
  for (int64_t height : {1, 2, 4, 8})
    if (height <= c.table.extent[*row]) heights.push_back(height);
  const Size column = column_size(plan, c, *host);
  const Size rows = add_size(plan, c, "rows", 1, heights);
  std::vector<int64_t> widths;
  for (int64_t w : {1, 2, 4})
    if (w <= vectors && w * lanes < extent + lanes) widths.push_back(w * lanes);
  const Size width = add_size(plan, c, "vw", widths.back(), widths);
  const std::string x = c.name(*c.table.unit);
  tile_host(plan, c, *row, planes, column, rows, width);
  for (uint32_t k : in_registers) plan.append(plan_stencil_in_registers(context_for(t, k, facts), c.stage.name, x + ".2"));
  NestTemplate tiled = t;
  tiled.trace.decisions = plan.decisions;
  for (const Step& step : plan.steps) {
    auto next = apply(std::move(tiled), step);
    if (!next) return std::nullopt;
    tiled = std::move(*next);
  }
  const auto placed = place_windows(std::move(tiled), *host, c.name(*row) + ".1", in_registers);
  if (!placed) return std::nullopt;
  plan.steps.insert(plan.steps.end(), placed->steps.begin(), placed->steps.end());
  plan.steps.push_back(VectorizeStep{c.stage.name, x, Size{lanes, ""}});
  if (!planes.empty()) {
    std::vector<std::string> written_out;
    for (uint32_t k : planes) written_out.push_back(c.name(k));
    plan.steps.push_back(UnrollStep{c.stage.name, written_out});
  }
  for (uint32_t k = 0; k < *host; ++k) {
    if (!is_alive(t, k) || std::count(in_registers.begin(), in_registers.end(), k)) continue;
    PlanContext guest = context_for(t, k, facts);
    guest.seat = Seat::guest;
    plan.append(plan_stage(guest));
  }
  if (streams) plan.steps.push_back(StreamStep{c.stage.name});
  return plan;
}

}  // namespace polyweft::schedules
