#include <array>

#include "ir/explain/table.h"

namespace polyweft::explain {
namespace {

constexpr auto kEntries = std::to_array<Entry>({
    {"PW0400",
     "The independent checker found an element that this nest computes wrongly, twice, never, or while another iteration needs it; the message\n"
     "has the instance. The nest is never stored or run."},
    {"PW0401", "The checker ran out of its quota before it could prove the nest. It is not stored as proven."},
    {"PW0406", "The nest was made for another numerics class than the task that asks for its proof."},
    {"PW0410", "Text of a LoopNest that does not follow its grammar."},
    {"PW0411", "A LoopNest that uses a variable, loop, combiner or component that does not exist, or too many of them."},
    {"PW0412", "A LoopNest whose buffers are malformed or too large."},
    {"PW0413", "A LoopNest that writes what is read only, or reads what does not exist."},
    {"PW0414", "A LoopNest with a mark where it may not stand: unroll and vector need constant or innermost loops."},
    {"PW0415", "A LoopNest whose expressions have other types than their operators take."},
    {"PW0490", "The interpreter takes one tensor for each input of the nest, in order, with its type and extents."},
    {"PW0491", "A LoopNest that reaches outside a buffer, or writes an input, found by running it."},
    {"PW0492", "A LoopNest that reads a cell before anything was written there, found by running it."},
});

}  // namespace

std::span<const Entry> nests() {
  return kEntries;
}

}  // namespace polyweft::explain
