// The helper polyweft-device as its clients see it: a process that has the compilers and drivers of devices, and holds
// kernels with their memory there. What may crash or hang happens in it. Free of LLVM: runners have it too.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/subprocess.h"

namespace polyweft::targets {

/// What the device says of itself.
struct DeviceFigures {
  std::string name, driver;
  std::string machine = {};  ///< what modules must be made for, "sm_90a"; empty: any such device takes them
  int64_t compute_units = 1, most_threads = 1, local_bytes = 0;
  int64_t clock_mhz = 0, second_cache_bytes = 0, memory_mb_s = 0;  ///< the fastest; 0: not known

  /// "NVIDIA H100, driver 580.65.06, CUDA 13.0"
  std::string text() const;
};

/// First byte of a request's frame. Answers begin with an error's code (empty: none) and message.
enum class DeviceRequest : uint8_t {
  spirv = 0,    ///< LLVM IR's text; the module. One a process
  figures = 1,  ///< as DeviceFigures has them
  open = 2,     ///< the kernel's number, what device_kernels() made; bytes of each argument
  put = 3,      ///< kernel, argument, the place of a part of its bytes, the part: frames are limited
  pack = 4,     ///< kernel; ns
  call = 5,     ///< kernel; as DeviceCall has it
  get = 6,      ///< kernel, argument, place and size of a part of its bytes; the part
  time = 7,     ///< as DeviceTiming has it; the samples of `first`, those of `second`
  close = 8,    ///< kernel
  cuda = 9,     ///< as DeviceFigures has them, of the device that takes PTX
  cold = 10,    ///< kernel, number of samples; samples of calls that find nothing in the caches
  clock = 11,   ///< MHz now, by a kernel's device; 0: not known
  counted = 12  ///< 1 where the times of a kernel are counts of a model, else 0
};

/// A nest's kernels as a device's process takes them: the nest's text, the symbol that its kernels are named by, the
/// module that has them.
std::string device_kernels(std::string_view nest_text, std::string_view symbol, std::string_view module);

/// One call of a kernel.
struct DeviceCall {
  int code = 0;         ///< ir/values/kernel_codes.h
  double ns = 0;        ///< by the device's clock, from the start of the first launch to the end of the last one
  std::string outside;  ///< "before C" or "behind C" where canaries around the memory of C have changed
};
/// Samples in turns, of one kernel or of two.
struct DeviceTiming {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  uint32_t first = 0, second = kNone;  ///< numbers of kernels
  uint32_t samples = 1;                ///< of each
  uint32_t repeat = 1;                 ///< calls in a row in a sample of `first`
  uint32_t untimed = 0;                ///< calls before each sample
  uint32_t second_repeat = 1;          ///< as `repeat`, of `second`
};

class DeviceClient {
 public:
  using Deadline = std::chrono::milliseconds;
  static constexpr std::chrono::minutes kLongestAnswer{5};

  /// `program`: a path of polyweft-device. PW0606 where it cannot be started.
  static Result<DeviceClient> start(const std::string& program);

  /// Of the device that takes SPIR-V (DeviceRequest::figures) or PTX (cuda). PW0517 says why kernels do not run here.
  Result<DeviceFigures> figures(DeviceRequest which = DeviceRequest::figures);
  /// PW0512 where LLVM refuses it.
  Result<std::vector<unsigned char>> spirv(const std::string& llvm_text);

  /// PW0516 where the device's compiler refuses the module, PW0658 where the device refuses memory or a launch.
  /// Bytes of each argument.
  Result<std::vector<uint64_t>> open(uint32_t kernel, std::string_view kernels, Deadline deadline = kLongestAnswer);
  Status close(uint32_t kernel);
  /// All bytes of an argument.
  Status put(uint32_t kernel, uint32_t argument, std::span<const char> bytes);
  Status get(uint32_t kernel, uint32_t argument, std::span<char> bytes);
  /// Makes the packed arguments of what was put; ns.
  Result<double> pack(uint32_t kernel, Deadline deadline);
  Result<DeviceCall> call(uint32_t kernel, Deadline deadline);
  /// Nanoseconds of a call, by the device's clock: of `first`, then of `second`.
  Result<std::array<std::vector<double>, 2>> time(const DeviceTiming& timing, Deadline deadline);

  /// Nanoseconds of single calls that find nothing in the caches; empty where the device cannot empty them.
  Result<std::vector<double>> time_cold(uint32_t kernel, uint32_t samples, Deadline deadline);
  /// MHz now; 0: not known.
  Result<int64_t> clock_mhz(uint32_t kernel);
  /// Its times are counts of a model: a call takes the same each time.
  Result<bool> times_are_counted(uint32_t kernel);

  /// PW06xx that an answer had instead of what was asked leave it ended.
  bool running() const { return process_.running(); }
  const WorkerProcess& process() const { return process_; }

 private:
  explicit DeviceClient(WorkerProcess process) : process_(std::move(process)) {}
  Result<ByteReader> ask(const ByteWriter& request, Deadline deadline);

  WorkerProcess process_;
  std::string answer_;  ///< that readers look into
};

}  // namespace polyweft::targets
