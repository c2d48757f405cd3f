// Private to the checker: reductions. Each value of an accumulator is a set of reduced points already folded; the events that make it
// (init, folds, with copies between buffers contracted) form chains. Proved for a group of linked statements of one equation, with
// `key` = the loops around the outermost accumulator (different keys recompute the same element):
//   1. every fold has exactly one predecessor, an init or a fold of the same equation and element;
//   2. no two folds share a predecessor, and each (key, element) has one init: the chain of (key, element) is a path;
//   3. folds have pairwise different (key, element, reduced point): no point is folded twice;
//   4. whoever wants the element reads the end of the path, and the path holds every reduced point;
//   5. where the order counts, each link goes lexicographically forward, which with 2 to 4 is the order of the text.
#pragma once

#include "poly/check/flow.h"

namespace polyweft::poly::check {

class Folds {
 public:
  Folds(Context& context, const Program& program, const LoopNest& nest, const Statements& statements, Flow& flow)
      : context_(context), program_(program), nest_(nest), statements_(statements), flow_(flow) {}
  /// Notes that `reader` wants finished elements from these writers.
  void wanted(size_t reader, const Writers& origins);
  /// Proves everything noted. Throws Refuted, Undecided.
  void prove();

 private:
  struct Group {
    std::vector<size_t> inits, folds;
    size_t key = 0;
  };
  void link(EquationId q);
  std::vector<Group> groups_of(EquationId q);
  void prove_group(EquationId q, const Group& group);
  void prove_path(EquationId q, const Group& group, const UnionMap& links);
  void prove_complete(EquationId q, const Group& group, const UnionMap& links);
  void prove_order(EquationId q, const Group& group);
  Map keyed(size_t statement, size_t key, bool with_point) const;
  bool order_counts(const Equation& equation) const;
  void require_key(const Group& group, const Map& pairs) const;

  Context& context_;
  const Program& program_;
  const LoopNest& nest_;
  const Statements& statements_;
  Flow& flow_;
  std::map<size_t, Writers> predecessors_;  ///< of each folding statement
  std::map<size_t, Set> finals_;            ///< writers of what is wanted as a finished element
};

}  // namespace polyweft::poly::check
