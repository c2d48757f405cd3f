// How the rules of LoopNest are asked for: the first that does not hold is thrown, and caught by verify().
#pragma once

#include <string>

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// Thrown and caught inside the verifier only.
struct Violation {
  Error error;
};

[[noreturn]] inline void violate(const char* code, const std::string& message) {
  throw Violation{fail(code, message)};
}

inline void require(bool holds, const char* code, const std::string& message) {
  if (!holds) violate(code, message);
}

/// Combiners, buffers by themselves and within others, and which of them are arguments; not their shapes over sizes.
void verify_buffers(const LoopNest& nest);

}  // namespace polyweft::ir
