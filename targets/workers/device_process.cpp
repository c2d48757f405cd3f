#include "targets/workers/device_process.h"

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "support/helper_path.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {
namespace {

constexpr std::chrono::hours kLongestCall{24 * 7};
constexpr uint32_t kKernel = 0;  ///< its number there

constexpr const char* kDrivers = "polyweft-device";

/// Helpers whose kernel is gone, one of a program: a driver takes a third of a second to start.
class IdleHelpers {
 public:
  void keep(const std::string& program, DeviceClient helper) {
    const std::lock_guard lock(mutex_);
    helpers_.erase(program);
    helpers_.emplace(program, std::move(helper));
  }
  std::optional<DeviceClient> take(const std::string& program) {
    const std::lock_guard lock(mutex_);
    auto kept = helpers_.extract(program);
    return kept ? std::optional<DeviceClient>(std::move(kept.mapped())) : std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, DeviceClient> helpers_;
};
IdleHelpers& idle_helpers() {
  static IdleHelpers idle;
  return idle;
}

Result<DeviceClient> start_helper(const std::string& program = kDrivers) {
  return DeviceClient::start(helper_program(program));
}

Result<DeviceFigures> ask_figures(DeviceRequest which) {
  auto helper = start_helper();
  if (!helper) return helper.error();
  return helper->figures(which);
}

class KernelInHelper final : public LoadedKernel {
 public:
  KernelInHelper(std::string program, const LoopNest& nest, DeviceClient helper)
      : program_(std::move(program)), helper_(std::move(helper)) {
    for (BufferId id : nest.arguments) {
      const Buffer& given = nest.buffers[given_for(nest, id)];
      arguments_.push_back({dense_bytes(given), given.is_output, given_for(nest, id) != id});
    }
  }

  ~KernelInHelper() override {
    if (!has_failed_ && helper_.running() && helper_.close(kKernel)) idle_helpers().keep(program_, std::move(helper_));
  }
  KernelInHelper(const KernelInHelper&) = delete;
  KernelInHelper& operator=(const KernelInHelper&) = delete;

  Status open(std::string_view kernels) {
    const auto opened = helper_.open(kKernel, kernels);
    return opened ? Status(Ok{}) : Status(opened.error());
  }

  Result<int> call_raw(const std::vector<void*>& arguments) override {
    if (arguments.size() != arguments_.size()) return fail("PW0654", "wrong number of arguments");
    has_failed_ = true;
    auto code = called(arguments);
    has_failed_ = !code.ok();
    return code;
  }
  void forget_packed() override { packed_is_fresh_ = false; }

 private:
  Result<int> called(const std::vector<void*>& arguments) {
    for (uint32_t a = 0; a < arguments.size(); ++a)
      if (!packed_is_fresh_ || !arguments_[a].is_packed)
        if (Status sent = helper_.put(kKernel, a, bytes_of(arguments, a)); !sent) return sent.error();
    if (!packed_is_fresh_)
      if (const auto packed = helper_.pack(kKernel, kLongestCall); !packed) return packed.error();
    packed_is_fresh_ = true;
    const auto call = helper_.call(kKernel, kLongestCall);
    if (!call) return call.error();
    if (!call->outside.empty()) return fail("PW0658", "the kernel writes " + call->outside);
    if (call->code != 0) return call->code;
    for (uint32_t a = 0; a < arguments.size(); ++a)
      if (arguments_[a].is_output)
        if (Status received = helper_.get(kKernel, a, bytes_of(arguments, a)); !received) return received.error();
    return 0;
  }
  std::span<char> bytes_of(const std::vector<void*>& arguments, uint32_t a) const {
    return {static_cast<char*>(arguments[a]), arguments_[a].bytes};
  }

  struct Argument {
    size_t bytes = 0;
    bool is_output = false, is_packed = false;
  };
  std::string program_;
  DeviceClient helper_;
  std::vector<Argument> arguments_;
  bool packed_is_fresh_ = false;
  bool has_failed_ = false;  ///< after a kernel's fault a device refuses everything: its process is kept no more
};

}  // namespace

const Result<DeviceFigures>& device_figures() {
  static const Result<DeviceFigures> figures = ask_figures(DeviceRequest::figures);
  return figures;
}

const Result<DeviceFigures>& cuda_figures() {
  static const Result<DeviceFigures> figures = ask_figures(DeviceRequest::cuda);
  return figures;
}

// LLVM 22.1 keeps numbers of basic blocks from one module to the next, by addresses, and ends the process where it
// finds something that it cannot write. So each module is written by a process of its own.
Result<Bytes> spirv_by_helper(const std::string& llvm_text) {
  auto helper = start_helper();
  if (!helper) return helper.error();
  return helper->spirv(llvm_text);
}

Result<std::unique_ptr<LoadedKernel>> kernel_on_device(const LoopNest& nest, const Bytes& module,
                                                       const std::string& symbol) {
  return kernel_in_helper(
      kDrivers, nest,
      device_kernels(print(nest), symbol, {reinterpret_cast<const char*>(module.data()), module.size()}));
}

Result<DeviceFigures> figures_of_helper(const std::string& program) {
  auto helper = start_helper(program);
  if (!helper) return helper.error();
  return helper->figures();
}

Result<std::unique_ptr<LoadedKernel>> kernel_in_helper(const std::string& program, const LoopNest& nest,
                                                       const std::string& kernels) {
  auto idle = idle_helpers().take(program);
  Result<DeviceClient> helper = idle ? Result<DeviceClient>(std::move(*idle)) : start_helper(program);
  if (!helper) return helper.error();
  auto out = std::make_unique<KernelInHelper>(program, nest, std::move(helper).value());
  if (Status opened = out->open(kernels); !opened) return opened.error();
  return std::unique_ptr<LoadedKernel>(std::move(out));
}

}  // namespace polyweft::targets
