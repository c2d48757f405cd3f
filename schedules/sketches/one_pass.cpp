// Sums over one matrix, each in its own direction: a block of rows comes from memory once.
//
//   apart     for i.1, j.1: { for j: for i: s[j] += r[i] * A[i, j];  for j.1: for i: q[i] += A[i, j] * p[j] }      A^T
//   r and A p in turn   for i.1: { for j.1: for i: t[i] += A[i, j] * x[j];  for j: for i: y[j] += A[i, j] * t[i] } A^T
//   (A x): whole rows first
//
// Sums along rows keep a vector of partial sums a row, sums down columns fold a block of rows into a vector of the
// result at a time.
#include "schedules/sketches/one_pass.h"

#include <algorithm>
#include <map>
#include <set>

#include "schedules/queries.h"
#include "schedules/sketches/plans.h"
#include "schedules/sketches/sketcher.h"

namespace polyweft::schedules {
namespace {

constexpr int kMostOperations = 8;  ///< of an elementwise matrix that is computed wherever it is read
constexpr int64_t kRows = 8;

struct Sum {
  uint32_t stage = 0;
  uint32_t row = 0, column = 0;  ///< its indices of the matrix
  bool is_along_rows = false;
  size_t turn = 0;  ///< 0: it needs nothing that the band makes
};

/// What runs at each block of rows, producers first.
struct Pass {
  TensorId matrix = 0;
  std::vector<Sum> sums;
  std::vector<std::pair<uint32_t, size_t>> between;  ///< elementwise stages of what rows give, and their turns
};

bool is_at_root(const Stage& stage) {
  return !stage.is_frame && stage.placement.kind == Placement::Kind::at_root;
}

bool is_large(const Sketcher& s, TensorId id) {
  return s.machine_->caches() > 1 && bytes_of(s.t_, id) > static_cast<double>(s.machine_->cache_bytes(1));
}

/// The stage's index that is this subscript.
std::optional<uint32_t> index_alone(const NestTemplate& t, const Stage& stage, const Subscript& s) {
  for (uint32_t k = 0; k < stage.lo.size(); ++k)
    if (!s.data && s.affine == Affine::variable(t.program.index_var(k))) return k;
  return std::nullopt;
}

/// A sum over one index with one result an index, whose only large operand is a matrix with one of them a dimension;
/// lanes along its rows.
std::optional<std::pair<Sum, TensorId>> sum_of(const Sketcher& s, uint32_t number) {
  const Stage stage = s.t_.stages[number];
  const Equation equation = equation_of(s.t_, stage);
  if (!is_at_root(stage) || !stage.reduces || equation.targets.size() != 1 || stage.data_indices != 1 ||
      stage.lo.size() != 2 || !stage.inside.empty() || !stage.guards.empty() ||
      !is_order_free(s.t_.cls, s.t_.program, equation))
    return std::nullopt;
  const StageTable table = table_of(s.t_, stage);
  std::optional<std::pair<Sum, TensorId>> out;
  for (const ReadRow& row : table.reads) {
    if (!is_large(s, row.tensor)) continue;
    if (out || row.access.index.size() != 2) return std::nullopt;
    const auto first = index_alone(s.t_, stage, row.access.index[0]),
               second = index_alone(s.t_, stage, row.access.index[1]);
    if (!first || !second || *first == *second) return std::nullopt;
    out = {Sum{number, *first, *second, *first == 0, 0}, row.tensor};
  }
  if (!out) return std::nullopt;
  const bool is_dense = std::all_of(table.reads.begin(), table.reads.end(),
                                    [&](const ReadRow& row) { return is_near_along(row, out->first.column); });
  if (!is_dense || table.extent[out->first.column] < 64 || table.extent[out->first.row] < 2 * kRows)
    return std::nullopt;
  return out;
}

/// Everything that the stage reads of these tensors, at its index `row` alone.
bool reads_only_at(const NestTemplate& t, const Stage& stage, const std::set<TensorId>& tensors, uint32_t row) {
  for (TensorId id : tensors)
    for (const Access& access : reads_of(t, stage, id))
      if (access.index.size() != 1 || index_alone(t, stage, access.index[0]) != row) return false;
  return true;
}

/// The sums over this matrix that may share a pass, and what is made of rows' results for others of them. A stage that
/// reads a result otherwise waits for all of it.
Pass pass_over(const Sketcher& s, TensorId matrix, const std::map<uint32_t, Sum>& candidates) {
  Pass out;
  out.matrix = matrix;
  std::map<TensorId, size_t> ready;  // tensors whose element of a row is known after the row's turn
  std::set<TensorId> late;           // known after the pass
  for (uint32_t k = 0; k < s.t_.stages.size(); ++k) {
    const Stage stage = s.t_.stages[k];
    if (!is_at_root(stage)) continue;
    const auto& targets = equation_of(s.t_, stage).targets;
    const auto candidate = candidates.find(k);
    const bool is_elementwise =
        !stage.reduces && stage.lo.size() == 1 && stage.inside.empty() && stage.guards.empty() && targets.size() == 1;
    const uint32_t row = candidate != candidates.end() ? candidate->second.row : 0;
    std::set<TensorId> needed;
    size_t turn = 0;
    for (const auto& [id, after] : ready)
      if (reads(s.t_, stage, id)) {
        needed.insert(id);
        turn = std::max(turn, after + 1);
      }
    const bool is_late =
        std::any_of(late.begin(), late.end(), [&](TensorId id) { return reads(s.t_, stage, id); }) ||
        ((candidate != candidates.end() || is_elementwise) && !reads_only_at(s.t_, stage, needed, row));
    if (candidate != candidates.end() && !is_late) {
      out.sums.push_back(candidate->second);
      out.sums.back().turn = turn;
      if (candidate->second.is_along_rows)
        ready[targets[0]] = turn;
      else
        late.insert(targets.begin(), targets.end());
    } else if (is_elementwise && !is_late && !needed.empty() && definitions(s.t_, targets[0]).size() == 1) {
      out.between.emplace_back(k, turn);
      ready[targets[0]] = turn;
    } else if (is_late || !needed.empty()) {
      late.insert(targets.begin(), targets.end());
    }
  }
  // Only what a sum of the pass waits for.
  for (size_t k = out.between.size(); k-- > 0;) {
    const TensorId made = equation_of(s.t_, s.t_.stages[out.between[k].first]).targets[0];
    const auto reads_it = [&](uint32_t stage) { return reads(s.t_, s.t_.stages[stage], made); };
    if (std::none_of(out.sums.begin(), out.sums.end(), [&](const Sum& sum) { return reads_it(sum.stage); }) &&
        std::none_of(out.between.begin() + static_cast<std::ptrdiff_t>(k) + 1, out.between.end(),
                     [&](const auto& b) { return reads_it(b.first); }))
      out.between.erase(out.between.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return out;
}

/// Matrices that no near cache holds and a few operations make of one other: computed where sums read them, and never
/// stored.
bool inline_large(Sketcher& s) {
  bool any = false;
  for (uint32_t k = 0; k < s.t_.stages.size(); ++k) {
    const Stage stage = s.t_.stages[k];
    const Equation equation = equation_of(s.t_, stage);
    if (!is_at_root(stage) || stage.reduces || equation.targets.size() != 1 || stage.lo.size() < 2 ||
        !is_large(s, equation.targets[0]))
      continue;
    int operations = 0, large = 0;
    bool is_costly = false;
    visit(equation.rhs, [&](const ExprNode& e) {
      if (e.op == Op::read) large += is_large(s, e.access.id) ? 1 : 0;
      if (e.op != Op::read && e.op != Op::literal && e.op != Op::variable && e.op != Op::affine) ++operations;
      is_costly |= (e.op >= Op::exp && e.op <= Op::cos) || e.op == Op::pow || e.op == Op::div || e.op == Op::guarded;
    });
    if (operations > kMostOperations || is_costly || large > 1) continue;
    bool all_once = true, any_reader = false;
    for (const Stage& reader : s.t_.stages) {
      if (!is_at_root(reader) || !reads(s.t_, reader, equation.targets[0])) continue;
      any_reader = true;
      const auto accesses = reads_of(s.t_, reader, equation.targets[0]);
      std::set<uint32_t> used;
      for (const Subscript& subscript : accesses[0].index)
        if (const auto index = index_alone(s.t_, reader, subscript)) used.insert(*index);
      all_once &= accesses.size() == 1 && used.size() == reader.lo.size() && used.size() == accesses[0].index.size();
    }
    if (any_reader && all_once) any |= s.take(InlineStep{stage.name});
  }
  return any;
}

LinearText constant(int64_t value) {
  return {{}, value};
}

struct OnePassWriter {
  Sketcher& s;
  const Pass& pass;
  std::string name;
  bool in_turn;

  LinearText index(uint32_t stage, uint32_t k) const { return {{{1, index_name(s.t_, s.t_.stages[stage], k)}}, 0}; }
  std::vector<LinearText> place(LinearText row, size_t turn, LinearText column) const {
    if (!in_turn) return {std::move(row), std::move(column)};
    return {std::move(row), constant(static_cast<int64_t>(turn)), std::move(column)};
  }
  int64_t first_row() const { return s.t_.stages[pass.sums[0].stage].lo[pass.sums[0].row]; }
  int64_t first_column() const { return s.t_.stages[pass.sums[0].stage].lo[pass.sums[0].column]; }
  int64_t lanes(uint32_t stage) const { return s.lanes_of(s.t_.stages[stage]); }

  BandStep band() const {
    BandStep out{name, in_turn ? std::vector<std::string>{"i", "s", "j"} : std::vector<std::string>{"i", "j"}, {}};
    for (const Sum& sum : pass.sums) {
      const std::string& own = s.t_.stages[sum.stage].name;
      out.statements.push_back({own + ".first", sum.is_along_rows
                                                    ? place(index(sum.stage, sum.row), 0, constant(first_column()))
                                                    : place(constant(first_row()), 0, index(sum.stage, sum.column))});
    }
    std::vector<std::pair<size_t, BandStep::Statement>> rest;
    for (const Sum& sum : pass.sums)
      rest.emplace_back(sum.turn,
                        BandStep::Statement{s.t_.stages[sum.stage].name + ".folds",
                                            place(index(sum.stage, sum.row), sum.turn, index(sum.stage, sum.column))});
    for (const auto& [stage, turn] : pass.between)
      rest.emplace_back(
          turn, BandStep::Statement{s.t_.stages[stage].name, place(index(stage, 0), turn, constant(first_column()))});
    std::stable_sort(rest.begin(), rest.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [turn, statement] : rest) out.statements.push_back(std::move(statement));
    return out;
  }

  /// Rows of a block, and the bytes of columns that a block has; nothing where not even few rows fit.
  bool decide_sizes(const std::string& rows, const std::string& columns) {
    const Stage stage = s.t_.stages[pass.sums[0].stage];
    const int64_t width = stage.hi[pass.sums[0].column] - first_column(),
                  bytes = size_bytes(s.t_.program.tensors[pass.matrix].type);
    if (!in_turn) {
      s.decide(rows, kRows, {4, kRows});
      std::vector<int64_t> widths;
      for (int64_t w : {512, 1024, 2048}) widths.push_back(w / bytes);
      s.decide(columns, widths.back(), widths);
      return true;
    }
    std::vector<int64_t> heights;
    for (int64_t h : {int64_t{2}, int64_t{4}, kRows})
      if (2 * h * width * bytes <= s.machine_->cache_bytes(1)) heights.push_back(h);
    if (heights.empty()) return false;
    s.decide(rows, heights.back(), heights);
    return true;
  }

  void plan_sum(const std::string& own, const Sum& sum, const Size& rows, int64_t lane_count, size_t last_turn) const {
    const Size lanes{lane_count, ""};
    if (sum.is_along_rows) {
      s.take_all({TileStep{own + ".folds", {{"j", lanes}}}, PermuteStep{own + ".folds", {"j.1", "i", "j"}},
                  AccumulateStep{own + ".folds", "root", Scope::reg}, UnrollStep{own + ".folds", {"i"}},
                  VectorizeStep{own + ".folds", "j", lanes}});
    } else {
      s.take(VectorizeStep{own + ".first", "j", lanes});
      s.take_all({PermuteStep{own + ".folds", {"j", "i"}}, AccumulateStep{own + ".folds", "j", Scope::reg},
                  VectorizeStep{own + ".folds", "j", lanes}, UnrollStep{own + ".folds", {"i"}}});
    }
    // The last to use a block asks for the next one.
    if (in_turn && sum.turn == last_turn)
      s.take(PrefetchStep{s.t_.program.tensors[pass.matrix].name, own + ".folds", "i", rows});
  }

  bool write() {
    const std::string rows = "rows_" + name, columns = "cols_" + name;
    // What steps are named after does not change with the band: stages move.
    std::vector<std::string> names;
    std::vector<int64_t> lane_counts;
    for (const Sum& sum : pass.sums) {
      names.push_back(s.t_.stages[sum.stage].name);
      lane_counts.push_back(lanes(sum.stage));
    }
    std::vector<std::pair<std::string, int64_t>> between;
    for (const auto& [stage, turn] : pass.between) between.emplace_back(s.t_.stages[stage].name, lanes(stage));
    const BandStep members = band();
    if (!decide_sizes(rows, columns)) return false;
    std::vector<TileStep::Level> levels = {{"i", Size{0, rows}}};
    if (!in_turn) levels.push_back({"j", Size{0, columns}});
    const std::string place = in_turn ? "s" : "j.1";
    if (!s.take_all({members, TileStep{name, levels}, PermuteStep{name, {"i.1", place, "i", "j"}},
                     DistributeStep{name, place}}))
      return false;
    size_t last = 0;
    for (const Sum& sum : pass.sums) last = std::max(last, sum.turn);
    for (size_t k = 0; k < pass.sums.size(); ++k) plan_sum(names[k], pass.sums[k], Size{0, rows}, lane_counts[k], last);
    for (const auto& [own, count] : between) s.take(VectorizeStep{own, "i", Size{count, ""}});
    return true;
  }
};

/// A lone sum along rows, some rows at a time: they share what moves along them.
void plan_rows(Sketcher& s, const Sum& sum) {
  const Stage stage = s.t_.stages[sum.stage];
  const std::string own = stage.name, i = index_name(s.t_, stage, sum.row), j = index_name(s.t_, stage, sum.column);
  const Size lanes{s.lanes_of(stage), ""};
  s.take_all({TileStep{own, {{i, Size{kRows, ""}}, {j, lanes}}}, PermuteStep{own, {i + ".1", j + ".1", i, j}},
              AccumulateStep{own, i + ".1", Scope::reg}, UnrollStep{own, {i}}, VectorizeStep{own, j, lanes}});
}

}  // namespace

std::vector<NestTemplate> one_pass_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                            const Isl& isl) {
  if (!isl.band_facts || has_recurrence(normalized)) return {};
  Sketcher s(normalized, cls, machine, isl);
  const bool any_large = std::any_of(s.t_.stages.begin(), s.t_.stages.end(),
                                     [&](const Stage& stage) { return stage.reduces && stage.lo.size() == 2; });
  if (!any_large) return {};
  bool gains = inline_large(s);
  if (machine.cores() > 1) {  // a pass is one thread's: two threads with a product each are faster
    if (!gains) return {};
    s.plan_others();
    auto shared = in_parts(s.t_, machine);
    return shared ? std::vector{*std::move(shared)} : std::vector<NestTemplate>{};
  }
  std::set<std::string> done;
  for (bool found = true; found;) {
    found = false;
    std::map<TensorId, std::map<uint32_t, Sum>> by_matrix;
    for (uint32_t k = 0; k < s.t_.stages.size(); ++k)
      if (const auto sum = sum_of(s, k); sum && !done.count(s.t_.stages[k].name))
        by_matrix[sum->second][k] = sum->first;
    for (const auto& [matrix, candidates] : by_matrix) {
      const Pass pass = pass_over(s, matrix, candidates);
      for (const Sum& sum : pass.sums) done.insert(s.t_.stages[sum.stage].name);
      found = true;
      if (pass.sums.size() == 1 && pass.sums[0].is_along_rows) {
        plan_rows(s, pass.sums[0]);
        break;
      }
      const bool in_turn = std::any_of(pass.sums.begin(), pass.sums.end(), [](const Sum& sum) { return sum.turn > 0; });
      Sketcher tried = s;
      if (!OnePassWriter{tried, pass, tried.band_name(), in_turn}.write()) break;
      s = std::move(tried);
      gains |= pass.sums.size() > 1;
      break;  // stages have moved
    }
  }
  if (!gains) return {};
  s.plan_others();
  if (!instantiate(s.t_, values_of(s.t_.trace))) return {};
  return {std::move(s.t_)};
}

}  // namespace polyweft::schedules
