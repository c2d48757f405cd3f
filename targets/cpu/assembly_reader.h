// Assembly text of LLVM's, read back into instructions: whose they are, where loops are, and the tables of the CPU that
// they are for.
#pragma once

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "polyweft/target.h"
#include "targets/cpu/instruction_set.h"
#include "targets/cpu/port_model.h"

namespace polyweft::targets {

struct PlacedInst {
  llvm::MCInst inst;
  size_t line = 0;        ///< from 1
  std::string branch_to;  ///< the label that it jumps to; empty: none
};
/// Tables of a CPU that LLVM has a model of: the host's own, or one with the target's units.
struct ModelledCpu {
  const InstructionSet* set = nullptr;
  std::string name;
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis;
  MachineDescription described() const { return {*registers, *subtarget, *instructions, analysis.get(), *set}; }
};
struct AssemblyCode {
  ModelledCpu cpu;
  std::vector<PlacedInst> code;
  std::map<std::string, size_t> labels;                   ///< -> index of the next instruction
  std::vector<std::pair<size_t, std::string>> functions;  ///< first instruction, name
  std::map<std::string, size_t> line_of_label;
};
/// LLVM's text, in the syntax of its printer, for a CPU like `target`. PW0512 where LLVM cannot read it.
Result<AssemblyCode> read_assembly(const std::string& text, const Target& target);

/// Instructions begin .. end - 1, from a label to the last jump back to it.
struct Span {
  size_t begin = 0, end = 0;
  std::string label;
};
/// One a header, in the order of the text.
std::vector<Span> loops_of(const AssemblyCode& assembly);
bool is_inside(const Span& inner, const Span& outer);

}  // namespace polyweft::targets
