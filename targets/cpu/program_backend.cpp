#include "targets/cpu/program_backend.h"

#include <llvm/Support/Program.h>

#include "support/hash.h"
#include "support/helper_path.h"
#include "targets/programs/program_kernel.h"
#include "targets/workers/device_client.h"
#include "targets/workers/device_process.h"
#include "targets/workers/runner_client.h"

namespace polyweft::targets {
namespace {

std::string_view view_of_bytes(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Status ProgramBackend::runs_here(const Target& target) const {
  const std::string all = command(target), program = all.substr(0, all.find(' '));
  if (llvm::sys::findProgramByName(program)) return Ok{};
  return fail("PW0517", "a kernel for " + target.name + " does not run on this machine: there is no " + program,
              {"install Debian's qemu-user, or use build"});
}

Status ProgramBackend::has_program(const LoopNest& nest, const Target& target) const {
  if (nest.symbolic)
    return fail("PW0523", "kernels for " + architecture() + " have no sizes as arguments", {"bind the sizes with -p"});
  return fits(nest, target);
}

Result<CompiledObject> ProgramBackend::kernel_object(const LoopNest& nest, const Target& target,
                                                     const std::string& symbol) const {
  if (Status has = has_program(nest, target); !has) return has.error();
  if (runtime_object().empty())
    return fail("PW0514", "this build has no start of programs for " + architecture() + ": there was no Clang for it",
                {"install Debian's clang-22 and build again; --emit object needs none"});
  return compile_object(prepared(nest), target, symbol, caller());
}

Result<Bytes> ProgramBackend::executable_of(const CompiledObject& object, const Target& target) const {
  const auto table = table_object(target);
  if (!table) return table.error();
  std::vector<std::span<const unsigned char>> objects = {object.object, runtime_object()};
  if (!table->empty()) objects.insert(objects.begin() + 1, *table);
  return static_executable(objects);
}

Result<Artifact> ProgramBackend::build(const LoopNest& nest, const Target& target, const BuildOptions& options) const {
  auto object = kernel_object(nest, target, options.symbol);
  if (!object) return object.error();
  auto executable = executable_of(*object, target);
  if (!executable) return executable.error();
  Artifact out;
  out.kind = kDevice;
  out.bytes = program_with_command(command(target), *executable);
  if (options.loader == Loader::runner) {
    const std::string kernels = device_kernels(print(nest), options.symbol, view_of_bytes(out.bytes));
    out.kind = kDeviceKernels;
    out.bytes.assign(kernels.begin(), kernels.end());
  }
  out.id = hex(blake2b_128(view_of_bytes(out.bytes)));
  out.kernels = exported_symbols(nest, options.symbol);
  out.plan.launches = {{out.kernels.front()}};
  out.features = std::move(object->features);
  out.facts.spills = object->spills;
  return out;
}

Result<Bytes> ProgramBackend::emit(const LoopNest& nest, const Target& target, Emit what,
                                   const BuildOptions& options) const {
  if (what == Emit::shared || what == Emit::static_library)
    return lacks("products of this form", {"--emit object writes a kernel, --emit artifact a program that runs it"});
  if (Status has = has_program(nest, target); !has) return has.error();
  if (what == Emit::header) {
    const std::string text = plain_c_header(nest, options.symbol, argument_alignment());
    return Bytes(text.begin(), text.end());
  }
  if (what == Emit::artifact) {
    auto object = kernel_object(nest, target, options.symbol);
    if (!object) return object.error();
    return executable_of(*object, target);
  }
  BuildOptions plain = options;
  plain.caller = Caller::plain_c;
  return CpuBackend::emit(prepared(nest), target, what, plain);
}

Result<LoopNest> ProgramBackend::behind_passes(const LoopNest& nest, const Target& target,
                                               const std::string& last) const {
  return CpuBackend::behind_passes(prepared(nest), target, last);
}

Result<std::unique_ptr<LoadedKernel>> ProgramBackend::load(const Artifact& artifact, const LoopNest& nest,
                                                           const Target& target) const {
  if (Status runs = runs_here(target); !runs) return runs.error();
  if (Status is_ours = is_of_kind(artifact, kDevice); !is_ours) return is_ours.error();
  return kernel_on_device(nest, artifact.bytes, artifact.kernels.front());
}

Result<std::unique_ptr<Runner>> ProgramBackend::start_runner(const RunnerOptions& options) const {
  RunnerOptions told = options;
  if (told.command.empty()) told.command.push_back(helper_program("polyweft-runner"));
  if (is_emulated()) told.command.push_back("--emulated");
  told.device = kDevice;
  auto runner = WorkerRunner::start(told);
  if (!runner) return runner.error();
  return std::unique_ptr<Runner>(std::move(*runner));
}

Result<Assembly> ProgramBackend::marked_assembly(const LoopNest& nest, const Target& target,
                                                 const std::string& symbol) const {
  return Backend::marked_assembly(nest, target, symbol);
}

}  // namespace polyweft::targets
