// The families of operators that the shape sweep runs through, as programs with open sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::soak {

struct Family {
  std::string name;                    ///< "gemm_f32", "conv2d_s2"
  std::string text;                    ///< every parameter of `sizes` as NAME = $NAME
  std::vector<std::string> sizes;      ///< parameters that are swept
  std::vector<NumericsClass> classes;  ///< where the class matters: all three
  bool whole = true;                   ///< whole numbers stay exact in it, so that every judge must agree bit for bit
};
/// Products, convolutions, normalizations, attention, streams, sums, transposes, integers.
std::vector<Family> families();

using Sizes = std::vector<int64_t>;  ///< one for each of Family::sizes
/// The program's text with these sizes.
std::string text_of(const Family& family, const Sizes& sizes);
/// "gemm_f32:M=5,N=7,K=9"
std::string name_of(const Family& family, const Sizes& sizes);

/// 0..33 and the primes to 101.
const std::vector<int64_t>& swept_sizes();
/// Each size alone over swept_sizes() (the others odd and small), then a pairwise covering array over fewer of them.
/// The product of the sizes stays below a limit that the naive evaluator takes in milliseconds.
std::vector<Sizes> shapes_of(const Family& family);

}  // namespace polyweft::soak
