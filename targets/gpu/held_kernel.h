// A kernel with its memory somewhere else than in this process: what polyweft-device holds, whichever the device.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "targets/workers/device_client.h"

namespace polyweft::targets {

class HeldKernel {
 public:
  HeldKernel() = default;
  virtual ~HeldKernel() = default;
  HeldKernel(const HeldKernel&) = delete;
  HeldKernel& operator=(const HeldKernel&) = delete;

  /// Arguments are those of the nest, a packed one's being its source; dense bytes.
  virtual size_t arguments() const = 0;
  virtual size_t argument_bytes(size_t argument) const = 0;
  /// A part of an argument's bytes, which must lie within and hold whole elements.
  virtual Status put(size_t argument, size_t at, std::string_view bytes) = 0;
  virtual Status get(size_t argument, size_t at, std::span<char> bytes) = 0;

  /// Makes the packed arguments; ns.
  virtual Result<double> pack() = 0;
  virtual Result<DeviceCall> call() = 0;
  /// Nanoseconds of one call, of so many in a row.
  virtual Result<double> time(uint32_t calls) = 0;
  /// Empties the caches of what calls have left there; false: the device cannot.
  virtual Result<bool> empty_caches() { return false; }
  /// Of the device now; 0: not known.
  virtual int64_t clock_mhz() { return 0; }
  /// Its times are counts of a model: a call takes the same each time.
  virtual Result<bool> times_are_counted() { return false; }
};

/// Before and behind each buffer.
inline constexpr size_t kCanaryBytes = 4096;
inline constexpr unsigned char kCanary = 0xC5;
bool is_canary(std::span<const unsigned char> bytes);

}  // namespace polyweft::targets
