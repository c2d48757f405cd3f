#include "schedules/sketches/unit_tiles.h"

#include <algorithm>
#include <sstream>

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

/// Does such a command of the machine say where this operand lies?
bool says(const Machine& machine, const std::string& command, const std::string& operand) {
  for (const std::string& line : machine.unit.commands) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != command) continue;
    while (words >> word)
      if (word.substr(0, word.find_first_of("=/")) == operand) return true;
  }
  return false;
}

/// Elements of a row of an operand in the scratchpad: the instruction's, or those that lie between one row and the next
/// where the machine's commands do not say how far apart these are.
int64_t row_digit(const Machine& machine, const std::string& operand, int64_t own, int64_t element_bytes) {
  const bool copies_say = says(machine, "stride", "apart") || says(machine, "copy_in", "apart");
  const int64_t row = machine.unit.scratchpad_row_bytes.value / element_bytes;
  if (row % own != 0 || (copies_say && says(machine, "product", operand + "_apart"))) return own;
  return row;
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

/// Sizes of a block of sums and of the part of the depth that is copied for it, as numbers and, where a search may
/// change them, as decisions.
class UnitBlocks {
 public:
  UnitBlocks(const PlanContext& c, const UnitUse& use, const UnitForm& form) : c_(c), use_(use), form_(form) {
    const UnitFigures& unit = c.machine.unit;
    has_sums_ = unit.accumulator_bytes.value > 0;
    sums_bytes_ = has_sums_ ? unit.accumulator_bytes.value : unit.scratchpad_bytes.value / 2;
    pad_bytes_ = has_sums_ ? unit.scratchpad_bytes.value : unit.scratchpad_bytes.value / 2;
    bytes_ = size_bytes(use.instruction->operands[1].type);
    beside_a_ = cells_beside(c, *use.a, use.a_rows, use.a_depth, use.k);
    beside_b_ = cells_beside(c, *use.b, use.b_depth, use.b_columns, use.k);
    spread_ = spread_of(c, *use.a, use.a_rows, use.k);
    a_digit_ = row_digit(c.machine, "a", use.depth, bytes_);
    b_digit_ = row_digit(c.machine, "b", use.columns, bytes_);
    depth_ = whole_units(extent(use.k), a_digit_);
  }

  std::optional<Plan> plan() {
    if (!choose()) return std::nullopt;
    for (uint32_t other = 0; other < c_.stage.data_indices; ++other)
      if (other != use_.u && other != use_.v)
        (form_.keeps_columns && !use_.b->uses(other) ? inside_ : outside_).push_back(c_.name(other));
    if (form_.keeps_columns && inside_.empty() && mu_ >= extent(use_.u)) return std::nullopt;  // nothing is read again
    open_sizes();
    add_steps();
    return std::move(plan_);
  }

 private:
  int64_t extent(uint32_t index) const { return c_.table.extent[index]; }

  /// Square blocks that fill the memory of sums, then a depth that the scratchpad holds.
  bool choose() {
    const auto fits = [&](int64_t rows, int64_t columns) { return rows * columns * kSumBytes <= sums_bytes_; };
    mu_ = use_.rows, mv_ = b_digit_, mk_ = form_.keeps_columns ? depth_ : a_digit_;
    for (bool grows = true; grows;) {
      grows = false;
      const bool rows_full = mu_ >= extent(use_.u), columns_full = mv_ >= extent(use_.v);
      if (!rows_full && (mu_ <= mv_ || columns_full) && fits(2 * mu_, mv_)) mu_ *= 2, grows = true;
      if (!columns_full && (mv_ <= mu_ || rows_full) && fits(mu_, 2 * mv_)) mv_ *= 2, grows = true;
    }
    while (pad(mk_) > pad_bytes_ && mu_ > use_.rows) mu_ /= 2;
    while (pad(mk_) > pad_bytes_ && mv_ > b_digit_) mv_ /= 2;
    constexpr int64_t kPartsAhead = 4;  // of the depth: what is copied before the first product is one of them
    while (!form_.keeps_columns && pad(2 * mk_) <= pad_bytes_ && kPartsAhead * mk_ < extent(use_.k)) mk_ *= 2;
    return pad(mk_) <= pad_bytes_ && fits(mu_, mv_);
  }
  int64_t slots_of_columns() const { return form_.keeps_columns ? 1 : form_.slots; }
  int64_t pad(int64_t depth) const {
    return bytes_ * depth * (form_.slots * (mu_ + spread_) * beside_a_ + slots_of_columns() * mv_ * beside_b_);
  }

  void open_sizes() {
    su_ = add_size(plan_, c_, "mu", mu_, unit_sizes(extent(use_.u), use_.rows));
    sv_ = add_size(plan_, c_, "mv", mv_, unit_sizes(extent(use_.v), b_digit_));
    sk_ = form_.keeps_columns ? Size{mk_, ""} : add_size(plan_, c_, "mk", mk_, unit_sizes(extent(use_.k), a_digit_));
    add_constraint("sums", {term(kSumBytes, {su_, sv_})}, sums_bytes_);
    const int64_t each = form_.slots * bytes_ * beside_a_;
    add_constraint("scratchpad",
                   {term(each, {su_, sk_}), term(each * spread_, {sk_}),
                    term(slots_of_columns() * bytes_ * beside_b_, {sv_, sk_})},
                   pad_bytes_);
  }
  static Monomial term(int64_t coeff, std::initializer_list<Size> sizes) {
    Monomial out{static_cast<double>(coeff), {}};
    for (const Size& size : sizes) {
      if (size.decision.empty())
        out.coeff *= static_cast<double>(size.constant);
      else
        out.decisions.push_back(size.decision);
    }
    return out;
  }
  void add_constraint(const char* name, std::vector<Monomial> terms, int64_t most) {
    std::erase_if(terms, [](const Monomial& each) { return each.coeff == 0; });
    if (std::any_of(terms.begin(), terms.end(), [](const Monomial& each) { return !each.decisions.empty(); }))
      plan_.constraints.push_back({c_.decision(name), std::move(terms), static_cast<double>(most)});
  }

  void add_steps() {
    const std::string &s = c_.stage.name, u = c_.name(use_.u), v = c_.name(use_.v), k = c_.name(use_.k);
    std::vector<TileStep::Level> levels = {{u, su_}, {v, sv_}};
    if (!form_.keeps_columns) levels.push_back({k, sk_});
    levels.insert(levels.end(), {{u, Size{use_.rows, ""}}, {v, Size{use_.columns, ""}}, {k, Size{use_.depth, ""}}});
    plan_.steps.push_back(TileStep{s, levels});
    std::vector<std::string> order = outside_, taps;
    for (uint32_t other = c_.stage.data_indices; other < c_.table.extent.size(); ++other)
      if (other != use_.k) taps.push_back(c_.name(other));
    const auto add = [&](const std::vector<std::string>& more) { order.insert(order.end(), more.begin(), more.end()); };
    if (form_.keeps_columns) {
      add({v + ".1"}), add(inside_), add({u + ".1"}), add(taps), add({k + ".1"});
    } else {
      add({u + ".1", v + ".1", k + ".1"}), add(taps), add({k + ".2"});
    }
    add({u + ".2", v + ".2", u, v, k});
    plan_.steps.push_back(PermuteStep{s, order});
    const std::string block = form_.keeps_columns ? u + ".1" : v + ".1";
    plan_.steps.push_back(AccumulateStep{s, block, has_sums_ ? Scope::accumulator : Scope::scratchpad});
    // Rows are copied for each block, or for all blocks of a loop where these are one.
    const std::string ahead = !form_.keeps_columns                        ? k + ".1"
                              : mu_ >= extent(use_.u) && !inside_.empty() ? inside_.back()
                                                                          : u + ".1";
    promote(*use_.b, form_.keeps_columns ? v + ".1" : k + ".1", use_.b_depth, use_.b_columns, b_digit_);
    promote(*use_.a, ahead, use_.a_rows, use_.a_depth, a_digit_);
    plan_.steps.push_back(TensorizeStep{s, {u, v, k}, use_.instruction->name});
    if (form_.slots > 1) plan_.steps.push_back(PipelineStep{s, ahead, Size{form_.slots, ""}});
  }
  void promote(const ReadRow& row, const std::string& at, uint32_t rows, uint32_t along, int64_t digit) {
    plan_.steps.push_back(PromoteStep{c_.t.program.tensors[row.tensor].name, c_.stage.name, at, Scope::scratchpad,
                                      rows_layout(row.access.index.size(), rows, along, digit), 0});
  }

  static constexpr int64_t kSumBytes = 4;
  const PlanContext& c_;
  const UnitUse& use_;
  const UnitForm form_;
  bool has_sums_ = false;
  int64_t sums_bytes_ = 0, pad_bytes_ = 0, bytes_ = 1;
  int64_t beside_a_ = 1, beside_b_ = 1,
          spread_ = 0;                 ///< cells of the operands in other dimensions; rows beside a block
  int64_t a_digit_ = 1, b_digit_ = 1;  ///< elements of rows of the operands in the scratchpad
  int64_t depth_ = 1, mu_ = 1, mv_ = 1, mk_ = 1;
  Size su_, sv_, sk_;
  std::vector<std::string> outside_, inside_;  ///< other data loops: outside of what stays in the scratchpad, inside
  Plan plan_;
};

}  // namespace

std::optional<Plan> plan_unit_tiles(const PlanContext& c, const UnitForm& form) {
  const auto use = use_of_unit(c);
  return use ? UnitBlocks(c, *use, form).plan() : std::nullopt;
}

}  // namespace polyweft::schedules
