// Where code goes: one function of the module, made from a part of one nest.
#pragma once

#include "polyweft/loop_nest.h"
#include "targets/common/grid_hooks.h"
#include "targets/common/llvm.h"
#include "targets/common/runtime_hooks.h"
#include "targets/common/scalar_code.h"
#include "targets/common/unit_hooks.h"

namespace polyweft::targets {

inline constexpr int64_t kLineBytes = 64;  ///< of the cache

/// Thrown inside lowering only; lower() turns it into a Result.
struct Refusal {
  Error error;
};

/// What the backend completes.
struct TargetHooks {
  const InstructionHooks& instructions;
  const RuntimeHooks& runtime;
  const GridHooks* grid = nullptr;  ///< null: one thread runs the function
  const UnitHooks* unit = nullptr;  ///< null: there is no unit beside the CPU
};

/// A function that is to be written, from a part of a nest. What it names must outlive its code.
struct NewFunction {
  llvm::Module& module;
  const LoopNest& nest;
  llvm::Function* function = nullptr;
  const TargetHooks& hooks;
};

struct FunctionCode {
  explicit FunctionCode(const NewFunction& of)
      : module(of.module),
        nest(of.nest),
        function(of.function),
        hooks(of.hooks),
        builder(of.module.getContext()),
        scalar(builder, of.nest.cls, of.hooks.instructions) {}
  FunctionCode(const FunctionCode&) = delete;
  FunctionCode& operator=(const FunctionCode&) = delete;

  llvm::Module& module;
  const LoopNest& nest;
  llvm::Function* const function;
  const TargetHooks hooks;
  llvm::IRBuilder<> builder;
  ScalarCode scalar;
};

/// What all parts of code generation have: where they emit.
class FunctionPart {
 protected:
  explicit FunctionPart(FunctionCode& code)
      : module_(code.module),
        nest_(code.nest),
        function_(code.function),
        hooks_(code.hooks),
        b_(code.builder),
        scalar_(code.scalar) {}

  /// Memory of the function's frame, for `count` elements; all calls of the function's loops share it.
  llvm::AllocaInst* on_stack(llvm::Type* element, int64_t count, const std::string& name) const;

  llvm::Module& module_;
  const LoopNest& nest_;
  llvm::Function* const function_;
  const TargetHooks& hooks_;
  llvm::IRBuilder<>& b_;
  ScalarCode& scalar_;
};

}  // namespace polyweft::targets
