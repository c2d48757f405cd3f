// Text -> syntax tree, by recursive descent over the grammar of LANGUAGE.md section 1.
#pragma once

#include "lang/syntax.h"

namespace polyweft::lang {

/// Nesting of brackets and prefix operators (LANGUAGE.md section 9).
inline constexpr int kMaxNesting = 200;
/// Height of an expression tree: a chain of n operators is n high. Later passes recurse over it.
inline constexpr uint32_t kMaxHeight = 2000;
/// Largest integer of affine expressions, parameters and constant parameters: 2^40.
inline constexpr int64_t kMaxInteger = int64_t{1} << 40;
inline constexpr int64_t kMaxSize = (int64_t{1} << 31) - 1;  ///< of an extent, and of a parameter that is no constant

/// Parses a whole file. Errors are reported; after one the parser goes on at the next item, and the program is
/// `broken`.
Tree parse_syntax(const Source& source, Reporter& report);

/// Value of an INT (decimal or hexadecimal, '_' skipped); nothing if above 2^64 - 1.
std::optional<uint64_t> integer_value(const std::string& digits);

}  // namespace polyweft::lang
