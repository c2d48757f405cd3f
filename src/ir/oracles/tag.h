// Tags: 128-bit hashes of terms. In tag mode a cell holds, beside its value, the tag of the term that it stands for;
// the evaluator of a Program and the interpreter of a LoopNest give an element the same tag exactly when (up to
// collision) they compute the same term: the same operators on the same inputs, reductions over the same points in an
// order that the class allows.
//
// Worked: C[0, 0] of gemm in class reassoc is the sum over k of hash(sum, mul(A[0, k], B[k, 0])) modulo 2^128, whatever
// the order; a nest that folds k = 3 twice, or forgets it, has another tag, even if B[3, 0] happens to be 0.
#pragma once

#include <cstdint>
#include <span>

#include "polyweft/program.h"

namespace polyweft::ir {

/// {0, 0} is the tag of an empty reduction, the state before its first term.
struct Tag {
  uint64_t a = 0, b = 0;
  bool operator==(const Tag&) const = default;
};

Tag tag_of_literal(const Literal& value);
/// An element of an input. Constants count by value: tag_of_literal.
Tag tag_of_element(TensorId tensor, std::span<const int64_t> point);
/// An operator on terms. Operands of + * max min & | ^ == != and or may be swapped; fma(a, b, c) is a * b + c.
Tag tag_of_operation(Op op, ElementType type, std::span<const Tag> args);

/// Which orders of a reduction mean the same.
enum class FoldOrder : uint8_t {
  fixed,  ///< one by one, in lexicographic order
  tree,   ///< any grouping, in lexicographic order
  any     ///< any grouping, any order
};
/// By class and reducer (LANGUAGE.md section 4). `combiner` is set for Reducer::combiner.
FoldOrder fold_order(NumericsClass cls, Reducer reducer, ElementType type, const Combiner* combiner);

/// {0, 0}, which changes no state, for a term +0 * +0 of a sum: zero padding along a reduced index (LANGUAGE.md section
/// 4). Else: One term of component k of a reduction's state: its values (argmax: value and indices; combiner: all
/// components).
Tag tag_of_term(Reducer reducer, uint32_t combiner, uint32_t component, std::span<const Tag> values);
/// State after one more term.
Tag fold_tags(FoldOrder order, Tag state, Tag term);
/// Two states over adjacent ranges (any: over disjoint sets). Under FoldOrder::fixed that is another term: never equal
/// to a fold.
Tag merge_tags(FoldOrder order, Tag left, Tag right);

}  // namespace polyweft::ir
