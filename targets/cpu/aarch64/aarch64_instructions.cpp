#include "targets/cpu/aarch64/aarch64_instructions.h"

#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrDesc.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/Support/TargetSelect.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "targets/cpu/aarch64/aarch64_hooks.h"

namespace polyweft::targets {
namespace {

/// A plain load or store by its name in LLVM: LDRSui, STPQi, LDURDi, STRXpost ...
struct PlainAccess {
  int64_t bytes = 0;  ///< of a register
  int registers = 1;  ///< 2: a pair
  enum class Form : uint8_t { scaled, unscaled, indexed, before, after } form = Form::scaled;
};

int64_t register_bytes(llvm::StringRef size) {
  const auto known = {std::pair<const char*, int64_t>{"BB", 1},
                      {"B", 1},
                      {"HH", 2},
                      {"H", 2},
                      {"S", 4},
                      {"W", 4},
                      {"D", 8},
                      {"X", 8},
                      {"Q", 16}};
  for (const auto& [name, bytes] : known)
    if (size == name) return bytes;
  if (size.starts_with("SB")) return 1;
  if (size.starts_with("SH")) return 2;
  return size == "SW" ? 4 : 0;
}

std::optional<PlainAccess> plain_access(llvm::StringRef name) {
  PlainAccess out;
  const bool is_unscaled = name.consume_front("LDUR") || name.consume_front("STUR");
  const bool is_pair = !is_unscaled && (name.consume_front("LDP") || name.consume_front("STP"));
  if (!is_unscaled && !is_pair && !name.consume_front("LDR") && !name.consume_front("STR")) return std::nullopt;
  out.registers = is_pair ? 2 : 1;
  using Form = PlainAccess::Form;
  if (name.consume_back("post"))
    out.form = Form::after;
  else if (name.consume_back("pre"))
    out.form = Form::before;
  else if (name.consume_back("roX"))
    out.form = Form::indexed;
  else if (name.consume_back("ui"))
    out.form = Form::scaled;
  else if (name.consume_back("i"))
    out.form = is_unscaled ? Form::unscaled : Form::scaled;
  else
    return std::nullopt;
  out.bytes = register_bytes(name);
  return out.bytes > 0 ? std::optional(out) : std::nullopt;
}

bool writes_base(const PlainAccess& access) {
  return access.form == PlainAccess::Form::before || access.form == PlainAccess::Form::after;
}
/// Distances of pairs are counted in registers, those of moves of one register in bytes.
int64_t distance(const PlainAccess& access, int64_t constant) {
  const bool is_scaled = access.form == PlainAccess::Form::scaled || access.registers == 2;
  return is_scaled ? constant * access.bytes : constant;
}

class AArch64Instructions final : public InstructionSet {
 public:
  std::string architecture() const override { return "aarch64"; }
  llvm::Triple triple() const override { return llvm::Triple("aarch64-unknown-linux-gnu"); }
  std::string basic_cpu() const override { return "generic"; }

  void initialize() const override {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeAArch64TargetInfo();
      LLVMInitializeAArch64Target();
      LLVMInitializeAArch64TargetMC();
      LLVMInitializeAArch64AsmPrinter();
      LLVMInitializeAArch64AsmParser();
      LLVMInitializeAArch64Disassembler();
    });
  }

  std::unique_ptr<InstructionHooks> hooks(const Target& target) const override { return aarch64_hooks(target); }

  std::string all_features() const override { return "+neon,+fullfp16,+dotprod,+i8mm,+bf16,+sve,+sve2"; }
  std::string modelled_cpu(const Target& target, const llvm::Target&) const override {
    if (target.has("bf16") || target.has("sve2")) return "neoverse-v2";
    if (target.has("sve")) return target.machine.units.vector_bits > 256 ? "a64fx" : "neoverse-v1";
    return "cortex-a57";
  }

  int scalable_units(const Target& target) const override {
    return target.has("sve") ? target.machine.units.vector_bits / 128 : 0;
  }

  // Q, D, S, H and B registers are parts of one file, and of Z registers, which have at least as many bits.
  int vector_register_bits(const std::string& name) const override {
    if (name.size() >= 2 && name[0] == 'Z' && name[1] >= '0' && name[1] <= '9') return 128;
    const bool is_numbered = name.size() >= 2 && name[1] >= '0' && name[1] <= '9';
    const size_t size = is_numbered ? std::string("BHSDQ").find(name[0]) : std::string::npos;
    return size == std::string::npos ? 0 : 8 << size;
  }
  bool is_multiply_add(const std::string& instruction) const override {
    for (const char* part :
         {"FMADD", "FMSUB", "FNMADD", "FNMSUB", "FMLA", "FMLS", "FMAD_", "FMSB_", "SDOT", "UDOT", "MMLA", "BFDOT"})
      if (instruction.find(part) != std::string::npos) return true;
    return false;
  }
  bool only_moves_vectors(const std::string& instruction) const override {
    return instruction.starts_with("LD") || instruction.starts_with("ST") || instruction.starts_with("FMOV");
  }
  PortInstructions port_instructions(int) const override { return {{"FMLAv4f32"}, {"LDRQui"}, {"STRQui"}}; }

