// A unit beside the CPU that multiplies tiles in memories of its own, and copies between these and main memory, as
// lowering asks for it: which commands it has, what they take, how one is issued. A backend makes it of a machine's
// description; null where the machine has no such unit.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "polyweft/loop_nest.h"
#include "targets/common/llvm.h"

namespace polyweft::targets {

class UnitHooks {
 public:
  /// A command's operands by name, each an i64.
  using Operands = std::vector<std::pair<std::string, llvm::Value*>>;

  virtual ~UnitHooks() = default;
  virtual bool has(const std::string& command) const = 0;
  virtual bool takes(const std::string& command, const std::string& operand) const = 0;
  /// Operands that the command does not take are left out.
  virtual void issue(llvm::IRBuilder<>& builder, const std::string& command, const Operands& operands) const = 0;

  /// Of a memory, in bytes: its size, a row, and where it begins among the unit's addresses. 0: there is none.
  struct Memory {
    int64_t bytes = 0, row_bytes = 0, first = 0;
  };
  virtual Memory memory(Scope scope) const = 0;
  /// Most rows of a copy, and most bytes of one of its rows.
  virtual int64_t copy_rows() const = 0;
  virtual int64_t copy_row_bytes() const = 0;
};

/// Scopes that are memories of a unit.
inline bool is_of_unit(Scope scope) {
  return scope == Scope::scratchpad || scope == Scope::accumulator;
}

}  // namespace polyweft::targets
