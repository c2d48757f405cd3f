#include <array>

#include "ir/explain/table.h"
#include "ir/text/render.h"

namespace polyweft {

std::optional<std::string> explain_code(const std::string& code) {
  const std::array groups = {explain::general(), explain::syntax_and_types(), explain::checks(), explain::steps(),
                             explain::nests(),   explain::code_generation(),  explain::lab(),    explain::database(),
                             explain::limits()};
  for (const auto& group : groups)
    for (const explain::Entry& entry : group)
      if (entry.code == code) return std::string(entry.text);
  return std::nullopt;
}

}  // namespace polyweft
