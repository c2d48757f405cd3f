// What the environment says of a run: how many, from which number on, which one.
#pragma once

#include <cstdlib>

namespace polyweft::random_test {

inline int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

}  // namespace polyweft::random_test
