// The language: text -> Program, with names, scopes, types and affinity checked (LANGUAGE.md sections 1 to 3, 9).
#pragma once

#include <string>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::lang {

struct Parsed {
  std::vector<Program> programs;  ///< in the order of the text, at least one
  std::vector<Diagnostic> warnings;
};

/// Parses a whole file. On error all messages found are in Error::diagnostics, in the order of the text; code and
/// message are those of the first. Linear in the size of the text; texts above 1 MiB are refused. Overlaps, gaps,
/// bounds and order are not checked here (src/poly).
Result<Parsed> parse(const std::string& text, const std::string& source_name);

}  // namespace polyweft::lang
