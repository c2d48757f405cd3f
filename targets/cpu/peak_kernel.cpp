#include "targets/cpu/peak_kernel.h"

#include <llvm/Target/TargetMachine.h>

#include <algorithm>

#include "ir/nests/instruction.h"
#include "polyweft/program.h"
#include "targets/common/instruction_hooks.h"
#include "targets/common/needed_instructions.h"
#include "targets/cpu/instruction_set.h"
#include "targets/cpu/pipeline.h"

namespace polyweft::targets {
namespace {

constexpr unsigned kVectorChains = 12;  // latency 4 or 5 times 2 ports
constexpr unsigned kTileChains = 4;     // sums in tiles 0..3; tiles 4, 5 times tiles 6, 7

const ir::Instruction* instruction_of(const Unit& unit) {
  if (unit.instruction.empty()) return nullptr;
  const auto found = ir::instruction_named(unit.instruction);
  return found ? *found : nullptr;
}

double multiply_adds(const ir::Instruction& instruction) {
  double out = 1;
  for (const auto& axis : instruction.axes) out *= static_cast<double>(axis.extent);
  return out;
}

unsigned parts_of(const ir::Instruction& instruction) {
  int32_t parts = 1;
  for (const auto& operand : instruction.operands) parts = std::max(parts, operand.parts);
  return static_cast<unsigned>(parts);
}

unsigned chains_of(const ir::Instruction* instruction) {
  return instruction && instruction->is_tile() ? kTileChains : kVectorChains;
}

/// Writes the module: a task that loops, and the kernel that starts one on each thread.
class Writer {
 public:
  Writer(llvm::LLVMContext& context, const Unit& unit, const Target& target, const InstructionSet& set)
      : module_(std::make_unique<llvm::Module>("peak_kernel", context)),
        b_(context),
        unit_(unit),
        target_(target),
        cpu_(set.basic_cpu()),
        hooks_(set.hooks(target)),
        instruction_(instruction_of(unit)) {}

  std::unique_ptr<llvm::Module> write(const std::string& symbol, int threads, int64_t iterations) {
    llvm::Type *i32 = b_.getInt32Ty(), *pointer = b_.getPtrTy();
    auto* task = function("task", llvm::FunctionType::get(i32, {pointer, i32, pointer}, false),
                          llvm::GlobalValue::InternalLinkage);
    begin(task);
    if (instruction_ && instruction_->is_tile())
      tiles(iterations);
    else
      vectors(iterations);
    b_.CreateRet(b_.getInt32(0));
    auto* kernel = function(symbol, llvm::FunctionType::get(i32, false), llvm::GlobalValue::ExternalLinkage);
    begin(kernel);
    llvm::Value* null = llvm::ConstantPointerNull::get(b_.getPtrTy());
    if (threads == 1) {
      b_.CreateRet(b_.CreateCall(task, {null, b_.getInt32(0), null}));
    } else {
      auto start = module_->getOrInsertFunction("halide_do_par_for", i32, pointer, pointer, i32, i32, pointer);
      b_.CreateRet(
          b_.CreateCall(start, {null, task, b_.getInt32(0), b_.getInt32(static_cast<uint32_t>(threads)), null}));
    }
    return std::move(module_);
  }

 private:
  llvm::Function* function(const std::string& name, llvm::FunctionType* type, llvm::GlobalValue::LinkageTypes linkage) {
    auto* f = llvm::Function::Create(type, linkage, name, *module_);
    f->addFnAttr("target-cpu", cpu_);
    f->addFnAttr("target-features", feature_string(target_));
    set_vector_length(*f, target_);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    return f;
  }
  void begin(llvm::Function* f) { b_.SetInsertPoint(llvm::BasicBlock::Create(module_->getContext(), "entry", f)); }

