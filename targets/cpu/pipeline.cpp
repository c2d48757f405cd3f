#include "targets/cpu/pipeline.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScopedNoAliasAA.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/CodeGenTargetMachineImpl.h>
#include <llvm/CodeGen/MachineBlockFrequencyInfo.h>
#include <llvm/CodeGen/MachineBranchProbabilityInfo.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineLoopInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/MC/MCSymbol.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Scalar.h>

#include <chrono>
#include <cstdlib>
#include <type_traits>

#include "support/abilities.h"
#include "targets/common/code_layout.h"
#include "targets/cpu/carried_columns.h"
#include "targets/cpu/conditional_moves.h"
#include "targets/cpu/integer_sums.h"
#include "targets/cpu/interleaved_chains.h"
#include "targets/cpu/lane_funnels.h"
#include "targets/cpu/running_extremes.h"
#include "targets/cpu/unroll_short_loops.h"

namespace polyweft::targets {
namespace {

using PassClock = std::chrono::steady_clock;

/// Where the time since the last mark belongs. LLVM takes a function through all passes before the next one, so parts
/// are sums.
class Stopwatch {
 public:
  void add_to(double* part) {
    const auto now = PassClock::now();
    if (part) *part += std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
  }

 private:
  PassClock::time_point last_ = PassClock::now();
};

/// A pass that does nothing but say that a part has ended.
class PassMark final : public llvm::FunctionPass {
 public:
  static char ID;
  PassMark(Stopwatch& watch, double* part) : FunctionPass(ID), watch_(watch), part_(part) {}
  bool runOnFunction(llvm::Function&) override { return watch_.add_to(part_), false; }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override { usage.setPreservesAll(); }

 private:
  Stopwatch& watch_;
  double* part_;
};
char PassMark::ID = 0;

class MachineMark final : public llvm::MachineFunctionPass {
 public:
  static char ID;
  MachineMark(Stopwatch& watch, double* part) : MachineFunctionPass(ID), watch_(watch), part_(part) {}
  bool runOnMachineFunction(llvm::MachineFunction&) override { return watch_.add_to(part_), false; }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

 private:
  Stopwatch& watch_;
  double* part_;
};
char MachineMark::ID = 0;

/// Lists the blocks of the code as it will be printed, and has every one printed with its label.
class BlockFrequencies final : public llvm::MachineFunctionPass {
 public:
  static char ID;
  explicit BlockFrequencies(std::vector<BlockFrequency>& out) : MachineFunctionPass(ID), out_(out) {}
  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    const auto& frequencies = getAnalysis<llvm::MachineBlockFrequencyInfoWrapperPass>().getMBFI();
    const auto& branches = getAnalysis<llvm::MachineBranchProbabilityInfoWrapperPass>().getMBPI();
    const auto& loops = getAnalysis<llvm::MachineLoopInfoWrapperPass>().getLI();
    const llvm::Attribute attribute = function.getFunction().getFnAttribute(kRunsAttribute);
    const double runs = attribute.isValid() ? std::strtod(attribute.getValueAsString().str().c_str(), nullptr) : 1;
    const auto visits = [&](const llvm::MachineBasicBlock& block) {
      return runs * frequencies.getBlockFreqRelativeToEntryBlock(&block);
    };
    for (llvm::MachineBasicBlock& block : function) {
      block.setLabelMustBeEmitted();
      BlockFrequency out{block.getSymbol()->getName().str(), visits(block), 0, ""};
      const llvm::MachineLoop* loop = loops.getLoopFor(&block);
      if (loop && loop->isInnermost()) out.loop = loop->getHeader()->getSymbol()->getName().str();
      if (loop && loop->getHeader() == &block)
        for (const llvm::MachineBasicBlock* before : block.predecessors())
          if (!loop->contains(before)) {
            const llvm::BranchProbability taken = branches.getEdgeProbability(before, &block);
            out.entries += visits(*before) * taken.getNumerator() / llvm::BranchProbability::getDenominator();
          }
      out_.push_back(std::move(out));
    }
    return false;
  }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    usage.addRequired<llvm::MachineBlockFrequencyInfoWrapperPass>();
    usage.addRequired<llvm::MachineBranchProbabilityInfoWrapperPass>();
    usage.addRequired<llvm::MachineLoopInfoWrapperPass>();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

