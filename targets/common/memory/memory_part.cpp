#include "targets/common/memory/memory_part.h"

namespace polyweft::targets {

void MemoryPart::forget_values() {
  loads_.clear();
  integers_.clear();
}
}  // namespace polyweft::targets
