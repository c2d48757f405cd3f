#include <array>

#include "ir/explain/table.h"

namespace polyweft::explain {
namespace {

constexpr auto kNestEntries = std::to_array<Entry>({
    {"PW0400",
     "The independent checker found an element that this nest computes wrongly, twice, never, or while another "
     "iteration needs it; the message\n"
     "has the instance. The nest is never stored or run."},
    {"PW0401",
     "Proof 1 of the checker: every element that is needed is computed, and each point of a reduction is folded "
     "exactly once."},
    {"PW0402",
     "Proof 2 of the checker: an expression of the nest, with its reads replaced by the elements they hold, is the "
     "right-hand side of the equation."},
    {"PW0403", "Proof 3 of the checker: the last writer of a cell wrote the element that the reader wants."},
    {"PW0404",
     "Proof 4 of the checker: every access lies inside its buffer, and arguments have the layout of the call."},
    {"PW0405",
     "Proof 5 of the checker: no two iterations of a parallel loop, and no two lanes of a vector loop, meet in one "
     "cell."},
    {"PW0406",
     "Proof 6 of the checker: where the order of a reduction counts, points are folded in the order of the text; and "
     "the nest is of the class of its task."},
    {"PW0407",
     "An asynchronous copy is under way from where it stands to the wait for its group. Its cells may be neither read "
     "nor written meanwhile, its source not written. The message names the buffer; docs/theorems.md, T13."},
    {"PW0409",
     "The checker could not decide within its quota, or the nest has a construct that its proofs do not cover. Never "
     "taken for proven."},
    {"PW0410", "Text of a LoopNest that does not follow its grammar."},
    {"PW0411",
     "A LoopNest that uses a variable, loop, combiner or component that does not exist, or too many of them."},
    {"PW0412", "A LoopNest whose buffers are malformed or too large."},
    {"PW0413", "A LoopNest that writes what is read only, or reads what does not exist."},
    {"PW0414", "A LoopNest with a mark where it may not stand: unroll and vector need constant or innermost loops."},
    {"PW0415", "A LoopNest whose expressions have other types than their operators take."},
    {"PW0416", "Tensor instructions are files of targets/instructions; docs/add_an_instruction.md has their form."},
    {"PW0417",
     "What stands inside a mark `tensor` is not what the instruction computes: the message names the operand, type or "
     "axis that differs."},
    {"PW0418",
     "A symbolic nest takes sizes that meet the program's assumptions, up to 2^31 - 1; its shapes are affine in the "
     "parameters, its layouts row-major."},
    {"PW0490", "The interpreter takes one tensor for each input of the nest, in order, with its type and extents."},
    {"PW0491", "A LoopNest that reaches outside a buffer, or writes an input, found by running it."},
    {"PW0492", "A LoopNest that reads a cell before anything was written there, found by running it."},
});

}  // namespace

std::span<const Entry> nests() {
  return kNestEntries;
}

}  // namespace polyweft::explain
