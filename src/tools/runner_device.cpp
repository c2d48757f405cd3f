#include "runner_device.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "runner_clock.h"
#include "support/helper_path.h"

namespace polyweft::runner {

using targets::DeviceClient;
using targets::DeviceTiming;

namespace {

constexpr std::chrono::seconds kLoadLimit{60};
/// Of the times that devices give; CUDA C Programming Guide: events have a resolution of around half a microsecond.
constexpr double kDeviceStepNs = 500;
/// Of those that Python takes: a call from there to WebAssembly costs some 100 us, which a sample should hide.
constexpr double kPythonStepNs = 5000;

/// Kinds of devices, and the programs that run kernels on them.
const std::map<std::string, std::string> kKinds = {{"cuda", "polyweft-device"},
                                                   {"opencl", "polyweft-device"},
                                                   {"program", "polyweft-device"},
                                                   {"wasm", "polyweft-device-wasm"}};

DeviceClient::Deadline deadline_of(double ns) {
  return DeviceClient::Deadline(static_cast<int64_t>(std::clamp(std::ceil(ns / 1e6), 1.0, 8.64e7)));
}

std::span<char> bytes_of(const Region& region, Placement placement) {
  return {reinterpret_cast<char*>(region.data(placement)), region.bytes()};
}

}  // namespace

/// The kernels of one trial on the device. Inputs are sent before packing, outputs before each call that is compared;
/// while the clock runs nothing is.
class DeviceProcess final : public KernelProcess {
 public:
  DeviceProcess(Device& device, DeviceClient& client, std::vector<Module> modules)
      : device_(device), client_(client), modules_(std::move(modules)) {
    for (const Module& module : modules_) numbers_.push_back(device_.loaded_.at(module.kernel->id));
    if (device_.kind_ == "wasm") clock_.step_ns = kPythonStepNs;
    if (device_.kind_ == "program") {
      const auto counted = client_.times_are_counted(number(Slot::candidate));
      failed_ = !counted;
      clock_.is_exact = counted && *counted;
    }
  }
  ~DeviceProcess() override {
    if (failed_) device_.stop();
  }
  DeviceProcess(const DeviceProcess&) = delete;
  DeviceProcess& operator=(const DeviceProcess&) = delete;

  std::variant<Reply, Failure> order(const Command& command, double launch_limit_ns) override {
    if (!device_.client_) return Failure{RunStatus::not_run, "the device's process has ended", command.slot};
    auto done = obey(command, launch_limit_ns);
    failed_ |= std::holds_alternative<Failure>(done);
    return done;
  }
  const double* samples_ns(Slot slot) const override { return samples_[static_cast<uint32_t>(slot)].data(); }
  bool times_pass_here() const override { return false; }
  ClockFacts clock() const override { return clock_; }
  /// What goes wrong here is no fault of the candidate's, which was timed: there are no such times then.
  std::vector<double> cold_samples_ns(uint32_t count, double launch_limit_ns) override {
    auto samples = client_.time_cold(number(Slot::candidate), count, deadline_of(launch_limit_ns * count));
    failed_ |= !samples && !client_.running();
    return samples ? std::move(*samples) : std::vector<double>();
  }
  double clock_mhz() override {
    const auto mhz = client_.clock_mhz(number(Slot::candidate));
    failed_ |= !mhz && !client_.running();
    return mhz ? static_cast<double>(*mhz) : 0;
  }

 private:
  std::variant<Reply, Failure> obey(const Command& command, double limit_ns) {
    switch (command.order) {
      case Order::pack:
        return pack(command, limit_ns);
      case Order::call:
        return call(command, limit_ns);
      case Order::time:
      case Order::time_pairs:
        return time(command, limit_ns);
    }
    return Failure{RunStatus::not_run, "an order of no known kind", command.slot};
  }

