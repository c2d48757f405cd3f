#include "targets/gpu/amdgpu/amdgpu_code.h"

#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>

#include "ir/nests/axes.h"
#include "targets/cpu/linking.h"
#include "targets/gpu/amdgpu/amdgpu_machines.h"
#include "targets/gpu/amdgpu/code_object.h"
#include "targets/gpu/kernel_passes.h"

LLD_HAS_DRIVER(elf)

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
}

namespace polyweft::targets {
namespace {

constexpr const char* kAmdgpuTriple = "amdgcn-amd-amdhsa";
constexpr uint32_t kCodeObjectVersion = 500;  ///< ROCm 5.0 and later load it

class AmdgpuDialect final : public DeviceDialect {
 public:
  llvm::Value* index(llvm::IRBuilder<>& b, const std::string& axis) const override {
    using namespace llvm::Intrinsic;
    constexpr ID kThread[] = {amdgcn_workitem_id_x, amdgcn_workitem_id_y, amdgcn_workitem_id_z};
    constexpr ID kBlock[] = {amdgcn_workgroup_id_x, amdgcn_workgroup_id_y, amdgcn_workgroup_id_z};
    const auto dimension = static_cast<size_t>(axis.back() - 'x');
    const ID id = (ir::is_thread_axis(axis) ? kThread : kBlock)[dimension];
    return b.CreateZExt(b.CreateIntrinsic(id, {}), b.getInt64Ty(), axis);
  }
  void barrier(llvm::IRBuilder<>& b) const override { meet(b, "workgroup", llvm::Intrinsic::amdgcn_s_barrier); }
  void warp_barrier(llvm::IRBuilder<>& b) const override { meet(b, "wavefront", llvm::Intrinsic::amdgcn_wave_barrier); }
  bool multiplies() const override { return true; }
  /// By LLVM's intrinsic. MFMA takes A, B, the sums, and three numbers that arrange blocks; WMMA is overloaded by the
  /// types of sums and factors, that of bytes is told of each factor whether it has a sign, and whether sums saturate.
  std::vector<llvm::Value*> multiply(llvm::IRBuilder<>& b, const ir::Instruction& instruction,
                                     const LaneFragments& of) const override {
    const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(instruction.call);
    if (id == llvm::Intrinsic::not_intrinsic) return {};
    auto* const sums = llvm::FixedVectorType::get(of.sums[0]->getType(), static_cast<unsigned>(of.sums.size()));
    const bool is_overloaded = llvm::Intrinsic::isOverloaded(id);
    llvm::Function* const function = llvm::Intrinsic::getOrInsertDeclaration(
        b.GetInsertBlock()->getModule(), id,
        is_overloaded ? llvm::ArrayRef<llvm::Type*>({sums, factor_type(b, instruction, of.first.size())})
                      : llvm::ArrayRef<llvm::Type*>());
    const bool has_signs = is_overloaded && function->arg_size() == 6;
    std::vector<llvm::Value*> arguments = {joined(b, of.first), joined(b, of.second), joined(b, of.sums)};
    if (has_signs) {
      arguments.insert(arguments.begin() + 1, b.getInt1(instruction.operands[2].type == ElementType::i8));
      arguments.insert(arguments.begin(), b.getInt1(instruction.operands[1].type == ElementType::i8));
    }
    while (arguments.size() < function->arg_size())
      arguments.push_back(llvm::Constant::getNullValue(
          function->getFunctionType()->getParamType(static_cast<unsigned>(arguments.size()))));
    for (unsigned k = 0; k < arguments.size(); ++k) {
      llvm::Type* const wanted = function->getFunctionType()->getParamType(k);
      if (arguments[k]->getType()->getPrimitiveSizeInBits() != wanted->getPrimitiveSizeInBits()) return {};
      arguments[k] = b.CreateBitCast(arguments[k], wanted);
    }
    llvm::Value* const made = b.CreateCall(function, arguments);
    std::vector<llvm::Value*> out;
    for (uint64_t k = 0; k < of.sums.size(); ++k) out.push_back(b.CreateExtractElement(made, k));
    return out;
  }
  unsigned constant_space() const override { return 4; }
  std::string data_layout() const override { return llvm::Triple(kAmdgpuTriple).computeDataLayout(); }
  void mark_kernel(llvm::Function& function, const DeviceKernel& kernel) const override {
    function.setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
    const std::string threads = std::to_string(kernel.thread_count());
    function.addFnAttr("amdgpu-flat-work-group-size", threads + "," + threads);
    function.addFnAttr("uniform-work-group-size", "true");
    function.addFnAttr("denormal-fp-math", "ieee,ieee");
    function.addFnAttr("denormal-fp-math-f32", "ieee,ieee");
    for (const char* unused : kUnused) function.addFnAttr(unused);
    llvm::Type* const i32 = llvm::Type::getInt32Ty(function.getContext());
    std::vector<llvm::Metadata*> size;
    for (int64_t extent : kernel.threads)
      size.push_back(llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(i32, static_cast<uint64_t>(extent))));
    function.setMetadata("reqd_work_group_size", llvm::MDNode::get(function.getContext(), size));
  }

 private:
  /// What a kernel takes from its dispatch besides its arguments, and ours never ask for.
  static constexpr const char* kUnused[] = {
      "amdgpu-no-dispatch-ptr",       "amdgpu-no-queue-ptr",     "amdgpu-no-dispatch-id",
      "amdgpu-no-implicitarg-ptr",    "amdgpu-no-lds-kernel-id", "amdgpu-no-hostcall-ptr",
      "amdgpu-no-heap-ptr",           "amdgpu-no-default-queue", "amdgpu-no-completion-action",
      "amdgpu-no-multigrid-sync-arg", "amdgpu-no-cluster-id-x",  "amdgpu-no-cluster-id-y",
      "amdgpu-no-cluster-id-z"};

