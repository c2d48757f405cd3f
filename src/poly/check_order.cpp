// Number 6 of LANGUAGE.md section 5: an order exists, or a cycle, or neither is known. The first that decides.
#include <algorithm>

#include "ir/oracles/evaluator.h"
#include "poly/check_domains.h"
#include "poly/coalesced.h"
#include "poly/element_order.h"
#include "poly/order.h"

namespace polyweft::poly {
namespace {

constexpr int kLongestPower = 4;
constexpr size_t kLongestCycle = 32;
constexpr int64_t kMostElements = 1 << 16;

struct OrderedElement {
  uint32_t statement = 0;
  std::vector<int64_t> point;
};

/// One component: statements that need each other.
class OrderQuestion {
 public:
  OrderQuestion(Inquiry& inquiry, const ElementGraph& graph, const std::vector<uint32_t>& component)
      : inquiry_(inquiry), graph_(graph), component_(component) {}

  void decide() {
    if (needs_itself()) return;
    int stops = model().context().quota_stops();
    if (affine_order(model(), graph_, component_, inquiry_.quota())) return;
    const ElementOrder::Verdict by_elements = verdict_by_elements();
    if (by_elements == ElementOrder::Verdict::ordered) return;
    if (is_cyclic_power() || (!acyclic_ && closes_a_cycle())) return;
    if (by_elements == ElementOrder::Verdict::cyclic && evaluator_finds_cycle()) return;
    if (splits_into_orders()) return;
    if (acyclic_) return report_no_affine_order();
    if (evaluator_finds_cycle()) return;
    if (model().context().quota_stops() > stops)
      return inquiry_.undecided("order of " + tensor_name(component_[0]), equation(component_[0]), true);
    inquiry_.error("PW0209", "no order found for " + tensor_name(component_[0]) + ", and no cycle either",
                   where(component_[0]), {"split its equations where their dependences change direction"});
  }

 private:
  const Model& model() const { return inquiry_.model(); }
  EquationId equation(uint32_t v) const { return graph_.statements[v].equation; }
  Span where(uint32_t v) const { return inquiry_.program().equations[equation(v)].where_defined; }
  const std::string& tensor_name(uint32_t v) const {
    return inquiry_.program().tensors[inquiry_.program().equations[equation(v)].targets.front()].name;
  }
  std::string element_name(const OrderedElement& e) const { return element_text(tensor_name(e.statement), e.point); }

  bool needs_itself() {
    for (const Need& need : graph_.needs) {
      if (need.from != need.to || std::find(component_.begin(), component_.end(), need.from) == component_.end())
        continue;
      auto fixed = attempt(model().context(), inquiry_.quota(), [&]() -> std::optional<Set> {
        std::optional<Set> out;
        for (const Map& read : need.reads) {
          Set same = domain_of(intersect(read, Map(isl_map_identity(isl_map_get_space(read.get())))));
          if (!is_empty(same)) out = out ? unite(*std::move(out), std::move(same)) : std::move(same);
        }
        return out;
      });
      if (!fixed || !*fixed) continue;
      auto found = inquiry_.point(**fixed);
      if (!found) continue;
      report_cycle(*found, {{need.from, found->point}});
      return true;
    }
    return false;
  }

  void report_cycle(const Witness& found, const std::vector<OrderedElement>& cycle) {
    std::vector<std::string> names;
    for (const OrderedElement& e : cycle) names.push_back(element_name(e));
    std::string chain = names[0];
    for (size_t k = 1; k <= names.size(); ++k) chain += " reads " + names[k % names.size()];
    std::string subject = names[0];
    for (size_t k = 1; k < names.size(); ++k) subject += (k + 1 == names.size() ? " and " : ", ") + names[k];
    std::string sizes = sizes_text(inquiry_.program(), found);
    inquiry_.error("PW0207", subject + (names.size() == 1 ? " needs itself: " : " need each other: ") + chain,
                   where(cycle[0].statement),
                   sizes.empty() ? std::vector<std::string>{} : std::vector<std::string>{sizes});
  }

  /// { S_v[x] : x -> x in the relation }, for the first statement that has one.
  std::optional<std::pair<uint32_t, Set>> fixed_points(const UnionMap& relation) const {
    for (uint32_t v : component_) {
      isl_set* elements =
          isl_set_set_tuple_name(graph_.statements[v].elements.copy(), graph_.statements[v].name.c_str());
      isl_union_map* same = isl_union_set_identity(isl_union_set_from_set(elements));
      isl_union_set* points = isl_union_map_domain(isl_union_map_intersect(relation.copy(), same));
      UnionSet kept(points);
      if (yes(isl_union_set_is_empty(kept.get()))) continue;
      return std::pair(v, Set(isl_set_from_union_set(kept.take())));
    }
    return std::nullopt;
  }

