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
  std::vector<int64_t> block;   ///< the index occurs as index / block only: constant within aligned blocks; 0: in no quotient
  /// Values of the index for which no clamp of this read acts (whatever the other indices are); nothing where the index is in no clamp.
  std::vector<std::optional<Interval>> idle;
  bool uses(uint32_t index) const { return stride[index] != 0 || irregular[index] || block[index] != 0 || idle[index]; }
};
struct StageTable {
  std::vector<ReadRow> reads;
  std::vector<int64_t> extent;   ///< of each index
  std::optional<uint32_t> unit;  ///< data index of stride 1 in the output
  double points = 1;
};
StageTable table_of(const NestTemplate& t, const Stage& stage);
/// Where to split the index so that no clamp acts in the middle part (columns of an image but the border); nothing where that part is not most
/// of the range.
std::optional<std::vector<int64_t>> cuts_at_clamps(const StageTable& table, const Stage& stage, uint32_t index);
/// The tensor dimension that this index subscripts alone, in this access.
std::optional<uint32_t> dimension_alone(const NestTemplate& t, const Access& access, uint32_t index);

}  // namespace polyweft::schedules
