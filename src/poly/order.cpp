#include "poly/order.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "ir/normalize/hidden_tensors.h"
#include "ir/values/variables.h"
#include "poly/coalesced.h"
#include "poly/element_order.h"
#include "poly/own_order.h"
#include "poly/strong_components.h"

namespace polyweft::poly {
namespace {

/// Beyond this a split equation is not worth scheduling.
constexpr size_t kMostOrderPieces = 64;

Map with_names(Map map, isl_dim_type type, const std::string& name) {
  return Map(isl_map_set_tuple_name(map.take(), type, name.c_str()));
}

void add_need(ElementGraph& graph, uint32_t from, uint32_t to, Map map) {
  if (is_empty(map)) return;
  auto same = std::find_if(graph.needs.begin(), graph.needs.end(),
                           [&](const Need& need) { return need.from == from && need.to == to; });
  if (same == graph.needs.end()) same = graph.needs.insert(same, Need{from, to, {}});
  same->reads.push_back(std::move(map));
}

std::vector<Map> maps_of(const UnionMap& all) {
  std::vector<Map> maps;
  auto add = [](isl_map* map, void* user) {
    static_cast<std::vector<Map>*>(user)->push_back(Map(map));
    return isl_stat_ok;
  };
  if (isl_union_map_foreach_map(all.get(), add, &maps) != isl_stat_ok) throw IslFailure();
  return maps;
}

/// isl's schedule as times of the component's statements.
std::optional<Times> isl_order(const Model& model, const ElementGraph& graph, const std::vector<uint32_t>& component,
                               const UnionMap& needs) {
  isl_union_set* domain = isl_union_set_empty_ctx(model.context().get());
  for (uint32_t v : component) domain = isl_union_set_add_set(domain, graph.statements[v].elements.copy());
  isl_schedule_constraints* constraints = isl_schedule_constraints_on_domain(domain);
  constraints = isl_schedule_constraints_set_context(constraints, model.assumptions().take());
  isl_union_map* before = isl_union_map_reverse(needs.copy());
  constraints = isl_schedule_constraints_set_validity(constraints, isl_union_map_copy(before));
  constraints = isl_schedule_constraints_set_proximity(constraints, before);
  Handle<isl_schedule> schedule(isl_schedule_constraints_compute_schedule(constraints));
  std::vector<Map> maps = maps_of(UnionMap(isl_schedule_get_map(schedule.get())));
  unsigned dims = 0;
  for (const Map& map : maps) dims = std::max(dims, static_cast<unsigned>(size(isl_map_dim(map.get(), isl_dim_out))));
  Times times;
  for (uint32_t v : component) {
    auto is_own = [&](const Map& map) {
      return graph.statements[v].name == isl_map_get_tuple_name(map.get(), isl_dim_in);
    };
    auto own = std::find_if(maps.begin(), maps.end(), is_own);
    if (own == maps.end()) return std::nullopt;
    times.push_back(padded(*own, dims));
  }
  if (!is_order(graph, component, times)) return std::nullopt;
  return times;
}

}  // namespace

namespace {

/// For each tensor the number of its cycle: tensors whose equations read each other, directly or not.
std::vector<uint32_t> cycles_of_tensors(const Program& program) {
  std::vector<std::vector<uint32_t>> edges(program.tensors.size());
  for (const Equation& equation : program.equations)
    for (const TensorId target : equation.targets) {
      edges[target].push_back(equation.targets.front());
      edges[equation.targets.front()].push_back(target);
      for (const PlacedRead& read : placed_reads(equation)) edges[target].push_back(read.node->access.id);
    }
  std::vector<uint32_t> out(program.tensors.size());
  const auto found = strong_components(edges);
  for (uint32_t c = 0; c < found.size(); ++c)
    for (const uint32_t tensor : found[c]) out[tensor] = c;
  return out;
}

/// Needs of `from` are the last ones.
void add_edge(ElementGraph& graph, uint32_t from, uint32_t to) {
  for (auto need = graph.needs.rbegin(); need != graph.needs.rend() && need->from == from; ++need)
    if (need->to == to) return;
  graph.needs.push_back({from, to, {}});
}

}  // namespace

ElementGraph element_statements(const Model& model) {
  const Program& program = model.program();
  ElementGraph graph;
  graph.cycles = cycles_of_tensors(program);
  for (EquationId q = 0; q < program.equations.size(); ++q) {
    std::string name = statement_name(program, q);
    Set elements = model.elements(q, program.equations[q].targets.front());
    graph.statements.push_back({q, name, Set(isl_set_set_tuple_name(elements.take(), name.c_str()))});
  }
  return graph;
}

void add_needs(const Model& model, EquationId q, ElementGraph& graph) {
  const Program& program = model.program();
  Map element = reverse(model.element_map(q, program.equations[q].targets.front()));
  for (const PlacedRead& read : placed_reads(program.equations[q])) {
    std::vector<EquationId> sources = ir::makers_of(program, read.node->access.id);
    if (sources.empty()) continue;
    if (graph.cycles[read.node->access.id] != graph.cycles[program.equations[q].targets.front()]) {
      for (const EquationId r : sources) add_edge(graph, q, r);
      continue;
    }
    Map need = with_names(compose(element, model.read_map(q, read)), isl_dim_in, graph.statements[q].name);
    for (EquationId r : sources) {
      if (!model.may_read(q, read, r)) continue;
      add_need(graph, q, r,
               restrict_range(with_names(need, isl_dim_out, graph.statements[r].name), graph.statements[r].elements));
    }
  }
}

unsigned long quotas_of(const Program& program, EquationId q) {
  constexpr size_t kReadsOfAQuota = 16;
  return 1 + placed_reads(program.equations[q]).size() / kReadsOfAQuota;
}

Result<ElementGraph> element_graph(const Model& model, unsigned long quota) {
  const Program& program = model.program();
  auto graph = answer(model.context(), quota, program.name + ": elements", [&] { return element_statements(model); });
  if (!graph) return graph.error();
  for (EquationId q = 0; q < program.equations.size(); ++q) {
    auto added =
        answer(model.context(), quota * quotas_of(program, q), "dependences of " + statement_name(program, q), [&] {
          add_needs(model, q, *graph);
          return true;
        });
    if (!added) return added.error();
  }
  return graph;
}

namespace {

std::vector<std::vector<uint32_t>> edges_of(const ElementGraph& graph) {
  std::vector<std::vector<uint32_t>> edges(graph.statements.size());
  for (const Need& need : graph.needs) edges[need.from].push_back(need.to);
  return edges;
}

bool starts_at_one_value(const Set& elements) {
  if (size(isl_set_dim(elements.get(), isl_dim_set)) == 0) return true;
  Val value(isl_set_plain_get_val_if_fixed(elements.get(), isl_dim_set, 0));
  return yes(isl_val_is_int(value.get()));
}

}  // namespace

std::vector<std::vector<uint32_t>> components(const ElementGraph& graph) {
  return strong_components(edges_of(graph));
}

std::vector<std::vector<uint32_t>> merged_components(const Program& program, const ElementGraph& graph) {
  std::vector<std::vector<uint32_t>> edges = edges_of(graph);
  std::vector<bool> recursive(graph.statements.size(), false);
  for (const auto& component : components(graph))
    for (uint32_t v : component) recursive[v] = is_recursive(graph, component);
  auto tensor = [&](uint32_t v) { return program.equations[graph.statements[v].equation].targets.front(); };
  for (uint32_t v = 0; v < edges.size(); ++v)
    for (uint32_t w = 0; w < edges.size(); ++w) {
      if (v == w || tensor(v) != tensor(w) || !recursive[v]) continue;
      if (!recursive[w] && starts_at_one_value(graph.statements[w].elements)) continue;
      edges[v].push_back(w);
      edges[w].push_back(v);
    }
  return strong_components(edges);
}

bool is_recursive(const ElementGraph& graph, const std::vector<uint32_t>& component) {
  if (component.size() > 1) return true;
  return std::any_of(graph.needs.begin(), graph.needs.end(),
                     [&](const Need& need) { return need.from == component[0] && need.to == component[0]; });
}

UnionMap needs_within(const ElementGraph& graph, const std::vector<uint32_t>& component) {
  UnionMap out(isl_union_map_empty_ctx(isl_set_get_ctx(graph.statements[0].elements.get())));
  for (const Need& need : graph.needs)
    if (ir::contains(component, need.from) && ir::contains(component, need.to) && !need.reads.empty())
      out = UnionMap(isl_union_map_add_map(out.take(), need.all().take()));
  return out;
}

Map Need::all() const {
  Map out = reads.front();
  for (size_t r = 1; r < reads.size(); ++r) out = coalesced(unite(std::move(out), reads[r]));
  return coalesced(std::move(out));
}

namespace {

std::optional<Times> order_of_isl(const Model& model, const ElementGraph& graph, const std::vector<uint32_t>& component,
                                  unsigned long quota) {
  auto needs = attempt(model.context(), quota, [&] { return needs_within(graph, component); });
  if (!needs) return std::nullopt;
  for (int algorithm : {ISL_SCHEDULE_ALGORITHM_ISL, ISL_SCHEDULE_ALGORITHM_FEAUTRIER}) {
    isl_options_set_schedule_algorithm(model.context().get(), algorithm);
    auto found = attempt(model.context(), quota, [&] { return isl_order(model, graph, component, *needs); });
    isl_options_set_schedule_algorithm(model.context().get(), ISL_SCHEDULE_ALGORITHM_ISL);
    if (found && *found) return *found;
    if (model.context().quota_spent()) break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Times> affine_order(const Model& model, const ElementGraph& graph, const std::vector<uint32_t>& component,
                                  unsigned long quota) {
  // Questions without a search, so that more of them take no minutes.
  constexpr unsigned long kForOwnOrders = 10;
  unsigned long quotas = 0;
  for (uint32_t v : component) quotas += quotas_of(model.program(), graph.statements[v].equation);
  const unsigned long for_own = std::max(kForOwnOrders, quotas) * quota;
  auto own = attempt(model.context(), for_own, [&] { return own_orders(graph, component, Ways::up); });
  if (own && *own) return *own;
  own = attempt(model.context(), for_own, [&] { return own_orders(graph, component, Ways::up_and_down); });
  if (own && *own) return *own;
  return order_of_isl(model, graph, component, quota);
}

namespace {

/// The disjoint convex parts of a set.
void add_convex_parts(Set set, std::vector<Set>& out) {
  Set disjoint(isl_set_make_disjoint(coalesced(std::move(set)).take()));
  auto add = [](isl_basic_set* one, void* user) {
    static_cast<std::vector<Set>*>(user)->push_back(Set(isl_set_from_basic_set(one)));
    return isl_stat_ok;
  };
  if (isl_set_foreach_basic_set(disjoint.get(), add, &out) != isl_stat_ok) throw IslFailure();
}

std::vector<Set> pieces_of_statement(const ElementGraph& graph, const std::vector<uint32_t>& component, uint32_t v) {
  std::vector<Set> pieces{graph.statements[v].elements};
  for (const Need& need : graph.needs) {
    if (need.from != v || !ir::contains(component, need.to)) continue;
    for (const Map& each : need.reads) {
      const Set read = domain_of(each);
      std::vector<Set> next;
      for (const Set& piece : pieces) {
        add_convex_parts(intersect(piece, read), next);
        add_convex_parts(subtract(piece, read), next);
      }
      pieces = std::move(next);
      if (pieces.size() > kMostOrderPieces) return pieces;
    }
  }
  return pieces;
}

}  // namespace

std::optional<ElementGraph> split(const ElementGraph& graph, const std::vector<uint32_t>& component) {
  ElementGraph out;
  std::vector<std::vector<uint32_t>> pieces_of(graph.statements.size());
  for (uint32_t v : component)
    for (const Set& piece : pieces_of_statement(graph, component, v)) {
      std::string name = graph.statements[v].name + "/" + std::to_string(pieces_of[v].size() + 1);
      pieces_of[v].push_back(static_cast<uint32_t>(out.statements.size()));
      out.statements.push_back(
          {graph.statements[v].equation, name, Set(isl_set_set_tuple_name(piece.copy(), name.c_str()))});
    }
  if (out.statements.size() == component.size() || out.statements.size() > kMostOrderPieces) return std::nullopt;
  for (const Need& need : graph.needs)
    for (uint32_t from : pieces_of[need.from])
      for (uint32_t to : pieces_of[need.to]) {
        for (const Map& read : need.reads) {
          Map map =
              with_names(with_names(read, isl_dim_in, out.statements[from].name), isl_dim_out, out.statements[to].name);
          add_need(out, from, to,
                   restrict_range(restrict_domain(std::move(map), out.statements[from].elements),
                                  out.statements[to].elements));
        }
      }

  return out;
}

namespace {

ElementGraph part_of(const ElementGraph& graph, const std::vector<uint32_t>& component) {
  ElementGraph out;
  std::vector<uint32_t> number(graph.statements.size(), UINT32_MAX);
  for (uint32_t v : component) {
    number[v] = static_cast<uint32_t>(out.statements.size());
    out.statements.push_back(graph.statements[v]);
  }
  for (const Need& need : graph.needs)
    if (number[need.from] != UINT32_MAX && number[need.to] != UINT32_MAX)
      out.needs.push_back({number[need.from], number[need.to], need.reads});
  return out;
}

/// Parts of an order element by element that are better than an equation in pieces.
constexpr size_t kFewLoops = 24;
constexpr unsigned long kElementOrderShare =
    10;  // of the quota: closures of element graphs take operations, not minutes

bool order_component(const Model& model, const ElementGraph& graph, const std::vector<uint32_t>& component,
                     unsigned long quota, std::vector<Ordered>& out, bool may_split) {
  Ordered part;
  for (uint32_t v : component) part.statements.push_back(graph.statements[v]);
  part.recursive = is_recursive(graph, component);
  if (part.recursive) {
    auto times = affine_order(model, graph, component, quota);
    if (!times) {
      ElementGraph part = part_of(graph, component);
      auto smaller = components(part);
      if (smaller.size() > 1) {
        for (const auto& inner : smaller)
          if (!order_component(model, part, inner, quota, out, may_split)) return false;
        return true;
      }
      if (may_split && model.has_numbers_only()) {
        auto exact = attempt(model.context(), quota * kElementOrderShare,
                             [&] { return element_order(model, graph, component); });
        if (exact && exact->verdict == ElementOrder::Verdict::cyclic) return false;
        if (exact && exact->verdict == ElementOrder::Verdict::ordered && exact->loops <= kFewLoops) {
          std::move(exact->parts.begin(), exact->parts.end(), std::back_inserter(out));
          return true;
        }
      }
      auto pieces = may_split ? attempt(model.context(), quota, [&] { return split(graph, component); }) : std::nullopt;
      if (!pieces || !*pieces) return false;
      for (const auto& inner : components(**pieces))
        if (!order_component(model, **pieces, inner, quota, out, false)) return false;
      return true;
    }
    part.times = std::move(*times);
  }
  out.push_back(std::move(part));
  return true;
}

/// Affine, in pieces, and at last element by element.
Status order_whole(const Model& model, const ElementGraph& graph, const std::vector<uint32_t>& component,
                   unsigned long quota, std::vector<Ordered>& out) {
  const size_t before = out.size();
  const int stops = model.context().quota_stops();
  if (order_component(model, graph, component, quota, out, true)) return Ok{};
  out.resize(before);
  const std::string& first = graph.statements[component[0]].name;
  const std::vector<std::string> remedy{"split its equations where their dependences change direction"};
  if (!model.has_numbers_only()) {
    if (model.context().quota_stops() > stops)
      return fail("PW0830",
                  "order of " + first + " not decided within the quota (" + std::to_string(quota) + " isl operations)");
    return fail("PW0208", "no affine order computes " + first, remedy);
  }
  auto exact = answer(model.context(), quota * kElementOrderShare, "order of " + first,
                      [&] { return element_order(model, graph, component); });
  if (!exact) return exact.error();
  if (exact->verdict != ElementOrder::Verdict::ordered)
    return fail("PW0208", "no affine order computes " + first + ", whole or in pieces; " + refusal_text(*exact),
                remedy);
  std::move(exact->parts.begin(), exact->parts.end(), std::back_inserter(out));
  return Ok{};
}

}  // namespace

Result<std::vector<Ordered>> base_order(const Model& model, unsigned long quota) {
  auto graph = element_graph(model, quota);
  if (!graph) return graph.error();
  std::vector<Ordered> out;
  for (const auto& component : merged_components(model.program(), *graph)) {
    auto done = order_whole(model, *graph, component, quota, out);
    if (!done) return done.error();
  }
  return out;
}

}  // namespace polyweft::poly
