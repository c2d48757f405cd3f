// Loops that are written out.
#pragma once

#include "targets/common/code_emitter.h"
#include "targets/common/loops/dot_products.h"
#include "targets/common/loops/interleaved_copies.h"
#include "targets/common/loops/serial_loops.h"
#include "targets/common/loops/vector_loops.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/values/running_values.h"

namespace polyweft::targets {

class UnrolledLoops : MemoryPart {
 public:
  UnrolledLoops(const Addresses& addresses, SerialLoops& serial_loops, VectorLoops& vector_loops,
                const RunningValues& running_values, InterleavedCopies& interleaved_copies, DotProducts& dot_products,
                CodeEmitter& further)
      : MemoryPart(addresses),
        serial_loops_(serial_loops),
        vector_loops_(vector_loops),
        running_values_(running_values),
        interleaved_copies_(interleaved_copies),
        dot_products_(dot_products),
        further_(further) {}

  /// A serial loop where its length is not known.
  void unroll_loop(const Loop&);

 private:
  SerialLoops& serial_loops_;
  VectorLoops& vector_loops_;
  const RunningValues& running_values_;
  InterleavedCopies& interleaved_copies_;
  DotProducts& dot_products_;
  CodeEmitter& further_;
};

}  // namespace polyweft::targets