 private:
  std::vector<BlockFrequency>& out_;
};
char BlockFrequencies::ID = 0;

/// Opens a step of the pipeline that LLVM offers to its targets only.
struct Steps : llvm::TargetPassConfig {
  using TargetPassConfig::addCoreISelPasses;
};

// Small bodies become part of their entry; whatever is not a register block by construction (addresses, stack buffers)
// is cleaned up; nothing is unrolled, vectorized or reassociated.
void add_light_passes(llvm::legacy::PassManager& passes, llvm::TargetMachine& machine,
                      const InstructionHooks& instructions) {
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  passes.add(llvm::createAlwaysInlinerLegacyPass(false));
  passes.add(llvm::createSROAPass());
  passes.add(llvm::createEarlyCSEPass(true));
  passes.add(llvm::createLICMPass());
  const auto add = [&](const char* ability, auto* make) {
    if (!is_on(ability)) return;
    if constexpr (std::is_invocable_v<decltype(make)>)
      passes.add(make());
    else if constexpr (std::is_invocable_v<decltype(make), const InstructionCapabilities&>)
      passes.add(make(instructions.can()));
    else
      passes.add(make(instructions));
  };
  add("code.lane_funnels", lanes_by_funnels);
  add("code.integer_sums", integer_sums);
  add("code.interleaved_chains", interleaved_chains);
  add("code.carried_columns", values_kept_between_iterations);
  add("code.running_extremes", running_extremes);
  if (instructions.can().short_loops_unrolled) add("code.unroll_short_loops", unroll_short_loops);
}

// Of LLVM's passes before instruction selection those that change our code: what the target has no instruction for is
// expanded, and addresses move to where they are used. Addresses are emitted as pointers that loops move on, so there
// is nothing left for loop strength reduction (a third of the time, with the analyses that it needs).
void add_lean_preparation(llvm::TargetPassConfig& config, llvm::legacy::PassManager& passes,
                          llvm::TargetMachine& machine) {
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  passes.add(llvm::createPreISelIntrinsicLoweringPass());
  passes.add(llvm::createScopedNoAliasAAWrapperPass());
  passes.add(llvm::createUnreachableBlockEliminationPass());
  passes.add(llvm::createScalarizeMaskedMemIntrinLegacyPass());
  passes.add(llvm::createExpandReductionsPass());
  passes.add(llvm::createInterleavedAccessPass());
  config.addCodeGenPrepare();
}

}  // namespace
namespace {

size_t instructions_of(const llvm::Function& function) {
  size_t out = 0;
  for (const llvm::BasicBlock& block : function) out += block.size();
  return out;
}

/// Loop strength reduction compares ways to write all addresses of a loop with each other: it took 5.8 of 6 seconds of
/// a function of 7,600 instructions. Long functions keep their addresses.
class StrengthReduction : public llvm::OptPassGate {
 public:
  explicit StrengthReduction(llvm::Module& module) : context_(module.getContext()), usual_(context_.getOptPassGate()) {
    constexpr size_t kMost = 2000;
    const auto is_long = [](const llvm::Function& function) { return instructions_of(function) > kMost; };
    is_left_out_ = std::any_of(module.begin(), module.end(), is_long);
    context_.setOptPassGate(*this);
  }
  ~StrengthReduction() override { context_.setOptPassGate(usual_); }
  StrengthReduction(const StrengthReduction&) = delete;
  StrengthReduction& operator=(const StrengthReduction&) = delete;
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override { return pass != "Loop Strength Reduction"; }
  bool isEnabled() const override { return is_left_out_; }

 private:
  llvm::LLVMContext& context_;
  llvm::OptPassGate& usual_;
  bool is_left_out_ = false;
};

}  // namespace

