// Messages as text for people: LANGUAGE.md section 6.
#pragma once

#include <optional>
#include <string>

#include "polyweft/result.h"

namespace polyweft {

/// file:line:col: error: text [PWnnnn], the source line, a caret, then note lines. Ends with a newline. Without a place
/// or a text of the source only the first and the note lines. Very long lines are cut around the place.
PW_EXPORT std::string render(const Diagnostic& diagnostic, const std::string& source_name,
                             const std::string& source_text);
/// All diagnostics of an error, or its own message where it has none.
PW_EXPORT std::string render(const Error& error, const std::string& source_text);
/// A paragraph about a code, nothing for an unknown one. The tables are in src/ir/explain, one file a hundred codes.
PW_EXPORT std::optional<std::string> explain_code(const std::string& code);

}  // namespace polyweft
