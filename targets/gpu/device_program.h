// A nest's kernels on a device with a grid. The host's loops around launches and what callers have promised of their
// arguments are the same for all such devices.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "targets/gpu/held_kernel.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {

class DeviceProgram : public HeldKernel {
 public:
  explicit DeviceProgram(DeviceNest device);

  size_t arguments() const override { return nest_.arguments.size(); }
  size_t argument_bytes(size_t argument) const override;
  Status put(size_t argument, size_t at, std::string_view bytes) override;
  Status get(size_t argument, size_t at, std::span<char> bytes) override;

  /// kValueOutOfRange without a launch where a value that was put is not as promised.
  Result<DeviceCall> call() override;

 protected:
  virtual Status write(BufferId buffer, size_t at, std::string_view bytes) = 0;
  virtual Status read(BufferId buffer, size_t at, std::span<char> bytes) = 0;
  virtual Status launch(uint32_t kernel) = 0;
  /// "before ", "behind ", or nothing: where the canaries around a buffer that kernels take have changed.
  virtual Result<std::string> changed_canary(BufferId buffer) = 0;

  /// All launches below a node, in their order.
  Status run(NodeId root);
  /// Of a loop of the host that runs now.
  int64_t value_of(VarId var) const { return values_[var]; }

  const DeviceNest device_;
  const LoopNest& nest_;               ///< of device_
  const std::vector<BufferId> taken_;  ///< by kernels: kernel_arguments()

 private:
  BufferId given(size_t argument) const { return given_for(nest_, nest_.arguments[argument]); }

  std::vector<bool> broken_;  ///< arguments with a value outside of what their caller has promised
  std::vector<int64_t> values_;
};

/// Has each element of a part of an input's bytes a value that the nest's caller has promised?
bool keeps_promise(const Buffer& buffer, std::string_view part);

}  // namespace polyweft::targets
