#include "c_source/compiled.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace polyweft::c_source_test {
namespace fs = std::filesystem;

Compiled::Compiled(const std::string& name, const std::vector<std::string>& sources, const std::string& flags) {
  folder_ = fs::path(PW_BINARY_DIR) / "tests" / "c_source" / name;
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  std::string files;
  for (size_t k = 0; k < sources.size(); ++k) {
    const fs::path file = folder_ / ("f" + std::to_string(k) + ".c");
    std::ofstream(file) << sources[k];
    files += " '" + file.string() + "'";
  }
  const fs::path library = folder_ / "all.so", log = folder_ / "log";
  const std::string command = std::string(PW_CC) + " -std=c11 -shared -fPIC " + flags + files + " -lm -o '" +
                              library.string() + "' 2> '" + log.string() + "'";
  std::ofstream(folder_ / "command.sh") << command << "\n";
  const int code = std::system(("sh '" + (folder_ / "command.sh").string() + "'").c_str());
  std::ostringstream messages;
  messages << std::ifstream(log).rdbuf();
  EXPECT_EQ(code, 0) << messages.str();
  if (code == 0) handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(handle_ || code != 0) << dlerror();
}

Compiled::~Compiled() {
  if (!handle_) return;
  dlclose(handle_);
  if (!testing::Test::HasFailure()) fs::remove_all(folder_);
}

void* Compiled::address(const std::string& symbol) const {
  return handle_ ? dlsym(handle_, symbol.c_str()) : nullptr;
}

namespace {

template <size_t... P>
int call_with(void* function, const std::vector<void*>& p, std::index_sequence<P...>) {
  using Function = int (*)(decltype(static_cast<void>(P), static_cast<void*>(nullptr))...);
  return reinterpret_cast<Function>(function)(p[P]...);
}

template <size_t P>
int dispatch(void* function, const std::vector<void*>& p) {
  if (p.size() == P) return call_with(function, p, std::make_index_sequence<P>());
  if constexpr (P > 0) return dispatch<P - 1>(function, p);
  ADD_FAILURE() << p.size() << " pointers";
  return -1;
}

}  // namespace

int call(void* function, const std::vector<void*>& pointers) {
  return dispatch<64>(function, pointers);
}

std::vector<TensorData> run(const Compiled& code, const LoopNest& nest, const std::string& symbol,
                            const std::vector<TensorData>& inputs, unsigned char fill) {
  std::vector<TensorData> in = inputs, out, packed;
  std::vector<void*> pointers;
  packed.reserve(nest.arguments.size());
  size_t next = 0;
  for (const BufferId id : nest.arguments) {
    const Buffer& b = nest.buffers[id];
    if (b.is_output) {
      out.push_back(make_tensor(b.type, b.extents));
      std::memset(out.back().bytes.data(), b.type == ElementType::boolean ? 0 : fill, out.back().bytes.size());
      continue;
    }
    TensorData& data = in.at(next++);
    pointers.push_back(data.bytes.data());
    for (const Pack& pack : nest.packs) {
      if (pack.packed != id) continue;
      packed.push_back(make_tensor(b.type, {allocated_elements(b)}));
      void* function = code.address(symbol + "_pack_" + nest.buffers[pack.source].name);
      EXPECT_EQ(call(function, {data.bytes.data(), packed.back().bytes.data()}), 0);
      pointers.back() = packed.back().bytes.data();
    }
  }
  for (TensorData& data : out) pointers.push_back(data.bytes.data());
  void* function = code.address(symbol);
  EXPECT_NE(function, nullptr) << symbol;
  const int code_of_call = function ? call(function, pointers) : -1;
  EXPECT_EQ(code_of_call, 0) << symbol;
  return out;
}

}  // namespace polyweft::c_source_test
