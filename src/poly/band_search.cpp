#include "poly/band_search.h"

#include <algorithm>
#include <functional>
#include <map>

#include "ir/values/slots.h"

namespace polyweft::poly {
namespace {

/// Neighbours are moved by a few places; what needs more runs after.
constexpr int64_t kFarthestShift = 4;
constexpr size_t kMostGroupMembers = 12;
/// Combinations of indices that a search for folds may look at.
constexpr int kMostTrials = 400;

/// One relation: all its pairs, and those that no member has put in order yet.
struct DimensionNeed {
  const Pairs* pairs = nullptr;
  uint32_t source = 0, sink = 0;
  bool is_order = false;  ///< of folds: their loops keep it where no member does
  Set all, rest;
};

/// A value for each statement.
struct Level {
  std::string name;
  std::vector<Affine> values;
};

class Planner {
 public:
  Planner(const BandModel& band, const std::vector<Pairs>& relations, BandStyle style)
      : band_(band), style_(style), used_(statements()) {
    plan_.members.resize(statements());
    for (const Pairs& pairs : relations) {
      Set all = flat(pairs);
      needs_.push_back(
          {&pairs, pairs.source->statement, pairs.sink->statement, pairs.kind == Relation::Kind::order, all, all});
    }
  }

  std::optional<BandPlan> plan() {
    std::vector<uint32_t> whole;
    for (uint32_t s = 0; s < statements(); ++s) whole.push_back(s);
    if (style_ == BandStyle::folds) {
      auto level = fold_level();
      if (!level) return std::nullopt;
      take(whole, needs_, *level);
    }
    if (!descend(whole, needs_)) return std::nullopt;
    finish();
    return std::move(plan_);
  }

 private:
  uint32_t statements() const { return static_cast<uint32_t>(band_.question().statements.size()); }
  const Equation& equation(uint32_t s) const {
    return band_.program().equations[band_.question().statements[s].equation];
  }
  VarId first_index() const { return band_.program().index_var(0); }
  VarId first_reduced(uint32_t s) const { return band_.program().index_var(ir::bound_indices(equation(s))); }
  bool is_used(uint32_t s, VarId var) const {
    return std::find(used_[s].begin(), used_[s].end(), var) != used_[s].end();
  }
  bool is_covered(uint32_t s) const { return used_[s].size() >= first_reduced(s) - first_index(); }
  bool must_permute() const { return style_ != BandStyle::serial; }

  Aff distance_of(const DimensionNeed& need, const Level& level) const {
    const Points &from = *need.pairs->source, &to = *need.pairs->sink;
    return distance(band_, *need.pairs, band_.at(from, level.values[need.source]),
                    band_.at(to, level.values[need.sink]), Space(isl_set_get_space(need.all.get())));
  }
  int64_t least_distance(const DimensionNeed& need, const Level& level) const {
    const Set& where = must_permute() ? need.all : need.rest;
    return integer(Val(isl_set_min_val(where.get(), distance_of(need, level).get())));
  }

  /// How far statements are moved: not at all, all of a tensor alike, or each for itself.
  enum class Shifts : uint8_t { none, of_tensors, of_statements };

  /// Whether shifts make all distances >= 0; adds them.
  bool settle(const std::vector<uint32_t>& group, const std::vector<DimensionNeed>& needs, Level& level,
              Shifts shifts) const {
    std::vector<uint32_t> mover(statements());
    for (uint32_t s = 0; s < statements(); ++s) {
      mover[s] = s;
      for (uint32_t r = 0; r < s && shifts == Shifts::of_tensors && mover[s] == s; ++r)
        if (equation(r).targets == equation(s).targets) mover[s] = r;
    }
    std::vector<int64_t> least, shift(statements(), 0);
    for (const DimensionNeed& need : needs) {
      least.push_back(least_distance(need, level));
      if (least.back() < 0 && (shifts == Shifts::none || mover[need.source] == mover[need.sink])) return false;
    }
    for (size_t round = 0, moved = 1; moved != 0; ++round) {
      if (round > group.size()) return false;
      moved = 0;
      for (size_t k = 0; k < needs.size(); ++k) {
        const int64_t wanted = shift[mover[needs[k].source]] - least[k];
        int64_t& now = shift[mover[needs[k].sink]];
        if (wanted <= now) continue;
        if (wanted > kFarthestShift) return false;
        now = wanted;
        moved = 1;
      }
    }
    for (uint32_t s : group) level.values[s] = level.values[s] + Affine::of(shift[mover[s]]);
    return true;
  }

