// Matching by structure: loops and buffers are renamed, operators and types must be the same; factors of a product may
// change places.
#include <algorithm>
#include <numeric>

#include "ir/nests/instruction.h"
#include "ir/nests/walk_nest.h"

namespace polyweft::ir {
namespace {

bool uses(const Affine& e, VarId var) {
  std::vector<VarId> used;
  collect_variables(e, used);
  return std::find(used.begin(), used.end(), var) != used.end();
}

bool moves_with(const Access& access, VarId var) {
  return std::any_of(access.index.begin(), access.index.end(), [&](const Subscript& s) { return uses(s.affine, var); });
}

class Matcher {
 public:
  Matcher(const Instruction& instruction, const std::vector<VarId>& vars)
      : i_(instruction), vars_(vars), access_(instruction.operands.size() - 1) {}

  bool same(const Expr& own, const Expr& wanted) {
    if (own->op == Op::read) return same_read(*own, *wanted);
    if (own->op != wanted->op || own->type != wanted->type || own->args.size() != wanted->args.size())
      return is_neutral_factor(*own, wanted) ||
             differ(i_.name + " computes " + name_of(own->op) + " in " + name_of(own->type) +
                    " where the program has " + name_of(wanted->op) + " in " + name_of(wanted->type));
    if (own->op == Op::literal && !(own->literal == wanted->literal)) return differ("another constant");
    if (own->op != Op::mul && own->op != Op::add) return same_arguments(*own, *wanted, false);
    const auto before = access_;
    if (same_arguments(*own, *wanted, false)) return true;
    access_ = before;
    const std::string first_reason = why_;
    if (same_arguments(*own, *wanted, true)) return true;
    why_ = first_reason;
    return false;
  }

  std::string why() const { return why_; }
  OperandBinding binding() && { return {std::move(access_)}; }

