#include "targets/cpu/runtime_object.h"

#include <HalideRuntime.h>

#include <cstring>

namespace polyweft::targets {

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
