#include "ir/normalize/padded_reads.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ir/normalize/hidden_tensors.h"
#include "ir/normalize/repeated_values.h"
#include "ir/values/reduction_ranges.h"
#include "ir/values/scope.h"

namespace polyweft::ir {
namespace {

struct PaddedDimension {
  int64_t lo = 0, hi = 0;                ///< values of the subscript, half open
  int64_t inside_lo = 0, inside_hi = 0;  ///< those for which the condition holds
};

/// Of a linear expression over indices with ranges of numbers.
std::optional<std::pair<int64_t, int64_t>> values_of_sum(const Affine& e, const ExprScope& scope) {
  int64_t lo = e.constant, hi = e.constant;
  for (const Term& term : e.terms) {
    const auto range = std::find_if(scope.indices.begin(), scope.indices.end(),
                                    [&](const IndexRange& r) { return !term.quasi && r.var == term.var; });
    if (range == scope.indices.end() || !range->lo.is_constant() || !range->hi.is_constant() ||
        range->hi.constant <= range->lo.constant)
      return std::nullopt;
    const int64_t a = term.coeff * range->lo.constant, b = term.coeff * (range->hi.constant - 1);
    lo += std::min(a, b), hi += std::max(a, b);
  }
  return std::pair{lo, hi + 1};
}

/// Extents of what holds an element at each place from 0 on: an input, or a local of one equation without conditions.
std::optional<std::vector<std::pair<int64_t, int64_t>>> whole_box(const Program& program, TensorId id) {
  std::vector<std::pair<int64_t, int64_t>> out;
  const Tensor& tensor = program.tensors[id];
  if (tensor.kind == TensorKind::input || tensor.kind == TensorKind::constant) {
    for (const Affine& extent : tensor.shape) {
      if (!extent.is_constant()) return std::nullopt;
      out.emplace_back(0, extent.constant);
    }
    return out;
  }
  const std::vector<EquationId> makers = makers_of(program, id);
  if (makers.size() != 1) return std::nullopt;
  const Equation& maker = program.equations[makers[0]];
  if (!maker.where.is_true()) return std::nullopt;
  for (const Slot& slot : maker.slots) {
    if (slot.var == kNoVar || !slot.lo.is_constant() || !slot.hi.is_constant()) return std::nullopt;
    out.emplace_back(slot.lo.constant, slot.hi.constant);
  }
  return out;
}

class ReadPadder {
 public:
  explicit ReadPadder(Program program) : program_(std::move(program)) {}

  Program run() {
    const size_t count = program_.equations.size();
    for (size_t q = 0; q < count; ++q) {
      if (program_.equations[q].rhs->op != Op::reduce) continue;
      scope_ = inside(scope_of(program_.equations[q]), program_.equations[q].rhs->reduction);
      first_reduced_ = scope_of(program_.equations[q]).indices.size();
      name_ = program_.tensors[program_.equations[q].targets.front()].name;
      may_read_ = independent_of(program_, program_.equations[q].targets);
      may_read_.resize(program_.tensors.size() + kMostPadded, 1);
      const Expr padded = rewrite(program_.equations[q].rhs, [&](const Expr& e) { return padded_read(e); });
      program_.equations[q].rhs = padded;
    }
    return std::move(program_);
  }

 private:
  static constexpr size_t kMostPadded = 64;

  Expr padded_read(const Expr& e) {
    if (e->op != Op::guarded || e->args[0]->op != Op::read || e->args[1]->op != Op::literal || made_ == kMostPadded)
      return nullptr;
    const Access& access = e->args[0]->access;
    const auto box = whole_box(program_, access.id);
    if (!box || !may_read_[access.id]) return nullptr;
    auto dimensions = dimensions_of(access);
    if (!dimensions || !narrow(*dimensions, access, e->guard)) return nullptr;
    for (size_t d = 0; d < dimensions->size(); ++d) {
      const PaddedDimension& own = (*dimensions)[d];
      if (own.inside_lo >= own.inside_hi || own.inside_lo < (*box)[d].first || own.inside_hi > (*box)[d].second)
        return nullptr;
    }
    if (!is_read_often(*dimensions)) return nullptr;
    return make_read(e->type, {declare(e, *dimensions), access.index}, e->where);
  }

