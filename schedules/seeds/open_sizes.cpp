#include "schedules/seeds/open_sizes.h"

#include <algorithm>
#include <map>
#include <set>

namespace polyweft::schedules {
namespace {

constexpr size_t kMostDecisions = 48;  // a trace has at most 64
constexpr size_t kMostUnrolledCuts = 8;

int64_t rounded_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::string base_of(const std::string& loop) {
  return loop.substr(0, loop.find('.'));
}

enum class Role : uint8_t { fixed, vectors, registers, cache, ahead };

/// What the steps of one statement do with its indices.
struct Uses {
  std::map<std::string, int64_t> lanes;  ///< by index, as the trace has them
  std::set<std::string> unrolled;
  std::map<std::string, size_t> in_instruction;  ///< how many of its loops
  std::vector<TileStep::Level> levels;
};

struct OpenSize {
  Role role = Role::cache;
  int64_t from = 0;  ///< the trace's value
  std::string index;
  Counterparts::Extents extents;
  int64_t lanes = 1, lanes_to = 1;
  bool is_crowded = false;  ///< other indices of its statement are unrolled too
  double bytes_ratio = 1;   ///< of elements, first program over second
  int64_t value = 0;
};

class Opener {
 public:
  Opener(const Trace& trace, const Counterparts& names, const SizeChange& change)
      : trace_(trace), names_(names), change_(change) {
    for (const Step& step : trace.steps) std::visit([&](const auto& s) { note(s); }, step);
  }

  std::optional<Trace> run() {
    for (const Step& step : trace_.steps)
      if (const auto* s = std::get_if<TensorizeStep>(&step))
        if (std::count(change_.instructions.begin(), change_.instructions.end(), s->instruction) == 0)
          return std::nullopt;
    Trace out;
    for (const Step& step : trace_.steps) {
      out.steps.push_back(step);
      std::visit([&](auto& s) { open(s); }, out.steps.back());
    }
    for (auto& [key, group] : groups_) group.value = value_of(group);
    if (change_.to.registers < change_.from.registers) shrink_blocks();
    for (Step& step : out.steps) std::visit([&](auto& s) { name_loops(s); }, step);
    for (const std::string& key : order_)
      out.decisions.push_back(decision_of(groups_.at(key), decision_names_.at(key)));
    return out;
  }

 private:
  void note(const VectorizeStep& s) { uses_[s.statement].lanes[index_of(s.statement, s.loop)] = number(s.lanes); }
  void note(const UnrollStep& s) {
    for (const std::string& loop : s.loops) uses_[s.statement].unrolled.insert(index_of(s.statement, loop));
  }
  void note(const TensorizeStep& s) {
    for (const std::string& loop : s.loops) ++uses_[s.statement].in_instruction[index_of(s.statement, loop)];
  }
  void note(const TileStep& s) {
    auto& levels = uses_[s.statement].levels;
    levels.insert(levels.end(), s.levels.begin(), s.levels.end());
  }
  template <class T>
  void note(const T&) {}

  /// Loops may go by the decision that sizes them.
  std::string index_of(const std::string& statement, const std::string& loop) const {
    const auto found = uses_.find(statement);
    if (found != uses_.end())
      for (const auto& level : found->second.levels)
        if (!level.size.decision.empty() && level.size.decision == loop) return level.index;
    return base_of(loop);
  }
  int64_t number(const Size& size) const {
    for (const Decision& d : trace_.decisions)
      if (d.name == size.decision) return d.value;
    return size.constant;
  }
  std::optional<std::pair<int64_t, int64_t>> element_bytes(const std::string& statement) const {
    const auto found = names_.statement(statement);
    if (!found) return std::nullopt;
    const auto bytes = [](const Program& p, EquationId q) {
      return size_bytes(p.tensors[p.equations[q].targets[0]].type);
    };
    return std::pair(bytes(names_.from(), found->from), bytes(names_.to(), found->to));
  }
  Counterparts::Extents extents(const std::string& statement, const std::string& index) const {
    const auto found = names_.statement(statement);
    return found ? names_.extents(found->from, index) : Counterparts::Extents{};
  }
  /// Whole vectors stay whole ones; fewer lanes stay, as far as a vector has them.
  int64_t lanes_here(const std::string& statement, const std::string& index, int64_t lanes) const {
    const auto bytes = element_bytes(statement);
    if (!bytes || is_in_instruction(statement)) return lanes;
    const int64_t full = std::max<int64_t>(1, change_.from.vector_bytes / bytes->first),
                  full_here = std::max<int64_t>(2, change_.to.vector_bytes / bytes->second);
    int64_t out = lanes % full == 0 ? lanes / full * full_here : std::min(lanes, full_here);
    const Counterparts::Extents e = extents(statement, index);
    if (e.to != e.from)
      while (out > 4 && e.to > 0 && out / 2 >= e.to) out /= 2;
    return out;
  }

