#include "lang/lexer.h"

#include <algorithm>
#include <array>

#include "lang/familiar_names.h"

namespace polyweft::lang {
namespace {

constexpr std::array<std::string_view, 40> kKeywords = {
    "all",         "and",     "any",  "argmax",  "argmin", "associative", "assume", "bf16", "bool",   "combine",
    "commutative", "const",   "else", "f16",     "f32",    "f64",         "false",  "from", "i16",    "i32",
    "i64",         "i8",      "in",   "inf",     "let",    "max",         "min",    "nan",  "not",    "or",
    "out",         "partial", "prod", "program", "reduce", "sum",         "true",   "u8",   "values", "where"};
constexpr std::array<std::string_view, 21> kFunctions = {
    "abs",     "ceil",    "clamp",   "cos",    "erf",    "exp",    "floor",   "log", "pow",  "round", "rsqrt",
    "sat_i16", "sat_i32", "sat_i64", "sat_i8", "sat_u8", "select", "sigmoid", "sin", "sqrt", "tanh"};
constexpr std::array<std::string_view, 9> kReducers = {"sum", "prod",   "max",    "min",   "any",
                                                       "all", "argmax", "argmin", "reduce"};
constexpr std::array<std::string_view, 8> kLongSymbols = {"==", "!=", "<=", ">=", "<<", ">>", "//", ".."};
constexpr std::string_view kSymbols = "()[],:=+-*/%<>&|^~";

template <size_t N>
bool contains(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_word(char c) {
  return is_letter(c) || is_digit(c) || c == '_';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/// Length of the well-formed UTF-8 sequence at `i`, 0 if there is none (overlong forms and surrogates are not well
/// formed).
size_t utf8_length(const std::string& text, size_t i) {
  auto byte = [&](size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U; };
  auto tail = [&](size_t k) { return (byte(k) & 0xC0U) == 0x80U; };
  unsigned lead = byte(i);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(i + 1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (lead == 0xE0 && byte(i + 1) < 0xA0) return 0;
    if (lead == 0xED && byte(i + 1) >= 0xA0) return 0;
    return tail(i + 1) && tail(i + 2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (lead == 0xF0 && byte(i + 1) < 0x90) return 0;
    if (lead == 0xF4 && byte(i + 1) >= 0x90) return 0;
    return tail(i + 1) && tail(i + 2) && tail(i + 3) ? 4 : 0;
  }
  return 0;
}

std::string hex_byte(char c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  auto u = static_cast<unsigned char>(c);
  return {kDigits[u >> 4], kDigits[u & 15]};
}

class Lexer {
 public:
  Lexer(const Source& source, Reporter& report) : text_(source.text()), report_(report) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) next();
    uint32_t end = tokens_.empty() ? 0 : tokens_.back().extent.end;
    tokens_.push_back({TokenKind::end, {end, end}});
    return std::move(tokens_);
  }

 private:
  uint32_t here() const { return static_cast<uint32_t>(at_); }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void next() {
    char c = peek();
    if (is_blank(c))
      ++at_;
    else if (c == '#')
      comment();
    else if (is_letter(c))
      word();
    else if (is_digit(c))
      number();
    else
      symbol();
  }

  void comment() {
    while (at_ < text_.size() && text_[at_] != '\n') {
      size_t length = utf8_length(text_, at_);
      if (length == 0) {
        report_.error("PW0101", {here(), here() + 1}, "the byte 0x" + hex_byte(text_[at_]) + " is not UTF-8");
        length = 1;
      }
      at_ += length;
    }
  }

  void word() {
    uint32_t begin = here();
    while (is_word(peek())) ++at_;
    std::string_view word(text_.data() + begin, at_ - begin);
    push(is_reserved(word) ? TokenKind::keyword : TokenKind::name, begin);
  }

  void digits() {
    while (is_digit(peek()) || peek() == '_') ++at_;
  }

  bool exponent_follows() const {
    if (peek() != 'e' && peek() != 'E') return false;
    size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    return is_digit(peek(1 + sign));
  }

  void number() {
    uint32_t begin = here();
    if (peek() == '0' && peek(1) == 'x' && is_hex(peek(2))) {
      at_ += 2;
      while (is_hex(peek())) ++at_;
      return finish_number(TokenKind::integer, begin);
    }
    TokenKind kind = TokenKind::integer;
    digits();
    if (peek() == '.' && is_digit(peek(1))) {
      ++at_;
      digits();
      kind = TokenKind::decimal;
    } else if (peek() == '.' && peek(1) != '.') {
      ++at_;
      std::string whole = text_.substr(begin, at_ - begin - 1);
      report_.error("PW0103", {begin, here()},
                    "'" + shorten(whole) + ".' is not a number; write " + shorten(whole) + ".0");
      return push(TokenKind::decimal, begin);
    }
    if (exponent_follows()) {
      at_ += peek(1) == '+' || peek(1) == '-' ? 2 : 1;
      digits();
      kind = TokenKind::decimal;
    }
    finish_number(kind, begin);
  }

  void finish_number(TokenKind kind, uint32_t begin) {
    if (is_word(peek())) {
      while (is_word(peek())) ++at_;
      report_.error("PW0103", {begin, here()}, "'" + shorten(text_.substr(begin, at_ - begin)) + "' is not a number");
    }
    push(kind, begin);
  }

  static std::string shorten(const std::string& text) { return text.size() <= 40 ? text : text.substr(0, 40) + ".."; }

  void symbol() {
    uint32_t begin = here();
    std::string_view rest(text_.data() + at_, std::min<size_t>(2, text_.size() - at_));
    if (contains(kLongSymbols, rest)) {
      at_ += 2;
      return push(TokenKind::symbol, begin);
    }
    if (peek() == '.' && is_digit(peek(1))) return leading_point();
    if (kSymbols.find(peek()) != std::string_view::npos && peek() != '\0') {
      ++at_;
      return push(TokenKind::symbol, begin);
    }
    unknown();
  }

  void leading_point() {
    uint32_t begin = here();
    ++at_;
    digits();
    std::string part = shorten(text_.substr(begin, at_ - begin));
    report_.error("PW0103", {begin, here()}, "'" + part + "' is not a number; write 0" + part);
    push(TokenKind::decimal, begin);
  }

  void unknown() {
    uint32_t begin = here();
    size_t length = utf8_length(text_, at_);
    auto c = static_cast<unsigned char>(text_[at_]);
    if (length == 0) {
      report_.error("PW0101", {begin, begin + 1}, "the byte 0x" + hex_byte(text_[at_]) + " is not UTF-8");
    } else if (length > 1) {
      report_.error("PW0101", {begin, begin + 1},
                    "'" + text_.substr(at_, length) + "' is not ASCII; it may stand in comments only");
    } else if (c < 0x20 || c == 0x7F) {
      report_.error("PW0101", {begin, begin + 1},
                    "the byte 0x" + hex_byte(text_[at_]) + " is not part of the language");
    } else {
      std::vector<std::string> notes;
      if (const std::string_view remedy = remedy_for({&text_[at_], 1}); !remedy.empty()) notes.emplace_back(remedy);
      report_.error("PW0101", {begin, begin + 1}, std::string("'") + text_[at_] + "' is not part of the language",
                    std::move(notes));
    }
    at_ += std::max<size_t>(1, length);
  }

  void push(TokenKind kind, uint32_t begin) { tokens_.push_back({kind, {begin, here()}}); }

  const std::string& text_;
  Reporter& report_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

bool is_reserved(std::string_view word) {
  return contains(kKeywords, word) || is_function(word);
}
bool is_function(std::string_view word) {
  return contains(kFunctions, word);
}
std::string function_list() {
  std::vector<std::string> names = {"max", "min", "sat_T"};
  for (std::string_view word : kFunctions)
    if (word.substr(0, 4) != "sat_") names.emplace_back(word);
  std::sort(names.begin(), names.end());
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}
bool is_reducer(std::string_view word) {
  return contains(kReducers, word);
}

std::vector<Token> tokenize(const Source& source, Reporter& report) {
  return Lexer(source, report).run();
}

}  // namespace polyweft::lang
