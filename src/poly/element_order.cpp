#include "poly/element_order.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "ir/values/domain.h"
#include "poly/runs.h"

namespace polyweft::poly {
namespace {

constexpr size_t kMostOrderedElements = size_t{1} << 18;
constexpr size_t kMostNeeds = size_t{1} << 22;
constexpr uint64_t kMostVisits = uint64_t{1} << 25;
constexpr size_t kMostElementLoops = 400;
constexpr size_t kFewElementLoops = 12;
constexpr size_t kMostCells = size_t{1} << 22;

struct TooLarge {};

using Edges = std::vector<std::vector<uint32_t>>;

/// The elements of a component, numbered statement by statement in lexicographic order, and what each needs.
class Elements {
 public:
  Elements(const Program& program, const ElementGraph& graph, const std::vector<uint32_t>& component)
      : program_(program), cells_(program.tensors.size()) {
    for (uint32_t k = 0; k < component.size(); ++k)
      enumerate(k, program.equations[graph.statements[component[k]].equation]);
    for (TensorId tensor = 0; tensor < cells_.size(); ++tensor) index(tensor);
    needs.resize(points.size());
    for (uint32_t v : component) add_needs(program.equations[graph.statements[v].equation]);
    for (auto& each : needs) {
      std::sort(each.begin(), each.end());
      each.erase(std::unique(each.begin(), each.end()), each.end());
    }
  }

  std::vector<Run> points;
  Edges needs;

 private:
  struct Cells {
    std::vector<uint32_t> numbers;
    std::vector<int64_t> lo, hi;
    std::vector<uint32_t> table;  ///< row-major in lo..hi; UINT32_MAX where nothing is
  };

  void count_visit() {
    if (++visits_ > kMostVisits) throw TooLarge();
  }

  template <class F>
  void walk(const std::vector<IndexRange>& ranges, size_t depth, const std::vector<Guard>& conditions,
            ir::Environment& env, const F& f) {
    count_visit();
    if (depth == ranges.size()) {
      for (const Guard& g : conditions)
        if (!evaluate(g, env)) return;
      return f();
    }
    int64_t lo = evaluate(ranges[depth].lo, env), hi = evaluate(ranges[depth].hi, env);
    for (int64_t value = lo; value < hi; ++value) {
      env[ranges[depth].var] = value;
      walk(ranges, depth + 1, conditions, env, f);
    }
  }

  void enumerate(uint32_t statement, const Equation& equation) {
    ir::Environment env = ir::environment_of(program_, equation);
    walk(ir::slot_ranges(equation), 0, {equation.where}, env, [&] {
      if (points.size() >= kMostOrderedElements) throw TooLarge();
      Run point;
      point.statement = statement;
      point.numbers = ir::element_at(equation, env);
      for (TensorId target : equation.targets) cells_[target].numbers.push_back(static_cast<uint32_t>(points.size()));
      points.push_back(std::move(point));
    });
  }

  void index(TensorId tensor) {
    Cells& cells = cells_[tensor];
    if (cells.numbers.empty()) return;
    cells.lo = cells.hi = points[cells.numbers[0]].numbers;
    for (uint32_t n : cells.numbers)
      for (size_t d = 0; d < cells.lo.size(); ++d) {
        cells.lo[d] = std::min(cells.lo[d], points[n].numbers[d]);
        cells.hi[d] = std::max(cells.hi[d], points[n].numbers[d]);
      }
    __int128 size = 1;
    for (size_t d = 0; d < cells.lo.size(); ++d) {
      size *= static_cast<__int128>(cells.hi[d]) - cells.lo[d] + 1;
      if (size > static_cast<__int128>(kMostCells)) throw TooLarge();
    }
    cells.table.assign(static_cast<size_t>(size), UINT32_MAX);
    for (uint32_t n : cells.numbers) cells.table[*cell(cells, points[n].numbers)] = n;
  }

  static std::optional<size_t> cell(const Cells& cells, const std::vector<int64_t>& at) {
    size_t flat = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      if (at[d] < cells.lo[d] || at[d] > cells.hi[d]) return std::nullopt;
      flat = flat * static_cast<size_t>(cells.hi[d] - cells.lo[d] + 1) + static_cast<size_t>(at[d] - cells.lo[d]);
    }
    return flat;
  }

  void add_needs(const Equation& equation) {
    for (const PlacedRead& read : placed_reads(equation)) {
      const Cells& cells = cells_[read.node->access.id];
      if (cells.numbers.empty()) continue;
      const Cells& own = cells_[equation.targets.front()];
      ir::Environment env = ir::environment_of(program_, equation);
      walk(read.place.indices, 0, read.place.conditions, env, [&] {
        uint32_t reader = own.table[*cell(own, ir::element_at(equation, env))];
        std::vector<int64_t> at;
        add_reads(cells, read.node->access, env, at, needs[reader]);
      });
    }
  }

