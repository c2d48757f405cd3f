// tensorize C k by vpdpbusd_512: the last tile of k and the lanes become one instruction.
//
//   for k step 4: for i, j: for k: ..  j.v: C          for k step 4: for i, j: tensor k: vector j.v: C
//
// Legal by SCHEDULES.md section 1: the constant sub-nest equals the instruction's own nest after renaming (ir::match, which the checker asks
// again), the operands lie in memory as its registers hold them, and the class allows its accumulation. Moving the point loop of k inwards is T1,
// checked against the order that the class keeps. A shorter rest of k keeps its plain code.
#include <algorithm>

#include "ir/instruction.h"
#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

struct Place {
  size_t point = 0, lanes = 0;  ///< positions of the loops
  const ir::Instruction* instruction = nullptr;
  std::string subject;
};

Error refuse(const Place& place, const std::string& why, const std::string& remedy) {
  return fail("PW0322", place.subject + ": " + why, {remedy});
}

/// The one data axis and the one reduced axis of a vector instruction.
Status check_extents(const Stage& stage, const Place& place) {
  const ir::Instruction& i = *place.instruction;
  const TemplateLoop& point = stage.loops[place.point];
  for (const auto& axis : i.axes) {
    const std::string extent = std::to_string(axis.extent);
    if (!axis.is_reduced) {
      const Size& lanes = stage.loops[place.lanes].lanes;
      if (!lanes.decision.empty() || lanes.constant != axis.extent)
        return refuse(place, "the instruction has " + extent + " lanes", "vectorize with " + extent + " lanes");
      continue;
    }
    const TemplateLoop* around = nullptr;
    for (size_t k = 0; k < place.point; ++k)
      if (stage.loops[k].index == point.index) around = &stage.loops[k];
    if (!around || !around->step.decision.empty() || around->step.constant != axis.extent)
      return refuse(place, "the instruction takes " + extent + " values of " + point.name + " at once", "tile with " + point.name + ": " + extent + " innermost");
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
        out.push_back({part.dim, part.factor, part.part == LayoutDigit::Part::whole, part.part == LayoutDigit::Part::remainder});
  if (out.empty())
    for (uint32_t d = 0; d < access.index.size(); ++d) out.push_back({d, {}, true, false});
  return out;
}

bool is_unit(const Access& access, uint32_t dim, VarId var) {
  return access.index[dim].affine.is_linear() && access.index[dim].affine.coefficient(var) == 1;
}

/// Cells of one register are neighbours in memory, or the same few cells serve all lanes.
Status check_layout(const NestTemplate& t, const Stage& stage, const Place& place, const Access& access, const std::string& operand) {
  const uint32_t k = stage.loops[place.point].index, v = stage.loops[place.lanes].index;
  const VarId reduced = t.program.index_var(k), lane = t.program.index_var(v);
  int64_t extent = 1;
  for (const auto& axis : place.instruction->axes)
    if (axis.is_reduced) extent = axis.extent;
  const std::string q = std::to_string(extent), name = t.program.tensors[access.id].name, kn = index_name(t, stage, k), vn = index_name(t, stage, v);
  bool moves_with_lanes = false;
  for (const Subscript& s : access.index) moves_with_lanes |= s.affine.coefficient(lane) != 0 || !s.affine.is_linear();
  const std::vector<Digit> digits = digits_of(stage, access);
  const Digit& last = digits.back();
  const bool ends_in_reduced = is_unit(access, last.dim, reduced) && (last.whole || last.remainder);
  if (!moves_with_lanes) {
    const bool fits = ends_in_reduced && (last.whole || (last.factor.decision.empty() && last.factor.constant % extent == 0));
    if (fits) return Ok{};
    return refuse(place, operand + ": " + q + " values of " + kn + " of " + name + " must be neighbours in memory",
                  "promote " + name + " with a layout that ends in " + kn + " % " + q);
  }
  const bool has_group = ends_in_reduced && last.remainder && last.factor.decision.empty() && last.factor.constant == extent;
  const bool fits =
      has_group && digits.size() > 1 && is_unit(access, digits[digits.size() - 2].dim, lane) && (digits[digits.size() - 2].whole || digits[digits.size() - 2].remainder);
  if (fits) return Ok{};
  return refuse(place, operand + ": lanes of " + vn + " with " + q + " values of " + kn + " each must be neighbours in memory",
                "promote " + name + " with a layout that ends in " + vn + " % WIDTH, " + kn + " % " + q);
}

Status check_match(const NestTemplate& t, const Stage& stage, const Place& place) {
  const ir::Instruction& i = *place.instruction;
  const Equation& equation = equation_of(t, stage);
  ir::Accumulation wanted{equation.rhs->reduction.reducer, t.program.tensors[equation.targets[0]].type, {}, equation.rhs->args[0]};
  for (const Slot& slot : equation.slots) wanted.destination.push_back(slot.var == kNoVar ? slot.position : Affine::variable(slot.var));
  std::vector<VarId> vars;
  for (const auto& axis : i.axes) vars.push_back(t.program.index_var(stage.loops[axis.is_reduced ? place.point : place.lanes].index));
  auto binding = ir::match(i, wanted, vars);
  if (!binding) return refuse(place, binding.error().message, "write the sum as the instruction does, or leave the step out: plain vectors do the same");
  for (size_t k = 0; k < binding->access.size(); ++k) {
    if (!binding->access[k]) continue;
    const std::string operand = "operand " + i.nest.buffers[i.operands[k + 1].buffer].name + " of " + i.name;
    if (auto status = check_layout(t, stage, place, *binding->access[k], operand); !status) return status;
  }
  return Ok{};
}

}  // namespace

