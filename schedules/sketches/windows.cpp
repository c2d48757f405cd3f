// Rule 12: chains of stencils in one nest each, row by row of their last stage, the host. Each producer keeps the rows
// that are still read in a ring outside that loop and makes the new ones only; none is computed twice, and only what
// the host makes goes to memory. What cannot follow one host's loop is a host itself.
//
//   x: columns | y: rows | new rows of each producer, in order | x: width | stencils that this row alone reads, in
//   registers  planes  x (vectors)
//
// Planes: a few values of an index that no producer knows (the colours of an image that its grey value sharpens),
// written out: what they share is computed once. Proposed where some producer is read across rows and can follow the
// loop (the step compute_at .. slide says so by the subscripts). A host that is a stencil itself keeps its taps' sum in
// registers.
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/sketches/builder.h"
#include "schedules/sketches/lane_windows.h"
#include "schedules/sketches/plans.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kMostAccumulators =
    6;  ///< vectors of several stencils that wait in registers for their reader: what they all read stays there too

/// Rows and columns of one tensor, without conditions; a sum only where it is a stencil's.
bool may_be_host(const NestTemplate& t, const Machine& machine, uint32_t host) {
  const Stage& h = t.stages[host];
  if (!is_alive(t, host) || h.data_indices < 2 || !h.inside.empty() || !h.guards.empty() ||
      equation_of(t, h).targets.size() != 1)
    return false;
  if (!h.reduces) return true;
  const PlanContext c = context_for(t, host, machine);
  const auto shape = block_shape(c);
  return shape && is_row_stencil(c) && shape->cuts.empty() && shape->vector + 1 == h.data_indices;
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
  return std::any_of(t.stages.begin(), t.stages.end(),
                     [&](const Stage& reader) { return reads_rows(t, reader, tensor, dim); });
}

struct Placed {
  NestTemplate t;
  std::vector<Step> steps;
  std::vector<uint32_t> attached_stages;  ///< with loops of their own inside the host's
  std::vector<uint32_t> planned;  ///< of those and of what is in registers beside them: all steps are among these
  size_t windows = 0;
};

/// The attached stage's rows with their window along the lanes, if it has one and all steps apply.
void add_lane_window(Placed& placed, const Machine& machine, uint32_t attached, int64_t rows,
                     std::vector<uint32_t>& inside) {
  const auto window = lane_window_of_reader(placed.t, machine, attached);
  if (!window || std::count(inside.begin(), inside.end(), window->producer)) return;
  PlanContext c = context_for(placed.t, attached, machine);
  c.site = Site::attached;
  const Plan plan = plan_row_with_window(c, *window, rows);
  auto next = with_steps(placed.t, plan.steps);
  if (!next) return;
  placed.t = std::move(*next);
  placed.steps.insert(placed.steps.end(), plan.steps.begin(), plan.steps.end());
  for (uint32_t k : {attached, window->producer}) placed.planned.push_back(k);
  inside.push_back(window->producer);
}

/// All readers run in the host's nest.
bool is_read_inside(const NestTemplate& t, uint32_t producer, uint32_t host, const std::vector<uint32_t>& inside) {
  bool any = false;
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    if (!is_alive(t, k) || !reads(t, t.stages[k], equation_of(t, t.stages[producer]).targets[0])) continue;
    if (k != host && !std::count(inside.begin(), inside.end(), k)) return false;
    any = true;
  }
  return any;
}

