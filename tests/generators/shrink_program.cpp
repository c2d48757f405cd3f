#include <algorithm>

#include "tests/generators/random_program.h"

namespace polyweft::ir {
namespace {

/// Numbers the indices anew by what is still bound: slots, then reductions in order of the text.
void compact_indices(const Program& program, Equation& equation) {
  std::vector<VarId> bound;
  for (const Slot& slot : equation.slots)
    if (slot.var != kNoVar) bound.push_back(slot.var);
  visit(equation.rhs, [&](const ExprNode& e) {
    if (e.op == Op::reduce)
      for (const IndexRange& range : e.reduction.ranges) bound.push_back(range.var);
  });
  std::map<VarId, Affine> map;
  std::vector<std::string> names;
  for (VarId var : bound) {
    map[var] = Affine::variable(program.index_var(static_cast<uint32_t>(names.size())));
    names.push_back(equation.index_names[var - program.index_var(0)]);
  }
  for (Slot& slot : equation.slots) {
    slot.lo = substitute(slot.lo, map);
    slot.hi = substitute(slot.hi, map);
    slot.position = substitute(slot.position, map);
    if (slot.var != kNoVar) slot.var = map[slot.var].terms[0].var;
  }
  equation.where = substitute(equation.where, map);
  equation.rhs = substitute(equation.rhs, map);
  equation.index_names = std::move(names);
}

bool is_read(const Program& program, TensorId id) {
  bool found = false;
  for (const Equation& equation : program.equations) {
    bool defines = std::find(equation.targets.begin(), equation.targets.end(), id) != equation.targets.end();
    visit(equation.rhs, [&](const ExprNode& e) { found |= e.op == Op::read && e.access.id == id && !defines; });
  }
  return found;
}

Expr with_tensor_removed(const Expr& e, TensorId removed) {
  return rewrite(e, [&](const Expr& node) -> Expr {
    if (node->op != Op::read || node->access.id < removed) return nullptr;
    auto copy = std::make_shared<ExprNode>(*node);
    --copy->access.id;
    return copy;
  });
}

Program without_tensor(Program program, TensorId id) {
  std::erase_if(program.equations, [&](const Equation& equation) { return equation.targets.front() == id; });
  for (Equation& equation : program.equations) {
    for (TensorId& target : equation.targets) target -= target > id;
    equation.rhs = with_tensor_removed(equation.rhs, id);
  }
  program.tensors.erase(program.tensors.begin() + id);
  return program;
}

bool can_go(const Program& program, TensorId id) {
  const Tensor& tensor = program.tensors[id];
  bool last_output = tensor.kind == TensorKind::output && program.outputs().size() == 1;
  bool in_tuple = std::any_of(program.equations.begin(), program.equations.end(), [&](const Equation& equation) {
    return equation.targets.size() > 1 &&
           std::find(equation.targets.begin(), equation.targets.end(), id) != equation.targets.end();
  });
  return !last_output && !in_tuple && !is_read(program, id);
}

/// A local nobody reads can stand as the output instead, so that the tensors after it can go.
bool is_whole(const Program& program, TensorId id) {
  for (const Equation& equation : program.equations)
    for (const Slot& slot : equation.slots) {
      bool defines = equation.targets.front() == id;
      std::vector<VarId> used;
      collect_variables(slot.hi, used);
      bool rectangular = std::all_of(used.begin(), used.end(), [&](VarId v) { return v < program.parameters.size(); });
      if (defines && (!rectangular || !equation.where.is_true())) return false;
    }
  return true;
}

void drop_tensors(const Program& program, std::vector<Program>& out) {
  for (TensorId id = static_cast<TensorId>(program.tensors.size()); id-- > 0;) {
    if (can_go(program, id)) out.push_back(without_tensor(program, id));
    if (program.tensors[id].kind != TensorKind::local || !is_whole(program, id)) continue;
    Program promoted = program;
    promoted.tensors[id].kind = TensorKind::output;
    out.push_back(std::move(promoted));
  }
}

bool satisfies_assumptions(const Program& program) {
  Binding binding;
  for (const Parameter& parameter : program.parameters) binding.push_back(parameter.value);
  return std::all_of(program.assumptions.begin(), program.assumptions.end(),
                     [&](const Guard& g) { return evaluate(g, binding); });
}

void reduce_extents(const Program& program, std::vector<Program>& out) {
  for (size_t p = 0; p < program.parameters.size(); ++p) {
    for (int64_t value : {program.parameters[p].value / 2, program.parameters[p].value - 1}) {
      Program smaller = program;
      smaller.parameters[p].value = value;
      if (value < program.parameters[p].value && satisfies_assumptions(smaller)) out.push_back(std::move(smaller));
    }
  }
}

/// A reduction's indices and a guard's facts hold only inside it, so their bodies may not stand alone.
bool may_stand_for(const ExprNode& outer, size_t arg) {
  if (outer.op == Op::reduce) return false;
  if (outer.op == Op::guarded) return arg == 1;
  return outer.args[arg]->type == outer.type;
}

/// The expression with node number `target` (parents first) replaced by its operand `arg`; null when there is none.
class Replacement {
 public:
  Replacement(size_t target, size_t arg) : target_(target), arg_(arg) {}

  Expr apply(const Expr& e) {
    if (next_++ == target_) {
      if (arg_ >= e->args.size() || !may_stand_for(*e, arg_)) return nullptr;
      return e->args[arg_];
    }
    for (size_t k = 0; k < e->args.size(); ++k) {
      size_t before = next_;
      Expr inner = apply(e->args[k]);
      if (!inner && next_ > target_ && before <= target_) return nullptr;
      if (!inner) continue;
      auto copy = std::make_shared<ExprNode>(*e);
      copy->args[k] = inner;
      return copy;
    }
    return nullptr;
  }

 private:
  size_t target_, arg_, next_ = 0;
};

size_t nodes_of(const Expr& e) {
  size_t count = 1;
  for (const Expr& arg : e->args) count += nodes_of(arg);
  return count;
}

/// The parser folds -(2) into a literal, so such a program would not come back from its text.
bool negates_literal(const Expr& e) {
  bool found = false;
  visit(e, [&](const ExprNode& node) { found |= node.op == Op::neg && node.args[0]->op == Op::literal; });
  return found;
}

void simplify_expressions(const Program& program, std::vector<Program>& out) {
  for (size_t q = 0; q < program.equations.size(); ++q) {
    size_t nodes = nodes_of(program.equations[q].rhs);
    for (size_t node = 0; node < nodes; ++node) {
      for (size_t arg = 0; arg < 3; ++arg) {
        Expr rhs = Replacement(node, arg).apply(program.equations[q].rhs);
        if (!rhs || negates_literal(rhs)) continue;
        Program smaller = program;
        smaller.equations[q].rhs = rhs;
        compact_indices(smaller, smaller.equations[q]);
        out.push_back(std::move(smaller));
      }
    }
  }
}

}  // namespace

std::vector<Program> smaller_programs(const Program& program) {
  std::vector<Program> out;
  drop_tensors(program, out);
  simplify_expressions(program, out);
  reduce_extents(program, out);
  return out;
}

Program shrink(Program program, const std::function<bool(const Program&)>& fails, int budget) {
  bool progress = true;
  while (progress) {
    progress = false;
    for (Program& candidate : smaller_programs(program)) {
      if (budget-- <= 0) return program;
      if (!fails(candidate)) continue;
      program = std::move(candidate);
      progress = true;
      break;
    }
  }
  return program;
}

}  // namespace polyweft::ir
