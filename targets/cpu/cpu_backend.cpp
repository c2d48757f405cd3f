#include "targets/cpu/cpu_backend.h"

#include <algorithm>

#include "support/cpu_features.h"
#include "support/cpu_levels.h"
#include "support/hash.h"
#include "targets/c/c_source.h"
#include "targets/cpu/build.h"
#include "targets/cpu/calibrate.h"
#include "targets/cpu/linked_with.h"
#include "targets/cpu/loaded_kernel.h"
#include "targets/cpu/peak_kernel.h"
#include "targets/cpu/probe.h"
#include "targets/cpu/this_machine.h"
#include "targets/workers/runner_client.h"

namespace polyweft::targets {
namespace {

Bytes bytes_of_text(const std::string& text) {
  return {text.begin(), text.end()};
}

Result<Bytes> as_bytes(Result<std::string> text) {
  if (!text) return text.error();
  return bytes_of_text(*text);
}

constexpr const char* kElfObject = "elf-object";  ///< relocatable

/// halide_* is resolved by whoever loads it.
Result<Artifact> artifact_of(CompiledObject object, std::vector<std::string> kernels, Loader loader = Loader::runner) {
  Artifact out;
  out.id = hex(blake2b_128({reinterpret_cast<const char*>(object.object.data()), object.object.size()}));
  if (loader == Loader::process) {
    out.kind = kElfObject;
    out.bytes = std::move(object.object);
  } else {
    auto shared = shared_object(object, kernels, Runtime::external);
    if (!shared) return shared.error();
    out.kind = kElfShared;
    out.bytes = std::move(shared).value();
  }
  out.plan.launches = {{kernels.front()}};
  out.kernels = std::move(kernels);
  out.features = std::move(object.features);
  out.facts.spills = object.spills;
  return out;
}

}  // namespace

std::vector<std::string> CpuBackend::target_names() const {
  std::vector<std::string> out;
  for (const CpuLevel& level : cpu_levels(architecture())) out.push_back(level.name);
  return out;
}

Target CpuBackend::named(const std::string& name) const {
  Target target;
  target.name = name;
  target.architecture = architecture();
  target.features = features_of(name);
  derive(target);
  return target;
}

std::optional<Target> CpuBackend::host() const {
  if (native_architecture() != architecture()) return std::nullopt;
  Target target;
  target.name = "host";
  target.architecture = architecture();
  target.features = cpu_features();
  if (!derive(target).empty()) return std::nullopt;
  describe_caches(target.machine);
  target.machine.set_cores(cores_of_this_machine(), FigureOrigin::described);
  return target;
}

std::vector<std::string> CpuBackend::features_of(const std::string& name) const {
  return features_of_level(architecture(), name).value_or(std::vector<std::string>{});
}

std::string CpuBackend::unknown_feature(const Target& target) const {
  const auto& known = known_cpu_features(architecture());
  for (const auto& feature : target.features)
    if (!std::binary_search(known.begin(), known.end(), feature))
      return "'" + feature + "' is not a feature this version knows";
  return {};
}

std::string CpuBackend::wrong_feature(const Target& target) const {
  if (std::string unknown = unknown_feature(target); !unknown.empty()) return unknown;
  for (const auto& needed : cpu_levels(architecture()).front().features)
    if (!target.has(needed)) return "code for this architecture needs '" + needed + "'";
  return {};
}

bool CpuBackend::is_this_cpu(const Target& target) const {
  return native_architecture() == architecture() && missing_cpu_features(target.features).empty();
}

Status CpuBackend::runs_here(const Target& target) const {
  if (native_architecture() != architecture()) return Backend::runs_here(target);
  return cpu_can_run(target.features, "a kernel for " + target.name);
}

Status CpuBackend::may_be_named(const std::string& symbol) const {
  return symbol_is_free(symbol);
}

Result<Artifact> CpuBackend::build(const LoopNest& nest, const Target& target, const BuildOptions& options) const {
  auto object = compile_object(nest, target, options.symbol, options.caller);
  if (!object) return object.error();
  auto out = artifact_of(std::move(object).value(), exported_symbols(nest, options.symbol), options.loader);
  if (!out) return out;
  for (const Buffer& buffer : nest.buffers)
    if (buffer.scope == Scope::heap && !buffer.within && !nest.symbolic)
      out->plan.workspaces.push_back({buffer.name, allocated_elements(buffer) * size_bytes(buffer.type)});
  return out;
}

Bytes header_of(const LoopNest& nest, const BuildOptions& options, const HeaderNotes& notes) {
  return bytes_of_text(is_plain_c(options.caller) ? plain_c_header(nest, options.symbol, 1, notes)
                                                  : c_header(nest, options.symbol, notes));
}

Result<Bytes> product_of(const CompiledObject& object, Emit what, const std::vector<std::string>& exported) {
  if (what == Emit::object) return object.object;
  return what == Emit::static_library ? static_library(object) : shared_object(object, exported, Runtime::inside);
}

Result<Bytes> CpuBackend::emit(const LoopNest& nest, const Target& target, Emit what,
                               const BuildOptions& options) const {
  const std::string& symbol = options.symbol;
  if (what == Emit::artifact) return Backend::emit(nest, target, what, options);
  if (what == Emit::assembly) return as_bytes(assembly_text(nest, target, symbol, options.caller));
  if (what == Emit::llvm) return as_bytes(llvm_text(nest, target, symbol, options.caller));
  if (what == Emit::header) return header_of(nest, options, {linked_with_object(nest, options.caller), {}});
  if (what == Emit::c) return as_bytes(c_source(nest, symbol));
  auto object = compile_object(nest, target, symbol, options.caller);
  if (!object) return object.error();
  return product_of(*object, what, exported_symbols(nest, symbol));
}

std::string CpuBackend::to_link(const LoopNest& nest, Emit what, Caller caller) const {
  if (what == Emit::static_library) return kLinkedWithArchive;
  return what == Emit::object ? linked_with_object(nest, caller) : "";
}

Result<LoopNest> CpuBackend::behind_passes(const LoopNest& nest, const Target& target, const std::string& last) const {
  return targets::behind_passes(nest, target, last);
}

Result<std::unique_ptr<LoadedKernel>> CpuBackend::load(const Artifact& artifact, const LoopNest& nest,
                                                       const Target& target) const {
  if (Status runs = runs_here(target); !runs) return runs.error();
  if (Status fits = is_of_kind(artifact, kElfObject); !fits) return fits.error();
  CompiledObject object;
  object.object = artifact.bytes;
  object.architecture = target.architecture;
  object.features = artifact.features;
  auto code = load_code(object);
  if (!code) return code.error();
  return loaded_kernel(nest, artifact.kernels.front(), std::move(code).value());
}

Result<std::unique_ptr<Runner>> CpuBackend::start_runner(const RunnerOptions& options) const {
  auto runner = WorkerRunner::start(options);
  if (!runner) return runner.error();
  const std::string& theirs = (*runner)->description().architecture;
  if (theirs != architecture())
    return fail("PW0613",
                "the runner is for " + theirs.substr(0, 64) + ", and kernels for " + architecture() + " are to run",
                {"give the command of a polyweft-runner for " + architecture() + ": docs/runner.md"});
  return std::unique_ptr<Runner>(std::move(*runner));
}

Result<Assembly> CpuBackend::marked_assembly(const LoopNest& nest, const Target& target,
                                             const std::string& symbol) const {
  auto text = assembly_text(nest, target, symbol);
  if (!text) return text.error();
  return targets::marked_assembly(*text, target);
}

Result<ExpectedCode> CpuBackend::expected_code(const LoopNest& nest, const Target& target, int threads) const {
  return targets::expected_code(nest, target, threads);
}

std::optional<PeakKernel> CpuBackend::peak_kernel(const LoopNest& nest, const Target& target, int threads,
                                                  int64_t instructions) const {
  constexpr const char* kSymbol = "peak_kernel";
  const auto unit = unit_of(nest, target);
  if (!unit) return std::nullopt;
  auto object = compile_peak_kernel(*unit, target, kSymbol, threads, instructions);
  if (!object) return std::nullopt;
  auto artifact = artifact_of(std::move(object).value(), {kSymbol});
  if (!artifact) return std::nullopt;
  const double operations =
      threads * operations_of(*unit, target) * static_cast<double>(peak_kernel_instructions(*unit, instructions));
  return PeakKernel{std::move(artifact).value(), name_of(*unit), operations};
}

double CpuBackend::measured_peak_gflops(const Target& target, int threads) const {
  return runs_here(target) ? measured_fma_peak_gflops(target, threads) : 0;
}

double CpuBackend::measured_memory_gb_s(const Target& target, int threads) const {
  return runs_here(target) ? targets::measured_memory_gb_s(target, threads) : 0;
}

Result<Machine> CpuBackend::probe(const Target& target) const {
  if (Status runs = runs_here(target); !runs) return runs.error();
  return probed_machine(target);
}

}  // namespace polyweft::targets
