#include "poly/check/folds.h"

#include <algorithm>
#include <set>

#include "poly/check/sequence.h"
#include "poly/coalesced.h"

namespace polyweft::poly::checker {
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
bool is_merge(const Statement& s) {
  return s.compute && s.compute->how == Write::merge;
}

bool holds_number(const std::vector<size_t>& all, size_t number) {
  return std::find(all.begin(), all.end(), number) != all.end();
}

/// The same over dimensions that stand after so many others.
Affine after(const Affine& e, size_t others) {
  std::vector<VarId> used;
  collect_variables(e, used);
  std::map<VarId, Affine> shifted;
  for (VarId v : used) shifted[v] = Affine::variable(static_cast<VarId>(v + others));
  return substitute(e, shifted);
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
    for (Group& group : groups_of(q)) prove_group(q, group);
  }
}

bool Folds::Group::has(size_t statement) const {
  return holds_number(inits, statement) || holds_number(folds, statement) || holds_number(merges, statement);
}

std::vector<size_t> Folds::Group::members() const {
  std::vector<size_t> all = inits;
  all.insert(all.end(), folds.begin(), folds.end());
  all.insert(all.end(), merges.begin(), merges.end());
  return all;
}

void Folds::link(EquationId q) {
  for (const Statement& s : statements_.all) {
    if (!s.compute || s.compute->equation != q || is_init(s)) continue;
    std::vector<const Access*> state, operand;
    for (const Access& dst : s.compute->dst) state.push_back(&dst);
    std::vector<Writers> links{linked(s, state)};
    if (is_merge(s)) {
      for (const Expr& e : s.compute->rhs) operand.push_back(&e->access);
      links.push_back(linked(s, operand));
      require_two(s, links[0], links[1]);
    }
    predecessors_.insert_or_assign(s.number, std::move(links));
  }
}

/// The events that made the accumulator whose components stand in these cells.
Writers Folds::linked(const Statement& s, const std::vector<const Access*>& components) const {
  EquationId q = s.compute->equation;
  const Equation& equation = program_.equations[q];
  Writers first;
  for (size_t k = 0; k < components.size(); ++k) {
    Writers origins = flow_.origins({s.number, components[k], equation.targets[k], flow_.good(s.number)});
    for (const auto& [writer, pairs] : origins) {
      const Compute& w = *statements_.all[writer].compute;
      if (w.how == Write::store || w.equation != q)
        throw Refuted{"PW0401",
                      flow_.describe(s.number, sample(pairs).second) + " is folded onto another equation's value"};
    }
    if (k == 0) {
      first = std::move(origins);
      continue;
    }
    bool equal = origins.size() == first.size();
    for (const auto& [writer, pairs] : origins)
      equal = equal && first.count(writer) && yes(isl_map_is_equal(first.at(writer).get(), pairs.get()));
    if (!equal)
      throw Refuted{"PW0401", "the components of " + program_.tensors[equation.targets[0]].name +
                                  " are folded from different states"};
  }
  if (first.empty() && !is_empty(flow_.good(s.number)))
    throw Refuted{"PW0401", flow_.describe_sample(s.number, flow_.good(s.number)) + " is folded onto an input"};
  return first;
}

void Folds::require_two(const Statement& s, const Writers& state, const Writers& operand) const {
  for (const auto& [writer, pairs] : state) {
    if (!operand.count(writer)) continue;
    Map both = intersect(pairs, operand.at(writer));
    if (!is_empty(both))
      throw Refuted{"PW0401", flow_.describe(s.number, sample(both).second) +
                                  " merges an accumulator with itself: its points count twice"};
  }
}

std::vector<Folds::Group> Folds::groups_of(EquationId q) {
  std::vector<size_t> members;
  for (const Statement& s : statements_.all)
    if (s.compute && s.compute->equation == q) members.push_back(s.number);
  std::map<size_t, size_t> root;
  for (size_t m : members) root[m] = m;
  auto find = [&](size_t m) {
    while (root[m] != m) m = root[m];
    return m;
  };
  for (const auto& [m, links] : predecessors_) {
    if (!root.count(m)) continue;
    for (const Writers& one : links)
      for (const auto& [writer, pairs] : one) root[find(writer)] = find(m);
  }
  std::map<size_t, Group> groups;
  for (size_t m : members) {
    Group& group = groups[find(m)];
    const Statement& s = statements_.all[m];
    (is_fold(s) ? group.folds : is_merge(s) ? group.merges : group.inits).push_back(m);
  }
  std::vector<Group> out;
  for (auto& [r, group] : groups) out.push_back(std::move(group));
  return out;
}

