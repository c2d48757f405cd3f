// From values of members back to a statement's indices: elimination with coefficients 1 and -1, so that every step
// stays in whole numbers. Rows that are left over are conditions: L[i, j] in a band [k, i, j] at (j, i, j) has k == j.
#include "schedules/reindex.h"

#include <algorithm>

#include "schedules/hulls.h"

namespace polyweft::schedules {
namespace {

/// Old and new indices while both kinds are in one expression.
constexpr VarId kOld = 0x40000000u, kNew = 0x60000000u;

struct Solver {
  const NestTemplate& t;
  const BandPlace& place;
  const Equation& old;
  std::string subject;
  uint32_t data = 0;  ///< old data indices
  uint32_t reduced_members = 0;

  Reindexed out = {};
  std::vector<std::string> names = {};
  std::map<VarId, Affine> map = {};  ///< of old indices, over the new ones
  bool is_mixed = false;             ///< some member is a sum of reduced indices and others

  bool is_first() const { return place.part == SumPart::first; }
  /// Those that the part moves along.
  uint32_t indices() const { return is_first() ? data : static_cast<uint32_t>(old.index_names.size()); }
  VarId var(uint32_t index) const { return t.program.index_var(index); }
  uint32_t index_of(VarId v) const { return v - t.program.index_var(0); }
  bool is_reduced(const Affine& row) const {
    return std::any_of(row.terms.begin(), row.terms.end(),
                       [&](const Term& term) { return index_of(term.var) >= data; });
  }

  Status number_members(const std::vector<std::string>& members) {
    out.index_of_member.resize(members.size());
    for (int kind = 0; kind < 2; ++kind)
      for (uint32_t m = 0; m < members.size(); ++m) {
        if (!place.members[m].is_linear())
          return fail("PW0324", subject + ": member " + members[m] + " is not linear in the indices of the statement");
        if (is_reduced(place.members[m]) != (kind == 1)) continue;
        out.index_of_member[m] = static_cast<uint32_t>(names.size());
        names.push_back(members[m]);
        reduced_members += kind == 1;
      }
    return Ok{};
  }
  bool is_single(const Affine& row) const {
    return row.terms.size() == 1 && (row.terms[0].coeff == 1 || row.terms[0].coeff == -1);
  }
  /// The folds of a statement whose first values are another may move along sums of indices too, as [i + j, j]: each
  /// element has them in some order of its own.
  Status solve_mixed(const std::vector<std::string>& members) {
    std::vector<Affine> rows;
    std::map<VarId, Affine> renamed, back;
    for (uint32_t k = 0; k < data; ++k) renamed[var(k)] = map.at(var(k));
    for (uint32_t k = data; k < indices(); ++k) renamed[var(k)] = Affine::variable(kOld + k);
    for (uint32_t m = 0; m < members.size(); ++m) {
      if (!is_reduced(place.members[m])) continue;
      back[kNew + static_cast<VarId>(rows.size())] = Affine::variable(var(out.index_of_member[m]));
      rows.push_back(substitute(place.members[m], renamed));
    }
    std::vector<Affine> rest;
    const auto solved = inverse(rows, kOld + data, indices() - data, kNew, &rest);
    if (!solved)
      return fail("PW0324",
                  subject + ": the members do not give the reduced indices of " +
                      t.program.tensors[old.targets[0]].name + " by whole numbers",
                  {"let some member have each reduced index with coefficient 1 or -1"});
    for (uint32_t k = data; k < indices(); ++k) map[var(k)] = substitute((*solved)[k - data], back);
    require_zero(rest, back);
    return Ok{};
  }
  Status solve_reduced(const std::vector<std::string>& members) {
    const auto mixed = std::find_if(place.members.begin(), place.members.end(),
                                    [&](const Affine& row) { return is_reduced(row) && !is_single(row); });
    is_mixed = mixed != place.members.end() && place.part == SumPart::folds;
    if (is_mixed) return solve_mixed(members);
    for (uint32_t m = 0; m < members.size(); ++m) {
      const Affine& row = place.members[m];
      if (!is_reduced(row)) continue;
      if (!is_single(row) || map.count(row.terms[0].var))
        return fail("PW0324",
                    subject + ": member " + members[m] +
                        " moves with a reduced index, and is not that index or its negative alone",
                    {"name the parts of the sum, .first and .folds: folds may move along sums of indices"});
      const int64_t sign = row.terms[0].coeff;
      map[row.terms[0].var] = sign * (Affine::variable(var(out.index_of_member[m])) - Affine::of(row.constant));
    }
    for (uint32_t k = data; k < indices(); ++k) {
      if (map.count(var(k))) continue;
      map[var(k)] = Affine::variable(var(static_cast<uint32_t>(names.size())));
      std::string name = old.index_names[k];
      while (std::find(names.begin(), names.end(), name) != names.end()) name += "_";
      names.push_back(std::move(name));
    }
    return Ok{};
  }
  /// Rows that were not needed are conditions.
  void require_zero(const std::vector<Affine>& rest, const std::map<VarId, Affine>& back) {
    for (const Affine& row : rest) {
      const Affine e = substitute(row, back);
      out.stage.inside.push_back(e);
      out.stage.inside.push_back(Affine::of(0) - e);
    }
  }
  Status solve_data(const std::vector<std::string>& members) {
    std::vector<Affine> rows;
    std::map<VarId, Affine> renamed, back;
    for (uint32_t k = 0; k < data; ++k) renamed[var(k)] = Affine::variable(kOld + k);
    for (uint32_t m = 0; m < members.size(); ++m) {
      if (is_reduced(place.members[m])) continue;
      back[kNew + static_cast<VarId>(rows.size())] = Affine::variable(var(out.index_of_member[m]));
      rows.push_back(substitute(place.members[m], renamed));
    }
    std::vector<Affine> rest;
    const auto solved = inverse(rows, kOld, data, kNew, &rest);
    if (!solved)
      return fail("PW0324",
                  subject + ": the members do not give the indices of " + t.program.tensors[old.targets[0]].name +
                      " by whole numbers",
                  {"let some member have each index with coefficient 1 or -1"});
    for (uint32_t k = 0; k < data; ++k) map[var(k)] = substitute((*solved)[k], back);
    require_zero(rest, back);
    return Ok{};
  }

