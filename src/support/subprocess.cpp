#include "support/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "support/stop.h"

extern char** environ;

namespace polyweft {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kStandardErrorKept = 4096;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int operator*() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

struct Pipes {
  Descriptor ours_in, theirs_in;  // a socket pair: writing to a dead child must not raise SIGPIPE in the host
  Descriptor ours_out, theirs_out;
  Descriptor ours_err, theirs_err;
};

Error system_error(const char* what) {
  return fail("PW0606", std::string("child process: ") + what + ": " + std::strerror(errno));
}

void make_non_blocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

Result<Pipes> make_pipes(StandardError standard_error) {
  Pipes pipes;
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return system_error("cannot make a socket pair");
  pipes.ours_in = Descriptor(fds[0]), pipes.theirs_in = Descriptor(fds[1]);
  if (pipe2(fds, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  pipes.ours_out = Descriptor(fds[0]), pipes.theirs_out = Descriptor(fds[1]);
  if (standard_error == StandardError::capture) {
    if (pipe2(fds, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
    pipes.ours_err = Descriptor(fds[0]), pipes.theirs_err = Descriptor(fds[1]);
    make_non_blocking(*pipes.ours_err);
  }
  make_non_blocking(*pipes.ours_in);
  make_non_blocking(*pipes.ours_out);
  return pipes;
}

class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void wire(const Pipes& pipes, StandardError standard_error) {
    posix_spawn_file_actions_adddup2(&actions_, *pipes.theirs_in, 0);
    posix_spawn_file_actions_adddup2(&actions_, *pipes.theirs_out, 1);
    if (standard_error == StandardError::capture) posix_spawn_file_actions_adddup2(&actions_, *pipes.theirs_err, 2);
    if (standard_error == StandardError::discard)
      posix_spawn_file_actions_addopen(&actions_, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions_, 3);  // the host's own descriptors may lack O_CLOEXEC
  }
  void own_group_and_clean_signals() {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  Result<pid_t> spawn(const std::vector<std::string>& argv) {
    std::vector<char*> raw;
    for (const auto& word : argv) raw.push_back(const_cast<char*>(word.c_str()));
    raw.push_back(nullptr);
    pid_t pid = -1;
    const int error = posix_spawnp(&pid, raw[0], &actions_, &attributes_, raw.data(), environ);
    if (error != 0) return fail("PW0606", "child process: cannot start '" + argv[0] + "': " + std::strerror(error));
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// Milliseconds until the deadline for poll(), rounded up; 0 when it has passed.
int remaining_ms(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::min<int64_t>(std::max<int64_t>(left, 0), INT_MAX));
}

std::string name_of_program(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::optional<int> forbidden_call_in(const Frame& frame) {
  if (frame.type != static_cast<uint16_t>(FrameType::forbidden_call)) return std::nullopt;
  ByteReader reader(frame.payload);
  const auto number = static_cast<int>(reader.i64_in(-1, 1 << 20));
  return reader.finish().ok() ? number : -1;
}

EndKind kind_of_signal(int signal) {
  switch (signal) {
    case SIGSYS:
      return EndKind::forbidden_call;
    case SIGKILL:
      return EndKind::out_of_memory;  // not sent by us: the kernel's out-of-memory killer
    case SIGXCPU:
      return EndKind::timed_out;
    default:
      return EndKind::signalled;
  }
}

std::chrono::nanoseconds duration_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

/// Of processes that this one started and waited for, in the system's ticks; 0 where the system does not say.
std::chrono::nanoseconds processor_time_of_children(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');  // the name may hold spaces
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  constexpr int kFieldsBefore = 13;
  for (int k = 0; k < kFieldsBefore; ++k) fields >> skipped;
  int64_t user = 0, system = 0;
  const int64_t ticks_per_s = sysconf(_SC_CLK_TCK);
  if (!(fields >> user >> system) || ticks_per_s <= 0) return {};
  return std::chrono::nanoseconds((user + system) * (std::nano::den / ticks_per_s));
}

const char* code_for(EndKind kind) {
  switch (kind) {
    case EndKind::timed_out:
      return "PW0602";
    case EndKind::out_of_memory:
      return "PW0603";
    case EndKind::forbidden_call:
      return "PW0604";
    case EndKind::protocol_error:
      return "PW0605";
    default:
      return "PW0601";
  }
}

}  // namespace

struct WorkerProcess::State {
  WorkerOptions options;
  Descriptor to_child, from_child, errors, pidfd;
  pid_t pid = -1;
  uint64_t starts = 0;
  ChildEnd end;
  std::string captured;
  std::chrono::nanoseconds used_by_ended{};
  mutable std::chrono::nanoseconds told{};

  ~State() { finish(EndKind::stopped); }

  Status launch();
  void finish(EndKind reason);
  ChildEnd reap(EndKind reason);
  void drain_errors();
  Error ended(EndKind reason);
  Result<Frame> talk(const std::string& message, std::chrono::milliseconds deadline);
  int patience_ms(Clock::time_point until) const;
  std::chrono::nanoseconds processor_time() const;
  std::chrono::nanoseconds processor_time_of_all() const;
  bool send_some(const std::string& message, size_t& sent);
  enum class Received { more, complete, closed, malformed };
  Received receive_some(std::string& buffer, Frame& frame);
};

Status WorkerProcess::State::launch() {
  if (options.argv.empty()) return fail("PW0606", "child process: no program given");
  auto pipes = make_pipes(options.standard_error);
  if (!pipes) return pipes.error();
  SpawnPlan plan;
  plan.wire(*pipes, options.standard_error);
  plan.own_group_and_clean_signals();
  auto started = plan.spawn(options.argv);
  if (!started) return started.error();
  pid = *started;
  pidfd = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  to_child = std::move(pipes->ours_in);
  from_child = std::move(pipes->ours_out);
  errors = std::move(pipes->ours_err);
  captured.clear();
  end = ChildEnd{};
  ++starts;
  if (Status limited = apply_limits(pid, options.limits); !limited) {
    finish(EndKind::stopped);
    return limited;
  }
  return Ok{};
}

void WorkerProcess::State::drain_errors() {
  char chunk[4096];
  ssize_t n = 0;
  while (errors && (n = ::read(*errors, chunk, sizeof chunk)) > 0) {
    captured.append(chunk, static_cast<size_t>(n));
    if (captured.size() > kStandardErrorKept) captured.erase(0, captured.size() - kStandardErrorKept);
  }
}

/// Kills the group (also what the child left behind), waits for the child, says how it ended. `reason` is `running`
/// when the child ended or closed its stream without our doing: then it has a moment to finish dying before we kill it.
ChildEnd WorkerProcess::State::reap(EndKind reason) {
  siginfo_t info{};
  rusage used{};
  if (reason == EndKind::running && pidfd) {
    pollfd wait_for{*pidfd, POLLIN, 0};
    if (poll(&wait_for, 1, 200) == 0) reason = EndKind::protocol_error;
  }
  const bool by_itself = reason == EndKind::running;
  if (!by_itself) kill(-pid, SIGKILL);
  int waited = 0;
  do waited = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  while (waited != 0 && errno == EINTR);
  if (by_itself) kill(-pid, SIGKILL);  // the zombie's pid names the group
  pid_t reaped = 0;
  do reaped = wait4(pid, nullptr, 0, &used);
  while (reaped < 0 && errno == EINTR);
  if (reaped == pid) used_by_ended += duration_of(used.ru_utime) + duration_of(used.ru_stime);
  ChildEnd out;
  out.kind = reason;
  if (!by_itself) return out;
  if (waited != 0 ||
      info.si_code == CLD_EXITED) {  // a host that ignores SIGCHLD loses the status: "exited", code unknown
    out.exit_code = waited != 0 ? -1 : info.si_status;
    out.kind = out.exit_code == kExitOutOfMemory ? EndKind::out_of_memory : EndKind::exited;
    return out;
  }
  out.signal = info.si_status;
  out.kind = kind_of_signal(out.signal);
  return out;
}

void WorkerProcess::State::finish(EndKind reason) {
  if (pid < 0) return;
  end = reap(reason);
  drain_errors();
  end.standard_error = captured;
  pid = -1;
  to_child.reset(), from_child.reset(), errors.reset(), pidfd.reset();
}

Error WorkerProcess::State::ended(EndKind reason) {
  finish(reason);
  Error error = fail(code_for(end.kind), options.argv[0] + ": " + end.text());
  if (!end.standard_error.empty()) error.notes.push_back(end.standard_error);
  return error;
}

/// False when the child does not take any more.
bool WorkerProcess::State::send_some(const std::string& message, size_t& sent) {
  const ssize_t n = ::send(*to_child, message.data() + sent, message.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n >= 0) sent += static_cast<size_t>(n);
  return n >= 0 || errno == EAGAIN || errno == EINTR;
}

WorkerProcess::State::Received WorkerProcess::State::receive_some(std::string& buffer, Frame& frame) {
  char chunk[65536];
  const ssize_t n = ::read(*from_child, chunk, sizeof chunk);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? Received::more : Received::closed;
  if (n == 0) return Received::closed;
  buffer.append(chunk, static_cast<size_t>(n));
  if (buffer.size() < kFrameHeaderBytes) return Received::more;
  auto header = decode_frame_header(buffer);
  if (!header) return Received::malformed;
  const size_t whole = kFrameHeaderBytes + header->payload_bytes;
  if (buffer.size() > whole) return Received::malformed;  // one answer a question
  if (buffer.size() < whole) return Received::more;
  frame = {header->type, buffer.substr(kFrameHeaderBytes)};
  return Received::complete;
}

/// Processor time of the child so far, all its threads; 0 where the system does not say.
std::chrono::nanoseconds WorkerProcess::State::processor_time() const {
  clockid_t clock = 0;
  timespec time = {};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::chrono::nanoseconds WorkerProcess::State::processor_time_of_all() const {
  const auto running = pid < 0 ? std::chrono::nanoseconds(0) : processor_time() + processor_time_of_children(pid);
  return told = std::max(told, used_by_ended + running);  // the kernel rounds what has ended
}

/// How long to wait for something to happen.
int WorkerProcess::State::patience_ms(Clock::time_point until) const {
  const int left = remaining_ms(until);
  return options.is_stopped ? std::min(left, static_cast<int>(kStopPeriod.count())) : left;
}

Result<Frame> WorkerProcess::State::talk(const std::string& message, std::chrono::milliseconds deadline) {
  const auto begin = Clock::now(), last = begin + options.wall_factor * deadline;
  const auto used_before = processor_time();
  auto until = begin + deadline;
  const auto is_late = [&] {
    if (Clock::now() < until) return false;
    const auto left = deadline - (processor_time() - used_before);
    if (options.wall_factor > 1 && left.count() > 0)
      until = std::min(last, Clock::now() + std::max<std::chrono::nanoseconds>(left, std::chrono::milliseconds(1)));
    return Clock::now() >= until;
  };
  size_t sent = 0;
  std::string buffer;
  Frame frame;
  while (true) {
    pollfd fds[4] = {{*from_child, POLLIN, 0},
                     {errors ? *errors : -1, POLLIN, 0},
                     {sent < message.size() ? *to_child : -1, POLLOUT, 0},
                     {*pidfd, POLLIN, 0}};
    if (options.is_stopped && options.is_stopped()) {
      finish(EndKind::stopped);
      return stopped("what " + name_of_program(options.argv[0]) + " was asked for");
    }
    const int ready = poll(fds, 4, patience_ms(until));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0 || (ready == 0 && is_late())) return ended(EndKind::timed_out);
    if (ready == 0) continue;
    if (fds[1].revents != 0) drain_errors();
    if ((fds[1].revents & (POLLHUP | POLLERR)) != 0) errors.reset();
    if (fds[2].revents != 0 && !send_some(message, sent)) sent = message.size();  // it died: the stream's end tells how
    if (fds[0].revents == 0) {
      if (fds[3].revents != 0)
        return ended(EndKind::running);  // dead, though something it left behind may hold the pipe open
      if (is_late()) return ended(EndKind::timed_out);
      continue;
    }
    switch (receive_some(buffer, frame)) {
      case Received::more:
        break;
      case Received::complete:
        return frame;
      case Received::closed:
        return ended(EndKind::running);
      case Received::malformed:
        return ended(EndKind::protocol_error);
    }
  }
}

WorkerProcess::WorkerProcess(std::unique_ptr<State> state) : state_(std::move(state)) {}
WorkerProcess::WorkerProcess(WorkerProcess&&) noexcept = default;
WorkerProcess& WorkerProcess::operator=(WorkerProcess&&) noexcept = default;
WorkerProcess::~WorkerProcess() = default;

Result<WorkerProcess> WorkerProcess::start(WorkerOptions options) {
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  if (Status launched = state->launch(); !launched) return launched.error();
  return WorkerProcess(std::move(state));
}

Result<Frame> WorkerProcess::exchange(uint16_t type, std::string_view payload, std::chrono::milliseconds deadline) {
  if (payload.size() > kMaxFrameBytes)
    return fail("PW0605", "message: " + std::to_string(payload.size()) + " bytes are more than the limit of " +
                              std::to_string(kMaxFrameBytes));
  if (!running())
    if (Status launched = state_->launch(); !launched) return launched.error();
  auto answer = state_->talk(encode_frame(type, payload), deadline);
  if (!answer) return answer.error();
  if (auto number = forbidden_call_in(*answer)) {
    state_->finish(EndKind::forbidden_call);
    state_->end.system_call = *number;
    return fail("PW0604", state_->options.argv[0] + ": " + state_->end.text());
  }
  return answer;
}

Result<std::string> WorkerProcess::call(std::string_view request, std::chrono::milliseconds deadline) {
  auto answer = exchange(static_cast<uint16_t>(FrameType::request), request, deadline);
  if (!answer) return answer.error();
  if (answer->type != static_cast<uint16_t>(FrameType::response)) return state_->ended(EndKind::protocol_error);
  return std::move(answer->payload);
}

Status WorkerProcess::restart() {
  stop();
  return state_->launch();
}
void WorkerProcess::stop() {
  state_->finish(EndKind::stopped);
}
bool WorkerProcess::running() const {
  return state_->pid >= 0;
}
pid_t WorkerProcess::pid() const {
  return state_->pid;
}
const ChildEnd& WorkerProcess::last_end() const {
  return state_->end;
}
std::chrono::nanoseconds WorkerProcess::processor_time() const {
  return state_->processor_time_of_all();
}
uint64_t WorkerProcess::starts() const {
  return state_->starts;
}

}  // namespace polyweft
