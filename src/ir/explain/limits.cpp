#include <array>

#include "ir/explain/table.h"

namespace polyweft::explain {
namespace {

constexpr auto kLimitEntries = std::to_array<Entry>({
    {"PW0801", "A tensor has at most 8 dimensions."},
    {"PW0802",
     "An equation has at most 12 indices, those of its reductions included. Name a part of the expression with 'let'."},
    {"PW0803", "A program has at most 256 equations."},
    {"PW0804",
     "Brackets and prefix operators (-, ~, not, reductions) nest at most 200 deep. A chain like a + b + c counts "
     "once."},
    {"PW0805",
     "A chain of operators of one level makes a tree as high as the chain is long; at most 2000: later passes recurse "
     "over it."},
    {"PW0806", "A source text has at most 1 MiB."},
    {"PW0807",
     "Integers of affine forms and sizes are at most 2^40 in magnitude, so that no later arithmetic on them can "
     "overflow."},
    {"PW0808", "A guard in disjunctive normal form has at most 64 disjuncts; i != c counts as two."},
    {"PW0809",
     "A size is at most 2^31 - 1: an extent that is a number, the value of a parameter, and the extents of inputs and "
     "outputs at the sizes that are bound."},
    {"PW0810", "A tensor takes at most 2^62 bytes."},
    {"PW0811",
     "An affine form has at most 512 terms when its divisions are written out; i % 2 % 3 % 4 .. doubles with each "
     "operator."},
    {"PW0812",
     "The naive evaluator keeps every element in memory and walks the expression for each; it is for small sizes."},
    {"PW0813",
     "The text of a loop nest has at most 16 MiB, and its names, lists and expressions are limited too: it crosses "
     "process borders."},
    {"PW0814",
     "The inputs and outputs of a call do not fit the memory of this machine, or what this process may take of it. A "
     "kernel can be built for them all the same\n"
     "(polyweft build); to run, tune or time it here, bind smaller sizes."},
    {"PW0820",
     "The intermediate tensors of the base nest take more memory than the workspace limit. Bind smaller sizes, or "
     "raise the limit."},
    {"PW0821",
     "The kernel would ask for more memory than --max-workspace allows: the bytes of all blocks of the heap at once, "
     "those of every task of a parallel loop\n"
     "included. The message says the least that was found. Raise the limit, choose smaller sizes, or fold storage by a "
     "trace (`fold`, `store`)."},
    {"PW0822", "The bytes of a nest's buffers, or of all tasks together, do not fit 63 bits. Choose smaller sizes."},
    {"PW0830",
     "isl works under a limit of operations, so that every answer is the same on every machine. This question needs "
     "more: simplify\n"
     "guards, or split the equation."},
    {"PW0831",
     "The polyhedral helper did not answer within its deadline and was ended. Unlike PW0830 this may differ from run "
     "to run."},
    {"PW0832", "The polyhedral helper ran into its memory limit."},
    {"PW0833",
     "The polyhedral helper ended unexpectedly. The program is refused and nothing was stored; please report it."},
    {"PW0834", "isl gave up on this question."},
    {"PW0835", "isl's loops for this recurrence use an operator that nests do not have."},
    {"PW0836",
     "The command did not end by its --deadline and ended itself, helper processes included. What was stored before is "
     "kept."},
    {"PW0837",
     "A symbolic kernel needs the extents of its outputs as sums, quotients and maxima of the parameters. Bind the "
     "sizes instead."},
    {"PW0838",
     "The extent of an output's slot whose range has no upper bound over parameters alone is 1 + its largest value, "
     "and conditions such as 2 * i + 4 * j == 6 * k + 1\n"
     "hide that value. Write a range whose upper bound is a sum of parameters."},
    {"PW0839",
     "The command's time was over, or it was told to stop (Ctrl-C, a library's `cancelled`), before this was done. "
     "What "
     "was stored before is kept; what was cut off is not. Give more time: --budget, --deadline."},
});

}  // namespace

std::span<const Entry> limits() {
  return kLimitEntries;
}

}  // namespace polyweft::explain
