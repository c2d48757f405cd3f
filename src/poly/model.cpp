#include "poly/model.h"

#include <algorithm>

#include "ir/values/slots.h"
#include "poly/coalesced.h"

namespace polyweft::poly {
namespace {

void collect(const Expr& e, const Place& place, std::vector<PlacedRead>& reads,
             std::vector<PlacedReduction>& reductions) {
  if (!e) return;
  if (e->op == Op::read) {
    reads.push_back({e.get(), place, static_cast<uint32_t>(reads.size())});
    for (const Subscript& s : e->access.index) collect(s.data, place, reads, reductions);
  } else if (e->op == Op::guarded) {
    Place then = place, otherwise = place;
    then.conditions.push_back(e->guard);
    otherwise.conditions.push_back(guard_not(e->guard));
    collect(e->args[0], then, reads, reductions);
    collect(e->args[1], otherwise, reads, reductions);
  } else if (e->op == Op::reduce) {
    reductions.push_back({e.get(), place});
    for (const Expr& arg : e->args) collect(arg, inside(place, e->reduction), reads, reductions);
  } else {
    for (const Expr& arg : e->args) collect(arg, place, reads, reductions);
  }
}

/// A quota may end `make`, which leaves nothing.
template <class Key, class T, class F>
const T& kept(std::map<Key, T>& all, const Key& key, const F& make) {
  const auto known = all.find(key);
  return known != all.end() ? known->second : all.emplace(key, make()).first->second;
}

}  // namespace

Place place_of(const Equation& equation) {
  Place place;
  for (const Slot& slot : equation.slots)
    if (slot.var != kNoVar) place.indices.push_back({slot.var, slot.lo, slot.hi});
  place.conditions.push_back(equation.where);
  return place;
}

Place inside(Place place, const Reduction& reduction) {
  place.indices.insert(place.indices.end(), reduction.ranges.begin(), reduction.ranges.end());
  place.conditions.push_back(reduction.where);
  return place;
}

std::vector<PlacedRead> placed_reads(const Equation& equation) {
  std::vector<PlacedRead> reads;
  std::vector<PlacedReduction> reductions;
  collect(equation.rhs, place_of(equation), reads, reductions);
  return reads;
}

std::vector<PlacedReduction> placed_reductions(const Equation& equation) {
  std::vector<PlacedRead> reads;
  std::vector<PlacedReduction> reductions;
  collect(equation.rhs, place_of(equation), reads, reductions);
  return reductions;
}

std::string statement_name(const Program& program, EquationId equation) {
  TensorId target = program.equations[equation].targets.front();
  int number = 1;
  for (EquationId q = 0; q < equation; ++q) number += program.equations[q].targets.front() == target;
  std::string name = program.tensors[target].name;
  return number == 1 ? name : name + "@" + std::to_string(number);
}

Model::Model(Context& context, const Program& program, Sizes sizes)
    : context_(context), program_(program), sizes_(sizes) {}

Space Model::statement_space(EquationId q) const {
  unsigned parameters = sizes_ == Sizes::symbolic ? static_cast<unsigned>(program_.parameters.size()) : 0;
  const auto& names = program_.equations[q].index_names;
  isl_space* space = isl_space_set_alloc(context_.get(), parameters, static_cast<unsigned>(names.size()));
  for (unsigned p = 0; p < parameters; ++p)
    space = isl_space_set_dim_name(space, isl_dim_param, p, program_.parameters[p].name.c_str());
  return Space(isl_space_set_tuple_name(space, isl_dim_set, statement_name(program_, q).c_str()));
}

Space Model::tensor_space(TensorId tensor) const {
  unsigned parameters = sizes_ == Sizes::symbolic ? static_cast<unsigned>(program_.parameters.size()) : 0;
  isl_space* space = isl_space_set_alloc(context_.get(), parameters, program_.tensors[tensor].rank);
  for (unsigned p = 0; p < parameters; ++p)
    space = isl_space_set_dim_name(space, isl_dim_param, p, program_.parameters[p].name.c_str());
  return Space(isl_space_set_tuple_name(space, isl_dim_set, program_.tensors[tensor].name.c_str()));
}

Aff Model::variable(VarId var, const Space& space) const {
  isl_local_space* local = isl_local_space_from_space(space.copy());
  size_t parameters = program_.parameters.size();
  if (var >= parameters) return Aff(isl_aff_var_on_domain(local, isl_dim_set, static_cast<unsigned>(var - parameters)));
  if (sizes_ == Sizes::symbolic) return Aff(isl_aff_var_on_domain(local, isl_dim_param, var));
  return Aff(isl_aff_val_on_domain(local, isl_val_int_from_si(context_.get(), program_.parameters[var].value)));
}

PwAff Model::value(const Affine& e, const Space& space) const {
  isl_val* constant = isl_val_int_from_si(context_.get(), e.constant);
  Aff linear(isl_aff_val_on_domain(isl_local_space_from_space(space.copy()), constant));
  std::vector<std::pair<const Quasi*, int64_t>> rest;
  for (const Term& term : e.terms) {
    if (term.quasi) {
      rest.emplace_back(term.quasi.get(), term.coeff);
      continue;
    }
    isl_val* coeff = isl_val_int_from_si(context_.get(), term.coeff);
    linear = Aff(isl_aff_add(linear.take(), isl_aff_scale_val(variable(term.var, space).take(), coeff)));
  }
  PwAff out(isl_pw_aff_from_aff(linear.take()));
  for (const auto& [q, coeff] : rest) {
    isl_val* factor = isl_val_int_from_si(context_.get(), coeff);
    out = PwAff(isl_pw_aff_add(out.take(), isl_pw_aff_scale_val(quasi(*q, space).take(), factor)));
  }
  return out;
}

PwAff Model::quasi(const Quasi& q, const Space& space) const {
  PwAff inner = value(q.e, space);
  if (q.kind == Quasi::Kind::floor_div) {
    isl_val* den = isl_val_int_from_si(context_.get(), q.den);
    return PwAff(isl_pw_aff_floor(isl_pw_aff_scale_down_val(inner.take(), den)));
  }
  PwAff low(isl_pw_aff_max(inner.take(), value(q.lo, space).take()));
  return PwAff(isl_pw_aff_min(low.take(), value(q.hi, space).take()));
}

Set Model::guard(const Guard& g, const Space& space, bool positive) const {
  switch (g.kind) {
    case Guard::Kind::negation:
      return guard(g.of[0], space, !positive);
    case Guard::Kind::ge0:
      if (positive) return Set(isl_pw_aff_nonneg_set(value(g.e, space).take()));
      return Set(isl_pw_aff_nonneg_set(value(Affine::of(-1) - g.e, space).take()));
    case Guard::Kind::eq0:
      if (positive) return Set(isl_pw_aff_zero_set(value(g.e, space).take()));
      return Set(isl_pw_aff_non_zero_set(value(g.e, space).take()));
    case Guard::Kind::all:
    case Guard::Kind::any:
      break;
  }
  bool conjunction = (g.kind == Guard::Kind::all) == positive;
  Set out(conjunction ? isl_set_universe(space.copy()) : isl_set_empty(space.copy()));
  for (const Guard& inner : g.of) {
    Set next = guard(inner, space, positive);
    out = conjunction ? intersect(std::move(out), std::move(next)) : unite(std::move(out), std::move(next));
  }
  return out;
}

Set Model::where(const Guard& g, const Space& space) const {
  return guard(g, space, true);
}

Set Model::assumptions() const {
  unsigned parameters = sizes_ == Sizes::symbolic ? static_cast<unsigned>(program_.parameters.size()) : 0;
  isl_space* space = isl_space_set_alloc(context_.get(), parameters, 0);
  for (unsigned p = 0; p < parameters; ++p)
    space = isl_space_set_dim_name(space, isl_dim_param, p, program_.parameters[p].name.c_str());
  Space kept(space);
  Set out(isl_set_universe(kept.copy()));
  if (sizes_ == Sizes::symbolic)
    for (const Guard& g : program_.assumptions) out = intersect(std::move(out), where(g, kept));
  return Set(isl_set_params(out.take()));
}

Set Model::instances(EquationId q, const Place& place) const {
  Space space = statement_space(q);
  VarId first = program_.index_var(0);
  std::vector<bool> bound(program_.equations[q].index_names.size(), false);
  Set out(isl_set_intersect_params(isl_set_universe(space.copy()), assumptions().take()));
  for (const IndexRange& range : place.indices) {
    bound[range.var - first] = true;
    Affine index = Affine::variable(range.var);
    out = intersect(std::move(out), where(guard_ge0(index - range.lo), space));
    out = intersect(std::move(out), where(guard_ge0(range.hi - index - Affine::of(1)), space));
  }
  for (size_t k = 0; k < bound.size(); ++k)
    if (!bound[k]) out = Set(isl_set_fix_si(out.take(), isl_dim_set, static_cast<unsigned>(k), 0));
  for (const Guard& g : place.conditions) out = intersect(std::move(out), where(g, space));
  return coalesced(std::move(out));
}

const Set& Model::instances(EquationId q) const {
  return kept(instances_, q, [&] { return instances(q, place_of(program_.equations[q])); });
}

const Set& Model::all_instances(EquationId q) const {
  return kept(all_instances_, q, [&] {
    const Equation& equation = program_.equations[q];
    Place place = place_of(equation);
    if (equation.rhs->op == Op::reduce) place = inside(std::move(place), equation.rhs->reduction);
    return instances(q, place);
  });
}

Map Model::element_map(EquationId q, TensorId target) const {
  Space statement = statement_space(q), tensor = tensor_space(target);
  const Equation& equation = program_.equations[q];
  Map out(isl_map_from_domain_and_range(isl_set_universe(statement.copy()), isl_set_universe(tensor.copy())));
  for (unsigned d = 0; d < equation.slots.size(); ++d) {
    Map one(isl_map_from_pw_aff(value(ir::position_of(equation.slots[d]), statement).take()));
    one = Map(isl_map_insert_dims(one.take(), isl_dim_out, 0, d));
    one = Map(isl_map_add_dims(one.take(), isl_dim_out, static_cast<unsigned>(equation.slots.size()) - d - 1));
    out = intersect(std::move(out), Map(isl_map_set_tuple_id(one.take(), isl_dim_out,
                                                             isl_space_get_tuple_id(tensor.get(), isl_dim_set))));
  }
  return out;
}

const Set& Model::elements(EquationId q, TensorId target) const {
  return kept(elements_, std::pair(q, target), [&] { return apply(instances(q), element_map(q, target)); });
}

Set Model::defined(TensorId tensor, const std::vector<EquationId>* by) const {
  const Tensor& t = program_.tensors[tensor];
  if (t.kind == TensorKind::input || t.kind == TensorKind::constant) return box(tensor);
  Set out(isl_set_empty(tensor_space(tensor).take()));
  for (EquationId q = 0; q < program_.equations.size(); ++q) {
    if (by != nullptr && std::find(by->begin(), by->end(), q) == by->end()) continue;
    for (TensorId target : program_.equations[q].targets)
      if (target == tensor) out = unite(std::move(out), elements(q, tensor));
  }
  return coalesced(std::move(out));
}

const Map& Model::read_map(EquationId q, const PlacedRead& read) const {
  return kept(read_maps_, std::pair(q, read.number), [&] { return made_read_map(q, read); });
}

Map Model::made_read_map(EquationId q, const PlacedRead& read) const {
  const Access& access = read.node->access;
  Space statement = statement_space(q), tensor = tensor_space(access.id);
  unsigned rank = static_cast<unsigned>(access.index.size());
  Map out(isl_map_from_domain_and_range(isl_set_universe(statement.copy()), isl_set_universe(tensor.copy())));
  auto placed = [&](isl_map* one, unsigned d) {
    one = isl_map_insert_dims(one, isl_dim_out, 0, d);
    one = isl_map_add_dims(one, isl_dim_out, rank - d - 1);
    return Map(isl_map_set_tuple_id(one, isl_dim_out, isl_space_get_tuple_id(tensor.get(), isl_dim_set)));
  };
  for (unsigned d = 0; d < rank; ++d) {
    const Subscript& s = access.index[d];
    if (!s.data) {
      out = intersect(std::move(out), placed(isl_map_from_pw_aff(value(s.affine, statement).take()), d));
      continue;
    }
    isl_map* low = isl_map_from_pw_aff(value(s.affine + s.lo, statement).take());
    isl_map* high = isl_map_from_pw_aff(value(s.affine + s.hi, statement).take());
    isl_space* line = isl_space_range(isl_map_get_space(low));
    low = isl_map_apply_range(low, isl_map_lex_le(isl_space_copy(line)));
    high = isl_map_apply_range(high, isl_map_lex_ge(line));
    out = intersect(std::move(out), placed(isl_map_intersect(low, high), d));
  }
  return restrict_domain(std::move(out), instances(q, read.place));  // last: it may be in many pieces
}

const std::vector<std::vector<EquationId>>& Model::sources() const {
  if (sources_) return *sources_;
  std::vector<std::vector<EquationId>> out(program_.equations.size());
  for (EquationId q = 0; q < program_.equations.size(); ++q)
    for (const PlacedRead& read : placed_reads(program_.equations[q])) {
      const TensorId tensor = read.node->access.id;
      std::optional<Set> wanted;
      for (EquationId r = 0; r < program_.equations.size(); ++r) {
        const auto& targets = program_.equations[r].targets;
        if (std::find(targets.begin(), targets.end(), tensor) == targets.end() ||
            std::find(out[q].begin(), out[q].end(), r) != out[q].end() || !may_read(q, read, r))
          continue;
        if (!wanted) wanted = range_of(read_map(q, read));
        if (!is_empty(intersect(*wanted, elements(r, tensor)))) out[q].push_back(r);
      }
    }
  return sources_.emplace(std::move(out));
}

const Model::Residues& Model::residues(EquationId q) const {
  return kept(residues_, q, [&] {
    const Equation& equation = program_.equations[q];
    Residues out{residues_of(program_, equation), {}};
    for (const Slot& slot : equation.slots) out.elements.push_back(residue_of(ir::position_of(slot), out.variables));
    return out;
  });
}

bool Model::may_read(EquationId q, const PlacedRead& read, EquationId r) const {
  const auto& index = read.node->access.index;
  for (size_t d = 0; d < index.size(); ++d)
    if (!index[d].data && !may_be_equal(residue_of(index[d].affine, residues(q).variables), residues(r).elements[d]))
      return false;
  return true;
}

bool Model::may_overlap(EquationId q, EquationId r) const {
  const auto &a = residues(q).elements, &b = residues(r).elements;
  for (size_t d = 0; d < a.size(); ++d)
    if (!may_be_equal(a[d], b[d])) return false;
  return true;
}

void Model::make_all() const {
  for (EquationId q = 0; q < program_.equations.size(); ++q) all_instances(q);
  sources();
}

Set Model::box(TensorId tensor) const {
  const Tensor& t = program_.tensors[tensor];
  if (t.kind != TensorKind::input && t.kind != TensorKind::constant) return output_box(tensor);
  Space space = tensor_space(tensor);
  Set out(isl_set_intersect_params(isl_set_universe(space.copy()), assumptions().take()));
  for (unsigned d = 0; d < t.rank; ++d) {
    Affine at = Affine::variable(program_.index_var(d));
    out =
        intersect(std::move(out), where(guard_all({guard_ge0(at), guard_ge0(t.shape[d] - at - Affine::of(1))}), space));
  }
  return out;
}

Set Model::output_box(TensorId tensor) const {
  Space space = tensor_space(tensor);
  Set all = defined(tensor);
  Set out(isl_set_intersect_params(isl_set_universe(space.copy()), assumptions().take()));
  VarId first = program_.index_var(0);
  for (unsigned d = 0; d < program_.tensors[tensor].rank; ++d) {
    Affine at = Affine::variable(program_.index_var(d));
    Set below(isl_set_empty(space.copy()));
    for (const Equation& equation : program_.equations) {
      bool defines = false;
      for (TensorId target : equation.targets) defines |= target == tensor;
      if (!defines || equation.slots[d].var == kNoVar) continue;
      std::vector<VarId> used;
      collect_variables(equation.slots[d].hi, used);
      bool only_parameters = true;
      for (VarId var : used) only_parameters &= var < first;
      if (only_parameters)
        below = unite(std::move(below), where(guard_ge0(equation.slots[d].hi - at - Affine::of(1)), space));
    }
    Map reach(isl_map_lex_ge(isl_space_range(isl_space_from_range(isl_space_set_alloc(context_.get(), 0, 1)))));
    Set line(isl_set_project_out(
        isl_set_project_out(all.copy(), isl_dim_set, d + 1, program_.tensors[tensor].rank - d - 1), isl_dim_set, 0, d));
    line = Set(isl_set_reset_tuple_id(line.take()));
    line = apply(std::move(line), std::move(reach));
    isl_set* wide = isl_set_insert_dims(line.take(), isl_dim_set, 0, d);
    wide = isl_set_add_dims(wide, isl_dim_set, program_.tensors[tensor].rank - d - 1);
    wide = isl_set_set_tuple_id(wide, isl_space_get_tuple_id(space.get(), isl_dim_set));
    below = unite(std::move(below), Set(wide));
    out = intersect(std::move(out), intersect(std::move(below), where(guard_ge0(at), space)));
  }
  return coalesced(std::move(out));
}

}  // namespace polyweft::poly
