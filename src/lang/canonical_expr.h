// Equations and combiners as canonical text, given labels of tensors.
#pragma once

#include <string>
#include <vector>

#include "lang/canonical_affine.h"

namespace polyweft::lang {

class CanonicalWriter {
 public:
  /// `labels` by TensorId; `combiners` their texts by number. Both outlive the writer.
  CanonicalWriter(const Program& program, const std::vector<std::string>& labels,
                  const std::vector<std::string>& combiners)
      : program_(program), labels_(labels), combiners_(combiners) {}

  /// The right-hand side has its integer constants folded already.
  std::string equation(const Equation& equation);
  /// Types, identity, promises, result: without names.
  static std::string combiner(const Program& program, const Combiner& combiner);

 private:
  void expr(const Expr& e, std::string& out);
  void list(const std::vector<Expr>& args, std::string& out);
  void operation(const ExprNode& e, std::string& out);
  void sorted_pair(const ExprNode& e, std::string& out);
  void read(const ExprNode& e, std::string& out);
  void reduction(const ExprNode& e, std::string& out);
  std::string slots(const Equation& equation, bool is_output, Guard& domain);
  void bind(VarId var);

  const Program& program_;
  const std::vector<std::string>& labels_;
  const std::vector<std::string>& combiners_;
  VariableTexts variables_;
  size_t depth_ = 0;
  bool is_exact_ = false;  ///< inside a subscript that depends on data
};

/// Operators whose operands are integer or bool literals are replaced by their value.
Expr with_folded_integers(const Expr& e);
std::string canonical_literal(const Literal& literal);

}  // namespace polyweft::lang
