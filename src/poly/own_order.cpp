#include "poly/own_order.h"

#include <algorithm>

#include "ir/values/variables.h"
#include "poly/strong_components.h"

namespace polyweft::poly {
namespace {

using ir::contains;

/// Dimensions of a statement that run from their greatest index to their least.
using Mirrored = std::vector<bool>;

/// { S[x] -> [x_0 .. x_(depth-1), position, x_depth .. , 0 ..] }, padded to `dims`; -x_d where d is mirrored.
Map own_order(const Statement& statement, unsigned depth, unsigned position, unsigned dims, const Mirrored& mirrored) {
  const Space space(isl_set_get_space(statement.elements.get()));
  const auto rank = static_cast<unsigned>(isl_space_dim(space.get(), isl_dim_set));
  isl_space* times = isl_space_add_dims(isl_space_params(space.copy()), isl_dim_set, dims);
  isl_map* map = isl_map_universe(isl_space_map_from_domain_and_range(space.copy(), times));
  for (unsigned at = 0; at < dims; ++at) {
    const unsigned d = at < depth ? at : at - 1;
    if (at == depth)
      map = isl_map_fix_si(map, isl_dim_out, at, static_cast<int>(position));
    else if (d >= rank)
      map = isl_map_fix_si(map, isl_dim_out, at, 0);
    else if (d < mirrored.size() && mirrored[d])
      map = isl_map_oppose(map, isl_dim_in, static_cast<int>(d), isl_dim_out, static_cast<int>(at));
    else
      map = isl_map_equate(map, isl_dim_in, static_cast<int>(d), isl_dim_out, static_cast<int>(at));
  }
  return Map(map);
}

unsigned greatest_rank(const ElementGraph& graph, const std::vector<uint32_t>& component) {
  unsigned rank = 0;
  for (uint32_t v : component)
    rank = std::max(rank, static_cast<unsigned>(size(isl_set_dim(graph.statements[v].elements.get(), isl_dim_set))));
  return rank;
}

/// Positions of the statements at equal first `depth` coordinates, producers first; nothing where they need each other
/// there.
std::optional<std::vector<uint32_t>> sequence_at(const ElementGraph& graph, const std::vector<uint32_t>& component,
                                                 unsigned depth) {
  std::vector<std::vector<uint32_t>> edges(graph.statements.size());
  const auto meets_at = [&](Map read) {
    unsigned shared = std::min({depth, static_cast<unsigned>(size(isl_map_dim(read.get(), isl_dim_in))),
                                static_cast<unsigned>(size(isl_map_dim(read.get(), isl_dim_out)))});
    for (unsigned d = 0; d < shared; ++d)
      read = Map(isl_map_equate(read.take(), isl_dim_in, static_cast<int>(d), isl_dim_out, static_cast<int>(d)));
    return !is_empty(read);
  };
  for (const Need& need : graph.needs) {
    if (!contains(component, need.from) || !contains(component, need.to) || need.from == need.to) continue;
    if (std::any_of(need.reads.begin(), need.reads.end(), meets_at)) edges[need.from].push_back(need.to);
  }
  std::vector<uint32_t> sequence;
  for (const auto& group : strong_components(edges)) {
    if (group.size() > 1) return std::nullopt;
    if (contains(component, group[0])) sequence.push_back(group[0]);
  }
  return sequence;
}

/// Whether all pairs of times (reader, source) of the map have the reader after the source, in lexicographic order.
bool is_after(Map pairs) {
  const int dims = size(isl_map_dim(pairs.get(), isl_dim_in));
  for (int d = 0; d < dims && !is_empty(pairs); ++d) {
    if (!is_empty(Map(isl_map_order_lt(pairs.copy(), isl_dim_in, d, isl_dim_out, d)))) return false;
    pairs = Map(isl_map_equate(pairs.take(), isl_dim_in, d, isl_dim_out, d));
  }
  return is_empty(pairs);
}

/// Whether readers and what they read differ in a dimension at equal ones before: readers behind, or in front.
struct Directions {
  bool behind = false, in_front = false;
};

/// In dimension d; leaves in `reads` what is equal there.
Directions directions_in(int d, std::vector<Map>& reads) {
  Directions out;
  std::vector<Map> equal;
  for (const Map& read : reads) {
    const int rank = std::min(size(isl_map_dim(read.get(), isl_dim_in)), size(isl_map_dim(read.get(), isl_dim_out)));
    if (rank <= d) continue;
    out.behind = out.behind || !is_empty(Map(isl_map_order_gt(read.copy(), isl_dim_in, d, isl_dim_out, d)));
    out.in_front = out.in_front || !is_empty(Map(isl_map_order_lt(read.copy(), isl_dim_in, d, isl_dim_out, d)));
    Map same(isl_map_equate(read.copy(), isl_dim_in, d, isl_dim_out, d));
    if (!is_empty(same)) equal.push_back(std::move(same));
  }
  reads = std::move(equal);
  return out;
}

/// A back substitution runs down: all statements in dimensions before `depth`, each by itself in the others.
std::vector<Mirrored> mirrored_dimensions(const ElementGraph& graph, const std::vector<uint32_t>& component,
                                          unsigned depth) {
  const unsigned rank = greatest_rank(graph, component);
  std::vector<Map> all;
  for (const Need& need : graph.needs)
    if (contains(component, need.from) && contains(component, need.to))
      all.insert(all.end(), need.reads.begin(), need.reads.end());
  const auto runs_down = [](unsigned d, std::vector<Map>& reads) {
    const Directions found = directions_in(static_cast<int>(d), reads);
    return found.in_front && !found.behind;
  };
  Mirrored outer;
  for (unsigned d = 0; d < depth; ++d) outer.push_back(runs_down(d, all));
  std::vector<Mirrored> out;
  for (uint32_t v : component) {
    std::vector<Map> own;
    for (const Need& need : graph.needs)
      if (need.from == v && need.to == v) own.insert(own.end(), need.reads.begin(), need.reads.end());
    Mirrored mine = outer;
    for (unsigned d = 0; d < rank; ++d) {
      const bool is_down = runs_down(d, own);
      if (d >= depth) mine.push_back(is_down);
    }
    out.push_back(std::move(mine));
  }
  return out;
}

bool is_any(const std::vector<Mirrored>& all) {
  return std::any_of(all.begin(), all.end(),
                     [](const Mirrored& each) { return std::find(each.begin(), each.end(), true) != each.end(); });
}

}  // namespace

std::optional<Times> own_orders(const ElementGraph& graph, const std::vector<uint32_t>& component, Ways ways) {
  unsigned rank = greatest_rank(graph, component);
  for (unsigned depth = 1; depth <= rank; ++depth) {
    auto sequence = sequence_at(graph, component, depth);
    if (!sequence) continue;
    std::vector<Mirrored> mirrored(component.size());
    if (ways == Ways::up_and_down) mirrored = mirrored_dimensions(graph, component, depth);
    if (ways == Ways::up_and_down && !is_any(mirrored)) continue;  // tried
    Times times;
    for (size_t k = 0; k < component.size(); ++k) {
      auto position = std::find(sequence->begin(), sequence->end(), component[k]) - sequence->begin();
      times.push_back(
          own_order(graph.statements[component[k]], depth, static_cast<unsigned>(position), rank + 1, mirrored[k]));
    }
    if (is_order(graph, component, times)) return times;
  }
  return std::nullopt;
}

bool is_order(const ElementGraph& graph, const std::vector<uint32_t>& component, const Times& times) {
  const auto time_of = [&](uint32_t v) -> const Map* {
    const auto at = std::find(component.begin(), component.end(), v);
    return at == component.end() ? nullptr : &times[static_cast<size_t>(at - component.begin())];
  };
  for (const Need& need : graph.needs) {
    const Map *reader = time_of(need.from), *source = time_of(need.to);
    if (reader == nullptr || source == nullptr) continue;
    for (const Map& read : need.reads)
      if (!is_after(Map(isl_map_apply_range(isl_map_apply_domain(read.copy(), reader->copy()), source->copy()))))
        return false;
  }
  return true;
}

}  // namespace polyweft::poly
