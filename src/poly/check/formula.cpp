#include "poly/check/formula.h"

namespace polyweft::poly::checker {
namespace {

PwAff quasi_value(const Quasi& q, const Space& space) {
  PwAff inner = value_of(q.e, space);
  isl_ctx* ctx = isl_space_get_ctx(space.get());
  if (q.kind == Quasi::Kind::floor_div) {
    isl_val* divisor = isl_val_int_from_si(ctx, q.den);
    return PwAff(isl_pw_aff_floor(isl_pw_aff_scale_down_val(inner.take(), divisor)));
  }
  PwAff raised(isl_pw_aff_max(inner.take(), value_of(q.lo, space).take()));
  return PwAff(isl_pw_aff_min(raised.take(), value_of(q.hi, space).take()));
}

Aff linear_part(const Affine& e, const Space& space) {
  isl_ctx* ctx = isl_space_get_ctx(space.get());
  Aff out(isl_aff_zero_on_domain(isl_local_space_from_space(space.copy())));
  for (const Term& t : e.terms)
    if (!t.quasi)
      out = Aff(isl_aff_set_coefficient_val(out.take(), isl_dim_in, static_cast<int>(t.var),
                                            isl_val_int_from_si(ctx, t.coeff)));
  return Aff(isl_aff_set_constant_val(out.take(), isl_val_int_from_si(ctx, e.constant)));
}

Set condition(const Guard& g, const Space& space, bool positive) {
  if (g.kind == Guard::Kind::negation) return condition(g.of[0], space, !positive);
  if (g.kind == Guard::Kind::ge0) {
    Affine e = positive ? g.e : Affine::of(-1) - g.e;
    return Set(isl_pw_aff_nonneg_set(value_of(e, space).take()));
  }
  if (g.kind == Guard::Kind::eq0 && positive) return Set(isl_pw_aff_zero_set(value_of(g.e, space).take()));
  if (g.kind == Guard::Kind::eq0) return differs(g.e, space);
  bool conjunction = (g.kind == Guard::Kind::all) == positive;
  Set out(conjunction ? isl_set_universe(space.copy()) : isl_set_empty(space.copy()));
  for (const Guard& part : g.of) {
    Set next = condition(part, space, positive);
    out = conjunction ? intersect(std::move(out), std::move(next)) : unite(std::move(out), std::move(next));
  }
  return out;
}

Map functions(const Space& domain, const std::vector<Coordinate>& coordinates, const Space& target) {
  isl_space* space = isl_space_map_from_domain_and_range(domain.copy(), target.copy());
  isl_multi_pw_aff* all = isl_multi_pw_aff_zero(space);
  for (size_t d = 0; d < coordinates.size(); ++d)
    all = isl_multi_pw_aff_set_pw_aff(all, static_cast<int>(d), value_of(coordinates[d].first, domain).take());
  return Map(isl_map_from_multi_pw_aff(all));
}

/// { x -> y : y_d <= e(x) } or >=.
Map half_line(const Space& domain, const Affine& e, size_t d, const Space& target, bool below) {
  Map exact(isl_map_from_pw_aff(value_of(e, domain).take()));
  isl_space* line = isl_space_range(isl_map_get_space(exact.get()));
  Map order(below ? isl_map_lex_ge(line) : isl_map_lex_le(line));
  Map out = compose(std::move(exact), std::move(order));
  auto after = static_cast<unsigned>(size(isl_space_dim(target.get(), isl_dim_set))) - static_cast<unsigned>(d) - 1;
  out = Map(isl_map_insert_dims(out.take(), isl_dim_out, 0, static_cast<unsigned>(d)));
  out = Map(isl_map_add_dims(out.take(), isl_dim_out, after));
  return Map(isl_map_set_tuple_id(out.take(), isl_dim_out, isl_space_get_tuple_id(target.get(), isl_dim_set)));
}

}  // namespace

std::optional<Aff> single_value_of(const Affine& e, const Space& space) {
  Aff out = linear_part(e, space);
  isl_ctx* ctx = isl_space_get_ctx(space.get());
  for (const Term& t : e.terms) {
    if (!t.quasi) continue;
    if (t.quasi->kind != Quasi::Kind::floor_div) return std::nullopt;
    std::optional<Aff> inner = single_value_of(t.quasi->e, space);
    if (!inner) return inner;
    Aff quotient(isl_aff_floor(isl_aff_scale_down_val(inner->take(), isl_val_int_from_si(ctx, t.quasi->den))));
    out = Aff(isl_aff_add(out.take(), isl_aff_scale_val(quotient.take(), isl_val_int_from_si(ctx, t.coeff))));
  }
  return out;
}

PwAff value_of(const Affine& e, const Space& space) {
  if (auto single = single_value_of(e, space)) return PwAff(isl_pw_aff_from_aff(single->take()));
  PwAff out(isl_pw_aff_from_aff(linear_part(e, space).take()));
  for (const Term& t : e.terms) {
    if (!t.quasi) continue;
    isl_val* factor = isl_val_int_from_si(isl_space_get_ctx(space.get()), t.coeff);
    PwAff part(isl_pw_aff_scale_val(quasi_value(*t.quasi, space).take(), factor));
    out = PwAff(isl_pw_aff_add(out.take(), part.take()));
  }
  return out;
}

Set holds(const Guard& g, const Space& space) {
  return condition(g, space, true);
}

Set differs(const Affine& e, const Space& space) {
  return Set(isl_pw_aff_non_zero_set(value_of(e, space).take()));
}

Map map_of(const Space& domain, const std::vector<Coordinate>& coordinates, const std::string& name) {
  isl_ctx* ctx = isl_space_get_ctx(domain.get());
  isl_space* plain = isl_space_set_alloc(ctx, 0, static_cast<unsigned>(coordinates.size()));
  Space target(isl_space_set_tuple_name(plain, isl_dim_set, name.c_str()));
  bool has_interval = false;
  for (const Coordinate& c : coordinates) has_interval |= c.is_interval;
  if (!has_interval) return functions(domain, coordinates, target);
  Map out(isl_map_from_domain_and_range(isl_set_universe(domain.copy()), isl_set_universe(target.copy())));
  for (size_t d = 0; d < coordinates.size(); ++d) {
    out = intersect(std::move(out), half_line(domain, coordinates[d].first, d, target, false));
    out = intersect(
        std::move(out),
        half_line(domain, coordinates[d].is_interval ? coordinates[d].last : coordinates[d].first, d, target, true));
  }
  return out;
}

Map map_of(const Space& domain, const std::vector<Affine>& coordinates, const std::string& target) {
  std::vector<Coordinate> exact;
  for (const Affine& e : coordinates) exact.push_back({e, {}, false});
  return map_of(domain, exact, target);
}

Space named_space(Context& context, const std::string& name, size_t dimensions) {
  isl_space* space = isl_space_set_alloc(context.get(), 0, static_cast<unsigned>(dimensions));
  return Space(isl_space_set_tuple_name(space, isl_dim_set, name.c_str()));
}

}  // namespace polyweft::poly::checker
