// The comparisons of the language, for values of any arithmetic type.
#pragma once

#include "polyweft/program.h"

namespace polyweft::ir {

/// `op`: eq, ne, lt, le, gt or ge. IEEE for floats: false with a NaN, but for ne.
template <class T>
bool compares(Op op, T a, T b) {
  switch (op) {
    case Op::eq:
      return a == b;
    case Op::ne:
      return a != b;
    case Op::lt:
      return a < b;
    case Op::le:
      return a <= b;
    case Op::gt:
      return a > b;
    default:
      return a >= b;
  }
}

}  // namespace polyweft::ir
