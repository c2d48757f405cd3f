// Private to the checker: last writers in buffers each of whose logical cells is written at most once, however the
// loops around are tiled and skewed.
//
// Then the only possible source of a read of cell c is the instance that writes c, which follows from the subscripts
// alone. Proved for the buffer, once:
//   1. no two instances write one logical cell;
//   2. in a folded dimension the cells that share memory are written in increasing order.
// And for each read:
//   3. every instance that writes the cell read comes before the reader, and some instance writes it;
//   4. whoever writes a later cell into the same memory comes after the reader (an instance reads before it writes).
// So between the writer of c and the reader nobody else writes that memory: an earlier cell's writer is before c's by
// 2, a later one's after the reader by 4. 1 to 4 are emptiness questions about pairs of instances, one for each loop
// that may carry the pair; isl answers most of them over the rationals. There is no lexicographic maximum over tile
// loops, which is what isl's dataflow spends its time on. What is not found so is left to others.
#pragma once

#include "poly/check/last_writers.h"
#include "poly/check/shadows.h"
#include "poly/check/views.h"

namespace polyweft::poly::checker {

class OnceWritten {
 public:
  using Writes = std::vector<std::pair<size_t, const Access*>>;
  OnceWritten(Context& context, const Program& program, const LoopNest& nest, const Statements& statements)
      : context_(context), program_(program), nest_(nest), statements_(statements), cells_(nest.buffers.size()) {}
  /// Nothing where the conditions do not hold.
  std::optional<FoundWriters> find(const ReadQuestion& question);

 private:
  struct Cells {
    bool is_once = false;
    std::vector<View> writers;
    std::vector<WriterGroup> groups = {};
    std::optional<size_t> folded = std::nullopt;  ///< coordinate, prefix included
    int64_t window = 1;
    std::optional<Set> whole = std::nullopt;  ///< cells of equations all of whose points are written, with the tuple B
    std::vector<const View*> others = {};     ///< writers that may reach more
    std::optional<Set> reached = std::nullopt;  ///< by all, once somebody asks
  };
  /// Of a writer, from a reader: whether the reader may come before it, and it, of a later cell, before the reader.
  struct Outer {
    OuterOrder of_reader, of_later;
  };
  static std::vector<Outer> outer_orders(const Cells& cells, const View& reader);
  Cells& cells_of(BufferId buffer, const Writes& writes);
  static const Set& reached(Cells& cells);
  bool look(BufferId buffer, const Writes& writes, Cells& out) const;
  bool are_in_order(const Cells& cells) const;
  void find_written_cells(BufferId buffer, Cells& cells) const;
  std::optional<Set> element_cells(BufferId buffer, const Equation& equation, const Cells& cells,
                                   const Space& space) const;
  enum class Meet { one_cell, later_cell };
  Map meetings(const View& a, const View& b, const Cells& cells, Meet meet) const;
  bool can_be_before(const View& a, const View& b, const Cells& cells, Meet meet, bool or_same) const;
  bool can_meet(const View& a, const View& b, const Cells& cells, Meet meet) const;

  Context& context_;
  const Program& program_;
  const LoopNest& nest_;
  const Statements& statements_;
  std::vector<std::optional<Cells>> cells_;
};

}  // namespace polyweft::poly::checker
