// RISC-V of 64 bits with the vector extension, and a unit beside the CPU that a description has: its memories, its
// copies, its instructions and how each is issued. No such machine runs our runner: kernels take plain pointers, and
// run in a program of their own, whose model of the unit takes the traps of its instructions and counts cycles
// (docs/accelerators.md).
#include "targets/cpu/riscv/riscv_unit_backend.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Program.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>

#include "ir/nests/instruction.h"
#include "support/cpu_levels.h"
#include "support/hash.h"
#include "support/helper_path.h"
#include "targets/cpu/build.h"
#include "targets/cpu/cpu_backend.h"
#include "targets/cpu/pipeline.h"
#include "targets/cpu/riscv/riscv_instructions.h"
#include "targets/cpu/riscv/unit_runtime_bytes.h"
#include "targets/cpu/runner_client.h"
#include "targets/gpu/device_client.h"
#include "targets/gpu/device_process.h"
#include "targets/programs/program_kernel.h"
#include "targets/unit/commands.h"

namespace polyweft::targets {
namespace {

constexpr int kUnitCpuRegisters = 32;
constexpr const char* kUnitEmulator = "qemu-riscv64";
constexpr const char* kUnitProgram = "program";  ///< the kind of artifacts for this process
constexpr const char* kCpu = "riscv64";          ///< the architecture of the CPU alone
constexpr const char* kOfUnit = "unit-";         ///< how features of the unit begin

std::string command_of(const Target& target) {
  return std::string(kUnitEmulator) +
         " -cpu rv64,v=true,vext_spec=v1.0,vlen=" + std::to_string(riscv_register_bits(target));
}

class RiscvUnitBackend final : public CpuBackend {
 public:
  std::string architecture() const override { return "riscv64-unit"; }

  std::string derive(Target& target) const override {
    const auto& known = known_cpu_features(kCpu);
    for (const auto& feature : target.features)
      if (!feature.starts_with(kOfUnit) && !std::binary_search(known.begin(), known.end(), feature))
        return "'" + feature + "' is not a feature this version knows";
    for (const std::string& needed : cpu_levels(kCpu).front().features)
      if (!target.has(needed)) return "code for this architecture needs '" + needed + "'";
    target.machine.units.vector_bits = riscv_register_bits(target);
    target.machine.units.vector_registers = kUnitCpuRegisters;
    target.machine.units.instructions = ir::instructions_of(target);
    target.can.fused_products = true;
    target.is_host = runs_here(target).ok();
    return {};
  }

  Status runs_here(const Target& target) const override {
    if (llvm::sys::findProgramByName(kUnitEmulator)) return Ok{};
    return fail("PW0517", "a kernel for " + target.name + " does not run on this machine: there is no " + kUnitEmulator,
                {"install Debian's qemu-user, or use build"});
  }

  Result<Artifact> build(const LoopNest& nest, const Target& target, const BuildOptions& options) const override {
    CompiledObject object;
    auto executable = executable_of(nest, target, options.symbol, object);
    if (!executable) return executable.error();
    Bytes program = program_with_command(command_of(target), *executable);
    Artifact out;
    out.kind = kUnitProgram;
    if (options.loader == Loader::runner) {
      const std::string kernels =
          device_kernels(print(nest), options.symbol, {reinterpret_cast<const char*>(program.data()), program.size()});
      out.kind = kDeviceKernels;
      program.assign(kernels.begin(), kernels.end());
    }
    out.id = hex(blake2b_128({reinterpret_cast<const char*>(program.data()), program.size()}));
    out.bytes = std::move(program);
    out.kernels = exported_symbols(nest, options.symbol);
    out.plan.launches = {{out.kernels.front()}};
    out.features = std::move(object.features);
    out.facts.spills = object.spills;
    return out;
  }

  Result<Bytes> emit(const LoopNest& nest, const Target& target, Emit what,
                     const BuildOptions& options) const override {
    BuildOptions plain = options;
    plain.caller = Caller::plain_c;
    if (what == Emit::shared || what == Emit::static_library)
      return lacks("products of this form", {"--emit object writes a kernel, --emit artifact a program that runs it"});
    if (Status fits = fits_unit(nest, target); !fits) return fits.error();
    if (what == Emit::header) {
      const std::string text = plain_c_header(nest, options.symbol);
      return Bytes(text.begin(), text.end());
    }
    if (what != Emit::artifact) return CpuBackend::emit(nest, target, what, plain);
    CompiledObject object;
    return executable_of(nest, target, options.symbol, object);
  }

