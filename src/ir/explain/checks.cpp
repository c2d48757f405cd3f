#include <array>

#include "ir/explain/table.h"

namespace polyweft::explain {
namespace {

constexpr auto kCheckEntries = std::to_array<Entry>({
    {"PW0201",
     "Warning: the ranges and the guard of this equation have no common point for any sizes that the assumptions "
     "allow."},
    {"PW0202",
     "Every element has one defining equation. The message names an element with two and the sizes at which that "
     "happens; restrict one\n"
     "equation by its ranges or by 'where' left of '='."},
    {"PW0203",
     "A read must stay inside its tensor for all sizes that the assumptions allow, not just the defaults. The witness "
     "is the smallest\n"
     "such case. Guard the read, 'X[i-1] where i >= 1 else 0', change the range, or state an assumption."},
    {"PW0204",
     "The element that is read has no equation. The note tells where the tensor is defined; stencils usually lack the "
     "equation of their border."},
    {"PW0205", "An output is defined on its whole box. 'out partial' leaves elements unwritten."},
    {"PW0206", "The box of an output starts at 0 in every dimension; shift the slots."},
    {"PW0207",
     "Elements that need themselves have no value: the message lists the reads that lead back. A recurrence must read "
     "elements that are\n"
     "computed before in some order, such as h[t-1]."},
    {"PW0208",
     "The program has an order, but none in which each equation runs along one affine direction. Split the equation "
     "where its\n"
     "dependences change direction."},
    {"PW0209",
     "Neither an order nor a cycle was found; for symbolic sizes the question is undecidable in general. Simplify "
     "guards and subscripts."},
    {"PW0211",
     "argmax, argmin and reductions by a combiner without a true identity have no value over an empty range; max and "
     "min give their identity."},
    {"PW0212",
     "A combiner's promises are tested: on all triples of terms from small integers, as many as fit, and on samples. "
     "The terms are what the program\n"
     "feeds to it, so a component that is always 1 stays 1. Floats keep a promise within the running error bounds. The "
     "message shows values that\n"
     "break it. 'associative' lets partial results be folded, which start from the identity, so that is tested too; "
     "'commutative' lets the operands\n"
     "change places. A promise that no test breaks remains the author's."},
    {"PW0213",
     "Warning: the promise holds for all finite samples, but not with an infinity or a NaN, so such data give results "
     "that depend on the schedule."},
});

}  // namespace

std::span<const Entry> checks() {
  return kCheckEntries;
}

}  // namespace polyweft::explain
