// tensorize C k by vpdpbusd_512: the last tile of k and the lanes become one instruction.
//
//   for k step 4: for i, j: for k: ..  j.v: C          for k step 4: for i, j: tensor k: vector j.v: C
//
// Legal by SCHEDULES.md section 1: the constant sub-nest equals the instruction's own nest after renaming (ir::match,
// which the checker asks again), the operands lie in memory as its registers hold them, and the class allows its
// accumulation. Moving the point loop of k inwards is T1, checked against the order that the class keeps. A shorter
// rest of k keeps its plain code.
#include <algorithm>
#include <map>

#include "ir/nests/instruction.h"
#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

struct TensorPlace {
  std::vector<size_t> loops;  ///< position of the loop of each axis
  const ir::Instruction* instruction = nullptr;
  std::string subject;
  bool is_vector() const { return instruction->axes.size() == 2; }
};

Error refuse(const TensorPlace& place, const std::string& why, const std::string& remedy) {
  return fail("PW0322", place.subject + ": " + why, {remedy});
}

/// Iterations of the loop inside the next one over its index; 0 where decisions leave them open.
int64_t loop_extent(const Stage& stage, size_t at) {
  const TemplateLoop& loop = stage.loops[at];
  if (loop.mark.kind == MarkKind::vector) return loop.lanes.decision.empty() ? loop.lanes.constant : 0;
  const TemplateLoop* around = nullptr;
  for (size_t k = 0; k < at; ++k)
    if (stage.loops[k].index == loop.index) around = &stage.loops[k];
  const int64_t step = is_point_loop(loop) ? 1 : loop.step.constant;
  if (!around || !around->step.decision.empty() || !loop.step.decision.empty() || step < 1 ||
      around->step.constant % step != 0)
    return 0;
  return around->step.constant / step;
}

/// Does some read take a quotient of the index that is the same in all of a tile of this size? Then a larger tile would
/// be none.
bool has_quotient(const NestTemplate& t, const Stage& stage, uint32_t index, int64_t extent) {
  bool found = false;
  visit(equation_of(t, stage).rhs, [&](const ExprNode& e) {
    if (e.op != Op::read) return;
    for (const Subscript& s : e.access.index)
      for (const Term& term : s.affine.terms)
        found |= term.quasi && term.quasi->kind == Quasi::Kind::floor_div &&
                 term.quasi->e == Affine::variable(t.program.index_var(index)) && term.quasi->den % extent == 0;
  });
  return found;
}

Status check_extents(const NestTemplate& t, const Stage& stage, const TensorPlace& place) {
  const ir::Instruction& i = *place.instruction;
  for (size_t axis = 0; axis < i.axes.size(); ++axis) {
    const int64_t own = loop_extent(stage, place.loops[axis]);
    // A tile with rows or columns that nobody reads.
    const bool is_short = !place.is_vector() && !i.axes[axis].is_reduced && own > 0 && own < i.axes[axis].extent &&
                          has_quotient(t, stage, stage.loops[place.loops[axis]].index, own);
    if (own == i.axes[axis].extent || is_short) continue;
    const TemplateLoop& loop = stage.loops[place.loops[axis]];
    const std::string extent = std::to_string(i.axes[axis].extent);
    if (loop.mark.kind == MarkKind::vector)
      return refuse(place, "the instruction has " + extent + " lanes", "vectorize with " + extent + " lanes");
    return refuse(place, "the instruction takes " + extent + " values of " + loop.name + " at once",
                  "tile so that the loop around it advances by " + extent + " of its steps");
  }
  return Ok{};
}

struct Digit {
  uint32_t dim = 0;
  Size factor;  ///< of a remainder; else 1
  bool whole = true, remainder = false;
};

