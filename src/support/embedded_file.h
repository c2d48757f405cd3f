// Files that a program has in it. The assembler's .incbin costs no compile time; an array of so many numbers would.
#pragma once

#include <span>

/// In one .cpp file, outside of any namespace: `symbol` names the bytes of the file `path`, a literal.
#define PW_EMBEDDED_FILE(symbol, path)         \
  __asm__(                                     \
      ".pushsection .rodata\n"                 \
      ".balign 16\n"                           \
      ".hidden " #symbol                       \
      "_begin\n"                               \
      ".hidden " #symbol                       \
      "_end\n"                                 \
      ".global " #symbol                       \
      "_begin\n"                               \
      ".global " #symbol "_end\n" #symbol      \
      "_begin:\n"                              \
      ".incbin \"" path "\"\n" #symbol         \
      "_end:\n"                                \
      ".popsection\n");                        \
  extern "C" {                                 \
  extern const unsigned char symbol##_begin[]; \
  extern const unsigned char symbol##_end[];   \
  }
#define PW_EMBEDDED_BYTES(symbol)  \
  std::span<const unsigned char> { \
    symbol##_begin, symbol##_end   \
  }
