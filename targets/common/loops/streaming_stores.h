// Streaming (non-temporal) stores: loops that have them exist twice.
#pragma once

#include <functional>
#include <vector>

#include "targets/common/loops/branches.h"
#include "targets/common/memory/memory_part.h"

namespace polyweft::targets {

class StreamingStores : MemoryPart {
 public:
  StreamingStores(const Addresses& addresses, Branches& branches) : MemoryPart(addresses), branches_(branches) {}

  /// Emits the code, twice where arguments of which it is not known begin on lines or do not.
  void with_streams(const Loop& loop, const std::function<void()>& code);
  /// Makes streaming stores visible to whoever looks after the return.
  void fence_after(NodeId id);

 private:
  void add_streamed_by(const Loop& loop, std::vector<BufferId>& out) const;
  std::vector<BufferId> streamed_arguments(NodeId id) const;

  Branches& branches_;
};

}  // namespace polyweft::targets
