// Tensor marks: one call of the instruction where its operands lie in memory as its registers hold them, the plain
// sub-nest elsewhere.
//
// What the sub-nest computes was compared with the instruction's own nest (ir::match_tensor_loop), so both ways give
// the same sums.
#include <algorithm>

#include "targets/common/nest_code.h"

namespace polyweft::targets {

void NestCode::tensor_loop(const Loop& loop) {
  const auto match = ir::match_tensor_loop(nest_, loop);
  if (!match) throw Refusal{match.error()};
  if (match->instruction->is_tile()) return tile_loop(loop, *match);
  if (match->loops.size() > 2) return multiply_matrices(*match) ? void() : unroll_loop(loop);
  const Loop *lanes = nullptr, *reduced = nullptr;
  for (size_t axis = 0; axis < match->loops.size(); ++axis)
    (match->instruction->axes[axis].is_reduced ? reduced : lanes) = match->loops[axis];
  if (match->loops.size() != 2 || !lanes || !reduced || lanes->mark.kind != MarkKind::vector || lanes_.width > 1)
    return unroll_loop(loop);
  over_lanes(*lanes, [&] {
    const Affine lo = fold(reduced->lo.of[0]);
    if (!call_instruction(*match, *reduced))
      for (int64_t n = 0; n < match->instruction->axes[1].extent; ++n) {
        variables_.substitute(reduced->var, lo + Affine::of(n));
        statements_.compute(*match->compute);
      }
    variables_.end_substitution(reduced->var);
  });
}

llvm::Type* NestCode::register_type_of(const ir::Instruction::Operand& operand) {
  const std::string& name = operand.register_element;
  llvm::Type* element = nullptr;
  if (name == "f32") element = b_.getFloatTy();
  if (name == "bf16") element = b_.getBFloatTy();
  if (name == "i8") element = b_.getInt8Ty();
  if (name == "i16") element = b_.getInt16Ty();
  if (name == "i32") element = b_.getInt32Ty();
  if (!element) throw Refusal{fail("PW0518", "registers of " + name + " are unknown here")};
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(operand.register_lanes));
}