/// The loops that are around all members and the same for all pairs of linked events.
std::vector<unsigned> Folds::widest_key(const Group& group) const {
  std::vector<size_t> all = group.members();
  std::vector<NodeId> shared = statements_.all[all[0]].loops;
  for (size_t m : all) {
    const std::vector<NodeId>& loops = statements_.all[m].loops;
    shared.erase(std::mismatch(shared.begin(), shared.end(), loops.begin(), loops.end()).first, shared.end());
  }
  std::vector<unsigned> out;
  for (unsigned d = 0; d < shared.size(); ++d)
    if (is_kept(group, d)) out.push_back(d);
  return out;
}

bool Folds::is_kept(const Group& group, unsigned dimension) const {
  auto d = static_cast<int>(dimension);
  for (size_t m : group.members()) {
    if (!predecessors_.count(m)) continue;
    for (const Writers& links : predecessors_.at(m))
      for (const auto& [writer, pairs] : links) {
        Map kept(isl_map_equate(pairs.copy(), isl_dim_in, d, isl_dim_out, d));
        if (!yes(isl_map_is_subset(pairs.get(), kept.get()))) return false;
      }
  }
  return true;
}

/// key.., slots.. and, where asked for, reduced indices of the statement, over its dimensions.
std::vector<Affine> Folds::coordinates_of(size_t number, const Group& group, bool with_point) const {
  const Statement& s = statements_.all[number];
  const Equation& equation = program_.equations[s.compute->equation];
  Indices indices = indices_of(program_, s);
  std::vector<Affine> coordinates;
  for (VarId d : group.key) coordinates.push_back(Affine::variable(d));
  for (VarId v : slot_variables(equation)) coordinates.push_back(indices.at(v));
  if (with_point)
    for (const IndexRange& range : equation.rhs->reduction.ranges) coordinates.push_back(indices.at(range.var));
  return coordinates;
}

/// { S -> K[key.., slots..] } or { S -> P[key.., slots.., reduced..] }
Map Folds::keyed(size_t number, const Group& group, bool with_point) const {
  return restrict_domain(
      map_of(statements_.all[number].space, coordinates_of(number, group, with_point), with_point ? "P" : "K"),
      with_point ? points_[number] : flow_.good(number));
}

/// Without a key first, which is the least work. That an element is computed anew (by tiles that overlap) shows as a
/// point folded twice; then each iteration of the loops around is looked at apart.
void Folds::prove_group(EquationId q, Group& group) {
  bool is_used = false;
  for (const auto& [writer, last] : finals_) is_used |= group.has(writer);
  if (!is_used) return;
  if (is_in_sequence(q, group)) return;
  if (order_counts(program_.equations[q])) {
    if (!group.merges.empty()) refuse_merge(q, group);
    prove_order(q, group);
  }
  try {
    prove_sums(q, group);
  } catch (const Refuted&) {
    group.key = widest_key(group);
    if (group.key.empty()) throw;
    prove_sums(q, group);
  }
}

void Folds::refuse_merge(EquationId q, const Group& group) const {
  const Reduction& r = program_.equations[q].rhs->reduction;
  bool is_tree = r.reducer == Reducer::combiner && nest_.cls == NumericsClass::reassoc &&
                 program_.combiners[r.combiner].associative;
  if (is_tree) throw Undecided{"a merge of accumulators by a combiner that is not commutative"};
  size_t merge = group.merges[0];
  throw Refuted{"PW0406", "accumulators of " + program_.tensors[program_.equations[q].targets[0]].name +
                              " are merged, at " + flow_.describe_sample(merge, statements_.all[merge].domain) +
                              ": class " + name_of(nest_.cls) + " keeps the order of the text"};
}

/// Whether each fold follows that of the point before its own (sequence.h). It says nothing against a sum where that is
/// not so.
bool Folds::is_in_sequence(EquationId q, const Group& group) const {
  const Equation& equation = program_.equations[q];
  if (!group.merges.empty() || !PointSequence::is_known(equation)) return false;
  const PointSequence sequence(equation);
  for (size_t m : group.members()) {
    auto last = finals_.find(m);
    if (last == finals_.end()) continue;
    const Statement& s = statements_.all[m];
    const Indices indices = indices_of(program_, s);
    if (!is_subset(last->second,
                   holds(is_init(s) ? sequence.is_without_points(indices) : sequence.is_last(indices), s.space)))
      return false;
  }
  for (size_t f : group.folds) {
    const Statement& fold = statements_.all[f];
    if (!is_subset(flow_.good(f), points_[f])) return false;  // zero padding
    for (const auto& [writer, pairs] : predecessors_.at(f)[0]) {
      const Statement& before = statements_.all[writer];
      Indices own = indices_of(program_, fold);
      for (auto& [index, value] : own) value = after(value, before.loops.size());
      const Indices theirs = indices_of(program_, before);
      const Set both(isl_map_wrap(pairs.copy()));
      const Space flat(isl_set_get_space(both.get()));
      if (!is_subset(both, holds(is_init(before) ? sequence.is_first(own) : sequence.is_next(theirs, own), flat)))
        return false;
    }
  }
  return true;
}