  /// Where a plain index stands in a value; kNoVar where there is none.
  VarId index_in(uint32_t s, const Affine& value) const {
    for (const Term& term : value.terms)
      if (term.var >= first_index() && term.var < first_reduced(s) && (term.coeff == 1 || term.coeff == -1) &&
          value.terms.size() == 1)
        return term.var;
    return kNoVar;
  }
  bool is_new(uint32_t s, const Affine& value) const {
    VarId var = index_in(s, value);
    return var != kNoVar && !is_used(s, var);
  }

  /// Of the element; an accumulator that has fewer coordinates than what it is made for takes the place of that.
  Affine coordinate(uint32_t s, size_t d) const {
    const auto& slots = equation(s).slots;
    if (d < slots.size()) return ir::position_of(slots[d]);
    if (!band_.program().tensors[equation(s).targets.front()].hidden) return Affine::of(0);
    for (const DimensionNeed& need : needs_) {
      if (need.source != s || need.sink == s || d >= equation(need.sink).slots.size()) continue;
      const Access& access = placed_reads(equation(need.sink))[static_cast<size_t>(need.pairs->access)].node->access;
      std::map<VarId, Affine> own;
      for (size_t k = 0; k < slots.size(); ++k)
        if (const Affine& at = access.index[k].affine;
            slots[k].var != kNoVar && at.terms.size() == 1 && at == Affine::variable(at.terms[0].var))
          own[at.terms[0].var] = Affine::variable(slots[k].var);
      const Affine wanted = coordinate(need.sink, d);
      std::vector<VarId> used;
      collect_variables(wanted, used);
      if (std::all_of(used.begin(), used.end(), [&](VarId var) { return own.contains(var); }))
        return substitute(wanted, own);
    }
    return Affine::of(0);
  }
  Affine named(uint32_t s, const std::string& name) const {
    const auto& names = equation(s).index_names;
    for (uint32_t k = 0; k < ir::bound_indices(equation(s)); ++k)
      if (names[k] == name) return Affine::variable(band_.program().index_var(k));
    return Affine::of(0);
  }
  /// That of the index which the largest statement gives for the first time.
  std::string name_of(const std::vector<uint32_t>& group, const Level& level) const {
    std::string out;
    size_t most = 0;
    for (uint32_t s : group)
      if (ir::bound_indices(equation(s)) > most && is_new(s, level.values[s])) {
        most = ir::bound_indices(equation(s));
        out = equation(s).index_names[index_in(s, level.values[s]) - first_index()];
      }
    return out;
  }

  /// Coordinates of the elements by their place, then indices by their name.
  std::vector<Level> plain_levels(const std::vector<uint32_t>& group) const {
    std::vector<Level> out;
    size_t rank = 0;
    std::vector<std::string> names;
    for (uint32_t s : group) {
      rank = std::max(rank, equation(s).slots.size());
      for (uint32_t k = 0; k < ir::bound_indices(equation(s)); ++k)
        if (std::find(names.begin(), names.end(), equation(s).index_names[k]) == names.end())
          names.push_back(equation(s).index_names[k]);
    }
    auto add = [&](const std::function<Affine(uint32_t)>& value) {
      Level level{"", std::vector<Affine>(statements())};
      for (uint32_t s : group) level.values[s] = value(s);
      if (std::none_of(group.begin(), group.end(), [&](uint32_t s) { return is_new(s, level.values[s]); })) return;
      out.push_back(std::move(level));
    };
    for (size_t d = 0; d < rank; ++d) add([&](uint32_t s) { return coordinate(s, d); });
    for (const std::string& name : names) add([&](uint32_t s) { return named(s, name); });
    return out;
  }

