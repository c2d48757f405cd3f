// What the parts of code generation know of integers: variables, lanes, strides, and values of expressions of these.
#pragma once

#include "targets/common/values/integers.h"

namespace polyweft::targets {

/// Of one function.
struct Values {
  FunctionCode& code;
  Variables& variables;
  LaneMasks& masks;
  Strides& strides;
  Integers& integers;
};

/// Owns them.
struct ValueParts {
  explicit ValueParts(const NewFunction& of)
      : code(of),
        variables(of.nest),
        masks(code),
        strides(code, variables),
        integers(code, variables, masks, strides) {}
  Values values() { return {code, variables, masks, strides, integers}; }

  FunctionCode code;
  Variables variables;
  LaneMasks masks;
  Strides strides;
  Integers integers;
};

class ValuePart : protected FunctionPart {
 protected:
  explicit ValuePart(const Values& values)
      : FunctionPart(values.code),
        variables_(values.variables),
        masks_(values.masks),
        strides_(values.strides),
        integers_(values.integers),
        facts_(variables_.facts()),
        lanes_(masks_.lanes()),
        open_(variables_.open()) {}

  Affine fold(const Affine& e) const { return variables_.fold(e); }
  Guard fold(const Guard& g) const { return variables_.fold(g); }
  Affine lane_0(const Loop& loop) const { return fold(*first_lane(loop)); }

  Variables& variables_;
  LaneMasks& masks_;
  Strides& strides_;
  Integers& integers_;
  const Facts& facts_;
  const Lanes& lanes_;
  const std::vector<OpenLoop>& open_;
};

}  // namespace polyweft::targets
