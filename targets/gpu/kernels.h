// LLVM IR of the kernels of a nest, in which each thread of the grid runs the whole function.
#pragma once

#include "targets/common/function_code.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {

/// What kernels are in LLVM's terms on a kind of device, beside its grid.
class DeviceDialect : public GridHooks {
 public:
  virtual unsigned global_space() const { return 1; }
  virtual unsigned shared_space() const { return 3; }
  virtual unsigned constant_space() const = 0;
  /// LLVM's text of it, where lowering must know it: in which spaces arrays on the stack and tables lie.
  virtual std::string data_layout() const { return ""; }
  /// Linkage, calling convention and attributes of a kernel's function.
  virtual void mark_kernel(llvm::Function& function, const DeviceKernel& kernel) const = 0;
};

/// What a kernel's function takes: addresses of these buffers, then the values of DeviceKernel::outer as i64.
std::vector<BufferId> kernel_arguments(const DeviceNest& nest);

/// A function of kernel_symbol() for each kernel.
Result<std::unique_ptr<llvm::Module>> lower_kernels(llvm::LLVMContext& context, const DeviceNest& nest,
                                                    const InstructionHooks& instructions, const DeviceDialect& dialect,
                                                    const std::string& symbol);

}  // namespace polyweft::targets
