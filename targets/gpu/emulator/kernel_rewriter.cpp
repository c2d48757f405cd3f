#include "targets/gpu/emulator/kernel_rewriter.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/ReplaceConstant.h>

#include <cstring>
#include <map>
#include <optional>

#include "targets/gpu/emulator/amdgcn_intrinsics.h"
#include "targets/gpu/emulator/runtime/grid.h"
#include "targets/gpu/emulator/runtime/group_products.h"
#include "targets/gpu/emulator/runtime/products.h"

namespace polyweft::targets {
namespace {

constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
constexpr const char* kRuntime = "polyweft_emulator_";
constexpr const char* kWaits[] = {"polyweft_emulator_barrier",         "polyweft_emulator_warp_barrier",
                                  "polyweft_emulator_wait_copies",     "polyweft_emulator_begin_products",
                                  "polyweft_emulator_commit_products", "polyweft_emulator_wait_products",
                                  "polyweft_emulator_publish"};

using emulator::Kind;

std::optional<Kind> kind_of(llvm::StringRef name) {
  static const std::map<std::string, Kind> kinds = {{"s4", Kind::s4},   {"u4", Kind::u4},     {"s8", Kind::s8},
                                                    {"u8", Kind::u8},   {"e4m3", Kind::e4m3}, {"e5m2", Kind::e5m2},
                                                    {"f16", Kind::f16}, {"bf16", Kind::bf16}, {"tf32", Kind::tf32},
                                                    {"f32", Kind::f32}, {"s32", Kind::s32}};
  const auto at = kinds.find(name.str());
  return at == kinds.end() ? std::nullopt : std::optional(at->second);
}

/// Of "m16n8k16.row.col.bf16", as LLVM names the intrinsics of mma.sync: of halves it says D and C, of 8-bit floats all
/// four, else A, and B where that is another.
std::optional<emulator::ProductShape> product_shape(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef, 8> words;
  name.split(words, '.');
  emulator::ProductShape out{};
  unsigned m = 0, n = 0, k = 0;
  llvm::StringRef shape = words[0];
  if (words.size() < 4 || !shape.consume_front("m") || shape.consumeInteger(10, m) || !shape.consume_front("n") ||
      shape.consumeInteger(10, n) || !shape.consume_front("k") || shape.consumeInteger(10, k) || k > 64 ||
      words[1] != "row" || words[2] != "col")
    return std::nullopt;
  out.m = static_cast<uint8_t>(m), out.n = static_cast<uint8_t>(n), out.k = static_cast<uint8_t>(k);
  std::vector<Kind> kinds;
  for (llvm::StringRef word : llvm::drop_begin(words, 3)) {
    if (word == "satfinite")
      out.saturates = 1;
    else if (const auto kind = kind_of(word))
      kinds.push_back(*kind);
    else
      return std::nullopt;
  }
  if (kinds.empty()) return std::nullopt;
  const bool are_halves = kinds.size() == 2 && (kinds[0] == Kind::f16 || kinds[0] == Kind::f32);
  if (kinds.size() == 4) {
    out.d = kinds[0], out.a = kinds[1], out.b = kinds[2], out.c = kinds[3];
  } else if (are_halves) {
    out.d = kinds[0], out.a = out.b = Kind::f16, out.c = kinds[1];
  } else {
    out.a = kinds[0], out.b = kinds.back();
    out.c = out.d = kinds[0] <= Kind::s32 ? Kind::s32 : Kind::f32;
  }
  return out;
}

/// Of "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {$0,..}, $64, $65, 1, 1, 1, 0, 0;": registers of sums,
/// descriptors of A and B, the old sums count, no sign changes, which factors are turned.
std::optional<emulator::GroupShape> group_shape(llvm::StringRef text) {
  if (!text.consume_front("wgmma.mma_async.sync.aligned.m64n")) return std::nullopt;
  unsigned n = 0, k = 0;
  if (text.consumeInteger(10, n) || !text.consume_front("k") || text.consumeInteger(10, k) || n % 8 != 0 || n == 0 ||
      n > emulator::kMostGroupColumns || k > emulator::kMostProductDepth || !text.consume_front("."))
    return std::nullopt;
  const auto [types, operands] = text.split(" {");
  llvm::SmallVector<llvm::StringRef, 4> words;
  types.split(words, '.');
  if (words.size() != 3) return std::nullopt;
  const auto d = kind_of(words[0]), a = kind_of(words[1]), b = kind_of(words[2]);
  if (!d || !a || !b || (*d != Kind::f32 && *d != Kind::s32)) return std::nullopt;
  const auto [registers, rest] = operands.split("}, ");
  std::string wanted;
  for (unsigned r = 0; r < n / 2; ++r) wanted += (r ? ",$" : "$") + std::to_string(r);
  const std::string before = "$" + std::to_string(n / 2) + ", $" + std::to_string(n / 2 + 1) + ", 1, 1, 1, ";
  llvm::StringRef turned = rest;
  if (registers != wanted || !turned.consume_front(before) || turned.size() != 5 || turned.substr(1, 2) != ", ")
    return std::nullopt;
  return emulator::GroupShape{static_cast<uint16_t>(n),
                              static_cast<uint8_t>(k),
                              *d,
                              *a,
                              *b,
                              static_cast<uint8_t>(turned[0] == '1'),
                              static_cast<uint8_t>(turned[3] == '1')};
}

/// Of one kernel.
class KernelRewriter {
 public:
  KernelRewriter(llvm::Module& module, llvm::Function& kernel)
      : module_(module), b_(module.getContext()), kernel_(kernel) {}