  static llvm::Value* joined(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& of) {
    if (of.size() == 1) return of[0];
    llvm::Value* out =
        llvm::PoisonValue::get(llvm::FixedVectorType::get(of[0]->getType(), static_cast<unsigned>(of.size())));
    for (uint64_t k = 0; k < of.size(); ++k) out = b.CreateInsertElement(out, of[k], k);
    return out;
  }
  /// Halves are halves, bf16 numbers of 16 bits, bytes lie in words.
  static llvm::Type* factor_type(llvm::IRBuilder<>& b, const ir::Instruction& instruction, size_t words) {
    const auto count = static_cast<unsigned>(words);
    switch (instruction.operands[1].type) {
      case ElementType::f16:
        return llvm::FixedVectorType::get(b.getHalfTy(), 2 * count);
      case ElementType::bf16:
        return llvm::FixedVectorType::get(b.getInt16Ty(), 2 * count);
      default:
        return llvm::FixedVectorType::get(b.getInt32Ty(), count);
    }
  }
  /// What was written before is seen behind it by all of the scope.
  static void meet(llvm::IRBuilder<>& b, const char* scope, llvm::Intrinsic::ID wait) {
    const auto id = b.getContext().getOrInsertSyncScopeID(scope);
    b.CreateFence(llvm::AtomicOrdering::Release, id);
    b.CreateIntrinsic(wait, {});
    b.CreateFence(llvm::AtomicOrdering::Acquire, id);
  }
};

Result<std::unique_ptr<llvm::TargetMachine>> new_amdgpu_machine(const AmdgpuMachine& machine) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
  });
  std::string problem;
  const llvm::Triple triple(kAmdgpuTriple);
  const auto* target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target) return fail("PW0512", "LLVM has no back end for AMD's GPUs: " + problem);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, machine.name, "", options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

/// What LLVM's back end complains of. Its own handler would end the process.
class Complaints final : public llvm::DiagnosticHandler {
 public:
  explicit Complaints(std::string& text) : text_(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& of) override {
    if (of.getSeverity() != llvm::DS_Error || !text_.empty()) return true;
    llvm::raw_string_ostream stream(text_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    of.print(printer);
    return true;
  }

 private:
  std::string& text_;
};

struct AmdgpuModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};

Result<AmdgpuModule> amdgpu_module(const DeviceNest& nest, const Target& target, const std::string& symbol) {
  const AmdgpuMachine* const wanted = amdgpu_machine(target);
  if (!wanted) return fail("PW0512", "target " + target.name + " is none of " + amdgpu_names());
  const InstructionHooks instructions(amdgpu_capabilities());
  AmdgpuModule out;
  auto machine = new_amdgpu_machine(*wanted);
  if (!machine) return machine.error();
  out.machine = std::move(machine).value();
  out.context = std::make_unique<llvm::LLVMContext>();
  auto module = lower_kernels(*out.context, nest, instructions, amdgpu_dialect(), symbol);
  if (!module) return module.error();
  out.module = std::move(module).value();
  out.module->setTargetTriple(out.machine->getTargetTriple());
  out.module->addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kCodeObjectVersion);
  simplify_kernels(*out.module, *out.machine);
  return out;
}

Result<Bytes> written_code(const DeviceNest& nest, const Target& target, const std::string& symbol,
                           llvm::CodeGenFileType kind) {
  auto code = amdgpu_module(nest, target, symbol);
  if (!code) return code.error();
  std::string complaint;
  code->context->setDiagnosticHandler(std::make_unique<Complaints>(complaint));
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (code->machine->addPassesToEmitFile(passes, stream, nullptr, kind))
    return fail("PW0512", "LLVM's back end for AMD's GPUs writes no such file");
  passes.run(*code->module);
  if (!complaint.empty()) return fail("PW0512", "LLVM's back end for AMD's GPUs refuses a kernel: " + complaint);
  return Bytes(bytes.begin(), bytes.end());
}

}  // namespace

const DeviceDialect& amdgpu_dialect() {
  static const AmdgpuDialect dialect;
  return dialect;
}

Result<Bytes> amdgpu_object(const DeviceNest& nest, const Target& target, const std::string& symbol) {
  return written_code(nest, target, symbol, llvm::CodeGenFileType::ObjectFile);
}

Result<Bytes> amdgpu_code_object(const DeviceNest& nest, const Target& target, const std::string& symbol) {
  auto object = amdgpu_object(nest, target, symbol);
  if (!object) return object;
  if (Status whole = calls_nothing_outside(*object); !whole) return whole.error();
  auto linked = linked_by(&lld::elf::link, {"ld.lld", "-shared", "--no-undefined", "--threads=1", "--build-id=none"},
                          {{object->data(), object->size()}});
  if (!linked) return linked;
  if (Status fits = checked_code_object(*linked, nest, symbol, target.machine); !fits) return fits.error();
  return linked;
}

Result<std::string> amdgpu_assembly(const DeviceNest& nest, const Target& target, const std::string& symbol) {
  auto bytes = written_code(nest, target, symbol, llvm::CodeGenFileType::AssemblyFile);
  if (!bytes) return bytes.error();
  return std::string(bytes->begin(), bytes->end());
}

Result<std::string> amdgpu_llvm_text(const DeviceNest& nest, const Target& target, const std::string& symbol) {
  auto code = amdgpu_module(nest, target, symbol);
  if (!code) return code.error();
  std::string text;
  llvm::raw_string_ostream stream(text);
  code->module->print(stream, nullptr);
  return stream.str();
}

}  // namespace polyweft::targets
