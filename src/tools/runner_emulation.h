// Is this process run by an emulator, whose times are those of no machine?
#pragma once

namespace polyweft::runner {

/// By Linux's word, not the emulator's: the program of a user mode emulator (qemu-user, also by binfmt_misc) is of
/// another machine than this one is made for. Before files are given up. An emulated system (qemu-system) cannot be
/// told from within: whoever starts a runner there says --emulated.
bool runs_in_emulator();

}  // namespace polyweft::runner
