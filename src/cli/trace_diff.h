// What changed from one trace to the next, in a few words: "register tile 6x64 -> 14x32" for a person who watches.
#pragma once

#include <string>

namespace polyweft::cli {

/// Decisions whose values differ ("mr 6 -> 14"), then steps that came ("+ parallel C i.1") and went ("- unroll C i").
/// "first" where there is no trace before, "the same" where nothing differs, "a trace that cannot be read" for a text
/// that does not parse.
std::string what_changed(const std::string& before, const std::string& after);

}  // namespace polyweft::cli
