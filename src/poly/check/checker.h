// The independent checker: is this LoopNest an implementation of this Program?
//
// It reads the Program and the LoopNest and nothing else: no trace, no schedule tree, no fact computed earlier (a
// checker that shares analysis with the scheduler shares its bugs). What it proves, with isl over loop variables
// (SCHEDULES.md section 1):
//   PW0401 instances   each needed element is computed, each reduced point folded exactly once into each accumulated
//   value PW0402 bodies      an expression with its reads replaced by the elements they hold is the equation's
//   right-hand side PW0403 values      the last writer of every cell read wrote the element that the reader wants
//   PW0404 cells       every access lies inside its buffer; arguments have the layout of the call
//   PW0405 races       no two iterations of a parallel loop, no two lanes of a vector loop, meet in one cell
//   PW0406 order       reductions whose order counts (by class and combiner) are folded in the order of the text
// PW0409: not decided (quota, or a construct that the proofs do not cover). Never "proven" by default.
#pragma once

#include "polyweft/loop_nest.h"
#include "polyweft/records.h"

namespace polyweft::poly {

inline constexpr int kCheckerVersion = 1;

struct NestCheckLimits {
  unsigned long isl_operations = 20'000'000;  ///< of all questions together; deterministic, unlike a deadline
  bool by_arithmetic = true;  ///< off: isl decides also what intervals would settle; the verdict is the same (tests)
};
struct NestCheck {
  Verdict verdict = Verdict::not_checked;
  std::string code;  ///< PW0401 .. PW0409; empty where proven
  std::string message;
  double ms = 0;                     ///< of processor time
  unsigned long isl_operations = 0;  ///< spent
};
/// `program`: normalized and bound, with the parameters of the nest. The class is the nest's own.
NestCheck check_nest(const Program& program, const LoopNest& nest, const NestCheckLimits& limits = {});

}  // namespace polyweft::poly
