// Private to the checker: which of two groups of statements comes first, asked once for all pairs.
//
// The statements that band tiles are cut into (borders, whole rows, what is left over) share the outer loops, and which
// iterations of these touch a cell is alike for all of them. The shadow of a group is a convex set over the outer loops
// and the cell that holds all its accesses: without divisions and inner loops, so that isl is quick. What is impossible
// between shadows is impossible between the statements; what is possible is asked of each pair.
#pragma once

#include <optional>
#include <vector>

#include "poly/check/views.h"

namespace polyweft::poly::checker {

/// Writers of a buffer inside the same outer loops.
struct WriterGroup {
  std::vector<size_t> writers;               ///< by their place among the views
  std::vector<NodeId> loops;                 ///< around all of them
  std::optional<Set> shadow = std::nullopt;  ///< [loops, cell]
};

/// What pairs of a writer of a group and a reader may do, in the outer loops that both share.
struct OuterOrder {
  std::vector<bool> before;  ///< by loop: whether the one that is asked about may come before the other one there,
                             ///< equal in the loops around it
  bool may_be_equal = true;  ///< in all these loops
  bool may_be_before() const;
};

/// Groups of more than one statement that share a loop; others gain nothing.
std::vector<WriterGroup> groups_of(const std::vector<View>& writers);

/// How many outer loops a reader shares with a group.
size_t shared_loops(const WriterGroup& group, const Statement& reader);

/// [the outer `depth` loops, cell], or more.
Set shadow_of(const View& view, size_t depth);

/// How cells of a writer and of a reader lie.
struct CellRelation {
  std::optional<size_t> later =
      std::nullopt;  ///< the coordinate in which the writer's cell is at least `by` greater; all others are equal
  int64_t by = 1;
};
enum class First { writer, reader };
/// Whether `first` may come before the other one.
OuterOrder outer_order(const WriterGroup& group, const Set& reader_shadow, size_t depth, const CellRelation& cells,
                       First first);

}  // namespace polyweft::poly::checker