  /// The body, so many times; `body` gets what the sums are and gives what they become.
  template <class Body>
  std::vector<llvm::Value*> loop(int64_t iterations, const std::vector<llvm::Value*>& first, const Body& body) {
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::Function* f = before->getParent();
    auto* inside = llvm::BasicBlock::Create(module_->getContext(), "loop", f);
    auto* after = llvm::BasicBlock::Create(module_->getContext(), "after", f);
    b_.CreateBr(inside);
    b_.SetInsertPoint(inside);
    auto* count = b_.CreatePHI(b_.getInt64Ty(), 2);
    std::vector<llvm::PHINode*> phis;
    for (llvm::Value* value : first) {
      phis.push_back(b_.CreatePHI(value->getType(), 2));
      phis.back()->addIncoming(value, before);
    }
    const std::vector<llvm::Value*> next = body(std::vector<llvm::Value*>(phis.begin(), phis.end()));
    llvm::Value* left = b_.CreateSub(count, b_.getInt64(1));
    count->addIncoming(b_.getInt64(static_cast<uint64_t>(iterations)), before);
    count->addIncoming(left, inside);
    for (size_t k = 0; k < phis.size(); ++k) phis[k]->addIncoming(next[k], inside);
    b_.CreateCondBr(b_.CreateICmpNE(left, b_.getInt64(0)), inside, after);
    b_.SetInsertPoint(after);
    return next;
  }

  llvm::Type* element(const std::string& name) {
    if (name == "f32") return b_.getFloatTy();
    if (name == "bf16") return b_.getBFloatTy();
    return b_.getIntNTy(name == "i8" ? 8 : name == "i16" ? 16 : 32);
  }
  /// Nobody knows what is in there but we.
  llvm::Value* unknown(llvm::Type* type) {
    auto* memory = new llvm::GlobalVariable(*module_, type, false, llvm::GlobalValue::InternalLinkage,
                                            llvm::Constant::getNullValue(type), "zeros");
    memory->setAlignment(llvm::Align(64));
    return b_.CreateAlignedLoad(type, memory, llvm::Align(64), true);
  }

  void vectors(int64_t iterations) {
    std::vector<llvm::Type*> types;
    llvm::FunctionCallee call;
    if (instruction_) {
      for (const auto& operand : instruction_->operands)
        types.push_back(llvm::FixedVectorType::get(element(operand.register_element),
                                                   static_cast<unsigned>(operand.register_lanes)));
      call = module_->getOrInsertFunction(instruction_->call, llvm::FunctionType::get(types[0], types, false));
    } else {
      llvm::Type* type = unit_.type == ElementType::f64   ? b_.getDoubleTy()
                         : unit_.type == ElementType::f16 ? b_.getHalfTy()
                                                          : b_.getFloatTy();
      types.assign(3, llvm::FixedVectorType::get(type, static_cast<unsigned>(target_.machine.units.vector_bits) /
                                                           type->getScalarSizeInBits()));
    }
    llvm::Value *a = unknown(types[1]), *b = unknown(types[2]);
    std::vector<llvm::Value*> sums;
    for (unsigned k = 0; k < kVectorChains; ++k) sums.push_back(unknown(types[0]));
    const auto sum_of = [&](llvm::Value* sum) -> llvm::Value* {
      if (instruction_) return b_.CreateCall(call, {sum, a, b});
      if (target_.can.fused_products) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {types[0]}, {a, b, sum});
      return b_.CreateFAdd(b_.CreateFMul(sum, a), b);
    };
    sums = loop(iterations, sums, [&](std::vector<llvm::Value*> now) {
      for (auto& sum : now) sum = sum_of(sum);
      return now;
    });
    auto* nowhere = b_.CreateAlloca(types[0]);
    for (llvm::Value* sum : sums) b_.CreateStore(sum, nowhere, true);
  }

