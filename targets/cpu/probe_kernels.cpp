#include "targets/cpu/probe_kernels.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <functional>

#include "targets/cpu/instruction_set.h"
#include "targets/cpu/pipeline.h"

namespace polyweft::targets {
namespace {

std::vector<int> widths_of(const Target& target) {
  std::vector<int> out;
  for (int bits = 128; bits <= target.machine.units.vector_bits; bits *= 2) out.push_back(bits);
  return out;
}

/// Writes one function after the other: i64 name(ptr data, i64 count).
class ProbeWriter {
 public:
  ProbeWriter(llvm::Module& module, const Target& target, std::string cpu)
      : module_(module), b_(module.getContext()), target_(target), cpu_(std::move(cpu)) {}

  void write_all(const std::vector<int>& widths) {
    additions();
    for (const int bits : widths) {
      multiply_adds("multiply_adds_" + std::to_string(bits), bits, ProbeKernels::kChains);
      multiply_adds("dependent_multiply_adds_" + std::to_string(bits), bits, 1);
    }
    accesses("loads", [&](llvm::Value* at) { b_.CreateAlignedLoad(vector_type(), at, llvm::Align(4), true); });
    accesses("stores", [&](llvm::Value* at) {
      b_.CreateAlignedStore(llvm::Constant::getNullValue(vector_type()), at, llvm::Align(4), true);
    });
    reads();
    chase();
    touches();
    forks(module_.getFunction("additions"));
  }

 private:
  using Values = std::vector<llvm::Value*>;

  llvm::Type* vector_type(int bits = 0) {
    return llvm::FixedVectorType::get(b_.getFloatTy(),
                                      static_cast<unsigned>(bits > 0 ? bits : target_.machine.units.vector_bits) / 32);
  }
  llvm::Value* constant(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }

  llvm::Function* function(const std::string& name, llvm::FunctionType* type, llvm::GlobalValue::LinkageTypes linkage) {
    auto* f = llvm::Function::Create(type, linkage, name, module_);
    f->addFnAttr("target-cpu", cpu_);
    f->addFnAttr("target-features", feature_string(target_));
    set_vector_length(*f, target_);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", f));
    return f;
  }
  llvm::Function* kernel(const std::string& name) {
    return function(name, llvm::FunctionType::get(b_.getInt64Ty(), {b_.getPtrTy(), b_.getInt64Ty()}, false),
                    llvm::GlobalValue::ExternalLinkage);
  }

  /// ceil(count / step) times the body, which gets the iteration's number and what the carried values are, and gives
  /// what they become.
  Values loop(llvm::Function* f, int64_t step, const Values& first,
              const std::function<Values(llvm::Value*, Values)>& body) {
    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto* inside = llvm::BasicBlock::Create(module_.getContext(), "loop", f);
    auto* after = llvm::BasicBlock::Create(module_.getContext(), "after", f);
    llvm::Value* times = b_.CreateUDiv(b_.CreateAdd(f->getArg(1), constant(step - 1)), constant(step));
    b_.CreateBr(inside);
    b_.SetInsertPoint(inside);
    auto* number = b_.CreatePHI(b_.getInt64Ty(), 2);
    number->addIncoming(constant(0), before);
    Values carried;
    for (llvm::Value* value : first) {
      auto* phi = b_.CreatePHI(value->getType(), 2);
      phi->addIncoming(value, before);
      carried.push_back(phi);
    }
    const Values next = body(number, carried);
    llvm::Value* following = b_.CreateAdd(number, constant(1));
    number->addIncoming(following, inside);
    for (size_t k = 0; k < carried.size(); ++k) llvm::cast<llvm::PHINode>(carried[k])->addIncoming(next[k], inside);
    b_.CreateCondBr(b_.CreateICmpULT(following, times), inside, after);
    b_.SetInsertPoint(after);
    return next;
  }

  /// Nobody knows what is in there but we.
  llvm::Value* unknown(llvm::Type* type) {
    auto* memory = new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::InternalLinkage,
                                            llvm::Constant::getNullValue(type), "zeros");
    memory->setAlignment(llvm::Align(64));
    return b_.CreateAlignedLoad(type, memory, llvm::Align(64), true);
  }

  /// Two operations in turns, so that nothing folds: a sum, then bits changed.
  void additions() {
    llvm::Function* f = kernel("additions");
    llvm::Value *term = unknown(b_.getInt64Ty()), *mask = unknown(b_.getInt64Ty());
    const Values sum = loop(f, ProbeKernels::kUnrolled, {unknown(b_.getInt64Ty())}, [&](llvm::Value*, Values now) {
      for (int64_t k = 0; k < ProbeKernels::kUnrolled; ++k)
        now[0] = k % 2 == 0 ? b_.CreateAdd(now[0], term) : b_.CreateXor(now[0], mask);
      return now;
    });
    b_.CreateRet(sum[0]);
  }

