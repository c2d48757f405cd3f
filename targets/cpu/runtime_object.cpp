#include "targets/cpu/runtime_object.h"

#include <HalideRuntime.h>

#include <cstring>

extern const unsigned char polyweft_runtime_begin[];
extern const unsigned char polyweft_runtime_end[];

// The object's bytes in this library's read-only data; PW_HALIDE_RUNTIME_OBJECT is its path in the build tree.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    ".globl polyweft_runtime_begin\n.hidden polyweft_runtime_begin\n"
    "polyweft_runtime_begin:\n"
    ".incbin \"" PW_HALIDE_RUNTIME_OBJECT
    "\"\n"
    ".globl polyweft_runtime_end\n.hidden polyweft_runtime_end\n"
    "polyweft_runtime_end:\n"
    ".popsection\n");

namespace polyweft::targets {

const std::vector<unsigned char>& runtime_object() {
  static const std::vector<unsigned char> bytes(polyweft_runtime_begin, polyweft_runtime_end);
  return bytes;
}

const std::vector<std::pair<std::string, void*>>& runtime_functions() {
  static const std::vector<std::pair<std::string, void*>> functions = {
      {"halide_do_par_for", reinterpret_cast<void*>(&halide_do_par_for)},
      {"halide_malloc", reinterpret_cast<void*>(&halide_malloc)},
      {"halide_free", reinterpret_cast<void*>(&halide_free)},
      {"halide_error", reinterpret_cast<void*>(&halide_error)},
      {"memcpy", reinterpret_cast<void*>(static_cast<void* (*)(void*, const void*, size_t)>(&memcpy))},
      {"memset", reinterpret_cast<void*>(static_cast<void* (*)(void*, int, size_t)>(&memset))},
      {"memmove", reinterpret_cast<void*>(static_cast<void* (*)(void*, const void*, size_t)>(&memmove))},
  };
  return functions;
}

}  // namespace polyweft::targets
