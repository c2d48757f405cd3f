#include "targets/gpu/emulator/emulator_backend.h"

#include <algorithm>

#include "support/cpu_features.h"
#include "support/hash.h"
#include "support/helper_path.h"
#include "targets/c/c_source.h"
#include "targets/cpu/loaded_kernel.h"
#include "targets/gpu/device_artifact.h"
#include "targets/gpu/emulator/emulated_family.h"
#include "targets/gpu/emulator/emulator_code.h"
#include "targets/workers/runner_client.h"

namespace polyweft::targets {
namespace {

constexpr const char* kPrefix = "emulated:";
constexpr const char* kObjectOfProcess = "elf-object";  ///< relocatable

bool is_order(const std::string& feature) {
  return feature == "reverse" || feature == "random";
}

class EmulatorBackend final : public Backend {
 public:
  explicit EmulatorBackend(const EmulatedFamily& family) : family_(family) {}

  std::string architecture() const override { return family_.architecture(); }
  std::vector<std::string> target_names() const override {
    std::vector<std::string> out;
    for (const std::string& machine : family_.machines()) out.push_back(kPrefix + machine);
    return out;
  }
  Target named(const std::string& name) const override {
    Target target;
    target.name = name;
    target.architecture = architecture();
    target.features = {name.substr(std::string(kPrefix).size())};
    derive(target);
    return target;
  }
  std::string derive(Target& target) const override {
    const auto orders = std::count_if(target.features.begin(), target.features.end(), is_order);
    if (orders > 1 || static_cast<size_t>(orders) + 1 != target.features.size() || !family_.has(target))
      return "code for this architecture needs one feature of " + family_.names() +
             ", and takes one of reverse, random";
    family_.describe(target);
    target.is_host = emulating_cpu(target).ok();
    return {};
  }

  Status runs_here(const Target& target) const override {
    if (auto cpu = emulating_cpu(target); !cpu) return cpu.error();
    return Ok{};
  }
  bool is_emulated() const override { return true; }
  Status may_be_named(const std::string& symbol) const override { return symbol_is_free(symbol); }

  Result<Artifact> build(const LoopNest& nest, const Target& target, const BuildOptions& options) const override {
    auto device = family_.fitting_nest(nest, target);
    if (!device) return device.error();
    auto object = emulated_object(*device, target, options);
    if (!object) return object.error();
    const std::vector<std::string> exported = exported_symbols(nest, options.symbol);
    Artifact out = device_artifact(*device, kObjectOfProcess, std::move(object->object), options.symbol);
    out.features = std::move(object->features);
    out.kernels = exported;
    if (options.loader == Loader::process) return out;
    object->object = std::move(out.bytes);
    auto shared = shared_object(*object, exported, Runtime::external);
    if (!shared) return shared.error();
    out.kind = kElfShared;
    out.bytes = std::move(shared).value();
    return out;
  }

  Result<Bytes> emit(const LoopNest& nest, const Target& target, Emit what,
                     const BuildOptions& options) const override {
    if (what == Emit::artifact) return Backend::emit(nest, target, what, options);
    if (what == Emit::c) return bytes_of(c_source(nest, options.symbol));
    if (what == Emit::header)
      return bytes_of(is_plain_c(options.caller) ? plain_c_header(nest, options.symbol)
                                                 : c_header(nest, options.symbol));
    auto device = family_.fitting_nest(nest, target);
    if (!device) return device.error();
    if (what == Emit::assembly) return bytes_of(emulated_assembly(*device, target, options));
    if (what == Emit::llvm) return bytes_of(emulated_llvm_text(*device, target, options));
    auto object = emulated_object(*device, target, options);
    if (!object) return object.error();
    if (what == Emit::object) return std::move(object->object);
    if (what == Emit::static_library) return static_library(*object);
    return shared_object(*object, exported_symbols(nest, options.symbol), Runtime::inside);
  }

  Result<std::unique_ptr<LoadedKernel>> load(const Artifact& artifact, const LoopNest& nest,
                                             const Target& target) const override {
    if (Status runs = runs_here(target); !runs) return runs.error();
    if (Status fits = is_of_kind(artifact, kObjectOfProcess); !fits) return fits.error();
    CompiledObject object;
    object.object = artifact.bytes;
    object.architecture = native_architecture();
    object.features = artifact.features;
    auto code = load_code(object);
    if (!code) return code.error();
    return loaded_kernel(nest, artifact.kernels.front(), std::move(code).value());
  }

  /// Models of machines with grids take no cycles of instructions: what is asked is whether the launches fit.
  Result<ExpectedCode> expected_code(const LoopNest& nest, const Target& target, int) const override {
    if (auto device = family_.fitting_nest(nest, target); !device) return device.error();
    return ExpectedCode{};
  }

  /// The runner of this CPU, told that its times are an emulator's.
  Result<std::unique_ptr<Runner>> start_runner(const RunnerOptions& options) const override {
    RunnerOptions told = options;
    if (told.command.empty()) told.command.push_back(helper_program("polyweft-runner"));
    told.command.push_back("--emulated");
    auto runner = WorkerRunner::start(told);
    if (!runner) return runner.error();
    if (const std::string& theirs = (*runner)->description().architecture; theirs != native_architecture())
      return fail("PW0613", "the runner is for " + theirs.substr(0, 64) + ", and kernels for " + native_architecture() +
                                " are to run, which emulate a GPU");
    return std::unique_ptr<Runner>(std::move(*runner));
  }

 private:
  static Result<Bytes> bytes_of(Result<std::string> text) {
    if (!text) return text.error();
    return Bytes(text->begin(), text->end());
  }

  const EmulatedFamily& family_;
};

}  // namespace

std::unique_ptr<Backend> emulator_backend(const EmulatedFamily& family) {
  return std::make_unique<EmulatorBackend>(family);
}

}  // namespace polyweft::targets
