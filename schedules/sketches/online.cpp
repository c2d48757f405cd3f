// O: strip | tuple: b | terms of the block, its maximum, exponentials, parts of sums | tuple: rows, lanes | O
#include "schedules/sketches/online.h"

#include <algorithm>
#include <set>

#include "ir/normalize/online_maximum.h"
#include "schedules/queries.h"
#include "schedules/sketches/builder.h"
#include "schedules/sketches/first_steps.h"
#include "schedules/sketches/rule.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kLeastRowsOfStrip = 16;

/// Blocks whose terms and exponentials for a strip of rows take a share of the second cache; they divide the index.
std::vector<int64_t> blocks_for(const ir::BelowMaximum& below, ElementType type, const Machine& machine) {
  const int64_t near = machine.cache_bytes(std::min<size_t>(1, machine.caches() - 1)) / 2;
  const int64_t most = near / (2 * kLeastRowsOfStrip * size_bytes(type));
  std::vector<int64_t> out;
  for (int64_t block = ir::kLeastOnlineBlock; 2 * block <= std::min(below.extent, 2 * most); block *= 2)
    if (below.extent % block == 0) out.push_back(block);
  constexpr size_t kMostBlocks = 2;
  if (out.size() > kMostBlocks) out.erase(out.begin(), out.end() - kMostBlocks);
  return out;
}

/// A strip of rows has more terms than the second cache holds.
bool is_long(const ir::BelowMaximum& below, ElementType type, const Machine& machine) {
  return machine.caches() > 1 && 2 * kLeastRowsOfStrip * below.extent * size_bytes(type) > machine.cache_bytes(1);
}

class OnlinePlanner {
 public:
  explicit OnlinePlanner(const Builder& b) : b_(b), t_(b.t) {}

  std::optional<Plan> run() {
    for (uint32_t k = 0; k < t_.stages.size(); ++k)
      if (is_tuple(k)) tuple_ = k;
    host_ = static_cast<uint32_t>(t_.stages.size()) - 1;
    const Stage& host = t_.stages[host_];
    if (!tuple_ || host.reduces || !writes_output(t_, host_) || !reads_tuple(host_) || host.data_indices == 0)
      return std::nullopt;
    find_inside();
    rows_ = rows_of_tuple();
    if (rows_ == 0 || rows_ > host.data_indices || inside_.empty()) return std::nullopt;
    return plan();
  }

 private:
  bool is_tuple(uint32_t k) const {
    const Expr& rhs = equation_of(t_, t_.stages[k]).rhs;
    return rhs->op == Op::reduce && rhs->reduction.reducer == Reducer::combiner && b_.is_alive(k);
  }
  bool reads_tuple(uint32_t k) const {
    return reads_any(t_, t_.stages[k], equation_of(t_, t_.stages[*tuple_]).targets);
  }

  /// Producers that the tuple alone needs, consumers first.
  void find_inside() {
    std::set<uint32_t> placed = {*tuple_};
    for (uint32_t k = *tuple_; k-- > 0;) {
      if (!b_.is_alive(k) || !is_private(t_, k) || !moves_with_rows(k)) continue;
      const auto readers = readers_of(t_, k);
      if (readers.empty() ||
          !std::all_of(readers.begin(), readers.end(), [&](uint32_t r) { return placed.contains(r); }))
        continue;
      placed.insert(k);
      inside_.push_back(k);
    }
  }

  /// Each reader subscripts it by its own leading indices: what other rows need too is made once, outside.
  bool moves_with_rows(uint32_t k) const {
    const uint32_t rows = rows_of_tuple();
    const TensorId made = equation_of(t_, t_.stages[k]).targets.front();
    for (uint32_t r : readers_of(t_, k))
      for (const Access& access : reads_of(t_, t_.stages[r], made)) {
        if (access.index.size() < rows) return false;
        for (uint32_t d = 0; d < rows; ++d)
          if (access.index[d].data || !(access.index[d].affine == Affine::variable(t_.program.index_var(d))))
            return false;
      }
    return true;
  }

  /// The tuple's leading indices that the block's maximum has too.
  uint32_t rows_of_tuple() const {
    const Equation& tuple = equation_of(t_, t_.stages[*tuple_]);
    const Expr& greatest = tuple.rhs->args.front();
    return greatest->op == Op::read ? static_cast<uint32_t>(greatest->access.index.size()) - 1 : 0;
  }

  std::string tuple_name(uint32_t index) const { return index_name(t_, t_.stages[*tuple_], index); }

