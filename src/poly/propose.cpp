// Bands for the groups of equations that need each other.
#include <algorithm>

#include "ir/values/slots.h"
#include "poly/band_search.h"
#include "poly/coalesced.h"
#include "poly/own_order.h"
#include "poly/pieces.h"

namespace polyweft::poly {
namespace {

constexpr unsigned long kProposalQuota = 20 * kQuota;

/// Statements in an order that runs sources first where all members are equal; nothing where there is none.
std::optional<std::vector<uint32_t>> sequence(const std::vector<Relation>& relations, size_t statements) {
  std::vector<char> is_placed(statements, 0);
  std::vector<uint32_t> out;
  auto is_ready = [&](uint32_t s) {
    return std::none_of(relations.begin(), relations.end(), [&](const Relation& r) {
      return r.sink == s && r.may_be_zero && !is_placed[r.source] &&
             !(r.kind == Relation::Kind::order && r.source == r.sink);
    });
  };
  while (out.size() < statements) {
    uint32_t next = 0;
    while (next < statements && (is_placed[next] || !is_ready(next))) ++next;
    if (next == statements) return std::nullopt;
    is_placed[next] = 1;
    out.push_back(next);
  }
  return out;
}

/// Equations to be mapped, whole, and what must stay in order among them.
struct Group {
  BandModel band;
  std::vector<Pairs> pairs;

