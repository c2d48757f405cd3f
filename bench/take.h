// What a benchmark does where something fails: it says so, and ends with 3.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "polyweft/result.h"

namespace polyweft::bench {

[[noreturn]] inline void stop(const std::string& message) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, message.c_str());
  std::exit(3);
}

template <class T>
T take(Result<T> result) {
  if (!result) stop(result.error().message);
  return std::move(result).value();
}

}  // namespace polyweft::bench