  void tiles(int64_t iterations) {
    const TileUnit& unit = *hooks_->tile_unit();
    unit.switch_on(b_);
    llvm::Type* i8 = b_.getInt8Ty();
    for (int tile = 0; tile < static_cast<int>(ir::kLiveTiles); ++tile) unit.clear(b_, tile);
    auto call =
        module_->getOrInsertFunction(instruction_->call, llvm::FunctionType::get(b_.getVoidTy(), {i8, i8, i8}, false));
    loop(iterations, {}, [&](const std::vector<llvm::Value*>& none) {
      for (unsigned part = 0; part < parts_of(*instruction_); ++part)
        for (uint8_t sum = 0; sum < kTileChains; ++sum)
          b_.CreateCall(call, {b_.getInt8(sum), b_.getInt8(static_cast<uint8_t>(4 + sum / 2)),
                               b_.getInt8(static_cast<uint8_t>(6 + sum % 2))});
      return none;
    });
    unit.switch_off(b_);
  }

  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> b_;
  const Unit& unit_;
  const Target& target_;
  std::string cpu_;
  std::unique_ptr<InstructionHooks> hooks_;
  const ir::Instruction* instruction_;
};

}  // namespace

std::optional<Unit> unit_of(const LoopNest& nest, const Target& target) {
  const ir::Instruction* most = nullptr;
  bool wide = false, single = false, half = false;
  const auto meet = [&](ElementType type) {
    wide |= type == ElementType::f64;
    single |= type == ElementType::f32 || type == ElementType::bf16;
    half |= type == ElementType::f16;
  };
  for (const Node& node : nest.nodes) {
    if (const auto* loop = std::get_if<Loop>(&node); loop && loop->mark.kind == MarkKind::tensor) {
      const auto found = ir::instruction_named(loop->mark.detail);
      if (found && (!most || multiply_adds(**found) / parts_of(**found) > multiply_adds(*most) / parts_of(*most)))
        most = *found;
    }
    if (const auto* compute = std::get_if<Compute>(&node))
      for (const Expr& value : compute->rhs) visit(value, [&](const ExprNode& part) { meet(part.type); });
  }
  if (most) return Unit{most->name, ElementType::f32};
  if (wide) return Unit{"", ElementType::f64};
  if (half && !single && target.can.half_arithmetic) return Unit{"", ElementType::f16};
  if (single || half) return Unit{"", ElementType::f32};
  return std::nullopt;
}

std::string name_of(const Unit& unit) {
  return unit.instruction.empty() ? std::string(name_of(unit.type)) + " multiply-adds" : unit.instruction;
}

double operations_of(const Unit& unit, const Target& target) {
  if (const auto* instruction = instruction_of(unit)) return 2 * multiply_adds(*instruction);
  return 2.0 * target.machine.units.vector_bits / (8.0 * static_cast<double>(size_bytes(unit.type)));
}

int64_t peak_kernel_instructions(const Unit& unit, int64_t at_least) {
  const auto chains = static_cast<int64_t>(chains_of(instruction_of(unit)));
  return std::max<int64_t>(1, (at_least + chains - 1) / chains) * chains;
}

Result<CompiledObject> compile_peak_kernel(const Unit& unit, const Target& target, const std::string& symbol,
                                           int threads, int64_t instructions) {
  const auto* instruction = instruction_of(unit);
  if (!unit.instruction.empty() && !instruction) return fail("PW0416", "there is no instruction " + unit.instruction);
  if (instruction)
    if (Status has = has_instruction(target, *instruction); !has) return has.error();
  const auto set = instruction_set_of(target);
  if (!set) return set.error();
  auto machine = machine_for(target);
  if (!machine) return machine.error();
  llvm::LLVMContext context;
  auto module = Writer(context, unit, target, **set)
                    .write(symbol, threads, peak_kernel_instructions(unit, instructions) / chains_of(instruction));
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  auto bytes = write_machine_code(*module, **machine, llvm::CodeGenFileType::ObjectFile, Pipeline::full, nullptr);
  if (!bytes) return bytes.error();
  CompiledObject out;
  out.object.assign(bytes->begin(), bytes->end());
  out.features = target.features;
  return out;
}

}  // namespace polyweft::targets
