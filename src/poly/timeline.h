// Private: when each instance of a normalized program runs in the base order, and which cells of a tensor live at the
// same time.
//
// A time is [part, t_0 .. t_n, phase, r_0 .. r_m]: the part of the base order, the order of elements in it (the slots'
// indices for parts without a recurrence), 0 for a store or the start of a reduction and 1 for its folds, and the
// reduced indices.
#pragma once

#include "poly/order.h"

namespace polyweft::poly {

struct Timed {
  EquationId equation = 0;
  uint32_t part = 0;
  bool recursive = false;
  Map start;                 ///< { S_q[i] -> time } of stores or starts
  std::optional<Map> folds;  ///< { S_q[i] -> time } of a reduction's points
};
std::vector<Timed> timeline(const Model& model, const std::vector<Ordered>& order);

/// Windows of each dimension of `tensor` (its extent where it cannot be folded): successive modulo of Lefebvre and
/// Feautrier 1998 on the pairs of elements x, y where x is written before y and still read afterwards. `most`: the
/// extents; kUnfolded where one is no number. A window that is none is kUnfolded. `hulls`: of what each statement
/// writes and reads, which takes isl a tenth of the time: more pairs, so that windows are no smaller. So are exact ones
/// where isl gives up. Nothing where it gives up on hulls too.
inline constexpr int64_t kUnfolded = INT64_MAX;
enum class Pieces : uint8_t { exact, hulls };
std::optional<std::vector<int64_t>> fold_windows(const Model& model, const std::vector<Timed>& times, TensorId tensor,
                                                 const std::vector<int64_t>& most, Pieces pieces);

}  // namespace polyweft::poly