  /// A gather may read its whole interval.
  void add_reads(const Cells& cells, const Access& access, const ir::Environment& env, std::vector<int64_t>& at,
                 std::vector<uint32_t>& out) {
    if (at.size() == access.index.size()) {
      auto flat = cell(cells, at);
      if (!flat || cells.table[*flat] == UINT32_MAX) return;
      if (++need_count_ > kMostNeeds) throw TooLarge();
      out.push_back(cells.table[*flat]);
      return;
    }
    const Subscript& s = access.index[at.size()];
    int64_t lo = evaluate(s.affine, env), hi = lo;
    if (s.data) {
      size_t d = at.size();
      hi = std::min(lo + evaluate(s.hi, env), cells.hi[d]);
      lo = std::max(lo + evaluate(s.lo, env), cells.lo[d]);
    }
    for (int64_t value = lo; value <= hi; ++value) {
      count_visit();
      at.push_back(value);
      add_reads(cells, access, env, at, out);
      at.pop_back();
    }
  }

  const Program& program_;
  std::vector<Cells> cells_;
  uint64_t visits_ = 0;
  size_t need_count_ = 0;
};

Edges readers_of(const Edges& needs) {
  Edges out(needs.size());
  for (uint32_t v = 0; v < needs.size(); ++v)
    for (uint32_t w : needs[v]) out[w].push_back(v);
  return out;
}

/// Rank of each element: by statement, then point (as numbered), or by point, then statement.
std::vector<uint32_t> ranks(const std::vector<Run>& points, bool points_first) {
  std::vector<uint32_t> order(points.size()), rank(points.size());
  std::iota(order.begin(), order.end(), 0u);
  if (points_first)
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return points[a].numbers < points[b].numbers; });
  for (uint32_t k = 0; k < order.size(); ++k) rank[order[k]] = k;
  return rank;
}

/// Kahn 1962, always taking the least key among what is ready; shorter than the elements where there is a cycle.
std::vector<uint32_t> least_ready_first(const Edges& needs, const Edges& readers, const std::vector<uint32_t>& key) {
  std::vector<uint32_t> waiting(needs.size()), at_key(needs.size()), out;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t v = 0; v < needs.size(); ++v) {
    at_key[key[v]] = v;
    waiting[v] = static_cast<uint32_t>(needs[v].size());
    if (waiting[v] == 0) ready.push(key[v]);
  }
  while (!ready.empty()) {
    uint32_t v = at_key[ready.top()];
    ready.pop();
    out.push_back(v);
    for (uint32_t reader : readers[v])
      if (--waiting[reader] == 0) ready.push(key[reader]);
  }
  return out;
}

/// By the length of the longest chain of needs below, then by key. `some` is any topological order.
std::vector<uint32_t> by_level(const Edges& needs, const std::vector<uint32_t>& some,
                               const std::vector<uint32_t>& key) {
  std::vector<uint32_t> level(needs.size(), 0), out = some;
  for (uint32_t v : some)
    for (uint32_t w : needs[v]) level[v] = std::max(level[v], level[w] + 1);
  std::sort(out.begin(), out.end(),
            [&](uint32_t a, uint32_t b) { return std::pair(level[a], key[a]) < std::pair(level[b], key[b]); });
  return out;
}

/// Each element right after what it needs, the elements asked for by key.
std::vector<uint32_t> on_demand(const Edges& needs, const std::vector<uint32_t>& key) {
  std::vector<uint32_t> at_key(needs.size()), out, next(needs.size(), 0), stack;
  std::vector<bool> seen(needs.size(), false);
  for (uint32_t v = 0; v < needs.size(); ++v) at_key[key[v]] = v;
  for (uint32_t root : at_key) {
    if (seen[root]) continue;
    seen[root] = true;
    stack.push_back(root);
    while (!stack.empty()) {
      uint32_t v = stack.back();
      if (next[v] == needs[v].size()) {
        out.push_back(v);
        stack.pop_back();
        continue;
      }
      uint32_t w = needs[v][next[v]++];
      if (seen[w]) continue;
      seen[w] = true;
      stack.push_back(w);
    }
  }
  return out;
}

std::vector<Run> fewest_loops(const Elements& all, const Edges& readers, const std::vector<uint32_t>& some) {
  std::vector<Run> best;
  auto consider = [&](const std::vector<uint32_t>& order) {
    std::vector<Run> list;
    list.reserve(order.size());
    for (uint32_t v : order) list.push_back(all.points[v]);
    list = folded(std::move(list));
    if (best.empty() || points_in(list) < points_in(best)) best = std::move(list);
    return points_in(best) <= kFewElementLoops;
  };
  for (bool points_first : {true, false}) {
    std::vector<uint32_t> key = ranks(all.points, points_first), last_first = key;
    for (uint32_t& k : last_first) k = static_cast<uint32_t>(key.size()) - 1 - k;
    if (consider(least_ready_first(all.needs, readers, key)) || consider(by_level(all.needs, some, key)) ||
        consider(on_demand(all.needs, key)) || consider(least_ready_first(all.needs, readers, last_first)) ||
        consider(by_level(all.needs, some, last_first)) || consider(on_demand(all.needs, last_first)))
      break;
  }
  return best;
}

/// An affine function of the loops' counters k0, k1, ..: constant, then coefficients.
using Linear = std::vector<int64_t>;

