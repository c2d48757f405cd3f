// Pairs of schedules of one program whose times were measured: for each term of the analytic model at least one.
//
// A file is text. Words at the left margin begin an entry, indented lines below belong to it:
//
//   machine first_choices             a description of the target (polyweft/target.h) as first choices see the machine
//     architecture = "x86-64"
//   pair many_chains                  name of a pair
//   term chain latency                of the model
//   threads 2                         1 where the line is missing
//   program                           sizes are its parameters' defaults
//     program dot(N = 1024)
//     ..
//   one                               a trace; nothing below: the empty one, the base order
//   other
//     trace 1
//     ..
//   measured 1200.5 340.1 3.5 3.4 3.6 ns of one, ns of other, one / other with its interval; interleaved
//   wrong first_choices               a known error: for this machine the model orders the pair the other way round
//   near other_pair 1.06              of a case that is left out: its schedules are too near to one another here
//
// `#` at the left margin begins a comment. What is to be measured has no machines and no `measured`; in it `{..}` is a
// number that follows from the machine (`expand_sizes`).
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "polyweft/loop_nest.h"
#include "polyweft/result.h"
#include "polyweft/target.h"

namespace polyweft::pairs {

/// Of schedules that are nearer to one another nothing is said.
constexpr double kLeastRatio = 1.15;

struct MeasuredPair {
  double one_ns = 0, other_ns = 0;
  double ratio = 0, ratio_lo = 0, ratio_hi = 0;  ///< one / other
};
struct Pair {
  std::string name, term, program, one, other;
  int threads = 1;
  MeasuredPair measured;  ///< ratio 0: not yet
  std::set<std::string> wrong_for;
};
struct PairFile {
  std::vector<std::pair<std::string, std::string>> machines;  ///< name and description
  std::vector<Pair> pairs;
  std::vector<std::pair<std::string, double>> near;  ///< name and measured ratio
};

/// An error says the line. Refused are unknown words, a pair without program or term, two of one name, a measured ratio
/// that does not follow from its interval or lies within kLeastRatio, and a known error for a machine that is not
/// there.
Result<PairFile> read_pairs(const std::string& text);
std::string text_of(const PairFile& file);

/// `{..}` replaced by whole numbers: products and quotients, from left to right, of numbers and of V (elements of four
/// bytes in a vector), R (vector registers), L1, L2, L3 (elements of four bytes in a cache as one thread sees it; L3 is
/// the last one), P (the same of a page) and W (ways of the first cache).
Result<std::string> expand_sizes(const std::string& text, const Machine& machine);

/// What a trace makes of the pair's program for this target. No code is made.
Result<LoopNest> nest_of(const Pair& pair, const std::string& trace, const Target& target);

}  // namespace polyweft::pairs