  Role role_of(const Uses& uses, size_t level) const {
    const std::string& index = uses.levels[level].index;
    const auto later = std::count_if(uses.levels.begin() + static_cast<std::ptrdiff_t>(level) + 1, uses.levels.end(),
                                     [&](const auto& l) { return l.index == index; });
    const auto loops = uses.in_instruction.find(index);
    if (loops != uses.in_instruction.end() && static_cast<size_t>(later) < loops->second) return Role::fixed;
    if (later > 0) return Role::cache;
    if (uses.lanes.count(index)) return Role::vectors;
    return uses.unrolled.count(index) ? Role::registers : Role::cache;
  }
  bool is_in_instruction(const std::string& statement) const {
    const auto found = uses_.find(statement);
    return found != uses_.end() && !found->second.in_instruction.empty();
  }

  /// One decision for equal sizes of one index in one role; a decision of the trace stays one.
  std::string key_of(const Size& size, const std::string& index, Role role) const {
    return size.decision.empty()
               ? index + "/" + std::to_string(size.constant) + "/" + std::to_string(static_cast<int>(role))
               : size.decision;
  }
  void take(Size& size, const std::string& key, OpenSize group) {
    if (!groups_.count(key)) {
      if (groups_.size() >= kMostDecisions) return;
      groups_[key] = std::move(group);
      order_.push_back(key);
      decision_names_[key] = free_name((groups_[key].role == Role::ahead ? "ahead_" : "tile_") + groups_[key].index);
      if (!size.decision.empty()) renamed_[size.decision] = decision_names_[key];
    }
    size = Size{0, decision_names_[key]};
  }
  std::string free_name(const std::string& wanted) {
    std::string out = wanted;
    for (int number = 2; names_.taken_names().count(out) || used_names_.count(out); ++number)
      out = wanted + "_" + std::to_string(number);
    used_names_.insert(out);
    return out;
  }
  /// The name that the index has in the second program: traces of one structure then have the same decisions.
  std::string index_here(const std::string& statement, const std::string& index) const {
    const auto found = names_.statement(statement);
    if (!found) return index;
    const auto& map = names_.index_names(found->from);
    const auto other = map.find(index);
    return other == map.end() ? index : other->second;
  }
  OpenSize group_of(const std::string& statement, const std::string& index, Role role, int64_t from) const {
    OpenSize out;
    out.role = role;
    out.from = from;
    out.index = index_here(statement, index);
    out.extents = extents(statement, index);
    if (const auto found = uses_.find(statement); found != uses_.end()) {
      if (const auto lanes = found->second.lanes.find(index); lanes != found->second.lanes.end()) {
        out.lanes = lanes->second;
        out.lanes_to = lanes_here(statement, index, lanes->second);
      }
      out.is_crowded = !found->second.unrolled.empty();
    }
    const auto bytes = element_bytes(statement);
    if (bytes && out.lanes > 1)
      out.bytes_ratio = static_cast<double>(bytes->first) / static_cast<double>(bytes->second);
    return out;
  }

  void open(TileStep& s) {
    const Uses uses = uses_[s.statement];
    const size_t first = opened_[s.statement];  // of a statement that is tiled twice
    for (size_t k = 0; k < s.levels.size(); ++k) {
      auto& level = s.levels[k];
      const Role role = role_of(uses, first + k);
      if (role == Role::fixed) {
        level.size = Size{number(level.size), ""};
        continue;
      }
      const std::string key = key_of(level.size, level.index, role);
      take(level.size, key, group_of(s.statement, level.index, role, number(uses.levels[first + k].size)));
    }
    opened_[s.statement] += s.levels.size();
  }
  void open(OverlapStep& s) {
    for (auto& level : s.levels)
      take(level.size, key_of(level.size, level.index, Role::cache),
           group_of(s.band, level.index, Role::cache, number(level.size)));
  }
  void open(VectorizeStep& s) {
    s.lanes = Size{lanes_here(s.statement, index_of(s.statement, s.loop), number(s.lanes)), ""};
  }
  void open(PromoteStep& s) { open_layout({s.statement}, s.tensor, s.layout); }
  void open(ComputeAtStep& s) {
    open_layout({s.consumer, s.producer}, "", s.layout);
    if (s.sliding && !s.sliding->multiple.decision.empty()) s.sliding->multiple = {number(s.sliding->multiple), ""};
  }
  void open(PrefetchStep& s) {
    const int64_t by = number(s.by);
    const std::string key =
        s.by.decision.empty() ? "ahead/" + s.index + "/" + s.tensor + "/" + std::to_string(by) : s.by.decision;
    take(s.by, key, group_of(s.statement, s.index, Role::ahead, by));
  }
  void open(SplitStep& s) {
    const Counterparts::Extents e = extents(s.statement, index_of(s.statement, s.loop));
    if (e.from == e.to || e.from <= 0 || e.to <= 0) return;
    std::vector<int64_t> at;
    if (static_cast<int64_t>(s.at.size()) == e.from - 1 && e.to <= static_cast<int64_t>(kMostUnrolledCuts) + 1) {
      for (int64_t value = 1; value < e.to; ++value) at.push_back(value);
    } else {
      for (const int64_t value : s.at) at.push_back(2 * value <= e.from ? value : e.to - (e.from - value));
    }
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    std::erase_if(at, [&](int64_t value) { return value <= 0 || value >= e.to; });
    if (!at.empty()) s.at = at;
  }
  template <class T>
  void open(T&) {}