  /// The domain over the new indices.
  void conditions() {
    Domain domain = domain_of(t.program, old);
    if (is_first()) {
      std::erase_if(domain.inside, [&](const Affine& e) { return mentions_from(guard_ge0(e), var(data)); });
      std::erase_if(domain.guards, [&](const Guard& g) { return mentions_from(g, var(data)); });
    }
    Stage& stage = out.stage;
    for (uint32_t k = 0; k < indices(); ++k) {
      const Interval& values = domain.values[var(k)];
      stage.inside.push_back(map.at(var(k)) - Affine::of(values.lo));
      stage.inside.push_back(Affine::of(values.hi) - map.at(var(k)));
    }
    for (const Affine& e : domain.inside) stage.inside.push_back(substitute(e, map));
    std::vector<Guard> rest = place.piece;
    if (rest.empty()) rest = domain.guards;
    for (const Guard& g : rest) {
      const bool is_linear = (g.kind == Guard::Kind::ge0 || g.kind == Guard::Kind::eq0) && g.e.is_linear();
      if (!is_linear) {
        stage.guards.push_back(substitute(g, map));
        continue;
      }
      stage.inside.push_back(substitute(g.e, map));
      if (g.kind == Guard::Kind::eq0) stage.inside.push_back(Affine::of(0) - substitute(g.e, map));
    }
    std::vector<Affine> kept;  // of parallel ones the narrowest
    for (const Affine& e : stage.inside) {
      if (e.is_constant() && e.constant >= 0) continue;
      const auto parallel =
          std::find_if(kept.begin(), kept.end(), [&](const Affine& known) { return known.terms == e.terms; });
      if (parallel == kept.end())
        kept.push_back(e);
      else
        parallel->constant = std::min(parallel->constant, e.constant);
    }
    stage.inside = std::move(kept);
  }
  /// The values that members take; which of them go together the stage's conditions say.
  void ranges_of_members(ExprNode& rhs) const {
    const Domain domain = domain_of(t.program, old);
    rhs.reduction.ranges.clear();
    for (size_t m = 0; m < place.members.size(); ++m) {
      if (!is_reduced(place.members[m])) continue;
      const Interval values = interval_of(place.members[m], domain.values);
      rhs.reduction.ranges.push_back({var(out.index_of_member[m]), Affine::of(values.lo), Affine::of(values.hi + 1)});
    }
  }
  void equation() {
    Equation& e = out.equation;
    e = old;
    e.index_names = names;
    e.where = Guard{};
    for (Slot& slot : e.slots) {
      const Affine position = slot.var == kNoVar ? substitute(slot.position, map) : map.at(slot.var);
      const bool is_index = position.terms.size() == 1 && position.constant == 0 && position.terms[0].coeff == 1;
      const bool is_taken = is_index && std::any_of(e.slots.begin(), &slot - e.slots.data() + e.slots.begin(),
                                                    [&](const Slot& s) { return s.var == position.terms[0].var; });
      slot = is_index && !is_taken ? Slot{position.terms[0].var, Affine::of(0), Affine::of(0), {}}
                                   : Slot{kNoVar, {}, {}, position};
    }
    if (is_first()) e.rhs = make_literal(Literal{});  // the reducer's identity: emission asks the program's equation
    if (e.rhs->op != Op::reduce) {
      e.rhs = substitute(e.rhs, map);
      return;
    }
    auto rhs = std::make_shared<ExprNode>(*e.rhs);
    if (is_mixed) ranges_of_members(*rhs);
    for (IndexRange& range : rhs->reduction.ranges) {
      if (is_mixed) break;
      const Affine& as = map.at(range.var);
      const Affine lo = substitute(range.lo, map), hi = substitute(range.hi, map);
      const int64_t sign = as.terms[0].coeff;
      const Affine apart =
          Affine::of(sign * as.constant);  // old = sign * new + constant, so new = sign * old - sign * constant
      range = sign > 0 ? IndexRange{as.terms[0].var, lo - apart, hi - apart}
                       : IndexRange{as.terms[0].var, Affine::of(1) - hi - apart, Affine::of(1) - lo - apart};
    }
    rhs->reduction.where = substitute(rhs->reduction.where, map);
    for (Expr& arg : rhs->args) arg = substitute(arg, map);
    e.rhs = std::move(rhs);
  }
};

}  // namespace

bool mentions_from(const Guard& condition, VarId first) {
  std::vector<VarId> used;
  collect_variables(condition, used);
  return std::any_of(used.begin(), used.end(), [&](VarId v) { return v >= first; });
}

std::optional<std::vector<Affine>> inverse(const std::vector<Affine>& rows, VarId first, uint32_t count, VarId result,
                                           std::vector<Affine>* rest) {
  std::vector<Affine> open;
  for (uint32_t k = 0; k < rows.size(); ++k) open.push_back(rows[k] - Affine::variable(result + k));
  auto is_wanted = [&](VarId v) { return v >= first && v < first + count; };
  std::map<VarId, Affine> solved;
  while (solved.size() < count) {
    size_t row = 0;
    const Term* pivot = nullptr;
    for (; row < open.size(); ++row) {
      auto found = std::find_if(open[row].terms.begin(), open[row].terms.end(), [&](const Term& term) {
        return is_wanted(term.var) && (term.coeff == 1 || term.coeff == -1);
      });
      if (found == open[row].terms.end()) continue;
      pivot = &*found;
      break;
    }
    if (!pivot) return std::nullopt;
    const VarId v = pivot->var;
    const Affine value = -pivot->coeff * (open[row] - Affine::variable(v, pivot->coeff));
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(row));
    const std::map<VarId, Affine> step = {{v, value}};
    for (Affine& other : open) other = substitute(other, step);
    for (auto& [other, e] : solved) e = substitute(e, step);
    solved[v] = value;
  }
  std::vector<Affine> out;
  for (uint32_t k = 0; k < count; ++k) out.push_back(solved.at(first + k));
  if (rest) *rest = std::move(open);
  return out;
}

