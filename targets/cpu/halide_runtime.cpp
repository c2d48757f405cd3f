#include "targets/cpu/halide_runtime.h"

#include "targets/cpu/halide_abi.h"

namespace polyweft::targets {
namespace {

llvm::Module& module_of(llvm::IRBuilder<>& b) {
  return *b.GetInsertBlock()->getModule();
}
/// The context of a user, which nobody has.
llvm::Value* no_context(llvm::IRBuilder<>& b) {
  return llvm::ConstantPointerNull::get(b.getPtrTy());
}

class HalideRuntime : public RuntimeHooks {
 public:
  llvm::Value* allocate(llvm::IRBuilder<>& b, llvm::Value* bytes) const override {
    auto function = module_of(b).getOrInsertFunction("halide_malloc", b.getPtrTy(), b.getPtrTy(), b.getInt64Ty());
    llvm::cast<llvm::Function>(function.getCallee())->setReturnDoesNotAlias();
    return b.CreateCall(function, {no_context(b), bytes});
  }
  void release(llvm::IRBuilder<>& b, llvm::Value* address) const override {
    b.CreateCall(module_of(b).getOrInsertFunction("halide_free", b.getVoidTy(), b.getPtrTy(), b.getPtrTy()),
                 {no_context(b), address});
  }
  int out_of_memory() const override { return kOutOfMemory; }

  // i32 task(context, number, closure)
  llvm::FunctionType* task_type(llvm::LLVMContext& context) const override {
    llvm::Type *i32 = llvm::Type::getInt32Ty(context), *pointer = llvm::PointerType::getUnqual(context);
    return llvm::FunctionType::get(i32, {pointer, i32, pointer}, false);
  }
  llvm::Value* task_number(llvm::Function* task) const override { return task->getArg(1); }
  llvm::Value* task_closure(llvm::Function* task) const override { return task->getArg(2); }
  llvm::Value* run_tasks(llvm::IRBuilder<>& b, llvm::Function* task, llvm::Value* count,
                         llvm::Value* closure) const override {
    llvm::Type *i32 = b.getInt32Ty(), *pointer = b.getPtrTy();
    auto function = module_of(b).getOrInsertFunction("halide_do_par_for", i32, pointer, pointer, i32, i32, pointer);
    return b.CreateCall(function, {no_context(b), task, b.getInt32(0), count, closure});
  }
};

class HalideTasks final : public HalideRuntime {
 public:
  llvm::Value* allocate(llvm::IRBuilder<>& b, llvm::Value* bytes) const override {
    auto function = module_of(b).getOrInsertFunction("malloc", b.getPtrTy(), b.getInt64Ty());
    llvm::cast<llvm::Function>(function.getCallee())->setReturnDoesNotAlias();
    return b.CreateCall(function, {bytes});
  }
  void release(llvm::IRBuilder<>& b, llvm::Value* address) const override {
    b.CreateCall(module_of(b).getOrInsertFunction("free", b.getVoidTy(), b.getPtrTy()), {address});
  }
};

}  // namespace

const RuntimeHooks& halide_tasks_alone() {
  static const HalideTasks tasks;
  return tasks;
}

const RuntimeHooks& halide_runtime() {
  static const HalideRuntime runtime;
  return runtime;
}

}  // namespace polyweft::targets