/// Everything that can follow the host but what waits in registers, last producer first, at this loop.
Placed place_windows(NestTemplate t, const Machine& machine, uint32_t host, const std::string& loop, int64_t rows,
                     const std::vector<uint32_t>& in_registers) {
  Placed out{std::move(t), {}, {}, {}, 0};
  std::vector<uint32_t> inside = in_registers;
  for (uint32_t k = host; k-- > 0;) {
    if (!is_alive(out.t, k) || std::count(inside.begin(), inside.end(), k) || !is_private(out.t, k) ||
        !is_read_inside(out.t, k, host, inside))
      continue;
    ComputeAtStep step{out.t.stages[k].name, out.t.stages[host].name, loop, Scope::heap, {}, Sliding{}};
    auto next = compute_at(out.t, step);
    if (!next) continue;
    const bool is_window = is_read_across_rows(*next, k);
    if (!is_window) {  // its rows are read once, where they are made
      step.sliding.reset();
      next = compute_at(out.t, step);
      if (!next) continue;
    }
    out.windows += is_window;
    out.t = std::move(*next);
    out.steps.push_back(std::move(step));
    out.attached_stages.push_back(k);
    inside.push_back(k);
    add_lane_window(out, machine, k, rows, inside);
  }
  return out;
}

/// Leading data indices of the host that none of the values made for it depends on, few values each: what is made
/// serves all of them.
std::vector<uint32_t> planes_of(const NestTemplate& t, const PlanContext& host, uint32_t row) {
  constexpr int64_t kMostPlanes = 8;
  std::vector<uint32_t> out;
  int64_t values = 1;
  for (uint32_t k = 0; k < row; ++k) {
    const bool is_known = std::any_of(host.table.reads.begin(), host.table.reads.end(), [&](const ReadRow& r) {
      return t.program.tensors[r.tensor].kind == TensorKind::local && r.uses(k);
    });
    if (is_known || host.table.extent[k] * values > kMostPlanes) continue;
    values *= host.table.extent[k];
    out.push_back(k);
  }
  return out;
}

/// Of the leading data indices of the host that are no planes, few values together: does some value on the way to it
/// serve several of them (a colour matrix needs all colours for each)? Then they run inside a row.
std::vector<uint32_t> colours_of(const NestTemplate& t, const Machine& machine, uint32_t host, uint32_t row,
                                 const std::vector<uint32_t>& planes) {
  constexpr int64_t kMostColours = 8;
  std::vector<uint32_t> out;
  int64_t values = 1;
  for (uint32_t k = 0; k < row; ++k) {
    if (std::count(planes.begin(), planes.end(), k)) continue;
    out.push_back(k);
    values *= std::max<int64_t>(t.stages[host].hi[k] - t.stages[host].lo[k], 1);
    if (values > kMostColours) return {};
  }
  for (uint32_t reader = 0; reader < host; ++reader) {
    if (!is_alive(t, reader) || t.stages[reader].data_indices < 3) continue;
    const PlanContext c = context_for(t, reader, machine);
    for (const ReadRow& read : c.table.reads)
      if (t.program.tensors[read.tensor].kind == TensorKind::local && read.access.index.size() >= 3 && !read.uses(0))
        return out;
  }
  return {};
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
      if (access.index[d].data || !(access.index[d].affine == Affine::variable(t.program.index_var(own[d]))))
        return false;
    return access.index.size() == own.size();
  });
}

/// Stencils whose values the host alone reads, point by point.
std::vector<uint32_t> stencils_for_registers(const NestTemplate& t, const Machine& machine, uint32_t host,
                                             const std::vector<uint32_t>& planes) {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < host; ++k) {
    if (!is_alive(t, k) || !is_private(t, k) || !is_read_at_points(t, k, host, planes)) continue;
    const PlanContext c = context_for(t, k, machine);
    const auto shape = block_shape(c);
    if (shape && is_row_stencil(c) && shape->cuts.empty() && shape->vector + 1 == t.stages[k].data_indices)
      out.push_back(k);
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
      bytes += kRows * bytes_of(c.t, equation_of(c.t, s).targets[0]) /
               static_cast<double>(std::max<int64_t>(s.hi[s.data_indices - 2] - s.lo[s.data_indices - 2], 1));
    }
  return c.machine.caches() > 1 && bytes <= static_cast<double>(c.machine.cache_bytes(1)) / 2;
}

