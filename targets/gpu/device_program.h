// A nest's kernels on a device, with their memory there: what polyweft-device holds, whichever the device.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "targets/gpu/device_client.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {

class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;

  /// Arguments are those of the nest, a packed one's being its source; dense bytes.
  virtual size_t arguments() const = 0;
  virtual size_t argument_bytes(size_t argument) const = 0;
  /// A part of an argument's bytes, which must lie within.
  virtual Status put(size_t argument, size_t at, std::string_view bytes) = 0;
  virtual Status get(size_t argument, size_t at, std::span<char> bytes) = 0;

  /// Makes the packed arguments; ns.
  virtual Result<double> pack() = 0;
  virtual Result<DeviceCall> call() = 0;
  /// Nanoseconds of one call, of so many in a row.
  virtual Result<double> time(uint32_t calls) = 0;
};

}  // namespace polyweft::targets