  bool is_cyclic_power() {
    auto needs = attempt(model().context(), inquiry_.quota(), [&] { return needs_within(graph_, component_); });
    if (!needs) return false;
    UnionMap power = *needs;
    for (int n = 2; n <= kLongestPower; ++n) {
      auto next = attempt(model().context(), inquiry_.quota(),
                          [&] { return coalesced(UnionMap(isl_union_map_apply_range(power.copy(), needs->copy()))); });
      if (!next) return false;
      power = *next;
      auto fixed = attempt(model().context(), inquiry_.quota(), [&] { return fixed_points(power); });
      if (fixed && *fixed && report_fixed(*needs, **fixed)) return true;
      acyclic_ = attempt(model().context(), inquiry_.quota(), [&] { return is_empty(power); }).value_or(false);
      if (acyclic_) return false;
    }
    return false;
  }

  UnionMap at_sizes(const UnionMap& map, const Witness& found) const {
    Set sizes = model().assumptions();
    for (size_t p = 0; p < found.parameters.size(); ++p)
      sizes = Set(isl_set_fix_val(sizes.take(), isl_dim_param, static_cast<unsigned>(p),
                                  isl_val_int_from_si(model().context().get(), found.parameters[p])));
    return UnionMap(isl_union_map_intersect_params(map.copy(), sizes.take()));
  }

  Set single(const OrderedElement& e) const {
    Set out(isl_set_universe(isl_set_get_space(graph_.statements[e.statement].elements.get())));
    for (size_t d = 0; d < e.point.size(); ++d)
      out = Set(isl_set_fix_val(out.take(), isl_dim_set, static_cast<unsigned>(d),
                                isl_val_int_from_si(model().context().get(), e.point[d])));
    return out;
  }

  /// A shortest cycle through start at the witness's sizes: start, and what it reads, .., so that the last reads start.
  std::vector<OrderedElement> cycle_through(const UnionMap& needs, const Witness& found,
                                            const OrderedElement& start) const {
    UnionMap here = at_sizes(needs, found);
    std::vector<UnionSet> reached{UnionSet(isl_union_set_from_set(single(start).take()))};
    auto is_back = [&] {
      UnionSet common(isl_union_set_intersect(reached[0].copy(), reached.back().copy()));
      return reached.size() > 1 && !yes(isl_union_set_is_empty(common.get()));
    };
    while (!is_back()) {
      if (reached.size() > kLongestCycle) throw IslFailure();
      reached.push_back(UnionSet(isl_union_set_apply(reached.back().copy(), here.copy())));
    }
    std::vector<OrderedElement> cycle{start};
    for (size_t k = reached.size() - 2; k > 0; --k) {
      isl_union_set* readers =
          isl_union_set_apply(isl_union_set_from_set(single(cycle.back()).take()), isl_union_map_reverse(here.copy()));
      cycle.push_back(first_of(UnionSet(isl_union_set_intersect(readers, reached[k].copy()))));
    }
    std::reverse(cycle.begin() + 1, cycle.end());
    return cycle;
  }

  /// Reports the cycle through the smallest element that needs itself.
  bool report_fixed(const UnionMap& needs, const std::pair<uint32_t, Set>& fixed) {
    auto found = inquiry_.point(fixed.second);
    if (!found) return false;
    OrderedElement start{fixed.first, found->point};
    auto cycle = attempt(model().context(), inquiry_.quota() * 10, [&] { return cycle_through(needs, *found, start); });
    report_cycle(*found, cycle ? *cycle : std::vector<OrderedElement>{start});
    return true;
  }

  OrderedElement first_of(const UnionSet& candidates) const {
    for (uint32_t v : component_) {
      Set mine(isl_union_set_extract_set(candidates.get(), isl_set_get_space(graph_.statements[v].elements.get())));
      if (is_empty(mine)) continue;
      auto found = witness(model(), mine, 0);
      if (found) return {v, found->point};
    }
    throw IslFailure();
  }

  bool closes_a_cycle() {
    isl_bool exact = isl_bool_false;
    auto closure = attempt(model().context(), inquiry_.quota(), [&] {
      return UnionMap(isl_union_map_transitive_closure(needs_within(graph_, component_).take(), &exact));
    });
    if (!closure) return false;
    auto fixed = attempt(model().context(), inquiry_.quota(), [&] { return fixed_points(*closure); });
    if (!fixed) return false;
    acyclic_ = !*fixed;
    if (acyclic_ || exact != isl_bool_true) return false;
    auto needs = attempt(model().context(), inquiry_.quota(), [&] { return needs_within(graph_, component_); });
    return needs && report_fixed(*needs, **fixed);
  }

  bool splits_into_orders() {
    auto pieces = attempt(model().context(), inquiry_.quota(), [&] { return split(graph_, component_); });
    if (!pieces || !*pieces) return false;
    for (const auto& inner : components(**pieces))
      if (is_recursive(**pieces, inner) && !affine_order(model(), **pieces, inner, inquiry_.quota())) return false;
    return true;
  }

