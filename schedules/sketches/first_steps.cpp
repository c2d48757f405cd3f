#include "schedules/sketches/first_steps.h"

#include <algorithm>

#include "ir/normalize/shared_values.h"
#include "schedules/queries.h"
#include "schedules/sketches/borders.h"
#include "schedules/sketches/builder.h"
#include "schedules/steps.h"
#include "support/abilities.h"

namespace polyweft::schedules {
namespace {

int operator_count(const Expr& e, bool& is_costly) {
  int count = 0;
  visit(e, [&](const ExprNode& node) {
    if (node.op != Op::read && node.op != Op::literal && node.op != Op::variable && node.op != Op::affine) ++count;
    is_costly |= (node.op >= Op::exp && node.op <= Op::cos) || node.op == Op::pow || node.op == Op::guarded;
  });
  return count;
}

/// A copy that keeps rows: its elements along the last index lie next to each other in the source too, but where a
/// clamp acts.
bool is_row_copy(const NestTemplate& t, const Stage& s) {
  const Equation& equation = equation_of(t, s);
  if (s.reduces || equation.rhs->op != Op::read || !s.inside.empty() || !s.guards.empty()) return false;
  const StageTable table = table_of(t, s);
  const ReadRow& row = table.reads.front();
  return table.unit && table.reads.size() == 1 && row.stride[*table.unit] == 1 && !row.irregular[*table.unit] &&
         row.block[*table.unit] == 0 && row.quotient[*table.unit] == 0 &&
         cuts_at_clamps(table, s, *table.unit).has_value();
}

/// The indices that a subscript gives back: one that stands alone; block and place in it, W * b + j with j in 0 .. W.
std::vector<uint32_t> given_back(const NestTemplate& t, const Stage& reader, const Subscript& s) {
  std::vector<uint32_t> out;
  std::vector<int64_t> strides;
  if (s.data || !s.affine.is_linear() || s.affine.terms.empty() || s.affine.terms.size() > 2) return {};
  for (const Term& term : s.affine.terms) {
    if (term.var < t.program.index_var(0)) return {};
    out.push_back(term.var - t.program.index_var(0));
    strides.push_back(term.coeff);
  }
  if (out.size() == 2 && strides[0] == 1) std::swap(out[0], out[1]), std::swap(strides[0], strides[1]);
  if (strides.back() != 1) return {};
  if (out.size() == 2 && reader.hi[out[1]] - reader.lo[out[1]] > strides[0]) return {};
  return out;
}

/// Does the reader visit each element of the tensor once? Then a reduction repeats no work by computing it.
bool visits_once(const NestTemplate& t, const Stage& reader, TensorId tensor) {
  const auto accesses = reads_of(t, reader, tensor);
  if (accesses.size() != 1) return false;
  std::vector<char> used(reader.lo.size(), 0);
  for (const Subscript& s : accesses[0].index)
    for (uint32_t k : given_back(t, reader, s)) used[k] = 1;
  return std::count(used.begin(), used.end(), 1) == static_cast<std::ptrdiff_t>(used.size());
}

/// Each value for many points of this reader, and dear: made once it is cheaper.
bool is_shared(const NestTemplate& t, const Stage& made, const Stage& reader) {
  return ir::is_worth_storing(ir::cost_of(equation_of(t, made).rhs),
                              static_cast<int64_t>(points_of(reader) / std::max(points_of(made), 1.0)));
}

/// Does the reader gather the tensor's elements by its lanes? Then each read of what is inlined would be gathered
/// instead.
bool reads_by_data(const NestTemplate& t, const Stage& reader, TensorId tensor) {
  const StageTable table = table_of(t, reader);
  return table.unit && std::any_of(table.reads.begin(), table.reads.end(), [&](const ReadRow& row) {
           return row.tensor == tensor && row.irregular[*table.unit];
         });
}

size_t count_reads(const Expr& e) {
  size_t count = 0;
  visit(e, [&](const ExprNode& node) { count += node.op == Op::read ? 1 : 0; });
  return count;
}

/// Rule 4: cheap, or read once, each value by few points; only into elementwise readers, so that no reduction repeats
/// the work.
bool wants_inline(const NestTemplate& t, uint32_t stage) {
  const Stage& s = t.stages[stage];
  if (s.reduces || equation_of(t, s).targets.size() != 1) return false;
  if (is_row_copy(t, s)) return !readers_of(t, stage).empty();
  auto readers = readers_of(t, stage);
  bool is_costly = false;
  int count = operator_count(equation_of(t, s).rhs, is_costly);
  const TensorId target = equation_of(t, s).targets[0];
  const bool is_one_operation = count <= 1 && !is_costly && is_float(t.program.tensors[target].type);
  bool all_pure = std::all_of(readers.begin(), readers.end(), [&](uint32_t r) {
    return !t.stages[r].reduces || (is_one_operation && visits_once(t, t.stages[r], target));
  });
  size_t uses = 0;
  for (uint32_t r : readers) uses += reads_of(t, t.stages[r], equation_of(t, s).targets[0]).size();
  const bool shared =
      std::any_of(readers.begin(), readers.end(), [&](uint32_t r) { return is_shared(t, s, t.stages[r]); });
  const bool is_gathered =
      count_reads(equation_of(t, s).rhs) > 1 &&
      std::any_of(readers.begin(), readers.end(), [&](uint32_t r) { return reads_by_data(t, t.stages[r], target); });
  return !readers.empty() && all_pure && !shared && !is_gathered && (uses == 1 || (count <= 3 && !is_costly));
}

NestTemplate with_inlining(NestTemplate t, std::vector<Step>& steps) {
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    if (!wants_inline(t, k)) continue;
    InlineStep step{t.stages[k].name};
    auto next = inline_producer(t, step);
    if (!next) continue;
    t = std::move(*next);
    steps.push_back(step);
  }
  return t;
}

/// Rule 11: a condition on residues holds in whole classes of its indices. Split by them, each class has plain ranges.
std::optional<IndexSetSplitStep> residue_split(const NestTemplate& t, const Stage& stage) {
  for (const Guard& guard : stage.guards) {
    if (guard.kind != Guard::Kind::eq0 || guard.e.is_linear()) continue;
    const Term& last = guard.e.terms.back();
    if (last.quasi->kind != Quasi::Kind::floor_div || std::abs(last.coeff) != last.quasi->den) continue;
    IndexSetSplitStep step{stage.name, {}, last.quasi->den, {}};
    for (const Term& term : last.quasi->e.terms)
      if (!term.quasi && term.var >= t.program.index_var(0))
        step.indices.push_back(index_name(t, stage, term.var - t.program.index_var(0)));
    if (!step.indices.empty()) return step;
  }
  return std::nullopt;
}

/// Splits, and keeps one part for all: the plan of the first, which bears the statement's own name, serves each.
NestTemplate with_classes(NestTemplate t, std::vector<Step>& steps) {
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    const std::string whole = t.stages[k].name;
    while (t.stages[k].placement.kind == Placement::Kind::at_root) {
      auto step = residue_split(t, t.stages[k]);
      if (!step) break;
      auto next = index_set_split(t, *step);
      if (!next) break;
      t = std::move(*next);
      steps.push_back(*step);
      const auto parts = parts_named(t, whole);
      renumber_stages(t, k, 1 - static_cast<int64_t>(parts.size()));
      t.stages.erase(t.stages.begin() + k + 1, t.stages.begin() + k + static_cast<std::ptrdiff_t>(parts.size()));
      t.stages[k].name = whole;
    }
  }
  return t;
}

}  // namespace

NestTemplate with_inlined(NestTemplate base) {
  std::vector<Step> steps;
  NestTemplate out = with_inlining(std::move(base), steps);
  out.trace.steps.insert(out.trace.steps.end(), steps.begin(), steps.end());
  return out;
}

std::optional<FirstSteps> first_steps(const NestTemplate& base) {
  std::vector<Step> steps;
  NestTemplate t = with_classes(with_inlining(base, steps), steps);
  if (is_on("rule.borders")) t = with_borders(std::move(t), steps);
  Trace trace = base.trace;
  trace.steps.insert(trace.steps.end(), steps.begin(), steps.end());
  auto begun = replay_rest(base, trace);
  if (!begun) return std::nullopt;
  return FirstSteps{*std::move(begun), std::move(t)};
}

}  // namespace polyweft::schedules