/// Widths of columns: all of them, or so many that the rings of a long chain stay in a cache; neighbours' borders are
/// computed twice.
Size column_size(Plan& plan, const PlanContext& c, uint32_t host) {
  const int64_t extent = c.table.extent[*c.table.unit], lanes = c.lanes(), whole = (extent + lanes - 1) / lanes * lanes;
  if (rings_are_near(c, host)) return Size{whole, ""};
  std::vector<int64_t> candidates;
  for (int64_t vectors : {4, 8, 16, 32, 64})
    if (vectors * lanes < extent) candidates.push_back(vectors * lanes);
  return add_size(plan, c, "column", whole, candidates);
}

struct HostLoops {
  uint32_t row = 0;
  std::vector<uint32_t> planes, colours;
  Size column, rows, width;
};

/// others x: columns | y: rows | colours rows | x: width | planes x; of a stencil the rows inside, with its taps, so
/// that rows share what they load.
void tile_host(Plan& plan, const PlanContext& c, const HostLoops& loops) {
  const std::string x = c.name(*c.table.unit), y = c.name(loops.row);
  std::vector<std::string> order;
  for (uint32_t k = 0; k < loops.row; ++k)
    if (!std::count(loops.planes.begin(), loops.planes.end(), k) &&
        !std::count(loops.colours.begin(), loops.colours.end(), k))
      order.push_back(c.name(k));
  order.push_back(x + ".1");
  order.push_back(y + ".1");
  for (uint32_t k : loops.colours) order.push_back(c.name(k));
  if (!c.stage.reduces) order.push_back(y);
  order.push_back(x + ".2");
  for (uint32_t k : loops.planes) order.push_back(c.name(k));
  for (uint32_t k = c.stage.data_indices; k < c.stage.lo.size(); ++k) order.push_back(c.name(k));
  if (c.stage.reduces) order.push_back(y);
  order.push_back(x);
  plan.steps.push_back(TileStep{c.stage.name, {{x, loops.column}, {y, loops.rows}, {x, loops.width}}});
  plan.steps.push_back(PermuteStep{c.stage.name, order});
  if (c.stage.reduces) plan.steps.push_back(AccumulateStep{c.stage.name, x + ".2", Scope::reg});
}

/// Lanes, and what is written out around them.
void finish_host(Plan& plan, const PlanContext& c, const HostLoops& loops) {
  std::vector<std::string> unrolled_loops;
  for (uint32_t k : loops.planes) unrolled_loops.push_back(c.name(k));
  for (uint32_t k = c.stage.data_indices; k < c.stage.lo.size(); ++k) unrolled_loops.push_back(c.name(k));
  if (c.stage.reduces) unrolled_loops.push_back(c.name(loops.row));
  plan.steps.push_back(VectorizeStep{c.stage.name, c.name(*c.table.unit), Size{c.lanes(), ""}});
  if (!unrolled_loops.empty()) plan.steps.push_back(UnrollStep{c.stage.name, unrolled_loops});
}