  std::variant<Reply, Failure> pack(const Command& command, double limit_ns) {
    const auto& arguments = modules_[static_cast<uint32_t>(command.slot)].arguments;
    for (uint32_t a = 0; a < arguments.size(); ++a)
      if (Status sent = client_.put(number(command.slot), a, bytes_of(*arguments[a].region, command.placement)); !sent)
        return failure(sent.error(), command.slot, 0);
    const auto ns = client_.pack(number(command.slot), deadline_of(limit_ns));
    if (!ns) return failure(ns.error(), command.slot, limit_ns);
    return Reply{Reply::Kind::done, 0, *ns};
  }

  std::variant<Reply, Failure> call(const Command& command, double limit_ns) {
    const auto called = client_.call(number(command.slot), deadline_of(limit_ns));
    if (!called) return failure(called.error(), command.slot, limit_ns);
    if (called->code != 0)
      return Failure{RunStatus::kernel_error, "the kernel returned " + std::to_string(called->code), command.slot};
    if (!called->outside.empty())
      return Failure{RunStatus::out_of_bounds, "the kernel writes " + called->outside, command.slot};
    const auto& arguments = modules_[static_cast<uint32_t>(command.slot)].arguments;
    for (uint32_t a = 0; a < arguments.size(); ++a) {
      if (!arguments[a].spec->is_output && were_inputs_seen_) continue;
      const std::span<char> here = bytes_of(*arguments[a].region, command.placement);
      received_.resize(arguments[a].spec->is_output ? 0 : here.size());
      const std::span<char> to = arguments[a].spec->is_output ? here : std::span<char>(received_);
      if (Status got = client_.get(number(command.slot), a, to); !got) return failure(got.error(), command.slot, 0);
      if (!arguments[a].spec->is_output && std::memcmp(here.data(), to.data(), to.size()) != 0)
        return Failure{RunStatus::input_overwritten, "the kernel writes into its input " + arguments[a].spec->name,
                       command.slot};
    }
    were_inputs_seen_ = true;
    return Reply{Reply::Kind::done, 0, called->ns};
  }

  std::variant<Reply, Failure> time(const Command& command, double limit_ns) {
    const bool pairs = command.order == Order::time_pairs;
    const Slot second = command.slot == Slot::candidate ? Slot::incumbent : Slot::candidate;
    DeviceTiming timing{number(command.slot), pairs ? number(second) : DeviceTiming::kNone,
                        command.count,        command.repeat,
                        command.untimed,      command.other_repeat};
    const double repeats = command.repeat + (pairs ? command.other_repeat : 0);
    const double calls = command.count * (repeats + (pairs ? 2.0 : 1.0) * command.untimed);
    const double started = now_ns();
    const auto taken = client_.time(timing, deadline_of(limit_ns * calls));
    if (!taken) return failure(taken.error(), pairs ? Slot::candidate : command.slot, limit_ns);
    were_inputs_seen_ = false;
    samples_[static_cast<uint32_t>(command.slot)] = (*taken)[0];
    if (pairs) samples_[static_cast<uint32_t>(second)] = (*taken)[1];
    return Reply{Reply::Kind::done, 0, now_ns() - started};
  }

  uint32_t number(Slot slot) const { return numbers_[static_cast<uint32_t>(slot)]; }

  Failure failure(const Error& error, Slot slot, double ran_ns) const {
    if (client_.running())  // of programs the device has the word of how theirs ended
      return {error.code == "PW0601" ? RunStatus::crash : RunStatus::kernel_error, error.message, slot};
    if (error.code != "PW0602")
      return {error.code == "PW0603" ? RunStatus::out_of_memory : RunStatus::crash,
              "the device's process " + client_.process().last_end().text(), slot};
    if (!modules_[static_cast<uint32_t>(slot)].kernel->terminates)
      return {RunStatus::hang, "the kernel did not return before its deadline, and the device's process was ended",
              slot};
    return {RunStatus::slower, "the kernel had not returned before its deadline, and the device's process was ended",
            slot, ran_ns};
  }

