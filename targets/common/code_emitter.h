// What parts of code generation ask of those that come after them: an access may have data in its subscripts, whose
// values are expressions that have accesses.
#pragma once

#include "polyweft/loop_nest.h"
#include "targets/common/llvm.h"

namespace polyweft::targets {

class CodeEmitter {
 public:
  virtual ~CodeEmitter() = default;
  virtual void emit(NodeId id) = 0;
  virtual llvm::Value* expression(const Expr& e) = 0;
  /// Of a subscript that depends on data: i64, or a vector of them.
  virtual llvm::Value* exact_index(const Expr& data) = 0;
};

}  // namespace polyweft::targets
