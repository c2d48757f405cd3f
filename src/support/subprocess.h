// Child processes that answer questions: started without fork() (the host may have threads), limited, watched against a
// deadline, killed with their whole process group, and classified when they end.
//
// Memory model. A WorkerProcess owns the child and three descriptors; destroying it kills the child. It is not for
// several threads at once. After a call that failed because the child ended (last_end().kind says how) the next call
// starts a new child.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/framing.h"
#include "support/limits.h"

namespace polyweft {

/// What becomes of the child's standard error.
enum class StandardError : uint8_t { capture, inherit, discard };

struct WorkerOptions {
  std::vector<std::string> argv;  ///< argv[0] is a path, or a name looked up in PATH
  ProcessLimits limits;
  StandardError standard_error = StandardError::capture;
  /// 1: deadlines are wall clock. Above: deadlines are processor time of the child, so that a busy machine refuses
  /// nothing that a quiet one does, and this many times as much by the wall clock ends it all the same.
  int wall_factor = 1;
  /// Asked while a call waits for its answer, each kStopPeriod; true ends child and call (PW0839). Empty: never.
  std::function<bool()> is_stopped = {};
};

/// A child that reads request frames on standard input and writes one response frame for each on standard output.
class WorkerProcess {
 public:
  /// PW0606 when the program cannot be started.
  static Result<WorkerProcess> start(WorkerOptions options);
  WorkerProcess(WorkerProcess&&) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) noexcept;
  ~WorkerProcess();  ///< kills the process group and waits for the child

  /// Sends a request frame and waits for the response. On failure the child is gone and last_end() says how it ended.
  /// Codes: PW0601 crashed or exited, PW0602 deadline passed, PW0603 out of memory, PW0604 forbidden system call,
  /// PW0605 malformed message, PW0606 not startable, PW0839 stopped.
  Result<std::string> call(std::string_view request, std::chrono::milliseconds deadline);
  /// The same with any frame type in both directions.
  Result<Frame> exchange(uint16_t type, std::string_view payload, std::chrono::milliseconds deadline);

  /// Ends the child if there is one and starts a new one.
  Status restart();
  /// Kills the child's process group and waits for the child.
  void stop();

  bool running() const;
  pid_t pid() const;                 ///< -1 when not running
  const ChildEnd& last_end() const;  ///< kind `running` while there was no end yet
  uint64_t starts() const;           ///< how many children there were
  /// Of all children so far and of processes that they started and waited for; it never falls.
  std::chrono::nanoseconds processor_time() const;

 private:
  struct State;
  explicit WorkerProcess(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The child's side of WorkerProcess::call: answers requests on standard input until it is closed; returns the exit
/// code for main(). `answer(request)` returns the response's payload.
template <class Answer>
int serve_requests(const Answer& answer) {
  while (true) {
    auto frame = read_frame(0);
    if (!frame) return frame.error().code == "PW0607" ? 0 : 1;
    if (!write_frame(1, static_cast<uint16_t>(FrameType::response), answer(std::string_view(frame->payload)))) return 1;
  }
}

}  // namespace polyweft
