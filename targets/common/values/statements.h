// Statements: first values, sums and other reductions, stores, copies.
#pragma once

#include <vector>

#include "targets/common/loops/branches.h"
#include "targets/common/memory/accesses.h"
#include "targets/common/memory/memory.h"
#include "targets/common/values/combiners.h"
#include "targets/common/values/expressions.h"
#include "targets/common/values/registers.h"
#include "targets/common/values/value_part.h"

namespace polyweft::targets {

/// Does the expression read the buffer?
bool reads(const Expr& e, BufferId id);

class Statements : ValuePart {
 public:
  Statements(const Values& values, Memory& memory, Accesses& accesses, Registers& registers, Branches& branches,
             Expressions& expressions, Combiners& combiners)
      : ValuePart(values),
        memory_(memory),
        accesses_(accesses),
        registers_(registers),
        branches_(branches),
        expressions_(expressions),
        combiners_(combiners) {}

  void compute(const Compute& compute);
  void copy(const Copy& copy);

 private:
  void accumulate(const Compute& compute);
  llvm::Value* fused_sum(const Expr& product, llvm::Value* state);
  llvm::Value* contracted_sum(const Expr& product, llvm::Value* state, llvm::FastMathFlags flags);
  llvm::FastMathFlags flags_of_fold(const Compute& compute) const;
  llvm::Value* operand_for(const Access& dst, const Expr& e);

  Memory& memory_;
  Accesses& accesses_;
  Registers& registers_;
  Branches& branches_;
  Expressions& expressions_;
  Combiners& combiners_;
};

}  // namespace polyweft::targets
