#include "ir/oracles/interpreter_memory.h"

#include <algorithm>

#include "ir/nests/shared_memory.h"

namespace polyweft::ir {

NestMemory::NestMemory(const LoopNest& nest)
    : nest_(nest), cells_(nest.buffers.size()), sharers_(sharers_of(nest)), sets_(nest.buffers.size(), 1) {}

int64_t NestMemory::byte_of(BufferId id, const std::vector<int64_t>& index) const {
  const Buffer& b = nest_.buffers[id];
  return (b.within ? b.within->at_bytes : 0) + physical_offset(b, index) * size_bytes(b.type);
}

void NestMemory::take(BufferId id, const std::vector<int64_t>& index, const Access* from,
                      const std::vector<int64_t>& from_index) {
  const int64_t first = byte_of(id, index), end = first + size_bytes(nest_.buffers[id].type);
  for (BufferId other : sharers_[id]) {
    const Buffer& b = nest_.buffers[other];
    const int64_t bytes = size_bytes(b.type), at = b.within ? b.within->at_bytes : 0;
    if (from && from->id == other && b.type == nest_.buffers[id].type && byte_of(other, from_index) == first) continue;
    const auto count = static_cast<int64_t>(cells_[other].size());
    const int64_t least = std::max<int64_t>(0, first - at < 0 ? 0 : (first - at) / bytes),
                  last = end - at <= 0 ? -1 : (end - at - 1) / bytes;
    for (int64_t k = least; k <= std::min(last, count - 1); ++k) cells_[other][static_cast<size_t>(k)].written = false;
  }
}

bool NestMemory::allocate(BufferId id, int64_t cell_limit, int64_t threads) {
  int64_t count = allocated_elements(nest_.buffers[id]);
  if (count < 0 || (threads > 1 && count > cell_limit / threads)) return false;
  sets_[id] = threads;
  count *= threads;
  total_ += count - static_cast<int64_t>(cells_[id].size());
  if (total_ > cell_limit) return false;
  cells_[id].assign(static_cast<size_t>(count), Cell{});
  return true;
}

Cell* NestMemory::cell(BufferId id, const std::vector<int64_t>& index) {
  const Buffer& buffer = nest_.buffers[id];
  for (size_t d = 0; d < index.size(); ++d)
    if (index[d] < 0 || index[d] >= buffer.extents[d]) return nullptr;
  int64_t offset = physical_offset(buffer, index);
  int64_t count = static_cast<int64_t>(cells_[id].size()) / sets_[id];
  bool inside = offset >= 0 && offset < count;
  if (sets_[id] > 1) offset += count * (thread_ / (threads_ / sets_[id]));
  return inside ? &cells_[id][static_cast<size_t>(offset)] : nullptr;
}

/// Where the buffer says which element a cell holds, that one; else the index itself.
Tag NestMemory::argument_tag(const Buffer& buffer, const std::vector<int64_t>& index) const {
  std::map<VarId, Affine> map;
  for (size_t d = 0; d < index.size(); ++d) map[kCellVar + static_cast<VarId>(d)] = Affine::of(index[d]);
  std::vector<int64_t> parameters;
  for (const Parameter& parameter : nest_.params) parameters.push_back(parameter.value);
  std::vector<int64_t> point;
  for (const Affine& coordinate : buffer.element) point.push_back(evaluate(substitute(coordinate, map), parameters));
  return tag_of_element(buffer.tensor, buffer.element.empty() ? index : point);
}

void NestMemory::fill_argument(BufferId id, const TensorData& data) {
  for_each_index(id, [&](int64_t flat, const std::vector<int64_t>& index) {
    *cell(id, index) = {data.at(flat), argument_tag(nest_.buffers[id], index), true};
  });
}

void NestMemory::fill_constant(BufferId id) {
  const Buffer& buffer = nest_.buffers[id];
  for_each_index(id, [&](int64_t flat, const std::vector<int64_t>& index) {
    const Literal& value = buffer.data[static_cast<size_t>(flat)];
    *cell(id, index) = {value, tag_of_literal(value), true};
  });
}

}  // namespace polyweft::ir
