#include "driver/register_tile.h"

#include <algorithm>

namespace polyweft {
namespace {

int64_t columns_of(const Buffer& buffer) {
  return buffer.extents.empty() ? 1 : buffer.extents.back();
}
int64_t rows_of(const Buffer& buffer) {
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < buffer.extents.size(); ++d) rows *= buffer.extents[d];
  return rows;
}
int64_t vectors_of(int64_t elements, int64_t lanes) {
  return (elements + lanes - 1) / lanes;
}
int64_t registers_of(const Buffer& buffer, int64_t lanes) {
  return rows_of(buffer) * vectors_of(columns_of(buffer), lanes);
}

// Lanes of the schedule's own vectors where these are shorter than the target's.
int64_t lanes_of(const LoopNest& nest, const Buffer& buffer, const Target& target) {
  int64_t widest = 1;
  for (const Node& node : nest.nodes)
    if (const auto* loop = std::get_if<Loop>(&node); loop && loop->mark.kind == MarkKind::vector)
      widest = std::max<int64_t>(widest, loop->mark.width);
  return std::min(widest, std::max<int64_t>(1, target.machine.units.vector_bits / 8 / size_bytes(buffer.type)));
}

const Buffer* largest_in_registers(const LoopNest& nest, const Target& target) {
  const Buffer* largest = nullptr;
  const auto size = [&](const Buffer& buffer) { return registers_of(buffer, lanes_of(nest, buffer, target)); };
  for (const Buffer& buffer : nest.buffers)
    if (buffer.scope == Scope::reg && (!largest || size(buffer) > size(*largest))) largest = &buffer;
  return largest;
}

std::string shape_of(const Buffer& buffer) {
  std::string out;
  for (const int64_t extent : buffer.extents) out += (out.empty() ? "" : ", ") + std::to_string(extent);
  return buffer.name + " [" + out + "]";
}

std::string cure(const LoopNest& nest, const Buffer& buffer, const Target& target) {
  const int64_t product =
      target.can.fused_products ? 0 : 1;  // a register of its own where it is added in a second instruction
  const VectorRegisters registers{target.machine.units.vector_registers - product, lanes_of(nest, buffer, target)};
  const std::string needs = shape_of(buffer) + " takes " + std::to_string(registers_of(buffer, registers.lanes)) +
                            " of " + std::to_string(target.machine.units.vector_registers) + " vector registers of " +
                            target.name;
  const RegisterTile most{rows_of(buffer), columns_of(buffer)};
  const RegisterTile fits = fitting_tile(most, registers);
  if (fits.rows * fits.columns >= most.rows * most.columns)
    return needs + " and would fit: unroll less, or promote less to registers beside it";
  return needs + ": a block of " + std::to_string(fits.rows) + " x " + std::to_string(fits.columns) +
         " elements fits; make the tile sizes that are unrolled and vectorized smaller";
}

}  // namespace

RegisterTile fitting_tile(RegisterTile most, const VectorRegisters& registers) {
  RegisterTile best;
  double best_rate = 0;
  for (int64_t vectors = 1; vectors <= vectors_of(most.columns, registers.lanes); ++vectors)
    for (int64_t rows = 1; rows <= most.rows && rows * vectors + vectors + 1 < registers.count; ++rows) {
      const double rate = static_cast<double>(rows * vectors) / static_cast<double>(rows + vectors);
      if (rate <= best_rate) continue;
      best_rate = rate;
      best = {rows, std::min(vectors * registers.lanes, most.columns)};
    }
  return best;
}

std::string spill_text(int spills) {
  return std::to_string(spills) + " vector registers are spilled";
}

Error spill_refusal(const LoopNest& nest, const Target& target, int spills) {
  std::vector<std::string> notes;
  if (const Buffer* buffer = largest_in_registers(nest, target)) notes.push_back(cure(nest, *buffer, target));
  notes.emplace_back("polyweft bench --schedule times it all the same");
  return fail("PW0506", "the register tile does not fit: " + spill_text(spills), std::move(notes));
}

}  // namespace polyweft
