#include "poly/timeline.h"

#include <algorithm>

#include "ir/values/slots.h"
#include "poly/coalesced.h"

namespace polyweft::poly {
namespace {

unsigned out_dims(const Map& map) {
  return static_cast<unsigned>(size(isl_map_dim(map.get(), isl_dim_out)));
}

Map with_constant(Map map, int64_t value, unsigned at) {
  isl_map* out = isl_map_insert_dims(map.take(), isl_dim_out, at, 1);
  return Map(isl_map_fix_val(out, isl_dim_out, at, isl_val_int_from_si(isl_map_get_ctx(out), value)));
}

Map with_index(Map map, unsigned index) {
  unsigned at = out_dims(map);
  isl_map* out = isl_map_add_dims(map.take(), isl_dim_out, 1);
  return Map(isl_map_equate(out, isl_dim_in, static_cast<int>(index), isl_dim_out, static_cast<int>(at)));
}

/// { S_q[i] -> [i_0 ..] } over the first `count` indices.
Map own_indices(const Model& model, EquationId q, unsigned count) {
  Space space = model.statement_space(q);
  isl_map* map = isl_map_identity(isl_space_map_from_set(space.copy()));
  map = isl_map_reset_tuple_id(map, isl_dim_out);
  unsigned all = static_cast<unsigned>(isl_space_dim(space.get(), isl_dim_set));
  return Map(isl_map_project_out(map, isl_dim_out, count, all - count));
}

Map element_times(const Model& model, const Statement& statement, const Map& times) {
  const Equation& equation = model.program().equations[statement.equation];
  Map element = model.element_map(statement.equation, equation.targets.front());
  element = Map(isl_map_set_tuple_name(element.take(), isl_dim_out, statement.name.c_str()));
  return compose(restrict_range(std::move(element), statement.elements), times);
}

/// Instances of the piece, where the statement is one.
Map within_piece(const Model& model, const Statement& statement, Map times) {
  if (statement.name.find('/') == std::string::npos) return times;
  Map element = model.element_map(statement.equation, model.program().equations[statement.equation].targets.front());
  element = Map(isl_map_set_tuple_name(element.take(), isl_dim_out, statement.name.c_str()));
  return restrict_domain(std::move(times), apply(statement.elements, reverse(std::move(element))));
}

Timed timed(const Model& model, const Ordered& part, uint32_t number, size_t k) {
  EquationId q = part.statements[k].equation;
  const Equation& equation = model.program().equations[q];
  unsigned own = ir::bound_indices(equation);
  Map order = part.recursive ? element_times(model, part.statements[k], part.times[k]) : own_indices(model, q, own);
  order = within_piece(model, part.statements[k], std::move(order));
  unsigned length = out_dims(order);
  Map start = with_constant(restrict_domain(order, model.instances(q)), 0, length);
  std::optional<Map> folds;
  if (equation.rhs->op == Op::reduce) {
    Map fold = with_constant(restrict_domain(order, model.all_instances(q)), 1, length);
    for (unsigned i = own; i < equation.index_names.size(); ++i) fold = with_index(std::move(fold), i);
    folds = with_constant(std::move(fold), number, 0);
  }
  return {q, number, part.recursive, with_constant(std::move(start), number, 0), std::move(folds)};
}

}  // namespace

std::vector<Timed> timeline(const Model& model, const std::vector<Ordered>& order) {
  std::vector<Timed> out;
  unsigned dims = 0;
  for (uint32_t part = 0; part < order.size(); ++part)
    for (size_t k = 0; k < order[part].statements.size(); ++k) {
      out.push_back(timed(model, order[part], part, k));
      dims = std::max(dims, std::max(out_dims(out.back().start), out.back().folds ? out_dims(*out.back().folds) : 0));
    }
  for (Timed& each : out) {
    each.start = padded(std::move(each.start), dims);
    if (each.folds) each.folds = padded(*std::move(each.folds), dims);
  }
  return out;
}

namespace {

/// { element -> time } of one statement, or of several.
struct Accesses {
  Map writes, reads;
  bool is_of_several = false;
};

Accesses accesses(const Model& model, const Timed& each, TensorId tensor, const Map& none) {
  Accesses out{none, none, false};
  const Equation& equation = model.program().equations[each.equation];
  if (std::find(equation.targets.begin(), equation.targets.end(), tensor) != equation.targets.end()) {
    Map element = reverse(model.element_map(each.equation, tensor));
    out.writes = compose(element, each.start);
    if (each.folds) out.reads = compose(element, *each.folds);
  }
  for (const PlacedRead& read : placed_reads(equation))
    if (read.node->access.id == tensor)
      out.reads = unite(std::move(out.reads),
                        compose(reverse(model.read_map(each.equation, read)), each.folds ? *each.folds : each.start));
  return out;
}

/// Pairs of elements, the first touched by one statement when another writes the second: nothing says which of the two
/// comes first.
Map at_once(const std::vector<Accesses>& all, Map Accesses::*touches) {
  std::optional<Map> out;
  for (const Accesses& one : all)
    for (const Accesses& other : all) {
      if (&one == &other) continue;
      Map pairs = compose(one.*touches, reverse(other.writes));
      out = out ? unite(*std::move(out), std::move(pairs)) : std::move(pairs);
    }
  return *std::move(out);
}

}  // namespace

namespace {

/// kUnfolded where it grows with the sizes.
int64_t window_along(const Set& apart, uint32_t d) {
  Val most(isl_set_max_val(apart.get(), dimension(apart, d).get())),
      fewest(isl_set_min_val(apart.get(), dimension(apart, d).get()));
  if (yes(isl_val_is_infty(most.get())) || yes(isl_val_is_neginfty(fewest.get()))) return kUnfolded;
  return 1 + std::max(integer(std::move(most)), -integer(std::move(fewest)));
}

Map hull_without_divisions(Map map) {
  return Map(isl_map_remove_divs(isl_map_from_basic_map(isl_map_simple_hull(map.take()))));
}

/// What touches the tensor: each statement by itself, or the hulls of those of one part of the order, whose times are
/// alike.
std::vector<Accesses> all_accesses(const Model& model, const std::vector<Timed>& times, TensorId tensor,
                                   const Map& none, Pieces pieces) {
  std::vector<Accesses> out;
  std::optional<uint32_t> part;
  for (const Timed& each : times) {
    Accesses one = accesses(model, each, tensor, none);
    if (is_empty(one.writes) && is_empty(one.reads)) continue;
    if (pieces == Pieces::exact || part != each.part) {
      out.push_back(std::move(one));
    } else {
      Accesses& same = out.back();
      same = {unite(same.writes, std::move(one.writes)), unite(same.reads, std::move(one.reads)), true};
    }
    part = each.part;
  }
  if (pieces == Pieces::hulls)
    for (Accesses& one : out)
      one = {hull_without_divisions(one.writes), hull_without_divisions(one.reads), one.is_of_several};
  return out;
}

/// Elements x and y, x written before y and still read when y is written, as y - x.
Set distances_while_alive(const Space& time, const std::vector<Accesses>& all, const Map& none, Pieces pieces) {
  Map writes = none, reads = none;
  for (const Accesses& one : all) {
    writes = unite(std::move(writes), one.writes);
    reads = unite(std::move(reads), one.reads);
  }
  if (pieces == Pieces::exact) {
    writes = coalesced(std::move(writes));
    reads = coalesced(std::move(reads));
  }
  // Of statements taken together nothing says which of two at one time comes first.
  const bool or_same = std::ranges::any_of(all, &Accesses::is_of_several);
  const Map before(or_same ? isl_map_lex_le(time.copy()) : isl_map_lex_lt(time.copy()));
  Map later = compose(compose(writes, before), reverse(writes));
  Map alive = compose(compose(reads, reverse(before)), reverse(writes));
  if (all.size() > 1 && pieces == Pieces::exact) {
    later = unite(std::move(later), at_once(all, &Accesses::writes));
    alive = unite(std::move(alive), at_once(all, &Accesses::reads));
  }
  Set apart(isl_map_deltas(intersect(std::move(later), std::move(alive)).take()));
  return pieces == Pieces::exact ? coalesced(std::move(apart)) : apart;
}

std::vector<int64_t> windows_of(const Model& model, const std::vector<Timed>& times, TensorId tensor,
                                const std::vector<int64_t>& most, Pieces pieces) {
  Space space = model.tensor_space(tensor);
  Space time(isl_space_range(isl_map_get_space(times.front().start.get())));
  const Map none(isl_map_empty(isl_space_map_from_domain_and_range(space.copy(), time.copy())));
  Set apart = distances_while_alive(time, all_accesses(model, times, tensor, none, pieces), none, pieces);
  std::vector<int64_t> windows;
  for (uint32_t d = 0; d < most.size(); ++d) {
    const int64_t window = is_empty(apart) ? 1 : window_along(apart, d);
    windows.push_back(std::min(window, std::max<int64_t>(1, most[d])));
    apart = Set(isl_set_fix_si(apart.take(), isl_dim_set, d, 0));
  }
  return windows;
}

}  // namespace

std::optional<std::vector<int64_t>> fold_windows(const Model& model, const std::vector<Timed>& times, TensorId tensor,
                                                 const std::vector<int64_t>& most, Pieces pieces) {
  const auto windows = [&](Pieces of) {
    return attempt(model.context(), 10 * kQuota, [&] { return windows_of(model, times, tensor, most, of); });
  };
  auto exact = pieces == Pieces::exact ? windows(Pieces::exact) : std::nullopt;
  return exact ? std::move(exact) : windows(Pieces::hulls);
}

}  // namespace polyweft::poly
