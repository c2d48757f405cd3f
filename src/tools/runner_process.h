// A candidate's process seen from the supervisor: started by fork, given one order at a time, watched against a
// deadline on every launch of a kernel, and, when it dies, made to explain itself.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <variant>

#include "polyweft/runner.h"
#include "runner_child.h"
#include "runner_control.h"
#include "support/turns.h"

namespace polyweft::runner {

/// Why a candidate is out.
struct Failure {
  RunStatus status = RunStatus::crash;
  std::string detail;
  Slot slot = Slot::candidate;  ///< whose fault it was
  double ran_ns = 0;            ///< status slower: how long its last launch had run when it was stopped
};

class Device;

/// What every candidate's process gets.
struct ProcessSetting {
  const Sandbox* sandbox = nullptr;
  int null_device = -1;
  int own_memory_figures = -1;      ///< /proc/self/statm, opened before files were given up
  uint64_t memory_limit_bytes = 0;  ///< beyond what the process has when its kernel starts
  double clock_step_ns = 1;         ///< of the clock of candidates' processes
  bool is_emulated = false;         ///< an emulator runs all this: its clock drops nothing
  double model_limit_ns = 120e9;    ///< of the wall clock: least for a call whose time is another one's
  Device* device = nullptr;         ///< that kernels of kind kDeviceKernels run on; may be null
};

/// Where the kernels of a trial run.
class KernelProcess {
 public:
  virtual ~KernelProcess() = default;
  /// Gives an order and waits. Each launch of a kernel inside it may take `launch_limit_ns`. A kernel's own non-zero
  /// result is a Failure too.
  virtual std::variant<Reply, Failure> order(const Command& command, double launch_limit_ns) = 0;
  /// Of the last order that timed, kMaxSamples at most.
  virtual const double* samples_ns(Slot slot) const = 0;
  /// Its times pass while we wait, so that none is longer than the wait. The cycles of a model need not be.
  virtual bool times_pass_here() const { return true; }
  /// Of the candidate's single calls that find nothing in the caches; empty where these cannot be emptied.
  virtual std::vector<double> cold_samples_ns(uint32_t /*count*/, double /*launch_limit_ns*/) { return {}; }
  /// Of the device, now; 0: not known.
  virtual double clock_mhz() { return 0; }
  /// That its times are read from.
  virtual ClockFacts clock() const = 0;
};

class CandidateProcess final : public KernelProcess {
 public:
  /// Forks, loads, locks in. A Failure when the object cannot be loaded or its loading goes wrong.
  static std::variant<CandidateProcess, Failure> start(const ProcessSetting& setting, std::vector<Module> modules,
                                                       std::span<const Region> regions, int threads);
  CandidateProcess(CandidateProcess&& other) noexcept;
  CandidateProcess& operator=(CandidateProcess&&) = delete;
  ~CandidateProcess() override;  ///< kills and reaps

  std::variant<Reply, Failure> order(const Command& command, double launch_limit_ns) override;
  const double* samples_ns(Slot slot) const override { return control_->samples_ns[static_cast<uint32_t>(slot)]; }
  ClockFacts clock() const override { return {clock_step_ns_}; }

 private:
  CandidateProcess() = default;
  bool fork_child(const ProcessSetting& setting, std::span<const Region> regions, int threads);
  std::variant<Reply, Failure> await(double launch_limit_ns);
  /// Why nobody waits for the process any longer.
  enum class Over { unwanted, ended, too_long };
  Failure over(Over reason, double ran_ns = 0);
  Failure too_long(double ran_ns) const;
  Failure explain(int wait_status) const;
  Failure explain_fault() const;
  Failure explain_segment() const;
  Failure explain_result(const Reply& reply) const;
  Slot running() const;

  std::vector<Module> modules_;
  std::span<const Region> regions_;
  Control* control_ = nullptr;
  pid_t pid_ = -1;
  int commands_ = -1;
  int pidfd_ = -1;
  double clock_step_ns_ = 1;
  bool ready_ = false;
};

}  // namespace polyweft::runner
