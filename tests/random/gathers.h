// Random gathers of extreme values: subscripts of every integer type made of sums, products, negations, divisions, bits
// and choices of data at the ends of their types, and what they mean, computed apart from Polyweft: trees of our own
// over 256 bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::random_test {

/// What a program of this generator has in it.
struct GatherFeatures {
  int products = 0, sums = 0, negations = 0, clamps = 0, remainders = 0, quotients = 0, bits = 0, shifts = 0,
      selects = 0, guards = 0, wrapped_parts = 0;
  int extremes = 0;        ///< data at INT64_MIN or INT64_MAX
  int promises = 0;        ///< inputs with `values lo..hi`
  bool leaves_64 = false;  ///< at some point a part of a subscript needs more than 64 bits
  bool over_128 = false;   ///< or may need more than 128, by the types alone
};

/// Inputs of rank 1, one i32 table T[n] and one output Y[m].
struct RandomGather {
  std::string text;
  std::vector<TensorData> inputs;  ///< in the order of the text, at the default sizes
  std::vector<int32_t> wanted;     ///< of Y
  GatherFeatures features;
};
RandomGather random_gather(uint64_t seed);

}  // namespace polyweft::random_test
