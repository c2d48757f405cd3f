#include "ir/normalize/common_values.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ir/normalize/hidden_tensors.h"
#include "ir/normalize/needed.h"
#include "ir/normalize/repeated_values.h"
#include "ir/normalize/shared_values.h"
#include "ir/values/reduction_ranges.h"
#include "ir/values/scope.h"
#include "ir/values/variables.h"

namespace polyweft::ir {
namespace {

constexpr int kLeastCommonCost = 16;  ///< one function: less is computed again sooner than it is stored and loaded
constexpr int kMostCommonValues = 64;
/// Each operation of a nest of operations is looked at with all that stands in it. Of a deep one (the error bound of a
/// polynomial of degree 24) that is too much, and what is left is computed where it stands.
constexpr int64_t kMostOperationsLookedAt = int64_t{1} << 18;

Expr with_reads_of(const Expr& e, const std::map<TensorId, TensorId>& instead) {
  return rewrite(e, [&](const Expr& node) -> Expr {
    if (node->op != Op::read || !instead.contains(node->access.id)) return nullptr;
    auto copy = std::make_shared<ExprNode>(*node);
    copy->access.id = instead.at(node->access.id);
    return copy;
  });
}

/// Locals that normalization made and whose only equation says the same as another local's. Those that people named
/// stay: traces name them.
std::map<TensorId, TensorId> equal_locals(const Program& program) {
  std::map<TensorId, TensorId> out;
  const auto is_only = [&](const Equation& equation) {
    return std::all_of(equation.targets.begin(), equation.targets.end(), [&](TensorId id) {
      return program.tensors[id].kind == TensorKind::local && makers_of(program, id).size() == 1;
    });
  };
  for (size_t k = 0; k < program.equations.size(); ++k)
    for (size_t n = 0; n < k; ++n) {
      const Equation &later = program.equations[k], &first = program.equations[n];
      if (!program.tensors[later.targets.front()].hidden || later.targets.size() != first.targets.size() ||
          out.contains(first.targets.front()) || !have_equal_slots(later, first) || !(later.where == first.where) ||
          !equal(later.rhs, first.rhs) || !is_only(later) || !is_only(first))
        continue;
      for (size_t t = 0; t < later.targets.size(); ++t) out[later.targets[t]] = first.targets[t];
      break;
    }
  return out;
}

/// An expression, its indices numbered in the order in which it uses them, and the points at which it stands.
struct Value {
  Expr e;
  std::vector<IndexRange> ranges;
  std::vector<Guard> conditions;
};

bool are_equal(const Value& a, const Value& b) {
  if (a.ranges.size() != b.ranges.size() || !(a.conditions == b.conditions) || !equal(a.e, b.e)) return false;
  for (size_t k = 0; k < a.ranges.size(); ++k)
    if (!(a.ranges[k].lo == b.ranges[k].lo) || !(a.ranges[k].hi == b.ranges[k].hi)) return false;
  return true;
}

struct Occurrence {
  size_t equation = 0;
  Expr e;                   ///< as it stands there
  std::vector<VarId> used;  ///< its indices there, in the order of the value's
  Value value;
  int cost = 0;
};

class ValueCollector {
 public:
  /// Takes the operations that it looks at from `left`.
  ValueCollector(const Program& program, int64_t& left)
      : program_(program), least_(least_parameters(program)), left_(left) {}

  std::vector<Occurrence> run() {
    for (size_t q = 0; q < program_.equations.size(); ++q) {
      const Equation& equation = program_.equations[q];
      if (std::any_of(equation.slots.begin(), equation.slots.end(), [](const Slot& s) { return s.var == kNoVar; }))
        continue;
      number_ = q;
      may_read_ = independent_of(program_, equation.targets);
      collect(equation.rhs, scope_of(equation));
    }
    return std::move(out_);
  }

 private:
  void collect(const Expr& e, const ExprScope& scope) {
    if (left_ <= 0) return;
    const int cost = cost_of(e);
    left_ -= cost;
    if (cost < kLeastCommonCost || e->op == Op::guarded) return;
    if (e->op != Op::reduce && e->op != Op::tuple && e->op != Op::component && !is_boolean(e))
      if (auto found = occurrence(e, scope)) out_.push_back(*std::move(found));
    const ExprScope own = e->op == Op::reduce ? inside(scope, e->reduction) : scope;
    for (const Expr& arg : e->args) collect(arg, own);
  }

