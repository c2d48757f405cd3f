#include "runner_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <new>
#include <utility>

#include "ir/values/kernel_codes.h"
#include "runner_clock.h"
#include "runner_filters.h"
#include "support/limits.h"

namespace polyweft::runner {
namespace {

constexpr double kLoadLimitNs = 10e9;
constexpr uint64_t kStackBytes = uint64_t{8} << 20;

/// Address space that this process has mapped; a child has as much at its start.
uint64_t mapped_bytes(int figures) {
  char text[128] = {};
  if (figures < 0 || pread(figures, text, sizeof text - 1, 0) <= 0) return 0;
  return strtoull(text, nullptr, 10) * 4096;
}

uint64_t address_space_limit(const ProcessSetting& setting, int threads) {
  if (kBuiltWithSanitizer) return 0;
  const uint64_t own = mapped_bytes(setting.own_memory_figures);
  const uint64_t loaded_objects = uint64_t{64} << 20;
  return own == 0
             ? 0
             : own + setting.memory_limit_bytes + static_cast<uint64_t>(threads) * 2 * kStackBytes + loaded_objects;
}

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

std::string address_text(uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

const char* verb_of(const Fault& fault) {
  return fault.is_write == 1 ? "writes" : fault.is_write == 0 ? "reads" : "accesses";
}

std::string outside_text(const Fault& fault, const std::string& name, uint64_t begin, uint64_t bytes) {
  const bool before = fault.address < begin;
  const uint64_t distance = before ? begin - fault.address : fault.address - (begin + bytes);
  return std::string("the kernel ") + verb_of(fault) + " " + std::to_string(distance) + " bytes " +
         (before ? "before " : "behind ") + name + " (" + std::to_string(bytes) + " bytes)";
}

}  // namespace

CandidateProcess::CandidateProcess(CandidateProcess&& other) noexcept
    : modules_(std::move(other.modules_)),
      regions_(other.regions_),
      control_(std::exchange(other.control_, nullptr)),
      pid_(std::exchange(other.pid_, -1)),
      commands_(std::exchange(other.commands_, -1)),
      pidfd_(std::exchange(other.pidfd_, -1)),
      clock_step_ns_(other.clock_step_ns_),
      ready_(other.ready_) {}

CandidateProcess::~CandidateProcess() {
  if (pid_ >= 0) over(Over::unwanted);
  if (control_ != nullptr) munmap(control_, sizeof(Control));
}

std::variant<CandidateProcess, Failure> CandidateProcess::start(const ProcessSetting& setting,
                                                                std::vector<Module> modules,
                                                                std::span<const Region> regions, int threads) {
  CandidateProcess process;
  process.modules_ = std::move(modules);
  process.clock_step_ns_ = setting.clock_step_ns;
  if (!process.fork_child(setting, regions, threads))
    return Failure{RunStatus::not_run, std::string("cannot start a process: ") + std::strerror(errno), Slot::candidate};
  auto reply = process.await(kLoadLimitNs);
  if (auto* failure = std::get_if<Failure>(&reply)) {
    if (failure->status == RunStatus::crash)
      return Failure{RunStatus::build_failed, "loading the object crashed: " + failure->detail, Slot::candidate};
    return std::move(*failure);
  }
  if (std::get<Reply>(reply).kind != Reply::Kind::ready)
    return Failure{RunStatus::build_failed,
                   "the object cannot be loaded: " +
                       std::string(process.control_->message,
                                   strnlen(process.control_->message, sizeof process.control_->message)),
                   Slot::candidate};
  process.ready_ = true;
  return process;
}

bool CandidateProcess::fork_child(const ProcessSetting& setting, std::span<const Region> regions, int threads) {
  regions_ = regions;
  void* memory = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  control_ = new (memory) Control;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
  ChildPlan plan{control_,
                 modules_,
                 regions,
                 threads,
                 setting.memory_limit_bytes,
                 address_space_limit(setting, threads),
                 setting.sandbox,
                 ends[1],
                 setting.null_device,
                 getpid()};
  pid_ = fork();  // the supervisor has one thread
  if (pid_ == 0) run_candidate_process(plan);
  close(ends[1]);
  commands_ = ends[0];
  if (pid_ < 0) return false;
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  return pidfd_ >= 0;
}

std::variant<Reply, Failure> CandidateProcess::order(const Command& command, double launch_limit_ns) {
  if (pid_ < 0) return Failure{RunStatus::not_run, "the process has ended", Slot::candidate};
  (void)!::send(commands_, &command, sizeof command, MSG_NOSIGNAL);  // a dead process shows when its answer is awaited
  auto reply = await(launch_limit_ns);
  if (auto* done = std::get_if<Reply>(&reply); done && done->code != 0) return explain_result(*done);
  return reply;
}

std::variant<Reply, Failure> CandidateProcess::await(double launch_limit_ns) {
  const double asked = now_ns();
  while (true) {
    const double last_sign = std::max(
        asked, std::min(now_ns(), static_cast<double>(control_->launch_started_ns.load(std::memory_order_acquire))));
    const double left_ns = last_sign + launch_limit_ns - now_ns();
    if (left_ns <= 0) return over(Over::too_long, launch_limit_ns - left_ns);
    pollfd fds[2] = {{commands_, POLLIN, 0}, {pidfd_, POLLIN, 0}};
    const int ready = poll(fds, 2, static_cast<int>(std::min(std::ceil(left_ns / 1e6), 3.6e6)));
    if (ready < 0 && errno != EINTR) return over(Over::too_long, launch_limit_ns - left_ns);
    if (ready <= 0) continue;
    Reply reply;
    if ((fds[0].revents & POLLIN) != 0 &&
        ::recv(commands_, &reply, sizeof reply, MSG_DONTWAIT) == static_cast<ssize_t>(sizeof reply))
      return reply;
    if (fds[1].revents != 0 || (fds[0].revents & (POLLHUP | POLLERR)) != 0) return over(Over::ended);
  }
}

Slot CandidateProcess::running() const {
  return control_->running.load() == 1 && modules_.size() > 1 ? Slot::incumbent : Slot::candidate;
}

/// Ends and reaps the process; says why it is over.
Failure CandidateProcess::over(Over reason, double ran_ns) {
  if (reason == Over::ended) {
    pollfd gone{pidfd_, POLLIN, 0};
    poll(&gone, 1, 1000);  // the stream closes a moment before the process is gone
  }
  siginfo_t info{};
  const bool by_itself = reason == Over::ended &&
                         waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                         info.si_pid == pid_;
  if (!by_itself) kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  close(std::exchange(commands_, -1));
  if (pidfd_ >= 0) close(std::exchange(pidfd_, -1));
  return reason == Over::too_long ? too_long(ran_ns) : explain(status);
}

/// The loops of a LoopNest are counted, so its kernel would have returned; of a foreign object nothing is known.
Failure CandidateProcess::too_long(double ran_ns) const {
  if (!ready_) return {RunStatus::hang, "loading the object did not end and was stopped", running()};
  if (!modules_[static_cast<uint32_t>(running())].kernel->terminates)
    return {RunStatus::hang, "the kernel did not return before its deadline and was killed", running()};
  char text[80];
  std::snprintf(text, sizeof text, "the kernel had not returned after %.3g s and was stopped", ran_ns * 1e-9);
  return {RunStatus::slower, text, running(), ran_ns};
}

Failure CandidateProcess::explain(int status) const {
  if (control_->fault.signal.load() != 0) return explain_fault();
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGKILL) return {RunStatus::out_of_memory, "killed by the system: out of memory", running()};
    if (signal == SIGSYS) return {RunStatus::forbidden_system_call, "a forbidden system call", running()};
    return {RunStatus::crash, signal_text(signal) + " without a stack to handle it on (stack overflow?)", running()};
  }
  return {RunStatus::early_exit,
          "the process exited with code " + std::to_string(WEXITSTATUS(status)) + " inside the kernel", running()};
}

