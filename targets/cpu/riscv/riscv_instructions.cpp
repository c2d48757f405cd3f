#include "targets/cpu/riscv/riscv_instructions.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrDesc.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/MCA/CustomBehaviour.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "targets/unit/commands.h"

extern "C" void LLVMInitializeRISCVTargetMCA();

namespace polyweft::targets {
namespace {

/// Masks are predicates of all loads, stores and operations, whatever the size of elements. Halves are computed through
/// f32 by integer code: conversions need zvfhmin. Fixed vectors longer than a register take several (LMUL).
InstructionCapabilities riscv_capabilities(const Target& target) {
  InstructionCapabilities can;
  can.vector_bits = target.machine.units.vector_bits;
  can.fused_products = can.rounding = can.masked_vectors = true;
  can.half_conversions = can.half_arithmetic = false;
  set_register_shares(can, target.machine.units.vector_registers);
  return can;
}

/// vle32.v, vse8.v: elements in a row.
bool is_row_access(llvm::StringRef name) {
  return (name.consume_front("VLE") || name.consume_front("VSE")) && !name.empty() && std::isdigit(name.front()) &&
         name.ends_with("_V");
}

/// lw, fsd, c.ldsp: a register, a base, a distance in bytes.
bool is_scalar_access(llvm::StringRef name) {
  name.consume_front("C_");
  name.consume_back("SP");
  for (const char* known :
       {"LB", "LBU", "LH", "LHU", "LW", "LWU", "LD", "FLH", "FLW", "FLD", "SB", "SH", "SW", "SD", "FSH", "FSW", "FSD"})
    if (name == known) return true;
  return false;
}

class RiscvInstructions : public InstructionSet {
 public:
  std::string architecture() const override { return "riscv64"; }
  llvm::Triple triple() const override { return llvm::Triple("riscv64-unknown-linux-gnu"); }
  std::string basic_cpu() const override { return "generic-rv64"; }

  void initialize() const override {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeRISCVTargetInfo();
      LLVMInitializeRISCVTarget();
      LLVMInitializeRISCVTargetMC();
      LLVMInitializeRISCVTargetMCA();
      LLVMInitializeRISCVAsmPrinter();
      LLVMInitializeRISCVAsmParser();
      LLVMInitializeRISCVDisassembler();
    });
  }

  std::unique_ptr<InstructionHooks> hooks(const Target& target) const override {
    return std::make_unique<InstructionHooks>(riscv_capabilities(target));
  }

  std::string all_features() const override { return "+m,+a,+f,+d,+c,+v"; }
  // The models know registers of 128 bits (SiFive P670) and of 256 (SpacemiT X60).
  std::string modelled_cpu(const Target& target, const llvm::Target&) const override {
    return target.machine.units.vector_bits > 128 ? "spacemit-x60" : "sifive-p670";
  }

  // v8, and groups of them: v8m2. Registers of single floats are another file.
  int vector_register_bits(const std::string& name) const override {
    if (name.size() < 2 || name[0] != 'V' || !std::isdigit(name[1])) return 0;
    const size_t group = name.find('M');
    return 128 * (group == std::string::npos ? 1 : std::atoi(name.c_str() + group + 1));
  }
  bool is_multiply_add(const std::string& instruction) const override {
    for (const char* part : {"MACC", "MADD", "MSAC", "MSUB"})
      if (instruction.find(part) != std::string::npos) return true;
    return false;
  }
  bool only_moves_vectors(const std::string& instruction) const override {
    for (const char* start :
         {"VL", "VSE", "VSS", "VSM_V", "VSUX", "VSOX", "VMV", "VFMV", "VS1R", "VS2R", "VS4R", "VS8R"})
      if (instruction.starts_with(start)) return true;
    return false;
  }
  PortInstructions port_instructions(int) const override { return {{"VFMACC_VV"}, {"VLE32_V"}, {"VSE32_V"}}; }

  // Costs depend on the group of registers and the size of elements that vsetvli has set last.
  std::unique_ptr<llvm::mca::InstrumentManager> instruments(const llvm::MCSubtargetInfo& subtarget,
                                                            const llvm::MCInstrInfo& instructions) const override {
    std::string problem;
    const auto* target = llvm::TargetRegistry::lookupTarget(triple(), problem);
    return std::unique_ptr<llvm::mca::InstrumentManager>(
        target ? target->createInstrumentManager(subtarget, instructions) : nullptr);
  }
  std::vector<CodeSetting> first_settings() const override { return {{"RISCV-LMUL", "M1"}, {"RISCV-SEW", "E32"}}; }

  // Whole registers are stored where they are spilled and nowhere else: vectors of a fixed length are stored by their
  // elements.
  bool is_vector_store_to_stack(const llvm::MCInst& inst, const llvm::MCInstrInfo& instructions,
                                const llvm::MCRegisterInfo&, bool) const override {
    llvm::StringRef name = instructions.getName(inst.getOpcode());
    return name.consume_front("VS") && name.consume_back("R_V") && name.size() == 1;
  }
  bool makes_frame_pointer(const llvm::MCInst&, const llvm::MCRegisterInfo&) const override { return false; }

