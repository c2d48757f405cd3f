#include "driver/workspace_limit.h"

#include <algorithm>

#include "ir/nests/workspace.h"

namespace polyweft {

bool WorkspaceLimit::admits(const LoopNest& nest) {
  if (!limit_) return true;
  const auto workspace = ir::workspace_of(nest);
  if (!workspace) return false;  // more than 63 bits count
  least_ = std::min(least_.value_or(workspace->bytes), workspace->bytes);
  return workspace->bytes <= *limit_;
}

Error WorkspaceLimit::refusal(const std::string& what) const {
  const std::string need = least_ ? std::to_string(*least_) + " bytes is the least that was found"
                                  : "no schedule was found whose bytes 63 bits count";
  return fail("PW0821",
              what + ": no schedule keeps a workspace of " + std::to_string(limit_.value_or(0)) + " bytes, " + need,
              {least_ ? "give --max-workspace " + std::to_string(*least_) + ", or choose smaller sizes"
                      : "choose smaller sizes"});
}

}  // namespace polyweft