Failure CandidateProcess::explain_fault() const {
  const Fault& fault = control_->fault;
  switch (fault.signal.load()) {
    case SIGSEGV:
    case SIGBUS:
      return explain_segment();
    case SIGILL:
      return {RunStatus::illegal_instruction, "illegal instruction at " + address_text(fault.address), running()};
    case SIGTRAP:
      return {RunStatus::crash, "trap instruction", running()};
    case SIGFPE:
      return {RunStatus::arithmetic_trap,
              fault.code == FPE_INTDIV ? "integer division by zero or overflow" : "arithmetic trap", running()};
    case SIGSYS:
      return {RunStatus::forbidden_system_call, "forbidden system call " + system_call_name(fault.system_call),
              running()};
    default:
      return {RunStatus::crash, signal_text(fault.signal.load()), running()};
  }
}

Failure CandidateProcess::explain_segment() const {
  const Fault& fault = control_->fault;
  for (const auto& argument : modules_[static_cast<uint32_t>(running())].arguments) {
    const Region& region = *argument.region;
    const Region::Zone zone = region.zone_of(fault.address);
    if (zone == Region::Zone::elsewhere) continue;
    if (zone == Region::Zone::pages && (region.use() == RegionUse::output || fault.is_write == 0))
      break;  // its own doing: unmapped
    if (zone == Region::Zone::pages)
      return {RunStatus::input_overwritten, "the kernel writes into its input " + region.name(), running()};
    const auto start = reinterpret_cast<uint64_t>(region.data(Placement::at_start)),
               end = reinterpret_cast<uint64_t>(region.data(Placement::at_end));
    return {RunStatus::out_of_bounds,
            outside_text(fault, region.name(), zone == Region::Zone::before ? start : end, region.bytes()), running()};
  }
  for (size_t a = 0; a < modules_[0].arguments.size(); ++a) {
    const uint64_t begin = control_->packed_address[a], bytes = control_->packed_bytes[a], near = uint64_t{1} << 20;
    if (begin != 0 && fault.address >= begin - near && fault.address < begin + bytes + near)
      return {RunStatus::out_of_bounds,
              outside_text(fault, "packed " + modules_[0].arguments[a].spec->name, begin, bytes), running()};
  }
  const uint64_t distance =
      fault.address > fault.stack_pointer ? fault.address - fault.stack_pointer : fault.stack_pointer - fault.address;
  if (fault.stack_pointer != 0 && fault.address != 0 && distance < (uint64_t{1} << 20))
    return {RunStatus::crash, "stack overflow", running()};
  if (control_->allocation_failed.load() != 0 && fault.address < (uint64_t{1} << 20))
    return {RunStatus::out_of_memory, "an allocation over the memory limit was refused and its result used", running()};
  return {RunStatus::crash, std::string("the kernel ") + verb_of(fault) + " at address " + address_text(fault.address),
          running()};
}

Failure CandidateProcess::explain_result(const Reply& reply) const {
  constexpr int kHalideOutOfMemory = -11;
  const std::string said(control_->message, strnlen(control_->message, sizeof control_->message));
  const std::string because = said.empty() ? "" : ": " + said;
  if (reply.code == kHalideOutOfMemory || control_->allocation_failed.load() != 0)
    return {RunStatus::out_of_memory, "an allocation over the memory limit was refused" + because, running()};
  if (reply.code == ir::kNoTileUnit)
    return {RunStatus::kernel_error, "the system does not let the kernel use the tile unit", running()};
  return {RunStatus::kernel_error, "the kernel returned " + std::to_string(reply.code) + because, running()};
}

}  // namespace polyweft::runner
