#include "targets/cpu/build.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <chrono>

#include "ir/nests/instruction.h"
#include "support/cpu_levels.h"
#include "support/stage_times.h"
#include "targets/common/code_layout.h"
#include "targets/common/needed_instructions.h"
#include "targets/common/nest_walk.h"
#include "targets/cpu/counted_code.h"
#include "targets/cpu/expected_cycles.h"
#include "targets/cpu/instruction_set.h"
#include "targets/cpu/lower.h"
#include "targets/cpu/pipeline.h"
#include "targets/cpu/spills.h"
#include "targets/cpu/trip_counts.h"

namespace polyweft::targets {
namespace {

Result<std::unique_ptr<llvm::TargetMachine>> new_machine(const InstructionSet& set, const std::string& features) {
  set.initialize();
  std::string problem;
  const auto* llvm_target = llvm::TargetRegistry::lookupTarget(set.triple(), problem);
  if (!llvm_target) return fail("PW0512", "LLVM has no back end for " + set.architecture() + ": " + problem);
  llvm::TargetOptions options;
  options.FunctionSections = false;
  options.LoopAlignment = kLoopLine;
  return std::unique_ptr<llvm::TargetMachine>(
      llvm_target->createTargetMachine(set.triple(), set.basic_cpu(), features, options,
                                       set.is_position_independent() ? llvm::Reloc::PIC_ : llvm::Reloc::Static,
                                       llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

}  // namespace

// Features of a unit beside the CPU, which LLVM knows nothing of.
constexpr const char* kUnitFeature = "unit-";

std::string feature_string(const Target& target) {
  std::string out;
  for (const auto& feature : target.features)
    if (vector_bits_of_feature(feature) == 0 && !feature.starts_with(kUnitFeature))
      out += (out.empty() ? "+" : ",+") + feature;
  return out;
}

void set_vector_length(llvm::Function& f, int bits, int scalable_units) {
  f.addFnAttr("prefer-vector-width", std::to_string(bits));
  f.addFnAttr("min-legal-vector-width", std::to_string(bits));
  const auto units = static_cast<unsigned>(scalable_units);
  if (units > 0) f.addFnAttr(llvm::Attribute::getWithVScaleRangeArgs(f.getContext(), units, units));
}

void set_vector_length(llvm::Function& f, const Target& target) {
  const auto set = instruction_set_of(target);
  set_vector_length(f, target.machine.units.vector_bits, set ? (*set)->scalable_units(target) : 0);
}

// It holds tables of the chip's instructions that take a while to make, so that the last one is kept.
Result<llvm::TargetMachine*> machine_for(const Target& target) {
  static thread_local std::pair<std::string, std::unique_ptr<llvm::TargetMachine>> kept;
  const std::string features = feature_string(target), key = target.architecture + " " + features;
  if (!kept.second || kept.first != key) {
    const auto set = instruction_set_of(target);
    if (!set) return set.error();
    auto made = new_machine(**set, features);
    if (!made) return made.error();
    kept = {key, std::move(made).value()};
  }
  return kept.second.get();
}

namespace {

struct Lowered {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  llvm::TargetMachine* machine = nullptr;
  const InstructionSet* set = nullptr;
  std::unique_ptr<InstructionHooks> instructions;
  std::unique_ptr<UnitHooks> unit;
  bool is_counted = false;
};

/// The target has all instructions that tensor marks name; axes and barriers it has none.
Status can_be_lowered(const LoopNest& nest, const Target& target) {
  for (const Buffer& buffer : nest.buffers)
    if (is_of_unit(buffer.scope) && !target.machine.has_unit())
      return fail("PW0523",
                  "buffer " + buffer.name + " lies in the " + name_of(buffer.scope) + " of a unit, and target " +
                      target.name + " has none",
                  {"promote and accumulate on the heap, or make kernels for a target with such a unit"});
  for (const Node& node : nest.nodes) {
    if (const auto* sync = std::get_if<Sync>(&node); sync && !sync->is_of_copies())
      return fail("PW0523",
                  "the backend for " + target.architecture + " has no barriers: target " + target.name +
                      " has no blocks of threads that could wait for one another",
                  {"take sync out of the nest, or make kernels for a target with such blocks"});
    const auto* loop = std::get_if<Loop>(&node);
    if (loop && loop->mark.kind == MarkKind::axis)
      return fail("PW0519",
                  "a loop is bound to " + loop->mark.detail + ", and target " + target.name +
                      " has neither blocks nor threads to bind to",
                  {"take the steps bind out of the trace, or make the loop parallel"});
  }
  return has_instructions(target, nest);
}

/// Buffers of a few cache lines become arrays on the stack, whose elements LLVM takes apart into registers; memory of
/// the heap it cannot.
LoopNest with_small_arrays(LoopNest nest) {
  constexpr int64_t kMostBytes = 4096;
  std::vector<bool> is_shared(nest.buffers.size(), false);
  for (const Buffer& b : nest.buffers)
    if (b.within) is_shared[b.within->host] = true;
  for (BufferId id = 0; id < nest.buffers.size(); ++id) {
    Buffer& b = nest.buffers[id];
    const bool is_own = b.scope == Scope::heap && !b.within && !is_shared[id] && !nest.symbolic;
    if (is_own && allocated_elements(b) * size_bytes(b.type) <= kMostBytes) b.scope = Scope::stack;
  }
  return nest;
}

Result<Lowered> lowered(const LoopNest& given, const Target& target, const std::string& symbol,
                        Caller caller = Caller::anyone, int expected_threads = 0) {
  const StageTimes::Running part("code: passes and lowering to LLVM");
  const LoopNest nest = given.auto_vectorized ? with_small_arrays(given) : given;
  if (auto status = can_be_lowered(nest, target); !status) return status.error();
  const auto set = instruction_set_of(target);
  if (!set) return set.error();
  auto machine = machine_for(target);
  if (!machine) return machine.error();
  LowerOptions options;
  options.cpu = (*set)->basic_cpu();
  options.symbol = symbol.empty() ? nest.name : symbol;
  options.cpu_features = feature_string(target);
  // LLVM's vectorizers and unroller ask what operations cost; which instructions there are says the list of features
  // alone.
  if (nest.auto_vectorized && target.is_host && target.name == "host")
    options.tuned_for = llvm::sys::getHostCPUName().str();
  if (const std::string off = (*set)->features_against_gathers(); nest.avoids_gathers && !off.empty())
    options.cpu_features += "," + off;
  options.vector_bits = target.machine.units.vector_bits;
  options.scalable_units = (*set)->scalable_units(target);
  options.explains = caller == Caller::anyone;
  options.expected_threads = expected_threads;
  options.plain_pointers = is_plain_c(caller) || caller == Caller::counted;
  options.memory_of_c = caller == Caller::plain_c_alone;
  Lowered out;
  out.set = *set;
  out.is_counted = caller == Caller::counted;
  out.instructions = (*set)->hooks(target);
  out.unit = (*set)->unit(target);
  options.unit = out.unit.get();
  out.context = std::make_unique<llvm::LLVMContext>();
  auto module = lower(*out.context, nest, *out.instructions, options);
  if (!module) return module.error();
  out.module = std::move(module).value();
  out.machine = *machine;
  out.set = *set;
  out.module->setTargetTriple(out.machine->getTargetTriple());
  out.module->setDataLayout(out.machine->createDataLayout());
  return out;
}

// LLVM 22.1 turns a masked store with one active lane into a scalar store of the value's type before truncation: four
// bytes where two are meant. The scalar store is therefore made here.
void store_single_lanes(llvm::Module& module) {
  std::vector<llvm::IntrinsicInst*> stores;
  for (auto& function : module)
    for (auto& block : function)
      for (auto& instruction : block)
        if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
            call && call->getIntrinsicID() == llvm::Intrinsic::masked_store)
          stores.push_back(call);
  for (auto* store : stores) {
    auto* mask = llvm::dyn_cast<llvm::Constant>(store->getArgOperand(2));
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(store->getArgOperand(0)->getType());
    if (!mask || !type) continue;
    unsigned active = 0, lane = 0;
    for (unsigned k = 0; k < type->getNumElements(); ++k)
      if (const auto* bit = mask->getAggregateElement(k); !bit || !bit->isNullValue()) ++active, lane = k;
    if (active != 1) continue;
    llvm::IRBuilder<> builder(store);
    llvm::Value* address =
        builder.CreateInBoundsGEP(type->getElementType(), store->getArgOperand(1), builder.getInt64(lane));
    const llvm::Align alignment(type->getElementType()->getScalarSizeInBits() / 8);
    auto* scalar =
        builder.CreateAlignedStore(builder.CreateExtractElement(store->getArgOperand(0), lane), address, alignment);
    scalar->copyMetadata(*store, {llvm::LLVMContext::MD_alias_scope, llvm::LLVMContext::MD_noalias});
    store->eraseFromParent();
  }
}

/// Such code takes tens of seconds to generate.
constexpr int64_t kLongestCode = 150'000;
/// Nobody waits for code that only tells which of several is better: of short programs little, of long ones some
/// instructions of each part.
int64_t most_to_rank(const LoopNest& nest) {
  constexpr int64_t kOfProgram = 4000, kOfPart = 12;
  return std::min(kLongestCode, kOfProgram + kOfPart * static_cast<int64_t>(nest.nodes.size()));
}

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Result<llvm::SmallVector<char, 0>> emit(Lowered& code, const LoopNest& nest, llvm::CodeGenFileType kind,
                                        CodegenTimes* times = nullptr,
                                        std::vector<BlockFrequency>* frequencies = nullptr,
                                        int64_t most_instructions = kLongestCode) {
  const StageTimes::Running part(nest.auto_vectorized ? "code: LLVM's vectorizers and back end"
                                                      : "code: LLVM's back end");
  const auto start = std::chrono::steady_clock::now();
  nest.auto_vectorized ? run_vectorizing_passes(*code.module, *code.machine)
                       : run_light_passes(*code.module, *code.machine, *code.instructions);
  store_single_lanes(*code.module);
  code.set->prepare(*code.module);
  if (const int64_t size = code_size(*code.module, *code.machine); size > most_instructions)
    return fail(
        "PW0502",
        "the unrolled code has " + std::to_string(size) + " instructions, at most " + std::to_string(most_instructions),
        {"use smaller unrolled or vector loops"});
  if (code.is_counted) count_instructions(*code.module, "polyweft_unit_instructions");
  if (frequencies) tell_trip_counts(*code.module);
  if (times) times->light_ms = ms_since(start);
  // Values of tile registers go through passes that LLVM keeps to itself; what its vectorizers leave needs all of them.
  return write_machine_code(*code.module, *code.machine, kind,
                            has_tiles(nest) || nest.auto_vectorized ? Pipeline::full : Pipeline::lean, times,
                            frequencies);
}

}  // namespace

std::vector<std::string> exported_symbols(const LoopNest& nest, const std::string& symbol) {
  const std::string name = symbol.empty() ? nest.name : symbol;
  std::vector<std::string> out = {name};
  const auto is_promised = [&](BufferId id) {
    return nest.buffers[id].values.has_value() || !nest.buffers[id].promise.empty();
  };
  if (nest.symbolic) out.push_back(name + "_message");
  if (std::any_of(nest.arguments.begin(), nest.arguments.end(), is_promised)) out.push_back(name + "_unchecked");
  for (const auto& pack : nest.packs) {
    const std::string pack_name = name + "_pack_" + nest.buffers[pack.source].name;
    out.insert(out.end(), {pack_name, pack_name + "_bytes"});
    if (is_promised(pack.source)) out.push_back(pack_name + "_unchecked");
  }
  return out;
}

Result<CompiledObject> compile_object(const LoopNest& nest, const Target& target, const std::string& symbol,
                                      Caller caller) {
  const auto start = std::chrono::steady_clock::now();
  auto code = lowered(nest, target, symbol, caller);
  if (!code) return code.error();
  CompiledObject out;
  out.times.lowering_ms = ms_since(start);
  auto bytes = emit(*code, nest, llvm::CodeGenFileType::ObjectFile, &out.times);
  if (!bytes) return bytes.error();
  out.object.assign(bytes->begin(), bytes->end());
  out.architecture = target.architecture;
  out.features = target.features;
  const auto inspection = std::chrono::steady_clock::now();
  out.spills = count_spills(out.object);
  out.times.inspection_ms = ms_since(inspection);
  out.codegen_ms = ms_since(start);
  return out;
}

Result<std::string> assembly_text(const LoopNest& nest, const Target& target, const std::string& symbol,
                                  Caller caller) {
  auto code = lowered(nest, target, symbol, caller);
  if (!code) return code.error();
  auto bytes = emit(*code, nest, llvm::CodeGenFileType::AssemblyFile);
  if (!bytes) return bytes.error();
  return std::string(bytes->begin(), bytes->end());
}

Result<ExpectedCode> expected_code(const LoopNest& nest, const Target& target, int threads) {
  auto code = lowered(nest, target, "", Caller::lab, threads);
  if (!code) return code.error();
  std::vector<BlockFrequency> frequencies;
  auto bytes = emit(*code, nest, llvm::CodeGenFileType::AssemblyFile, nullptr, &frequencies, most_to_rank(nest));
  if (!bytes) return bytes.error();
  return expected_code(std::string(bytes->begin(), bytes->end()), frequencies, target);
}

Result<LoopNest> behind_passes(const LoopNest& nest, const Target& target, const std::string& last) {
  if (auto status = can_be_lowered(nest, target); !status) return status.error();
  const auto set = instruction_set_of(target);
  if (!set) return set.error();
  const ir::PassOptions options = pass_options((*set)->hooks(target)->can());
  return ir::run_passes(nest.auto_vectorized ? with_small_arrays(nest) : nest, options, last);
}

Result<std::string> llvm_text(const LoopNest& nest, const Target& target, const std::string& symbol, Caller caller) {
  auto code = lowered(nest, target, symbol, caller);
  if (!code) return code.error();
  std::string text;
  llvm::raw_string_ostream stream(text);
  code->module->print(stream, nullptr);
  return stream.str();
}

}  // namespace polyweft::targets
