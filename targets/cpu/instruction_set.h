// What differs between the instruction sets of CPUs: LLVM's names for them, the units that code generation may use, and
// how their machine code is read.
#pragma once

#include <llvm/TargetParser/Triple.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polyweft/target.h"
#include "targets/common/instruction_hooks.h"
#include "targets/common/unit_hooks.h"

namespace llvm {
class MCInst;
class MCInstrInfo;
class MCRegisterInfo;
class MCSubtargetInfo;
class Module;
class Target;
namespace mca {
class InstrumentManager;
}
}  // namespace llvm

namespace polyweft::targets {

/// LLVM's names of instructions that stand for a class where its tables of ports are read; of each list the first that
/// a CPU's model knows counts.
struct PortInstructions {
  std::vector<std::string> multiply_adds, loads, stores;
};
/// An address in machine code: base + scale * index + at.
struct CodeAddress {
  unsigned base = 0, index = 0;  ///< registers of LLVM's; 0: none
  int64_t scale = 1, at = 0;
  unsigned first_operand = 0, operands = 0;  ///< of the instruction that say it
};
/// A register that an instruction moves on by a constant; of a load or store after its access.
struct CodeStep {
  unsigned reg = 0;
  int64_t by = 0;
};

/// What instructions before have set that costs of later ones depend on, in LLVM's words.
struct CodeSetting {
  const char *what, *value;
};

class InstructionSet {
 public:
  virtual ~InstructionSet() = default;
  virtual std::string architecture() const = 0;
  virtual llvm::Triple triple() const = 0;
  /// LLVM's name of the CPU that has the architecture's basic instructions and no others.
  virtual std::string basic_cpu() const = 0;
  /// How many times 128 bits a register of scalable vectors has, exactly; 0: there are none, or code takes any length.
  virtual int scalable_units(const Target&) const { return 0; }
  /// Is its code loaded wherever there is room?
  virtual bool is_position_independent() const { return true; }
  /// Are registers and costs in its code? Not where an engine chooses both later.
  virtual bool has_readable_code() const { return true; }
  /// Registers LLVM's back end, once a process.
  virtual void initialize() const = 0;

  /// What code generation may use of the target's instructions.
  virtual std::unique_ptr<InstructionHooks> hooks(const Target& target) const = 0;
  /// Of the unit beside the CPU; null: there is none.
  virtual std::unique_ptr<UnitHooks> unit(const Target&) const { return nullptr; }
  /// Says in other words what LLVM's back end for the set gets wrong, or says badly; behind all passes of ours.
  virtual void prepare(llvm::Module&) const {}
  /// What turns gathers and scatters of LLVM's vectorizers off, as features; empty: they take none.
  virtual std::string features_against_gathers() const { return {}; }

  /// All instructions that code of this set may have, as features: for reading objects.
  virtual std::string all_features() const = 0;
  /// A CPU with the target's units that LLVM has a scheduling model of; the host's own where it has one.
  virtual std::string modelled_cpu(const Target& target, const llvm::Target& llvm_target) const = 0;
  /// Bits of the vector register with this name of LLVM's; 0 for any other register.
  virtual int vector_register_bits(const std::string& name) const = 0;
  /// A multiply-add or a dot product, of floats or integers, by LLVM's name.
  virtual bool is_multiply_add(const std::string& instruction) const = 0;
  /// Does it load, store or copy vectors and no more?
  virtual bool only_moves_vectors(const std::string& instruction) const = 0;
  /// For code whose widest vectors have so many bits.
  virtual PortInstructions port_instructions(int vector_bits) const = 0;
  /// What follows such settings through code; null: costs depend on none.
  virtual std::unique_ptr<llvm::mca::InstrumentManager> instruments(const llvm::MCSubtargetInfo&,
                                                                    const llvm::MCInstrInfo&) const;
  /// At the start of code that sets nothing itself.
  virtual std::vector<CodeSetting> first_settings() const { return {}; }
  /// A vector register to the stack at a constant distance from the stack pointer, or from the frame pointer where
  /// there is one.
  virtual bool is_vector_store_to_stack(const llvm::MCInst& inst, const llvm::MCInstrInfo& instructions,
                                        const llvm::MCRegisterInfo& registers, bool has_frame_pointer) const = 0;
  /// The stack pointer becomes the frame pointer.
  virtual bool makes_frame_pointer(const llvm::MCInst& inst, const llvm::MCRegisterInfo& registers) const = 0;
  /// Where a load or store goes, by registers and constants; none where it is said in another way. Its instruction's
  /// first operand is no part of it.
  virtual std::optional<CodeAddress> address_of(const llvm::MCInst& inst,
                                                const llvm::MCInstrInfo& instructions) const = 0;
  virtual std::optional<CodeStep> step_of(const llvm::MCInst& inst, const llvm::MCInstrInfo& instructions) const = 0;
  /// Lanes of the gather or scatter with this name of LLVM's; 0 for any other instruction.
  virtual int gathered_lanes(const std::string&) const { return 0; }
};

/// Of the target's architecture; PW0522 where no CPU of ours has it.
Result<const InstructionSet*> instruction_set_of(const Target& target);
/// By LLVM's name of the architecture (object files say that); null: none of ours.
const InstructionSet* instruction_set_of(llvm::Triple::ArchType arch);

}  // namespace polyweft::targets
