// RISC-V of 64 bits with the vector extension, and a unit beside the CPU that a description has: its memories, its
// copies, its instructions and how each is issued. No such machine runs our runner: kernels take plain pointers, and
// run in a program of their own, whose model of the unit takes the traps of its instructions and counts cycles
// (docs/accelerators.md).
#include "targets/cpu/riscv/riscv_unit_backend.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>

#include "ir/nests/instruction.h"
#include "support/cpu_levels.h"
#include "targets/cpu/pipeline.h"
#include "targets/cpu/program_backend.h"
#include "targets/cpu/riscv/riscv_instructions.h"
#include "targets/cpu/riscv/unit_runtime_bytes.h"
#include "targets/unit/commands.h"

namespace polyweft::targets {
namespace {

constexpr int kUnitCpuRegisters = 32;
constexpr const char* kCpu = "riscv64";   ///< the architecture of the CPU alone
constexpr const char* kOfUnit = "unit-";  ///< how features of the unit begin

class RiscvUnitBackend final : public ProgramBackend {
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

 protected:
  std::string command(const Target& target) const override {
    return "qemu-riscv64 -cpu rv64,v=true,vext_spec=v1.0,vlen=" + std::to_string(riscv_register_bits(target));
  }
  std::span<const unsigned char> runtime_object() const override { return unit_runtime_object(); }
  Caller caller() const override { return Caller::counted; }

  Status fits(const LoopNest& nest, const Target& target) const override {
    if (!target.machine.has_unit())
      return fail("PW0523", "target " + target.name + " has no scratchpad_bytes: there is no unit beside its CPU",
                  {"docs/accelerators.md says what a description has"});
    if (const auto commands = unit_commands(target.machine); !commands) return commands.error();
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

  /// The machine's numbers, for the model.
  Result<Bytes> table_object(const Target& target) const override {
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
