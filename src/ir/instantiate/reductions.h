// Sums between two loops of a stage: private accumulators, their lanes and how these become one, first values, parts.
//
//   accumulate C   alloc C.a { if first: init else load  rest  store }
//   reduction      init over the ranges here, then the rest
//   parts          alloc C.f { for k.p: { <accumulator and folds of this part>  C.f[.., k.p] = accumulator }
//                              merge the parts pairwise  C = C.f[.., 0] }
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/instantiate/body_emitter.h"
#include "ir/instantiate/nest_writer.h"
#include "ir/instantiate/storage.h"

namespace polyweft::ir {

class Reductions {
 public:
  Reductions(NestWriter& nest, Storage& storage, BodyEmitter& inner) : nest_(nest), storage_(storage), inner_(inner) {}

  /// Loop `depth` runs over parts: buffers for their results around it, one for each component of the state.
  NodeId parts(NestPlace at);
  /// The stage's accumulator stands here.
  NodeId accumulated(NestPlace at);
  /// The loops of a reduction without accumulator begin here: first values.
  NodeId initialized(NestPlace at);
  /// The loops over data indices from `depth` inwards around another leaf.
  NodeId data_nest(const Body& body, size_t depth, Leaf leaf);

 private:
  NodeId accumulated_whole(NestPlace at);
  std::optional<NodeId> tile_classes(const NestPlace& at);
  std::optional<std::vector<int64_t>> lanes_of(const Body& body, size_t depth);
  View make_accumulator(const Body& body, size_t depth, TensorId tensor, const std::vector<int64_t>& lanes);
  NodeId first_values(const Body& body, size_t depth, const Guard& first);
  NodeId lane_nest(const Body& body, size_t depth);
  NodeId finish_lanes(const Body& body, size_t depth);

  NestWriter& nest_;
  Storage& storage_;
  BodyEmitter& inner_;
};

}  // namespace polyweft::ir
