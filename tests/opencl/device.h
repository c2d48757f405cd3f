// Is there a device to test on?
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "targets/registry.h"

namespace polyweft::opencl_test {

/// "" where there is one. Where POLYWEFT_REQUIRED names opencl, none fails the test.
inline std::string why_no_device() {
  const auto* const backend = targets::backend_of("spirv64");
  const Status runs = backend->runs_here(backend->named("opencl"));
  if (runs) return "";
  const char* const required = std::getenv("POLYWEFT_REQUIRED");
  EXPECT_FALSE(required && std::string(required).find("opencl") != std::string::npos) << runs.error().message;
  std::printf("skipped: opencl: %s\n", runs.error().message.c_str());
  return runs.error().message;
}

}  // namespace polyweft::opencl_test