  // str q0, [sp, #c] or stur q0, [x29, #-c]: value, base, distance; of pairs (stp) two values.
  bool is_vector_store_to_stack(const llvm::MCInst& inst, const llvm::MCInstrInfo& instructions,
                                const llvm::MCRegisterInfo& registers, bool has_frame_pointer) const override {
    const unsigned operands = inst.getNumOperands();
    if (!instructions.get(inst.getOpcode()).mayStore() || operands < 3 || !inst.getOperand(operands - 1).isImm())
      return false;
    const auto& value = inst.getOperand(0);
    const auto& base = inst.getOperand(operands - 2);
    if (!value.isReg() || !value.getReg().isValid() || !base.isReg() || !base.getReg().isValid()) return false;
    const std::string base_name = registers.getName(base.getReg());
    return (base_name == "SP" || (base_name == "FP" && has_frame_pointer)) &&
           vector_register_bits(registers.getName(value.getReg())) > 0;
  }

  // Values, base, distance, or index, sign and shift; where the base moves it is the first operand too.
  std::optional<CodeAddress> address_of(const llvm::MCInst& inst,
                                        const llvm::MCInstrInfo& instructions) const override {
    const auto access = plain_access(instructions.getName(inst.getOpcode()));
    if (!access) return std::nullopt;
    const unsigned base = static_cast<unsigned>(access->registers) + (writes_base(*access) ? 1 : 0);
    const bool is_indexed = access->form == PlainAccess::Form::indexed;
    CodeAddress out;
    out.first_operand = base;
    out.operands = is_indexed ? 4 : 2;
    if (inst.getNumOperands() < base + out.operands || !inst.getOperand(base).isReg()) return std::nullopt;
    out.base = inst.getOperand(base).getReg();
    if (is_indexed) {
      if (!inst.getOperand(base + 1).isReg() || !inst.getOperand(base + 3).isImm()) return std::nullopt;
      out.index = inst.getOperand(base + 1).getReg();
      out.scale = inst.getOperand(base + 3).getImm() ? access->bytes : 1;
      return out;
    }
    if (!inst.getOperand(base + 1).isImm()) return std::nullopt;
    if (access->form != PlainAccess::Form::after) out.at = distance(*access, inst.getOperand(base + 1).getImm());
    return out;
  }

  std::optional<CodeStep> step_of(const llvm::MCInst& inst, const llvm::MCInstrInfo& instructions) const override {
    const llvm::StringRef name = instructions.getName(inst.getOpcode());
    if (const auto access = plain_access(name)) {
      const unsigned last = inst.getNumOperands() - 1;
      if (!writes_base(*access) || !inst.getOperand(0).isReg() || !inst.getOperand(last).isImm()) return std::nullopt;
      return CodeStep{inst.getOperand(0).getReg(), distance(*access, inst.getOperand(last).getImm())};
    }
    const bool adds = name == "ADDXri", subtracts = name == "SUBXri";
    if ((!adds && !subtracts) || inst.getNumOperands() < 4 || !inst.getOperand(2).isImm() ||
        !inst.getOperand(3).isImm())
      return std::nullopt;
    if (inst.getOperand(0).getReg() != inst.getOperand(1).getReg()) return std::nullopt;
    const int64_t by = inst.getOperand(2).getImm() << inst.getOperand(3).getImm();
    return CodeStep{inst.getOperand(0).getReg(), adds ? by : -by};
  }

  // mov x29, sp, which is add x29, sp, #c
  bool makes_frame_pointer(const llvm::MCInst& inst, const llvm::MCRegisterInfo& registers) const override {
    if (inst.getNumOperands() < 2 || !inst.getOperand(0).isReg() || !inst.getOperand(1).isReg()) return false;
    const auto is_named = [&](unsigned operand, const char* name) {
      return inst.getOperand(operand).getReg().isValid() &&
             std::string(registers.getName(inst.getOperand(operand).getReg())) == name;
    };
    return is_named(0, "FP") && is_named(1, "SP");
  }
};

}  // namespace

const InstructionSet& aarch64_instructions() {
  static const AArch64Instructions set;
  return set;
}

}  // namespace polyweft::targets
