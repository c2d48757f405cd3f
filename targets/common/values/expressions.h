// Values of expressions.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "targets/common/loops/branches.h"
#include "targets/common/memory/memory.h"
#include "targets/common/values/division.h"
#include "targets/common/values/registers.h"
#include "targets/common/values/running_values.h"
#include "targets/common/values/value_part.h"

namespace polyweft::targets {

class Expressions : ValuePart {
 public:
  Expressions(const Values& values, Memory& memory, Registers& registers, Branches& branches, Division& division,
              RunningValues& running_values)
      : ValuePart(values),
        memory_(memory),
        registers_(registers),
        branches_(branches),
        division_(division),
        running_values_(running_values) {}

  /// What variables stand for that are no loop's: operands of a combiner. Gives what they stood for.
  using Operands = std::map<VarId, llvm::Value*>;
  Operands exchange_operands(Operands operands) { return std::exchange(operands_, std::move(operands)); }
  /// Values that are known until the combiner ends.
  void note(const ExprNode* node, llvm::Value* value) { known_[node] = value; }
  bool is_known(const ExprNode* node) const { return known_.contains(node); }
  void forget_known() { known_.clear(); }
  llvm::Value* expression(const Expr& e);

 private:
  llvm::Value* extreme_of_carried(const ExprNode& node);
  bool reads_carried(const Expr& e) const;
  llvm::Value* operation_before_rotation(const ExprNode& node, const std::vector<llvm::Value*>& args);

  Memory& memory_;
  Registers& registers_;
  Branches& branches_;
  Division& division_;
  RunningValues& running_values_;
  Operands operands_ = {};
  std::map<const ExprNode*, llvm::Value*> known_ = {};
};

}  // namespace polyweft::targets
