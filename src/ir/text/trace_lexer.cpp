#include "ir/text/trace_lexer.h"

#include <cctype>
#include <charconv>
#include <cmath>

namespace polyweft::ir {
namespace {

constexpr int64_t kMaxInteger = int64_t{1} << 40;

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '@';
}

}  // namespace

void TraceLexer::skip_blank(Lines lines) {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || (lines == Lines::many && (c == '\n' || c == ';'))) {
      ++at_;
    } else {
      return;
    }
  }
}

bool TraceLexer::skip_to_item() {
  skip_blank(Lines::one);
  if (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != ';') {
    error("trace: expected the end of the line");
    return false;
  }
  skip_blank(Lines::many);
  return at_ < text_.size();
}

bool TraceLexer::peek(char c) {
  skip_blank(Lines::one);
  return at_ < text_.size() && text_[at_] == c;
}

bool TraceLexer::peek_digit() {
  skip_blank(Lines::one);
  return at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]));
}

bool TraceLexer::accept(char c) {
  if (failed_ || !peek(c)) return false;
  ++at_;
  return true;
}

void TraceLexer::expect(char c) {
  if (!failed_ && !accept(c)) error(std::string("trace: expected '") + c + "'");
}

std::string TraceLexer::name() {
  if (failed_) return "";
  skip_blank(Lines::one);
  size_t start = at_;
  if (at_ < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
  if (start == at_) error("trace: expected a name");
  return text_.substr(start, at_ - start);
}

bool TraceLexer::accept_word(const std::string& word) {
  if (failed_) return false;
  skip_blank(Lines::one);
  size_t end = at_ + word.size();
  if (text_.compare(at_, word.size(), word) != 0 || (end < text_.size() && is_name_char(text_[end]))) return false;
  at_ = end;
  return true;
}

void TraceLexer::expect_word(const std::string& word) {
  if (!failed_ && !accept_word(word)) error("trace: expected '" + word + "'");
}

int64_t TraceLexer::integer() {
  if (failed_) return 0;
  skip_blank(Lines::one);
  int64_t value = 0;
  auto [end, status] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (status != std::errc() || value < 0 || value > kMaxInteger) {
    error("trace: expected a number from 0 to 2^40");
    return 0;
  }
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

int64_t TraceLexer::signed_integer() {
  const bool negative = accept('-');
  const int64_t value = integer();
  return negative ? -value : value;
}

double TraceLexer::decimal() {
  if (failed_) return 0;
  skip_blank(Lines::one);
  double value = 0;
  auto [end, status] =
      std::from_chars(text_.data() + at_, text_.data() + text_.size(), value, std::chars_format::fixed);
  if (status != std::errc() || !std::isfinite(value)) {
    error("trace: expected a decimal number");
    return 0;
  }
  at_ = static_cast<size_t>(end - text_.data());
  return value;
}

void TraceLexer::error(const std::string& message) {
  if (failed_) return;
  failed_ = true;
  int line = 1;
  size_t start = 0;
  for (size_t k = 0; k < at_ && k < text_.size(); ++k)
    if (text_[k] == '\n') ++line, start = k + 1;
  error_ = fail("PW0301", message, {"line " + std::to_string(line) + ", column " + std::to_string(at_ - start + 1)});
  const Span where{static_cast<int32_t>(line), static_cast<int32_t>(at_ - start + 1), 1};
  error_.diagnostics.push_back({Severity::error, "PW0301", message, where, {}});
}

}  // namespace polyweft::ir
