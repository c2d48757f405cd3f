// States of several components: one more term, or two states put together.
#pragma once

#include <map>
#include <vector>

#include "targets/common/values/expressions.h"
#include "targets/common/values/value_part.h"

namespace polyweft::targets {

class Combiners : ValuePart {
 public:
  Combiners(const Values& values, Expressions& expressions) : ValuePart(values), expressions_(expressions) {}

  /// The state and one more term, or two states, put together.
  std::vector<llvm::Value*> combined(const Compute& compute, const std::vector<llvm::Value*>& state,
                                     const std::vector<llvm::Value*>& value);

 private:
  std::vector<llvm::Value*> argument_reduction(const Compute& compute, const std::vector<llvm::Value*>& state,
                                               const std::vector<llvm::Value*>& value);
  void pair_exponentials(const Combiner& combiner);

  Expressions& expressions_;
  std::map<const Compute*, bool> upwards_ = {};  ///< of reductions with an index, once known: folds_upwards()
};

}  // namespace polyweft::targets
