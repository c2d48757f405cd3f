#include <array>

#include "ir/explain/table.h"

namespace polyweft::explain {
namespace {

constexpr auto kLabEntries = std::to_array<Entry>({
    {"PW0601",
     "A helper process (polyweft-isl or polyweft-runner) crashed or exited while it worked on a request. It is started "
     "again for the next one."},
    {"PW0602",
     "A helper process did not answer before its deadline and was killed. It is started again for the next request."},
    {"PW0603", "A helper process ran out of the memory that it may use, or the system killed it for memory."},
    {"PW0604", "A helper process tried a system call that its sandbox forbids."},
    {"PW0605",
     "A message between processes was malformed: wrong mark, version or length, or a value out of range. Helper and "
     "library must be of one release."},
    {"PW0606",
     "A helper process could not be started or limited. The installed helpers are in libexec/polyweft below the "
     "installation's prefix."},
    {"PW0607", "The other side closed its stream of messages."},
    {"PW0608",
     "The reference kernel of a task, or the kernel of its error bounds, failed in the runner, so there is nothing to "
     "compare candidates with."},
    {"PW0609",
     "The arguments of a task and the copies needed for comparing take more memory than the runner may use. Bind "
     "smaller sizes or raise the limit."},
    {"PW0610",
     "The runner was asked for something that makes no sense: no output, an input behind an output, an extent or "
     "stride over 2^31 - 1, a candidate before any task."},
    {"PW0611",
     "A helper process (polyweft-isl or polyweft-runner) is of another build than the library that started it. They "
     "take nests and facts from each\n"
     "other unread, so they are built and installed together. After a build of one program alone: 'cmake --build' "
     "without a target."},
    {"PW0612",
     "A runner says in its greeting which kinds of artifacts it loads; this one got another. Start the runner of the "
     "target's backend."},
    {"PW0613",
     "A runner says in its greeting which architecture it is for; the target is of another one. For another machine "
     "than this one give the command of a\n"
     "polyweft-runner that was built for it, behind an emulator or ssh: tune --runner COMMAND."},
    {"PW0614",
     "'tune --propose' writes a file of candidates, and 'polyweft-runner --batch' and 'tune --observe' read it. This "
     "one "
     "cannot be read or written, is none, or was changed on its way: its digest says so. Copy it again, or propose "
     "again."},
    {"PW0615",
     "The results beside a file of candidates are of another file or another device, damaged before their last row, or "
     "held by a process that measures now. A last row that was cut off is no damage: it is measured again."},
    {"PW0616",
     "A file of candidates was made for another target than the one that is asked for, or for another version of the "
     "program's text. 'tune --observe' takes the target that the file names where none is given."},
    {"PW0650",
     "No candidate of a search can be kept, not even the base nest: each failed in the runner or was refuted by the "
     "checker. The message counts them, and says\n"
     "what became of the base nest. 'polyweft run FILE --verify' tells more about one of them."},
    {"PW0651",
     "The kernel crashed, hung, gave a wrong result or wrote out of bounds in its sandbox; the status names which."},
    {"PW0652", "An argument of another element type than the kernel takes."},
    {"PW0653", "An argument of another shape than the kernel takes at the bound sizes."},
    {"PW0654", "The kernel takes one argument for each input and each output, in the order of the program."},
    {"PW0655",
     "The kernel returned an error code: negative codes are Halide's, positive ones ours (an argument of the wrong "
     "type, rank or extent, or a\n"
     "value outside its 'values' promise)."},
    {"PW0656",
     "In this process kernels of at most 64 arguments can be called; a shared object from build has no such limit."},
    {"PW0657", "An argument of a kernel needs memory, at an address that is a multiple of its element's size."},
    {"PW0658",
     "A device refused what a call needs: memory, or a launch with so many threads in a block. The code is that of the "
     "device's library. Take smaller sizes, or another schedule."},
    {"PW0659",
     "A kernel keeps tensors that are neither inputs nor outputs in memory that each call asks for, and the system "
     "does "
     "not give so much.\n'polyweft show FILE --stage storage' lists them. --max-workspace bounds what a call may ask "
     "for: then an order of computation\nis taken that keeps less, or the refusal names the least."},
    {"PW0660",
     "Data that is given with --input goes to the runner in one message, which has a limit. Smaller sizes say as much "
     "about a schedule; 'values lo..hi' of an input\n"
     "makes seeded data that suits the program."},
    {"PW0670",
     "A symbolic kernel takes a value for each size of its program with each call, in the program's order, and these "
     "must meet its assumptions. A kernel that was compiled at sizes takes none."},
});

}  // namespace

std::span<const Entry> lab() {
  return kLabEntries;
}

}  // namespace polyweft::explain