/// Physical dimensions of what the stage reads of a tensor, outermost first.
std::vector<Digit> digits_of(const Stage& stage, const Access& access) {
  std::vector<Digit> out;
  for (const Promotion& promotion : stage.promotions)
    if (promotion.tensor == access.id)
      for (const LayoutPart& part : promotion.layout)
        out.push_back(
            {part.dim, part.factor, part.part == LayoutDigit::Part::whole, part.part == LayoutDigit::Part::remainder});
  if (out.empty())
    for (uint32_t d = 0; d < access.index.size(); ++d) out.push_back({d, {}, true, false});
  return out;
}

bool is_unit(const Access& access, uint32_t dim, VarId var) {
  return access.index[dim].affine.is_linear() && access.index[dim].affine.coefficient(var) == 1;
}

/// Cells of one register are neighbours in memory, or the same few cells serve all lanes.
Status check_layout(const NestTemplate& t, const Stage& stage, const TensorPlace& place, const Access& access,
                    const std::string& operand) {
  const bool reduced_first = place.instruction->axes[0].is_reduced;
  const uint32_t k = stage.loops[place.loops[reduced_first ? 0 : 1]].index,
                 v = stage.loops[place.loops[reduced_first ? 1 : 0]].index;
  const VarId reduced = t.program.index_var(k), lane = t.program.index_var(v);
  int64_t extent = 1;
  for (const auto& axis : place.instruction->axes)
    if (axis.is_reduced) extent = axis.extent;
  const std::string q = std::to_string(extent), name = t.program.tensors[access.id].name, kn = index_name(t, stage, k),
                    vn = index_name(t, stage, v);
  bool moves_with_lanes = false;
  for (const Subscript& s : access.index) moves_with_lanes |= s.affine.coefficient(lane) != 0 || !s.affine.is_linear();
  const std::vector<Digit> digits = digits_of(stage, access);
  const Digit& last = digits.back();
  const bool ends_in_reduced = is_unit(access, last.dim, reduced) && (last.whole || last.remainder);
  if (!moves_with_lanes) {
    const bool fits =
        ends_in_reduced && (last.whole || (last.factor.decision.empty() && last.factor.constant % extent == 0));
    if (fits) return Ok{};
    return refuse(place, operand + ": " + q + " values of " + kn + " of " + name + " must be neighbours in memory",
                  "promote " + name + " with a layout that ends in " + kn + " % " + q);
  }
  const bool has_group =
      ends_in_reduced && last.remainder && last.factor.decision.empty() && last.factor.constant == extent;
  const bool fits = has_group && digits.size() > 1 && is_unit(access, digits[digits.size() - 2].dim, lane) &&
                    (digits[digits.size() - 2].whole || digits[digits.size() - 2].remainder);
  if (fits) return Ok{};
  return refuse(place,
                operand + ": lanes of " + vn + " with " + q + " values of " + kn + " each must be neighbours in memory",
                "promote " + name + " with a layout that ends in " + vn + " % WIDTH, " + kn + " % " + q);
}

/// Quotients of a tile's own axis by multiples of the tile's size are the same in all of it: floor(h / 8) where h runs
/// over tiles of 4.
Affine without_quotients(const Affine& e, VarId axis, int64_t extent) {
  Affine out = Affine::of(e.constant);
  for (const Term& term : e.terms) {
    if (term.quasi && term.quasi->kind == Quasi::Kind::floor_div && term.quasi->e == Affine::variable(axis) &&
        term.quasi->den % extent == 0)
      continue;
    Affine same;
    same.terms = {term};
    out = out + same;
  }
  return out;
}

