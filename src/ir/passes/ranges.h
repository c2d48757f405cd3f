// What lowering knows about integer expressions: ranges and divisibility of variables, and simplification of layouts by
// them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// lo <= variable <= hi, and variable is a multiple of `divisor`.
struct VariableFacts {
  int64_t lo = INT64_MIN / 4, hi = INT64_MAX / 4;
  int64_t divisor = 1;
  std::vector<Affine> at_most = {};  ///< it exceeds none of these either: the lanes of a row that begins late
};
struct IntegerRange {
  int64_t lo = 0, hi = 0;
};

/// Text that is equal for equal expressions.
std::string key_of(const Affine& e);

class ValueFacts {
 public:
  void set(VarId var, VariableFacts facts) { facts_[var] = std::move(facts); }
  void forget(VarId var) { facts_.erase(var); }
  IntegerRange range(const Affine& e) const;
  /// By `at_most` too: a row that others end.
  IntegerRange range_by_neighbours(const Affine& e) const;
  /// From here on e >= 0 holds: narrower ranges of its variables.
  void assume(const Affine& e);
  /// What a branch is taken on: the condition, or its opposite. Only what ranges can say is kept.
  void assume(const Guard& guard, bool holds);
  /// Truth of the condition where ranges decide it.
  std::optional<bool> decide(const Guard& guard) const;
  /// floor(e / den) and e mod den, split exactly where divisibility and ranges allow it.
  Affine quotient(const Affine& e, int64_t den) const;
  Affine remainder(const Affine& e, int64_t den) const;
  /// The same with what is a multiple of `den` outside of the division, and what is too small for it left out: of
  /// floor((8 t + v) / 64) with v below 8 floor(t / 8) is left.
  Affine coarse_quotient(const Affine& e, int64_t den) const;
  /// Rewrites floor divisions and clamps inside e by what is known.
  Affine simplify(const Affine& e) const;
  /// Element offset of a logical index in a buffer: folds, layout and pads applied.
  Affine offset(const Buffer& buffer, const std::vector<Affine>& index) const;
  /// 128 * floor(k / 4) is 32 * k where k is a multiple of 4.
  Affine without_exact_quotients(const Affine& e) const;
  /// The greatest number known to divide e for all values of its variables; 0: e is 0.
  int64_t divisor(const Affine& e) const;
  /// Largest power of two (at most 64) that divides e for all values of its variables.
  int64_t known_divisor(const Affine& e) const;

 private:
  struct Split {
    Affine multiple;  ///< divisible by den
    Affine rest;
  };
  /// The rest lies in [0, den) where any choice of multiples leaves such a one.
  Split split(const Affine& e, int64_t den) const;
  Split split(const Affine& e, int64_t den, bool with_quotients) const;
  Split blocks(const Affine& e, int64_t den) const;
  bool is_remainder(const Affine& e, int64_t den) const;
  IntegerRange range(const Affine& e, int remainders) const;
  std::map<VarId, VariableFacts> facts_;
};

}  // namespace polyweft::ir