  std::optional<CodeAddress> address_of(const llvm::MCInst& inst,
                                        const llvm::MCInstrInfo& instructions) const override {
    const llvm::StringRef name = instructions.getName(inst.getOpcode());
    const bool is_row = is_row_access(name);
    if (!is_row && !is_scalar_access(name)) return std::nullopt;
    if (inst.getNumOperands() < 2 || !inst.getOperand(1).isReg()) return std::nullopt;
    CodeAddress out;
    out.base = inst.getOperand(1).getReg();
    out.first_operand = 1;
    out.operands = is_row ? 1 : 2;
    if (is_row) return out;
    if (inst.getNumOperands() < 3 || !inst.getOperand(2).isImm()) return std::nullopt;
    out.at = inst.getOperand(2).getImm();
    return out;
  }

  std::optional<CodeStep> step_of(const llvm::MCInst& inst, const llvm::MCInstrInfo& instructions) const override {
    const llvm::StringRef name = instructions.getName(inst.getOpcode());
    if ((name != "ADDI" && name != "C_ADDI") || inst.getNumOperands() < 3 || !inst.getOperand(2).isImm())
      return std::nullopt;
    if (!inst.getOperand(0).isReg() || !inst.getOperand(1).isReg() ||
        inst.getOperand(0).getReg() != inst.getOperand(1).getReg())
      return std::nullopt;
    return CodeStep{inst.getOperand(0).getReg(), inst.getOperand(2).getImm()};
  }
};

/// Commands of a unit by `.insn r`: no result, two registers of 64 bits that hold the operands.
class RiscvUnit final : public UnitHooks {
 public:
  RiscvUnit(const UnitFigures& figures, std::vector<UnitCommand> commands)
      : figures_(figures), commands_(std::move(commands)) {}

  bool has(const std::string& command) const override { return find(command) != nullptr; }
  bool takes(const std::string& command, const std::string& operand) const override {
    const UnitCommand* found = find(command);
    return found && std::any_of(found->fields.begin(), found->fields.end(),
                                [&](const UnitField& field) { return field.operand == operand; });
  }
  void issue(llvm::IRBuilder<>& builder, const std::string& command, const Operands& operands) const override {
    const UnitCommand& found = *find(command);
    llvm::Value* sources[2] = {builder.getInt64(0), builder.getInt64(0)};
    for (const UnitField& field : found.fields)
      for (const auto& [name, value] : operands) {
        if (name != field.operand) continue;
        llvm::Value* part = field.divisor == 1
                                ? value
                                : builder.CreateUDiv(value, builder.getInt64(static_cast<uint64_t>(field.divisor)));
        if (field.shift > 0) part = builder.CreateShl(part, static_cast<uint64_t>(field.shift));
        llvm::Value*& source = sources[field.source - 1];
        source = builder.CreateOr(source, part);
      }
    const auto number = [](int value) { return std::to_string(value); };
    auto* type = llvm::FunctionType::get(builder.getVoidTy(), {builder.getInt64Ty(), builder.getInt64Ty()}, false);
    auto* text = llvm::InlineAsm::get(
        type,
        ".insn r " + number(found.opcode) + ", " + number(found.funct3) + ", " + number(found.funct7) + ", x0, $0, $1",
        "r,r,~{memory}", true);
    builder.CreateCall(text, {sources[0], sources[1]});
  }
  Memory memory(Scope scope) const override {
    const bool has_sums = figures_.accumulator_bytes.value > 0;
    if (scope == Scope::scratchpad) return {figures_.scratchpad_bytes.value, figures_.scratchpad_row_bytes.value, 0};
    if (!has_sums) return {};
    return {figures_.accumulator_bytes.value, figures_.accumulator_row_bytes.value, figures_.accumulator_first.value};
  }
  int64_t copy_rows() const override { return figures_.copy_rows.value; }
  int64_t copy_row_bytes() const override { return figures_.copy_row_bytes.value; }

 private:
  const UnitCommand* find(const std::string& command) const {
    const auto found =
        std::find_if(commands_.begin(), commands_.end(), [&](const UnitCommand& each) { return each.name == command; });
    return found == commands_.end() ? nullptr : &*found;
  }

  UnitFigures figures_;
  std::vector<UnitCommand> commands_;
};

class RiscvUnitInstructions final : public RiscvInstructions {
 public:
  std::string architecture() const override { return "riscv64-unit"; }
  bool is_position_independent() const override { return false; }
  std::unique_ptr<UnitHooks> unit(const Target& target) const override {
    auto commands = unit_commands(target.machine);
    return commands ? std::make_unique<RiscvUnit>(target.machine.unit, *std::move(commands)) : nullptr;
  }
};

}  // namespace

const InstructionSet& riscv_unit_instructions() {
  static const RiscvUnitInstructions set;
  return set;
}

const InstructionSet& riscv_instructions() {
  static const RiscvInstructions set;
  return set;
}

int riscv_register_bits(const Target& target) {
  for (const int bits : {512, 256})
    if (target.has("zvl" + std::to_string(bits) + "b")) return bits;
  return 128;
}

}  // namespace polyweft::targets
