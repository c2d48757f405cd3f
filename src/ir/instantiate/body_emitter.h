// The way further in, for parts that write a loop or what stands at one.
#pragma once

#include <cstddef>

#include "ir/instantiate/body.h"

namespace polyweft::ir {

class BodyEmitter {
 public:
  virtual ~BodyEmitter() = default;
  /// Everything from loop `depth` inwards, with what stands outside of that loop.
  virtual NodeId emit(Body body, size_t depth) = 0;
  /// The same from number `which` on of what stands there (see Emitter).
  virtual NodeId emit_from(Body body, size_t depth, size_t which) = 0;
  /// Loop `depth` and all inside.
  virtual NodeId emit_loop(Body body, size_t depth) = 0;
};

}  // namespace polyweft::ir
