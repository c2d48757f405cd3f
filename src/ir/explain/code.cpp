#include <array>

#include "ir/explain/table.h"

namespace polyweft::explain {
namespace {

constexpr auto kCodeEntries = std::to_array<Entry>({
    {"PW0501", "Internal: the nest uses a variable or buffer outside its scope."},
    {"PW0502",
     "The unrolled code is longer than the limit: the instruction cache would not hold it and compiling would take "
     "seconds. Smaller tiles help."},
    {"PW0503", "Buffers in registers are indexed by unrolled and vectorized loops only: registers have no addresses."},
    {"PW0504", "The bounds of a loop inside a vector loop must be the same for all lanes."},
    {"PW0505", "Two functions of one object have the same symbol."},
    {"PW0506",
     "More accumulators and operands live at once than the chip has vector registers: the kernel would store and load "
     "them again in its hot loop. The note names a block "
     "that fits; bench --schedule times the kernel as it is."},
    {"PW0510", "A target is host, one of the known names, or the path of a description."},
    {"PW0511", "The description of the target is not of the form of targets/descriptions."},
    {"PW0512", "LLVM cannot make code for this target or of this kind."},
    {"PW0513",
     "The kernel's symbol is the name of the program, or what --name gives: a C identifier, but no word of C or C++ "
     "and no name of the C library or the runtime."},
    {"PW0514", "The linker refused the object."},
    {"PW0515", "The archive cannot be written."},
    {"PW0516", "The shared object cannot be loaded, or has not the function that it should have."},
    {"PW0517", "Kernels are loaded only on a CPU that has all features of their target; build writes files for any."},
    {"PW0518",
     "The target lacks the tensor instruction that the schedule names. The same program has code without it: tune "
     "for the target."},
    {"PW0519", "The schedule binds loops to the blocks and threads of an accelerator. A CPU runs parallel loops."},
    {"PW0520",
     "A shape or an assumption of a symbolic kernel could leave 64 bits for some admissible size. Bind the sizes "
     "instead."},
    {"PW0521",
     "A symbolic kernel takes its sizes as arguments: there is nothing to bind, and traces hold decisions for bound "
     "sizes."},
    {"PW0522",
     "The target's architecture is one that no backend of this build makes code for. 'polyweft targets' lists the "
     "targets there are."},
    {"PW0523",
     "Not every backend makes every product, lowers every construct of a nest or answers every question; its machines' "
     "documentation says which."},
    {"PW0524",
     "'show --stage vectors --after PASS' prints the nest behind one pass of code generation. The note lists the "
     "passes in the order in which they run."},
    {"PW0525",
     "A launch needs more blocks along an axis, more threads of a block or more shared memory than such devices have, "
     "as the target's description says (block_threads, block_shared_bytes). Smaller tiles, or loops bound to other "
     "axes, make it fit."},
    {"PW0526",
     "Addresses of the target have 32 bits: what a kernel's arguments and its heap take together must stay below 2 "
     "GiB. "
     "Smaller sizes fit."},
    {"PW0527",
     "What a kernel has at once in a memory of the unit beside the CPU is more than that memory holds, as the target's "
     "description says (scratchpad_bytes, accumulator_bytes). Smaller tiles, or fewer slots of copies made ahead, "
     "fit."},
    {"PW0528",
     "Something in the memory of a unit beside the CPU that its commands do not do: rows that lie otherwise than they "
     "have them, copies with conditions, statements other than its products. docs/accelerators.md says what they do."},
    {"PW0540",
     "Code and roofline of a record are those of its target. The record is of another one than the tuner's, and no "
     "target with a name here has its fingerprint; --target takes the description that it was tuned with. Its trace, "
     "loops and program can be shown for any target."},
    {"PW0599", "Internal: the generated code does not verify. Please report it with the program and its trace."},
});

}  // namespace

std::span<const Entry> code_generation() {
  return kCodeEntries;
}

}  // namespace polyweft::explain
