// The parser's view of the tokens: a cursor that, after an error, pretends to be at the end, so that every rule unwinds
// by itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lang/lexer.h"

namespace polyweft::lang {

class TokenStream {
 public:
  TokenStream(const Source& source, Reporter& report)
      : source_(source), report_(report), tokens_(tokenize(source, report)) {}

  TokenKind kind() const { return failed_ ? TokenKind::end : tokens_[at_].kind; }
  std::string_view text() const { return failed_ ? std::string_view() : view(tokens_[at_]); }
  std::string_view text_ahead(size_t ahead) const {
    return failed_ || at_ + ahead >= tokens_.size() ? std::string_view() : view(tokens_[at_ + ahead]);
  }
  TokenKind kind_ahead(size_t ahead) const {
    return failed_ || at_ + ahead >= tokens_.size() ? TokenKind::end : tokens_[at_ + ahead].kind;
  }
  Extent extent() const { return tokens_[at_].extent; }
  /// From `begin` to the end of the last token taken.
  Extent since(uint32_t begin) const {
    return {begin, at_ == 0 ? begin : std::max(begin, tokens_[at_ - 1].extent.end)};
  }
  uint32_t position() const { return tokens_[at_].extent.begin; }
  bool at(std::string_view word) const {
    return kind() != TokenKind::end && kind() != TokenKind::name && text() == word;
  }
  void advance() {
    if (!failed_ && at_ + 1 < tokens_.size()) ++at_;
  }
  bool take(std::string_view word) {
    if (!at(word)) return false;
    advance();
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) error_expected("'" + std::string(word) + "'");
  }
  /// `remedy`: a note; empty: none.
  void error_expected(const std::string& what, const std::string& remedy = "") {
    if (failed_) return;
    std::string found =
        kind() == TokenKind::end ? "the end of the file" : "'" + std::string(text().substr(0, 40)) + "'";
    std::vector<std::string> notes;
    if (!remedy.empty()) notes.push_back(remedy);
    error("PW0102", extent(), "expected " + what + " but found " + found, std::move(notes));
  }
  void error(const char* code, Extent where, std::string text, std::vector<std::string> notes = {}) {
    if (!failed_) report_.error(code, where, std::move(text), std::move(notes));
    failed_ = true;
  }
  bool failed() const { return failed_; }
  /// Ends the pretence and goes to the next keyword for which `starts` holds and that is the first word of its line:
  /// inside a line the word is more likely part of what went wrong.
  template <class F>
  void recover(const F& starts) {
    failed_ = false;
    while (kind() != TokenKind::end && !(kind() == TokenKind::keyword && starts(text()) && is_first_of_line()))
      advance();
  }

 private:
  bool is_first_of_line() const {
    if (at_ == 0) return true;
    uint32_t before = tokens_[at_ - 1].extent.end;
    return source_.text().find('\n', before) < position();
  }
  std::string_view view(const Token& token) const {
    return std::string_view(source_.text()).substr(token.extent.begin, token.extent.end - token.extent.begin);
  }
  const Source& source_;
  Reporter& report_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace polyweft::lang
