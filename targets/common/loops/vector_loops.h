// Vector loops: the lanes of one vector, with masks where not all of them are active.
#pragma once

#include <functional>
#include <vector>

#include "targets/common/loops/branches.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/memory/strided_lanes.h"

namespace polyweft::targets {

class VectorLoops : MemoryPart {
 public:
  VectorLoops(const Addresses& addresses, Branches& branches, StridedLanes& strided_lanes)
      : MemoryPart(addresses), branches_(branches), strided_lanes_(strided_lanes) {}

  /// Lanes that a mask must tell from the others, over what lane 0 stands for.
  struct MaskedLanes {
    int64_t fixed = 0;            ///< no lane from here on is active
    std::vector<Affine> lengths;  ///< nor from the least of these on
    std::vector<Affine> late;     ///< nor below the greatest of these
  };
  /// Loops around are written out: several vectors of a row stand side by side.
  void begin_unrolled() { ++unrolled_; }
  void end_unrolled() { --unrolled_; }
  /// Emits what is `inside` with start + lane for the variable, and a mask where not all lanes are active.
  void over_lanes(const Loop&, const std::function<void()>& inside);

 private:
  void one_lane(const Loop&, const MaskedLanes& open, const std::function<void()>& inside);
  MaskedLanes masked_lanes(const Loop& loop) const;

  Branches& branches_;
  StridedLanes& strided_lanes_;
  int unrolled_ = 0;  ///< loops around that are written out
};

}  // namespace polyweft::targets
