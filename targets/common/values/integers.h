// Values of affine expressions, bounds of loops and conditions.
#pragma once

#include <map>
#include <string>

#include "targets/common/values/lanes.h"
#include "targets/common/values/strides.h"
#include "targets/common/values/variables.h"

namespace polyweft::targets {

/// What is asked has been folded. i64, or a vector of i64 where the lane matters.
class Integers : FunctionPart {
 public:
  Integers(FunctionCode& code, const Variables& variables, LaneMasks& masks, const Strides& strides)
      : FunctionPart(code),
        variables_(variables),
        masks_(masks),
        strides_(strides),
        facts_(variables.facts()),
        lanes_(masks.lanes()) {}

  llvm::Value* integer(const Affine& folded);
  llvm::Value* scalar_part(const Affine& folded);    ///< without kLane and constant; null where nothing is left
  llvm::Value* short_integer(const Affine& folded);  ///< in 32 bits, which hold it
  bool fits_32_bits(const Affine& e) const;
  llvm::Value* bound(const Bound& b, bool is_lower);
  llvm::Value* condition(const Guard& folded);  ///< i1 or vector of i1
  /// Of a condition the parts that hold for all lanes or for none, and those of conditions `around`.
  llvm::Value* condition_of_all_lanes(const Guard& folded, llvm::Value* around);
  bool depends_on_lane(const Affine& folded) const;
  bool depends_on_lane(const Guard& folded) const;
  /// Binds the sizes of a symbolic nest to its strides, where the builder stands.
  std::vector<std::vector<llvm::Value*>> strides();

  /// Values of the current straight-line stretch, by expression.
  using Known = std::map<std::string, llvm::Value*>;
  const Known& known() const { return known_; }
  void restore(Known known) { known_ = std::move(known); }
  void exchange(Known& known) { known_.swap(known); }
  void clear() { known_.clear(); }
  void forget_lanes();

 private:
  llvm::Value* quasi(const Quasi& quasi);
  llvm::Value* quasi(const Quasi& quasi, unsigned bits);
  bool is_short(const Quasi& quasi) const;
  llvm::Value* lane_condition(const Affine& folded);  ///< e >= 0 where e = s + lane or s - lane; null for other shapes
  llvm::Value* comparison(const Affine& e);           ///< e >= 0
  llvm::Value* row_start(const Strides::Row& row);
  Affine fold(const Affine& e) const { return variables_.fold(e); }

  const Variables& variables_;
  LaneMasks& masks_;
  const Strides& strides_;
  const Facts& facts_;
  const Lanes& lanes_;
  Known known_;
};

}  // namespace polyweft::targets