void Folds::prove_sums(EquationId q, const Group& group) {
  UnionMap links = nothing(context_);
  for (size_t m : group.members()) {
    if (!predecessors_.count(m)) continue;
    for (const Writers& one : predecessors_.at(m))
      for (const auto& [writer, pairs] : one)
        links = UnionMap(isl_union_map_union(links.take(), isl_union_map_from_map(reverse(pairs).take())));
  }
  prove_forest(q, group, links);
  prove_complete(q, group, prove_ends(q, group, links));
}

void Folds::prove_forest(EquationId q, const Group& group, const UnionMap& links) {
  const std::string& tensor = program_.tensors[program_.equations[q].targets[0]].name;
  if (!yes(isl_union_map_is_injective(links.get())))
    throw Refuted{"PW0401",
                  "two folds of one element of " + tensor + " go on from the same state: one of them is lost"};
  UnionMap points = nothing(context_);
  const FoldedTiles tiles = folded_tiles(group);
  for (size_t k = 0; k < group.folds.size(); ++k) {
    const Map point = tiles.are_of_points ? tiles.points[k] : keyed(group.folds[k], group, true);
    points = UnionMap(isl_union_map_add_map(points.take(), Map(point).take()));
  }
  if (!yes(isl_union_map_is_injective(points.get())))
    throw Refuted{"PW0401", "a reduced point of " + tensor + " is folded twice"};
}

/// What is wanted is an end, and the only one of its key and element. Returns these. A start that nothing folds into
/// counts for nothing.
UnionSet Folds::prove_ends(EquationId q, const Group& group, const UnionMap& links) {
  UnionSet continued(isl_union_map_range(links.copy()));
  UnionSet needed(isl_union_set_empty(isl_space_params_alloc(context_.get(), 0)));
  for (size_t m : group.members()) {
    auto last = finals_.find(m);
    if (last == finals_.end()) continue;
    Set unfinished =
        intersect(last->second, Set(isl_union_set_extract_set(continued.get(), statements_.all[m].space.copy())));
    if (!is_empty(unfinished))
      throw Refuted{"PW0401", flow_.describe_sample(m, unfinished) + " is read before the last fold into it"};
    needed = UnionSet(
        isl_union_set_union(needed.take(), isl_union_set_from_set(apply(last->second, keyed(m, group, false)).take())));
  }
  if (starts_once(group)) return needed;
  std::map<size_t, Set> ends;
  for (size_t m : group.members()) {
    const Statement& s = statements_.all[m];
    auto last = finals_.find(m);
    Set end(isl_set_empty(s.space.copy()));
    if (!is_init(s))
      end = subtract(flow_.good(m), Set(isl_union_set_extract_set(continued.get(), s.space.copy())));
    else if (last != finals_.end())
      end = last->second;
    ends.emplace(m, coalesced(std::move(end)));
  }
  UnionMap ending = nothing(context_);
  for (auto& [m, end] : ends)
    ending =
        UnionMap(isl_union_map_add_map(ending.take(), restrict_domain(keyed(m, group, false), std::move(end)).take()));
  auto alone = [&](const UnionMap& map) { return yes(isl_union_map_is_injective(map.get())); };
  // Mostly each element ends once, wanted or not; what is wanted comes from the readers, in many pieces.
  if (!alone(ending) && !alone(UnionMap(isl_union_map_intersect_range(ending.copy(), needed.copy()))))
    throw Refuted{"PW0401", "an element of " + program_.tensors[program_.equations[q].targets[0]].name +
                                " is folded in parts that are never put together"};
  return needed;
}

/// Without merges each event has one predecessor, an earlier one, and at most one successor: paths, each from an init
/// to an end. Where each key and element starts once, it therefore ends once.
bool Folds::starts_once(const Group& group) const {
  if (!group.merges.empty()) return false;
  UnionMap starts = nothing(context_);
  for (size_t m : group.inits) starts = UnionMap(isl_union_map_add_map(starts.take(), keyed(m, group, false).take()));
  return yes(isl_union_map_is_injective(starts.get()));
}

