#include <array>

#include "ir/explain/table.h"

namespace polyweft::explain {
namespace {

constexpr auto kStepEntries = std::to_array<Entry>({
    {"PW0301",
     "The text of a trace does not follow its grammar (docs), or a step stands where the nest cannot take it."},
    {"PW0302",
     "The step names a tensor that the statement does not read, or reads in another number of ways than the step can "
     "serve."},
    {"PW0303", "Loops are named as the nest shows them: polyweft show FILE --stage loops."},
    {"PW0304", "The loop at this place has a mark or a role already that does not go with the step."},
    {"PW0305",
     "Fusing or computing a producer there would read elements that another iteration makes, or a sum that is not "
     "final yet."},
    {"PW0306",
     "Iterations of this loop write the same element, so they may not run at once. Accumulate inside the loop, or make "
     "another loop parallel."},
    {"PW0307",
     "The numerics class keeps the order of this reduction. 'reassoc' frees sums; floats keep their order in 'strict' "
     "and 'contract'; "
     "user combiners are free in 'reassoc' where they promise to be associative and commutative."},
    {"PW0308", "A packed copy needs one index for each dimension of the tensor, each in the layout once."},
    {"PW0309", "A copy may be packed only once the tensor is complete: before this nest, on its whole box."},
    {"PW0310", "The number of decisions does not match the sketch, or a decision is out of its range."},
    {"PW0311", "Register blocks and unrolled loops need small constant extents."},
    {"PW0313",
     "Lanes of a reduction need all its loops inside the accumulator, so that each lane has a sum of its own."},
    {"PW0314", "Something that is read at this place is computed later, or lives inside another loop."},
    {"PW0315",
     "A sliding window keeps what earlier iterations of a serial loop computed: what an iteration reads must move up, "
     "at one speed, along one dimension\n"
     "of the tensor. Leave out 'slide' where it does not, and each iteration computes all that it reads."},
    {"PW0320", "Programs with recurrences run in the order that isl found; this one has none recorded."},
    {"PW0321",
     "Statements of a recurrence need each other: steps for them begin with a band, which gives them common loops. An "
     "empty trace runs the base order."},
    {"PW0322",
     "A statement becomes an instruction where its tile computes the same, its lanes and tile have the instruction's "
     "extents, and its operands lie\n"
     "in memory as the registers want them. The message names what differs; docs/add_an_instruction.md has an "
     "example."},
    {"PW0323",
     "Folded storage: an element would take the cell of one that is still needed: one made before the band, or one "
     "read after it. A larger window\n"
     "keeps them apart; equations of the same tensor that may run inside the band (borders) belong into it."},
    {"PW0324",
     "The members of a band must give back each index of a statement by whole numbers: [t, i + 2*t] does, [2*t, i] "
     "does not. A member that moves with a\n"
     "reduced index is that index alone, or its negative."},
});

}  // namespace

std::span<const Entry> steps() {
  return kStepEntries;
}

}  // namespace polyweft::explain
