#include <array>

#include "ir/explain/table.h"
#include "ir/render.h"

namespace polyweft {

std::optional<std::string> explain_code(const std::string& code) {
  const std::array groups = {explain::syntax_and_types(), explain::lab(), explain::limits()};
  for (const auto& group : groups)
    for (const explain::Entry& entry : group)
      if (entry.code == code) return std::string(entry.text);
  return std::nullopt;
}

}  // namespace polyweft
