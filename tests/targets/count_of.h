// How often something stands in a text: in assembly, or in LLVM's.
#pragma once

#include <cstddef>
#include <string>

namespace polyweft::targets_test {

inline size_t count_of(const std::string& part, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace polyweft::targets_test
