// What lowering asks of the runtime that a kernel's code calls: memory, and tasks on other threads. A backend says
// which functions these are.
#pragma once

#include "targets/common/llvm.h"

namespace polyweft::targets {

class RuntimeHooks {
 public:
  virtual ~RuntimeHooks() = default;

  /// The address of so many bytes (i64), of any alignment; null where there is no memory.
  virtual llvm::Value* allocate(llvm::IRBuilder<>& b, llvm::Value* bytes) const = 0;
  virtual void release(llvm::IRBuilder<>& b, llvm::Value* address) const = 0;
  /// What a kernel returns where there is no memory.
  virtual int out_of_memory() const = 0;

  /// Of a function that runs as a task and returns a code (i32), 0: done.
  virtual llvm::FunctionType* task_type(llvm::LLVMContext& context) const = 0;
  virtual llvm::Value* task_number(llvm::Function* task) const = 0;   ///< i32
  virtual llvm::Value* task_closure(llvm::Function* task) const = 0;  ///< what run_tasks() was given
  /// Calls the task with numbers 0 .. count - 1 (i32), in any order and at once; 0, or the code of one that failed.
  virtual llvm::Value* run_tasks(llvm::IRBuilder<>& b, llvm::Function* task, llvm::Value* count,
                                 llvm::Value* closure) const = 0;
};

}  // namespace polyweft::targets
