#include "schedules/sketches/unit_tiles.h"

#include <algorithm>

#include "ir/nests/instruction.h"
#include "ir/values/slots.h"

namespace polyweft::schedules {
namespace {

/// Indices of a sum for the axes of an instruction, and where its operands have them.
struct UnitUse {
  const ir::Instruction* instruction = nullptr;
  uint32_t u = 0, v = 0, k = 0;
  const ReadRow *a = nullptr, *b = nullptr;
  uint32_t a_rows = 0, a_depth = 0, b_depth = 0, b_columns = 0;  ///< dimensions
  int64_t rows = 1, columns = 1, depth = 1;                      ///< of the instruction
};

const ReadRow* only_row_of(const PlanContext& c, TensorId tensor) {
  const ReadRow* found = nullptr;
  for (const ReadRow& row : c.table.reads) {
    if (row.tensor != tensor) continue;
    if (found) return nullptr;
    found = &row;
  }
  return found;
}

/// The dimension that the index moves by one, maybe with others.
std::optional<uint32_t> dimension_moved(const PlanContext& c, const ReadRow& row, uint32_t index) {
  std::optional<uint32_t> out;
  for (uint32_t d = 0; d < row.access.index.size(); ++d) {
    const Affine& e = row.access.index[d].affine;
    const int64_t by = e.coefficient(c.t.program.index_var(index));
    if (row.access.index[d].data || !e.is_linear() || (by != 0 && (by != 1 || out))) return std::nullopt;
    if (by != 0) out = d;
  }
  return out;
}

std::optional<UnitUse> unit_use_of(const PlanContext& c, const ir::Instruction& instruction, UnitUse use) {
  const Equation& equation = equation_of(c.t, c.stage);
  ir::Accumulation wanted{
      equation.rhs->reduction.reducer, c.t.program.tensors[equation.targets[0]].type, {}, equation.rhs->args[0]};
  for (const Slot& slot : equation.slots) wanted.destination.push_back(ir::position_of(slot));
  const auto var = [&](uint32_t index) { return c.t.program.index_var(index); };
  const auto binding = ir::match(instruction, wanted, {var(use.u), var(use.v), var(use.k)});
  if (!binding || !binding->access[0] || !binding->access[1]) return std::nullopt;
  use.instruction = &instruction;
  use.a = only_row_of(c, binding->access[0]->id), use.b = only_row_of(c, binding->access[1]->id);
  if (!use.a || !use.b || use.a == use.b) return std::nullopt;
  const auto a_rows = dimension_moved(c, *use.a, use.u), a_depth = dimension_alone(c.t, use.a->access, use.k),
             b_depth = dimension_alone(c.t, use.b->access, use.k),
             b_columns = dimension_alone(c.t, use.b->access, use.v);
  if (!a_rows || !a_depth || !b_depth || !b_columns || *a_rows == *a_depth || *b_depth == *b_columns)
    return std::nullopt;
  use.a_rows = *a_rows, use.a_depth = *a_depth, use.b_depth = *b_depth, use.b_columns = *b_columns;
  use.rows = instruction.axes[0].extent, use.columns = instruction.axes[1].extent;
  use.depth = instruction.axes[2].extent;
  return use;
}

/// The indices with most products.
std::optional<UnitUse> use_of_unit(const PlanContext& c) {
  const Equation& equation = equation_of(c.t, c.stage);
  if (!c.machine.has_unit() || !c.stage.reduces || !c.stage.guards.empty() || !c.stage.inside.empty() ||
      equation.targets.size() != 1 || equation.rhs->op != Op::reduce)
    return std::nullopt;
  std::optional<UnitUse> best;
  double most = 0;
  for (const std::string& name : c.machine.units.instructions) {
    const auto instruction = ir::instruction_named(name);
    if (!instruction || !(*instruction)->is_of_unit() || !(*instruction)->allows(c.t.cls)) continue;
    const auto& axes = (*instruction)->axes;
    if (axes.size() != 3 || axes[0].is_reduced || axes[1].is_reduced || !axes[2].is_reduced) continue;
    for (uint32_t u = 0; u < c.stage.data_indices; ++u)
      for (uint32_t v = 0; v < c.stage.data_indices; ++v)
        for (uint32_t k = c.stage.data_indices; u != v && k < c.table.extent.size(); ++k) {
          double filled = 1;  // of the unit's cells, at most all of them
          const uint32_t own[] = {u, v, k};
          for (size_t axis = 0; axis < 3; ++axis)
            filled *=
                std::min(1.0, static_cast<double>(c.table.extent[own[axis]]) / static_cast<double>(axes[axis].extent));
          if (filled <= most) continue;
          const auto use = unit_use_of(c, **instruction, {nullptr, u, v, k});
          if (use) best = use, most = filled;
        }
  }
  return best;
}

/// [depth / q, .., rows, depth % q]: rows that follow each other are an operand's.
std::vector<LayoutDigit> rows_layout(size_t rank, uint32_t rows, uint32_t along, int64_t digit) {
  const auto name = [](uint32_t d) { return "d" + std::to_string(d); };
  std::vector<LayoutDigit> out = {{LayoutDigit::Part::quotient, name(along), Size{digit, ""}}};
  for (uint32_t d = 0; d < rank; ++d)
    if (d != along && d != rows) out.push_back({LayoutDigit::Part::whole, name(d), {}});
  out.push_back({LayoutDigit::Part::whole, name(rows), {}});
  out.push_back({LayoutDigit::Part::remainder, name(along), Size{digit, ""}});
  return out;
}

/// Elements that the reduced indices beside the depth add to what a dimension of the read spans.
int64_t spread_of(const PlanContext& c, const ReadRow& row, uint32_t dim, uint32_t depth) {
  int64_t out = 0;
  for (uint32_t k = c.stage.data_indices; k < c.table.extent.size(); ++k)
    if (k != depth)
      out += std::abs(row.access.index[dim].affine.coefficient(c.t.program.index_var(k))) * (c.table.extent[k] - 1);
  return out;
}
/// Of dimensions other than these two.
int64_t cells_beside(const PlanContext& c, const ReadRow& row, uint32_t one, uint32_t other, uint32_t depth) {
  int64_t out = 1;
  for (uint32_t d = 0; d < row.access.index.size(); ++d)
    if (d != one && d != other) out *= 1 + spread_of(c, row, d, depth);
  return out;
}

int64_t whole_units(int64_t extent, int64_t unit) {
  return (extent + unit - 1) / unit * unit;
}
/// Multiples of the unit up to all of the extent.
std::vector<int64_t> unit_sizes(int64_t extent, int64_t unit) {
  std::vector<int64_t> out;
  for (int64_t size = unit; size < extent && out.size() < 6; size *= 2) out.push_back(size);
  out.push_back(std::min(whole_units(extent, unit), unit << 6));
  return out;
}

}  // namespace

std::optional<Plan> plan_unit_tiles(const PlanContext& c, int64_t slots) {
  const auto use = use_of_unit(c);
  if (!use) return std::nullopt;
  const UnitFigures& unit = c.machine.unit;
  const bool has_sums = unit.accumulator_bytes.value > 0;
  const auto& extent = c.table.extent;
  constexpr int64_t kSumBytes = 4;
  const int64_t bytes = size_bytes(use->instruction->operands[1].type);
  const int64_t beside_a = cells_beside(c, *use->a, use->a_rows, use->a_depth, use->k),
                beside_b = cells_beside(c, *use->b, use->b_depth, use->b_columns, use->k),
                spread = spread_of(c, *use->a, use->a_rows, use->k);
  // A guess: square blocks that fill the memory of sums, then as deep as the scratchpad holds.
  const int64_t sums_bytes = has_sums ? unit.accumulator_bytes.value : unit.scratchpad_bytes.value / 2;
  const int64_t pad_bytes = has_sums ? unit.scratchpad_bytes.value : unit.scratchpad_bytes.value / 2;
  int64_t mu = use->rows, mv = use->columns, mk = use->depth;
  const auto fits_sums = [&](int64_t rows, int64_t columns) { return rows * columns * kSumBytes <= sums_bytes; };
  for (bool grows = true; grows;) {
    grows = false;
    if (2 * mu < 2 * extent[use->u] && mu <= mv && fits_sums(2 * mu, mv)) mu *= 2, grows = true;
    if (2 * mv < 2 * extent[use->v] && mv <= mu && fits_sums(mu, 2 * mv)) mv *= 2, grows = true;
    if (!grows && mu < extent[use->u] && mv >= extent[use->v] && fits_sums(2 * mu, mv)) mu *= 2, grows = true;
    if (!grows && mv < extent[use->v] && mu >= extent[use->u] && fits_sums(mu, 2 * mv)) mv *= 2, grows = true;
  }
  const auto pad = [&](int64_t depth) { return slots * bytes * depth * ((mu + spread) * beside_a + mv * beside_b); };
  while (pad(mk) > pad_bytes && mu > use->rows) mu /= 2;
  while (pad(mk) > pad_bytes && mv > use->columns) mv /= 2;
  if (pad(mk) > pad_bytes) return std::nullopt;
  constexpr int64_t kPartsAhead = 4;  // of the depth: what is copied before the first product is one of them
  while (pad(2 * mk) <= pad_bytes && kPartsAhead * mk < extent[use->k]) mk *= 2;
  Plan plan;
  const Size su = add_size(plan, c, "mu", mu, unit_sizes(extent[use->u], use->rows)),
             sv = add_size(plan, c, "mv", mv, unit_sizes(extent[use->v], use->columns)),
             sk = add_size(plan, c, "mk", mk, unit_sizes(extent[use->k], use->depth));
  const auto term = [](double coeff, std::initializer_list<Size> sizes) {
    Monomial out{coeff, {}};
    for (const Size& size : sizes) {
      if (size.decision.empty())
        out.coeff *= static_cast<double>(size.constant);
      else
        out.decisions.push_back(size.decision);
    }
    return out;
  };
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  Constraint sums{c.decision("sums"), {term(number(kSumBytes), {su, sv})}, number(sums_bytes)};
  const double each = number(slots * bytes);
  Constraint operands{c.decision("scratchpad"),
                      {term(each * number(beside_a), {su, sk}), term(each * number(beside_a * spread), {sk}),
                       term(each * number(beside_b), {sv, sk})},
                      number(pad_bytes)};
  for (Constraint* constraint : {&sums, &operands}) {
    std::erase_if(constraint->terms, [](const Monomial& each_term) { return each_term.coeff == 0; });
    const bool is_open = std::any_of(constraint->terms.begin(), constraint->terms.end(),
                                     [](const Monomial& each_term) { return !each_term.decisions.empty(); });
    if (is_open) plan.constraints.push_back(std::move(*constraint));
  }
  const std::string &s = c.stage.name, u = c.name(use->u), v = c.name(use->v), k = c.name(use->k);
  plan.steps.push_back(TileStep{
      s,
      {{u, su}, {v, sv}, {k, sk}, {u, Size{use->rows, ""}}, {v, Size{use->columns, ""}}, {k, Size{use->depth, ""}}}});
  std::vector<std::string> order;
  for (uint32_t other = 0; other < c.stage.data_indices; ++other)
    if (other != use->u && other != use->v) order.push_back(c.name(other));
  for (const std::string& loop : {u + ".1", v + ".1", k + ".1"}) order.push_back(loop);
  for (uint32_t other = c.stage.data_indices; other < extent.size(); ++other)
    if (other != use->k) order.push_back(c.name(other));
  for (const std::string& loop : {k + ".2", u + ".2", v + ".2", u, v, k}) order.push_back(loop);
  plan.steps.push_back(PermuteStep{s, order});
  plan.steps.push_back(AccumulateStep{s, v + ".1", has_sums ? Scope::accumulator : Scope::scratchpad});
  const auto promote = [&](const ReadRow& row, uint32_t rows, uint32_t along, int64_t digit) {
    plan.steps.push_back(PromoteStep{c.t.program.tensors[row.tensor].name, s, k + ".1", Scope::scratchpad,
                                     rows_layout(row.access.index.size(), rows, along, digit), 0});
  };
  promote(*use->a, use->a_rows, use->a_depth, use->depth);
  promote(*use->b, use->b_depth, use->b_columns, use->columns);
  plan.steps.push_back(TensorizeStep{s, {u, v, k}, use->instruction->name});
  if (slots > 1) plan.steps.push_back(PipelineStep{s, k + ".1", Size{slots, ""}});
  return plan;
}

}  // namespace polyweft::schedules
