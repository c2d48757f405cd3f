// Members of a band that other members of a statement give: p + q == 4 t leaves nothing to a loop over q.
#pragma once

#include <vector>

#include "polyweft/nest_template.h"

namespace polyweft::ir {

/// Does the loop run over values of the index, and not over its tiles or vectors?
bool is_point_loop(const TemplateLoop& loop);

/// An index without a loop of its own: wherever the conditions of its stage hold it has this value.
struct Determined {
  uint32_t index = 0;
  Affine value;  ///< over the stage's indices that have loops
  bool operator==(const Determined&) const = default;
};
/// The indices of a band's frame or statement whose point loops vanish. Of the indices in an equality the one that
/// vanishes has coefficient 1 or -1 and a plain point loop that the band does not share, the innermost such; other
/// stages keep all their loops. Steps judge the loops that are left, and emission writes them.
std::vector<Determined> determined_indices(const NestTemplate& t, uint32_t stage);

}  // namespace polyweft::ir