  Group(const Model& model, BandQuestion question)
      : band(model, std::move(question)), pairs(flow_and_order_pairs(band)) {}
};

/// The plan as a proposal in running order, where isl says that it keeps everything.
std::optional<BandProposal> tested(Group& group, const BandPlan& plan) {
  group.band.map(plan.members);
  const std::vector<Relation> relations = measured(group.band, group.pairs);
  if (std::any_of(relations.begin(), relations.end(), [](const Relation& r) { return !r.is_lex_positive; }))
    return std::nullopt;
  auto order = sequence(relations, plan.members.size());
  if (!order) return std::nullopt;
  BandProposal out{{}, plan.names};
  for (uint32_t s : *order) out.statements.push_back(group.band.question().statements[s]);
  return out;
}

/// A row of isl's schedule over coordinates of elements, over the equation's indices; nothing where it has quotients.
std::optional<Affine> row_value(const Program& program, EquationId q, isl_aff* row) {
  if (size(isl_aff_dim(row, isl_dim_div)) != 0 || !yes(isl_val_is_one(Val(isl_aff_get_denominator_val(row)).get())))
    return std::nullopt;
  Affine out = Affine::of(integer(Val(isl_aff_get_constant_val(row))));
  const auto& slots = program.equations[q].slots;
  for (size_t d = 0; d < slots.size(); ++d) {
    const int64_t factor = integer(Val(isl_aff_get_coefficient_val(row, isl_dim_in, static_cast<int>(d))));
    out = out + factor * ir::position_of(slots[d]);
  }
  return out;
}

/// The times of a base order as members, where they are affine functions.
std::optional<BandPlan> plan_of(const Group& group, const Times& times) {
  BandPlan out;
  for (size_t s = 0; s < times.size(); ++s) {
    Handle<isl_pw_multi_aff> pieces(isl_pw_multi_aff_from_map(coalesced(times[s]).take()));
    if (!yes(isl_pw_multi_aff_isa_multi_aff(pieces.get()))) return std::nullopt;
    Handle<isl_multi_aff> rows(isl_pw_multi_aff_as_multi_aff(pieces.take()));
    std::vector<Affine> members;
    for (int k = 0; k < size(isl_multi_aff_dim(rows.get(), isl_dim_out)); ++k) {
      auto value = row_value(group.band.program(), group.band.question().statements[s].equation,
                             Aff(isl_multi_aff_get_at(rows.get(), k)).get());
      if (!value) return std::nullopt;
      members.push_back(std::move(*value));
    }
    out.members.push_back(std::move(members));
  }
  for (size_t k = 0; k < out.members[0].size();) {
    const bool stands = std::all_of(out.members.begin(), out.members.end(), [&](const auto& members) {
      return members[k] == out.members[0][k] && members[k].is_constant();
    });
    if (stands && out.members[0].size() > 1) {
      for (auto& members : out.members) members.erase(members.begin() + static_cast<int64_t>(k));
    } else {
      ++k;
    }
  }
  for (size_t k = 0; k < out.members[0].size(); ++k) out.names.push_back("b" + std::to_string(k));
  return out;
}

/// What the members of a band are for: loops that steps change, folds as members where they can be; or times of
/// elements.
enum class Purpose : uint8_t { loops, times };

std::vector<BandStyle> styles_for(Purpose purpose) {
  if (purpose == Purpose::times) return {BandStyle::serial};
  return {BandStyle::folds, BandStyle::permutable, BandStyle::serial};
}

std::optional<BandProposal> mapped(const Model& model, const ElementGraph& graph,
                                   const std::vector<uint32_t>& component, Purpose purpose) {
  BandQuestion question;
  for (uint32_t v : component) question.statements.push_back({graph.statements[v].equation, {}, {Affine::of(0)}});
  if (!validate(model.program(), question)) return std::nullopt;
  std::optional<Group> group;
  const bool is_ready =
      attempt(model.context(), kProposalQuota, [&] { return &group.emplace(model, std::move(question)); }).has_value();
  if (!is_ready) return std::nullopt;
  for (BandStyle style : styles_for(purpose)) {
    auto found = attempt(model.context(), kProposalQuota, [&]() -> std::optional<BandProposal> {
      auto plan = plan_band(group->band, group->pairs, style);
      return plan ? tested(*group, *plan) : std::nullopt;
    });
    if (found && *found) return *std::move(found);
  }
  auto times = affine_order(model, graph, component, 10 * kQuota);
  if (!times) return std::nullopt;
  auto found = attempt(model.context(), kProposalQuota, [&]() -> std::optional<BandProposal> {
    auto plan = plan_of(*group, *times);
    return plan ? tested(*group, *plan) : std::nullopt;
  });
  return found ? *std::move(found) : std::nullopt;
}

/// Whether every element of every reduction has a first value in some piece.
bool has_all_first_values(const Model& model, const BandProposal& proposal) {
  const BandQuestion question{proposal.statements, {}};
  const BandModel band(model, question);
  for (const Mapped& statement : proposal.statements) {
    if (model.program().equations[statement.equation].rhs->op != Op::reduce) continue;
    Set missing = model.instances(statement.equation);
    for (const Points& points : band.points())
      if (points.first && points.equation == statement.equation)
        missing = subtract(std::move(missing), points.instances);
    if (!is_empty(missing)) return false;
  }
  return true;
}

/// The statements whose conditions are no conjunctions in pieces.
std::optional<BandProposal> cut(const Model& model, const BandProposal& whole) {
  BandProposal out{{}, whole.names};
  for (const Mapped& statement : whole.statements)
    for (std::vector<Guard>& piece : conjunctive_pieces(model, statement.equation)) {
      out.statements.push_back(statement);
      out.statements.back().piece = std::move(piece);
    }
  if (out.statements.size() > whole.statements.size() && !has_all_first_values(model, out)) return std::nullopt;
  return out;
}

/// A group of statements, by their numbers in the graph, and its band.
struct FoundBand {
  std::vector<uint32_t> statements;
  std::optional<BandProposal> band;
};

/// The groups that need themselves, producers first.
std::vector<FoundBand> recurrences(const Program& program, const ElementGraph& graph) {
  std::vector<FoundBand> out;
  for (std::vector<uint32_t> component : merged_components(program, graph)) {
    if (!is_recursive(graph, component)) continue;
    std::erase_if(component, [&](uint32_t v) { return is_empty(graph.statements[v].elements); });
    if (!component.empty()) out.push_back({std::move(component), std::nullopt});
  }
  return out;
}

/// Whether `by` reads what `group` makes, and no other equation names one of its tensors (whichever elements it reads:
/// the order of other nests goes by tensors).
bool is_read_only_by(const Program& program, const ElementGraph& graph, const FoundBand& group, const FoundBand& by) {
  std::vector<TensorId> made;
  std::vector<char> is_inside(program.equations.size(), 0);
  for (uint32_t v : group.statements) {
    const auto& targets = program.equations[graph.statements[v].equation].targets;
    made.insert(made.end(), targets.begin(), targets.end());
    is_inside[graph.statements[v].equation] = 1;
  }
  if (std::any_of(made.begin(), made.end(), [&](TensorId id) { return program.tensors[id].kind != TensorKind::local; }))
    return false;
  for (uint32_t v : by.statements) is_inside[graph.statements[v].equation] = 2;
  bool is_read = false;
  for (EquationId q = 0; q < program.equations.size(); ++q)
    for (const PlacedRead& read : placed_reads(program.equations[q])) {
      if (is_inside[q] == 1 || std::find(made.begin(), made.end(), read.node->access.id) == made.end()) continue;
      if (is_inside[q] == 0) return false;
      is_read = true;
    }
  return is_read;
}

/// Takes producers that only this group reads into its band, where all move along its first member: run before it they
/// would keep all their planes.
void absorb(const Model& model, const ElementGraph& graph, Purpose purpose, FoundBand& group,
            std::vector<FoundBand>& producers) {
  for (FoundBand& producer : producers) {
    if (!producer.band || !group.band || !is_read_only_by(model.program(), graph, producer, group)) continue;
    FoundBand both{producer.statements, std::nullopt};
    both.statements.insert(both.statements.end(), group.statements.begin(), group.statements.end());
    both.band = mapped(model, graph, both.statements, purpose);
    if (!both.band || std::any_of(both.band->statements.begin(), both.band->statements.end(),
                                  [](const Mapped& m) { return m.members[0].is_constant(); }))
      continue;
    group = std::move(both);
    producer.band.reset();
  }
}

/// All groups, with a band where one was found and no other group has taken them in.
Result<std::vector<FoundBand>> bands_of(const Model& model, const ElementGraph& graph, Purpose purpose) {
  Context& context = model.context();
  const Program& program = model.program();
  auto groups =
      answer(context, 4 * kQuota, program.name + ": recurrences", [&] { return recurrences(program, graph); });
  if (!groups) return groups.error();
  std::vector<FoundBand> out;
  for (FoundBand& group : *groups) {
    const int stops = context.quota_stops();
    group.band = mapped(model, graph, group.statements, purpose);
    if (!group.band && context.quota_stops() > stops)
      return fail("PW0830", program.name + ": a band of " + graph.statements[group.statements[0]].name +
                                " not found within the quota");
    absorb(model, graph, purpose, group, out);
    out.push_back(std::move(group));
  }
  return out;
}

/// { S[x] -> [members, position] } of the elements of the band's statement at a position.
Map times_of(const Model& model, const Statement& statement, const BandProposal& band, size_t position) {
  const Mapped& mapped = band.statements[position];
  const Space space = model.statement_space(mapped.equation);
  isl_aff_list* list = isl_aff_list_alloc(model.context().get(), static_cast<int>(mapped.members.size()) + 1);
  const BandModel values(model, {{mapped}, {}});
  for (const Affine& member : mapped.members) list = isl_aff_list_add(list, values.value(member, space, 0).take());
  list = isl_aff_list_add(list, values.value(Affine::of(static_cast<int64_t>(position)), space, 0).take());
  const Space time(isl_space_set_alloc(model.context().get(), 0, static_cast<unsigned>(mapped.members.size()) + 1));
  isl_space* to = isl_space_map_from_domain_and_range(space.copy(), time.copy());
  Map members(isl_map_from_multi_aff(isl_multi_aff_from_aff_list(to, list)));
  Map element =
      restrict_domain(model.element_map(mapped.equation, model.program().equations[mapped.equation].targets.front()),
                      model.instances(mapped.equation));
  element = Map(isl_map_set_tuple_name(element.take(), isl_dim_out, statement.name.c_str()));
  return coalesced(compose(reverse(std::move(element)), std::move(members)));
}

/// The group as a part of an order; nothing where its members are no times of elements.
std::optional<Ordered> ordered(const Model& model, const ElementGraph& graph, const FoundBand& group) {
  Ordered out;
  out.recursive = true;
  std::vector<uint32_t> component;
  for (size_t k = 0; k < group.band->statements.size(); ++k) {
    auto is_it = [&](uint32_t v) { return graph.statements[v].equation == group.band->statements[k].equation; };
    const uint32_t v = *std::find_if(group.statements.begin(), group.statements.end(), is_it);
    out.statements.push_back(graph.statements[v]);
    out.times.push_back(times_of(model, graph.statements[v], *group.band, k));
    component.push_back(v);
  }
  if (!is_order(graph, component, out.times)) return std::nullopt;
  return out;
}

}  // namespace

Result<std::vector<Ordered>> order_by_bands(const Model& model) {
  const std::string& name = model.program().name;
  auto graph = element_graph(model, kQuota);
  if (!graph) return graph.error();
  auto groups = bands_of(model, *graph, Purpose::times);
  if (!groups) return groups.error();
  auto order = answer(model.context(), kProposalQuota, name + ": order by bands", [&] {
    std::optional<std::vector<Ordered>> out(std::in_place);
    for (const auto& component : merged_components(model.program(), *graph)) {
      if (!is_recursive(*graph, component)) {
        out->push_back({{graph->statements[component[0]]}, false, {}});
        continue;
      }
      auto holds = [&](const FoundBand& f) {
        return std::any_of(component.begin(), component.end(), [&](uint32_t v) {
          return std::find(f.statements.begin(), f.statements.end(), v) != f.statements.end();
        });
      };
      auto group = std::find_if(groups->begin(), groups->end(), [&](const FoundBand& f) { return f.band && holds(f); });
      if (group == groups->end()) return std::optional<std::vector<Ordered>>();
      const bool is_last = std::find(component.begin(), component.end(), group->statements.back()) != component.end();
      if (!is_last) continue;  // taken in by a later group
      auto part = ordered(model, *graph, *group);
      if (!part) return std::optional<std::vector<Ordered>>();
      out->push_back(*std::move(part));
    }
    return out;
  });
  if (!order) return order.error();
  if (!*order) return fail("PW0208", name + ": a recurrence has no band");
  return **std::move(order);
}

Result<std::vector<BandProposal>> propose_bands(const Program& program) {
  Context context;
  Model model(context, program, Sizes::bound);
  auto graph = element_graph(model, kQuota);
  if (!graph) return graph.error();
  auto groups = bands_of(model, *graph, Purpose::loops);
  if (!groups) return groups.error();
  std::vector<BandProposal> out;
  for (const FoundBand& group : *groups) {
    if (!group.band) continue;
    auto pieces =
        answer(context, 10 * kQuota, program.name + ": pieces of borders", [&] { return cut(model, *group.band); });
    if (!pieces) return pieces.error();
    if (*pieces) out.push_back(**std::move(pieces));
  }
  return out;
}

}  // namespace polyweft::poly