  void report_no_affine_order() {
    uint32_t v = component_[0];
    std::string text = "no affine order computes " + tensor_name(v),
                note = "split this equation where its dependences change direction";
    if (auto turn = attempt(model().context(), inquiry_.quota(), [&] { return turning_point(v); });
        turn && !turn->empty()) {
      text += ": elements depend forward below " + *turn + " and backward above";
      note = "split this equation at " + *turn;
    }
    inquiry_.error("PW0208", text, where(v), {note});
  }

  /// "i = M" where reads of later elements are guarded by i < M and reads of earlier ones are not; else empty.
  std::string turning_point(uint32_t v) const {
    const Program& program = inquiry_.program();
    const Equation& eq = program.equations[equation(v)];
    std::vector<std::string> names = variable_names(program, eq);
    bool backward = false;
    std::string out;
    for (const PlacedRead& read : placed_reads(eq)) {
      if (read.node->access.id != eq.targets.front()) continue;
      for (size_t d = 0; d < eq.slots.size(); ++d) {
        if (eq.slots[d].var == kNoVar || read.node->access.index[d].data) continue;
        Affine index = Affine::variable(eq.slots[d].var);
        Set place = model().instances(equation(v), read.place);
        Space space = model().statement_space(equation(v));
        Affine step = read.node->access.index[d].affine - index;
        if (is_subset(place, model().where(guard_ge0(Affine::of(-1) - step), space)))
          backward = true;
        else if (out.empty() && is_subset(place, model().where(guard_ge0(step - Affine::of(1)), space)))
          out = upper_limit(read.place, eq.slots[d].var, names);
      }
    }
    return backward ? out : "";
  }

  static std::string upper_limit(const Place& place, VarId var, const std::vector<std::string>& names) {
    for (const Guard& g : place.conditions) {
      if (g.kind == Guard::Kind::all) {
        std::string inner = upper_limit({{}, g.of}, var, names);
        if (!inner.empty()) return inner;
      }
      if (g.kind == Guard::Kind::ge0 && g.e.coefficient(var) == -1)
        return names[var] + " = " + print(g.e + Affine::variable(var) + Affine::of(1), names);
    }
    return "";
  }

  /// Where all sizes are numbers, the elements themselves decide unless they are too many.
  ElementOrder::Verdict verdict_by_elements() {
    if (!model().has_numbers_only()) return ElementOrder::Verdict::too_large;
    auto exact =
        attempt(model().context(), inquiry_.quota() * 10, [&] { return element_order(model(), graph_, component_); });
    return exact ? exact->verdict : ElementOrder::Verdict::too_large;
  }

  /// The naive evaluator at the smallest sizes where these statements read each other.
  bool evaluator_finds_cycle() {
    std::optional<Witness> sizes;
    for (const Need& need : graph_.needs)
      if (!sizes && !need.reads.empty() &&
          std::find(component_.begin(), component_.end(), need.from) != component_.end())
        sizes = inquiry_.point(need.all());
    if (!sizes) return false;
    Program bound = polyweft::bind(inquiry_.program(), sizes->parameters);
    std::vector<TensorData> inputs;
    for (TensorId id : bound.inputs()) {
      std::vector<int64_t> extents;
      for (const Affine& e : bound.tensors[id].shape) extents.push_back(e.constant);
      inputs.push_back(make_tensor(bound.tensors[id].type, extents));
    }
    ir::EvaluateOptions options;
    options.wanted = ir::Wanted::all;
    options.check_promises = false;
    options.element_limit = kMostElements;
    auto result = ir::evaluate(bound, inputs, options);
    if (result || result.error().code != "PW0163") return false;
    std::string note = sizes_text(inquiry_.program(), *sizes);
    inquiry_.error("PW0207", result.error().message, where(component_[0]),
                   note.empty() ? std::vector<std::string>{} : std::vector<std::string>{note});
    return true;
  }

  Inquiry& inquiry_;
  const ElementGraph& graph_;
  const std::vector<uint32_t>& component_;
  bool acyclic_ = false;
};

}  // namespace

void check_order(Inquiry& inquiry) {
  if (inquiry.program().equations.empty()) return;
  auto graph =
      inquiry.ask("order of " + inquiry.program().name, 0, [&] { return element_statements(inquiry.model()); });
  if (!graph) return;
  for (EquationId q = 0; q < inquiry.program().equations.size(); ++q) {
    const std::string& name = inquiry.program().tensors[inquiry.program().equations[q].targets.front()].name;
    auto done = inquiry.ask(
        "order of " + name, q,
        [&] {
          add_needs(inquiry.model(), q, *graph);
          return true;
        },
        quotas_of(inquiry.program(), q));
    if (!done) return;
  }
  for (const auto& component : components(*graph))
    if (is_recursive(*graph, component)) OrderQuestion(inquiry, *graph, component).decide();
}

}  // namespace polyweft::poly
