// Rule 10: tensor instructions, where one matches the stage's sum; its operands' order in memory becomes part of the
// packing of rule 2.
#include <algorithm>

#include "ir/nests/instruction.h"
#include "ir/values/slots.h"
#include "schedules/queries.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kLeastReuse = 4;  ///< rows that use a packed panel again; a panel packed ahead costs nothing

bool is_final_before(const PlanContext& c, TensorId tensor) {
  auto kind = c.t.program.tensors[tensor].kind;
  return kind == TensorKind::input || kind == TensorKind::constant;
}

/// Matches the stage's sum with lanes over shape.vector and the tile over `reduced`.
bool matches(const PlanContext& c, const BlockShape& shape, const ir::Instruction& instruction, uint32_t reduced) {
  const Equation& equation = equation_of(c.t, c.stage);
  ir::Accumulation wanted{
      equation.rhs->reduction.reducer, c.t.program.tensors[equation.targets[0]].type, {}, equation.rhs->args[0]};
  for (const Slot& slot : equation.slots) wanted.destination.push_back(ir::position_of(slot));
  std::vector<VarId> vars;
  for (const auto& axis : instruction.axes)
    vars.push_back(c.t.program.index_var(axis.is_reduced ? reduced : shape.vector));
  return ir::match(instruction, wanted, vars).ok();
}

/// Shared by all lanes, its values of the reduced index apart: a copy by rows, which pays where several vectors of
/// lanes use it.
bool can_group_rows(const PlanContext& c, const BlockShape& shape, const ReadRow& row, uint32_t reduced) {
  return c.site == Site::root && is_final_before(c, row.tensor) && shape.unrolled && row.uses(*shape.unrolled) &&
         dimension_alone(c.t, row.access, *shape.unrolled) && dimension_alone(c.t, row.access, reduced) &&
         c.table.extent[shape.vector] > c.lanes();
}

/// What must be packed in groups; false where some operand cannot be brought into the instruction's order.
bool find_groups(const PlanContext& c, const BlockShape& shape, uint32_t reduced, TensorUse& use) {
  std::vector<TensorId>& out = use.lane_groups;
  out.clear();
  use.row_groups.clear();
  for (const ReadRow& row : c.table.reads) {
    if (row.irregular[reduced] || row.block[reduced] != 0 || row.quotient[reduced] != 0 || !row.uses(reduced))
      return false;
    if (!row.uses(shape.vector)) {
      if (row.stride[reduced] == 1) continue;
      if (!can_group_rows(c, shape, row, reduced)) return false;
      use.row_groups.push_back(row.tensor);
      continue;
    }
    const bool can_pack = is_final_before(c, row.tensor) && dimension_alone(c.t, row.access, shape.vector) &&
                          dimension_alone(c.t, row.access, reduced);
    const bool is_ahead = c.t.program.tensors[row.tensor].is_const_input;
    const int64_t rows = shape.unrolled && !row.uses(*shape.unrolled) ? c.table.extent[*shape.unrolled] : 1;
    if (!can_pack || (!is_ahead && (rows <= kLeastReuse || c.site == Site::attached))) return false;
    if (shape.unrolled && row.uses(*shape.unrolled)) return false;
    out.push_back(row.tensor);
  }
  return !out.empty();
}

}  // namespace

std::optional<TensorUse> tensor_use(const PlanContext& c, const BlockShape& shape) {
  const Equation& equation = equation_of(c.t, c.stage);
  if (equation.targets.size() != 1 || equation.rhs->op != Op::reduce) return std::nullopt;
  for (const std::string& name : c.machine.units.instructions) {
    auto instruction = ir::instruction_named(name);
    if (!instruction || (*instruction)->axes.size() != 2 || !(*instruction)->allows(c.t.cls)) continue;
    TensorUse use{name, 0, 0, {}};
    int64_t lanes = 0;
    for (const auto& axis : (*instruction)->axes) (axis.is_reduced ? use.extent : lanes) = axis.extent;
    if (lanes != block_lanes(c, shape) || use.extent == 0) continue;
    for (uint32_t k = static_cast<uint32_t>(c.table.extent.size()); k-- > c.stage.data_indices;) {
      if (c.table.extent[k] < use.extent || !matches(c, shape, **instruction, k)) continue;
      if (!find_groups(c, shape, k, use)) continue;
      use.reduced = k;
      return use;
    }
  }
  return std::nullopt;
}

std::vector<LayoutDigit> in_groups(std::vector<LayoutDigit> layout, const PlanContext& c, const ReadRow& row,
                                   const TensorUse& use) {
  auto dim = dimension_alone(c.t, row.access, use.reduced);
  if (!dim) return layout;
  const std::string name = "d" + std::to_string(*dim);
  for (LayoutDigit& digit : layout)
    if (digit.dim == name && digit.part == LayoutDigit::Part::whole) {
      digit = {LayoutDigit::Part::quotient, name, Size{use.extent, ""}};
      layout.push_back({LayoutDigit::Part::remainder, name, Size{use.extent, ""}});
      break;
    }
  return layout;
}

}  // namespace polyweft::schedules
