#include "targets/gpu/emulator/runtime/fibres.h"

#ifndef POLYWEFT_PORTABLE_FIBRES
__asm__(
    ".pushsection .text\n"
    ".balign 16\n"
    ".weak polyweft_emulator_switch\n"
    ".hidden polyweft_emulator_switch\n"
    ".type polyweft_emulator_switch, @function\n"
    "polyweft_emulator_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  retq\n"
    ".size polyweft_emulator_switch, . - polyweft_emulator_switch\n"
    ".weak polyweft_emulator_start\n"
    ".hidden polyweft_emulator_start\n"
    ".type polyweft_emulator_start, @function\n"
    "polyweft_emulator_start:\n"
    "  movq %r13, %rdi\n"
    "  callq *%r12\n"
    "  ud2\n"
    ".size polyweft_emulator_start, . - polyweft_emulator_start\n"
    ".popsection\n");
#endif