Result<Reindexed> reindexed(const NestTemplate& t, const BandPlace& place, const std::vector<std::string>& members,
                            const std::string& subject) {
  const Equation& old = t.program.equations[place.equation];
  Solver solver{t, place, old, subject};
  for (const Slot& slot : old.slots) solver.data += slot.var != kNoVar;
  if (auto status = solver.number_members(members); !status) return status.error();
  Stage& stage = solver.out.stage;
  stage.data_indices = static_cast<uint32_t>(members.size()) - solver.reduced_members;
  if (auto status = solver.solve_data(members); !status) return status.error();
  if (auto status = solver.solve_reduced(members); !status) return status.error();
  solver.conditions();
  solver.equation();
  stage.part = place.part;
  stage.reduces = old.rhs->op == Op::reduce && !solver.is_first();
  stage.origin = Origin{place.equation, {}};
  for (uint32_t k = 0; k < solver.indices(); ++k)
    stage.origin->instance.push_back(solver.map.at(t.program.index_var(k)));
  stage.lo.assign(solver.names.size(), 0);
  stage.hi.assign(solver.names.size(), 0);
  const Domain domain = domain_of(t.program, old);
  for (uint32_t k = solver.data; k < solver.indices() && !solver.is_mixed;
       ++k) {  // reduced indices that no member moves with
    const Affine& as = solver.map.at(t.program.index_var(k));
    const uint32_t index = as.terms[0].var - t.program.index_var(0);
    const Interval& values = domain.values[t.program.index_var(k)];
    stage.lo[index] = values.lo;
    stage.hi[index] = std::max(values.hi + 1, values.lo);
  }
  return std::move(solver.out);
}

}  // namespace polyweft::schedules
