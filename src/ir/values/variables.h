// Small questions about sets of variables.
#pragma once

#include <algorithm>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::ir {

/// Is `var` one of `all`?
inline bool contains(const std::vector<VarId>& all, VarId var) {
  return std::find(all.begin(), all.end(), var) != all.end();
}

}  // namespace polyweft::ir
