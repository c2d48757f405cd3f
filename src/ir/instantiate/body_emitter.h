// The way further in, for parts that write a loop or what stands at one.
#pragma once

#include <cstddef>

#include "ir/instantiate/body.h"

namespace polyweft::ir {

/// Outside of loop `depth` of a body, where number `which` of what stands there is being written (see Emitter).
struct NestPlace {
  Body body;
  size_t depth = 0;
  size_t which = 0;
};

class BodyEmitter {
 public:
  virtual ~BodyEmitter() = default;
  /// Everything from loop `depth` inwards, with what stands outside of that loop.
  virtual NodeId emit(Body body, size_t depth) = 0;
  /// What follows at a place: all that stands there behind number `which`, then the loop.
  virtual NodeId emit_rest(NestPlace at) = 0;
  /// Loop `depth` and all inside.
  virtual NodeId emit_loop(Body body, size_t depth) = 0;
};

}  // namespace polyweft::ir