/// The equation with each index as the sum of its named loops, so that every axis has a variable.
Status check_match(const NestTemplate& t, const Stage& stage, const TensorPlace& place) {
  constexpr VarId kAxis = 0x40000000;
  const ir::Instruction& i = *place.instruction;
  const Equation& equation = equation_of(t, stage);
  std::map<VarId, Affine> map;
  std::vector<VarId> vars;
  for (size_t axis = 0; axis < i.axes.size(); ++axis) {
    const TemplateLoop& loop = stage.loops[place.loops[axis]];
    vars.push_back(kAxis + static_cast<VarId>(axis));
    Affine& sum = map[t.program.index_var(loop.index)];
    sum = sum + Affine::variable(vars.back(),
                                 is_point_loop(loop) || loop.mark.kind == MarkKind::vector ? 1 : loop.step.constant);
  }
  ir::Accumulation wanted{equation.rhs->reduction.reducer,
                          t.program.tensors[equation.targets[0]].type,
                          {},
                          substitute(equation.rhs->args[0], map)};
  for (size_t axis = 0; axis < i.axes.size(); ++axis)
    if (!i.axes[axis].is_reduced)
      wanted.value = rewrite(wanted.value, [&](const Expr& node) -> Expr {
        if (node->op != Op::read) return nullptr;
        auto copy = std::make_shared<ExprNode>(*node);
        for (Subscript& s : copy->access.index)
          s.affine = without_quotients(s.affine, vars[axis], loop_extent(stage, place.loops[axis]));
        return copy;
      });
  for (const Slot& slot : equation.slots)
    wanted.destination.push_back(substitute(slot.var == kNoVar ? slot.position : Affine::variable(slot.var), map));
  auto binding = ir::match(i, wanted, vars);
  if (!binding)
    return refuse(place, binding.error().message,
                  "write the sum as the instruction does, or leave the step out: plain vectors do the same");
  if (!place.is_vector()) return Ok{};
  std::vector<std::pair<const Access*, std::string>> operands;
  visit(equation.rhs->args[0], [&](const ExprNode& e) {
    if (e.op != Op::read) return;
    for (size_t k = 0; k < binding->access.size(); ++k)
      if (binding->access[k] && binding->access[k]->id == e.access.id)
        operands.push_back({&e.access, "operand " + i.nest.buffers[i.operands[k + 1].buffer].name + " of " + i.name});
  });
  for (const auto& [access, name] : operands)
    if (auto status = check_layout(t, stage, place, *access, name); !status) return status;
  return Ok{};
}

/// Positions of the named loops, and of the lanes of a vector instruction.
Status find_loops(const NestTemplate& t, const Stage& stage, const TensorizeStep& step, TensorPlace& place) {
  const auto& axes = place.instruction->axes;
  size_t lanes = stage.loops.size();
  for (size_t k = 0; k < stage.loops.size(); ++k)
    if (stage.loops[k].mark.kind == MarkKind::vector) lanes = k;
  if (place.is_vector() && (lanes == stage.loops.size() || stage.loops[lanes].index >= stage.data_indices))
    return refuse(place, "an instruction needs lanes of a data index", "vectorize first");
  const size_t wanted = place.is_vector() ? 1 : axes.size();
  if (step.loops.size() != wanted)
    return refuse(place, place.instruction->name + " has " + std::to_string(wanted) + " loops to name",
                  "name one for each axis, outermost first");
  size_t next = 0;
  for (const auto& axis : axes) {
    if (place.is_vector() && !axis.is_reduced) {
      place.loops.push_back(lanes);
      continue;
    }
    auto at = loop_named(stage, step.loops[next++]);
    if (!at) return at.error();
    const TemplateLoop& loop = stage.loops[*at];
    bool is_last = true;  // named loops of one index come one after the other, the point loop last
    for (size_t k = *at + 1; k < stage.loops.size(); ++k)
      is_last = is_last && (stage.loops[k].index != loop.index ||
                            std::find(step.loops.begin(), step.loops.end(), stage.loops[k].name) != step.loops.end());
    if (axis.is_reduced != (loop.index >= stage.data_indices))
      return refuse(place,
                    "loop " + loop.name + " is " + (axis.is_reduced ? "not reduced" : "reduced") + ", the axis is",
                    "name the loops in the order of the axes");
    if (loop.mark.kind != MarkKind::serial || !is_last || !loop.cuts.empty())
      return refuse(place, "loop " + loop.name + " is not the serial innermost loop of its index",
                    "name the index itself");
    place.loops.push_back(*at);
  }
  for (uint32_t id = 0; id < t.stages.size(); ++id)
    if (&t.stages[id] == &stage)
      for (uint32_t depth : used_depths(t, id))
        for (size_t at : place.loops)
          if (depth > at)
            return refuse(place, "something is placed inside loop " + stage.loops[at].name, "tensorize first");
  if (!place.is_vector() && stage.accumulator && stage.accumulator->scope == Scope::reg)
    return refuse(place, "tiles are added in tiles or in memory, registers have no rows",
                  "accumulate " + stage.name + " at .. tile");
  if (place.instruction->is_of_warp() && (!stage.accumulator || stage.accumulator->scope != Scope::tile))
    return refuse(place, place.instruction->name + " adds to what the lanes of a warp hold",
                  "accumulate " + stage.name + " at .. tile");
  const auto is_local = [&](Scope scope) { return scope == Scope::accumulator || scope == Scope::scratchpad; };
  if (place.instruction->is_of_unit() && (!stage.accumulator || !is_local(stage.accumulator->scope)))
    return refuse(place, place.instruction->name + " adds to what lies in the unit's memory",
                  "accumulate " + stage.name + " at .. accumulator, or scratchpad where the unit has no other");
  if (!place.instruction->is_of_unit() && stage.accumulator && is_local(stage.accumulator->scope))
    return refuse(place, place.instruction->name + " does not add to what lies in a unit's memory",
                  "accumulate " + stage.name + " elsewhere");
  if (place.is_vector() && stage.accumulator && stage.accumulator->scope == Scope::tile)
    return refuse(place, place.instruction->name + " adds in vectors, the sums are in tiles",
                  "accumulate " + stage.name + " at .. reg");
  return Ok{};
}

}  // namespace

