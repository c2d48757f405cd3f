#include "schedules/sketches/table.h"

#include <algorithm>
#include <numeric>

#include "schedules/queries.h"
#include "support/integer_division.h"

namespace polyweft::schedules {
namespace {

std::vector<int64_t> row_strides(const Box& box) {
  std::vector<int64_t> out(box.lo.size(), 1);
  for (size_t d = out.size(); d-- > 1;) out[d - 1] = out[d] * std::max<int64_t>(box.hi[d] - box.lo[d], 1);
  return out;
}

/// A quotient of one index and a constant.
struct Shared {
  uint32_t index = 0;
  int64_t constant = 0, den = 1;
};
std::optional<Shared> shared(const Term& term, VarId first) {
  if (!term.quasi || term.coeff != 1 || term.quasi->kind != Quasi::Kind::floor_div) return std::nullopt;
  const Affine& e = term.quasi->e;
  if (e.terms.size() != 1 || e.terms[0].coeff != 1 || e.terms[0].quasi || e.terms[0].var < first) return std::nullopt;
  return Shared{e.terms[0].var - first, e.constant, term.quasi->den};
}

void narrow_interval(std::optional<Interval>& known, const Interval& to) {
  known = known ? Interval{std::max(known->lo, to.lo), std::min(known->hi, to.hi)} : to;
}

/// A quotient in a clamp, and where that does not act. False where it is not that simple.
bool add_clamped_quotient(ReadRow& row, const Quasi& clamp, VarId first) {
  const auto q = clamp.e.terms.size() == 1 ? shared(clamp.e.terms[0], first) : std::nullopt;
  if (!q || (row.quotient[q->index] != 0 && row.quotient[q->index] != q->den)) return false;
  const int64_t lo = clamp.lo.constant - clamp.e.constant, hi = clamp.hi.constant - clamp.e.constant;
  row.quotient[q->index] = q->den;
  narrow_interval(row.idle[q->index], {lo * q->den - q->constant, (hi + 1) * q->den - 1 - q->constant});
  return true;
}

/// Adds the coefficients of a clamped subscript, as if the clamp did not act, and where that is so. False where it is
/// not that simple.
bool add_clamp(ReadRow& row, const NestTemplate& t, const Stage& stage, const Term& term, int64_t stride) {
  const Quasi& q = *term.quasi;
  VarId first = t.program.index_var(0);
  if (q.kind != Quasi::Kind::clamp || !q.lo.is_constant() || !q.hi.is_constant()) return false;
  if (term.coeff == 1 && add_clamped_quotient(row, q, first)) return true;
  for (const Term& part : q.e.terms)
    if (part.quasi || part.var < first || part.coeff < 1) return false;
  for (const Term& part : q.e.terms) {
    Interval idle{q.lo.constant - q.e.constant, q.hi.constant - q.e.constant};
    for (const Term& other : q.e.terms) {
      if (other.var == part.var) continue;
      idle.lo -= other.coeff * stage.lo[other.var - first];
      idle.hi -= other.coeff * (stage.hi[other.var - first] - 1);
    }
    narrow_interval(row.idle[part.var - first],
                    {ceil_quotient(idle.lo, part.coeff), floor_quotient(idle.hi, part.coeff)});
    row.stride[part.var - first] += part.coeff * term.coeff * stride;
  }
  return true;
}

ReadRow row_of(const NestTemplate& t, const Stage& stage, const Access& access) {
  ReadRow row;
  row.tensor = access.id;
  row.access = access;
  row.stride.assign(stage.lo.size(), 0);
  row.irregular.assign(stage.lo.size(), 0);
  row.block.assign(stage.lo.size(), 0);
  row.quotient.assign(stage.lo.size(), 0);
  row.idle.assign(stage.lo.size(), std::nullopt);
  auto strides = row_strides(t.boxes[access.id]);
  VarId first = t.program.index_var(0);
  auto mark = [&](VarId v) {
    if (v >= first) row.irregular[v - first] = 1;
  };
  for (size_t d = 0; d < access.index.size(); ++d) {
    const Subscript& s = access.index[d];
    for (const Term& term : s.affine.terms) {
      if (!term.quasi) {
        if (term.var >= first) row.stride[term.var - first] += term.coeff * strides[d];
        continue;
      }
      const Quasi& q = *term.quasi;
      if (q.kind == Quasi::Kind::floor_div && q.e.terms.size() == 1 && q.e.constant == 0 && q.e.terms[0].coeff == 1 &&
          !q.e.terms[0].quasi && q.e.terms[0].var >= first) {
        int64_t& block = row.block[q.e.terms[0].var - first];
        block = std::gcd(block, q.den);
        continue;
      }
      if (const auto part = shared(term, first);
          part && (row.quotient[part->index] == 0 || row.quotient[part->index] == part->den)) {
        row.quotient[part->index] = part->den;
        continue;
      }
      if (add_clamp(row, t, stage, term, strides[d])) continue;
      std::vector<VarId> used;
      Affine quasi;
      quasi.terms = {term};
      collect_variables(quasi, used);
      for (VarId v : used) mark(v);
    }
    visit(s.data, [&](const ExprNode& e) {
      if (e.op == Op::variable) mark(e.var);
      std::vector<VarId> used;
      for (const Subscript& inner : e.access.index) collect_variables(inner.affine, used);
      collect_variables(e.affine, used);
      for (VarId v : used) mark(v);
    });
  }
  return row;
}

}  // namespace

bool is_near_along(const ReadRow& row, uint32_t index) {
  constexpr int64_t kLargestQuotient = 8;
  if (row.irregular[index]) return false;
  const bool is_quotient = row.quotient[index] != 0 || row.block[index] != 0;
  if (is_quotient) return row.stride[index] == 0 && std::max(row.quotient[index], row.block[index]) <= kLargestQuotient;
  return row.stride[index] >= 0 && row.stride[index] <= 2;
}

namespace {

std::optional<uint32_t> spread_index(const NestTemplate& t, const Stage& stage, const Equation& equation) {
  const Affine& last = equation.slots.back().position;
  const VarId first = t.program.index_var(0);
  if (last.terms.size() != 1 || last.terms[0].quasi || last.terms[0].coeff != 2 || last.terms[0].var < first)
    return std::nullopt;
  const uint32_t index = last.terms[0].var - first;
  for (size_t d = 0; d + 1 < equation.slots.size(); ++d)
    if (equation.slots[d].var == first + index || equation.slots[d].position.coefficient(first + index) != 0)
      return std::nullopt;
  return index < stage.data_indices ? std::optional(index) : std::nullopt;
}

}  // namespace

StageTable table_of(const NestTemplate& t, const Stage& stage) {
  StageTable table;
  const Equation& equation = equation_of(t, stage);
  visit(equation.rhs, [&](const ExprNode& e) {
    if (e.op == Op::read) table.reads.push_back(row_of(t, stage, e.access));
  });
  for (size_t k = 0; k < stage.lo.size(); ++k) {
    table.extent.push_back(std::max<int64_t>(stage.hi[k] - stage.lo[k], 0));
    table.points *= static_cast<double>(table.extent.back());
  }
  if (!equation.slots.empty() && equation.slots.back().var != kNoVar)
    table.unit = equation.slots.back().var - t.program.index_var(0);
  else if (!equation.slots.empty())
    table.spread = spread_index(t, stage, equation);
  return table;
}

std::optional<std::vector<int64_t>> cuts_at_clamps(const StageTable& table, const Stage& stage, uint32_t index) {
  Interval idle{stage.lo[index], stage.hi[index] - 1};
  int64_t unit = 1;
  for (const ReadRow& row : table.reads) {
    if (row.idle[index])
      idle = Interval{std::max(idle.lo, row.idle[index]->lo), std::min(idle.hi, row.idle[index]->hi)};
    if (row.quotient[index] != 0) unit = std::lcm(unit, row.quotient[index]);
  }
  if (idle.lo > stage.lo[index]) idle.lo = ceil_quotient(idle.lo, unit) * unit;
  if (idle.hi - idle.lo + 1 < (stage.hi[index] - stage.lo[index] + 1) / 2) return std::nullopt;
  std::vector<int64_t> out;
  if (idle.lo > stage.lo[index]) out.push_back(idle.lo);
  if (idle.hi + 1 < stage.hi[index]) out.push_back(idle.hi + 1);
  return out;
}

std::optional<uint32_t> dimension_alone(const NestTemplate& t, const Access& access, uint32_t index) {
  Affine alone = Affine::variable(t.program.index_var(index));
  std::optional<uint32_t> found;
  for (uint32_t d = 0; d < access.index.size(); ++d) {
    if (access.index[d].data || !(access.index[d].affine == alone)) continue;
    if (found) return std::nullopt;
    found = d;
  }
  return found;
}

}  // namespace polyweft::schedules
