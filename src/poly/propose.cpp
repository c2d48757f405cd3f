// Bands for the groups of equations that need each other.
#include <algorithm>

#include "poly/band_search.h"
#include "poly/order.h"
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
      return r.sink == s && r.may_be_zero && !is_placed[r.source] && !(r.kind == Relation::Kind::order && r.source == r.sink);
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

  Group(const Model& model, BandQuestion question) : band(model, std::move(question)), pairs(flow_and_order_pairs(band)) {}
};

/// The plan as a proposal in running order, where isl says that it keeps everything.
std::optional<BandProposal> tested(Group& group, const BandPlan& plan) {
  group.band.map(plan.members);
  const std::vector<Relation> relations = measured(group.band, group.pairs);
  if (std::any_of(relations.begin(), relations.end(), [](const Relation& r) { return !r.is_lex_positive; })) return std::nullopt;
  auto order = sequence(relations, plan.members.size());
  if (!order) return std::nullopt;
  BandProposal out{{}, plan.names};
  for (uint32_t s : *order) out.statements.push_back(group.band.question().statements[s]);
  return out;
}

/// A row of isl's schedule over coordinates of elements, over the equation's indices; nothing where it has quotients.
std::optional<Affine> row_value(const Program& program, EquationId q, isl_aff* row) {
  if (size(isl_aff_dim(row, isl_dim_div)) != 0 || !yes(isl_val_is_one(Val(isl_aff_get_denominator_val(row)).get()))) return std::nullopt;
  Affine out = Affine::of(integer(Val(isl_aff_get_constant_val(row))));
  const auto& slots = program.equations[q].slots;
  for (size_t d = 0; d < slots.size(); ++d) {
    const int64_t factor = integer(Val(isl_aff_get_coefficient_val(row, isl_dim_in, static_cast<int>(d))));
    out = out + factor * (slots[d].var == kNoVar ? slots[d].position : Affine::variable(slots[d].var));
  }
  return out;
}

/// The times of a base order as members, where they are affine functions.
std::optional<BandPlan> plan_of(const Group& group, const Times& times) {
  BandPlan out;
  for (size_t s = 0; s < times.size(); ++s) {
    Handle<isl_pw_multi_aff> pieces(isl_pw_multi_aff_from_map(isl_map_coalesce(times[s].copy())));
    if (!yes(isl_pw_multi_aff_isa_multi_aff(pieces.get()))) return std::nullopt;
    Handle<isl_multi_aff> rows(isl_pw_multi_aff_as_multi_aff(pieces.take()));
    std::vector<Affine> members;
    for (int k = 0; k < size(isl_multi_aff_dim(rows.get(), isl_dim_out)); ++k) {
      auto value = row_value(group.band.program(), group.band.question().statements[s].equation, Aff(isl_multi_aff_get_at(rows.get(), k)).get());
      if (!value) return std::nullopt;
      members.push_back(std::move(*value));
    }
    out.members.push_back(std::move(members));
  }
  for (size_t k = 0; k < out.members[0].size();) {
    const bool stands =
        std::all_of(out.members.begin(), out.members.end(), [&](const auto& members) { return members[k] == out.members[0][k] && members[k].is_constant(); });
    if (stands && out.members[0].size() > 1) {
      for (auto& members : out.members) members.erase(members.begin() + static_cast<int64_t>(k));
    } else {
      ++k;
    }
  }
  for (size_t k = 0; k < out.members[0].size(); ++k) out.names.push_back("b" + std::to_string(k));
  return out;
}

std::optional<BandProposal> mapped(const Model& model, const ElementGraph& graph, const std::vector<uint32_t>& component) {
  BandQuestion question;
  for (uint32_t v : component) question.statements.push_back({graph.statements[v].equation, {}, {Affine::of(0)}});
  if (!validate(model.program(), question)) return std::nullopt;
  std::optional<Group> group;
  const bool is_ready = attempt(model.context(), kProposalQuota, [&] { return &group.emplace(model, std::move(question)); }).has_value();
  if (!is_ready) return std::nullopt;
  for (BandStyle style : {BandStyle::folds, BandStyle::permutable, BandStyle::serial}) {
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
      if (points.first && points.equation == statement.equation) missing = subtract(std::move(missing), points.instances);
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
struct Found {
  std::vector<uint32_t> statements;
  std::optional<BandProposal> band;
};

/// The groups that need themselves, producers first.
std::vector<Found> recurrences(const Program& program, const ElementGraph& graph) {
  std::vector<Found> out;
  for (std::vector<uint32_t> component : merged_components(program, graph)) {
    if (!is_recursive(graph, component)) continue;
    std::erase_if(component, [&](uint32_t v) { return is_empty(graph.statements[v].elements); });
    if (!component.empty()) out.push_back({std::move(component), std::nullopt});
  }
  return out;
}

/// Whether nothing outside of `by` reads what `group` makes.
bool is_read_only_by(const Program& program, const ElementGraph& graph, const Found& group, const Found& by) {
  auto holds = [](const Found& f, uint32_t v) { return std::find(f.statements.begin(), f.statements.end(), v) != f.statements.end(); };
  for (uint32_t v : group.statements)
    for (TensorId target : program.equations[graph.statements[v].equation].targets)
      if (program.tensors[target].kind != TensorKind::local) return false;
  bool is_read = false;
  for (const Need& need : graph.needs) {
    if (!holds(group, need.to) || holds(group, need.from)) continue;
    if (!holds(by, need.from)) return false;
    is_read = true;
  }
  return is_read;
}

/// Takes producers that only this group reads into its band, where all move along its first member: run before it they would keep all their planes.
void absorb(const Model& model, const ElementGraph& graph, Found& group, std::vector<Found>& producers) {
  for (Found& producer : producers) {
    if (!producer.band || !group.band || !is_read_only_by(model.program(), graph, producer, group)) continue;
    Found both{producer.statements, std::nullopt};
    both.statements.insert(both.statements.end(), group.statements.begin(), group.statements.end());
    both.band = mapped(model, graph, both.statements);
    if (!both.band || std::any_of(both.band->statements.begin(), both.band->statements.end(), [](const Mapped& m) { return m.members[0].is_constant(); })) continue;
    group = std::move(both);
    producer.band.reset();
  }
}

}  // namespace

Result<std::vector<BandProposal>> propose_bands(const Program& program) {
  Context context;
  Model model(context, program, Sizes::bound);
  auto graph = answer(context, 4 * kQuota, program.name + ": dependences", [&] { return element_graph(model); });
  if (!graph) return graph.error();
  auto groups = answer(context, 4 * kQuota, program.name + ": recurrences", [&] { return recurrences(program, *graph); });
  if (!groups) return groups.error();
  std::vector<Found> found;
  for (Found& group : *groups) {
    const int stops = context.quota_stops();
    group.band = mapped(model, *graph, group.statements);
    if (!group.band && context.quota_stops() > stops)
      return fail("PW0830", program.name + ": a band of " + graph->statements[group.statements[0]].name + " not found within the quota");
    absorb(model, *graph, group, found);
    found.push_back(std::move(group));
  }
  std::vector<BandProposal> out;
  for (const Found& group : found) {
    if (!group.band) continue;
    auto pieces = answer(context, 10 * kQuota, program.name + ": pieces of borders", [&] { return cut(model, *group.band); });
    if (!pieces) return pieces.error();
    if (*pieces) out.push_back(**std::move(pieces));
  }
  return out;
}

}  // namespace polyweft::poly
