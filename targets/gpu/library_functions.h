// Functions of a driver's library, which is opened when it is asked for.
#pragma once

#include <dlfcn.h>

namespace polyweft::targets {

/// Is there such a function? Its type is that of `function`.
template <class Function>
bool find_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace polyweft::targets
