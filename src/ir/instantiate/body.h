// Body: what is left to write of one stage at one place of a nest, a value that is copied at branches.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/instantiate/range.h"
#include "ir/instantiate/view.h"
#include "ir/nests/determined.h"
#include "polyweft/nest_template.h"

namespace polyweft::ir {

/// A loop with numbers for sizes.
struct SizedLoop {
  uint32_t index = 0;
  int64_t step = 1;
  MarkKind mark = MarkKind::serial;
  int64_t lanes = 0;
  bool reduced = false;
  bool lane = false;  ///< a register loop over the vectorized reduced index: its iterations have their own accumulators
  bool is_register() const { return mark == MarkKind::unroll || mark == MarkKind::vector || mark == MarkKind::tensor; }
  std::string name = {};
  std::vector<int64_t> cuts = {};  ///< values of the index at which a new loop begins
  std::string detail = {};         ///< of a tensor loop: the instruction; `lanes` is its extent
  bool non_temporal = false;
  bool part = false;           ///< over parts of a reduction, each with accumulators of its own
  uint32_t wave = 0;           ///< the outermost of so many tile loops of a wavefront
  bool is_determined = false;  ///< over an index that others determine: no loop
  int64_t slots = 1;           ///< of copies inside, which are made ahead
};

/// What the innermost place of a nest does.
enum class Leaf : uint8_t { compute, init, load, store, fill };

/// One level of the tree that merges lanes: lane x takes lane x + (count + 1) / 2.
struct MergeLevel {
  enum class Kind : uint8_t { unrolled, spill, lanes, store } kind = Kind::store;
  size_t dim = 0;
  int64_t count = 0;
};

/// An index without a loop, on its way to a value.
struct DeterminedIndex {
  Determined is;
  bool is_settled = false;  ///< the conditions say its value instead of it
  bool is_point = false;    ///< its range is the value
};
/// of_indices + rest >= 0, where `rest` is over loop variables around.
struct MixedCondition {
  Affine of_indices, rest;
  bool is_done = false;
};
/// A tile of a frame whose tiles overlap (see Overlap), while what is inside is written.
struct OverlapTile {
  const Overlap* of = nullptr;
  uint32_t time = 0;
  Affine last;                ///< value of the time member at the block's last step
  std::vector<Range> ranges;  ///< of all members, before they grew
};

/// A nest being written: loops left to do, ranges reached.
struct Body {
  const Stage* stage = nullptr;
  const Equation* equation = nullptr;  ///< of the stage; null: a copy
  uint32_t id = 0;                     ///< of the stage
  VarId first_index = 0;               ///< of the program's index variables
  bool is_in_band = false;             ///< a statement of a band
  const Overlap* overlap = nullptr;    ///< a frame of tiles that overlap
  std::vector<SizedLoop> loops;
  std::vector<Range> ranges;
  std::vector<char> done;  ///< of its conditions: nothing left to test
  std::vector<DeterminedIndex> determined;
  std::vector<MixedCondition> mixed;
  std::shared_ptr<const OverlapTile> tile;  ///< of a frame
  /// The stage's conditions, without indices that are determined; null: as they are.
  std::shared_ptr<const std::vector<Affine>> rewritten;
  Leaf leaf = Leaf::compute;
  bool branched = false;      ///< register limits are settled
  std::set<uint32_t> masked;  ///< indices whose limits are left to the masks of their vector loop
  bool inset_tried = false;
  bool classed = false;            ///< conditions on data indices alone were tested around the accumulator
  bool crossed = false;            ///< and some of them do not hold in the whole tile
  bool initialized = false;        ///< a reduction's first value is written: conditions on reduced indices may cut
  std::vector<View> accumulators;  ///< one a component of the state; empty: results go to the tensors
  std::vector<Affine> lanes;  ///< accumulator's dimensions after the tensor's: one a register loop over a reduced index
  size_t lane_loops = 0;      ///< leaf init: so many loops over all lanes, innermost (data loops may be parallel)
  bool last_lane_is_vector = false;
  bool merge_lanes = false;               ///< leaf store: merge the lanes first
  bool adds_to_result = false;            ///< and fold them into what the tensor holds
  std::vector<View> rows;                 ///< where the lanes of a vector are merged, one a component
  std::optional<MergeLevel> merge_level;  ///< only this one, for all elements
  std::vector<View> partials;             ///< results of parts, one more dimension than the tensors; one a component
  Affine part;                            ///< number of this part
  bool merge_parts = false;               ///< leaf store: merge the parts
  View fill_view, fill_source;            ///< leaf fill: the ranges run over the tensor's own dimensions

  const std::vector<Affine>& conditions() const { return rewritten ? *rewritten : stage->inside; }
  VarId index_var(uint32_t k) const { return first_index + k; }
  uint32_t index_of(VarId var) const { return var - first_index; }
  /// The rest of the loops, from number `depth` on.
  auto from(size_t depth) const { return loops.begin() + static_cast<std::ptrdiff_t>(depth); }
};

/// Is there an index whose values add nothing to the stage's reduction: it has none?
bool is_null_reduction(const Body& body);
/// Has the body's statement no element at all, some index having no value?
bool has_no_elements(const Body& body);
/// Are only register loops left?
bool all_register_from(const Body& body, size_t depth);
/// Values of an index, in whole vectors where it has lanes.
int64_t whole_lanes(const Body& body, uint32_t index);
/// The origin of each index's range, by variable.
std::map<VarId, Affine> coordinates(const Body& body);
/// What the body's statement defines at the origin of its ranges; `map`: its coordinates.
std::vector<Affine> element_of(const Body& body, const std::map<VarId, Affine>& map);
/// The loops over data indices from `depth` inwards, with another leaf, and no condition that moves with a sum.
Body without_sum(const Body& body, size_t depth, Leaf leaf);

}  // namespace polyweft::ir