  Result<EmulatedKernel> run() {
    take_thread();
    place_shared_memory();
    lower_alignments();
    std::vector<llvm::CallInst*> calls;
    for (llvm::Instruction& instruction : llvm::instructions(*function_))
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
          call && call->getCalledFunction() &&
          (call->getCalledFunction()->getName().starts_with("llvm.nvvm.") ||
           call->getCalledFunction()->getName().starts_with("llvm.amdgcn.")))
        calls.push_back(call);
    if (Status texts = replace_texts(); !texts) return texts.error();
    for (llvm::CallInst* call : calls) {
      b_.SetInsertPoint(call);
      const std::string name = call->getCalledFunction()->getName().str();
      llvm::StringRef rest = name;
      const std::optional<llvm::Value*> value = rest.consume_front("llvm.amdgcn.")
                                                    ? amdgcn_value(tools(), *call, rest)
                                                    : replaced(*call, rest.drop_front(std::strlen("llvm.nvvm.")));
      if (!value) return fail("PW0523", "the emulator has no " + name);
      if (*value) call->replaceAllUsesWith(*value);
      call->eraseFromParent();
    }
    out_.function = function_;
    return out_;
  }

 private:
  void take_thread() {
    llvm::FunctionType* const type = kernel_.getFunctionType();
    std::vector<llvm::Type*> types(type->param_begin(), type->param_end());
    types.push_back(b_.getPtrTy());
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                       llvm::GlobalValue::ExternalLinkage, "", module_);
    function_->takeName(&kernel_);
    function_->setAttributes(kernel_.getAttributes());
    for (const char* attribute : {"nvvm.reqntid", "nvvm.maxntid", "nvvm.minctasm", "target-cpu", "target-features"})
      function_->removeFnAttr(attribute);
    function_->splice(function_->begin(), &kernel_);
    for (llvm::Argument& argument : kernel_.args()) {
      llvm::Argument* const taken = function_->getArg(argument.getArgNo());
      taken->takeName(&argument);
      argument.replaceAllUsesWith(taken);
    }
    kernel_.eraseFromParent();
    thread_ = function_->getArg(function_->arg_size() - 1);
    thread_->setName("thread");
  }

  llvm::Value* field(unsigned word, llvm::Type* type) {
    llvm::Value* const at = b_.CreateInBoundsGEP(b_.getInt64Ty(), thread_, b_.getInt64(word));
    auto* load = b_.CreateLoad(type, at);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
    return load;
  }

