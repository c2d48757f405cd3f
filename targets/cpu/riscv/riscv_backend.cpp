// RISC-V of 64 bits with the vector extension. A target says the least length of vector registers (zvl128b, zvl256b):
// its vectors are as long, and its kernels also run where registers are longer. They run in a process of that
// architecture; elsewhere a runner of it runs them, behind ssh or an emulator (docs/runner.md).
#include "targets/cpu/riscv/riscv_backend.h"

#include "ir/nests/instruction.h"
#include "targets/cpu/cpu_backend.h"
#include "targets/cpu/riscv/riscv_instructions.h"

namespace polyweft::targets {
namespace {

constexpr int kVectorRegisters = 32;

class RiscvBackend final : public CpuBackend {
 public:
  std::string architecture() const override { return "riscv64"; }
  std::string derive(Target& target) const override {
    if (std::string wrong = wrong_feature(target); !wrong.empty()) return wrong;
    target.machine.units.vector_bits = riscv_register_bits(target);
    target.machine.units.vector_registers = kVectorRegisters;
    target.machine.units.instructions = ir::instructions_of(target);
    target.can.fused_products = true;
    target.is_host = is_this_cpu(target);
    return {};
  }
};

}  // namespace

std::unique_ptr<Backend> riscv_backend() {
  return std::make_unique<RiscvBackend>();
}

}  // namespace polyweft::targets
