// The expression rules of the grammar.
#pragma once

#include "lang/grammar.h"
#include "lang/token_stream.h"

namespace polyweft::lang {

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, Tree& tree) : tokens_(tokens), tree_(tree) {}

  Node* expression();
  Node* condition();
  Node* sum();
  RangeSyntax range();
  /// NAME ":" range
  IndexSyntax index();
  NameSyntax name(const char* what);
  ElementType type();
  bool at_type() const;
  LiteralSyntax literal();

 private:
  class Nest;
  Node* make(NodeKind kind, uint32_t begin, std::vector<Node*> args);
  Node* chain_of(Node* (ExpressionParser::*next)(), bool (ExpressionParser::*is_operator)() const, NodeKind kind);
  bool at_comparison() const;
  bool at_bit_operator() const;
  bool at_shift() const;
  /// At a word or number that can only be an operand.
  bool at_operand() const;
  bool at_additive() const;
  bool at_multiplicative() const;
  bool at_reduction() const;
  Node* conjunction();
  Node* negation();
  Node* comparison();
  Node* bits();
  Node* shift();
  Node* term();
  Node* unary();
  Node* reduction();
  ReductionSyntax reduction_header();
  Node* primary();
  Node* number();
  Node* named();
  void report_no_function(const std::string& name, Extent where);
  void refuse_power(Extent star);
  Node* call(NodeKind kind);
  Node* parenthesized();
  std::vector<Node*> list(const char* close);
  void take_operator(Node& node);

  TokenStream& tokens_;
  Tree& tree_;
  int nesting_ = 0;
};

}  // namespace polyweft::lang
