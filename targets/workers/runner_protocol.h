// The messages between a Runner and its worker process (polyweft-runner), as payloads of frames. Both sides check
// everything: the worker may be remote, and a worker that ran a hostile kernel may lie.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "polyweft/runner.h"
#include "support/framing.h"

namespace polyweft::targets {

/// Frame types. Frozen: append only.
enum class RunnerMessage : uint16_t {
  hello = 100,          ///< -> described
  begin = 101,          ///< RunnerTask -> began
  set_incumbent = 102,  ///< LoadableKernel -> accepted
  run = 103,            ///< RunRequest -> outcome
  described = 150,
  began = 151,
  accepted = 152,
  outcome = 153,
  refused = 160,  ///< an Error: code and message
};

inline constexpr size_t kMaxArguments = 64;
inline constexpr size_t kMaxRank = 16;
inline constexpr size_t kMaxFeatures = 256;
inline constexpr size_t kMaxKinds = 64;
inline constexpr int64_t kMaxElements = int64_t{1} << 40;
inline constexpr int kMaxThreads = 256;

/// What a worker says about itself.
struct WorkerDescription {
  int landlock_abi = 0;  ///< 0: this kernel has none
  bool seccomp = false;
  std::string weaker;                ///< what is weaker than it should be; empty: nothing
  std::string build;                 ///< support/build_identity.h
  std::string architecture;          ///< Target::architecture of the machine that it runs on
  std::vector<std::string> kinds;    ///< of artifacts that it loads: "elf-shared"
  std::vector<std::string> devices;  ///< beside the CPU, that it runs kernels on
  bool is_emulated = false;          ///< an emulator runs it: results count, times do not
};

std::string encode(const WorkerDescription& description);
std::string encode(const LoadableKernel& kernel);
std::string encode(const RunnerTask& task);
std::string encode(const RunRequest& request);
std::string encode(const RunOutcome& outcome);
std::string encode(const Error& error);

Result<WorkerDescription> decode_description(std::string_view payload);
Result<LoadableKernel> decode_kernel(std::string_view payload);
Result<RunnerTask> decode_task(std::string_view payload);
Result<RunRequest> decode_request(std::string_view payload);
Result<RunOutcome> decode_outcome(std::string_view payload);
/// The error that a `refused` message carries, or that of a malformed one.
Error decode_error(std::string_view payload);

}  // namespace polyweft::targets