  static bool is_boolean(const Expr& e) { return e->type == ElementType::boolean; }

  bool reads_others_only(const Expr& e) const {
    bool out = true;
    visit(e, [&](const ExprNode& node) { out = out && (node.op != Op::read || may_read_[node.access.id]); });
    return out;
  }

  /// The indices in the order in which the expression uses them.
  std::vector<VarId> used_by(const Expr& e) const {
    std::vector<VarId> out;
    const std::vector<VarId> free = free_variables(e);
    const auto add = [&](const std::vector<VarId>& found) {
      for (VarId var : found)
        if (var >= program_.index_var(0) && contains(free, var) && !contains(out, var)) out.push_back(var);
    };
    visit(e, [&](const ExprNode& node) {
      for (const Subscript& s : node.access.index) {
        std::vector<VarId> found;
        collect_variables(s.affine, found);
        add(found);
      }
      if (node.op == Op::variable) add({node.var});
    });
    add(free);
    return out;
  }

  bool are_among(const std::vector<VarId>& used, const std::vector<VarId>& variables) const {
    return std::all_of(variables.begin(), variables.end(),
                       [&](VarId var) { return var < program_.index_var(0) || contains(used, var); });
  }

  std::optional<Occurrence> occurrence(const Expr& e, const ExprScope& scope) const {
    if (!reads_others_only(e)) return std::nullopt;
    Occurrence out{number_, e, used_by(e), {}, cost_of(e)};
    if (out.used.empty()) return std::nullopt;  // one value: as soon computed as loaded
    std::map<VarId, Affine> renamed;
    for (size_t k = 0; k < out.used.size(); ++k)
      renamed[out.used[k]] = Affine::variable(program_.index_var(static_cast<uint32_t>(k)));
    out.value.ranges.resize(out.used.size());
    size_t found = 0;
    for (const IndexRange& range : scope.indices) {
      const auto at = std::find(out.used.begin(), out.used.end(), range.var);
      if (at == out.used.end()) {
        if (!is_never_empty(scope, least_, range)) return std::nullopt;
        continue;
      }
      // A range whose bounds mention an index that comes later would need the indices in another order.
      std::vector<VarId> variables, before(out.used.begin(), at);
      collect_variables(range.lo, variables);
      collect_variables(range.hi, variables);
      if (!are_among(before, variables)) return std::nullopt;
      out.value.ranges[static_cast<size_t>(at - out.used.begin())] = {kNoVar, substitute(range.lo, renamed),
                                                                      substitute(range.hi, renamed)};
      ++found;
    }
    if (found != out.used.size()) return std::nullopt;
    for (const Guard& condition : scope.conditions) {
      std::vector<VarId> variables;
      collect_variables(condition, variables);
      if (!are_among(out.used, variables)) return std::nullopt;
      out.value.conditions.push_back(substitute(condition, renamed));
    }
    out.value.e = substitute(e, renamed);
    return out;
  }

