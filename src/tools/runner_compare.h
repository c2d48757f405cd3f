// Is an output right? Bit for bit where the arithmetic is exact, within an error bound elsewhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "polyweft/runner.h"

namespace polyweft::runner {

struct CompareRule {
  InputSet set = InputSet::integer_valued;
  bool bit_exact = false;         ///< strict arithmetic: always bit for bit
  const double* bound = nullptr;  ///< one absolute bound an element, or none
  double relative_bound = 0;  ///< without `bound`: of the largest finite magnitude in the element's row (last axis), of
                              ///< the least normal number at least
};

/// The first element (row-major) that is wrong, as text: "C[3,17] is 2.5, the reference has 3.5 (...)"; nothing when
/// all are right.
///
/// Integers and bools must be equal, or within the bound where comparisons of floats decide them. Floats on
/// integer-valued data must be equal where the reference's whole output consists of integers that the type holds
/// exactly (sums, products, maxima of integers: any order gives the same bits) and the element's bound is below 1/2 (a
/// mask of ones and zeros may hang on a rounding); an output with quotients or exponentials in it falls under the
/// bound. Data that the user gave count as random. Not-a-numbers equal each other; zeros of both signs are equal unless
/// bit_exact. Where the reference or its bound is not finite nothing is judged but that something was written, unless
/// bit_exact: which product is fused decides there between numbers, infinities and NaN.
std::optional<std::string> first_difference(const ArgumentSpec& output, const CompareRule& rule,
                                            const unsigned char* got, const unsigned char* want);

/// How many elements of outputs of floats, or with bounds, have a finite reference and a finite bound (null: none is
/// needed), and the first one that has not.
struct Judgeable {
  int64_t elements = 0, judged = 0;
  std::string first;  ///< "y[27] is nan", "y[3] may differ by inf"; empty: none
};
Judgeable judgeable(const ArgumentSpec& output, const double* bound, const unsigned char* want);

}  // namespace polyweft::runner
