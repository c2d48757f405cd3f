// Private to the checker: reductions. Each value of an accumulator is a set of reduced points already folded; the
// events that make it (init: the empty set; fold: one point more; merge: the union of two accumulators of one element),
// with copies between buffers contracted, form a graph. Proved for a group of linked statements of one equation, with
// `key` = loops around all of them that no link leaves (an element may be computed anew in another iteration of these):
//   1. every fold has exactly one predecessor and every merge two different ones, all of the same equation, element and
//   key;
//   2. no event is the predecessor of two: the graph is a forest, each event flows into exactly one end;
//   3. folds have pairwise different (key, element, reduced point): no point is folded twice;
//   4. whoever wants the element reads an end, each (key, element) has one end, and all reduced points are folded: so
//   all of them into it;
//   5. where the order counts there is no merge (so the forest is one path a (key, element)) and each link goes
//   lexicographically
//      forward, which with 2 to 4 is the order of the text.
#pragma once

#include "poly/check/flow.h"
#include "poly/check/tile_numbers.h"

namespace polyweft::poly::checker {

class Folds {
 public:
  Folds(Context& context, const Program& program, const LoopNest& nest, const Statements& statements, Flow& flow,
        const std::vector<Set>& points)
      : context_(context), program_(program), nest_(nest), statements_(statements), flow_(flow), points_(points) {}
  /// Notes that `reader` wants finished elements from these writers.
  void wanted(size_t reader, const Writers& origins);
  /// Proves everything noted. Throws Refuted, Undecided.
  void prove();

 private:
  struct Group {
    std::vector<size_t> inits, folds, merges;
    std::vector<unsigned> key;  ///< dimensions, the same for all members
    bool has(size_t statement) const;
    std::vector<size_t> members() const;
  };
  /// Where all points of all folds have the numbers of their own tiles, a point determines these: two folds of one
  /// point agree in them too.
  struct FoldedTiles {
    std::vector<TileNumber> numbers;
    std::vector<Map> points;
    Guard of_points;
    bool are_of_points = false;
  };
  void link(EquationId q);
  Writers linked(const Statement& s, const std::vector<const Access*>& components) const;
  void require_two(const Statement& s, const Writers& state, const Writers& operand) const;
  std::vector<Group> groups_of(EquationId q);
  void prove_group(EquationId q, Group& group);
  bool is_in_sequence(EquationId q, const Group& group) const;
  void prove_sums(EquationId q, const Group& group);
  void prove_forest(EquationId q, const Group& group, const UnionMap& links);
  UnionSet prove_ends(EquationId q, const Group& group, const UnionMap& links);
  void prove_complete(EquationId q, const Group& group, const UnionSet& needed);
  bool starts_once(const Group& group) const;
  FoldedTiles folded_tiles(const Group& group) const;
  bool covers_by_tiles(const Group& group, const Guard& inside, size_t coordinates) const;
  void prove_order(EquationId q, const Group& group);
  void prove_forward(EquationId q, size_t writer, size_t fold, const Map& pairs);
  [[noreturn]] void refuse_merge(EquationId q, const Group& group) const;
  std::vector<unsigned> widest_key(const Group& group) const;
  bool is_kept(const Group& group, unsigned dimension) const;
  std::vector<Affine> coordinates_of(size_t statement, const Group& group, bool with_point) const;
  Map keyed(size_t statement, const Group& group, bool with_point) const;
  bool order_counts(const Equation& equation) const;

  Context& context_;
  const Program& program_;
  const LoopNest& nest_;
  const Statements& statements_;
  Flow& flow_;
  const std::vector<Set>&
      points_;  ///< of each statement: without the folds of zero padding, which pass on what they find
  std::map<size_t, std::vector<Writers>>
      predecessors_;              ///< of each fold: of its state; of each merge: of its state and of what it adds
  std::map<size_t, Set> finals_;  ///< writers of what is wanted as a finished element
};

}  // namespace polyweft::poly::checker