  void place_shared_memory() {
    std::vector<llvm::GlobalVariable*> variables;
    std::vector<llvm::Constant*> constants;
    for (llvm::GlobalVariable& variable : module_.globals())
      if (variable.getAddressSpace() == kSharedSpace) variables.push_back(&variable), constants.push_back(&variable);
    if (constants.empty()) return;
    llvm::convertUsersOfConstantsToInstructions(constants, function_);
    b_.SetInsertPoint(function_->getEntryBlock().getFirstInsertionPt());
    llvm::Value* memory = nullptr;
    for (llvm::GlobalVariable* variable : variables) {
      const auto is_here = [&](llvm::Use& use) {
        const auto* instruction = llvm::dyn_cast<llvm::Instruction>(use.getUser());
        return instruction && instruction->getFunction() == function_;
      };
      if (std::none_of(variable->use_begin(), variable->use_end(), is_here)) continue;
      if (!memory)
        memory = b_.CreateAddrSpaceCast(field(emulator::kThreadShared, b_.getPtrTy()), b_.getPtrTy(kSharedSpace));
      const auto alignment = static_cast<int64_t>(variable->getAlign().valueOrOne().value());
      out_.shared_bytes = (out_.shared_bytes + alignment - 1) / alignment * alignment;
      llvm::Value* const at =
          b_.CreateInBoundsGEP(b_.getInt8Ty(), memory, b_.getInt64(static_cast<uint64_t>(out_.shared_bytes)));
      variable->replaceUsesWithIf(at, [&](llvm::Use& use) { return is_here(use); });
      out_.shared_bytes += static_cast<int64_t>(module_.getDataLayout().getTypeAllocSize(variable->getValueType()));
    }
  }

