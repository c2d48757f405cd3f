// Words, numbers and symbols of a trace's text; the first error stays, and nothing is taken after it.
#pragma once

#include <cstdint>
#include <string>

#include "polyweft/result.h"

namespace polyweft::ir {

class TraceLexer {
 public:
  /// `text` must outlive it.
  explicit TraceLexer(const std::string& text) : text_(text) {}

 protected:
  enum class Lines : uint8_t { one, many };
  /// Blanks and comments; of many lines the ends, too.
  void skip_blank(Lines lines);
  /// Past the end of this line; false at the end of the text.
  bool skip_to_item();
  bool peek(char c);
  bool peek_digit();
  /// Each of these is false, empty or 0 after an error.
  bool accept(char c);
  bool accept_word(const std::string& word);
  void expect(char c);
  void expect_word(const std::string& word);
  std::string name();
  int64_t integer();  ///< 0 .. 2^40
  int64_t signed_integer();
  double decimal();
  /// PW0301 with line and column; the first one stays.
  void error(const std::string& message);
  bool failed() const { return failed_; }
  const Error& first_error() const { return error_; }

 private:
  const std::string& text_;
  size_t at_ = 0;
  bool failed_ = false;
  Error error_;
};

}  // namespace polyweft::ir