  Result<std::unique_ptr<LoadedKernel>> load(const Artifact& artifact, const LoopNest& nest,
                                             const Target& target) const override {
    if (Status runs = runs_here(target); !runs) return runs.error();
    if (Status fits = is_of_kind(artifact, kUnitProgram); !fits) return fits.error();
    return kernel_on_device(nest, artifact.bytes, artifact.kernels.front());
  }

  Result<Target> reference_target(const Target&) const override { return find_target("host"); }
  Result<std::unique_ptr<Runner>> start_runner(const RunnerOptions& options) const override {
    RunnerOptions told = options;
    if (told.command.empty()) told.command.push_back(helper_program("polyweft-runner"));
    told.device = "program";
    auto runner = WorkerRunner::start(told);
    if (!runner) return runner.error();
    return std::unique_ptr<Runner>(std::move(*runner));
  }

  Result<Assembly> marked_assembly(const LoopNest& nest, const Target& target,
                                   const std::string& symbol) const override {
    return Backend::marked_assembly(nest, target, symbol);
  }
  Result<ExpectedCode> expected_code(const LoopNest&, const Target&, int) const override { return ExpectedCode{}; }
  std::optional<PeakKernel> peak_kernel(const LoopNest&, const Target&, int, int64_t) const override {
    return std::nullopt;
  }
  double measured_peak_gflops(const Target&, int) const override { return 0; }
  double measured_memory_gb_s(const Target&, int) const override { return 0; }
  Result<Machine> probe(const Target& target) const override { return Backend::probe(target); }

 private:
  static Status fits_unit(const LoopNest& nest, const Target& target) {
    if (!target.machine.has_unit())
      return fail("PW0523", "target " + target.name + " has no scratchpad_bytes: there is no unit beside its CPU",
                  {"docs/accelerators.md says what a description has"});
    if (const auto commands = unit_commands(target.machine); !commands) return commands.error();
    if (nest.symbolic)
      return fail("PW0523", "kernels for riscv64-unit have no sizes as arguments", {"bind the sizes with -p"});
    constexpr int64_t kMostBytes = int64_t{3} << 30;
    int64_t bytes = 0;
    for (const Buffer& buffer : nest.buffers)
      if (buffer.scope == Scope::argument &&
          (bytes += allocated_elements(buffer) * size_bytes(buffer.type)) > kMostBytes)
        return fail("PW0526",
                    "the arguments of " + nest.name + " take 3 GiB and more up to " + buffer.name +
                        ": programs address those with 32 bits",
                    {"bind smaller sizes with -p"});
    return Ok{};
  }

  /// Program, model, kernel, and the machine's numbers.
  static Result<Bytes> executable_of(const LoopNest& nest, const Target& target, const std::string& symbol,
                                     CompiledObject& object) {
    if (Status fits = fits_unit(nest, target); !fits) return fits.error();
    if (unit_runtime_object().empty())
      return fail("PW0514", "this build has no start of programs for riscv64-unit: there was no Clang for it",
                  {"install Debian's clang-22 and build again; --emit object needs none"});
    auto made = compile_object(nest, target, symbol, Caller::counted);
    if (!made) return made.error();
    auto table = table_object(target);
    if (!table) return table.error();
    object = std::move(made).value();
    return static_executable({object.object, *table, unit_runtime_object()});
  }

  static Result<Bytes> table_object(const Target& target) {
    const auto numbers = unit_table(target.machine);
    if (!numbers) return numbers.error();
    auto machine = machine_for(target);
    if (!machine) return machine.error();
    llvm::LLVMContext context;
    llvm::Module module("unit", context);
    module.setTargetTriple((*machine)->getTargetTriple());
    module.setDataLayout((*machine)->createDataLayout());
    const std::vector<uint64_t> words(numbers->begin(), numbers->end());
    llvm::Constant* values = llvm::ConstantDataArray::get(context, words);
    new llvm::GlobalVariable(module, values->getType(), true, llvm::GlobalValue::ExternalLinkage, values,
                             "polyweft_unit_table");
    auto bytes = write_machine_code(module, **machine, llvm::CodeGenFileType::ObjectFile, Pipeline::lean, nullptr);
    if (!bytes) return bytes.error();
    return Bytes(bytes->begin(), bytes->end());
  }
};

}  // namespace

std::unique_ptr<Backend> riscv_unit_backend() {
  return std::make_unique<RiscvUnitBackend>();
}

}  // namespace polyweft::targets