/// The nest of one host: nothing where no rows are shared.
struct Group {
  Plan plan;
  std::vector<uint32_t> members;  ///< but the host
};
std::optional<Group> group_of(const NestTemplate& t, const Machine& machine, uint32_t host, Openness openness) {
  if (!may_be_host(t, machine, host)) return std::nullopt;
  PlanContext c = context_for(t, host, machine);
  c.openness = openness;
  const auto row = row_index(c);
  if (!row) return std::nullopt;
  HostLoops loops{*row, c.stage.reduces ? std::vector<uint32_t>{} : planes_of(t, c, *row), {}, {}, {}, {}};
  if (!c.stage.reduces) loops.colours = colours_of(t, machine, host, *row, loops.planes);
  auto in_registers =
      c.stage.reduces ? std::vector<uint32_t>{} : stencils_for_registers(t, machine, host, loops.planes);
  const auto lane_window = c.stage.reduces ? lane_window_of_reader(t, machine, host) : std::nullopt;
  const int64_t lanes = c.lanes(), extent = c.table.extent[*c.table.unit],
                vectors = lane_window               ? kWindowVectors
                          : c.stage.reduces         ? 2
                          : in_registers.size() < 2 ? 4
                                                    : kMostAccumulators / static_cast<int64_t>(in_registers.size());
  if (vectors < 1 || extent < lanes) return std::nullopt;
  Group out;
  std::vector<int64_t> heights, widths;
  for (int64_t height : {1, 2, 4, 8})
    if (height <= c.table.extent[*row]) heights.push_back(height);
  for (int64_t w : {1, 2, 4})
    if (w <= vectors && w * lanes < extent + lanes) widths.push_back(w * lanes);
  loops.column = column_size(out.plan, c, host);
  // Two rows of a chain load six rows for ten, and the second one's sums of columns are the first one's and three
  // operations.
  const int64_t rows = lane_window && is_long_chain(t) && c.table.extent[*row] % 2 == 0 ? 2 : 1;
  loops.rows = add_size(out.plan, c, "rows", rows, heights);
  loops.width = add_size(out.plan, c, "vw", widths.back(), widths);
  tile_host(out.plan, c, loops);
  for (uint32_t k : in_registers)
    out.plan.append(plan_stencil_in_registers(context_for(t, k, machine), c.stage.name, c.name(*c.table.unit) + ".2"));
  if (lane_window) {
    out.plan.append(
        plan_lane_window(context_for(t, lane_window->producer, machine), *lane_window, c.name(*c.table.unit) + ".2"));
    in_registers.push_back(lane_window->producer);
  }
  NestTemplate tiled = t;
  tiled.trace.decisions = out.plan.decisions;
  auto hosted = with_steps(std::move(tiled), out.plan.steps);
  if (!hosted) return std::nullopt;
  const Placed placed = place_windows(std::move(*hosted), machine, host, c.name(*row) + ".1", rows, in_registers);
  if (placed.windows == 0) return std::nullopt;
  out.plan.steps.insert(out.plan.steps.end(), placed.steps.begin(), placed.steps.end());
  finish_host(out.plan, c, loops);
  out.members = in_registers;
  out.members.insert(out.members.end(), placed.planned.begin(), placed.planned.end());
  for (uint32_t k : placed.attached_stages) {
    if (std::count(placed.planned.begin(), placed.planned.end(), k)) continue;
    PlanContext attached = context_for(t, k, machine);
    attached.site = Site::attached;
    if (is_long_chain(t)) attached.row_vectors = 2;
    out.plan.append(plan_stage(attached));
    out.members.push_back(k);
  }
  return out;
}

}  // namespace

bool is_long_chain(const NestTemplate& t) {
  constexpr std::ptrdiff_t kMany = 24;
  return std::count_if(t.stages.begin(), t.stages.end(),
                       [](const Stage& s) { return s.placement.kind != Placement::Kind::inlined; }) >= kMany;
}

std::optional<Plan> plan_windows(const NestTemplate& t, const Machine& machine, bool streams) {
  std::vector<Plan> nests;
  std::vector<uint32_t> placed;
  bool any = false;
  for (auto host = static_cast<uint32_t>(t.stages.size()); host-- > 0;) {
    if (!is_alive(t, host) || std::count(placed.begin(), placed.end(), host)) continue;
    const PlanContext c = context_for(t, host, machine);
    auto group = group_of(t, machine, host, any || is_long_chain(t) ? Openness::settled : Openness::open);
    Plan own = group ? std::move(group->plan) : plan_stage(c);
    if (group) placed.insert(placed.end(), group->members.begin(), group->members.end());
    any |= group.has_value();
    if (streams && writes_output(t, host) && stores_lines(own, c)) own.steps.push_back(StreamStep{c.stage.name});
    nests.push_back(std::move(own));
  }
  if (!any) return std::nullopt;
  Plan plan;
  for (auto own = nests.rbegin(); own != nests.rend(); ++own) plan.append(*own);
  return plan;
}

}  // namespace polyweft::schedules
