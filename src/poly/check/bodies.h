// Private to the checker: proof 2, expressions; it also says which element each read of the nest must find.
#pragma once

#include "poly/check/statements.h"

namespace polyweft::poly::checker {

/// Cells that statement `statement` reads for an element of `tensor`, on the iterations `when`.
struct Read {
  size_t statement = 0;
  const Access* access = nullptr;
  TensorId tensor = 0;
  Set when;
};

/// Program variables (parameters and the indices of one equation) over the dimensions of a statement.
using Indices = std::map<VarId, Affine>;
/// Of the equation's slots, and for an accumulate of its reduced indices. Throws Refuted where the numbers of indices
/// differ.
Indices indices_of(const Program& program, const Statement& s);
/// The equation's domain (slots and where; with the reduction's ranges and where for `reduced`) as a condition on
/// `indices`.
Guard domain_guard(const Equation& equation, const Indices& indices, bool reduced);
/// Element that the statement's target stands for.
std::vector<Affine> element_of(const Equation& equation, const Indices& indices);
/// Element that a cell of the buffer is said to hold, over the dimensions.
std::vector<Affine> element_of_cell(const Statement& s, const Buffer& buffer, const Access& access);
/// Whether a and b agree everywhere on `when`.
bool agree(const Affine& a, const Affine& b, const Set& when);

class Bodies {
 public:
  Bodies(const Program& program, const LoopNest& nest) : program_(program), nest_(nest) {}
  /// Compares the statement's right-hand sides with its equation's on `good`; appends the reads. Throws Refuted
  /// (PW0402).
  void compare(const Statement& s, const Set& good, std::vector<Read>& reads);

 private:
  void compare_merged(const Statement& s, const Set& good, const Equation& equation, const Indices& indices) const;
  struct Here {
    const Statement& s;
    const Indices& indices;
    std::vector<Read>& reads;
    size_t depth;
    bool is_exact = false;  ///< where sums of i64 do not wrap: inside a subscript that depends on data
  };
  bool same(const Expr& nest, const Expr& wanted, const Set& when, const Here& here);
  bool same_guarded(const Expr& nest, const Expr& wanted, const Set& when, const Here& here);
  bool same_index(const Expr& nest, const Expr& wanted, const Set& when, const Here& here);
  bool same_operation(const ExprNode& nest, const ExprNode& wanted, const Set& when, const Here& here);
  bool same_fused(const ExprNode& nest, const ExprNode& wanted, const Set& when, const Here& here);
  bool same_arguments(const ExprNode& nest, const ExprNode& wanted, bool swapped, const Set& when, const Here& here);
  bool same_read(const ExprNode& nest, const ExprNode& wanted, const Set& when, const Here& here);
  bool same_subscript(const Subscript& nest, const Subscript& wanted, const Affine& element, const Set& when,
                      const Here& here);
  bool same_inlined(const Expr& nest, const ExprNode& wanted, const Set& when, const Here& here);
  const Program& program_;
  const LoopNest& nest_;
};

}  // namespace polyweft::poly::checker