  const Program& program_;
  std::map<VarId, int64_t> least_;
  int64_t& left_;
  size_t number_ = 0;
  std::vector<char> may_read_;
  std::vector<Occurrence> out_;
};

/// The most costly value that stands in several equations.
std::vector<Occurrence> common_value(const Program& program, int64_t& left) {
  std::vector<Occurrence> all = ValueCollector(program, left).run();
  std::stable_sort(all.begin(), all.end(), [](const Occurrence& a, const Occurrence& b) { return a.cost > b.cost; });
  for (size_t k = 0; k < all.size(); ++k) {
    std::vector<Occurrence> equal_ones = {all[k]};
    for (size_t n = k + 1; n < all.size() && all[n].cost == all[k].cost; ++n)
      if (are_equal(all[n].value, all[k].value)) equal_ones.push_back(all[n]);
    const bool is_common = std::any_of(equal_ones.begin(), equal_ones.end(),
                                       [&](const Occurrence& o) { return o.equation != all[k].equation; });
    if (is_common) return equal_ones;
  }
  return {};
}

/// An equation that says this value and nothing else, with one slot an index: reads of it do.
bool says_it(const Program& program, const Occurrence& occurrence) {
  const Equation& equation = program.equations[occurrence.equation];
  return equation.rhs == occurrence.e && equation.targets.size() == 1 &&
         !program.tensors[equation.targets[0]].partial && equation.slots.size() == occurrence.used.size() &&
         makers_of(program, equation.targets[0]).size() == 1;
}

TensorId declared(Program& program, const Occurrence& like) {
  const std::string base = program.tensors[program.equations[like.equation].targets[0]].name + ".e";
  int number = 1;
  while (has_tensor(program, base + std::to_string(number))) ++number;
  return add_hidden(program, base + std::to_string(number), like.e->type, like.used.size());
}

Equation equation_for(const Program& program, const Occurrence& like, TensorId id) {
  const Equation& source = program.equations[like.equation];
  Equation out;
  out.targets = {id};
  for (size_t k = 0; k < like.used.size(); ++k) {
    const VarId var = program.index_var(static_cast<uint32_t>(k));
    out.slots.push_back({var, like.value.ranges[k].lo, like.value.ranges[k].hi, {}});
    out.index_names.push_back(source.index_names[like.used[k] - program.index_var(0)]);
  }
  out.where = guard_all(like.value.conditions);
  out.rhs = like.value.e;
  out.where_defined = source.where_defined;
  return out;
}

void replace(Program& program, const Occurrence& occurrence, TensorId id, const std::vector<uint32_t>& slot_of) {
  Access access{id, std::vector<Subscript>(occurrence.used.size())};
  for (size_t k = 0; k < occurrence.used.size(); ++k)
    access.index[slot_of[k]].affine = Affine::variable(occurrence.used[k]);
  Equation& equation = program.equations[occurrence.equation];
  equation.rhs = rewrite(equation.rhs, [&](const Expr& node) -> Expr {
    return equal(node, occurrence.e) ? make_read(node->type, access, node->where) : nullptr;
  });
}

bool has_duplicate_names(const std::vector<std::string>& names) {
  return std::set<std::string>(names.begin(), names.end()).size() != names.size();
}

void make_once(Program& program, const std::vector<Occurrence>& found) {
  const auto maker = std::find_if(found.begin(), found.end(), [&](const Occurrence& o) { return says_it(program, o); });
  std::vector<uint32_t> slot_of(found.front().used.size());
  TensorId id = 0;
  if (maker != found.end()) {
    id = program.equations[maker->equation].targets[0];
    for (size_t k = 0; k < slot_of.size(); ++k) slot_of[k] = maker->used[k] - program.index_var(0);
  } else {
    id = declared(program, found.front());
    for (size_t k = 0; k < slot_of.size(); ++k) slot_of[k] = static_cast<uint32_t>(k);
    Equation made = equation_for(program, found.front(), id);
    if (has_duplicate_names(made.index_names))
      for (size_t k = 0; k < made.index_names.size(); ++k) made.index_names[k] = "v" + std::to_string(k);
    program.equations.push_back(std::move(made));
  }
  for (const Occurrence& occurrence : found)
    if (maker == found.end() || occurrence.equation != maker->equation) replace(program, occurrence, id, slot_of);
}

Program with_equal_locals_merged(Program program) {
  for (;;) {
    const std::map<TensorId, TensorId> instead = equal_locals(program);
    if (instead.empty()) return program;
    for (Equation& equation : program.equations) equation.rhs = with_reads_of(equation.rhs, instead);
    program = without_unneeded(program);
  }
}

}  // namespace

Program with_common_values(Program program) {
  program = with_equal_locals_merged(std::move(program));
  int64_t left = kMostOperationsLookedAt;
  for (int k = 0; k < kMostCommonValues; ++k) {
    const std::vector<Occurrence> found = common_value(program, left);
    if (found.empty()) break;
    make_once(program, found);
    program = with_equal_locals_merged(std::move(program));
  }
  return program;
}

}  // namespace polyweft::ir
