// Kernels for one thread.
#pragma once

#include <variant>

#include "polyweft/loop_nest.h"

namespace polyweft {

/// The nest as a kernel for so many threads runs it: on one, loops whose iterations may run at once are loops like
/// others, and the kernel makes no tasks. (A wave of tiles is worth its order on one thread, too.) The order of
/// iterations is one that was proven.
inline LoopNest on_threads(LoopNest nest, int threads) {
  for (Node& node : nest.nodes)
    if (auto* loop = std::get_if<Loop>(&node); threads == 1 && loop && loop->mark.kind == MarkKind::parallel)
      loop->mark = Mark{};
  return nest;
}

}  // namespace polyweft
