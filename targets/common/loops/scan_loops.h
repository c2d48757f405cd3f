// Loops that compute running values: whole vectors, then what is left one by one (values/running_values.h).
#pragma once

#include "targets/common/code_emitter.h"
#include "targets/common/loops/serial_loops.h"
#include "targets/common/loops/vector_loops.h"
#include "targets/common/memory/memory_part.h"

namespace polyweft::targets {

class ScanLoops : MemoryPart {
 public:
  ScanLoops(const Addresses& addresses, SerialLoops& serial_loops, VectorLoops& vector_loops, CodeEmitter& further)
      : MemoryPart(addresses), serial_loops_(serial_loops), vector_loops_(vector_loops), further_(further) {}

  void serial_or_scan(const Loop& loop);

 private:
  static constexpr VarId kFirstOfScan = 0x7ffffff1;
  bool scan_loop(const Loop& loop);  ///< true: emitted

  SerialLoops& serial_loops_;
  VectorLoops& vector_loops_;
  CodeEmitter& further_;
};

}  // namespace polyweft::targets