  std::optional<Level> next_level(const std::vector<uint32_t>& group, const std::vector<DimensionNeed>& needs) const {
    const std::vector<Level> plain = plain_levels(group);
    // Backwards only where statements need each other: others may as well run in turns.
    const auto reached = reach(needs);
    const bool has_loop = std::any_of(group.begin(), group.end(), [&](uint32_t s) { return reached[s][s] != 0; });
    for (int64_t sign : {1, has_loop ? -1 : 0})
      for (Shifts shifts : {Shifts::none, Shifts::of_tensors, Shifts::of_statements})
        for (bool may_repeat : {shifts == Shifts::none, shifts != Shifts::none})
          for (const Level& candidate : plain) {
            if (sign == 0) continue;
            Level level = candidate;
            for (uint32_t s : group)
              level.values[s] = may_repeat || is_new(s, level.values[s]) ? sign * level.values[s] : Affine::of(0);
            level.name = name_of(group, level);
            if (settle(group, needs, level, shifts)) return level;
          }
    return std::nullopt;
  }

  /// Folds move with their index; every other statement with one of its own such that nothing runs backwards.
  std::optional<Level> fold_level() const {
    Level level{"", std::vector<Affine>(statements())};
    std::vector<std::vector<Affine>> choices(statements());
    bool has_folds = false;
    for (uint32_t s = 0; s < statements(); ++s) {
      const Equation& eq = equation(s);
      if (eq.rhs->op == Op::reduce) {
        if (eq.rhs->reduction.ranges.size() != 1) return std::nullopt;
        const VarId folded = eq.rhs->reduction.ranges[0].var;
        choices[s] = {Affine::variable(folded)};
        if (!has_folds) level.name = eq.index_names[folded - first_index()];
        has_folds = true;
      } else {
        for (size_t d = 0; d < eq.slots.size(); ++d) choices[s].push_back(coordinate(s, d));
      }
      if (choices[s].empty()) choices[s] = {Affine::of(0)};
    }
    int trials = 0;
    if (!has_folds || !choose(0, choices, level, trials)) return std::nullopt;
    return level;
  }
  bool choose(uint32_t s, const std::vector<std::vector<Affine>>& choices, Level& level, int& trials) const {
    if (s == statements()) return true;
    for (const Affine& value : choices[s]) {
      if (++trials > kMostTrials) return false;
      level.values[s] = value;
      auto is_kept = [&](const DimensionNeed& need) {
        return std::max(need.source, need.sink) != s || least_distance(need, level) >= 0;
      };
      if (std::all_of(needs_.begin(), needs_.end(), is_kept) && choose(s + 1, choices, level, trials)) return true;
    }
    return false;
  }

  /// Adds a member; pairs at a positive distance are in order from here on.
  void take(const std::vector<uint32_t>& group, std::vector<DimensionNeed>& needs, const Level& level) {
    size_t depth = 0;
    for (uint32_t s : group) {
      if (is_new(s, level.values[s])) used_[s].push_back(index_in(s, level.values[s]));
      plan_.members[s].push_back(level.values[s]);
      depth = plan_.members[s].size();
    }
    if (plan_.names.size() < depth) plan_.names.push_back(level.name);
    for (DimensionNeed& need : needs)
      need.rest =
          intersect(need.rest, Set(isl_set_from_basic_set(isl_aff_zero_basic_set(distance_of(need, level).take()))));
    if (must_permute()) return;
    std::erase_if(needs, [](const DimensionNeed& need) { return is_empty(need.rest); });
  }
  void take_own_indices(uint32_t s) {
    for (VarId var = first_index(); var < first_reduced(s); ++var)
      if (!is_used(s, var)) {
        plan_.members[s].push_back(Affine::variable(var));
        if (plan_.names.size() < plan_.members[s].size())
          plan_.names.push_back(equation(s).index_names[var - first_index()]);
      }
  }