  /// Arguments lie where the caller has them: a CPU's memory need not begin where a device's does.
  void lower_alignments() {
    const auto element = [&](llvm::Type* type) {
      return llvm::Align(module_.getDataLayout().getTypeStoreSize(type->getScalarType()).getFixedValue());
    };
    for (llvm::Instruction& instruction : llvm::instructions(*function_)) {
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
          load && load->getPointerAddressSpace() == kGlobalSpace)
        load->setAlignment(std::min(load->getAlign(), element(load->getType())));
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
          store && store->getPointerAddressSpace() == kGlobalSpace)
        store->setAlignment(std::min(store->getAlign(), element(store->getValueOperand()->getType())));
    }
  }

  llvm::CallInst* runtime(const char* name, std::vector<llvm::Value*> arguments) {
    out_.waits = true;
    arguments.insert(arguments.begin(), thread_);
    std::vector<llvm::Type*> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    auto callee = module_.getOrInsertFunction(std::string(kRuntime) + name,
                                              llvm::FunctionType::get(b_.getVoidTy(), types, false));
    auto* function = llvm::cast<llvm::Function>(callee.getCallee());
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr(llvm::Attribute::Convergent);
    auto* call = b_.CreateCall(callee, arguments);
    call->setConvergent();
    return call;
  }

  KernelTools tools() {
    return {b_, [this](unsigned word, llvm::Type* type) { return field(word, type); },
            [this](const char* name, std::vector<llvm::Value*> arguments) { runtime(name, std::move(arguments)); },
            [this](unsigned count) { return words(count); }};
  }
  llvm::Value* plain(llvm::Value* pointer) { return b_.CreateAddrSpaceCast(pointer, b_.getPtrTy()); }
  llvm::Value* words(unsigned count) {
    const llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(function_->getEntryBlock().getFirstInsertionPt());
    return b_.CreateAlloca(llvm::ArrayType::get(b_.getInt32Ty(), count));
  }
  llvm::Value* word(llvm::Value* in, uint64_t number) {
    return b_.CreateInBoundsGEP(b_.getInt32Ty(), in, b_.getInt64(number));
  }
  void put(llvm::Value* in, uint64_t number, llvm::Value* value) { b_.CreateStore(value, word(in, number)); }
  /// The call's result, whose fields are words one after another.
  llvm::Value* result(llvm::CallInst& call, llvm::Value* from) {
    auto* fields = llvm::dyn_cast<llvm::StructType>(call.getType());
    if (!fields) return b_.CreateLoad(call.getType(), from);
    llvm::Value* out = llvm::PoisonValue::get(fields);
    for (unsigned f = 0; f < fields->getNumElements(); ++f)
      out = b_.CreateInsertValue(out, b_.CreateLoad(fields->getElementType(f), word(from, f)), f);
    return out;
  }

  /// None: nothing is known of the intrinsic. Null: it has no value.
  std::optional<llvm::Value*> replaced(llvm::CallInst& call, llvm::StringRef name) {
    if (name.consume_front("read.ptx.sreg.")) return special_register(call, name);
    if (name == "barrier.cta.sync.aligned.all" || name == "barrier0" || name == "barrier.cta.sync.all")
      return runtime("barrier", {}), nullptr;
    if (name == "bar.warp.sync") {
      const auto* mask = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
      if (!mask || mask->getZExtValue() != 0xffffffff) return std::nullopt;
      return runtime("warp_barrier", {}), nullptr;
    }
    if (name.consume_front("mma.")) return product(call, name);
    if (name.consume_front("ldmatrix.sync.aligned.m8n8.")) return matrices(call, name, true);
    if (name.consume_front("stmatrix.sync.aligned.m8n8.")) return matrices(call, name, false);
    if (name.consume_front("shfl.sync.")) return shuffle(call, name);
    if (name.consume_front("cp.async.")) return copy(call, name);
    if (name == "wgmma.fence.sync.aligned") return runtime("begin_products", {}), nullptr;
    if (name == "wgmma.commit_group.sync.aligned") return runtime("commit_products", {}), nullptr;
    if (name == "wgmma.wait_group.sync.aligned") return runtime("wait_products", {call.getArgOperand(0)}), nullptr;
    return std::nullopt;
  }

  /// Instructions that LLVM has no intrinsics for.
  Status replace_texts() {
    std::vector<llvm::CallInst*> calls;
    for (llvm::Instruction& instruction : llvm::instructions(*function_))
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm()) calls.push_back(call);
    for (llvm::CallInst* call : calls) {
      b_.SetInsertPoint(call);
      const std::string text = llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString().str();
      const auto shape = group_shape(text);
      if (text == "fence.proxy.async.shared::cta;")
        runtime("publish", {});
      else if (text.empty() && call->arg_size() > 0)
        call->replaceAllUsesWith(settled(*call));
      else if (shape && call->arg_size() == 2 + static_cast<unsigned>(sums_of_lane(*shape)))
        call->replaceAllUsesWith(group_product(*call, *shape));
      else
        return fail("PW0523", "the emulator has no '" + text + "'");
      call->eraseFromParent();
    }
    return Ok{};
  }
  llvm::Value* settled(llvm::CallInst& call) {
    llvm::Value *in = words(call.arg_size()), *out = words(call.arg_size());
    for (unsigned k = 0; k < call.arg_size(); ++k) put(in, k, call.getArgOperand(k));
    runtime("settle", {b_.getInt64(call.arg_size()), in, out});
    return result(call, out);
  }
  llvm::Value* group_product(llvm::CallInst& call, const emulator::GroupShape& shape) {
    static_assert(sizeof(emulator::GroupShape) == sizeof(uint64_t));
    uint64_t about = 0;
    std::memcpy(&about, &shape, sizeof about);
    const unsigned count = call.arg_size() - 2;
    llvm::Value *in = words(count), *out = words(count);
    for (unsigned k = 0; k < count; ++k) put(in, k, call.getArgOperand(2 + k));
    runtime("start_product", {b_.getInt64(about), call.getArgOperand(0), call.getArgOperand(1), in, out});
    return result(call, out);
  }

  std::optional<llvm::Value*> special_register(llvm::CallInst& call, llvm::StringRef name) {
    const auto field_of = [&](unsigned first) -> llvm::Value* {
      const auto dimension = static_cast<unsigned>(name.back() - 'x');
      return b_.CreateTrunc(field(first + dimension, b_.getInt64Ty()), call.getType());
    };
    if (name == "laneid") return b_.CreateTrunc(field(emulator::kThreadLane, b_.getInt64Ty()), call.getType());
    if (name == "warpsize") return llvm::ConstantInt::get(call.getType(), 32);
    if (name.starts_with("tid.")) return field_of(emulator::kThreadIndex + 3);
    if (name.starts_with("ctaid.")) return field_of(emulator::kThreadIndex);
    if (name.starts_with("ntid.")) return field_of(emulator::kThreadExtent + 3);
    if (name.starts_with("nctaid.")) return field_of(emulator::kThreadExtent);
    return std::nullopt;
  }

  std::optional<llvm::Value*> product(llvm::CallInst& call, llvm::StringRef name) {
    const auto shape = product_shape(name);
    if (!shape) return std::nullopt;
    static_assert(sizeof(emulator::ProductShape) == sizeof(uint64_t));
    uint64_t about = 0;
    std::memcpy(&about, &*shape, sizeof about);
    const int counts[] = {emulator::registers_of(shape->m * shape->k, shape->a),
                          emulator::registers_of(shape->k * shape->n, shape->b),
                          emulator::registers_of(shape->m * shape->n, shape->c)};
    if (static_cast<int>(call.arg_size()) != counts[0] + counts[1] + counts[2]) return std::nullopt;
    llvm::Value *in = words(3 * emulator::kMostRegisters), *out = words(emulator::kMostRegisters);
    unsigned argument = 0;
    for (unsigned operand = 0; operand < 3; ++operand)
      for (int r = 0; r < counts[operand]; ++r)
        put(in, operand * emulator::kMostRegisters + static_cast<unsigned>(r), call.getArgOperand(argument++));
    runtime("product", {b_.getInt64(about), in, out});
    return result(call, out);
  }

  /// "x4.trans.b16.p3"
  std::optional<llvm::Value*> matrices(llvm::CallInst& call, llvm::StringRef name, bool loads) {
    unsigned count = 0;
    if (!name.consume_front("x") || name.consumeInteger(10, count)) return std::nullopt;
    const bool is_transposed = name.consume_front(".trans");
    if (!name.starts_with(".b16")) return std::nullopt;
    llvm::Value* const about = b_.getInt64(count + (is_transposed ? 8 : 0));
    llvm::Value *row = plain(call.getArgOperand(0)), *registers = words(emulator::kMostRegisters);
    if (loads) {
      runtime("load_matrix", {about, row, registers});
      return result(call, registers);
    }
    for (unsigned m = 0; m < count; ++m) put(registers, m, call.getArgOperand(1 + m));
    runtime("store_matrix", {about, row, registers});
    return nullptr;
  }

  /// "bfly.i32" of all lanes: mask, value, b, c.
  std::optional<llvm::Value*> shuffle(llvm::CallInst& call, llvm::StringRef name) {
    static constexpr const char* kModes[] = {"idx", "up", "down", "bfly"};
    const auto* mask = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
    if (!mask || mask->getZExtValue() != 0xffffffff || call.getType()->isStructTy()) return std::nullopt;
    for (unsigned mode = 0; mode < 4; ++mode) {
      if (!name.starts_with(kModes[mode])) continue;
      llvm::Value *in = words(3), *out = words(2);
      for (unsigned operand = 0; operand < 3; ++operand) put(in, operand, call.getArgOperand(1 + operand));
      runtime("shuffle", {b_.getInt64(mode), in, out});
      return b_.CreateLoad(call.getType(), out);
    }
    return std::nullopt;
  }

  /// "ca.shared.global.16.s", "commit.group"
  std::optional<llvm::Value*> copy(llvm::CallInst& call, llvm::StringRef name) {
    if (name == "commit.group") return runtime("commit_copies", {}), nullptr;
    if (name == "wait.group") return runtime("wait_copies", {call.getArgOperand(0)}), nullptr;
    if (name == "wait.all") return runtime("wait_copies", {b_.getInt32(~0u)}), nullptr;
    unsigned bytes = 0;
    if ((!name.consume_front("ca.shared.global.") && !name.consume_front("cg.shared.global.")) ||
        name.consumeInteger(10, bytes))
      return std::nullopt;
    llvm::Value* const source_bytes = name == ".s" ? call.getArgOperand(2) : b_.getInt32(bytes);
    runtime("copy", {plain(call.getArgOperand(0)), plain(call.getArgOperand(1)), b_.getInt32(bytes), source_bytes});
    return nullptr;
  }

  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  llvm::Function& kernel_;
  llvm::Function* function_ = nullptr;
  llvm::Value* thread_ = nullptr;
  EmulatedKernel out_;
};

}  // namespace

Result<EmulatedKernel> emulated_kernel(llvm::Module& module, const std::string& name) {
  llvm::Function* const kernel = module.getFunction(name);
  if (!kernel || kernel->isDeclaration() || !kernel->getReturnType()->isVoidTy())
    return fail("PW0523", "the emulator finds no kernel " + name);
  return KernelRewriter(module, *kernel).run();
}

std::vector<llvm::CallBase*> waiting_calls(llvm::Module& module) {
  std::vector<llvm::CallBase*> out;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->getCalledFunction())
        for (const char* name : kWaits)
          if (call->getCalledFunction()->getName() == name) out.push_back(call);
  return out;
}

}  // namespace polyweft::targets
