// Private to the checker: last writers by arithmetic, without isl's dataflow over whole time vectors.
//
// The possible writers of what an instance r reads fall into classes, most recent first: for depth = depth of r .. 0
//   before(depth)       in the same iteration of the outer `depth` loops, at an earlier place of the text inside them
//   carried(depth - 1)  in the same iteration of the outer `depth - 1` loops, an earlier one of the next
// In each class, and for each writing statement W, an instance g(r) is *guessed* (by solving the subscripts; a loop
// that they do not fix: the iteration before r's, or the last one) and then *verified*:
//   1. W at g(r) writes the cell that r reads: equal as expressions;
//   2. no later instance of the class does: at each loop of W, a greater value either leaves the class or the loop, or
//   moves some
//      subscript so far that the inner loops cannot bring it back (intervals);
//   3. where g(r) is no instance of W, W has no instance in the class with this cell: isl, one emptiness question,
//   mostly trivial.
// Where that fails, isl is asked for the last instance of W in this class alone; of two writers with a source in one
// class, the pairs tell the later. So the readers of the class are settled, and the rest goes to the next. Whatever
// fails leaves the question to isl as a whole.
#pragma once

#include <map>
#include <utility>

#include "poly/check/boxes.h"

namespace polyweft::poly::checker {

/// Last writers of the cells that a read finds: by writing statement, { writer -> reader }.
using Writers = std::map<size_t, Map>;

struct FoundWriters {
  Writers writers;
  Set missing;                ///< iterations that read what was never written
  bool is_same_cell = false;  ///< known: each writer meant the logical cell that the reader wants
};
struct ReadQuestion {
  size_t reader = 0;
  const Access* access = nullptr;
  const Set* when = nullptr;
  const std::vector<std::pair<size_t, const Access*>>* writes = nullptr;  ///< of the same buffer
};
/// Whether the writers of a folded buffer leave each other's cells alone (by buffer and coordinate): asked once for all
/// its readers.
using WindowFacts = std::map<std::pair<BufferId, size_t>, bool>;
/// Nothing where arithmetic does not settle it.
std::optional<FoundWriters> find_last_writers(const LoopNest& nest, const Statements& statements,
                                              const ReadQuestion& question, WindowFacts& facts);

}  // namespace polyweft::poly::checker
