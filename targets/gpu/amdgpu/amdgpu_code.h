// Code objects of kernels for AMD's GPUs.
#pragma once

#include "targets/backend.h"
#include "targets/gpu/kernels.h"

namespace polyweft::targets {

/// Kernels in the terms of LLVM's AMDGPU back end.
const DeviceDialect& amdgpu_dialect();

/// An ELF shared object with a kernel of kernel_symbol() for each of the nest's. PW0512 where it would call what is
/// not in it, or where its metadata are not what the launches need (checked_code_object).
Result<Bytes> amdgpu_code_object(const DeviceNest& nest, const Target& target, const std::string& symbol);
/// Before it is linked, as machine code or as assembly.
Result<Bytes> amdgpu_object(const DeviceNest& nest, const Target& target, const std::string& symbol);
Result<std::string> amdgpu_assembly(const DeviceNest& nest, const Target& target, const std::string& symbol);
/// LLVM's text of the same.
Result<std::string> amdgpu_llvm_text(const DeviceNest& nest, const Target& target, const std::string& symbol);

}  // namespace polyweft::targets
