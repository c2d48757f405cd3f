#include "poly/symbolic_boxes.h"

#include <algorithm>

#include "poly/coalesced.h"

namespace polyweft::poly {

Affine least_of(const Affine& a, const Affine& b) {
  return clamp(a, a, b);
}
Affine greatest_of(const Affine& a, const Affine& b) {
  return -1 * least_of(-1 * a, -1 * b);
}

namespace {

Affine affine_of(const Aff& e);

/// floor(e) for e = sum / denominator.
struct Fraction {
  Affine sum;
  int64_t denominator = 1;
};

Fraction fraction_of(const Aff& e) {
  Fraction out;
  out.denominator = integer(Val(isl_aff_get_denominator_val(e.get())));
  const auto scaled = [&](isl_val* v) {
    return integer(Val(isl_val_mul_ui(v, static_cast<unsigned long>(out.denominator))));
  };
  out.sum = Affine::of(scaled(isl_aff_get_constant_val(e.get())));
  for (int p = 0; p < size(isl_aff_dim(e.get(), isl_dim_param)); ++p)
    out.sum = out.sum +
              Affine::variable(static_cast<VarId>(p), scaled(isl_aff_get_coefficient_val(e.get(), isl_dim_param, p)));
  for (int d = 0; d < size(isl_aff_dim(e.get(), isl_dim_div)); ++d) {
    const int64_t coefficient = scaled(isl_aff_get_coefficient_val(e.get(), isl_dim_div, d));
    if (coefficient != 0) out.sum = out.sum + coefficient * affine_of(Aff(isl_aff_get_div(e.get(), d)));
  }
  return out;
}

/// Of an integer, or rounded down.
Affine affine_of(const Aff& e) {
  const Fraction fraction = fraction_of(e);
  return floor_div(fraction.sum, fraction.denominator);
}

/// The affine expressions that a piecewise one is made of.
std::vector<Affine> pieces_of(const PwAff& e) {
  std::vector<Affine> out;
  const auto add = [](isl_set* where, isl_aff* value, void* user) {
    isl_set_free(where);
    auto& found = *static_cast<std::vector<Affine>*>(user);
    const Affine one = affine_of(Aff(value));
    if (std::find(found.begin(), found.end(), one) == found.end()) found.push_back(one);
    return isl_stat_ok;
  };
  if (isl_pw_aff_foreach_piece(e.get(), add, &out) != isl_stat_ok) throw IslFailure();
  return out;
}

class Boxes {
 public:
  explicit Boxes(const Model& model)
      : model_(model), program_(model.program()), parameters_(isl_set_get_space(model.assumptions().get())) {}

  Result<AffineBox> of(TensorId id) const {
    const Tensor& tensor = program_.tensors[id];
    AffineBox out;
    for (uint32_t d = 0; d < tensor.rank; ++d) {
      out.lo.push_back(Affine::of(0));
      if (tensor.kind == TensorKind::local) {
        const auto [lo, extent] = hull(id, d);
        out.lo.back() = lo;
        out.extent.push_back(extent);
      } else if (tensor.kind == TensorKind::output) {
        auto extent = output_extent(id, d);
        if (!extent) return extent.error();
        out.extent.push_back(*std::move(extent));
      } else {
        out.extent.push_back(greatest({Affine::of(0), tensor.shape[d]}));
      }
    }
    return out;
  }

 private:
  Set where(const Guard& g) const {
    Space space(isl_space_set_from_params(parameters_.copy()));
    return intersect(model_.assumptions(), Set(isl_set_params(model_.where(g, space).take())));
  }
  bool holds(const Affine& e) const {
    return is_empty(where(guard_ge0(Affine::of(-1) - e)));
  }  ///< e >= 0 for all admissible sizes

  /// The greatest of all, without those that another one always reaches.
  Affine greatest(const std::vector<Affine>& all) const {
    std::vector<Affine> kept;
    for (size_t i = 0; i < all.size(); ++i) {
      bool beaten = false;
      for (size_t j = 0; j < all.size() && !beaten; ++j)
        if (i != j && !(all[i] == all[j] && i < j))
          beaten = holds(all[j] - all[i]) && (i > j || !holds(all[i] - all[j]));
      if (!beaten) kept.push_back(all[i]);
    }
    Affine out = kept.front();
    for (size_t k = 1; k < kept.size(); ++k) out = greatest_of(out, kept[k]);
    return out;
  }
  Affine least(std::vector<Affine> all) const {
    for (Affine& e : all) e = -1 * e;
    return -1 * greatest(all);
  }