  Device& device_;
  DeviceClient& client_;
  std::vector<Module> modules_;    ///< by Slot; one or two
  std::vector<uint32_t> numbers_;  ///< there, by Slot
  std::array<std::vector<double>, kSlots> samples_;
  ClockFacts clock_ = {kDeviceStepNs};
  std::string received_;
  bool were_inputs_seen_ = false;  ///< after a call; it is enough to look after the first one and those that are timed
  bool failed_ = false;
};

Result<DeviceClient*> Device::client() {
  if (client_ && !client_->running()) stop();
  if (!client_) {
    auto started = DeviceClient::start(helper_program(kKinds.at(kind_)));
    if (!started) return started.error();
    client_ = std::move(*started);
  }
  return &*client_;
}

Result<std::string> Device::name() {
  if (kind_ == "program") return std::string("programs that a command of theirs runs");
  auto says = figures();
  return says ? Result<std::string>(says->text()) : says.error();
}

Result<std::string> Device::machine() {
  if (kind_ == "program") return std::string();
  auto says = figures();
  return says ? Result<std::string>(says->machine) : says.error();
}

Result<targets::DeviceFigures> Device::figures() {
  if (!kKinds.contains(kind_))
    return fail("PW0517", "runner: '" + kind_.substr(0, 64) + "' is no kind of device: cuda, opencl, program, wasm");
  auto at = client();
  if (!at) return at.error();
  return (*at)->figures(kind_ == "cuda" ? targets::DeviceRequest::cuda : targets::DeviceRequest::figures);
}

std::optional<Failure> Device::load(const Module& module, Slot slot) {
  const LoadableKernel& kernel = *module.kernel;
  if (loaded_.contains(kernel.id)) return std::nullopt;
  auto at = client();
  if (!at) return Failure{RunStatus::not_run, at.error().message, slot};
  const uint32_t number = next_++;
  const std::string_view bytes(reinterpret_cast<const char*>(kernel.bytes.data()), kernel.bytes.size());
  const auto sizes = (*at)->open(number, bytes, kLoadLimit);
  if (!sizes) {
    stop();
    return Failure{RunStatus::build_failed, sizes.error().message, slot};
  }
  const auto is_as_large = [](uint64_t size, const BoundArgument& a) { return size == a.region->bytes(); };
  if (!std::equal(sizes->begin(), sizes->end(), module.arguments.begin(), module.arguments.end(), is_as_large)) {
    (void)(*at)->close(number);
    return Failure{RunStatus::build_failed, "the kernel's arguments are not those of the task", slot};
  }
  loaded_.emplace(kernel.id, number);
  return std::nullopt;
}

std::variant<std::unique_ptr<KernelProcess>, Failure> Device::start(std::vector<Module> modules) {
  if (client_ && !client_->running()) stop();
  const auto is_wanted = [&](const std::string& id) {
    return std::any_of(modules.begin(), modules.end(), [&](const Module& m) { return m.kernel->id == id; });
  };
  for (auto it = loaded_.begin(); it != loaded_.end();) {
    if (is_wanted(it->first) || !client_->close(it->second)) {
      ++it;
      continue;
    }
    it = loaded_.erase(it);
  }
  for (size_t m = modules.size();
       m-- > 0;)  // the candidate last: if its loading ends the process, nothing else is lost
    if (auto failure = load(modules[m], static_cast<Slot>(m))) return std::move(*failure);
  const auto is_loaded = [&](const Module& m) { return loaded_.contains(m.kernel->id); };
  if (!client_ || !std::all_of(modules.begin(), modules.end(), is_loaded))
    return Failure{RunStatus::not_run, "the device's process ended while the candidate was loaded", Slot::candidate};
  return std::make_unique<DeviceProcess>(*this, *client_, std::move(modules));
}

}  // namespace polyweft::runner
