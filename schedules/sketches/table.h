// The coefficient table of a stage: how each read moves in memory with each index. All rules read this.
#pragma once

#include <optional>
#include <vector>

#include "polyweft/nest_template.h"
#include "schedules/hulls.h"

namespace polyweft::schedules {

struct ReadRow {
  TensorId tensor = 0;
  Access access;
  std::vector<int64_t> stride;  ///< elements an index; row-major
  std::vector<char> irregular;  ///< the index occurs in a clamp, a gather, or a quotient of more than itself
  std::vector<int64_t>
      block;  ///< the index occurs as index / block only: constant within aligned blocks; 0: in no quotient
  std::vector<int64_t> quotient;  ///< the index occurs as (index + constant) / quotient, in a clamp or not, and not
                                  ///< otherwise: neighbours share elements; 0: not so
  /// Values of the index for which no clamp of this read acts (whatever the other indices are); nothing where the index
  /// is in no clamp.
  std::vector<std::optional<Interval>> idle;
  bool uses(uint32_t index) const {
    return stride[index] != 0 || irregular[index] || block[index] != 0 || quotient[index] != 0 || idle[index];
  }
};
struct StageTable {
  std::vector<ReadRow> reads;
  std::vector<int64_t> extent;     ///< of each index
  std::optional<uint32_t> unit;    ///< data index of stride 1 in the output
  std::optional<uint32_t> spread;  ///< where there is none: data index that moves the last position alone, by 2
  double points = 1;
};
/// Are the elements that neighbours along the index read contiguously, the same, or so near each other that vectors
/// hold them and a shuffle picks them?
bool is_near_along(const ReadRow& row, uint32_t index);
StageTable table_of(const NestTemplate& t, const Stage& stage);
/// Where to split the index so that no clamp acts in the middle part (columns of an image but the border; it begins at
/// a multiple of all quotients); nothing where that part is not most of the range.
std::optional<std::vector<int64_t>> cuts_at_clamps(const StageTable& table, const Stage& stage, uint32_t index);
/// The tensor dimension that this index subscripts alone, in this access.
std::optional<uint32_t> dimension_alone(const NestTemplate& t, const Access& access, uint32_t index);

}  // namespace polyweft::schedules
