#include "targets/cpu/loaded_kernel.h"

#include <HalideRuntime.h>

#include <algorithm>
#include <cstdint>

#include "support/large_array.h"

namespace polyweft::targets {
namespace {

halide_type_t halide_type_of(const Buffer& buffer) {
  if (buffer.is_packed) return halide_type_t(halide_type_uint, 8);
  if (buffer.type == ElementType::bf16) return halide_type_t(halide_type_bfloat, 16);
  if (buffer.type == ElementType::boolean) return halide_type_t(halide_type_uint, 1);
  if (buffer.type == ElementType::u8) return halide_type_t(halide_type_uint, 8);
  return halide_type_t(is_float(buffer.type) ? halide_type_float : halide_type_int,
                       static_cast<uint8_t>(8 * size_bytes(buffer.type)));
}

/// A halide_buffer_t that owns its dimensions.
class Argument {
 public:
  Argument(halide_type_t type, const std::vector<int64_t>& extents) : dims_(extents.size()) {
    int32_t stride = 1;
    for (size_t d = 0; d < extents.size(); ++d) {
      const auto extent = static_cast<int32_t>(extents[extents.size() - 1 - d]);
      dims_[d] = halide_dimension_t(0, extent, stride);
      stride *= extent;
    }
    buffer_.type = type;
    buffer_.dimensions = static_cast<int32_t>(extents.size());
  }
  halide_buffer_t* at(void* host) {
    buffer_.host = static_cast<uint8_t*>(host);
    buffer_.dim = dims_.data();
    return &buffer_;
  }

 private:
  std::vector<halide_dimension_t> dims_;
  halide_buffer_t buffer_{};
};

/// What kernels and pack functions take: addresses of buffers, then sizes, which are passed alike.
using CallWord = uint64_t;
static_assert(sizeof(CallWord) == sizeof(void*) && sizeof(CallWord) == sizeof(int64_t));

CallWord call_word(halide_buffer_t* buffer) {
  return reinterpret_cast<CallWord>(buffer);
}

template <size_t... I>
int call_with(void* entry, const std::vector<CallWord>& words, std::index_sequence<I...>) {
  using Function = int (*)(decltype(static_cast<void>(I), CallWord{})...);
  return reinterpret_cast<Function>(entry)(words[I]...);
}

template <size_t N>
Result<int> call_of_size(void* entry, const std::vector<CallWord>& words) {
  if (words.size() == N) return call_with(entry, words, std::make_index_sequence<N>());
  if constexpr (N > 0) return call_of_size<N - 1>(entry, words);
  return fail("PW0656", "kernels of more than 64 arguments are called through a shared object only");
}

Result<int> call_words(void* entry, const std::vector<CallWord>& words) {
  constexpr size_t kMostWords = 64;
  return call_of_size<kMostWords>(entry, words);
}

class JitKernel final : public LoadedKernel {
 public:
  /// `nest` has constant extents; `sizes`: what symbolic code takes beside its buffers.
  JitKernel(const LoopNest& nest, std::string symbol, std::shared_ptr<LoadedCode> code, std::vector<int64_t> sizes = {})
      : symbol_(std::move(symbol)),
        code_(std::move(code)),
        entry_(code_->address(symbol_)),
        sizes_(sizes.begin(), sizes.end()) {
    for (BufferId id : nest.arguments) slots_.push_back(make_slot(nest, id));
  }
  bool is_complete() const {
    return entry_ && std::all_of(slots_.begin(), slots_.end(), [](const Slot& s) { return !s.is_packed || s.pack; });
  }
  Result<int> call_raw(const std::vector<void*>& arguments) override {
    if (arguments.size() != slots_.size()) return fail("PW0654", "wrong number of arguments");
    std::vector<CallWord> words;
    for (size_t a = 0; a < slots_.size(); ++a) {
      Slot& slot = slots_[a];
      if (slot.is_packed && !slot.packed_is_fresh) {
        const auto code = pack(slot, arguments[a]);
        if (!code || *code != 0) return code;
      }
      // An empty tensor still needs a host pointer: null would be a bounds query.
      words.push_back(call_word(slot.argument->at(slot.is_packed ? slot.storage.data()
                                                  : arguments[a] ? arguments[a]
                                                                 : &nowhere_)));
    }
    words.insert(words.end(), sizes_.begin(), sizes_.end());
    return call_words(entry_, words);
  }
  void forget_packed() override {
    for (Slot& slot : slots_) slot.packed_is_fresh = false;
  }

