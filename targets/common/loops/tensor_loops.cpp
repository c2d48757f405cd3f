#include "targets/common/loops/tensor_loops.h"

#include <algorithm>

namespace polyweft::targets {

bool TensorLoops::tensor_loop(const Loop& loop) {
  const auto match = ir::match_tensor_loop(nest_, loop);
  if (!match) throw Refusal{match.error()};
  if (match->instruction->is_of_warp()) return false;
  if (match->instruction->is_tile()) return tile_products_.tile_loop(loop, *match);
  if (match->loops.size() > 2) return matrix_products_.multiply_matrices(*match);
  const Loop *lanes = nullptr, *reduced = nullptr;
  for (size_t axis = 0; axis < match->loops.size(); ++axis)
    (match->instruction->axes[axis].is_reduced ? reduced : lanes) = match->loops[axis];
  if (match->loops.size() != 2 || !lanes || !reduced || lanes->mark.kind != MarkKind::vector || lanes_.width > 1)
    return false;
  vector_loops_.over_lanes(*lanes, [&] {
    const Affine lo = fold(reduced->lo.of[0]);
    if (!call_instruction(*match, *reduced))
      for (int64_t n = 0; n < match->instruction->axes[1].extent; ++n) {
        variables_.substitute(reduced->var, lo + Affine::of(n));
        statements_.compute(*match->compute);
      }
    variables_.end_substitution(reduced->var);
  });
  return true;
}

bool TensorLoops::call_instruction(const ir::TensorMatch& match, const Loop& reduced) {
  const ir::Instruction& instruction = *match.instruction;
  std::vector<llvm::Value*> arguments = {nullptr};
  std::vector<llvm::Type*> types = {register_type(b_, instruction.operands[0])};
  for (size_t k = 1; k < instruction.operands.size(); ++k) {
    llvm::Value* value = operand(match, k, reduced);
    if (!value) return false;
    arguments.push_back(value);
    types.push_back(value->getType());
  }
  variables_.substitute(reduced.var, fold(reduced.lo.of[0]));
  const Access& dst = match.compute->dst[0];
  llvm::Value* state = scalar_.splat(memory_.load(dst), lanes_.width);
  if (state->getType() != types[0]) return false;
  arguments[0] = state;
  auto function = module_.getOrInsertFunction(instruction.call, llvm::FunctionType::get(types[0], types, false));
  memory_.store(dst, b_.CreateCall(function, arguments));
  return true;
}

// The cells of one lane are neighbours; lanes follow each other, or all read the same cells.
llvm::Value* TensorLoops::operand(const ir::TensorMatch& match, size_t number, const Loop& reduced) {
  const ir::Instruction& instruction = *match.instruction;
  const auto& own = instruction.operands[number];
  const auto& access = match.binding.access[number - 1];
  const bool is_plain =
      own.loops.size() == 2 && !instruction.axes[own.loops[0]].is_reduced && instruction.axes[own.loops[1]].is_reduced;
  const int64_t extent = instruction.axes[own.loops.back()].extent, bytes = extent * size_bytes(own.type);
  if (!is_plain || lanes_.guarded || (bytes != 2 && bytes != 4 && bytes != 8)) return nullptr;
  llvm::Type* type = register_type(b_, own);
  if (!access) {
    llvm::Constant* one = llvm::ConstantInt::get(scalar_.memory_type(own.type), 1);
    return b_.CreateBitCast(
        llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes_.width * static_cast<unsigned>(extent)), one),
        type);
  }
  if (registers_.in_registers(access->id)) return nullptr;
  const Affine lo = fold(reduced.lo.of[0]);
  Affine first;
  for (int64_t n = 0; n < extent; ++n) {
    variables_.substitute(reduced.var, lo + Affine::of(n));
    std::vector<Affine> index;
    for (const auto& s : access->index) index.push_back(fold(s.affine));
    const Affine offset = facts_.offset(nest_.buffers[access->id], index);
    if (n == 0) first = offset;
    if (!(offset - first == Affine::of(n))) return nullptr;
  }
  const int64_t stride = first.coefficient(kLane);
  if (integers_.depends_on_lane(first - Affine::variable(kLane, stride)) || (stride != 0 && stride != extent))
    return nullptr;
  variables_.substitute(reduced.var, lo);
  const Place place = places_.place_of(*access);
  llvm::Type* group = b_.getIntNTy(static_cast<unsigned>(8 * bytes));
  if (stride == 0) {
    llvm::Value* cells =
        b_.CreateAlignedLoad(group, place.pointer, llvm::Align(static_cast<uint64_t>(size_bytes(own.type))));
    return b_.CreateBitCast(b_.CreateVectorSplat(lanes_.width, cells), type);
  }
  auto* vector = llvm::FixedVectorType::get(group, lanes_.width);
  const llvm::Align align(static_cast<uint64_t>(place.alignment));
  llvm::Value* cells = lanes_.mask
                           ? static_cast<llvm::Value*>(b_.CreateMaskedLoad(vector, place.pointer, align, lanes_.mask,
                                                                           llvm::Constant::getNullValue(vector)))
                           : b_.CreateAlignedLoad(vector, place.pointer, align);
  return b_.CreateBitCast(cells, type);
}

}  // namespace polyweft::targets
