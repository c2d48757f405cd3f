#include "targets/common/memory/buffers.h"

#include <algorithm>

#include "targets/common/function_code.h"

namespace polyweft::targets {

Buffers::Buffers(const LoopNest& nest, std::vector<llvm::Value*> bases)
    : nest_(nest),
      bases_(std::move(bases)),
      aligned_(nest.buffers.size(), false),
      is_tested_(nest.buffers.size(), false),
      is_met_by_others_(nest.buffers.size(), false) {}

void Buffers::start_as_task(const Buffers& outside) {
  aligned_ = outside.aligned_;
  is_tested_ = outside.is_tested_;
  for (BufferId id = 0; id < bases_.size(); ++id) is_met_by_others_[id] = outside.bases_[id] != nullptr;
}

llvm::Value* Buffers::base_of(BufferId id) const {
  if (!bases_[id]) throw Refusal{fail("PW0501", "buffer " + nest_.buffers[id].name + " is used outside its lifetime")};
  return bases_[id];
}

bool Buffers::is_shared(BufferId id) const {
  return nest_.buffers[id].within || std::any_of(nest_.buffers.begin(), nest_.buffers.end(),
                                                 [&](const Buffer& b) { return b.within && b.within->host == id; });
}

}  // namespace polyweft::targets