std::string linear_text(const Linear& e) {
  std::string out = std::to_string(e[0]);
  for (size_t k = 1; k < e.size(); ++k)
    if (e[k] != 0) out += " + " + std::to_string(e[k]) + "*k" + std::to_string(k - 1);
  return out;
}

/// Loops -> one statement a point in the text, with its times [k0, child, k1, child, ..].
class Parts {
 public:
  Parts(const Model& model, const ElementGraph& graph, const std::vector<uint32_t>& component)
      : model_(model), graph_(graph), component_(component) {}

  Ordered part(const Run& run) {
    out_ = {};
    out_.recursive = true;
    limits_.clear();
    children_.clear();
    std::vector<Linear> numbers;
    for (int64_t n : run.numbers) numbers.push_back({n});
    add(run, numbers);
    unsigned dims = 0;
    for (const Map& map : out_.times)
      dims = std::max(dims, static_cast<unsigned>(size(isl_map_dim(map.get(), isl_dim_out))));
    for (Map& map : out_.times) map = padded(std::move(map), dims);
    return std::move(out_);
  }

 private:
  void add(const Run& run, const std::vector<Linear>& numbers) {
    if (run.children.empty()) return add_point(run, numbers);
    limits_.push_back(numbers[0]);
    size_t from = 1, depth = limits_.size();
    for (size_t c = 0; c < run.children.size(); ++c) {
      std::vector<Linear> child(numbers.begin() + static_cast<std::ptrdiff_t>(from),
                                numbers.begin() + static_cast<std::ptrdiff_t>(from + run.steps[c].size()));
      for (size_t d = 0; d < child.size(); ++d) {
        child[d].resize(depth + 1, 0);
        child[d][depth] = run.steps[c][d];
      }
      children_.push_back(c);
      add(run.children[c], child);
      children_.pop_back();
      from += child.size();
    }
    limits_.pop_back();
  }

  void add_point(const Run& run, const std::vector<Linear>& at) {
    const Statement& whole = graph_.statements[component_[run.statement]];
    std::string text, conditions;
    for (size_t d = 0; d < at.size(); ++d) text += (d ? ", x" : "x") + std::to_string(d);
    text = "{ [" + text + "] -> [";
    for (size_t k = 0; k < limits_.size(); ++k)
      text += (k ? ", k" : "k") + std::to_string(k) + ", " + std::to_string(children_[k]);
    text += limits_.empty() ? "0]" : "]";
    for (size_t d = 0; d < at.size(); ++d)
      conditions += (conditions.empty() ? " : x" : " and x") + std::to_string(d) + " = " + linear_text(at[d]);
    for (size_t k = 0; k < limits_.size(); ++k)
      conditions +=
          (conditions.empty() ? " : 0 <= k" : " and 0 <= k") + std::to_string(k) + " < " + linear_text(limits_[k]);
    Map times(isl_map_read_from_str(model_.context().get(), (text + conditions + " }").c_str()));
    std::string name = whole.name + "/" + std::to_string(++pieces_);
    times = Map(isl_map_set_tuple_name(times.take(), isl_dim_in, name.c_str()));
    out_.statements.push_back({whole.equation, name, domain_of(times)});
    out_.times.push_back(std::move(times));
  }

  const Model& model_;
  const ElementGraph& graph_;
  const std::vector<uint32_t>& component_;
  Ordered out_;
  std::vector<Linear> limits_;
  std::vector<size_t> children_;
  size_t pieces_ = 0;
};

}  // namespace

ElementOrder element_order(const Model& model, const ElementGraph& graph, const std::vector<uint32_t>& component) {
  ElementOrder out;
  try {
    Elements all(model.program(), graph, component);
    out.elements = all.points.size();
    Edges readers = readers_of(all.needs);
    std::vector<uint32_t> some = least_ready_first(all.needs, readers, ranks(all.points, false));
    out.verdict = ElementOrder::Verdict::cyclic;
    if (some.size() < all.points.size()) return out;
    std::vector<Run> runs = fewest_loops(all, readers, some);
    out.loops = points_in(runs);
    out.verdict = ElementOrder::Verdict::too_irregular;
    if (out.loops > kMostElementLoops) return out;
    Parts parts(model, graph, component);
    for (const Run& run : runs) out.parts.push_back(parts.part(run));
    out.verdict = ElementOrder::Verdict::ordered;
  } catch (const TooLarge&) {
    out.verdict = ElementOrder::Verdict::too_large;
  }
  return out;
}

std::string refusal_text(const ElementOrder& order) {
  switch (order.verdict) {
    case ElementOrder::Verdict::cyclic:
      return "at these sizes its elements need each other";
    case ElementOrder::Verdict::too_large:
      return "too large for an order element by element (" + std::to_string(kMostOrderedElements) + " elements, " +
             std::to_string(kMostNeeds) + " reads)";
    case ElementOrder::Verdict::too_irregular:
      return "an order of its " + std::to_string(order.elements) + " elements takes " + std::to_string(order.loops) +
             " statements, more than " + std::to_string(kMostElementLoops);
    case ElementOrder::Verdict::ordered:
      break;
  }
  return "";
}

}  // namespace polyweft::poly
