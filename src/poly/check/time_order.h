// Private to the checker: statements whose dimensions stand in the order of time, for arithmetic about who is last.
//
// Threads of a block take turns between barriers: time counts the loops around a barrier first, then the threads,
// though the loops over threads are around all of it. Here the dimensions of each statement are in that order. And a
// dimension whose quotient its subscripts ask for (threads t that take rows floor(t / 4) and columns t mod 4 of a copy)
// is two of them, t = 4 r + g, which count the same instances in the same order, and leave subscripts without
// quotients.
#pragma once

#include "poly/check/last_writers.h"

namespace polyweft::poly::checker {

class TimeOrder {
 public:
  TimeOrder(Context& context, const LoopNest& nest, const Statements& statements);

  /// Does it say anything of the statement's accesses that its own dimensions do not?
  bool differs() const { return differs_; }
  /// As find_last_writers() of the statements as they are.
  std::optional<FoundWriters> find(const ReadQuestion& question);

 private:
  struct Digits {
    size_t dimension = 0;
    int64_t radix = 1, extent = 0;
  };
  void reorder(Statement& s);
  std::optional<Digits> digits_of(const Statement& s) const;

  Context& context_;
  const LoopNest& nest_;
  Statements timed_;
  std::vector<std::optional<Map>> original_;  ///< { instance here -> instance }; nothing: no order could be said
  bool differs_ = false;
  WindowFacts windows_;
};

}  // namespace polyweft::poly::checker
