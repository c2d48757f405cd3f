// Machines whose kernels the emulator runs, of one vendor each.
#pragma once

#include <string>
#include <vector>

#include "targets/common/instruction_hooks.h"
#include "targets/gpu/kernels.h"

namespace polyweft::targets {

class EmulatedFamily {
 public:
  virtual ~EmulatedFamily() = default;
  virtual std::string architecture() const = 0;  ///< "emulated-nvptx64"
  virtual std::vector<std::string> machines() const = 0;
  virtual void describe(Target& target) const = 0;
  /// What runs on the machine. PW05xx for launches that it does not take.
  virtual Result<DeviceNest> fitting_nest(const LoopNest& nest, const Target& target) const = 0;
  virtual const DeviceDialect& dialect(const Target& target) const = 0;
  virtual InstructionCapabilities capabilities(const Target& target) const = 0;
  /// That execute one instruction at a time.
  virtual int lanes(const Target& target) const = 0;

  bool has(const Target& target) const;
  /// For messages.
  std::string names() const;
};
const EmulatedFamily& emulated_nvptx();
const EmulatedFamily& emulated_amdgcn();
/// Of the target's architecture; null where it is another one, or has none of its machines.
const EmulatedFamily* family_of(const Target& target);

}  // namespace polyweft::targets
