// WebAssembly with vectors of 128 bits. A kernel is a module that exports its memory and functions which take addresses
// in it; Wasmtime runs it in a helper process, a program in Python (src/tools/device_wasm.py), on this machine: its
// times are real.
#include "targets/cpu/wasm/wasm_backend.h"

#include <algorithm>

#include "support/hash.h"
#include "targets/cpu/build.h"
#include "targets/cpu/cpu_backend.h"
#include "targets/cpu/wasm/wasm_module.h"
#include "targets/workers/device_process.h"
#include "targets/workers/runner_client.h"

namespace polyweft::targets {
namespace {

constexpr const char* kWasmModule = "wasm-module";
constexpr const char* kWasmHelper = "polyweft-device-wasm";
constexpr int kEngineRegisters = 16;  ///< of the engine, on most CPUs

std::string_view as_text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Of each argument as callers give it: bytes, in, out or packed, its name. What the helper must know of a nest.
std::string arguments_text(const LoopNest& nest) {
  std::string out;
  for (const BufferId id : nest.arguments) {
    BufferId given = id;
    for (const Pack& pack : nest.packs)
      if (pack.packed == id) given = pack.source;
    const Buffer& buffer = nest.buffers[given];
    int64_t bytes = size_bytes(buffer.type);
    for (const int64_t extent : buffer.extents) bytes *= extent;
    out += std::to_string(bytes) +
           (buffer.is_output ? " out "
            : given == id    ? " in "
                             : " packed ") +
           buffer.name + "\n";
  }
  return out;
}

class WasmBackend final : public CpuBackend {
 public:
  std::string architecture() const override { return "wasm32"; }
  std::string derive(Target& target) const override {
    if (std::string wrong = wrong_feature(target); !wrong.empty()) return wrong;
    target.machine.units.vector_bits = 128;
    target.machine.units.vector_registers = kEngineRegisters;
    target.is_host = helper_says().ok();
    return {};
  }
  Status runs_here(const Target&) const override {
    if (!helper_says()) return helper_says().error();
    return Ok{};
  }

  Result<Artifact> build(const LoopNest& nest, const Target& target, const BuildOptions& options) const override {
    auto object = compile_object(nest, target, options.symbol, Caller::plain_c);
    if (!object) return object.error();
    Artifact out;
    out.kernels = exported_symbols(nest, options.symbol);
    auto module =
        wasm_module(*object, out.kernels, nest.symbolic ? std::nullopt : std::optional(nest.arguments.size()), target);
    if (!module) return module.error();
    out.kind = options.loader == Loader::process ? kWasmModule : kDeviceKernels;
    out.bytes = std::move(*module);
    if (options.loader == Loader::runner) {
      const std::string kernels = device_kernels(arguments_text(nest), out.kernels.front(), as_text(out.bytes));
      out.bytes = Bytes(kernels.begin(), kernels.end());
    }
    out.id = hex(blake2b_128(as_text(out.bytes)));
    out.plan.launches = {{out.kernels.front()}};
    return out;
  }

  Result<Bytes> emit(const LoopNest& nest, const Target& target, Emit what,
                     const BuildOptions& options) const override {
    const BuildOptions plain{options.symbol, Caller::plain_c, Loader::process};
    if (what == Emit::artifact) {  // without what the helper must know
      auto made = build(nest, target, plain);
      if (!made) return made.error();
      return std::move(made->bytes);
    }
    if (what == Emit::shared || what == Emit::static_library) return Backend::emit(nest, target, what, plain);
    return CpuBackend::emit(nest, target, what, plain);
  }

  /// The engine's host gives what a module imports.
  std::string to_link(const LoopNest&, Emit, Caller) const override { return {}; }

  Result<std::unique_ptr<LoadedKernel>> load(const Artifact& artifact, const LoopNest& nest,
                                             const Target& target) const override {
    if (Status runs = runs_here(target); !runs) return runs.error();
    if (Status fits = is_of_kind(artifact, kWasmModule); !fits) return fits.error();
    return kernel_in_helper(kWasmHelper, nest,
                            device_kernels(arguments_text(nest), artifact.kernels.front(), as_text(artifact.bytes)));
  }

  Result<Target> reference_target(const Target&) const override { return find_target("host"); }
  RunnerDevice runner_device(const Target&) const override { return {"wasm", "", false}; }
  Result<std::unique_ptr<Runner>> start_runner(const RunnerOptions& options) const override {
    RunnerOptions with_device = options;
    with_device.device = "wasm";
    auto runner = WorkerRunner::start(with_device);
    if (!runner) return runner.error();
    return std::unique_ptr<Runner>(std::move(*runner));
  }

  // Engines choose instructions: nothing is known of the code's cost.
  Result<Assembly> marked_assembly(const LoopNest& nest, const Target& target,
                                   const std::string& symbol) const override {
    auto text = assembly_text(nest, target, symbol, Caller::plain_c);
    if (!text) return text.error();
    return Assembly{std::move(*text), "", {}};
  }
  Result<ExpectedCode> expected_code(const LoopNest& nest, const Target& target, int threads) const override {
    return Backend::expected_code(nest, target, threads);
  }
  std::optional<PeakKernel> peak_kernel(const LoopNest&, const Target&, int, int64_t) const override {
    return std::nullopt;
  }
  double measured_peak_gflops(const Target&, int) const override { return 0; }
  double measured_memory_gb_s(const Target&, int) const override { return 0; }
  Result<Machine> probe(const Target& target) const override { return Backend::probe(target); }

 private:
  static const Result<DeviceFigures>& helper_says() {
    static const Result<DeviceFigures> figures = figures_of_helper(kWasmHelper);
    return figures;
  }
};

}  // namespace

std::unique_ptr<Backend> wasm_backend() {
  return std::make_unique<WasmBackend>();
}

}  // namespace polyweft::targets
