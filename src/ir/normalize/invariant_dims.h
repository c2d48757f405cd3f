// Dimensions along which a recurrence is the same everywhere: p[t, j] = 1 / (a * p[t, j-1] + b), p[t, 0] = 0 is one
// recurrence over j, and not one for each t.
#pragma once

#include <set>
#include <utility>

#include "polyweft/program.h"

namespace polyweft::ir {

using Dims = std::set<std::pair<TensorId, uint32_t>>;
/// Locals without these dimensions, each an index of its own in every equation of the tensor, which nothing there
/// uses; reads leave out their subscripts.
Program without_dims(Program program, const Dims& dims);

/// The normalized program with locals that need themselves over the dimensions that their values depend on; reads leave
/// out the others' subscripts.
///
/// Let dimension d of T be one along which every equation of T has an index v of its own, with one range that is never
/// empty and stands alone, and let v occur in that equation in subscripts of such dimensions only. Then T[.., v, ..] is
/// the same term for all v: by induction over the order in which elements are computed, since each operand is the same
/// element, or one that differs along such dimensions alone. So values are equal bit for bit in every class. A chain of
/// elements of the result that never ends would be one of the source, whatever v it begins with; so there is an order,
/// too.
Program without_invariant_dims(Program program);

}  // namespace polyweft::ir
