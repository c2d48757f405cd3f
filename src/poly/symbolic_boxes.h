// Private: the boxes of a program's tensors over its parameters.
#pragma once

#include "poly/nest_builder.h"

namespace polyweft::poly {

/// As boxes(), for all sizes at once. Boxes of inputs, constants and outputs are exact (an output without elements
/// keeps the extents that its ranges give), those of locals hold all elements. PW0837 where an output's extent is no
/// maximum of affine expressions of the parameters. Throws IslFailure.
Result<std::vector<AffineBox>> symbolic_boxes(const Model& model);
Affine least_of(const Affine& a, const Affine& b);
Affine greatest_of(const Affine& a, const Affine& b);

}  // namespace polyweft::poly
