#include "ir/text/loop_nest_lexer.h"

#include <cctype>
#include <cstring>

namespace polyweft::ir {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_word(char c) {
  return is_letter(c) || is_digit(c);
}

class Lexer {
 public:
  explicit Lexer(const std::string& text) : text_(text) {}

  Result<std::vector<Token>> run() {
    while (skip_space(), at_ < text_.size()) {
      size_t length = token_length();
      if (length == 0) return fail("PW0410", "nest text, line " + std::to_string(line_) + ": unexpected character");
      tokens_.push_back({kind_, text_.substr(at_, length), line_});
      at_ += length;
    }
    tokens_.push_back({TokenKind::end, "end of text", line_});
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_space() {
    for (; at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])); ++at_)
      line_ += text_[at_] == '\n';
  }

  size_t token_length() {
    if (is_letter(peek(0))) return name_length();
    if (is_digit(peek(0))) return number_length();
    if (peek(0) == '"') return string_length();
    kind_ = TokenKind::symbol;
    static constexpr const char* kLong[] = {"<-", "..", "==", "!=", "<=", ">=", "<<", ">>", "//"};
    for (const char* symbol : kLong)
      if (text_.compare(at_, 2, symbol) == 0) return 2;
    return std::strchr("{}()[]:;,=+-*/%&|^<>$", peek(0)) && peek(0) ? 1 : 0;
  }

  size_t name_length() {
    kind_ = TokenKind::name;
    size_t n = 1;
    while (is_word(peek(n)) || (peek(n) == '.' && is_word(peek(n + 1)))) ++n;
    if (peek(n) == '@' && is_digit(peek(n + 1))) {
      ++n;
      while (is_digit(peek(n))) ++n;
    }
    return n;
  }

  size_t number_length() {
    kind_ = TokenKind::integer;
    size_t n = 1;
    while (is_digit(peek(n))) ++n;
    if (peek(n) == '.' && is_digit(peek(n + 1))) {
      kind_ = TokenKind::real;
      for (++n; is_digit(peek(n));) ++n;
    }
    bool has_sign = peek(n + 1) == '-' || peek(n + 1) == '+';
    if ((peek(n) == 'e') && is_digit(peek(n + 1 + has_sign))) {
      kind_ = TokenKind::real;
      for (n += 1 + has_sign; is_digit(peek(n));) ++n;
    }
    return n;
  }

  size_t string_length() {
    kind_ = TokenKind::string;
    size_t n = 1;
    while (is_word(peek(n))) ++n;  // names of axes: no byte that means something to a terminal
    return peek(n) == '"' ? n + 1 : 0;
  }

  const std::string& text_;
  size_t at_ = 0;
  int32_t line_ = 1;
  TokenKind kind_ = TokenKind::end;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> lex_nest(const std::string& text) {
  return Lexer(text).run();
}

}  // namespace polyweft::ir
