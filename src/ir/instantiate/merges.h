// Trees that merge the lanes of an accumulator, or the results of parts of a reduction, into one value.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/instantiate/body.h"
#include "ir/instantiate/nest_writer.h"
#include "ir/instantiate/sized_template.h"
#include "ir/instantiate/storage.h"

namespace polyweft::ir {

/// What the statement of a body does, without operands: which instance it is, and how it folds.
Compute header_of(const SizedTemplate& schedule, const Body& body, Write how);
/// Where an accumulator's final value goes: the tensor, or the cell of this part.
Access result_of(const Body& body, size_t component, const std::vector<Affine>& element, Storage& storage);
/// dst = src.
Copy moved(const NestWriter& nest, const Access& dst, const Access& src);
/// What a merge of lanes does one after the other: unrolled lanes in registers, a copy of the vector, its lanes in
/// halves, the result.
std::vector<MergeLevel> merge_levels(const Body& body, const NestWriter& nest);

class Merges {
 public:
  Merges(const SizedTemplate& schedule, NestWriter& nest, Storage& storage)
      : schedule_(schedule), nest_(nest), storage_(storage) {}

  /// Merges the lanes of one element, or does one level of it.
  NodeId lanes(Body& body);
  /// for m: part m takes part m + half, until one is left; its shape depends on the number of parts alone.
  NodeId parts(const Body& body);

 private:
  NodeId level(const Body& body, const MergeLevel& level);
  NodeId step(const Body& body, const MergeLevel& level, const std::vector<View>& views);
  NodeId spill(const Body& body);
  NodeId store(const Body& body);

  const SizedTemplate& schedule_;
  NestWriter& nest_;
  Storage& storage_;
};

}  // namespace polyweft::ir