  /// The values of each subscript; nothing where two share an index, or none is a sum of a slot and a reduced index.
  std::optional<std::vector<PaddedDimension>> dimensions_of(const Access& access) const {
    std::vector<PaddedDimension> out;
    std::set<VarId> used;
    bool is_window = false;
    for (const Subscript& s : access.index) {
      if (s.data || !s.affine.is_linear()) return std::nullopt;
      const auto values = values_of_sum(s.affine, scope_);
      if (!values) return std::nullopt;
      out.push_back({values->first, values->second, values->first, values->second});
      bool has_slot = false, has_reduced = false;
      for (const Term& term : s.affine.terms) {
        if (!used.insert(term.var).second) return std::nullopt;
        const auto at = std::find_if(scope_.indices.begin(), scope_.indices.end(),
                                     [&](const IndexRange& r) { return r.var == term.var; });
        (static_cast<size_t>(at - scope_.indices.begin()) < first_reduced_ ? has_slot : has_reduced) = true;
      }
      is_window = is_window || (has_slot && has_reduced);
    }
    return is_window ? std::optional(out) : std::nullopt;
  }

  /// By conditions that bound one subscript each; false for others.
  static bool narrow(std::vector<PaddedDimension>& dimensions, const Access& access, const Guard& guard) {
    for (const Guard& g : conjuncts(guard)) {
      if (g.kind != Guard::Kind::ge0) return false;
      bool found = false;
      for (size_t d = 0; d < dimensions.size() && !found; ++d) {
        const Affine above = g.e - access.index[d].affine, below = g.e + access.index[d].affine;
        PaddedDimension& own = dimensions[d];
        if (!access.index[d].affine.is_constant() && above.is_constant())
          own.inside_lo = std::max(own.inside_lo, -above.constant), found = true;  // f + c >= 0
        else if (!access.index[d].affine.is_constant() && below.is_constant())
          own.inside_hi = std::min(own.inside_hi, below.constant + 1), found = true;  // c - f >= 0
      }
      if (!found) return false;
    }
    return true;
  }

  bool is_read_often(const std::vector<PaddedDimension>& dimensions) const {
    double points = 1, elements = 1;
    for (const IndexRange& range : scope_.indices)
      points *= range.lo.is_constant() && range.hi.is_constant()
                    ? static_cast<double>(range.hi.constant - range.lo.constant)
                    : 1;
    for (const PaddedDimension& d : dimensions) elements *= static_cast<double>(d.hi - d.lo);
    return points >= static_cast<double>(kLeastRepetitions) * elements;
  }

  TensorId declare(const Expr& e, const std::vector<PaddedDimension>& dimensions) {
    Equation made;
    Access access{e->args[0]->access.id, {}};
    std::vector<Guard> conditions;
    for (size_t d = 0; d < dimensions.size(); ++d) {
      const VarId var = program_.index_var(static_cast<uint32_t>(d));
      const PaddedDimension& own = dimensions[d];
      made.slots.push_back({var, Affine::of(own.lo), Affine::of(own.hi), {}});
      made.index_names.push_back("p" + std::to_string(d));
      access.index.push_back({Affine::variable(var), nullptr, {}, {}});
      if (own.inside_lo > own.lo) conditions.push_back(guard_ge0(Affine::variable(var) - Affine::of(own.inside_lo)));
      if (own.inside_hi < own.hi)
        conditions.push_back(guard_ge0(Affine::of(own.inside_hi - 1) - Affine::variable(var)));
    }
    const Expr inside_value = make_read(e->type, std::move(access), e->where);
    auto guarded = std::make_shared<ExprNode>(*e);
    guarded->guard = guard_all(std::move(conditions));
    guarded->args = {inside_value, e->args[1]};
    made.rhs = guarded->guard.is_true() ? inside_value : Expr(guarded);
    made.where_defined = e->where;
    for (const Equation& known : program_.equations)
      if (known.targets.size() == 1 && program_.tensors[known.targets[0]].hidden && equal(known.rhs, made.rhs) &&
          known.where.is_true() && have_equal_slots(known, made))
        return known.targets[0];
    made.targets = {add_hidden(program_, name_ + ".p" + std::to_string(++made_), e->type, dimensions.size())};
    program_.equations.push_back(std::move(made));
    return program_.equations.back().targets[0];
  }

  Program program_;
  ExprScope scope_;
  size_t first_reduced_ = 0, made_ = 0;
  std::string name_;
  std::vector<char> may_read_;
};

}  // namespace

Program with_padded_reads(Program program) {
  return ReadPadder(std::move(program)).run();
}

}  // namespace polyweft::ir
