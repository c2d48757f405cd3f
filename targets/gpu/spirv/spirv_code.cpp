#include "targets/gpu/spirv/spirv_code.h"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>

#include "ir/nests/axes.h"
#include "targets/gpu/kernel_passes.h"
#include "targets/gpu/kernels.h"

extern "C" {
void LLVMInitializeSPIRVTargetInfo();
void LLVMInitializeSPIRVTarget();
void LLVMInitializeSPIRVTargetMC();
void LLVMInitializeSPIRVAsmPrinter();
}

namespace polyweft::targets {
namespace {

constexpr const char* kTriple = "spirv64-unknown-unknown";

/// Builtins of OpenCL C by their mangled names, which LLVM's SPIR-V back end knows.
class OpenClDialect final : public DeviceDialect {
 public:
  llvm::Value* index(llvm::IRBuilder<>& b, const std::string& axis) const override {
    const char* const name = ir::is_thread_axis(axis) ? "_Z12get_local_idj" : "_Z12get_group_idj";
    llvm::Function* function = builtin(b, name, b.getInt64Ty());
    function->setDoesNotAccessMemory();
    return b.CreateCall(function, {b.getInt32(static_cast<uint32_t>(axis.back() - 'x'))}, axis);
  }
  void barrier(llvm::IRBuilder<>& b) const override {
    constexpr uint32_t kLocalAndGlobal = 3;
    llvm::Function* function = builtin(b, "_Z7barrierj", b.getVoidTy());
    function->addFnAttr(llvm::Attribute::Convergent);
    b.CreateCall(function, {b.getInt32(kLocalAndGlobal)})->setConvergent();
  }
  /// Along x; 0, which no compiler knows: hosts may launch kernels with one.
  static llvm::Value* launch_offset(llvm::IRBuilder<>& b) {
    llvm::Function* function = builtin(b, "_Z17get_global_offsetj", b.getInt64Ty());
    function->setDoesNotAccessMemory();
    return b.CreateCall(function, {b.getInt32(0)}, "offset");
  }
  unsigned constant_space() const override { return 2; }
  void mark_kernel(llvm::Function& function, const DeviceKernel& kernel) const override {
    function.setCallingConv(llvm::CallingConv::SPIR_KERNEL);
    llvm::Type* i32 = llvm::Type::getInt32Ty(function.getContext());
    std::vector<llvm::Metadata*> size;
    for (int64_t extent : kernel.threads)
      size.push_back(llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(i32, static_cast<uint64_t>(extent))));
    function.setMetadata("reqd_work_group_size", llvm::MDNode::get(function.getContext(), size));
  }

 private:
  static llvm::Function* builtin(llvm::IRBuilder<>& b, const char* name, llvm::Type* result) {
    auto* type = llvm::FunctionType::get(result, {b.getInt32Ty()}, false);
    auto* function =
        llvm::cast<llvm::Function>(b.GetInsertBlock()->getModule()->getOrInsertFunction(name, type).getCallee());
    function->setCallingConv(llvm::CallingConv::SPIR_FUNC);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    return function;
  }
};

/// What every OpenCL device computes with one rounding as the language wants it.
InstructionHooks opencl_instructions() {
  InstructionCapabilities can;
  can.half_conversions = false;
  can.maximum = false;  // LLVM's back end takes fmax, which gives the number
  set_register_shares(can, 16);
  return InstructionHooks(can);
}

Result<std::unique_ptr<llvm::TargetMachine>> spirv_machine() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeSPIRVTargetInfo();
    LLVMInitializeSPIRVTarget();
    LLVMInitializeSPIRVTargetMC();
    LLVMInitializeSPIRVAsmPrinter();
  });
  std::string problem;
  const llvm::Triple triple(kTriple);
  const auto* target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target) return fail("PW0512", "LLVM has no back end for SPIR-V: " + problem);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, "", "", {}, std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
}