  /// Which statements each one needs, directly or not.
  std::vector<std::vector<char>> reach(const std::vector<DimensionNeed>& needs) const {
    std::vector<std::vector<char>> out(statements(), std::vector<char>(statements(), 0));
    for (const DimensionNeed& need : needs)
      if (!need.is_order) out[need.source][need.sink] = 1;
    for (uint32_t k = 0; k < statements(); ++k)
      for (uint32_t i = 0; i < statements(); ++i)
        for (uint32_t j = 0; j < statements(); ++j) out[i][j] |= out[i][k] & out[k][j];
    return out;
  }

  /// The statements one group after the other, by a member that stands still in each.
  bool descend_in_turns(const std::vector<uint32_t>& group, std::vector<DimensionNeed> needs) {
    const auto reached = reach(needs);
    std::vector<std::vector<uint32_t>> parts;
    for (uint32_t s : group) {
      auto together = std::find_if(parts.begin(), parts.end(),
                                   [&](const auto& part) { return reached[s][part[0]] && reached[part[0]][s]; });
      if (together == parts.end())
        parts.push_back({s});
      else
        together->push_back(s);
    }
    if (parts.size() == 1) return false;
    std::vector<int64_t> turn(parts.size(), 0);
    for (size_t round = 0; round < parts.size(); ++round)
      for (size_t a = 0; a < parts.size(); ++a)
        for (size_t b = 0; b < parts.size(); ++b)
          if (a != b && reached[parts[a][0]][parts[b][0]]) turn[b] = std::max(turn[b], turn[a] + 1);
    Level level{"s", std::vector<Affine>(statements())};
    for (size_t k = 0; k < parts.size(); ++k)
      for (uint32_t s : parts[k]) level.values[s] = Affine::of(turn[k]);
    take(group, needs, level);
    for (const auto& part : parts) {
      std::vector<DimensionNeed> own;
      for (const DimensionNeed& need : needs)
        if (std::find(part.begin(), part.end(), need.source) != part.end() &&
            std::find(part.begin(), part.end(), need.sink) != part.end())
          own.push_back(need);
      if (!descend(part, std::move(own))) return false;
    }
    return true;
  }

  bool descend(const std::vector<uint32_t>& group, std::vector<DimensionNeed> needs) {
    while (!std::all_of(group.begin(), group.end(), [&](uint32_t s) { return is_covered(s); })) {
      if (plan_.members[group[0]].size() >= kMostGroupMembers) return false;
      if (!must_permute() && group.size() == 1 &&
          std::all_of(needs.begin(), needs.end(), [](const DimensionNeed& need) { return need.is_order; })) {
        take_own_indices(group[0]);
        return true;
      }
      auto level = next_level(group, needs);
      if (!level) return !must_permute() && descend_in_turns(group, std::move(needs));
      take(group, needs, *level);
    }
    std::erase_if(needs, [](const DimensionNeed& need) { return is_empty(need.rest); });
    const auto reached = reach(needs);
    if (std::none_of(group.begin(), group.end(), [&](uint32_t s) { return reached[s][s] != 0; })) return true;
    return !must_permute() && descend_in_turns(group, std::move(needs));
  }

  /// Members of equal number, names that differ.
  void finish() {
    for (auto& members : plan_.members) members.resize(plan_.names.size(), Affine::of(0));
    for (size_t k = 0; k < plan_.names.size(); ++k)
      for (size_t number = 2; std::find(plan_.names.begin(), plan_.names.begin() + static_cast<int64_t>(k),
                                        plan_.names[k]) != plan_.names.begin() + static_cast<int64_t>(k);
           ++number)
        plan_.names[k] = plan_.names[k].substr(0, plan_.names[k].find('_')) + "_" + std::to_string(number);
  }

  const BandModel& band_;
  BandStyle style_;
  std::vector<DimensionNeed> needs_;
  std::vector<std::vector<VarId>> used_;  ///< own indices that a member moves with
  BandPlan plan_;
};

}  // namespace

std::optional<BandPlan> plan_band(const BandModel& band, const std::vector<Pairs>& pairs, BandStyle style) {
  return Planner(band, pairs, style).plan();
}

}  // namespace polyweft::poly