  /// The tile of one of these statements that has this size; of the index that moves this dimension, if it can be.
  std::optional<std::string> key_of_tile(const std::vector<std::string>& statements, const std::string& index,
                                         const Size& size) const {
    for (const bool any_index : {false, true})
      for (const std::string& statement : statements) {
        const auto uses = uses_.find(statement);
        if (uses == uses_.end()) continue;
        for (size_t k = uses->second.levels.size(); k-- > 0;) {
          const auto& level = uses->second.levels[k];
          if ((any_index || level.index == index) && level.size == size)
            return key_of(level.size, level.index, role_of(uses->second, k));
        }
      }
    return std::nullopt;
  }
  void open_layout(const std::vector<std::string>& statements, const std::string& tensor,
                   std::vector<LayoutDigit>& layout) {
    for (LayoutDigit& digit : layout) {
      if (digit.part == LayoutDigit::Part::whole) continue;
      if (const auto renamed = renamed_.find(digit.factor.decision); renamed != renamed_.end()) {
        digit.factor.decision = renamed->second;
        continue;
      }
      digit.factor = Size{number(digit.factor), ""};
      const std::string index = index_of_dim(statements[0], tensor, digit.dim);
      if (const auto key = key_of_tile(statements, index, digit.factor)) {
        if (groups_.count(*key)) digit.factor = Size{0, decision_names_.at(*key)};
        continue;
      }
      for (const std::string& statement : statements)
        if (const auto uses = uses_.find(statement); uses != uses_.end())
          for (const auto& [vectorized, lanes] : uses->second.lanes)
            if (digit.factor.constant == lanes) digit.factor.constant = lanes_here(statement, vectorized, lanes);
    }
  }
  /// The index that alone subscripts dimension `dN` of a tensor in a statement.
  std::string index_of_dim(const std::string& statement, const std::string& tensor, const std::string& dim) const {
    if (dim.size() < 2 || dim[0] != 'd' || dim.find_first_not_of("0123456789", 1) != std::string::npos) return dim;
    const auto found = names_.statement(statement);
    const size_t number = std::stoul(dim.substr(1));
    if (!found) return dim;
    const Program& program = names_.from();
    const Equation& equation = program.equations[found->from];
    std::string out = dim;
    visit(equation.rhs, [&](const ExprNode& node) {
      if (node.op != Op::read || program.tensors[node.access.id].name != tensor) return;
      if (number >= node.access.index.size()) return;
      const Affine& e = node.access.index[number].affine;
      if (e.terms.size() == 1 && !e.terms[0].quasi && e.terms[0].var >= program.index_var(0))
        out = equation.index_names[e.terms[0].var - program.index_var(0)];
    });
    return out;
  }
  template <class T>
  void name_loops(T& s) const {
    const auto name = [&](std::string& loop) {
      if (const auto found = renamed_.find(loop); found != renamed_.end()) loop = found->second;
    };
    if constexpr (requires { s.at; }) {
      if constexpr (std::is_same_v<std::decay_t<decltype(s.at)>, std::string>) name(s.at);
    }
    if constexpr (requires { s.loop; }) name(s.loop);
    if constexpr (requires { s.loops; })
      for (std::string& loop : s.loops) name(loop);
  }