/// Except in class reassoc the order of a sum decides its bits. Intel's compiler of OpenCL kernels for CPUs (2026.2)
/// takes a sum that a loop carries, in a register or in memory, apart into partial sums all the same. It cannot where
/// the sum goes through something whose value it does not know: the launch's offset, which is 0.
class HiddenSums {
 public:
  explicit HiddenSums(llvm::Function& function) : function_(function), dominators_(function) {}

  void run() {
    std::vector<llvm::Instruction*> users;
    for (llvm::BasicBlock& block : function_)
      for (llvm::Instruction& user : block)
        if (llvm::isa<llvm::PHINode, llvm::StoreInst>(user)) users.push_back(&user);
    for (llvm::Instruction* user : users) {
      auto* const phi = llvm::dyn_cast<llvm::PHINode>(user);
      if (!phi) hide(user->getOperandUse(0), user);
      for (unsigned i = 0; phi && i < phi->getNumIncomingValues(); ++i)
        if (llvm::BasicBlock* from = phi->getIncomingBlock(i); dominators_.dominates(phi->getParent(), from))
          hide(phi->getOperandUse(i), from->getTerminator());
    }
  }

 private:
  void hide(llvm::Use& use, llvm::Instruction* before) {
    llvm::Value* const value = use.get();
    if (!value->getType()->isFloatingPointTy() || !llvm::isa<llvm::Instruction>(value) ||
        llvm::isa<llvm::LoadInst>(value))
      return;
    if (!offset_) {
      llvm::IRBuilder<> b(&*function_.getEntryBlock().getFirstInsertionPt());
      offset_ = OpenClDialect::launch_offset(b);
    }
    llvm::IRBuilder<> b(before);
    llvm::Type* const bits = b.getIntNTy(static_cast<unsigned>(value->getType()->getPrimitiveSizeInBits()));
    llvm::Value* const hidden = b.CreateXor(b.CreateBitCast(value, bits), b.CreateZExtOrTrunc(offset_, bits));
    use.set(b.CreateBitCast(hidden, value->getType()));
  }

  llvm::Function& function_;
  const llvm::DominatorTree dominators_;
  llvm::Value* offset_ = nullptr;
};

struct LoweredKernels {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};

Result<LoweredKernels> lowered_kernels(const DeviceNest& nest, const std::string& symbol) {
  static const OpenClDialect dialect;
  static const InstructionHooks instructions = opencl_instructions();
  LoweredKernels out;
  auto machine = spirv_machine();
  if (!machine) return machine.error();
  out.machine = std::move(machine).value();
  out.context = std::make_unique<llvm::LLVMContext>();
  auto module = lower_kernels(*out.context, nest, instructions, dialect, symbol);
  if (!module) return module.error();
  out.module = std::move(module).value();
  out.module->setTargetTriple(out.machine->getTargetTriple());
  out.module->setDataLayout(out.machine->createDataLayout());
  simplify_kernels(*out.module, *out.machine, KernelForms::as_written);
  if (nest.nest.cls != NumericsClass::reassoc)
    for (llvm::Function& function : *out.module)
      if (!function.isDeclaration()) HiddenSums(function).run();
  return out;
}

}  // namespace

Result<std::string> spirv_llvm_text(const DeviceNest& nest, const std::string& symbol) {
  auto code = lowered_kernels(nest, symbol);
  if (!code) return code.error();
  std::string text;
  llvm::raw_string_ostream stream(text);
  code->module->print(stream, nullptr);
  return stream.str();
}

Result<Bytes> spirv_of_llvm(const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseIR(llvm::MemoryBufferRef(text, "kernels"), diagnostic, context);
  if (!module) return fail("PW0599", "internal: the kernels' text: " + diagnostic.getMessage().str());
  auto machine = spirv_machine();
  if (!machine) return machine.error();
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return fail("PW0512", "LLVM's back end for SPIR-V writes no modules");
  passes.run(*module);
  return Bytes(bytes.begin(), bytes.end());
}

}  // namespace polyweft::targets
