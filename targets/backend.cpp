#include "targets/backend.h"

namespace polyweft::targets {

Result<int> LoadedKernel::call(const std::vector<TensorData*>& arguments) {
  std::vector<void*> raw;
  for (TensorData* data : arguments) raw.push_back(data->bytes.data());
  return call_raw(raw);
}

Result<std::unique_ptr<LoadedKernel>> LoadedKernel::at(const std::vector<int64_t>&) const {
  return fail("PW0523", "kernels of this backend have their sizes", {"bind them with -p NAME=VALUE"});
}

Target Backend::named(const std::string& name) const {
  Target target;
  target.name = name;
  target.architecture = architecture();
  derive(target);
  return target;
}

Error Backend::lacks(const std::string& what, std::vector<std::string> notes) const {
  return fail("PW0523", "the backend for " + architecture() + " has no " + what, std::move(notes));
}

Status Backend::runs_here(const Target& target) const {
  return fail("PW0517", "a kernel for " + target.name + " does not run on this machine",
              {"use build, tune with --runner, or --target host"});
}

Status Backend::may_be_named(const std::string&) const {
  return Ok{};
}

Result<Bytes> Backend::emit(const LoopNest& nest, const Target& target, Emit what, const BuildOptions& options) const {
  if (what != Emit::artifact) return lacks("products of this form", {"--emit artifact writes what its runner loads"});
  auto artifact = build(nest, target, options);
  if (!artifact) return artifact.error();
  return std::move(artifact->bytes);
}

Result<Bytes> Backend::emit_levels(const std::vector<LevelCode>&, Emit, const BuildOptions&) const {
  return lacks("products for several targets", {"give one with --target"});
}

std::string Backend::to_link(const LoopNest&, Emit, Caller) const {
  return {};
}

Result<LoopNest> Backend::behind_passes(const LoopNest&, const Target&, const std::string&) const {
  return lacks("passes over nests");
}

Result<std::string> Backend::levels(const LoopNest&, const Target&) const {
  return lacks("launches", {"--stage loops shows which loops run in parallel"});
}

Status Backend::is_of_kind(const Artifact& artifact, const std::string& kind) {
  if (artifact.kind == kind) return Ok{};
  return fail("PW0516",
              "the kernel cannot be loaded: it is of kind '" + artifact.kind + "', and '" + kind + "' is loaded here");
}

Result<std::unique_ptr<LoadedKernel>> Backend::load(const Artifact&, const LoopNest&, const Target& target) const {
  if (Status runs = runs_here(target); !runs) return runs.error();
  return lacks("way to load a kernel into this process");
}

Result<Target> Backend::attached(const std::string& name) const {
  return lacks("machine " + name);
}

Result<std::unique_ptr<Runner>> Backend::start_runner(const RunnerOptions&) const {
  return lacks("runner");
}

Result<Assembly> Backend::marked_assembly(const LoopNest&, const Target&, const std::string&) const {
  return lacks("costs of instructions");
}

Result<ExpectedCode> Backend::expected_code(const LoopNest&, const Target&, int) const {
  return lacks("costs of instructions");
}

std::optional<PeakKernel> Backend::peak_kernel(const LoopNest&, const Target&, int, int64_t) const {
  return std::nullopt;
}

double Backend::measured_peak_gflops(const Target&, int) const {
  return 0;
}

double Backend::measured_memory_gb_s(const Target&, int) const {
  return 0;
}

Error no_backend_for(const Target& target, const std::string& known) {
  return fail("PW0522", "no backend builds for the architecture '" + target.architecture + "' of target " + target.name,
              {"it builds for " + known});
}

Result<Machine> Backend::probe(const Target& target) const {
  if (Status runs = runs_here(target); !runs) return runs.error();
  return lacks("probe");
}

}  // namespace polyweft::targets
