// A nest's kernels on a device, with their memory there: what polyweft-device holds, whichever the device. The host's
// loops around launches and what callers have promised of their arguments are the same for all of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "targets/gpu/device_client.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {

class DeviceProgram {
 public:
  explicit DeviceProgram(DeviceNest device);
  virtual ~DeviceProgram() = default;
  DeviceProgram(const DeviceProgram&) = delete;
  DeviceProgram& operator=(const DeviceProgram&) = delete;

  /// Arguments are those of the nest, a packed one's being its source; dense bytes.
  size_t arguments() const { return nest_.arguments.size(); }
  size_t argument_bytes(size_t argument) const;
  /// A part of an argument's bytes, which must lie within and hold whole elements.
  Status put(size_t argument, size_t at, std::string_view bytes);
  Status get(size_t argument, size_t at, std::span<char> bytes);

  /// Makes the packed arguments; ns.
  virtual Result<double> pack() = 0;
  /// kValueOutOfRange without a launch where a value that was put is not as promised.
  Result<DeviceCall> call();
  /// Nanoseconds of one call, of so many in a row.
  virtual Result<double> time(uint32_t calls) = 0;

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

/// Before and behind each buffer.
inline constexpr size_t kCanaryBytes = 4096;
inline constexpr unsigned char kCanary = 0xC5;
bool is_canary(std::span<const unsigned char> bytes);

}  // namespace polyweft::targets
