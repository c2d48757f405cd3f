#include "targets/gpu/nvptx/nvptx_code.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>

#include "ir/nests/axes.h"
#include "targets/gpu/kernel_passes.h"
#include "targets/gpu/nvptx/nvptx_machines.h"

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace polyweft::targets {
namespace {

class NvptxDialect final : public DeviceDialect {
 public:
  explicit NvptxDialect(bool copies_async) : copies_async_(copies_async) {}
  llvm::Value* index(llvm::IRBuilder<>& b, const std::string& axis) const override {
    using namespace llvm::Intrinsic;
    constexpr ID kThread[] = {nvvm_read_ptx_sreg_tid_x, nvvm_read_ptx_sreg_tid_y, nvvm_read_ptx_sreg_tid_z};
    constexpr ID kBlock[] = {nvvm_read_ptx_sreg_ctaid_x, nvvm_read_ptx_sreg_ctaid_y, nvvm_read_ptx_sreg_ctaid_z};
    const auto dimension = static_cast<size_t>(axis.back() - 'x');
    const ID id = (ir::is_thread_axis(axis) ? kThread : kBlock)[dimension];
    return b.CreateZExt(b.CreateIntrinsic(id, {}), b.getInt64Ty(), axis);
  }
  void barrier(llvm::IRBuilder<>& b) const override {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {b.getInt32(0)});
  }
  bool multiplies() const override { return true; }
  void warp_barrier(llvm::IRBuilder<>& b) const override {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {b.getInt32(UINT32_MAX)});
  }
  /// By LLVM's intrinsic: words of A, words of B, sums.
  std::vector<llvm::Value*> multiply(llvm::IRBuilder<>& b, const ir::Instruction& instruction,
                                     const LaneFragments& of) const override {
    const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(instruction.call);
    if (id == llvm::Intrinsic::not_intrinsic) return {};
    llvm::Function* const function = llvm::Intrinsic::getOrInsertDeclaration(b.GetInsertBlock()->getModule(), id);
    std::vector<llvm::Value*> arguments = of.first;
    arguments.insert(arguments.end(), of.second.begin(), of.second.end());
    arguments.insert(arguments.end(), of.sums.begin(), of.sums.end());
    if (arguments.size() != function->arg_size()) return {};
    for (unsigned k = 0; k < arguments.size(); ++k)
      arguments[k] = b.CreateBitCast(arguments[k], function->getFunctionType()->getParamType(k));
    llvm::Value* const made = b.CreateCall(function, arguments);
    std::vector<llvm::Value*> out;
    for (unsigned k = 0; k < of.sums.size(); ++k) out.push_back(b.CreateExtractValue(made, k));
    return out;
  }
  void publish_shared(llvm::IRBuilder<>& b) const override {
    call_text(b, b.getVoidTy(), "fence.proxy.async.shared::cta;", "~{memory}", {});
  }
  /// PTX ISA 8.7, "Asynchronous Warpgroup Level Matrix Instructions": descriptors of factors, in 16 bytes where they
  /// begin, how far apart two spans of 128 bytes along the data dimension and two groups of eight lines lie; the xor of
  /// 128 bytes.
  std::vector<llvm::Value*> multiply_shared(llvm::IRBuilder<>& b, const ir::Instruction& instruction,
                                            const std::vector<llvm::Value*>& sums, const SharedFactor& first,
                                            const SharedFactor& second) const override {
    const size_t count = sums.size();
    const auto number = [](size_t k) { return "$" + std::to_string(k); };
    std::string text = instruction.call + " {", outputs, tied;
    for (size_t k = 0; k < count; ++k) {
      text += (k ? "," : "") + number(k);
      outputs += "=f,";
      tied += "," + std::to_string(k);
    }
    text += "}, " + number(count) + ", " + number(count + 1) + ", 1, 1, 1, " + (first.is_turned ? "1" : "0") + ", " +
            (second.is_turned ? "1" : "0") + ";";
    std::vector<llvm::Value*> arguments = {descriptor(b, first), descriptor(b, second)};
    arguments.insert(arguments.end(), sums.begin(), sums.end());
    return fields(b, call_text(b, of_sums(b, count), text, outputs + "l,l" + tied + ",~{memory}", arguments), count);
  }
  void begin_products(llvm::IRBuilder<>& b) const override {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_wgmma_fence_sync_aligned, {});
  }
  void commit_products(llvm::IRBuilder<>& b) const override {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_wgmma_commit_group_sync_aligned, {});
  }
  void wait_for_products(llvm::IRBuilder<>& b, int32_t groups) const override {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_wgmma_wait_group_sync_aligned, {b.getInt64(static_cast<uint64_t>(groups))});
  }
  /// An empty text that takes and gives them: no use of them comes before the wait.
  std::vector<llvm::Value*> settle(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& sums) const override {
    std::string outputs, tied;
    for (size_t k = 0; k < sums.size(); ++k) outputs += "=f,", tied += std::to_string(k) + ",";
    return fields(b, call_text(b, of_sums(b, sums.size()), "", outputs + tied + "~{memory}", sums), sums.size());
  }
  /// 16 bytes go past the first cache.
  bool copy_async(llvm::IRBuilder<>& b, llvm::Value* to, llvm::Value* from, int64_t bytes) const override {
    using namespace llvm::Intrinsic;
    const ID id = bytes == 16  ? nvvm_cp_async_cg_shared_global_16
                  : bytes == 8 ? nvvm_cp_async_ca_shared_global_8
                  : bytes == 4 ? nvvm_cp_async_ca_shared_global_4
                               : not_intrinsic;
    if (!copies_async_ || id == not_intrinsic) return false;
    b.CreateIntrinsic(id, {to, from});
    return true;
  }
  void wait_for_copies(llvm::IRBuilder<>& b) const override {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_all, {});
  }
  void commit_copies(llvm::IRBuilder<>& b) const override {
    if (copies_async_) b.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {});
  }
  void wait_for_groups(llvm::IRBuilder<>& b, int32_t groups) const override {
    if (copies_async_)
      b.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {b.getInt32(static_cast<uint32_t>(groups))});
  }
  std::vector<llvm::Value*> load_matrices(llvm::IRBuilder<>& b, llvm::Value* row, size_t count,
                                          bool is_transposed) const override {
    const std::string name =
        "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x" + std::to_string(count) + (is_transposed ? ".trans" : "") + ".b16";
    const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(name);
    if (id == llvm::Intrinsic::not_intrinsic) return {};
    llvm::Value* const made = b.CreateIntrinsic(id, {row->getType()}, {row});
    if (count == 1) return {made};
    std::vector<llvm::Value*> out;
    for (unsigned k = 0; k < count; ++k) out.push_back(b.CreateExtractValue(made, k));
    return out;
  }
  /// Tables of any size: the space of constants ends at 64 KiB.
  unsigned constant_space() const override { return 1; }
  void mark_kernel(llvm::Function& function, const DeviceKernel& kernel) const override {
    function.setCallingConv(llvm::CallingConv::PTX_Kernel);
    std::string threads;
    for (int64_t extent : kernel.threads) threads += (threads.empty() ? "" : ",") + std::to_string(extent);
    function.addFnAttr("nvvm.reqntid", threads);
  }

 private:
  static llvm::Value* call_text(llvm::IRBuilder<>& b, llvm::Type* result, const std::string& text,
                                const std::string& constraints, const std::vector<llvm::Value*>& arguments) {
    std::vector<llvm::Type*> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    auto* type = llvm::FunctionType::get(result, types, false);
    auto* call = b.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, true), arguments);
    call->setConvergent();
    call->addFnAttr(llvm::Attribute::NoUnwind);
    return call;
  }
  static llvm::Type* of_sums(llvm::IRBuilder<>& b, size_t count) {
    return llvm::StructType::get(b.getContext(), std::vector<llvm::Type*>(count, b.getFloatTy()));
  }
  static std::vector<llvm::Value*> fields(llvm::IRBuilder<>& b, llvm::Value* of, size_t count) {
    std::vector<llvm::Value*> out;
    for (unsigned k = 0; k < count; ++k) out.push_back(b.CreateExtractValue(of, k));
    return out;
  }
  static llvm::Value* descriptor(llvm::IRBuilder<>& b, const SharedFactor& factor) {
    constexpr uint64_t kUnit = kXorUnitBytes, kEightLines = kXorBytes / kUnit, kXorOf128 = uint64_t{1} << 62;
    const uint64_t next = factor.next_lines == 0 ? 1 : static_cast<uint64_t>(factor.next_lines) / kUnit;
    llvm::Value* const at =
        b.CreateAnd(b.CreateLShr(b.CreatePtrToInt(factor.first, b.getInt64Ty()), b.getInt64(4)), b.getInt64(0x3fff));
    return b.CreateOr(at, b.getInt64(next << 16 | kEightLines << 32 | kXorOf128));
  }

  const bool copies_async_;
};