  PwAff end_of(const Set& elements, uint32_t d, bool highest) const {
    Set copy = elements;
    PwAff out(highest ? isl_set_dim_max(copy.take(), static_cast<int>(d))
                      : isl_set_dim_min(copy.take(), static_cast<int>(d)));
    out = PwAff(isl_pw_aff_gist_params(out.take(), model_.assumptions().take()));
    return coalesced(std::move(out));
  }

  std::pair<Affine, Affine> hull(TensorId id, uint32_t d) const {
    std::vector<Affine> lo, hi;
    for (EquationId q = 0; q < program_.equations.size(); ++q) {
      const auto& targets = program_.equations[q].targets;
      if (std::find(targets.begin(), targets.end(), id) == targets.end()) continue;
      const Set elements = model_.elements(q, id);
      if (is_empty(elements)) continue;
      for (const Affine& e : pieces_of(end_of(elements, d, false))) lo.push_back(e);
      for (const Affine& e : pieces_of(end_of(elements, d, true))) hi.push_back(e + Affine::of(1));
    }
    if (lo.empty()) return {Affine::of(0), Affine::of(0)};
    const Affine first = least(lo);
    return {first, greatest({Affine::of(0), greatest(hi) - first})};
  }

  /// Of the equations' ranges where these are of parameters only, else of what they define.
  Result<Affine> output_extent(TensorId id, uint32_t d) const {
    std::vector<Affine> ends{Affine::of(0)};
    for (EquationId q = 0; q < program_.equations.size(); ++q) {
      const Equation& equation = program_.equations[q];
      if (std::find(equation.targets.begin(), equation.targets.end(), id) == equation.targets.end()) continue;
      if (equation.slots[d].var != kNoVar && is_of_parameters(equation.slots[d].hi)) {
        ends.push_back(equation.slots[d].hi);
        continue;
      }
      const Set elements = model_.elements(q, id);
      if (is_empty(elements)) continue;
      const PwAff end = end_of(elements, d, true);
      const std::vector<Affine> pieces = pieces_of(end);
      if (!is_greatest_of(end, pieces, elements))
        return fail("PW0837",
                    "the extent of " + program_.tensors[id].name + " in dimension " + std::to_string(d) +
                        " is no maximum of affine expressions of the parameters",
                    {"bind the sizes"});
      for (const Affine& e : pieces) ends.push_back(e + Affine::of(1));
    }
    return greatest(ends);
  }
  bool is_of_parameters(const Affine& e) const {
    std::vector<VarId> used;
    collect_variables(e, used);
    return std::all_of(used.begin(), used.end(), [&](VarId v) { return v < program_.parameters.size(); });
  }
  /// Where there are elements `end` is the greatest piece, elsewhere no piece makes the extent positive.
  bool is_greatest_of(const PwAff& end, const std::vector<Affine>& pieces, const Set& elements) const {
    Space space(isl_space_set_from_params(parameters_.copy()));
    PwAff most = model_.value(pieces.front(), space);
    for (size_t k = 1; k < pieces.size(); ++k)
      most = PwAff(isl_pw_aff_max(most.take(), model_.value(pieces[k], space).take()));
    const Set filled(isl_set_params(elements.copy()));
    const Set empty = subtract(model_.assumptions(), filled);
    for (const Affine& e : pieces)
      if (!is_empty(intersect(empty, where(guard_ge0(e))))) return false;
    Set differ(
        isl_set_params(isl_pw_aff_ne_set(PwAff(isl_pw_aff_project_domain_on_params(most.take())).take(), end.copy())));
    return is_empty(intersect(intersect(std::move(differ), filled), model_.assumptions()));
  }

  const Model& model_;
  const Program& program_;
  Space parameters_;
};

}  // namespace

Result<std::vector<AffineBox>> symbolic_boxes(const Model& model) {
  const Boxes boxes(model);
  std::vector<AffineBox> out;
  for (TensorId id = 0; id < model.program().tensors.size(); ++id) {
    auto one = boxes.of(id);
    if (!one) return one.error();
    out.push_back(*std::move(one));
  }
  return out;
}

}  // namespace polyweft::poly
