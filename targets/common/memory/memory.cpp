#include "targets/common/memory/memory.h"

namespace polyweft::targets {
namespace {

/// An address that was not needed after all.
void drop_unused(llvm::Value* pointer, const llvm::Value* base) {
  while (auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer)) {
    if (gep == base || !gep->use_empty()) return;
    pointer = gep->getPointerOperand();
    gep->eraseFromParent();
  }
}

}  // namespace

llvm::Value* Memory::load(const Access& access) {
  const Buffer& buffer = nest_.buffers[access.id];
  if (registers_.in_registers(access.id)) return registers_.read(access);
  if (strided_lanes_.has_waiting()) strided_lanes_.write_waiting_of(access.id);
  if (llvm::Value* number = number_of_table(access)) return number;
  if (llvm::Value* turned = aligned_pairs_.load_from_aligned_pair(access)) return turned;
  if (llvm::Value* near = neighbour_loads_.load_neighbours(access)) return near;
  if (llvm::Value* column = strided_lanes_.load_strided(access)) return column;
  const Place place = places_.place_of(access);
  if (llvm::Value* chosen = strides_.is_symbolic(access.id) ? nullptr : accesses_.load_of_table(buffer, place))
    return chosen;
  if (place.key.empty()) return accesses_.load_place(place, buffer.type);
  // A load is known by its offset, its shape and its mask, until a store may have met it and until control flow parts
  // or joins.
  const bool is_line = accesses_.lies_in_whole_lines(access.id, place);
  const std::string key = is_line ? place.key + " whole" : place.key;
  if (llvm::Value* known = loads_.value(key)) {
    drop_unused(place.pointer, bases_[access.id]);
    return known;
  }
  llvm::Value* value = aligned_pairs_.load_between(access.id, place);
  if (!value) {
    value = is_line ? accesses_.load_line(place.pointer, buffer.type)
                    : accesses_.load_place(places_.in_reach(place, access.id), buffer.type);
    pointers_.note_aligned(access.id, place, value);
  }
  loads_.note(key, {value, KnownLoads::Span{access.id, place.offset, lanes_.width}});
  prefetches_.prefetch(access, place);
  return value;
}

void Memory::store(const Access& access, llvm::Value* value) {
  const Buffer& buffer = nest_.buffers[access.id];
  const bool is_short = buffer.type == ElementType::i64 && value->getType()->getScalarSizeInBits() == 32;
  if (is_short != registers_.is_short(access.id))
    value = is_short ? registers_.long_index(value) : registers_.short_index(value);
  if (registers_.in_registers(access.id)) return registers_.write(access, value);
  if (lanes_.width > 1 && strided_lanes_.store_later(access, value)) return;
  if (strided_lanes_.has_waiting()) strided_lanes_.write_waiting_of(access.id);
  const Place place = places_.place_of(access);
  if (!accesses_.store_whole(access.id, place, value)) accesses_.store_place(place, buffer.type, value);
  loads_.forget_loads(access.id, place);
}

/// An integer of a table at a place that the code knows: a number, so that sums of products by it are sums of few
/// additions. Null elsewhere.
llvm::Value* Memory::number_of_table(const Access& access) {
  const Buffer& buffer = nest_.buffers[access.id];
  const auto* table = llvm::dyn_cast_or_null<llvm::GlobalVariable>(bases_[access.id]);
  if (buffer.scope != Scope::constant || !is_integer(buffer.type) || !table || has_data(access)) return nullptr;
  const Affine offset = places_.offset_of(access, nullptr);
  if (!offset.is_constant() || offset.constant < 0 || offset.constant >= allocated_elements(buffer)) return nullptr;
  return scalar_.from_memory(table->getInitializer()->getAggregateElement(static_cast<unsigned>(offset.constant)),
                             buffer.type);
}

}  // namespace polyweft::targets