Result<llvm::SmallVector<char, 0>> write_machine_code(llvm::Module& module, llvm::TargetMachine& machine,
                                                      llvm::CodeGenFileType kind, Pipeline pipeline,
                                                      CodegenTimes* times, std::vector<BlockFrequency>* frequencies) {
  CodegenTimes ignored;
  CodegenTimes& parts = times ? *times : ignored;
  Stopwatch watch;
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  auto& generator = static_cast<llvm::CodeGenTargetMachineImpl&>(machine);
  auto* machine_module = new llvm::MachineModuleInfoWrapperPass(&generator);
  llvm::TargetPassConfig* config = generator.createPassConfig(passes);
  config->setDisableVerify(true);
  passes.add(config);
  passes.add(machine_module);
  const auto cannot = [] { return fail("PW0512", "LLVM cannot write this kind of file"); };
  config->insertPass(&llvm::FinalizeISelID, unpredictable_moves());
  config->insertPass(&llvm::FinalizeISelID, new MachineMark(watch, &parts.selection_ms));
  config->insertPass(&llvm::MachineSchedulerID, new MachineMark(watch, &parts.scheduling_ms));
  // The pass behind the last rewriter of registers: some targets allocate theirs in several turns.
  config->insertPass(&llvm::StackSlotColoringID, new MachineMark(watch, &parts.registers_ms));
  if (pipeline == Pipeline::lean) {
    add_lean_preparation(*config, passes, machine);
    passes.add(new PassMark(watch, &parts.preparation_ms));
    if ((config->*(&Steps::addCoreISelPasses))()) return cannot();
  } else if (config->addISelPasses()) {
    return cannot();
  }
  config->addMachinePasses();
  config->setInitialized();
  if (frequencies) passes.add(new BlockFrequencies(*frequencies));
  if (generator.addAsmPrinter(passes, stream, nullptr, kind, machine_module->getMMI().getContext())) return cannot();
  passes.add(new MachineMark(watch, &parts.emission_ms));
  passes.add(llvm::createFreeMachineFunctionPass());
  watch.add_to(&parts.setup_ms);
  const StrengthReduction reduction(module);
  passes.run(module);
  watch.add_to(&parts.emission_ms);
  return bytes;
}

namespace {

constexpr int64_t kInstructionsOfLane = 6;  ///< test, branch, address, access, and what joins the lanes

int64_t size_of(const llvm::Instruction& instruction, const llvm::TargetTransformInfo& machine) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (!call) return 1;
  const bool is_store = call->getIntrinsicID() == llvm::Intrinsic::masked_store;
  if (!is_store && call->getIntrinsicID() != llvm::Intrinsic::masked_load) return 1;
  llvm::Type* type = is_store ? call->getArgOperand(0)->getType() : call->getType();
  const auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const llvm::Align alignment(std::max<uint64_t>(1, type->getScalarSizeInBits() / 8));
  const bool is_legal =
      is_store ? machine.isLegalMaskedStore(type, alignment, 0) : machine.isLegalMaskedLoad(type, alignment, 0);
  if (is_legal || !lanes) return 1;
  const bool is_known = llvm::isa<llvm::Constant>(call->getArgOperand(is_store ? 2 : 1));  // no branches then
  return (is_known ? 2 : kInstructionsOfLane) * static_cast<int64_t>(lanes->getNumElements());
}

/// Unrolling, the vectorizer of straight code and what compares all accesses of a loop pairwise only while a function
/// is short.
bool should_run(llvm::StringRef pass, const llvm::Any& what) {
  constexpr size_t kMostUnrolled = 1500, kMostVectorized = 3000;
  const bool is_short_only = pass == "LoopFullUnrollPass" || pass == "LoopUnrollPass" ||
                             pass == "LoopUnrollAndJamPass" || pass == "LoopLoadEliminationPass";
  if (!is_short_only && pass != "SLPVectorizerPass") return true;
  const llvm::Function* function = nullptr;
  if (const auto* of_loop = llvm::any_cast<const llvm::Loop*>(&what)) function = (*of_loop)->getHeader()->getParent();
  if (const auto* whole = llvm::any_cast<const llvm::Function*>(&what)) function = *whole;
  return !function || instructions_of(*function) <= (is_short_only ? kMostUnrolled : kMostVectorized);
}

}  // namespace

int64_t code_size(llvm::Module& module, const llvm::TargetMachine& machine) {
  int64_t out = 0;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    const llvm::TargetTransformInfo costs = machine.getTargetTransformInfo(function);
    for (const llvm::BasicBlock& block : function)
      for (const llvm::Instruction& instruction : block) out += size_of(instruction, costs);
  }
  return out;
}

void run_vectorizing_passes(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopInterleaving = tuning.LoopVectorization = tuning.SLPVectorization = true;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassInstrumentationCallbacks asked;
  asked.registerShouldRunOptionalPassCallback(should_run);
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &asked);
  llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

void run_light_passes(llvm::Module& module, llvm::TargetMachine& machine, const InstructionHooks& instructions) {
  llvm::legacy::PassManager light;
  add_light_passes(light, machine, instructions);
  light.run(module);
}

}  // namespace polyweft::targets
