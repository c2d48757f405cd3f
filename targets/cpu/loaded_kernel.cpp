#include "targets/cpu/loaded_kernel.h"

#include <HalideRuntime.h>

#include <algorithm>

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

using PackFunction = int (*)(halide_buffer_t*, halide_buffer_t*);

class JitKernel final : public LoadedKernel {
 public:
  JitKernel(const LoopNest& nest, std::string symbol, std::unique_ptr<LoadedCode> code)
      : symbol_(std::move(symbol)), code_(std::move(code)), entry_(code_->address(symbol_)) {
    for (BufferId id : nest.arguments) slots_.push_back(make_slot(nest, id));
  }
  bool is_complete() const {
    return entry_ && std::all_of(slots_.begin(), slots_.end(), [](const Slot& s) { return !s.is_packed || s.pack; });
  }
  Result<int> call_raw(const std::vector<void*>& arguments) override {
    if (arguments.size() != slots_.size()) return fail("PW0654", "wrong number of arguments");
    std::vector<halide_buffer_t*> buffers;
    for (size_t a = 0; a < slots_.size(); ++a) {
      Slot& slot = slots_[a];
      if (slot.is_packed && !slot.packed_is_fresh)
        if (const int code = pack(slot, arguments[a]); code != 0) return code;
      // An empty tensor still needs a host pointer: null would be a bounds query.
      buffers.push_back(slot.argument->at(slot.is_packed ? slot.storage.data()
                                          : arguments[a] ? arguments[a]
                                                         : &nowhere_));
    }
    return invoke(buffers);
  }
  void forget_packed() override {
    for (Slot& slot : slots_) slot.packed_is_fresh = false;
  }

 private:
  struct Slot {
    std::unique_ptr<Argument> argument, source;
    bool is_packed = false, packed_is_fresh = false;
    PackFunction pack = nullptr;
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
      slot.pack = reinterpret_cast<PackFunction>(code_->address(symbol_ + "_pack_" + source.name));
    }
    return slot;
  }
  int pack(Slot& slot, void* data) {
    const int code = slot.pack(slot.source->at(data ? data : &nowhere_), slot.argument->at(slot.storage.data()));
    slot.packed_is_fresh = code == 0;
    return code;
  }
  Result<int> invoke(const std::vector<halide_buffer_t*>& b);

  std::string symbol_;
  std::unique_ptr<LoadedCode> code_;
  void* entry_;
  std::vector<Slot> slots_;
  char nowhere_[64] = {};
};

template <size_t... I>
int call_with(void* entry, const std::vector<halide_buffer_t*>& b, std::index_sequence<I...>) {
  using Function = int (*)(decltype(static_cast<void>(I), static_cast<halide_buffer_t*>(nullptr))...);
  return reinterpret_cast<Function>(entry)(b[I]...);
}

template <size_t N>
Result<int> call_of_size(void* entry, const std::vector<halide_buffer_t*>& b) {
  if (b.size() == N) return call_with(entry, b, std::make_index_sequence<N>());
  if constexpr (N > 0) return call_of_size<N - 1>(entry, b);
  return fail("PW0656", "kernels of more than 64 arguments are called through a shared object only");
}

Result<int> JitKernel::invoke(const std::vector<halide_buffer_t*>& b) {
  return call_of_size<64>(entry_, b);
}

}  // namespace

Result<std::unique_ptr<LoadedKernel>> loaded_kernel(const LoopNest& nest, const std::string& symbol,
                                                    std::unique_ptr<LoadedCode> code) {
  auto kernel = std::make_unique<JitKernel>(nest, symbol, std::move(code));
  if (!kernel->is_complete()) return fail("PW0516", "the kernel cannot be loaded: a symbol is missing");
  return std::unique_ptr<LoadedKernel>(std::move(kernel));
}

}  // namespace polyweft::targets
