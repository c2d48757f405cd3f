// Cells of the interpreter's buffers.
#pragma once

#include "ir/oracles/tag.h"
#include "polyweft/loop_nest.h"

namespace polyweft::ir {

struct Cell {
  Literal value;
  Tag tag;
  bool written = false;
};

class NestMemory {
 public:
  explicit NestMemory(const LoopNest& nest);

  /// Fresh cells, none written; `threads` sets of them for a buffer private to threads that take turns. False when that
  /// would exceed the limit of all buffers together.
  bool allocate(BufferId id, int64_t cell_limit, int64_t threads = 1);
  /// Thread `thread` of `threads` makes the next accesses: a buffer allocated once for several of them is shared by
  /// neighbours.
  void turn_to(int64_t thread, int64_t threads) {
    thread_ = thread;
    threads_ = threads;
  }
  /// The cell of a logical index, null outside the buffer's extents.
  Cell* cell(BufferId id, const std::vector<int64_t>& index);
  /// The cell is written: what others of the same memory hold in its bytes is gone, unless the value came `from` these
  /// very bytes.
  void take(BufferId id, const std::vector<int64_t>& index, const Access* from, const std::vector<int64_t>& from_index);
  bool is_shared(BufferId id) const { return !sharers_[id].empty(); }
  /// Values and tags of an input or constant buffer.
  void fill_argument(BufferId id, const TensorData& data);
  void fill_constant(BufferId id);
  /// Calls f(flat row-major number, index) for each logical index of a buffer.
  template <class F>
  void for_each_index(BufferId id, const F& f) const {
    const std::vector<int64_t>& extents = nest_.buffers[id].extents;
    int64_t count = 1;
    for (int64_t extent : extents) count *= extent;
    std::vector<int64_t> index(extents.size());
    for (int64_t flat = 0; flat < count; ++flat) {
      int64_t rest = flat;
      for (size_t d = extents.size(); d-- > 0; rest /= extents[d]) index[d] = rest % extents[d];
      f(flat, index);
    }
  }

 private:
  Tag argument_tag(const Buffer& buffer, const std::vector<int64_t>& index) const;

  const LoopNest& nest_;
  std::vector<std::vector<Cell>> cells_;
  int64_t byte_of(BufferId id, const std::vector<int64_t>& index) const;
  std::vector<std::vector<BufferId>> sharers_;
  std::vector<int64_t> sets_;  ///< of cells, one a thread that allocated the buffer
  int64_t thread_ = 0, threads_ = 1;
  int64_t total_ = 0;
};

}  // namespace polyweft::ir
