// Statements over the same rows in one kernel: a row of all of them by one block, whose threads are lanes along it.
//
//   for i, j: m[i] max= X[i, j]            for i axis "block_x"
//   for i, j: e[i, j] = exp(X - m[i])  ->    for t axis "thread_x": m (a tree), e (in shared memory), s (a tree), Y
//   for i, j: s[i] += e[i, j]
//   for i, j: Y[i, j] = e / s[i]
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/sketches/first_steps.h"
#include "schedules/sketches/grid.h"
#include "schedules/sketches/grid_plan.h"

namespace polyweft::schedules {
namespace {

/// A statement in such a kernel: its loops over rows and what its threads lie along.
struct RowStatement {
  std::vector<std::string> rows, along, reduced;  ///< data loops over rows, those inside a row, reduced loops
  std::string lanes;                              ///< empty: one value a row, which each thread makes for itself
  bool is_tree = false;                           ///< lanes are parts of one sum
};

/// Nothing where a row gives too few threads something to do. `rows`: how many of its data loops are over rows.
std::optional<RowStatement> row_statement(const GridPlan& plan, uint32_t id, size_t rows) {
  const Stage& stage = plan.stage(id);
  const GridLoops loops = grid_loops(plan.made(), id);
  std::vector<std::string> data = loops.data;
  if (!loops.x.empty()) data.push_back(loops.x);
  RowStatement out;
  const size_t outer = std::min(rows, data.size());
  out.rows.assign(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(outer));
  out.along.assign(data.begin() + static_cast<std::ptrdiff_t>(outer), data.end());
  out.reduced = loops.reduced;
  if (out.along.empty() && out.reduced.empty()) return out;
  out.is_tree = out.along.empty();
  out.lanes = out.is_tree ? out.reduced.back() : out.along.back();
  if (extent_of_loop(stage, out.lanes) < plan.machine().grid.lockstep_threads.value) return std::nullopt;
  return out;
}

/// Does each read of the tensor in the statement take the statement's own row of it?
bool reads_own_row(const GridPlan& plan, uint32_t id, const RowStatement& statement, TensorId tensor) {
  const NestTemplate& t = plan.made();
  bool is_own = true;
  visit(equation_of(t, plan.stage(id)).rhs, [&](const ExprNode& e) {
    if (e.op != Op::read || e.access.id != tensor) return;
    for (size_t d = 0; is_own && d < statement.rows.size(); ++d) {
      const VarId row = t.program.index_var(index_of_loop(plan.stage(id), statement.rows[d]));
      is_own =
          d < e.access.index.size() && !e.access.index[d].data && e.access.index[d].affine == Affine::variable(row);
    }
  });
  return is_own;
}

/// Bytes of a row of what a statement makes.
int64_t row_bytes(const GridPlan& plan, uint32_t id, const RowStatement& statement) {
  int64_t out = size_bytes(plan.made().program.tensors[equation_of(plan.made(), plan.stage(id)).targets[0]].type);
  for (const std::string& loop : statement.along) out *= extent_of_loop(plan.stage(id), loop);
  return out;
}

void take_lanes(GridPlan& plan, const std::string& name, const RowStatement& statement, const Decision& threads) {
  std::vector<Step> steps;
  if (!statement.reduced.empty()) {
    const std::vector<std::string>& outside = statement.is_tree ? statement.rows : statement.along;
    steps.push_back(AccumulateStep{name, outside.empty() ? "root" : outside.back(), Scope::reg});
  }
  steps.push_back(VectorizeStep{name, statement.lanes, Size{0, threads.name}});
  plan.take(steps);
}

/// All statements that the last one needs, in its kernel, as far as they run over its rows.
bool plan_rows_of_all(GridPlan& plan) {
  const auto last = static_cast<uint32_t>(plan.made().stages.size() - 1);
  const GridLoops loops = grid_loops(plan.made(), last);
  const size_t data = loops.data.size() + (loops.x.empty() ? 0 : 1);
  if (last == 0 || !loops.is_plain || data == 0) return false;
  const size_t rows = plan.stage(last).reduces && loops.data.empty() ? data : data - 1;
  const auto reader = row_statement(plan, last, rows);
  if (rows == 0 || !reader || reader->lanes.empty()) return false;
  const std::string name = plan.stage(last).name;
  const GridFigures& grid = plan.machine().grid;
  Decision threads{plan.fresh("tx"), 0, {}};
  const int64_t extent = extent_of_loop(plan.stage(last), reader->lanes);
  const int64_t most = std::min<int64_t>(grid.block_threads.value, 512);
  for (int64_t size = grid.lockstep_threads.value; size <= most && size <= extent; size *= 2)
    threads.candidates.push_back(size);
  threads.value = at_most(threads.candidates, std::max(grid.lockstep_threads.value, extent / 8));
  std::vector<Step> order = {PermuteStep{name, joined(joined(reader->rows, reader->along), reader->reduced)}};
  if (!plan.take(order, {threads})) return false;
  int64_t left = grid.block_shared_bytes.value - 4 * most * 8;  // trees of sums take the rest
  std::vector<std::pair<uint32_t, RowStatement>> inside;
  for (uint32_t id = last; id-- > 0;) {
    const auto statement = row_statement(plan, id, rows);
    if (!statement || statement->rows.size() != rows || !grid_loops(plan.made(), id).is_plain) continue;
    const TensorId made = equation_of(plan.made(), plan.stage(id)).targets[0];
    const auto is_read_by_row = [&](const auto& other) { return reads_own_row(plan, other.first, other.second, made); };
    if (!reads_own_row(plan, last, *reader, made) || !std::all_of(inside.begin(), inside.end(), is_read_by_row))
      continue;
    const int64_t bytes = row_bytes(plan, id, *statement);
    const Scope scope = statement->along.empty() ? Scope::stack : bytes <= left ? Scope::shared : Scope::heap;
    if (!plan.take({ComputeAtStep{plan.stage(id).name, name, reader->rows.back(), scope}})) continue;
    if (scope == Scope::shared) left -= bytes;
    inside.emplace_back(id, *statement);
  }
  if (inside.empty()) return false;
  take_lanes(plan, name, *reader, threads);
  for (const auto& [id, statement] : inside)
    if (!statement.lanes.empty()) take_lanes(plan, plan.stage(id).name, statement, threads);
  std::vector<Step> steps = over_blocks(name, reader->rows);
  steps.push_back(BindStep{name, reader->lanes + ".v", "thread_x"});
  return plan.take(steps);
}

}  // namespace

std::vector<NestTemplate> grid_row_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                            const Isl& isl) {
  const auto base = base_template(normalized, cls, isl.recurrence_nest);
  if (!base || base->fixed) return {};
  GridPlan plan(with_inlined(*base), machine);
  if (!plan_rows_of_all(plan)) return {};
  for (uint32_t id = 0; id + 1 < plan.made().stages.size(); ++id)
    if (grid_loops(plan.made(), id).is_plain) plan_statement(plan, id, false);
  return {plan.made()};
}

}  // namespace polyweft::schedules
