#include "ir/normalize/invariant_dims.h"

#include <algorithm>

#include "ir/nests/row_walk.h"
#include "ir/normalize/hidden_tensors.h"
#include "ir/values/scope.h"

namespace polyweft::ir {
namespace {

class InvariantFinder {
 public:
  explicit InvariantFinder(const Program& program) : program_(program), least_(least_parameters(program)) {}

  Dims run() {
    for (TensorId id = 0; id < program_.tensors.size(); ++id) add_candidates(id);
    for (bool changed = !dims_.empty(); changed;) {
      changed = false;
      for (const Equation& equation : program_.equations)
        for (uint32_t d = 0; d < equation.slots.size(); ++d)
          if (dims_.count({equation.targets[0], d}) && depends_on(equation, d)) {
            dims_.erase({equation.targets[0], d});
            changed = true;
          }
    }
    return dims_;
  }

 private:
  /// One range for all equations, over parameters alone, that is never empty.
  bool has_one_range(TensorId id, uint32_t d) const {
    const Slot* first = nullptr;
    for (const Equation& equation : program_.equations) {
      if (std::find(equation.targets.begin(), equation.targets.end(), id) == equation.targets.end()) continue;
      const Slot& slot = equation.slots[d];
      if (slot.var == kNoVar || equation.targets.size() != 1) return false;
      if (!first) {
        const VarId index = program_.index_var(0);
        std::vector<VarId> used;
        collect_variables(slot.lo, used);
        collect_variables(slot.hi, used);
        if (std::any_of(used.begin(), used.end(), [&](VarId v) { return v >= index; }) ||
            !needed_indices({{{slot.var, slot.lo, slot.hi}}, {}}, least_, index, {}).empty())
          return false;
        first = &slot;
      } else if (!(slot.lo == first->lo) || !(slot.hi == first->hi)) {
        return false;
      }
    }
    return first != nullptr;
  }
  void add_candidates(TensorId id) {
    const Tensor& tensor = program_.tensors[id];
    if (tensor.kind != TensorKind::local || tensor.rank < 2) return;
    bool needs_itself = false;
    for (const Equation& equation : program_.equations) {
      needs_itself |= equation.targets[0] == id && reads(equation.rhs, id);
      visit(equation.rhs, [&](const ExprNode& e) {
        if (e.op == Op::read && e.access.id == id)
          for (uint32_t d = 0; d < tensor.rank; ++d)
            if (e.access.index[d].data) gathered_.insert({id, d});
      });
    }
    for (uint32_t d = 0; d < tensor.rank && needs_itself; ++d)
      if (!gathered_.count({id, d}) && has_one_range(id, d)) dims_.insert({id, d});
  }
  /// Does the element defined depend on its coordinate d?
  bool depends_on(const Equation& equation, uint32_t d) const {
    const VarId var = equation.slots[d].var;
    if (mentions(equation.where, var)) return true;
    for (uint32_t other = 0; other < equation.slots.size(); ++other) {
      const Slot& slot = equation.slots[other];
      if (other != d && (mentions(slot.lo, var) || mentions(slot.hi, var) || mentions(slot.position, var))) return true;
    }
    bool out = false;
    visit(equation.rhs, [&](const ExprNode& e) {
      out |= (e.op == Op::variable && e.var == var) || mentions(e.affine, var) || mentions(e.guard, var) ||
             mentions(e.reduction.where, var);
      for (const IndexRange& range : e.reduction.ranges) out |= mentions(range.lo, var) || mentions(range.hi, var);
      for (uint32_t k = 0; k < e.access.index.size(); ++k) {
        const Subscript& s = e.access.index[k];
        if (!dims_.count({e.access.id, k}))
          out |= mentions(s.affine, var) || mentions(s.lo, var) || mentions(s.hi, var);
      }
    });
    return out;
  }

  const Program& program_;
  std::map<VarId, int64_t> least_;
  Dims dims_, gathered_;
};

}  // namespace

Program without_dims(Program program, const Dims& dims) {
  if (dims.empty()) return program;
  for (Equation& equation : program.equations) {
    equation.rhs = rewrite(equation.rhs, [&](const Expr& node) -> Expr {
      if (node->op != Op::read) return nullptr;
      Access access{node->access.id, {}};
      for (uint32_t d = 0; d < node->access.index.size(); ++d)
        if (!dims.count({access.id, d})) access.index.push_back(node->access.index[d]);
      return access.index.size() == node->access.index.size() ? nullptr
                                                              : make_read(node->type, std::move(access), node->where);
    });
    std::vector<Slot> slots;
    for (uint32_t d = 0; d < equation.slots.size(); ++d)
      if (!dims.count({equation.targets[0], d})) slots.push_back(equation.slots[d]);
    if (slots.size() == equation.slots.size()) continue;
    equation.slots = std::move(slots);
    renumber(program, equation);
  }
  for (const auto& [id, d] : dims) --program.tensors[id].rank;
  return program;
}

Program without_invariant_dims(Program program) {
  const Dims dims = InvariantFinder(program).run();
  return without_dims(std::move(program), dims);
}

}  // namespace polyweft::ir
