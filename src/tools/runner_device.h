// Kernels on a device, seen from the supervisor: the helper polyweft-device, started when it is first needed and again
// after it has ended, holds the kernels of a trial and their memory. It is one process for many trials, since a driver
// takes a third of a second to start; a trial that went wrong takes it along.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runner_process.h"
#include "targets/workers/device_client.h"

namespace polyweft::runner {

class Device {
 public:
  /// `kind`: "cuda", "opencl", "wasm"; "program": kernels come with the command that runs them.
  explicit Device(std::string kind) : kind_(std::move(kind)) {}

  /// What it calls itself and its driver. PW0517 says why there is none.
  Result<std::string> name();
  /// What modules for it are made for, "sm_90a"; empty: any such device takes them.
  Result<std::string> machine();
  /// Loads what is not loaded yet; kernels of earlier trials that are not among these are unloaded.
  std::variant<std::unique_ptr<KernelProcess>, Failure> start(std::vector<Module> modules);

 private:
  friend class DeviceProcess;
  Result<targets::DeviceClient*> client();
  Result<targets::DeviceFigures> figures();
  void stop() { client_.reset(), loaded_.clear(); }
  std::optional<Failure> load(const Module& module, Slot slot);

  std::string kind_;
  std::optional<targets::DeviceClient> client_;
  std::map<std::string, uint32_t> loaded_;  ///< numbers there by a kernel's id
  uint32_t next_ = 0;
};

}  // namespace polyweft::runner