  int64_t value_of(const OpenSize& g) const {
    const bool is_resized = g.extents.from != g.extents.to && g.extents.to > 0;
    int64_t out = g.from;
    if (g.role == Role::vectors) {
      if (g.from % g.lanes == 0) out = g.from / g.lanes * g.lanes_to;
      if (is_resized) out = std::min(out, rounded_up(g.extents.to, g.lanes_to));
    } else if (g.role == Role::cache && is_resized && g.extents.from > 0 && g.from >= g.extents.from) {
      out = g.extents.to;
    } else if (g.role == Role::cache || g.role == Role::registers) {
      if (g.bytes_ratio != 1)
        out = rounded_up(std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(g.from) * g.bytes_ratio)),
                         g.lanes_to);
      if (is_resized) out = std::min(out, g.extents.to);
    }
    return std::max<int64_t>(out, g.role == Role::ahead ? 0 : 1);
  }

  /// Sums in registers: as many as the trace has, by the registers of the two machines.
  void shrink_blocks() {
    for (const auto& [statement, uses] : uses_) {
      std::vector<OpenSize*> block;
      for (size_t k = 0; k < uses.levels.size(); ++k) {
        const Role role = role_of(uses, k);
        const auto group = groups_.find(key_of(uses.levels[k].size, uses.levels[k].index, role));
        if (group == groups_.end() || (role != Role::vectors && role != Role::registers)) continue;
        block.push_back(&group->second);
      }
      shrink(block);
    }
  }
  void shrink(const std::vector<OpenSize*>& block) const {
    const auto count = [](const OpenSize& g, int64_t value, int64_t lanes) {
      return g.role == Role::vectors ? std::max<int64_t>(1, value / lanes) : value;
    };
    int64_t most = 1;
    for (const OpenSize* g : block) most *= count(*g, g->from, g->lanes);
    most = std::max<int64_t>(1, most * change_.to.registers / change_.from.registers);
    for (bool shrinks = true; shrinks;) {
      int64_t product = 1;
      OpenSize* largest = nullptr;
      for (OpenSize* g : block) {
        const int64_t own = count(*g, g->value, g->lanes_to);
        product *= own;
        if (own > 1 && (!largest || own > count(*largest, largest->value, largest->lanes_to))) largest = g;
      }
      shrinks = product > most && largest != nullptr;
      if (shrinks) largest->value -= largest->role == Role::vectors ? largest->lanes_to : 1;
    }
  }

  static void offer(std::set<int64_t>& out, int64_t value, int64_t most) {
    if (value >= 1 && (most <= 0 || value <= most)) out.insert(value);
  }
  static Decision decision_of(const OpenSize& g, const std::string& name) {
    std::set<int64_t> values{g.value};
    const int64_t extent = g.extents.to, v = g.value;
    if (g.role == Role::vectors) {
      const int64_t vectors = v / std::max<int64_t>(1, g.lanes_to),
                    most = rounded_up(std::max<int64_t>(1, extent), g.lanes_to);
      for (const int64_t n : {vectors / 2, vectors * 3 / 4, g.is_crowded ? 0 : 2 * vectors})
        offer(values, n * g.lanes_to, extent > 0 ? most : 0);
      if (vectors == 1) offer(values, 2 * g.lanes_to, extent > 0 ? most : 0);
    } else if (g.role == Role::registers) {
      for (const int64_t n : {v / 2, v * 3 / 4}) offer(values, n, extent);
      for (int64_t n = v; n > v / 2 && extent > 0; --n)
        if (extent % n == 0) {
          offer(values, n, extent);
          break;
        }
    } else if (g.role == Role::ahead) {
      for (const int64_t n : {int64_t{0}, v / 2, 2 * v}) values.insert(n);
    } else {
      offer(values, v / 2, extent);
      if (extent > 0 && 2 * v > extent) offer(values, extent, extent);
      offer(values, 2 * v, extent);
      if (v != g.from) offer(values, g.from, extent);
    }
    return Decision{name, g.value, std::vector<int64_t>(values.begin(), values.end())};
  }

  const Trace& trace_;
  const Counterparts& names_;
  const SizeChange& change_;
  std::map<std::string, Uses> uses_;  ///< by statement, as the trace names it
  std::map<std::string, size_t> opened_;
  std::map<std::string, OpenSize> groups_;
  std::vector<std::string> order_;  ///< of groups
  std::map<std::string, std::string> decision_names_, renamed_;
  std::set<std::string> used_names_;
};

}  // namespace

std::optional<Trace> with_open_sizes(const Trace& trace, const Counterparts& counterparts, const SizeChange& change) {
  return Opener(trace, counterparts, change).run();
}

}  // namespace polyweft::schedules