Result<NestTemplate> tensorize(NestTemplate t, const TensorizeStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  auto instruction = ir::instruction_named(step.instruction);
  if (!instruction) return instruction.error();
  TensorPlace place{{}, *instruction, "tensorize " + stage.name};
  for (const auto& name : step.loops) place.subject += (&name == step.loops.data() ? " " : ", ") + name;
  if (!stage.reduces || equation_of(t, stage).targets.size() != 1 || equation_of(t, stage).rhs->op != Op::reduce ||
      !stage.guards.empty())
    return refuse(place, "only a reduction without conditions is an instruction", "tensorize the statement that sums");
  if (!place.instruction->allows(t.cls))
    return fail("PW0307",
                place.subject + ": " + place.instruction->name + " does not keep the rules of class " + name_of(t.cls));
  if (auto status = find_loops(t, stage, step, place); !status) return status.error();
  if (auto status = check_extents(t, stage, place); !status) return status.error();
  if (auto status = check_match(t, stage, place); !status) return status.error();
  std::vector<TemplateLoop> loops, inside;
  for (size_t k = 0; k < stage.loops.size(); ++k)
    if (std::find(place.loops.begin(), place.loops.end(), k) == place.loops.end()) loops.push_back(stage.loops[k]);
  for (size_t axis = 0; axis < place.loops.size(); ++axis) {
    TemplateLoop loop = stage.loops[place.loops[axis]];
    if (loop.mark.kind == MarkKind::vector) continue;
    loop.mark = Mark{MarkKind::tensor, 0, place.instruction->name, false};
    loop.lanes = Size{place.instruction->axes[axis].extent, ""};
    inside.push_back(std::move(loop));
  }
  for (size_t at : place.loops)
    if (stage.loops[at].mark.kind == MarkKind::vector) inside.push_back(stage.loops[at]);
  loops.insert(loops.end(), inside.begin(), inside.end());
  if (auto status = keeps_reduction_order(t, stage, loops, place.subject); !status) return status.error();
  stage.loops = std::move(loops);
  return t;
}

}  // namespace polyweft::schedules
