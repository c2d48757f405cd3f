// The bound of --max-workspace: which nests keep it, and the least need of those that do not.
#pragma once

#include <optional>
#include <string>

#include "polyweft/loop_nest.h"

namespace polyweft {

class WorkspaceLimit {
 public:
  explicit WorkspaceLimit(std::optional<int64_t> bytes) : limit_(bytes) {}
  bool is_set() const { return limit_.has_value(); }
  /// Whether no call of the nest's kernel asks halide_malloc for more; notes what it would ask for.
  bool admits(const LoopNest& nest);
  /// PW0821 for `what`, with the least need of all nests that were asked about.
  Error refusal(const std::string& what) const;

 private:
  std::optional<int64_t> limit_, least_;
};

}  // namespace polyweft
