#include "poly/check/folds.h"

#include <algorithm>
#include <set>

namespace polyweft::poly::check {
namespace {

UnionMap nothing(Context& context) {
  return UnionMap(isl_union_map_empty(isl_space_params_alloc(context.get(), 0)));
}

bool is_fold(const Statement& s) {
  return s.compute && s.compute->how == Write::accumulate;
}
bool is_init(const Statement& s) {
  return s.compute && s.compute->how == Write::init;
}

std::vector<VarId> slot_variables(const Equation& equation) {
  std::vector<VarId> out;
  for (const Slot& slot : equation.slots)
    if (slot.var != kNoVar) out.push_back(slot.var);
  return out;
}

}  // namespace

void Folds::wanted(size_t, const Writers& origins) {
  for (const auto& [writer, pairs] : origins) {
    if (statements_.all[writer].compute->how == Write::store) continue;
    Set last = domain_of(pairs);
    auto known = finals_.find(writer);
    if (known == finals_.end())
      finals_.emplace(writer, std::move(last));
    else
      known->second = unite(known->second, std::move(last));
  }
}

void Folds::prove() {
  std::set<EquationId> equations;
  for (const Statement& s : statements_.all)
    if (s.compute && s.compute->how != Write::store) equations.insert(s.compute->equation);
  for (EquationId q : equations) {
    link(q);
    for (const Group& group : groups_of(q)) prove_group(q, group);
  }
}

void Folds::link(EquationId q) {
  for (const Statement& s : statements_.all) {
    if (!is_fold(s) || s.compute->equation != q) continue;
    const Equation& equation = program_.equations[q];
    Writers first;
    for (size_t k = 0; k < s.compute->dst.size(); ++k) {
      Read state{s.number, &s.compute->dst[k], equation.targets[k], flow_.good(s.number)};
      Writers origins = flow_.origins(state);
      for (const auto& [writer, pairs] : origins) {
        const Compute& w = *statements_.all[writer].compute;
        if (w.how == Write::store || w.equation != q)
          throw Refuted{"PW0401", flow_.describe(s.number, sample(pairs).second) + " is folded onto another equation's value"};
      }
      if (k == 0) {
        first = std::move(origins);
        continue;
      }
      bool equal = origins.size() == first.size();
      for (const auto& [writer, pairs] : origins) equal = equal && first.count(writer) && yes(isl_map_is_equal(first.at(writer).get(), pairs.get()));
      if (!equal) throw Refuted{"PW0401", "the components of " + program_.tensors[equation.targets[0]].name + " are folded from different states"};
    }
    if (first.empty() && !is_empty(flow_.good(s.number))) throw Refuted{"PW0401", flow_.describe_sample(s.number, flow_.good(s.number)) + " is folded onto an input"};
    predecessors_.insert_or_assign(s.number, std::move(first));
  }
}

std::vector<Folds::Group> Folds::groups_of(EquationId q) {
  std::vector<size_t> members;
  for (const Statement& s : statements_.all)
    if ((is_fold(s) || is_init(s)) && s.compute->equation == q) members.push_back(s.number);
  std::map<size_t, size_t> root;
  for (size_t m : members) root[m] = m;
  auto find = [&](size_t m) {
    while (root[m] != m) m = root[m];
    return m;
  };
  for (size_t m : members)
    if (predecessors_.count(m))
      for (const auto& [writer, pairs] : predecessors_.at(m)) root[find(writer)] = find(m);
  std::map<size_t, Group> groups;
  for (size_t m : members) (is_fold(statements_.all[m]) ? groups[find(m)].folds : groups[find(m)].inits).push_back(m);
  std::vector<Group> out;
  for (auto& [r, group] : groups) {
    std::vector<size_t> all = group.inits;
    all.insert(all.end(), group.folds.begin(), group.folds.end());
    // The key must be the same loops for all, and no chain may leave them: the least prefix of any buffer of the tensor that one
    // of the group's statements lies under.
    group.key = SIZE_MAX;
    TensorId tensor = program_.equations[q].targets[0];
    for (BufferId b = 0; b < nest_.buffers.size(); ++b) {
      if (nest_.buffers[b].tensor != tensor) continue;
      bool around_all = true;
      for (size_t m : all) {
        const auto& loops = statements_.all[m].loops;
        const auto& around = statements_.around[b];
        around_all &= loops.size() >= around.size() && std::equal(around.begin(), around.end(), loops.begin());
      }
      if (around_all) group.key = std::min(group.key, statements_.prefix[b]);
    }
    if (group.key == SIZE_MAX) group.key = 0;
    out.push_back(std::move(group));
  }
  return out;
}

/// { S -> K[key.., slots.., reduced..] }
Map Folds::keyed(size_t number, size_t key, bool with_point) const {
  const Statement& s = statements_.all[number];
  const Equation& equation = program_.equations[s.compute->equation];
  Indices indices = indices_of(program_, s);
  std::vector<Affine> coordinates;
  for (VarId d = 0; d < key; ++d) coordinates.push_back(Affine::variable(d));
  for (VarId v : slot_variables(equation)) coordinates.push_back(indices.at(v));
  if (with_point)
    for (const IndexRange& range : equation.rhs->reduction.ranges) coordinates.push_back(indices.at(range.var));
  return restrict_domain(map_of(s.space, coordinates, with_point ? "P" : "K"), flow_.good(number));
}

void Folds::prove_group(EquationId q, const Group& group) {
  UnionMap links = nothing(context_);
  for (size_t f : group.folds)
    for (const auto& [writer, pairs] : predecessors_.at(f)) require_key(group, pairs);
  for (size_t f : group.folds)
    for (const auto& [writer, pairs] : predecessors_.at(f)) links = UnionMap(isl_union_map_add_map(links.take(), reverse(pairs).take()));
  bool is_used = false;
  for (const auto& [writer, last] : finals_)
    is_used |=
        std::find(group.inits.begin(), group.inits.end(), writer) != group.inits.end() || std::find(group.folds.begin(), group.folds.end(), writer) != group.folds.end();
  if (!is_used) return;
  prove_path(q, group, links);
  prove_complete(q, group, links);
  if (order_counts(program_.equations[q])) prove_order(q, group);
}

void Folds::require_key(const Group& group, const Map& pairs) const {
  Map kept = pairs;
  for (unsigned d = 0; d < group.key; ++d) kept = Map(isl_map_equate(kept.take(), isl_dim_in, static_cast<int>(d), isl_dim_out, static_cast<int>(d)));
  if (!yes(isl_map_is_subset(pairs.get(), kept.get()))) throw Undecided{"an accumulator that is passed on between iterations of the loops around it"};
}

void Folds::prove_path(EquationId q, const Group& group, const UnionMap& links) {
  const std::string& tensor = program_.tensors[program_.equations[q].targets[0]].name;
  if (!yes(isl_union_map_is_injective(links.get()))) throw Refuted{"PW0401", "two folds of one element of " + tensor + " go on from the same state: one of them is lost"};
  UnionMap starts = nothing(context_), points = nothing(context_);
  for (size_t m : group.inits) starts = UnionMap(isl_union_map_add_map(starts.take(), keyed(m, group.key, false).take()));
  for (size_t m : group.folds) points = UnionMap(isl_union_map_add_map(points.take(), keyed(m, group.key, true).take()));
  if (!yes(isl_union_map_is_injective(starts.get()))) throw Refuted{"PW0401", "an element of " + tensor + " is started twice"};
  if (!yes(isl_union_map_is_injective(points.get()))) throw Refuted{"PW0401", "a reduced point of " + tensor + " is folded twice"};
}

void Folds::prove_complete(EquationId q, const Group& group, const UnionMap& links) {
  const Equation& equation = program_.equations[q];
  const std::string& tensor = program_.tensors[equation.targets[0]].name;
  UnionSet continued(isl_union_map_range(links.copy()));
  UnionSet needed(isl_union_set_empty(isl_space_params_alloc(context_.get(), 0)));
  for (const auto& [writer, last] : finals_) {
    bool inside =
        std::find(group.inits.begin(), group.inits.end(), writer) != group.inits.end() || std::find(group.folds.begin(), group.folds.end(), writer) != group.folds.end();
    if (!inside) continue;
    Set going_on(isl_union_set_extract_set(continued.get(), statements_.all[writer].space.copy()));
    Set unfinished = intersect(last, going_on);
    if (!is_empty(unfinished)) throw Refuted{"PW0401", flow_.describe_sample(writer, unfinished) + " is read before the last fold into it"};
    needed = UnionSet(isl_union_set_add_set(needed.take(), apply(last, keyed(writer, group.key, false)).take()));
  }
  auto slots = slot_variables(equation);
  size_t reduced = equation.rhs->reduction.ranges.size(), count = group.key + slots.size();
  Space points = named_space(context_, "P", count + reduced), elements = named_space(context_, "K", count);
  std::vector<Affine> projection;
  for (VarId d = 0; d < count; ++d) projection.push_back(Affine::variable(d));
  Indices indices;
  for (VarId p = 0; p < program_.parameters.size(); ++p) indices[p] = Affine::of(program_.parameters[p].value);
  for (size_t k = 0; k < slots.size(); ++k) indices[slots[k]] = Affine::variable(static_cast<VarId>(group.key + k));
  for (size_t k = 0; k < reduced; ++k) indices[equation.rhs->reduction.ranges[k].var] = Affine::variable(static_cast<VarId>(count + k));
  Set domain = holds(domain_guard(equation, indices, true), points);
  Set keys(isl_union_set_extract_set(needed.get(), elements.copy()));
  Set wanted = domain_of(restrict_range(restrict_domain(map_of(points, projection, "K"), domain), keys));
  Set have(isl_set_empty(points.copy()));
  for (size_t f : group.folds) have = unite(std::move(have), range_of(keyed(f, group.key, true)));
  Set lost = subtract(std::move(wanted), std::move(have));
  if (is_empty(lost)) return;
  std::vector<int64_t> at = sample(lost);
  std::string point;
  for (size_t d = group.key; d < at.size(); ++d) point += (point.empty() ? "" : ", ") + std::to_string(at[d]);
  throw Refuted{"PW0401", "the point [" + point + "] is never folded into " + tensor};
}

bool Folds::order_counts(const Equation& equation) const {
  const Reduction& r = equation.rhs->reduction;
  ElementType type = program_.tensors[equation.targets[0]].type;
  if (r.reducer == Reducer::combiner) {
    const Combiner& c = program_.combiners[r.combiner];
    return nest_.cls != NumericsClass::reassoc || !c.associative || !c.commutative;
  }
  bool rounds = (r.reducer == Reducer::sum || r.reducer == Reducer::prod) && is_float(type);
  return rounds && nest_.cls != NumericsClass::reassoc;
}

void Folds::prove_order(EquationId q, const Group& group) {
  const Equation& equation = program_.equations[q];
  for (size_t f : group.folds) {
    for (const auto& [writer, pairs] : predecessors_.at(f)) {
      if (!is_fold(statements_.all[writer])) continue;
      auto point = [&](size_t number) {
        Indices indices = indices_of(program_, statements_.all[number]);
        std::vector<Affine> coordinates;
        for (const IndexRange& range : equation.rhs->reduction.ranges) coordinates.push_back(indices.at(range.var));
        return map_of(statements_.all[number].space, coordinates, "R");
      };
      Map forward(isl_map_lex_lt_map(point(writer).take(), point(f).take()));
      Map wrong(isl_map_subtract(pairs.copy(), forward.take()));
      if (is_empty(wrong)) continue;
      auto [before, after] = sample(wrong);
      throw Refuted{"PW0406", flow_.describe(writer, before) + " comes before " + flow_.describe(f, after) + ", against the order of the text"};
    }
  }
}

}  // namespace polyweft::poly::check
