// Operations whose two operands may change places: what tags, bodies in proofs and canonical text take as equal.
#pragma once

#include "polyweft/program.h"

namespace polyweft::ir {

/// Exactly, in every type: sums and products round alike both ways. The canonical text of programs, and so their keys,
/// rests on it.
inline bool is_commutative(Op op) {
  switch (op) {
    case Op::add:
    case Op::mul:
    case Op::max:
    case Op::min:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::eq:
    case Op::ne:
    case Op::logical_and:
    case Op::logical_or:
      return true;
    default:
      return false;
  }
}

}  // namespace polyweft::ir