bool NestCode::call_instruction(const ir::TensorMatch& match, const Loop& reduced) {
  const ir::Instruction& instruction = *match.instruction;
  std::vector<llvm::Value*> arguments = {nullptr};
  std::vector<llvm::Type*> types = {register_type_of(instruction.operands[0])};
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
llvm::Value* NestCode::operand(const ir::TensorMatch& match, size_t number, const Loop& reduced) {
  const ir::Instruction& instruction = *match.instruction;
  const auto& own = instruction.operands[number];
  const auto& access = match.binding.access[number - 1];
  const bool is_plain =
      own.loops.size() == 2 && !instruction.axes[own.loops[0]].is_reduced && instruction.axes[own.loops[1]].is_reduced;
  const int64_t extent = instruction.axes[own.loops.back()].extent, bytes = extent * size_bytes(own.type);
  if (!is_plain || lanes_.guarded || (bytes != 2 && bytes != 4 && bytes != 8)) return nullptr;
  llvm::Type* type = register_type_of(own);
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

/// The offset for the first row, where the lanes of every row are `stride` apart and rows (if given) `distance`.
std::optional<Affine> NestCode::rows_apart(const Access& access, VarId row, const Affine& lo, int64_t count,
                                           std::optional<int64_t> distance) {
  Affine first;
  for (int64_t n = 0; n < count; ++n) {
    variables_.substitute(row, lo + Affine::of(n));
    std::vector<Affine> index;
    for (const auto& s : access.index) {
      if (s.data) return std::nullopt;
      index.push_back(fold(s.affine));
    }
    const Affine offset = facts_.offset(nest_.buffers[access.id], index);
    const int64_t stride = offset.coefficient(kLane);
    if (stride != (distance ? count : 1) || integers_.depends_on_lane(offset - Affine::variable(kLane, stride)))
      return std::nullopt;
    if (n == 0) first = offset;
    if (distance && !(offset - first == Affine::of(n * *distance))) return std::nullopt;
  }
  return first;
}

llvm::Value* NestCode::load_bits(const Access& access, llvm::Type* element) {
  const Place place = places_.place_of(access);
  auto* vector = llvm::FixedVectorType::get(element, lanes_.width);
  const llvm::Align align(static_cast<uint64_t>(place.alignment));
  if (!lanes_.mask) return b_.CreateAlignedLoad(vector, place.pointer, align);
  return b_.CreateMaskedLoad(vector, place.pointer, align, lanes_.mask, llvm::Constant::getNullValue(vector));
}

// for r in 0..4 unroll { for v in 0..16 vector { copy P[4 * v + r] <- X[r][v] } }: four loads, shuffles, one store.
// Lane by lane it would be a scatter of bytes.
bool NestCode::interleaved_copy(const Loop& rows, const Affine& lo, int64_t count) {
  const auto* lanes = std::get_if<Loop>(&nest_.nodes[rows.body]);
  if (!lanes || lanes->mark.kind != MarkKind::vector || lanes->lo.of.size() != 1 || lanes_.width > 1 ||
      (count != 2 && count != 4 && count != 8))
    return false;
  const auto* copy = std::get_if<Copy>(&nest_.nodes[lanes->body]);
  if (!copy || !copy->has_src || copy->dst.id == copy->src.id || !copy->valid.is_true() ||
      registers_.in_registers(copy->dst.id) || registers_.in_registers(copy->src.id))
    return false;
  for (const Affine& e : lanes->hi.of) {
    std::vector<VarId> used;
    collect_variables(e, used);
    if (std::find(used.begin(), used.end(), rows.var) != used.end()) return false;
  }
  // Whether the places fit is known before any code is made.
  const Lanes outer = lanes_;
  Lanes inside = outer;
  inside.width = lanes_of(*lanes);
  masks_.set(inside);
  variables_.substitute(lanes->var, fold(lanes->lo.of[0]) + Affine::variable(kLane));
  variables_.set_facts(kLane, {0, static_cast<int64_t>(lanes_.width) - 1, 1});
  const bool fits = rows_apart(copy->dst, rows.var, lo, count, 1).has_value() &&
                    rows_apart(copy->src, rows.var, lo, count, std::nullopt).has_value();
  variables_.end_substitution(lanes->var);
  variables_.end_substitution(rows.var);
  variables_.forget_facts(kLane);
  masks_.set(outer);
  if (!fits) return false;
  over_lanes(*lanes, [&] {
    llvm::Type* element = scalar_.memory_type(nest_.buffers[copy->dst.id].type);
    std::vector<llvm::Value*> parts;
    for (int64_t n = 0; n < count; ++n) {
      variables_.substitute(rows.var, lo + Affine::of(n));
      parts.push_back(load_bits(copy->src, element));
    }
    variables_.substitute(rows.var, lo);
    Place place = places_.place_of(copy->dst);
    llvm::Value* mask = lanes_.mask;
    std::vector<int> repeated;
    for (int k = 0; k < static_cast<int>(lanes_.width * count); ++k) repeated.push_back(k / static_cast<int>(count));
    if (mask) mask = b_.CreateShuffleVector(mask, repeated);
    // Rows 0 and 2, 1 and 3 first, then their results: neighbours at every level, as the unpack instructions work.
    while (parts.size() > 1) {
      std::vector<llvm::Value*> next;
      const size_t half = parts.size() / 2;
      for (size_t k = 0; k < half; ++k) {
        const int width = static_cast<int>(llvm::cast<llvm::FixedVectorType>(parts[k]->getType())->getNumElements());
        std::vector<int> pattern;
        for (int lane = 0; lane < width; ++lane) pattern.insert(pattern.end(), {lane, width + lane});
        next.push_back(b_.CreateShuffleVector(parts[k], parts[k + half], pattern));
      }
      parts = std::move(next);
    }
    const llvm::Align align(static_cast<uint64_t>(place.alignment));
    if (mask)
      b_.CreateMaskedStore(parts[0], place.pointer, align, mask);
    else
      b_.CreateAlignedStore(parts[0], place.pointer, align);
    variables_.end_substitution(rows.var);
  });
  loads_.clear();
  return true;
}

}  // namespace polyweft::targets
