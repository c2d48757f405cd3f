// Runner: where candidate kernels are executed, compared with the reference and timed, behind a process border.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "polyweft/program.h"
#include "polyweft/result.h"

#pragma GCC visibility push(default)
namespace polyweft {

/// What happened to a candidate. Frozen on disk: append only.
enum class RunStatus : uint8_t {
  ok = 0,
  wrong_result = 1,
  crash = 2,
  hang = 3,
  illegal_instruction = 4,
  out_of_bounds = 5,
  out_of_memory = 6,
  forbidden_system_call = 7,
  input_overwritten = 8,
  early_exit = 9,
  arithmetic_trap = 10,
  kernel_error = 11 /* returned non-zero */,
  build_failed = 12,
  spilled = 13,
  slower = 14 /* dropped early, or stopped at its deadline though it terminates: timing is a lower bound */,
  not_run = 15,
  timed_out = 16 /* an emulator had not ended it by a deadline of the wall clock: says nothing of its speed */
};
const char* name_of(RunStatus status);

/// One argument of a kernel, in ABI order: inputs then outputs, program order.
struct ArgumentSpec {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<int64_t> extents;  ///< row-major, outermost first; empty: scalar
  bool is_output = false;
  bool partial = false;     ///< output that may leave elements unwritten
  bool is_packed = false;   ///< const input: NAME_pack_ARG is called once, untimed
  bool has_values = false;  ///< gather promise: fill inside [values_lo, values_hi)
  int64_t values_lo = 0, values_hi = 0;
};
/// The kind of an ELF shared object whose halide_* symbols are resolved by the runner.
inline constexpr const char* kElfShared = "elf-shared";
/// The kind of kernels for the device that a runner was started for, with the nest that says how they are launched.
inline constexpr const char* kDeviceKernels = "device-kernels";
/// A loadable kernel: an artifact's bytes and its entry symbol.
struct LoadableKernel {
  std::string kind = kElfShared;  ///< what the bytes are; a runner refuses kinds that it does not load (PW0612)
  std::vector<unsigned char> bytes;
  std::string symbol;
  std::string id;  ///< 32 hex digits over the bytes: failures are remembered under it
  int spills = 0;  ///< vector registers that the code stores on its stack
  std::vector<std::string>
      features;  ///< that the code needs, as Target::features; a runner refuses what its CPU lacks (PW0517)
  /// Compiled from a LoopNest, whose loops are counted: at its deadline it is slow (`slower`), not hung. A foreign
  /// object's maker promises nothing.
  bool terminates = false;
};
enum class InputSet : uint8_t { integer_valued = 0, random = 1, adversarial = 2 };

/// What is the same for all candidates of a task.
struct RunnerTask {
  std::string id;  ///< key of (program, binding, class): reference outputs are cached under it
  std::vector<ArgumentSpec> arguments;
  LoadableKernel reference;  ///< the compiled base nest, for the CPU
  LoadableKernel bound;      ///< empty, or computes per output element the f64 error bound (same inputs, f64 outputs)
  bool bit_exact = false;    ///< strict without approximate functions: random data must agree bit for bit too
  double relative_bound =
      0;  ///< used where `bound` is empty: |a - b| <= relative_bound * max(|row scale|, |a|, least normal number)
  uint64_t seed = 1;
  int threads = 1;
  /// Bytes of inputs, by argument, that are taken instead of seeded data in each set; empty: seeded.
  std::vector<std::vector<unsigned char>> given = {};
};
/// What the seeded data of a set came to, where the reference has infinities or NaNs, or where its error bounds have.
/// Candidates are not judged at such elements.
struct SetNote {
  InputSet set = InputSet::integer_valued;
  std::string drawn;        ///< what was compared: "the usual numbers", "numbers near 1" ...
  double judged = 1;        ///< share of the elements of float outputs that are judged
  std::string output;       ///< that has the first element which is not judged with the usual numbers
  std::string element;      ///< "y[27] is nan"
  double usual_judged = 1;  ///< share with the usual numbers
};
struct RunRequest {
  LoadableKernel candidate;
  std::vector<InputSet> compare_on = {InputSet::integer_valued, InputSet::random};
  std::chrono::milliseconds time_budget{200};  ///< for timing; zero: compare only
  double incumbent_ns = 0;                     ///< known median; 0: none. Drop early when clearly slower
  bool pair_with_incumbent = false;            ///< interleave with the kernel set by set_incumbent
  bool pair_to_the_end = false;  ///< pairs until the budget is spent or there are `most_pairs`, whoever is faster
  int most_pairs = 200;          ///< with pair_to_the_end
  bool with_cold_calls = false;  ///< times calls that find nothing in the caches, too, where the device can empty them
  std::chrono::milliseconds deadline{0};  ///< of one launch; 0: three times the expected time and a second
};
struct Timing {
  double median_ns = 0, min_ns = 0;
  double ci_rel = 0;  ///< half width of the 95 % interval of the median, relative; of one sample 0: there is none
  int samples = 0;
  double ratio = 0, ratio_lo = 0, ratio_hi = 0;  ///< candidate / incumbent with its 95 % interval; 0 when not paired
  double cold_ns = 0;                            ///< median of calls that find nothing in the caches; 0: not known
  double clock_mhz_lo = 0, clock_mhz_hi = 0;     ///< of the device, before and after; 0: not known
  std::vector<float> samples_ns = {};            ///< of a call, in the order in which they were taken
  std::vector<float> beside_ns = {};             ///< of the incumbent in the same turns; empty when not paired
  bool is_exact = false;                         ///< counted by a model, the same each time: no interval is needed
};
/// What pairs say of a candidate beside its incumbent: "faster", "slower", "tie" (within a hundredth; of exact times
/// the same), "too noisy" (the interval holds 1 and reaches further), "not compared". Where pairs are too few for an
/// interval: "faster" or "slower" if there are two or more and each differs by half as much again, else "too few
/// pairs".
PW_EXPORT const char* comparison_word(const Timing& timing);
struct RunOutcome {
  RunStatus status = RunStatus::not_run;
  std::string detail;  ///< first differing index, signal and buffer, system call ...
  Timing timing;
  double reference_ns = 0;          ///< one run of the reference
  double pack_ns = 0;               ///< packing of const inputs, not part of the time of a call
  std::vector<SetNote> notes = {};  ///< of the sets that it was compared on
};
/// Runs candidates in a sandboxed child; every failure is a classified outcome, never an exception or a dead host.
/// Errors (Result) only when no worker can be started at all (PW06xx).
class Runner {
 public:
  virtual ~Runner() = default;
  virtual Status begin(const RunnerTask& task) = 0;
  virtual Result<RunOutcome> run(const RunRequest& request) = 0;
  virtual Status set_incumbent(const LoadableKernel& kernel) = 0;
  /// Kernels run in an emulator: their results count, their times do not.
  virtual bool is_emulated() const { return false; }
};
struct RunnerOptions {
  std::vector<std::string> command;  ///< a runner is a command; empty: the installed polyweft-runner
  int64_t memory_limit_bytes = int64_t{8} << 30;
  std::chrono::milliseconds start_deadline{5000};
  std::string device = {};  ///< of the runner's machine, that candidates run on: "cuda", "opencl", "program"
                            ///< (each has a command that runs it); empty: its CPU
  std::function<void(const SetNote&)> on_note = {};  ///< once a task and set: data that were not as usual
  std::function<bool()> is_stopped =
      {};  ///< asked some fifty times a second while a call waits; true ends the call (PW0839)
  std::chrono::milliseconds emulated_call_deadline{120'000};  ///< least deadline of a call that an emulator or a model
                                                              ///< of cycles runs: its own clock says nothing
};
Result<std::unique_ptr<Runner>> start_local_runner(const RunnerOptions& options);

}  // namespace polyweft
#pragma GCC visibility pop
