#include "poly/pieces.h"

#include <algorithm>

#include "poly/coalesced.h"

namespace polyweft::poly {
namespace {

constexpr size_t kMostPieces = 64;

bool is_conjunction(const Guard& guard) {
  if (guard.kind == Guard::Kind::any || guard.kind == Guard::Kind::negation) return false;
  return std::all_of(guard.of.begin(), guard.of.end(), is_conjunction);
}

Val scaled(Val value, const Val& by) {
  return Val(isl_val_mul(value.take(), by.copy()));
}

/// An isl expression times its denominator, over the indices from `first` on.
Affine affine_of_piece(isl_aff* aff, VarId first) {
  Val den(isl_aff_get_denominator_val(aff));
  Affine out = Affine::of(integer(scaled(Val(isl_aff_get_constant_val(aff)), den)));
  for (int d = 0; d < size(isl_aff_dim(aff, isl_dim_in)); ++d)
    if (int64_t c = integer(scaled(Val(isl_aff_get_coefficient_val(aff, isl_dim_in, d)), den)); c != 0)
      out = out + Affine::variable(first + static_cast<VarId>(d), c);
  for (int d = 0; d < size(isl_aff_dim(aff, isl_dim_div)); ++d) {
    const int64_t c = integer(scaled(Val(isl_aff_get_coefficient_val(aff, isl_dim_div, d)), den));
    if (c == 0) continue;
    Aff div(isl_aff_get_div(aff, d));
    out = out + c * floor_div(affine_of_piece(div.get(), first), integer(Val(isl_aff_get_denominator_val(div.get()))));
  }
  return out;
}

struct FoundPiece {
  VarId first = 0;
  std::vector<std::vector<Guard>> pieces;
};

isl_stat add_condition(isl_constraint* c, void* user) {
  FoundPiece& found = *static_cast<FoundPiece*>(user);
  isl_aff* aff = isl_constraint_get_aff(c);
  const isl_bool is_equality = isl_constraint_is_equality(c);
  isl_constraint_free(c);
  if (!aff || is_equality == isl_bool_error) return isl_stat_error;
  try {
    const Aff owned(aff);
    Affine e = affine_of_piece(aff, found.first);
    found.pieces.back().push_back(is_equality == isl_bool_true ? guard_eq0(std::move(e)) : guard_ge0(std::move(e)));
  } catch (const IslFailure&) {
    return isl_stat_error;
  }
  return isl_stat_ok;
}

isl_stat add_piece(isl_basic_set* piece, void* user) {
  FoundPiece& found = *static_cast<FoundPiece*>(user);
  found.pieces.emplace_back();
  const isl_stat done =
      found.pieces.size() > kMostPieces ? isl_stat_error : isl_basic_set_foreach_constraint(piece, add_condition, user);
  isl_basic_set_free(piece);
  return done;
}

/// `set` in disjoint basic sets, without the conditions that `ranges` has already.
std::vector<std::vector<Guard>> disjoint_pieces(const Program& program, const Set& set, const Set& ranges) {
  isl_set* pieces = isl_set_compute_divs(isl_set_make_disjoint(coalesced(set).take()));
  Handle<isl_set> lean(isl_set_gist(pieces, ranges.copy()));
  FoundPiece found{program.index_var(0), {}};
  if (isl_set_foreach_basic_set(lean.get(), add_piece, &found) != isl_stat_ok) throw IslFailure();
  return found.pieces;
}

Set without_conditions(const Model& model, EquationId q, Place place) {
  place.conditions.clear();
  return model.instances(q, place);
}

}  // namespace

std::vector<std::vector<Guard>> conjunctive_pieces(const Model& model, EquationId q) {
  const Equation& equation = model.program().equations[q];
  const bool folds_differ = equation.rhs->op == Op::reduce && !is_conjunction(equation.rhs->reduction.where);
  if (!folds_differ && is_conjunction(equation.where)) return {{}};
  Place place = place_of(equation);
  // An element without folds has its first value in a piece of elements; pieces of folds would leave it out.
  if (folds_differ) place = inside(std::move(place), equation.rhs->reduction);
  return disjoint_pieces(model.program(), folds_differ ? model.all_instances(q) : model.instances(q),
                         without_conditions(model, q, std::move(place)));
}

}  // namespace polyweft::poly
