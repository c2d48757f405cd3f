#include "targets/cpu/assembly_reader.h"

#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCExpr.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSymbol.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>

#include <algorithm>

#include "targets/cpu/pipeline.h"

namespace polyweft::targets {
namespace {

std::string branch_target(const llvm::MCInst& inst) {
  for (const llvm::MCOperand& operand : inst)
    if (operand.isExpr())
      if (const auto* symbol = llvm::dyn_cast<llvm::MCSymbolRefExpr>(operand.getExpr()))
        return symbol->getSymbol().getName().str();
  return "";
}

/// Keeps instructions and labels with their lines.
class Reader : public llvm::MCStreamer {
 public:
  Reader(llvm::MCContext& context, const llvm::SourceMgr& source, AssemblyCode& out)
      : llvm::MCStreamer(context), source_(source), out_(out) {}

  void emitInstruction(const llvm::MCInst& inst, const llvm::MCSubtargetInfo&) override {
    const bool is_branch = out_.cpu.instructions->get(inst.getOpcode()).isBranch();
    out_.code.push_back({inst, line(), is_branch ? branch_target(inst) : ""});
  }
  void emitLabel(llvm::MCSymbol* symbol, llvm::SMLoc loc) override {
    llvm::MCStreamer::emitLabel(symbol, loc);
    const std::string name = symbol->getName().str();
    out_.labels[name] = out_.code.size();
    out_.line_of_label[name] = line();
    if (name.rfind(".L", 0) != 0) out_.functions.push_back({out_.code.size(), name});
  }
  bool emitSymbolAttribute(llvm::MCSymbol*, llvm::MCSymbolAttr) override { return true; }
  void emitCommonSymbol(llvm::MCSymbol*, uint64_t, llvm::Align) override {}
  void emitZerofill(llvm::MCSection*, llvm::MCSymbol*, uint64_t, llvm::Align, llvm::SMLoc) override {}
  void emitSubsectionsViaSymbols() override {}

 private:
  size_t line() const { return getStartTokLoc().isValid() ? source_.FindLineNumber(getStartTokLoc()) : 0; }
  const llvm::SourceMgr& source_;
  AssemblyCode& out_;
};

ModelledCpu modelled(const InstructionSet& set, const Target& target, const llvm::Target& llvm_target,
                     const llvm::Triple& triple) {
  ModelledCpu out;
  out.set = &set;
  out.name = set.modelled_cpu(target, llvm_target);
  out.registers.reset(llvm_target.createMCRegInfo(triple));
  out.assembly.reset(llvm_target.createMCAsmInfo(*out.registers, triple, out.options));
  out.subtarget.reset(llvm_target.createMCSubtargetInfo(triple, out.name, feature_string(target)));
  out.instructions.reset(llvm_target.createMCInstrInfo());
  out.analysis.reset(llvm_target.createMCInstrAnalysis(out.instructions.get()));
  return out;
}

}  // namespace

Result<AssemblyCode> read_assembly(const std::string& text, const Target& target) {
  const auto set = instruction_set_of(target);
  if (!set) return set.error();
  (*set)->initialize();
  const llvm::Triple triple = (*set)->triple();
  std::string problem;
  const auto* llvm_target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!llvm_target) return fail("PW0512", "LLVM has no back end for " + target.architecture + ": " + problem);
  AssemblyCode out;
  out.cpu = modelled(**set, target, *llvm_target, triple);
  llvm::SourceMgr source;
  source.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, "kernel.s"), llvm::SMLoc());
  llvm::MCContext context(triple, out.cpu.assembly.get(), out.cpu.registers.get(), out.cpu.subtarget.get(), &source,
                          &out.cpu.options);
  const std::unique_ptr<llvm::MCObjectFileInfo> sections(llvm_target->createMCObjectFileInfo(context, true));
  context.setObjectFileInfo(sections.get());
  Reader reader(context, source, out);
  llvm_target->createNullTargetStreamer(reader);  // the reader owns it; some targets' directives go there
  const std::unique_ptr<llvm::MCAsmParser> parser(llvm::createMCAsmParser(source, context, reader, *out.cpu.assembly));
  const std::unique_ptr<llvm::MCTargetAsmParser> words(
      llvm_target->createMCAsmParser(*out.cpu.subtarget, *parser, *out.cpu.instructions, out.cpu.options));
  parser->setTargetParser(*words);
  if (parser->Run(false)) return fail("PW0512", "LLVM cannot read its own assembly");
  return out;
}

std::vector<Span> loops_of(const AssemblyCode& assembly) {
  std::map<size_t, Span> by_header;
  for (size_t k = 0; k < assembly.code.size(); ++k) {
    auto label = assembly.labels.find(assembly.code[k].branch_to);
    if (label == assembly.labels.end() || label->second > k) continue;
    Span& span = by_header[label->second];
    span = {label->second, std::max(span.end, k + 1), label->first};
  }
  std::vector<Span> out;
  for (const auto& [header, span] : by_header) out.push_back(span);
  return out;
}

bool is_inside(const Span& inner, const Span& outer) {
  return outer.begin <= inner.begin && inner.end <= outer.end && (outer.begin != inner.begin || outer.end != inner.end);
}

}  // namespace polyweft::targets