Result<NestTemplate> tensorize(NestTemplate t, const TensorizeStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  auto at = loop_named(stage, step.loop);
  if (!at) return at.error();
  auto instruction = ir::instruction_named(step.instruction);
  if (!instruction) return instruction.error();
  Place place{*at, stage.loops.size(), *instruction, "tensorize " + stage.name + " " + step.loop};
  const TemplateLoop loop = stage.loops[*at];
  for (size_t k = 0; k < stage.loops.size(); ++k)
    if (stage.loops[k].mark.kind == MarkKind::vector) place.lanes = k;
  if (!stage.reduces || equation_of(t, stage).targets.size() != 1 || equation_of(t, stage).rhs->op != Op::reduce || !stage.guards.empty())
    return refuse(place, "only a reduction without conditions is an instruction", "tensorize the statement that sums");
  if (!place.instruction->allows(t.cls)) return fail("PW0307", place.subject + ": " + place.instruction->name + " does not keep the rules of class " + name_of(t.cls));
  if (place.lanes == stage.loops.size() || stage.loops[place.lanes].index >= stage.data_indices)
    return refuse(place, "an instruction needs lanes of a data index", "vectorize first");
  if (!is_point_loop(loop) || loop.index < stage.data_indices || loop.mark.kind != MarkKind::serial)
    return refuse(place, "loop " + loop.name + " is not the serial point loop of a reduced index", "name the reduced index itself");
  if (std::count_if(place.instruction->axes.begin(), place.instruction->axes.end(), [](const auto& axis) { return axis.is_reduced; }) != 1 ||
      place.instruction->axes.size() != 2)
    return refuse(place, place.instruction->name + " works on tiles, not on lanes", "this version has instructions of one data and one reduced axis");
  if (auto status = check_extents(stage, place); !status) return status.error();
  if (auto status = check_match(t, stage, place); !status) return status.error();
  for (uint32_t depth : used_depths(t, *id))
    if (depth > *at) return refuse(place, "something is placed inside loop " + loop.name, "tensorize first");
  std::vector<TemplateLoop> loops = stage.loops;
  loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(*at));
  TemplateLoop tensor = loop;
  tensor.mark = Mark{MarkKind::tensor, 0, place.instruction->name, false};
  for (const auto& axis : place.instruction->axes)
    if (axis.is_reduced) tensor.lanes = Size{axis.extent, ""};
  auto lanes = std::find_if(loops.begin(), loops.end(), [](const TemplateLoop& l) { return l.mark.kind == MarkKind::vector; });
  loops.insert(lanes, std::move(tensor));
  if (auto status = keeps_reduction_order(t, stage, loops, place.subject); !status) return status.error();
  stage.loops = std::move(loops);
  return t;
}

}  // namespace polyweft::schedules