Result<std::unique_ptr<llvm::TargetMachine>> new_nvptx_machine(const NvptxMachine& machine) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string problem;
  const llvm::Triple triple("nvptx64-nvidia-cuda");
  const auto* target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target) return fail("PW0512", "LLVM has no back end for PTX: " + problem);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, machine.name, std::string("+") + machine.ptx, {}, std::nullopt, std::nullopt,
                                  llvm::CodeGenOptLevel::Default));
}

struct PtxModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};

Result<PtxModule> ptx_module(const DeviceNest& nest, const Target& target, const std::string& symbol) {
  const NvptxMachine* const wanted = nvptx_machine(target);
  if (!wanted) return fail("PW0512", "target " + target.name + " is none of " + nvptx_names());
  const InstructionHooks instructions(nvptx_capabilities(*wanted));
  PtxModule out;
  auto machine = new_nvptx_machine(*wanted);
  if (!machine) return machine.error();
  out.machine = std::move(machine).value();
  out.context = std::make_unique<llvm::LLVMContext>();
  auto module = lower_kernels(*out.context, nest, instructions, nvptx_dialect(*wanted), symbol);
  if (!module) return module.error();
  out.module = std::move(module).value();
  out.module->setTargetTriple(out.machine->getTargetTriple());
  out.module->setDataLayout(out.machine->createDataLayout());
  simplify_kernels(*out.module, *out.machine);
  return out;
}

}  // namespace

const DeviceDialect& nvptx_dialect(const NvptxMachine& machine) {
  static const NvptxDialect older(false), newer(true);
  return machine.copies_async ? newer : older;
}

Result<std::string> ptx_text(const DeviceNest& nest, const Target& target, const std::string& symbol) {
  auto code = ptx_module(nest, target, symbol);
  if (!code) return code.error();
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (code->machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return fail("PW0512", "LLVM's back end for PTX writes no text");
  passes.run(*code->module);
  return std::string(bytes.begin(), bytes.end());
}

Result<std::string> nvptx_llvm_text(const DeviceNest& nest, const Target& target, const std::string& symbol) {
  auto code = ptx_module(nest, target, symbol);
  if (!code) return code.error();
  std::string text;
  llvm::raw_string_ostream stream(text);
  code->module->print(stream, nullptr);
  return stream.str();
}

}  // namespace polyweft::targets
