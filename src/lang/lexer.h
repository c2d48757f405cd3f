// Words of the language: LANGUAGE.md section 1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lang/source.h"

namespace polyweft::lang {

enum class TokenKind : uint8_t { name, keyword, integer, decimal, symbol, end };

struct Token {
  TokenKind kind = TokenKind::end;
  Extent extent;
};

/// All tokens of a text, the last of kind `end`. Characters that are no token are reported and skipped.
std::vector<Token> tokenize(const Source& source, Reporter& report);

/// Keywords, types and the names of predeclared functions.
bool is_reserved(std::string_view word);
/// Functions of one to three arguments: exp .. clamp and sat_T.
bool is_function(std::string_view word);
/// "abs, ceil, .., tanh": the predeclared functions, sorted; sat_T for the five of integer types.
std::string function_list();
/// sum prod max min any all argmax argmin reduce.
bool is_reducer(std::string_view word);

}  // namespace polyweft::lang
