#include "driver/workshop.h"

#include <HalideRuntime.h>

#include <algorithm>
#include <cstring>

#include "driver/register_tile.h"
#include "ir/walk_nest.h"
#include "support/cpu_features.h"
#include "support/hash.h"
#include "support/large_array.h"
#include "targets/c/c_source.h"
#include "targets/cpu/build.h"
#include "targets/cpu/calibrate.h"
#include "targets/cpu/yardstick.h"

namespace polyweft {
namespace {

std::string id_of(const std::vector<unsigned char>& bytes) {
  return hex(blake2b_128({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

halide_type_t type_of(const Buffer& buffer) {
  if (buffer.is_packed) return halide_type_t(halide_type_uint, 8);
  if (buffer.type == ElementType::bf16) return halide_type_t(halide_type_bfloat, 16);
  if (buffer.type == ElementType::boolean) return halide_type_t(halide_type_uint, 1);
  if (buffer.type == ElementType::u8) return halide_type_t(halide_type_uint, 8);
  return halide_type_t(is_float(buffer.type) ? halide_type_float : halide_type_int, static_cast<uint8_t>(8 * size_bytes(buffer.type)));
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

// A flood of spills rejects a candidate that was meant to live in registers; a base nest has nothing to keep there. Below that the clock decides: constants of a
// polynomial that are loaded where they are used cost little, and on 16 registers nearly every kernel with an exponential has some.
int most_spills(const Target& target) {
  return 2 * target.vector_registers;
}
bool has_register_blocks(const LoopNest& nest) {
  return std::any_of(nest.buffers.begin(), nest.buffers.end(), [](const Buffer& b) { return b.scope == Scope::reg; });
}

/// Computations that the loop unrolls; 0 where a loop inside is none of registers.
int64_t unrolled_computations(const LoopNest& nest, NodeId id) {
  const Node& node = nest.nodes[id];
  if (std::holds_alternative<Compute>(node)) return 1;
  if (const auto* alloc = std::get_if<Alloc>(&node)) return unrolled_computations(nest, alloc->body);
  if (const auto* loop = std::get_if<Loop>(&node)) {
    const bool is_counted = loop->lo.of.size() == 1 && loop->hi.of.size() == 1 && (loop->hi.of[0] - loop->lo.of[0]).is_constant();
    if (loop->mark.kind != MarkKind::unroll || !is_counted) return 0;
    return std::max<int64_t>((loop->hi.of[0] - loop->lo.of[0]).constant, 0) * unrolled_computations(nest, loop->body);
  }
  int64_t out = 0;
  if (const auto* seq = std::get_if<Seq>(&node))
    for (NodeId child : seq->children) out += unrolled_computations(nest, child);
  return out;
}

/// Of the longest block of lanes that runs straight through (batches of small problems): what it spills is stored and loaded once a block, and not by each iteration of a sum.
int64_t straight_computations(const LoopNest& nest) {
  int64_t out = 0;
  ir::walk_nodes(nest, nest.root, [&](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    if (loop && loop->mark.kind == MarkKind::vector) out = std::max(out, unrolled_computations(nest, loop->body));
    return true;
  });
  return out;
}

using PackFunction = int (*)(halide_buffer_t*, halide_buffer_t*);

class JitKernel final : public LoadedKernel {
 public:
  JitKernel(const LoopNest& nest, std::string symbol, std::unique_ptr<targets::LoadedCode> code)
      : symbol_(std::move(symbol)), code_(std::move(code)), entry_(code_->address(symbol_)) {
    for (BufferId id : nest.arguments) slots_.push_back(make_slot(nest, id));
  }
  bool is_complete() const {
    return entry_ && std::all_of(slots_.begin(), slots_.end(), [](const Slot& s) { return !s.is_packed || s.pack; });
  }
  Result<int> call(const std::vector<TensorData*>& arguments) override {
    std::vector<void*> raw;
    for (TensorData* data : arguments) raw.push_back(data->bytes.data());
    return call_raw(raw);
  }
  Result<int> call_raw(const std::vector<void*>& arguments) override {
    if (arguments.size() != slots_.size()) return fail("PW0654", "wrong number of arguments");
    std::vector<halide_buffer_t*> buffers;
    for (size_t a = 0; a < slots_.size(); ++a) {
      Slot& slot = slots_[a];
      if (slot.is_packed && !slot.packed_is_fresh)
        if (const int code = pack(slot, arguments[a]); code != 0) return code;
      // An empty tensor still needs a host pointer: null would be a bounds query.
      buffers.push_back(slot.argument->at(slot.is_packed ? slot.storage.data() : arguments[a] ? arguments[a] : &nowhere_));
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
      slot.argument = std::make_unique<Argument>(type_of(buffer), buffer.extents);
      return slot;
    }
    const int64_t bytes = allocated_elements(buffer) * size_bytes(buffer.type);
    slot.argument = std::make_unique<Argument>(type_of(buffer), std::vector<int64_t>{bytes});
    slot.storage = LargeArray(static_cast<size_t>(bytes));
    for (const auto& p : nest.packs) {
      if (p.packed != id) continue;
      const Buffer& source = nest.buffers[p.source];
      slot.source = std::make_unique<Argument>(type_of(source), source.extents);
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
  std::unique_ptr<targets::LoadedCode> code_;
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
Result<int> dispatch(void* entry, const std::vector<halide_buffer_t*>& b) {
  if (b.size() == N) return call_with(entry, b, std::make_index_sequence<N>());
  if constexpr (N > 0) return dispatch<N - 1>(entry, b);
  return fail("PW0656", "kernels of more than 32 arguments are called through a shared object only");
}

Result<int> JitKernel::invoke(const std::vector<halide_buffer_t*>& b) {
  return dispatch<32>(entry_, b);
}

}  // namespace

namespace {

/// Of kernels that nobody gave a name: a program may have a name that a symbol cannot have, and one called memset must not become the memset that its code calls.
std::string symbol_of(const LoopNest& nest) {
  return targets::symbol_is_free(nest.name) ? nest.name : "kernel_" + nest.name;
}

}  // namespace

bool Workshop::is_too_many(int spills, const LoopNest& nest) const {
  constexpr int64_t kComputationsOfSpill = 4;
  return spills > most_spills(target_) + straight_computations(nest) / kComputationsOfSpill && has_register_blocks(nest);
}

Result<LoadableKernel> Workshop::for_runner(const LoopNest& nest, Spills spills) const {
  const std::string symbol = symbol_of(nest);
  auto object = targets::compile_object(nest, target_, symbol, targets::Caller::lab);
  if (!object) return object.error();
  if (spills == Spills::refuse && is_too_many(object->spills, nest)) return spill_refusal(nest, target_, object->spills);
  auto shared = targets::shared_object(*object, targets::exported_symbols(nest, symbol), targets::Runtime::external);
  if (!shared) return shared.error();
  LoadableKernel kernel;
  kernel.symbol = symbol;
  kernel.spills = object->spills;
  kernel.terminates = true;
  kernel.id = id_of(object->object);
  kernel.shared_object = std::move(shared).value();
  kernel.features = std::move(object->features);
  return kernel;
}

Status Workshop::kernels_run_here() const {
  return cpu_can_run(target_.features, "a kernel for " + target_.name);
}

Result<std::shared_ptr<LoadedKernel>> Workshop::load(const LoopNest& nest) const {
  if (Status runs = kernels_run_here(); !runs) return runs.error();
  const std::string symbol = symbol_of(nest);
  auto object = targets::compile_object(nest, target_, symbol);
  if (!object) return object.error();
  auto code = targets::load_code(*object);
  if (!code) return code.error();
  auto kernel = std::make_shared<JitKernel>(nest, symbol, std::move(code).value());
  if (!kernel->is_complete()) return fail("PW0516", "the kernel cannot be loaded: a symbol is missing");
  return std::shared_ptr<LoadedKernel>(std::move(kernel));
}

namespace {

std::vector<unsigned char> bytes_of_text(const std::string& text) {
  return {text.begin(), text.end()};
}

Result<std::vector<unsigned char>> as_bytes(Result<std::string> text) {
  if (!text) return text.error();
  return bytes_of_text(*text);
}

}  // namespace

Result<Assembly> Workshop::marked_assembly(const LoopNest& nest) const {
  auto text = targets::assembly_text(nest, target_, symbol_of(nest));
  if (!text) return text.error();
  return targets::marked_assembly(*text, target_);
}

Result<double> Workshop::expected_cycles(const LoopNest& nest, int threads) const {
  const auto code = targets::expected_code(nest, target_, threads);
  if (!code) return code.error();
  if (is_too_many(code->spills, nest)) return spill_refusal(nest, target_, code->spills);
  return code->cycles;
}

Status Workshop::may_be_named(const std::string& symbol) {
  return targets::symbol_is_free(symbol);
}

Result<std::vector<unsigned char>> Workshop::product(const LoopNest& nest, Emit emit, const std::string& name, Abi abi) const {
  const std::string symbol = name.empty() ? symbol_of(nest) : name;
  const auto caller = abi == Abi::c ? targets::Caller::plain_c : targets::Caller::anyone;
  if (emit == Emit::assembly) return as_bytes(targets::assembly_text(nest, target_, symbol, caller));
  if (emit == Emit::llvm) return as_bytes(targets::llvm_text(nest, target_, symbol, caller));
  if (emit == Emit::header) return bytes_of_text(abi == Abi::c ? targets::plain_c_header(nest, symbol) : targets::c_header(nest, symbol));
  if (emit == Emit::c) return as_bytes(targets::c_source(nest, symbol));
  auto object = targets::compile_object(nest, target_, symbol, caller);
  if (!object) return object.error();
  if (emit == Emit::object) return std::move(object->object);
  if (emit == Emit::static_library) return targets::static_library(*object);
  return targets::shared_object(*object, targets::exported_symbols(nest, symbol), targets::Runtime::inside);
}

MachineModel Workshop::machine_model(int threads) const {
  MachineModel machine;
  machine.vector_bytes = target_.vector_bits / 8;
  machine.vector_registers = target_.vector_registers;
  machine.cache_bytes = target_.cache_bytes;
  // A virtual machine's advertised last level is mostly its neighbours'.
  if (machine.cache_bytes.size() > 2) machine.cache_bytes[2] = std::min<int64_t>(machine.cache_bytes[2], 16 << 20);
  machine.bytes_per_cycle = {2.0 * machine.vector_bytes};
  machine.bytes_per_cycle.insert(machine.bytes_per_cycle.end(), target_.bytes_per_cycle.begin(), target_.bytes_per_cycle.end());
  machine.scattered_line_cycles = target_.scattered_line_cycles;
  machine.tlb_pages = target_.tlb_pages;
  machine.tlb_miss_cycles = target_.tlb_miss_cycles;
  machine.page_start_cycles = target_.page_start_cycles;
  machine.threads = threads;
  return machine;
}

MachineModel Workshop::calibrated_model(int threads, double peak_gflops, double memory_gb_s) const {
  MachineModel machine = machine_model(threads);
  const double flops_per_cycle = 2 * machine.fma_per_cycle * machine.vector_bytes / 4 * std::max(1, threads);
  if (peak_gflops > 0) machine.clock_ghz = peak_gflops / flops_per_cycle;
  if (memory_gb_s > 0) machine.bytes_per_cycle.back() = memory_gb_s / std::max(1, threads) / machine.clock_ghz;
  return machine;
}

std::optional<Workshop::Yardstick> Workshop::yardstick(const LoopNest& nest, int threads, int64_t instructions) const {
  constexpr const char* kSymbol = "yardstick";
  const auto unit = targets::unit_of(nest, target_);
  if (!unit) return std::nullopt;
  auto object = targets::compile_yardstick(*unit, target_, kSymbol, threads, instructions);
  if (!object) return std::nullopt;
  auto shared = targets::shared_object(*object, {kSymbol}, targets::Runtime::external);
  if (!shared) return std::nullopt;
  Yardstick out;
  out.kernel.symbol = kSymbol;
  out.kernel.terminates = true;
  out.kernel.id = id_of(object->object);
  out.kernel.shared_object = std::move(shared).value();
  out.kernel.features = std::move(object->features);
  out.unit = targets::name_of(*unit);
  out.operations = threads * targets::operations_of(*unit, target_) * static_cast<double>(targets::yardstick_instructions(*unit, instructions));
  return out;
}

double Workshop::measured_peak_gflops(int threads) const {
  return kernels_run_here() ? targets::measured_fma_peak_gflops(target_, threads) : 0;
}

double Workshop::measured_memory_gb_s(int threads) const {
  return kernels_run_here() ? targets::measured_memory_gb_s(threads) : 0;
}

std::string toolchain() {
  return "polyweft 0.1.0 llvm " + targets::llvm_version() + " isl 0.25";
}

}  // namespace polyweft
