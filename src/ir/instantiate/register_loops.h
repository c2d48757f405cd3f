// Loops in registers: unrolled or as lanes, of constant extent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/instantiate/body_emitter.h"
#include "ir/instantiate/nest_writer.h"
#include "ir/instantiate/sized_template.h"
#include "ir/instantiate/storage.h"

namespace polyweft::ir {

class RegisterLoops {
 public:
  RegisterLoops(const SizedTemplate& schedule, NestWriter& nest, Storage& storage, BodyEmitter& inner)
      : schedule_(schedule), nest_(nest), storage_(storage), inner_(inner) {}

  /// unroll u in 0..n: the extent is a constant here. A tensor loop is one whose extent is the instruction's; a shorter
  /// rest is unrolled.
  NodeId unroll(Body body, size_t depth);
  /// vector v in 0..min(lanes, limits): a lane is active iff inside.
  NodeId vector(Body body, size_t depth);

 private:
  NodeId whole_groups_then_rest(Body body, size_t depth, uint32_t index, int64_t step);
  NodeId unrolled(Body body, size_t depth);
  std::vector<Prefetch> prefetches_of(const Body& body);

  const SizedTemplate& schedule_;
  NestWriter& nest_;
  Storage& storage_;
  BodyEmitter& inner_;
};

}  // namespace polyweft::ir
