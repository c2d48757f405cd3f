// Storage shared modulo windows: which elements share a cell, who must be done before a cell is taken, and what lies
// outside the band.
#include <algorithm>

#include "poly/band_points.h"
#include "poly/coalesced.h"
#include "poly/witness.h"

namespace polyweft::poly {
namespace {

std::vector<TensorId> folded_tensors(const BandQuestion& question) {
  std::vector<TensorId> out;
  for (const BandFold& fold : question.folds)
    if (std::find(out.begin(), out.end(), fold.tensor) == out.end()) out.push_back(fold.tensor);
  return out;
}

/// coordinate(e') - coordinate(e) = 0, a constraint on { e -> e' } still without further terms. A constant of the
/// coordinate is in both and goes.
isl_constraint* difference(isl_local_space* local, const Affine& coordinate) {
  isl_constraint* out = isl_constraint_alloc_equality(isl_local_space_copy(local));
  for (const Term& term : coordinate.terms) {
    const int d = static_cast<int>(term.var - kCellVar);
    isl_ctx* context = isl_local_space_get_ctx(local);
    out = isl_constraint_set_coefficient_val(out, isl_dim_out, d, isl_val_int_from_si(context, term.coeff));
    out = isl_constraint_set_coefficient_val(out, isl_dim_in, d, isl_val_int_from_si(context, -term.coeff));
  }
  return out;
}

/// { e -> e' } of the map where both have the same coordinate.
isl_map* equated(isl_map* map, const Affine& coordinate) {
  isl_local_space* local = isl_local_space_from_space(isl_map_get_space(map));
  map = isl_map_add_constraint(map, difference(local, coordinate));
  isl_local_space_free(local);
  return map;
}

/// { e -> e' : coordinate(e') = coordinate(e) + n * window }, n > 0 in the fold's direction where `later`, else any n.
isl_map* moved(isl_map* map, const BandFold& fold, const Affine& coordinate, bool later) {
  map = isl_map_add_dims(map, isl_dim_out, 1);  // n, which is projected out again
  const int n = static_cast<int>(isl_map_dim(map, isl_dim_out)) - 1;
  isl_local_space* local = isl_local_space_from_space(isl_map_get_space(map));
  isl_constraint* shift = difference(local, coordinate);
  shift = isl_constraint_set_coefficient_val(
      shift, isl_dim_out, n, isl_val_int_from_si(isl_map_get_ctx(map), fold.forward ? -fold.window : fold.window));
  map = isl_map_add_constraint(map, shift);
  if (later) {
    isl_constraint* positive = isl_constraint_alloc_inequality(isl_local_space_copy(local));
    positive = isl_constraint_set_coefficient_si(positive, isl_dim_out, n, 1);
    map = isl_map_add_constraint(map, isl_constraint_set_constant_si(positive, -1));
  }
  isl_local_space_free(local);
  return isl_map_project_out(map, isl_dim_out, static_cast<unsigned>(n), 1);
}

/// What the folds of a tensor count along: the coordinates of its cells, or those of its elements.
std::vector<Affine> cell_coordinates(const std::vector<BandFold>& folds, uint32_t rank) {
  if (!folds.empty() && !folds.front().cell.empty()) return folds.front().cell;
  std::vector<Affine> out;
  for (uint32_t d = 0; d < rank; ++d) out.push_back(Affine::variable(kCellVar + d));
  return out;
}

/// { e -> e' } where e' takes the cell of e later.
Map later_occupants(const BandModel& band, TensorId tensor) {
  Space space = band.model().tensor_space(tensor);
  std::vector<BandFold> folds;
  for (const BandFold& fold : band.question().folds)
    if (fold.tensor == tensor) folds.push_back(fold);
  const std::vector<Affine> cell = cell_coordinates(folds, band.program().tensors[tensor].rank);
  auto is_folded = [&](uint32_t d) {
    return std::any_of(folds.begin(), folds.end(), [&](const BandFold& fold) { return fold.dim == d; });
  };
  Map out(isl_map_empty(isl_space_map_from_set(space.copy())));
  for (size_t leading = 0; leading < folds.size(); ++leading) {
    isl_map* map = isl_map_universe(isl_space_map_from_set(isl_space_reset_tuple_id(space.copy(), isl_dim_set)));
    for (uint32_t d = 0; d < cell.size(); ++d)
      if (!is_folded(d)) map = equated(map, cell[d]);
    for (size_t k = 0; k < leading; ++k) map = equated(map, cell[folds[k].dim]);
    for (size_t k = leading; k < folds.size(); ++k) map = moved(map, folds[k], cell[folds[k].dim], k == leading);
    isl_id* id = isl_space_get_tuple_id(space.get(), isl_dim_set);
    map = isl_map_set_tuple_id(map, isl_dim_in, isl_id_copy(id));
    out = unite(std::move(out), Map(isl_map_set_tuple_id(map, isl_dim_out, id)));
  }
  return out;
}

/// An instance reads all it needs before it writes.
Map without_itself(const BandModel& band, const Points& source, const Points& sink, Map map) {
  if (source.statement != sink.statement || band.program().equations[source.equation].rhs->op == Op::reduce) return map;
  Map itself(isl_map_identity(isl_map_get_space(map.get())));
  return is_empty(intersect(map, itself)) ? map : Map(isl_map_subtract(map.take(), itself.take()));
}

/// Equations that `from` need, directly or not; `from` themselves only where they need each other.
std::vector<bool> needed_by(const std::vector<std::vector<EquationId>>& sources, const std::vector<bool>& from) {
  const size_t n = sources.size();
  std::vector<bool> needed(n, false);
  std::vector<EquationId> todo;
  auto add_needs = [&](EquationId q) {
    for (EquationId r : sources[q]) {
      if (needed[r]) continue;
      needed[r] = true;
      todo.push_back(r);
    }
  };
  for (EquationId q = 0; q < n; ++q)
    if (from[q]) add_needs(q);
  while (!todo.empty()) {
    EquationId q = todo.back();
    todo.pop_back();
    add_needs(q);
  }
  return needed;
}

/// Elements of a folded tensor by who makes and who reads them.
struct Shares {
  Set in_band, before, after;     ///< made
  Set needed_inside, read_later;  ///< read by the band; read when it is done
};

Shares shares_of(const BandModel& band, TensorId tensor) {
  const Program& program = band.program();
  const Model& model = band.model();
  Set none(isl_set_empty(model.tensor_space(tensor).take()));
  Shares out{none, none, none, none, none};
  std::vector<bool> is_inside(program.equations.size(), false);
  for (const Mapped& statement : band.question().statements) is_inside[statement.equation] = true;
  for (const Points& at : band.points()) {
    if (auto writes = band.writes(at, tensor))
      out.in_band = unite(std::move(out.in_band), range_of(*std::move(writes)));
    for (const auto& [access, reads] : band.reads(at, tensor))
      out.needed_inside = unite(std::move(out.needed_inside), range_of(reads));
  }
  const auto& sources = model.sources();
  const std::vector<bool> needed = needed_by(sources, is_inside);
  for (EquationId q = 0; q < program.equations.size(); ++q) {
    std::vector<bool> only(program.equations.size(), false);
    only[q] = true;
    const std::vector<bool> needs = needed_by(sources, only);
    bool needs_band = false;
    for (EquationId r = 0; r < needs.size(); ++r) needs_band |= needs[r] && is_inside[r];
    const bool is_later = !is_inside[q] && !needed[q];
    const auto& targets = program.equations[q].targets;
    if (std::find(targets.begin(), targets.end(), tensor) != targets.end()) {
      Set& made = is_later && needs_band ? out.after : out.before;
      made = unite(std::move(made), subtract(model.elements(q, tensor), out.in_band));
    }
    if (is_later)
      for (const PlacedRead& read : placed_reads(program.equations[q]))
        if (read.node->access.id == tensor)
          out.read_later = unite(std::move(out.read_later), range_of(model.read_map(q, read)));
  }
  if (program.tensors[tensor].kind == TensorKind::output) out.read_later = model.defined(tensor);
  return out;
}

std::optional<Error> conflict(const BandModel& band, TensorId tensor, Map pairs, const std::string& what) {
  if (is_empty(pairs)) return std::nullopt;
  auto found = witness(band.model(), pairs, kQuota);
  if (!found) throw IslFailure();
  const std::string& name = band.program().tensors[tensor].name;
  auto middle = found->point.begin() + static_cast<int64_t>(found->point.size() / 2);
  return fail("PW0323",
              name + ": " + element_text(name, middle, found->point.end()) + " would take the cell of " +
                  element_text(name, found->point.begin(), middle) + ", which " + what,
              {"take a larger window, or bring the other equations of " + name + " into the band"});
}

std::optional<Error> conflict_of(const BandModel& band, TensorId tensor) {
  const Shares is = shares_of(band, tensor);
  const Map later = later_occupants(band, tensor), any = unite(later, reverse(later));
  auto pairs = [](const Map& cells, const Set& lost, const Set& taker) {
    return restrict_range(restrict_domain(cells, lost), taker);
  };
  const Set needed = unite(is.needed_inside, is.read_later);
  // An element made before the band takes its cell before anything of the band: in the order of cells it must be the
  // first.
  if (auto e = conflict(band, tensor, pairs(any, intersect(is.before, needed), is.before),
                        "is made before the band as well and needed later"))
    return e;
  if (auto e = conflict(band, tensor, pairs(reverse(later), intersect(is.before, needed), is.in_band),
                        "is made before the band and needed later"))
    return e;
  if (auto e = conflict(band, tensor, pairs(later, intersect(unite(is.before, is.in_band), is.read_later), is.in_band),
                        "is read after the band"))
    return e;
  return conflict(band, tensor, pairs(any, is.read_later, is.after), "is read after the band");
}

}  // namespace

void add_fold_pairs(const BandModel& band, std::vector<Pairs>& out) {
  for (TensorId tensor : folded_tensors(band.question())) {
    const Map later = later_occupants(band, tensor);
    for (const Points& sink : band.points()) {
      auto takes = band.writes(sink, tensor);
      if (!takes) continue;
      const Map taken = compose(later, reverse(*std::move(takes)));
      if (is_empty(taken)) continue;
      for (const Points& source : band.points()) {
        std::vector<std::pair<int, Map>> touches = band.reads(source, tensor);
        if (auto writes = band.writes(source, tensor)) touches.emplace_back(kDefinition, *std::move(writes));
        for (const auto& [access, elements] : touches) {
          Map map = without_itself(band, source, sink, compose(elements, taken));
          if (!is_empty(map))
            out.push_back({Relation::Kind::anti, tensor, &source, &sink, access, coalesced(std::move(map))});
        }
      }
    }
  }
}

std::optional<Error> fold_conflict(const BandModel& band) {
  for (TensorId tensor : folded_tensors(band.question()))
    if (auto error = conflict_of(band, tensor)) return error;
  return std::nullopt;
}

}  // namespace polyweft::poly
