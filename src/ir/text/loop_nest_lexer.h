// Tokens of LoopNest text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polyweft/result.h"

namespace polyweft::ir {

enum class TokenKind : uint8_t { name, integer, real, string, symbol, end };
struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  int32_t line = 1;
};
/// All tokens, the last of kind `end`. PW0410 for a character that starts no token.
Result<std::vector<Token>> lex_nest(const std::string& text);

}  // namespace polyweft::ir