  void multiply_adds(const std::string& name, int bits, int64_t chains) {
    llvm::Function* f = kernel(name);
    llvm::Type* type = vector_type(bits);
    llvm::Value *a = unknown(type), *b = unknown(type);
    Values sums;
    for (int64_t k = 0; k < chains; ++k) sums.push_back(unknown(type));
    sums = loop(f, ProbeKernels::kChains, sums, [&](llvm::Value*, Values now) {
      for (int64_t k = 0; k < ProbeKernels::kChains; ++k) {
        llvm::Value*& sum = now[static_cast<size_t>(k % chains)];
        sum = target_.can.fused_products ? b_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {sum, a, b})
                                         : b_.CreateFAdd(b_.CreateFMul(sum, a), b);
      }
      return now;
    });
    auto* nowhere = b_.CreateAlloca(type);
    for (llvm::Value* sum : sums) b_.CreateStore(sum, nowhere, true);
    b_.CreateRet(constant(0));
  }

  void accesses(const std::string& name, const std::function<void(llvm::Value*)>& access) {
    llvm::Function* f = kernel(name);
    loop(f, ProbeKernels::kUnrolled, {}, [&](llvm::Value*, Values none) {
      for (int64_t k = 0; k < ProbeKernels::kUnrolled; ++k)
        access(b_.CreateGEP(vector_type(), f->getArg(0), constant(k)));
      return none;
    });
    b_.CreateRet(constant(0));
  }

  void reads() {
    llvm::Function* f = kernel("reads");
    loop(f, ProbeKernels::kUnrolled, {}, [&](llvm::Value* number, Values none) {
      llvm::Value* first =
          b_.CreateGEP(vector_type(), f->getArg(0), b_.CreateMul(number, constant(ProbeKernels::kUnrolled)));
      for (int64_t k = 0; k < ProbeKernels::kUnrolled; ++k)
        b_.CreateAlignedLoad(vector_type(), b_.CreateGEP(vector_type(), first, constant(k)), llvm::Align(4), true);
      return none;
    });
    b_.CreateRet(constant(0));
  }

  void chase() {
    llvm::Function* f = kernel("chase");
    const Values last = loop(f, ProbeKernels::kUnrolled, {f->getArg(0)}, [&](llvm::Value*, Values now) {
      for (int64_t k = 0; k < ProbeKernels::kUnrolled; ++k) now[0] = b_.CreateLoad(b_.getPtrTy(), now[0]);
      return now;
    });
    b_.CreateRet(b_.CreatePtrToInt(last[0], b_.getInt64Ty()));
  }

  void touches() {
    llvm::Function* f = kernel("touches");
    loop(f, 4, {}, [&](llvm::Value* number, Values none) {
      llvm::Value* first = b_.CreateGEP(b_.getPtrTy(), f->getArg(0), b_.CreateMul(number, constant(4)));
      for (int64_t k = 0; k < 4; ++k)
        b_.CreateLoad(b_.getInt64Ty(), b_.CreateLoad(b_.getPtrTy(), b_.CreateGEP(b_.getPtrTy(), first, constant(k))),
                      true);
      return none;
    });
    b_.CreateRet(constant(0));
  }

  void forks(llvm::Function* additions) {
    llvm::Type *i32 = b_.getInt32Ty(), *pointer = b_.getPtrTy();
    llvm::Function* task = function("task", llvm::FunctionType::get(i32, {pointer, i32, pointer}, false),
                                    llvm::GlobalValue::InternalLinkage);
    b_.CreateCall(additions, {llvm::ConstantPointerNull::get(b_.getPtrTy()), constant(ProbeKernels::kAdditionsOfTask)});
    b_.CreateRet(b_.getInt32(0));
    auto start = module_.getOrInsertFunction("halide_do_par_for", i32, pointer, pointer, i32, i32, pointer);
    llvm::Function* f = kernel("forks");
    llvm::Value* null = llvm::ConstantPointerNull::get(b_.getPtrTy());
    loop(f, 1, {}, [&](llvm::Value*, Values none) {
      b_.CreateCall(start,
                    {null, task, b_.getInt32(0), b_.getInt32(static_cast<uint32_t>(target_.machine.cores())), null});
      return none;
    });
    b_.CreateRet(constant(0));
  }

  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  const Target& target_;
  std::string cpu_;
};

Result<CompiledObject> compiled_probe(const Target& target, const std::vector<int>& widths) {
  const auto set = instruction_set_of(target);
  if (!set) return set.error();
  auto machine = machine_for(target);
  if (!machine) return machine.error();
  llvm::LLVMContext context;
  llvm::Module module("probe", context);
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  ProbeWriter(module, target, (*set)->basic_cpu()).write_all(widths);
  auto bytes = write_machine_code(module, **machine, llvm::CodeGenFileType::ObjectFile, Pipeline::lean, nullptr);
  if (!bytes) return bytes.error();
  CompiledObject out;
  out.object.assign(bytes->begin(), bytes->end());
  out.features = target.features;
  return out;
}

}  // namespace

Result<ProbeKernels> ProbeKernels::compiled_for(const Target& target) {
  const std::vector<int> widths = widths_of(target);
  auto object = compiled_probe(target, widths);
  if (!object) return object.error();
  auto code = load_code(*object);
  if (!code) return code.error();
  return ProbeKernels(std::move(code).value(), widths);
}

ProbeKernel ProbeKernels::at(const std::string& name) const {
  return reinterpret_cast<ProbeKernel>(code_->address(name));
}

}  // namespace polyweft::targets
