// Many nests as C, compiled by the C compiler at once and called.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "polyweft/loop_nest.h"

namespace polyweft::c_source_test {

/// A shared object of all sources; removed with this object.
class Compiled {
 public:
  /// `sources`: one translation unit each; `flags`: behind -std=c11. Fails the test with the compiler's messages.
  Compiled(const std::string& name, const std::vector<std::string>& sources, const std::string& flags);
  ~Compiled();
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  /// Null where there is no such symbol.
  void* address(const std::string& symbol) const;
  bool is_complete() const { return handle_ != nullptr; }

 private:
  std::filesystem::path folder_;
  void* handle_ = nullptr;
};

/// Calls a function of at most 64 pointers.
int call(void* function, const std::vector<void*>& pointers);

/// Runs the nest's function on the inputs, packs before; outputs begin as bytes of `fill`.
std::vector<TensorData> run(const Compiled& code, const LoopNest& nest, const std::string& symbol,
                            const std::vector<TensorData>& inputs, unsigned char fill = 0x5a);

}  // namespace polyweft::c_source_test
