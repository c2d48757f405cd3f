#include "targets/common/memory/accesses.h"

#include <algorithm>

namespace polyweft::targets {

/// Of one element. Where callers give memory at multiples of more than an element, what LLVM knows of places lets it
/// make one access of neighbours.
llvm::Align Accesses::alignment_of_one(const Place& place, ElementType type) const {
  const int64_t element = size_bytes(type);
  return llvm::Align(
      static_cast<uint64_t>(scalar_.can().argument_alignment > element ? std::max(element, place.alignment) : element));
}

llvm::Value* Accesses::load_place(const Place& place, ElementType type) {
  llvm::Type* memory = scalar_.memory_type(type);
  const llvm::Align element(static_cast<uint64_t>(size_bytes(type)));
  const bool uniform = !place.offsets && place.stride == 0;
  if (lanes_.width == 1 || (uniform && !lanes_.guarded))
    return scalar_.from_memory(b_.CreateAlignedLoad(memory, place.pointer, alignment_of_one(place, type)), type);
  auto* vector = llvm::FixedVectorType::get(memory, lanes_.width);
  if (!place.offsets && place.stride == 1) {
    const llvm::Align align(static_cast<uint64_t>(place.alignment));
    llvm::Value* raw = lanes_.mask
                           ? static_cast<llvm::Value*>(b_.CreateMaskedLoad(vector, place.pointer, align, lanes_.mask,
                                                                           llvm::Constant::getNullValue(vector)))
                           : b_.CreateAlignedLoad(vector, place.pointer, align);
    return scalar_.from_memory(raw, type);
  }
  if (!place.offsets && place.stride == -1) {
    llvm::Value* first =
        b_.CreateInBoundsGEP(memory, place.pointer, b_.getInt64(-static_cast<uint64_t>(lanes_.width - 1)));
    llvm::Value* raw =
        lanes_.mask
            ? static_cast<llvm::Value*>(b_.CreateMaskedLoad(vector, first, element, b_.CreateVectorReverse(lanes_.mask),
                                                            llvm::Constant::getNullValue(vector)))
            : b_.CreateAlignedLoad(vector, first, element);
    return scalar_.from_memory(b_.CreateVectorReverse(raw), type);
  }
  llvm::Value* raw = b_.CreateMaskedGather(vector, places_.pointers_of(place, memory), element, masks_.full_mask(),
                                           llvm::Constant::getNullValue(vector));
  return scalar_.from_memory(raw, type);
}

llvm::Instruction* Accesses::store_place(const Place& place, ElementType type, llvm::Value* value) {
  llvm::Type* memory = scalar_.memory_type(type);
  const llvm::Align element(static_cast<uint64_t>(size_bytes(type)));
  if (lanes_.width == 1)
    return b_.CreateAlignedStore(scalar_.to_memory(value, type), place.pointer, alignment_of_one(place, type));
  llvm::Value* raw = scalar_.to_memory(scalar_.splat(value, lanes_.width), type);
  if (!place.offsets && place.stride == 1) {
    const llvm::Align align(static_cast<uint64_t>(place.alignment));
    if (lanes_.mask) return b_.CreateMaskedStore(raw, place.pointer, align, lanes_.mask);
    auto* store = b_.CreateAlignedStore(raw, place.pointer, align);
    const uint64_t bytes = module_.getDataLayout().getTypeStoreSize(raw->getType()).getFixedValue();
    if (lanes_.non_temporal && align.value() >= bytes)
      store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                         llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    return store;
  }
  if (!place.offsets && place.stride == -1) {
    llvm::Value* first =
        b_.CreateInBoundsGEP(memory, place.pointer, b_.getInt64(-static_cast<uint64_t>(lanes_.width - 1)));
    llvm::Value* reversed = b_.CreateVectorReverse(raw);
    if (lanes_.mask) return b_.CreateMaskedStore(reversed, first, element, b_.CreateVectorReverse(lanes_.mask));
    return b_.CreateAlignedStore(reversed, first, element);
  }
  const bool masks_elements = scalar_.can().masked_vectors || size_bytes(type) >= 4;
  if (!place.offsets && place.stride == 2 && lanes_.width >= 4 && masks_elements)
    return store_spread(place, raw, element);
  return b_.CreateMaskedScatter(raw, places_.pointers_of(place, memory), element, masks_.full_mask());
}

/// Every second element, from two vectors with the lanes apart: what lies between is masked off and stays as it is.
llvm::Instruction* Accesses::store_spread(const Place& place, llvm::Value* lanes, llvm::Align align) {
  const int width = static_cast<int>(lanes_.width);
  llvm::Instruction* last = nullptr;
  for (int half = 0; half < 2; ++half) {
    std::vector<int> apart;
    std::vector<llvm::Constant*> written;
    for (int lane = 0; lane < width; ++lane) {
      apart.push_back(half * width / 2 + lane / 2);
      written.push_back(b_.getInt1(lane % 2 == 0));
    }
    llvm::Value* mask = llvm::ConstantVector::get(written);
    if (lanes_.mask) mask = b_.CreateAnd(mask, b_.CreateShuffleVector(lanes_.mask, apart));
    llvm::Value* pointer = half == 0 ? place.pointer
                                     : b_.CreateGEP(lanes->getType()->getScalarType(), place.pointer,
                                                    b_.getInt64(static_cast<uint64_t>(width)));
    last = b_.CreateMaskedStore(b_.CreateShuffleVector(lanes, apart), pointer, align, mask);
  }
  return last;
}

/// The line stored whole too, its other lanes as they were. Null where another thread may write them meanwhile.
llvm::Instruction* Accesses::store_whole(BufferId id, const Place& place, llvm::Value* value) {
  if (!is_in_place_ || !lies_in_whole_lines(id, place) || buffers_.is_met_by_others(id)) return nullptr;
  const ElementType type = nest_.buffers[id].type;
  llvm::Type* memory = scalar_.memory_type(type);
  const llvm::Align line(kLineBytes);
  llvm::Value* raw = scalar_.to_memory(scalar_.splat(value, lanes_.width), type);
  llvm::Value* old = b_.CreateAlignedLoad(llvm::FixedVectorType::get(memory, lanes_.width), place.pointer, line);
  // LLVM would make a masked store of it again.
  llvm::Value* hidden = scalar_.hooks().opaque(b_, old);
  return b_.CreateAlignedStore(b_.CreateSelect(lanes_.mask, raw, hidden), place.pointer, line);
}

/// Some lanes of a line are active, at least one, and all of it is memory of the buffer: loads take the line whole,
/// what the other lanes make of it goes nowhere. A masked load costs an operation beside the load, and one of what the
/// statement itself stores waits for the masked store of the row before until that is in memory (100 cycles a row of
/// seidel's ends). Of numbers only where that is so: what lies between rows may be anything, and the least of them are
/// slow.
bool Accesses::lies_in_whole_lines(BufferId id, const Place& place) const {
  const Buffer& buffer = nest_.buffers[id];
  const auto width = static_cast<int64_t>(lanes_.width);
  const bool has_active = is_in_place_ ? lanes_.start != nullptr : is_integer(buffer.type) && lanes_.active > 0;
  return has_active && lanes_.mask && !lanes_.guarded && scalar_.can().masked_vectors && !place.offsets &&
         place.stride == 1 && width * size_bytes(buffer.type) == kLineBytes && place.alignment >= kLineBytes &&
         buffer.scope == Scope::heap && !strides_.is_symbolic(id) && allocated_elements(buffer) % width == 0;
}

llvm::Value* Accesses::load_line(llvm::Value* pointer, ElementType type) {
  return scalar_.from_memory(b_.CreateAlignedLoad(llvm::FixedVectorType::get(scalar_.memory_type(type), lanes_.width),
                                                  pointer, llvm::Align(kLineBytes)),
                             type);
}

/// Elements at places that differ from lane to lane, of a buffer that one vector holds: a permutation of it, where a
/// gather asks memory for each lane. Null for larger buffers, and where the target has no such permutations.
llvm::Value* Accesses::load_of_table(const Buffer& buffer, const Place& place) {
  const int64_t elements = allocated_elements(buffer), width = static_cast<int64_t>(lanes_.width),
                bytes = size_bytes(buffer.type);
  if (!place.offsets || !scalar_.can().line_permutes || elements > width || elements < 1 ||
      (bytes != 4 && bytes != 8) || bytes * width != kLineBytes)
    return nullptr;
  llvm::Type* memory = scalar_.memory_type(buffer.type);
  auto* vector = llvm::FixedVectorType::get(memory, lanes_.width);
  const llvm::Align element(static_cast<uint64_t>(bytes));
  llvm::Value* table = elements == width
                           ? static_cast<llvm::Value*>(b_.CreateAlignedLoad(vector, place.pointer, element))
                           : b_.CreateMaskedLoad(vector, place.pointer, element, masks_.first_lanes(elements),
                                                 llvm::Constant::getNullValue(vector));
  llvm::Value* index = b_.CreateSExtOrTrunc(
      place.offsets, llvm::FixedVectorType::get(b_.getIntNTy(static_cast<unsigned>(8 * bytes)), lanes_.width));
  return scalar_.from_memory(scalar_.hooks().looked_up(b_, table, index), buffer.type);
}

llvm::Value* Accesses::aligned_load(BufferId id, const Affine& offset) {
  const Place whole = places_.place_at(id, offset);
  if (llvm::Value* known = loads_.value(whole.key)) return known;
  llvm::Value* out = load_place(whole, nest_.buffers[id].type);
  loads_.note(whole.key, {out, KnownLoads::Span{id, offset, lanes_.width}});
  pointers_.note_aligned(id, whole, out);
  return out;
}

llvm::Value* Accesses::whole_load(BufferId id, const Affine& first) {
  llvm::Value* const mask = lanes_.mask;
  masks_.set_mask(nullptr);
  llvm::Value* out = aligned_load(id, first + Affine::variable(kLane));
  masks_.set_mask(mask);
  return out;
}

/// A vector by the mask of its elements, zeros elsewhere. Where none is on the address is the buffer's all the same: a
/// load of a page that is not there costs some hundred cycles.
llvm::Value* Accesses::load_of_elements(BufferId id, const Affine& first, llvm::Value* mask) {
  const ElementType type = nest_.buffers[id].type;
  auto* vector = llvm::FixedVectorType::get(scalar_.memory_type(type), lanes_.width);
  llvm::Value* zeros = llvm::Constant::getNullValue(vector);
  const auto* known = llvm::dyn_cast<llvm::Constant>(mask);
  if (known && known->isNullValue()) return scalar_.from_memory(zeros, type);
  const Place place = places_.place_at(id, first);
  llvm::Value* pointer = place.pointer;
  if (!known) {
    llvm::Value* bits = b_.CreateBitCast(mask, b_.getIntNTy(lanes_.width));
    pointer = b_.CreateSelect(b_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType())), pointer,
                              buffers_.base_of(id));
  }
  return scalar_.from_memory(
      b_.CreateMaskedLoad(vector, pointer, llvm::Align(static_cast<uint64_t>(size_bytes(type))), mask, zeros), type);
}

/// Of a whole aligned vector the lanes that stand for active ones, `by` lanes further up: a vector without any may be
/// nobody's memory.
llvm::Value* Accesses::load_part(BufferId id, const Affine& offset, int64_t by) {
  const auto width = static_cast<int>(lanes_.width);
  std::vector<int> from;
  for (int lane = 0; lane < width; ++lane) {
    const int64_t active = lane + by;
    from.push_back(active >= 0 && active < width ? static_cast<int>(active) : width);
  }
  llvm::Value* none = llvm::Constant::getNullValue(lanes_.mask->getType());
  const Place place = places_.place_at(id, offset);
  const ElementType type = nest_.buffers[id].type;
  auto* vector = llvm::FixedVectorType::get(scalar_.memory_type(type), lanes_.width);
  llvm::Value* raw =
      b_.CreateMaskedLoad(vector, place.pointer, llvm::Align(static_cast<uint64_t>(place.alignment)),
                          b_.CreateShuffleVector(lanes_.mask, none, from), llvm::Constant::getNullValue(vector));
  return scalar_.from_memory(raw, type);
}

}  // namespace polyweft::targets
