// What the variables of a nest's loops are known to be, and arithmetic on affine expressions over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ir/instantiate/range.h"

namespace polyweft::ir {

class LoopVariables {
 public:
  /// The values of a variable: multiples of `step` in [0, most].
  struct Values {
    int64_t step = 1, most = 0;
    bool is_register = false;  ///< of an unrolled or vector loop
  };

  /// Variables are numbered from `parameters` on, which are constants in a nest: they do not occur.
  explicit LoopVariables(size_t parameters) : parameters_(parameters) {}

  void add(Values values);
  void drop_last() { values_.pop_back(); }
  int64_t step(VarId var) const { return var < parameters_ ? 1 : of(var).step; }
  int64_t most(VarId var) const { return var < parameters_ ? 0 : of(var).most; }
  bool is_register(VarId var) const { return var >= parameters_ && of(var).is_register; }
  void set_most(VarId var, int64_t most);
  /// From here on e >= 0: variables reach no further.
  void narrow(const Affine& e);
  const std::vector<Values>& all() const { return values_; }
  /// Takes back what `narrow` did since `before` was all().
  void restore(const std::vector<Values>& before);

  /// Least and greatest value.
  std::pair<int64_t, int64_t> numeric_bounds(const Affine& e) const;
  /// e mod modulus, where it is the same for all values of the loop variables.
  std::optional<int64_t> residue(const Affine& e, int64_t modulus) const;
  /// The greatest known common divisor of the steps that a sum of multiples of variables goes in; 0 for a constant.
  int64_t unit(const Affine& e) const;
  /// Quotients without the variables that cannot change them: floor((x + v) / 32) is floor(x / 32) for x a multiple of
  /// 16 and 0 <= v < 16; clamps without limits that cannot act.
  Affine without_lanes(const Affine& e) const;

  /// Drops limits that never cut; constant ones become part of the range.
  void prune(Range& range) const;
  /// Limits that others make idle wherever the loops around come go: the end of a whole domain, where rows end before
  /// it.
  void drop_implied(Range& range) const;
  /// The part of the range that is left at the one place where its limit cuts it, if it is the same at every such
  /// place.
  std::optional<Range> constant_rest(const Range& range) const;
  /// The part of a range that starts `by` further on.
  Range advanced(const Range& range, const Affine& by, int64_t extent) const;

 private:
  const Values& of(VarId var) const { return values_[var - parameters_]; }
  Affine without_idle_limits(const Quasi& clamped) const;
  Affine quotient_without_lanes(const Quasi& quotient) const;
  bool never_cuts(const Limit& limit, int64_t extent) const;

  size_t parameters_ = 0;
  std::vector<Values> values_;
};

}  // namespace polyweft::ir