  Plan plan() const {
    PlanContext c = b_.context(host_, Packing::none, Site::attached);
    const PlanContext tuple = b_.context(*tuple_, Packing::none, Site::attached);
    const Stage& host = t_.stages[host_];
    Plan out;
    const std::string row = c.name(rows_ - 1);
    c.openness = Openness::open;
    const int64_t extent = c.table.extent[rows_ - 1];
    std::vector<int64_t> heights;
    for (int64_t height : {kLeastRowsOfStrip, int64_t{32}, int64_t{48}, int64_t{64}, int64_t{96}})
      if (height <= extent) heights.push_back(height);
    const Size strip = add_size(out, c, "strip", std::min<int64_t>(64, extent), heights);
    out.steps.push_back(TileStep{host.name, {{row, strip}}});
    std::vector<std::string> order;
    for (uint32_t k = 0; k + 1 < rows_; ++k) order.push_back(c.name(k));
    order.push_back(row + ".1");
    out.steps.push_back(PermuteStep{host.name, order});
    const std::string& name = t_.stages[*tuple_].name;
    out.steps.push_back(ComputeAtStep{name, host.name, row + ".1", Scope::heap});
    std::vector<std::string> inner;
    for (uint32_t k = 0; k + 1 < rows_; ++k) inner.push_back(tuple_name(k));
    const uint32_t block = t_.stages[*tuple_].data_indices;
    inner.push_back(tuple_name(block));
    for (uint32_t k = rows_ - 1; k < block; ++k) inner.push_back(tuple_name(k));
    out.steps.push_back(PermuteStep{name, inner});
    for (uint32_t k : inside_)
      out.steps.push_back(ComputeAtStep{t_.stages[k].name, name, tuple_name(block), Scope::heap});
    add_lanes(out, tuple, block - 1);
    add_lanes(out, c, host.data_indices - 1);
    for (uint32_t k = 0; k < host_; ++k) {
      if (!b_.is_alive(k) || k == *tuple_) continue;
      const bool is_inside = std::find(inside_.begin(), inside_.end(), k) != inside_.end();
      PlanContext attached = b_.context(k, Packing::none, is_inside ? Site::attached : Site::root);
      attached.openness = Openness::settled;
      attached.panel.reset();
      out.append(plan_stage(attached));
    }
    return out;
  }

  /// Lanes along an index that is not one of the rows.
  void add_lanes(Plan& out, const PlanContext& c, uint32_t index) const {
    if (index >= rows_ && c.table.extent[index] >= c.lanes())
      out.steps.push_back(VectorizeStep{c.stage.name, c.name(index), Size{c.lanes(), ""}});
  }

  const Builder& b_;
  const NestTemplate& t_;
  std::optional<uint32_t> tuple_;
  uint32_t host_ = 0, rows_ = 0;
  std::vector<uint32_t> inside_;
};

std::optional<NestTemplate> sketched(const NestTemplate& base, const OnlineStep& step, const Machine& machine) {
  auto form = online(base, step);
  if (!form) return std::nullopt;
  form->trace.steps.push_back(step);
  auto first = first_steps(*form);
  if (!first) return std::nullopt;
  const Isl none;
  StageCase c{{form->program, form->cls, machine, none}, std::move(first->begun), std::move(first->planned)};
  for (uint32_t k = 0; k < c.planned.stages.size(); ++k)
    if (points_of(c.planned.stages[k]) > points_of(c.planned.stages[c.dominant])) c.dominant = k;
  c.add(OnlinePlanner(c.builder()).run());
  if (c.out.empty()) return std::nullopt;
  if (machine.cores() > 1)
    if (auto shared = in_parts(c.out.front(), machine)) return shared;
  return std::move(c.out.front());
}

}  // namespace

std::vector<NestTemplate> online_sketches(const Program& normalized, NumericsClass cls, const Machine& machine) {
  std::vector<NestTemplate> out;
  if (cls != NumericsClass::reassoc) return out;
  for (EquationId q = 0; q < normalized.equations.size(); ++q) {
    const auto below = ir::below_maximum(normalized, q);
    if (!below) continue;
    const NestTemplate base = unscheduled_template(normalized, cls);
    const ElementType type = normalized.equations[q].rhs->type;
    if (!is_long(*below, type, machine)) continue;
    const auto stage =
        std::find_if(base.stages.begin(), base.stages.end(), [&](const Stage& s) { return s.equation == q; });
    for (int64_t block : blocks_for(*below, type, machine))
      if (auto sketch = sketched(base, OnlineStep{stage->name, block}, machine)) out.push_back(*std::move(sketch));
  }
  return out;
}

}  // namespace polyweft::schedules
