#include "targets/gpu/emulator/emulator_code.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "support/cpu_features.h"
#include "targets/cpu/instruction_set.h"
#include "targets/cpu/lower.h"
#include "targets/cpu/pipeline.h"
#include "targets/gpu/emulator/emulated_family.h"
#include "targets/gpu/emulator/host_code.h"
#include "targets/gpu/emulator/kernel_rewriter.h"
#include "targets/gpu/emulator/runtime_bytes.h"
#include "targets/gpu/kernel_passes.h"
#include "targets/registry.h"

namespace polyweft::targets {
namespace {

/// Beside what a thread's arrays take: calls, registers that they save, a signal's frame.
constexpr int64_t kStackBytes = 32 << 10;

/// What the device and the CPU that plays it can both do: the rest is general code, with the same bits.
InstructionHooks common_instructions(InstructionCapabilities can, const InstructionCapabilities& cpu) {
  can.fused_products = can.fused_products && cpu.fused_products;
  can.maximum = can.maximum && cpu.maximum;
  can.rounding = can.rounding && cpu.rounding;
  can.half_conversions = can.half_conversions && cpu.half_conversions;
  return InstructionHooks(can);
}

emulator::Order order_of(const Target& target) {
  return target.has("reverse")  ? emulator::Order::reverse
         : target.has("random") ? emulator::Order::random
                                : emulator::Order::forward;
}

int64_t stack_bytes(llvm::Function& kernel) {
  uint64_t out = kStackBytes;
  for (const llvm::Instruction& instruction : llvm::instructions(kernel))
    if (const auto* array = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
      out += array->getAllocationSize(kernel.getDataLayout())->getFixedValue() + array->getAlign().value();
  return static_cast<int64_t>(out);
}

struct EmulatedCode {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  llvm::TargetMachine* machine = nullptr;
  const InstructionSet* set = nullptr;
  std::unique_ptr<InstructionHooks> cpu_hooks;
  Target cpu;
};

/// For the CPU that plays the target, without a module.
Result<EmulatedCode> code_for(const Target& target) {
  auto cpu = emulating_cpu(target);
  if (!cpu) return cpu.error();
  const auto set = instruction_set_of(*cpu);
  if (!set) return set.error();
  const auto machine = machine_for(*cpu);
  if (!machine) return machine.error();
  EmulatedCode out;
  out.cpu = *cpu;
  out.machine = *machine;
  out.set = *set;
  out.cpu_hooks = (*set)->hooks(*cpu);
  out.context = std::make_unique<llvm::LLVMContext>();
  return out;
}

void hold_to_cpu(llvm::Module& module, const EmulatedCode& code) {
  module.setTargetTriple(code.machine->getTargetTriple());
  module.setDataLayout(code.machine->createDataLayout());
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", code.set->basic_cpu());
    function.addFnAttr("target-features", feature_string(code.cpu));
  }
}

Result<std::vector<EmulatedKernel>> launched_kernels(llvm::Module& module, const DeviceNest& nest,
                                                     const std::string& symbol) {
  std::vector<EmulatedKernel> out;
  for (size_t k = 0; k < nest.kernels.size(); ++k) {
    auto kernel = emulated_kernel(module, kernel_symbol(symbol, k));
    if (!kernel) return kernel.error();
    if (kernel->shared_bytes > nest.kernels[k].shared_bytes)
      return fail("PW0599", "internal: a kernel has more shared memory than its launch says");
    add_launched_function(*kernel->function, launched_symbol(symbol, k));
    out.push_back(*kernel);
  }
  return out;
}

Result<EmulatedCode> emulated_code(const DeviceNest& nest, const Target& target, const BuildOptions& options,
                                   EmulatorFault fault = {}) {
  const EmulatedFamily* const family = family_of(target);
  if (!family) return fail("PW0512", "target " + target.name + " is none that is emulated");
  auto made = code_for(target);
  if (!made) return made.error();
  EmulatedCode out = std::move(made).value();
  auto kernels =
      lower_kernels(*out.context, nest, common_instructions(family->capabilities(target), out.cpu_hooks->can()),
                    family->dialect(target), options.symbol);
  if (!kernels) return kernels.error();
  (*kernels)->setDataLayout(out.machine->createDataLayout());
  HostCode host{nest, options.symbol, order_of(target), family->lanes(target), {}, {}};
  auto launched = launched_kernels(**kernels, nest, options.symbol);
  if (!launched) return launched.error();
  if (fault.dropped_call >= 0) waiting_calls(**kernels).at(static_cast<size_t>(fault.dropped_call))->eraseFromParent();
  hold_to_cpu(**kernels, out);
  simplify_kernels(**kernels, *out.machine);
  for (const EmulatedKernel& kernel : *launched) {
    host.waits.push_back(kernel.waits);
    host.stack_bytes.push_back(stack_bytes(*kernel.function));
  }
  LowerOptions lowering;
  lowering.cpu = out.set->basic_cpu();
  lowering.symbol = options.symbol;
  lowering.cpu_features = feature_string(out.cpu);
  lowering.vector_bits = out.cpu.machine.units.vector_bits;
  lowering.explains = options.caller == Caller::anyone;
  lowering.plain_pointers = is_plain_c(options.caller);
  lowering.write_body = [&host](llvm::Function& body, const std::vector<BufferId>& arguments, NodeId root) {
    return host.write(body, arguments, root);
  };
  auto module = lower(*out.context, nest.nest, *out.cpu_hooks, lowering);
  if (!module) return module.error();
  out.module = std::move(module).value();
  hold_to_cpu(*out.module, out);
  if (llvm::Linker::linkModules(*out.module, std::move(kernels).value()))
    return fail("PW0599", "internal: kernels and their host's part do not go together");
  for (size_t k = 0; k < nest.kernels.size(); ++k)
    for (const std::string& name : {kernel_symbol(options.symbol, k), launched_symbol(options.symbol, k)})
      if (llvm::Function* function = out.module->getFunction(name))
        function->setLinkage(llvm::GlobalValue::InternalLinkage);
  run_light_passes(*out.module, *out.machine, *out.cpu_hooks);
  return out;
}

Result<llvm::SmallVector<char, 0>> written(EmulatedCode& code, llvm::CodeGenFileType kind) {
  return write_machine_code(*code.module, *code.machine, kind, Pipeline::lean, nullptr);
}

Result<CompiledObject> with_runtime(EmulatedCode& code) {
  auto bytes = written(code, llvm::CodeGenFileType::ObjectFile);
  if (!bytes) return bytes.error();
  auto joined = joined_objects(
      {{reinterpret_cast<const unsigned char*>(bytes->data()), bytes->size()}, emulator_runtime_object()});
  if (!joined) return joined.error();
  CompiledObject out;
  out.object = std::move(joined).value();
  out.architecture = code.cpu.architecture;
  out.features = code.cpu.features;
  return out;
}

}  // namespace

Result<Target> emulating_cpu(const Target& target) {
  const Backend* const backend = backend_of(native_architecture());
  auto cpu = backend ? backend->host() : std::nullopt;
  if (cpu) return *std::move(cpu);
  return fail("PW0517", "kernels for target " + target.name + " do not run on this machine: no backend knows its CPU");
}

Result<int> waiting_calls(const DeviceNest& nest, const Target& target) {
  auto code = emulated_code(nest, target, {"kernel"});
  if (!code) return code.error();
  return static_cast<int>(waiting_calls(*code->module).size());
}

Result<CompiledObject> emulated_object(const DeviceNest& nest, const Target& target, const BuildOptions& options,
                                       EmulatorFault fault) {
  auto code = emulated_code(nest, target, options, fault);
  if (!code) return code.error();
  return with_runtime(*code);
}

Result<EmulatedModule> emulated_module(const std::string& llvm_text, const std::vector<std::string>& names,
                                       const Target& target, EmulatorFault fault) {
  auto made = code_for(target);
  if (!made) return made.error();
  EmulatedCode code = std::move(made).value();
  llvm::SMDiagnostic diagnostic;
  code.module = llvm::parseIR(llvm::MemoryBufferRef(llvm_text, "kernels"), diagnostic, *code.context);
  if (!code.module) return fail("PW0512", "LLVM does not read the kernels' text: " + diagnostic.getMessage().str());
  code.module->setDataLayout(code.machine->createDataLayout());
  EmulatedModule out;
  std::vector<llvm::Function*> functions;
  for (const std::string& name : names) {
    auto kernel = emulated_kernel(*code.module, name);
    if (!kernel) return kernel.error();
    functions.push_back(kernel->function);
    out.kernels.push_back({kernel->shared_bytes, 0, kernel->waits, name + "_launched"});
    add_launched_function(*kernel->function, out.kernels.back().launched);
  }
  const auto calls = waiting_calls(*code.module);
  out.waiting_calls = static_cast<int>(calls.size());
  if (fault.dropped_call >= 0) calls.at(static_cast<size_t>(fault.dropped_call))->eraseFromParent();
  hold_to_cpu(*code.module, code);
  simplify_kernels(*code.module, *code.machine);
  for (size_t k = 0; k < names.size(); ++k) out.kernels[k].stack_bytes = stack_bytes(*functions[k]);
  run_light_passes(*code.module, *code.machine, *code.cpu_hooks);
  auto object = with_runtime(code);
  if (!object) return object.error();
  out.object = std::move(object).value();
  return out;
}

Result<std::string> emulated_assembly(const DeviceNest& nest, const Target& target, const BuildOptions& options) {
  auto code = emulated_code(nest, target, options);
  if (!code) return code.error();
  auto bytes = written(*code, llvm::CodeGenFileType::AssemblyFile);
  if (!bytes) return bytes.error();
  return std::string(bytes->begin(), bytes->end());
}

Result<std::string> emulated_llvm_text(const DeviceNest& nest, const Target& target, const BuildOptions& options) {
  auto code = emulated_code(nest, target, options);
  if (!code) return code.error();
  std::string text;
  llvm::raw_string_ostream stream(text);
  code->module->print(stream, nullptr);
  return stream.str();
}

}  // namespace polyweft::targets
