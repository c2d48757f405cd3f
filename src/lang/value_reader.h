// Trees as typed values: names, types, functions, reductions (LANGUAGE.md section 3).
#pragma once

#include <optional>

#include "lang/affine_reader.h"

namespace polyweft::lang {

/// + - * / // % & | ^ << >>, as they are written.
Op operator_of(const std::string& text);
/// == != < <= > >=.
Op comparison_of(const std::string& text);
/// Converted to i64 where it is not one.
Expr as_index(Expr value);

class ValueReader {
 public:
  explicit ValueReader(Context& context) : context_(context), affine_(context) {}

  /// The value of a tree; `wanted` is the type that untyped literals take where nothing else decides. Null after an
  /// error.
  Expr value(Node& node, std::optional<ElementType> wanted);
  /// A right-hand side with one value per type; for one type the same as value().
  Expr right_hand_side(Node& node, const std::vector<ElementType>& types);

 private:
  // value_reader.cpp: leaves, operators, guarded values
  Expr literal(const Node& node, std::optional<ElementType> wanted, Extent where, bool negative);
  Expr name(Node& node, std::optional<ElementType> wanted);
  Expr negation(Node& node, std::optional<ElementType> wanted);
  Expr complement(Node& node, std::optional<ElementType> wanted);
  Expr chain(Node& node, std::optional<ElementType> wanted);
  Expr comparison(Node& node);
  Expr logical(Node& node, Op op);
  Expr guarded(Node& node, std::optional<ElementType> wanted);
  Expr guarded_of(const Node& node, std::vector<Expr> values);
  Expr boolean(Node& node);
  bool operands(Node& node, ElementType type, std::vector<Expr>& out);
  bool check_operator(const Node& node, size_t op, ElementType type);
  bool check_same(const Node& left, ElementType left_type, const Node& right, ElementType right_type,
                  const std::string& op);
  // calls.cpp: functions, conversions, reductions, tuples
  Expr call(Node& node, std::optional<ElementType> wanted);
  Expr float_function(Node& node, Op op, std::optional<ElementType> wanted);
  Expr numeric_function(Node& node, Op op, std::optional<ElementType> wanted);
  Expr select_call(Node& node, std::optional<ElementType> wanted);
  Expr saturate(Node& node);
  Expr convert(Node& node);
  Expr reduction(Node& node, std::optional<ElementType> wanted, size_t results);
  bool reduction_body(Node& node, std::optional<ElementType> wanted, ExprNode& out);
  bool combiner_body(Node& node, ExprNode& out, size_t results);
  bool header(const ReductionSyntax& syntax, Reduction& out);
  Expr tuple(Node& node, const std::vector<ElementType>& types);
  bool check_results(const Node& node, size_t found, size_t expected);
  // subscripts.cpp: element reads and gathers
  Expr element(Node& node);
  std::optional<Subscript> subscript(Node& node, const Node& access, TensorId tensor, size_t dimension);
  struct Gather {
    Expr data;
    Affine lo, hi;
  };
  std::optional<Gather> gather(Node& node);
  std::optional<Gather> promised_element(Node& node);
  std::optional<Gather> clamped(Node& node);
  std::optional<Gather> remainder(Node& node);
  /// By the ranges of types, promises and numbers alone: any expression that they keep within an interval.
  std::optional<Gather> bounded(Node& node);
  void refuse_terms(const Node& node, const Node& access, TensorId tensor, size_t dimension);
  void refuse_gather(Node& term, const Node& access, TensorId tensor, size_t dimension);
  // exact_subscripts.cpp: data inside subscripts, as exact integers
  Expr index_value(Node& node);
  Expr index_chain(Node& node, size_t operands);
  Expr index_call(Node& node);
  Expr index_select(Node& node);
  Expr index_guarded(Node& node);
  Expr index_condition(Node& node);
  Expr index_comparison(Node& node);
  bool fits_128_bits(const Expr& data);

  Context& context_;
  AffineReader affine_;
};

}  // namespace polyweft::lang