 private:
  bool differ(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool same_arguments(const ExprNode& own, const ExprNode& wanted, bool swapped) {
    if (own.args.size() != wanted.args.size()) return differ("an operator with other arguments");
    for (size_t k = 0; k < own.args.size(); ++k)
      if (!same(own.args[k], wanted.args[swapped ? own.args.size() - 1 - k : k])) return false;
    return true;
  }

  /// x is 1 * x, exactly: the operand of the missing factor holds ones.
  bool is_neutral_factor(const ExprNode& own, const Expr& wanted) {
    if (own.op != Op::mul || own.type != wanted->type || !is_integer(own.type)) return false;
    for (size_t k = 0; k < 2; ++k) {
      const auto before = access_;
      if (is_operand(own.args[1 - k]) && same(own.args[k], wanted)) return true;
      access_ = before;
    }
    return false;
  }
  /// An operand as it is or widened: 1 stays 1.
  static bool is_operand(const Expr& e) {
    return e->op == Op::read || (e->op == Op::convert && e->args[0]->op == Op::read);
  }

  bool same_read(const ExprNode& own, const ExprNode& wanted) {
    const size_t k = static_cast<size_t>(
        std::find_if(i_.operands.begin(), i_.operands.end(), [&](const auto& o) { return o.buffer == own.access.id; }) -
        i_.operands.begin());
    const auto& operand = i_.operands[k];
    const std::string name = "operand " + i_.nest.buffers[operand.buffer].name + " of " + i_.name;
    if (wanted.op != Op::read) return differ(name + " is read from memory, here stands " + name_of(wanted.op));
    if (wanted.type != own.type)
      return differ(name + " is " + name_of(own.type) + ", the program reads " + name_of(wanted.type));
    for (const Subscript& s : wanted.access.index)
      if (s.data) return differ(name + " would be gathered");
    for (uint32_t axis = 0; axis < vars_.size(); ++axis) {
      const bool is_own = std::find(operand.loops.begin(), operand.loops.end(), axis) != operand.loops.end();
      if (!is_own && moves_with(wanted.access, vars_[axis]))
        return differ(name + " is the same along axis " + std::to_string(axis) +
                      ", the program reads another element there");
    }
    access_[k - 1] = wanted.access;
    return true;
  }

  const Instruction& i_;
  const std::vector<VarId>& vars_;
  std::vector<std::optional<Access>> access_;
  std::string why_;
};

/// Each axis of the result moves a subscript that no other axis moves: no two lanes meet in one cell.
bool is_injective(const Instruction& instruction, const std::vector<Affine>& destination,
                  const std::vector<VarId>& vars) {
  for (size_t axis = 0; axis < vars.size(); ++axis) {
    const bool is_reduced = instruction.axes[axis].is_reduced;
    bool moves_alone = false;
    for (const Affine& e : destination) {
      if (is_reduced && uses(e, vars[axis])) return false;
      bool alone = e.coefficient(vars[axis]) != 0 && e.is_linear();
      for (size_t other = 0; other < vars.size(); ++other) alone = alone && (other == axis || !uses(e, vars[other]));
      moves_alone |= alone;
    }
    if (!is_reduced && !moves_alone) return false;
  }
  return true;
}

}  // namespace

Result<OperandBinding> match(const Instruction& instruction, const Accumulation& wanted,
                             const std::vector<VarId>& vars) {
  PW_CHECK(vars.size() == instruction.axes.size());
  const Compute& own = instruction.compute;
  const ElementType type = instruction.operands[0].type;
  if (own.reducer != wanted.reducer || type != wanted.type)
    return fail("PW0417", instruction.name + " folds a " + name_of(own.reducer) + " in " + name_of(type) +
                              ", the program a " + name_of(wanted.reducer) + " in " + name_of(wanted.type));
  if (!is_injective(instruction, wanted.destination, vars))
    return fail("PW0417", instruction.name + ": its result has a cell for each data axis, the program's has not");
  Matcher matcher(instruction, vars);
  if (!matcher.same(own.rhs[0], wanted.value)) return fail("PW0417", matcher.why());
  return std::move(matcher).binding();
}

namespace {

/// Constant bound on the trips of a loop; the least where there are several.
std::optional<int64_t> most_trips(const Loop& loop) {
  std::optional<int64_t> out;
  if (loop.lo.of.size() != 1 || loop.step != 1) return out;
  for (const Affine& hi : loop.hi.of) {
    const Affine extent = hi - loop.lo.of[0];
    if (extent.is_constant() && (!out || extent.constant < *out)) out = extent.constant;
  }
  return out;
}

/// A reduced axis of a tile may be shorter: products with zeros are added for the rest.
bool fits_axis(const Loop& loop, const Instruction::Axis& axis, bool is_tile) {
  auto trips = most_trips(loop);
  if (!trips || *trips < 1) return false;
  if (axis.is_reduced) return loop.hi.of.size() == 1 && (*trips == axis.extent || (is_tile && *trips < axis.extent));
  return *trips <= axis.extent && (loop.mark.kind != MarkKind::vector || loop.mark.width == axis.extent);
}

}  // namespace

const Instruction* warp_product(const Loop& loop) {
  if (loop.mark.kind != MarkKind::tensor) return nullptr;
  const auto instruction = instruction_named(loop.mark.detail);
  return instruction && (*instruction)->is_of_warp() ? *instruction : nullptr;
}

const Instruction* warp_instruction_of(const LoopNest& nest, NodeId id, BufferId sums) {
  const Instruction* out = nullptr;
  walk_nodes(nest, id, [&](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    if (!loop || !is_warp_product(*loop)) return true;
    const auto match = match_tensor_loop(nest, *loop);
    if (match && match->compute->dst[0].id == sums) out = match->instruction;
    return false;
  });
  return out;
}

std::optional<VarId> lane_of_warp(const LoopNest& nest, const If& choice) {
  const Guard& g = choice.condition;
  if (choice.otherwise != kNoNode || g.kind != Guard::Kind::ge0 || g.e.constant != 0 || g.e.terms.size() != 1 ||
      g.e.terms[0].quasi || g.e.terms[0].coeff != -1)
    return std::nullopt;
  bool has_sums = false;
  visit_accesses(nest, choice.then,
                 [&](const Access& access, bool) { has_sums |= nest.buffers[access.id].scope == Scope::tile; });
  if (!has_sums) return std::nullopt;
  const VarId lane = g.e.terms[0].var;
  const bool is_lane = std::any_of(nest.nodes.begin(), nest.nodes.end(), [&](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    return loop && loop->var == lane && loop->mark.kind == MarkKind::axis && loop->mark.detail == "thread_x";
  });
  return is_lane ? std::optional(lane) : std::nullopt;
}

Result<TensorMatch> match_tensor_loop(const LoopNest& nest, const Loop& outermost) {
  auto instruction = instruction_named(outermost.mark.detail);
  if (!instruction) return instruction.error();
  const Instruction& i = **instruction;
  std::vector<const Loop*> chain = {&outermost};
  while (const auto* inner = std::get_if<Loop>(&nest.nodes[chain.back()->body])) chain.push_back(inner);
  const auto* compute = std::get_if<Compute>(&nest.nodes[chain.back()->body]);
  if (!compute || compute->how != Write::accumulate || compute->dst.size() != 1 || chain.size() != i.axes.size())
    return fail("PW0417", i.name + ": inside its mark must stand " + std::to_string(i.axes.size()) +
                              " loops around one accumulation");
  if (!i.allows(nest.cls)) return fail("PW0417", i.name + " does not keep the rules of class " + name_of(nest.cls));
  for (const Loop* loop : chain)
    for (const Loop* other : chain)
      for (const Affine& e : loop->hi.of)
        if (uses(e, other->var) || uses(loop->lo.of[0], other->var))
          return fail("PW0417", i.name + ": the loops inside its mark are not a box");
  Accumulation wanted{compute->reducer, nest.buffers[compute->dst[0].id].type, {}, compute->rhs[0]};
  for (const Subscript& s : compute->dst[0].index) {
    if (s.data) return fail("PW0417", i.name + ": the result's place depends on data");
    wanted.destination.push_back(s.affine);
  }
  std::vector<size_t> order(chain.size());
  std::iota(order.begin(), order.end(), 0);
  Error reason = fail("PW0417", i.name + ": the extents of the loops differ from the instruction's");
  do {
    TensorMatch out{&i, {}, compute, {}};
    std::vector<VarId> vars;
    bool fits = true;
    for (size_t axis = 0; axis < order.size(); ++axis) {
      out.loops.push_back(chain[order[axis]]);
      vars.push_back(out.loops.back()->var);
      fits = fits && fits_axis(*out.loops.back(), i.axes[axis], i.is_tile() || i.is_of_unit());
    }
    if (!fits) continue;
    auto binding = match(i, wanted, vars);
    if (!binding) {
      reason = binding.error();
      continue;
    }
    for (const auto& access : binding->access)
      if (access && access->id == compute->dst[0].id)
        return fail("PW0417", i.name + ": an operand lies where the result is written");
    out.binding = *std::move(binding);
    return out;
  } while (std::next_permutation(order.begin(), order.end()));
  return reason;
}

}  // namespace polyweft::ir
