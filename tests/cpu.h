// The CPU as tests see it: the level of x86-64 that POLYWEFT_HOST holds it to, and what is left out for want of a
// feature.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/cpu_features.h"

namespace polyweft::test {

/// The first thing that a program's main does. False, with a message, where POLYWEFT_HOST is not a level.
inline bool hold_cpu_as_told() {
  const char* level = std::getenv("POLYWEFT_HOST");
  if (!level || !*level) return true;
  const Status held = hold_cpu(level);
  if (!held) std::fprintf(stderr, "environment POLYWEFT_HOST: %s\n", held.error().message.c_str());
  return held.ok();
}

/// "needs avx512f avx512vl" of those that this CPU lacks; empty where it has all.
inline std::string lacks(const std::vector<std::string>& features) {
  std::string out;
  for (const auto& name : missing_cpu_features(features)) out += (out.empty() ? "needs " : " ") + name;
  return out;
}

/// For C compilers: code for this CPU, as it is held.
inline std::string march() {
  const std::string level = held_cpu_level();
  return "-march=" + (level.empty() ? "native" : level);
}

/// What the running test leaves out, listed with the tests that are skipped; tests/test_main.cpp.
void leave_out(const std::string& why);

}  // namespace polyweft::test

/// Skips the rest of the test where this CPU lacks one of the features; the reason names those.
#define PW_NEEDS(...)                                                                                    \
  do {                                                                                                   \
    if (const std::string why = polyweft::test::lacks({__VA_ARGS__}); !why.empty()) GTEST_SKIP() << why; \
  } while (false)
