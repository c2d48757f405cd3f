// Where rounding stops being relative.
#pragma once

#include "polyweft/program.h"

namespace polyweft {

/// The least normal number of a type, 0 for integers and bool: values below it are rounded by as much as values of its
/// size.
inline double least_scale(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return 0x1p-1022;
    case ElementType::f32:
    case ElementType::bf16:
      return 0x1p-126;
    case ElementType::f16:
      return 0x1p-14;
    default:
      return 0;
  }
}

}  // namespace polyweft
