#include "targets/common/loops/matrix_products.h"

#include <numeric>

namespace polyweft::targets {

llvm::Type* register_type(llvm::IRBuilder<>& b, const ir::Instruction::Operand& operand) {
  const std::string& name = operand.register_element;
  llvm::Type* element = nullptr;
  if (name == "f32") element = b.getFloatTy();
  if (name == "bf16") element = b.getBFloatTy();
  if (name == "i8") element = b.getInt8Ty();
  if (name == "i16") element = b.getInt16Ty();
  if (name == "i32") element = b.getInt32Ty();
  if (!element) throw Refusal{fail("PW0518", "registers of " + name + " are unknown here")};
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(operand.register_lanes));
}

/// Where the rows of an operand begin, one cell behind the other in each; none where they lie in another way, or a loop
/// is shorter than the instruction's.
std::optional<std::vector<Affine>> MatrixProducts::matrix_rows(const ir::TensorMatch& match,
                                                               const ir::Instruction::Operand& operand,
                                                               const Access& access) {
  if (operand.loops.size() != 2 || registers_.in_registers(access.id) || has_data(access) ||
      strides_.is_symbolic(access.id))
    return std::nullopt;
  const auto extent = [&](size_t d) { return match.instruction->axes[operand.loops[d]].extent; };
  std::vector<Affine> rows;
  for (int64_t r = 0; r < extent(0); ++r)
    for (int64_t c = 0; c < extent(1); ++c) {
      const std::pair<size_t, int64_t> cell[] = {{0, r}, {1, c}};
      for (const auto& [d, n] : cell) {
        const Loop& loop = *match.loops[operand.loops[d]];
        variables_.substitute(loop.var, fold(loop.lo.of[0]) + Affine::of(n));
      }
      const Affine offset = places_.offset_of(access, nullptr);
      if (c == 0) rows.push_back(offset);
      if (!(offset - rows.back() == Affine::of(c))) return std::nullopt;
    }
  return rows;
}

/// Rows that follow each other are one.
std::vector<Affine> MatrixProducts::merged_rows(std::vector<Affine> rows, int64_t columns) {
  for (size_t r = 1; r < rows.size(); ++r)
    if (!(rows[r] - rows[r - 1] == Affine::of(columns))) return rows;
  rows.resize(1);
  return rows;
}

llvm::Value* MatrixProducts::load_matrix(const ir::Instruction::Operand& operand, BufferId buffer,
                                         const std::vector<Affine>& rows) {
  llvm::Type* whole = register_type(b_, operand);
  llvm::Type* element = scalar_.memory_type(nest_.buffers[buffer].type);
  const auto bits = static_cast<unsigned>(whole->getPrimitiveSizeInBits().getFixedValue());
  const unsigned lanes = bits / static_cast<unsigned>(element->getPrimitiveSizeInBits().getFixedValue()) /
                         static_cast<unsigned>(rows.size());
  llvm::Value* out = nullptr;
  for (const Affine& row : rows) {
    const Place place = places_.place_at(buffer, row);
    llvm::Value* part = b_.CreateAlignedLoad(llvm::FixedVectorType::get(element, lanes), place.pointer,
                                             llvm::Align(static_cast<uint64_t>(place.alignment)));
    if (!out) {
      out = part;
      continue;
    }
    std::vector<int> both(2 * lanes);
    std::iota(both.begin(), both.end(), 0);
    out = b_.CreateShuffleVector(out, part, both);
  }
  return b_.CreateBitCast(out, whole);
}

void MatrixProducts::store_matrix(llvm::Value* value, BufferId buffer, const std::vector<Affine>& rows) {
  const unsigned lanes =
      llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements() / static_cast<unsigned>(rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    std::vector<int> own(lanes);
    std::iota(own.begin(), own.end(), static_cast<int>(r * lanes));
    const Place place = places_.place_at(buffer, rows[r]);
    b_.CreateAlignedStore(rows.size() == 1 ? value : b_.CreateShuffleVector(value, own), place.pointer,
                          llvm::Align(static_cast<uint64_t>(place.alignment)));
  }
  loads_.clear();
}

/// False, and nothing emitted: the sub-nest stays plain loops.
bool MatrixProducts::multiply_matrices(const ir::TensorMatch& match) {
  const ir::Instruction& instruction = *match.instruction;
  constexpr size_t kOperands = 3;  // two rows each: more would be put together of pairs
  if (instruction.operands.size() != kOperands || lanes_.width > 1 || lanes_.mask) return false;
  std::vector<std::pair<BufferId, std::vector<Affine>>> places;
  bool fits = true;
  for (size_t axis = 0; axis < match.loops.size(); ++axis)
    fits = fits && variables_.constant_trips(*match.loops[axis], fold(match.loops[axis]->lo.of[0])) ==
                       instruction.axes[axis].extent;
  for (size_t k = 0; k < kOperands && fits; ++k) {
    const auto& access = k == 0 ? std::optional(match.compute->dst[0]) : match.binding.access[k - 1];
    auto rows = access ? matrix_rows(match, instruction.operands[k], *access) : std::nullopt;
    fits = rows && rows->size() == 2;
    if (fits)
      places.emplace_back(access->id,
                          merged_rows(std::move(*rows), instruction.axes[instruction.operands[k].loops[1]].extent));
  }
  for (const Loop* loop : match.loops) variables_.end_substitution(loop->var);
  if (!fits) return false;
  std::vector<llvm::Value*> arguments;
  std::vector<llvm::Type*> types;
  for (size_t k = 0; k < kOperands; ++k) {
    arguments.push_back(load_matrix(instruction.operands[k], places[k].first, places[k].second));
    types.push_back(arguments.back()->getType());
  }
  auto function = module_.getOrInsertFunction(instruction.call, llvm::FunctionType::get(types[0], types, false));
  store_matrix(b_.CreateCall(function, arguments), places[0].first, places[0].second);
  return true;
}

}  // namespace polyweft::targets