void Folds::prove_complete(EquationId q, const Group& group, const UnionSet& needed) {
  const Equation& equation = program_.equations[q];
  const std::string& tensor = program_.tensors[equation.targets[0]].name;
  auto slots = slot_variables(equation);
  size_t reduced = equation.rhs->reduction.ranges.size(), key = group.key.size(), count = key + slots.size();
  Space points = named_space(context_, "P", count + reduced), elements = named_space(context_, "K", count);
  std::vector<Affine> projection;
  for (VarId d = 0; d < count; ++d) projection.push_back(Affine::variable(d));
  Indices indices;
  for (VarId p = 0; p < program_.parameters.size(); ++p) indices[p] = Affine::of(program_.parameters[p].value);
  for (size_t k = 0; k < slots.size(); ++k) indices[slots[k]] = Affine::variable(static_cast<VarId>(key + k));
  for (size_t k = 0; k < reduced; ++k)
    indices[equation.rhs->reduction.ranges[k].var] = Affine::variable(static_cast<VarId>(count + k));
  const Guard inside = domain_guard(equation, indices, true);
  if (covers_by_tiles(group, inside, count + reduced)) return;
  Set domain = holds(inside, points);
  Set have(isl_set_empty(points.copy()));
  for (size_t f : group.folds) have = unite(std::move(have), range_of(keyed(f, group, true)));
  have = coalesced(std::move(have));
  Set lost = subtract(domain, std::move(have));
  if (is_empty(lost)) return;  // nothing lost, wanted or not
  Set keys(isl_union_set_extract_set(needed.get(), elements.copy()));
  lost = domain_of(restrict_range(restrict_domain(map_of(points, projection, "K"), lost), keys));
  if (is_empty(lost)) return;
  std::vector<int64_t> at = sample(lost);
  std::string point;
  for (size_t d = key; d < at.size(); ++d) point += (point.empty() ? "" : ", ") + std::to_string(at[d]);
  throw Refuted{"PW0401", "the point [" + point + "] is never folded into " + tensor};
}

/// { S -> P[key.., slots.., reduced.., tile numbers..] } of each fold, by the loops over tiles that all of them share.
Folds::FoldedTiles Folds::folded_tiles(const Group& group) const {
  std::vector<const Statement*> folds;
  std::vector<std::vector<Affine>> points;
  for (size_t f : group.folds) {
    folds.push_back(&statements_.all[f]);
    points.push_back(coordinates_of(f, group, true));
  }
  FoldedTiles out;
  out.numbers = tile_numbers(folds, points);
  if (out.numbers.empty()) return out;
  const size_t coordinates = points[0].size();
  out.of_points = numbers_of_points(out.numbers, coordinates);
  const Set tied = holds(out.of_points, named_space(context_, "P", coordinates + out.numbers.size()));
  out.are_of_points = true;
  for (size_t k = 0; k < folds.size(); ++k) {
    for (const TileNumber& n : out.numbers) points[k].push_back(Affine::variable(n.loop));
    out.points.push_back(restrict_domain(map_of(folds[k]->space, points[k], "P"), points_[group.folds[k]]));
    out.are_of_points = out.are_of_points && is_subset(range_of(out.points[k]), tied);
  }
  return out;
}

/// Whether each point of the domain is folded in the tile whose numbers are its own: more than that each is folded.
bool Folds::covers_by_tiles(const Group& group, const Guard& inside, size_t coordinates) const {
  const FoldedTiles tiles = folded_tiles(group);
  if (tiles.numbers.empty()) return false;
  const Space space = named_space(context_, "P", coordinates + tiles.numbers.size());
  Set have(isl_set_empty(space.copy()));
  for (const Map& points : tiles.points) have = unite(std::move(have), range_of(points));
  return is_subset(holds(guard_all({inside, tiles.of_points}), space), coalesced(std::move(have)));
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
  for (size_t f : group.folds)
    for (const auto& [writer, pairs] : predecessors_.at(f)[0])
      if (is_fold(statements_.all[writer])) prove_forward(q, writer, f, pairs);
}

void Folds::prove_forward(EquationId q, size_t writer, size_t fold, const Map& pairs) {
  const Equation& equation = program_.equations[q];
  auto point = [&](size_t number) {
    Indices indices = indices_of(program_, statements_.all[number]);
    std::vector<Affine> coordinates;
    for (const IndexRange& range : equation.rhs->reduction.ranges) coordinates.push_back(indices.at(range.var));
    return map_of(statements_.all[number].space, coordinates, "R");
  };
  Map forward(isl_map_lex_lt_map(point(writer).take(), point(fold).take()));
  Map wrong(isl_map_subtract(pairs.copy(), forward.take()));
  if (is_empty(wrong)) return;
  auto [before, after] = sample(wrong);
  throw Refuted{"PW0406", flow_.describe(writer, before) + " comes before " + flow_.describe(fold, after) +
                              ", against the order of the text"};
}

}  // namespace polyweft::poly::checker