 private:
  struct Slot {
    std::unique_ptr<Argument> argument, source;
    bool is_packed = false, packed_is_fresh = false;
    void* pack = nullptr;
    LargeArray storage;
  };
  Slot make_slot(const LoopNest& nest, BufferId id) {
    const Buffer& buffer = nest.buffers[id];
    Slot slot;
    slot.is_packed = buffer.is_packed;
    if (!buffer.is_packed) {
      slot.argument = std::make_unique<Argument>(halide_type_of(buffer), buffer.extents);
      return slot;
    }
    const int64_t bytes = allocated_elements(buffer) * size_bytes(buffer.type);
    slot.argument = std::make_unique<Argument>(halide_type_of(buffer), std::vector<int64_t>{bytes});
    slot.storage = LargeArray(static_cast<size_t>(bytes));
    for (const auto& p : nest.packs) {
      if (p.packed != id) continue;
      const Buffer& source = nest.buffers[p.source];
      slot.source = std::make_unique<Argument>(halide_type_of(source), source.extents);
      slot.pack = code_->address(symbol_ + "_pack_" + source.name);
    }
    return slot;
  }
  Result<int> pack(Slot& slot, void* data) {
    std::vector<CallWord> words = {call_word(slot.source->at(data ? data : &nowhere_)),
                                   call_word(slot.argument->at(slot.storage.data()))};
    words.insert(words.end(), sizes_.begin(), sizes_.end());
    auto code = call_words(slot.pack, words);
    slot.packed_is_fresh = code && *code == 0;
    return code;
  }

  std::string symbol_;
  std::shared_ptr<LoadedCode> code_;
  void* entry_;
  std::vector<CallWord> sizes_;
  std::vector<Slot> slots_;
  char nowhere_[64] = {};
};

Result<std::unique_ptr<LoadedKernel>> complete(std::unique_ptr<JitKernel> kernel) {
  if (!kernel->is_complete()) return fail("PW0516", "the kernel cannot be loaded: a symbol is missing");
  return std::unique_ptr<LoadedKernel>(std::move(kernel));
}

/// Code whose callers say the sizes: each at() has its own arguments.
class SymbolicKernel final : public LoadedKernel {
 public:
  SymbolicKernel(LoopNest nest, std::string symbol, std::shared_ptr<LoadedCode> code)
      : nest_(std::move(nest)), symbol_(std::move(symbol)), code_(std::move(code)) {
    nest_.nodes.clear();  // arguments alone are of interest
  }
  Result<int> call_raw(const std::vector<void*>&) override {
    return fail("PW0670", nest_.name + ": the kernel takes its sizes with each call");
  }
  void forget_packed() override {}
  Result<std::unique_ptr<LoadedKernel>> at(const std::vector<int64_t>& sizes) const override {
    auto nest = specialize(nest_, sizes);
    return nest ? complete(std::make_unique<JitKernel>(*nest, symbol_, code_, sizes)) : nest.error();
  }

 private:
  LoopNest nest_;
  std::string symbol_;
  std::shared_ptr<LoadedCode> code_;
};

}  // namespace

Result<std::unique_ptr<LoadedKernel>> loaded_kernel(const LoopNest& nest, const std::string& symbol,
                                                    std::unique_ptr<LoadedCode> code) {
  if (nest.symbolic)
    return std::unique_ptr<LoadedKernel>(std::make_unique<SymbolicKernel>(nest, symbol, std::move(code)));
  return complete(std::make_unique<JitKernel>(nest, symbol, std::move(code)));
}

}  // namespace polyweft::targets
