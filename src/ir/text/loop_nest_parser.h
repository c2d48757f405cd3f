// The reader of nest texts: one class, its parts in files of their own (declarations, expressions, statements).
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/text/loop_nest_lexer.h"
#include "ir/text/loop_nest_text.h"

namespace polyweft::ir {

/// Thrown and caught inside the parser only.
struct ParseFailure {
  Error error;
};

class NestParser {
 public:
  explicit NestParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  LoopNest whole();

 private:
  // tokens
  const Token& now() const { return tokens_[at_]; }
  const Token& next(size_t ahead = 1) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void over_limit(const std::string& what) const {
    throw ParseFailure{fail("PW0813", "nest text, line " + std::to_string(now().line) + ": " + what)};
  }
  bool is_symbol(const char* s) const { return now().kind == TokenKind::symbol && now().text == s; }
  bool is_name(const char* s) const { return now().kind == TokenKind::name && now().text == s; }
  void advance();
  bool accept(const char* s);
  bool accept_name(const char* s);
  void expect(const char* s);
  void expect_name(const char* s);
  std::string name();
  void check_depth(size_t depth, size_t limit) const;
  /// A name without its "@ID".
  static std::string plain(const std::string& text) { return text.substr(0, text.find('@')); }
  int64_t natural() { return natural_up_to(kMaxNestNumber, "2^40"); }
  int64_t natural_up_to(int64_t limit, const char* limit_text);
  int64_t integer();
  uint32_t id();

  // declarations
  void header();
  void declare_variable(const std::string& text);
  void parameter();
  void online_maximum();
  void loops();
  ElementType type();
  void combiner();
  void buffer();
  std::vector<int64_t> shape(Buffer& b);
  /// The host may stand further down.
  void resolve_host(BufferId id, const std::string& host);
  ValueRange value_range();
  std::vector<int64_t> numbers();
  Scope scope();
  std::vector<Piece> pieces();
  Fold fold(size_t rank);
  std::vector<Affine> bracketed();
  std::vector<Affine> affines();
  std::vector<Literal> literals();
  void arguments();
  void pack();
  BufferId buffer_id();

  // affine
  VarId variable_id();
  Affine affine(size_t depth);
  void bounded(const Affine& e) const;
  Affine affine_term(int64_t sign, size_t depth);
  Affine affine_atom(size_t depth);
  Affine floor_atom(size_t depth);
  Affine clamp_atom(size_t depth);
  Guard guard(size_t depth);
  Guard group(Guard::Kind kind, size_t depth);

  // expressions
  Literal literal();
  bool at_literal() const;
  Expr expression(size_t depth);
  Expr infix(size_t depth);
  Expr typed_variable(VarId var, ElementType t);
  Expr component();
  Expr data_variable();
  Expr read(size_t depth);
  Expr call(size_t depth);
  Expr affine_data();
  Access access(size_t depth);
  Subscript subscript(size_t depth);

  // statements
  NodeId add(Node node);
  NodeId block(size_t depth);
  NodeId statement(size_t depth);
  NodeId explicit_seq(size_t depth);
  NodeId loop(size_t depth);
  Bound bound(const char* combine);
  Mark mark();
  NodeId branch(size_t depth);
  NodeId alloc(size_t depth);
  NodeId compute();
  Write write();
  void reduction(Compute& c);
  NodeId copy();
  NodeId sync();

  std::vector<Token> tokens_;
  size_t at_ = 0;
  LoopNest nest_;
  std::vector<std::pair<BufferId, std::string>> hosts_;  ///< of buffers within others
  std::map<std::string, uint32_t> variables_, buffers_;
  std::vector<ElementType> combiner_types_;
};

}  // namespace polyweft::ir
