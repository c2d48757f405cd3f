// The child processes of these tests are this very executable: a constructor that runs before main() plays a role when
// the command line names one.
#include "support/subprocess.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <thread>

namespace polyweft {
namespace {

using namespace std::chrono_literals;

std::string listed_descriptors() {
  std::string out;
  DIR* dir = opendir("/proc/self/fd");
  while (dirent* entry = readdir(dir))
    if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(dir)) out += std::string(entry->d_name) + " ";
  closedir(dir);
  return out;
}

std::string big_allocation() {
  void* memory =
      mmap(nullptr, size_t{16} << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? "refused" : "granted";
}

std::string answer(std::string_view request) {
  if (request == "crash") {
    signal(SIGSEGV, SIG_DFL);  // sanitizers catch it otherwise
    raise(SIGSEGV);
  }
  if (request == "exit") _exit(3);
  if (request == "hang")
    while (true) pause();
  if (request == "nap") std::this_thread::sleep_for(200ms);
  if (request == "memory") _exit(kExitOutOfMemory);
  if (request == "new") {
    exit_when_out_of_memory();
    for (std::vector<void*> kept;;) kept.push_back(::operator new (size_t{64} << 20));
  }
  if (request == "killed") raise(SIGKILL);
  if (request == "sigsys") raise(SIGSYS);
  if (request == "last words") {
    (void)write_frame(1, static_cast<uint16_t>(FrameType::forbidden_call), ByteWriter().i64(41).bytes()).ok();
    _exit(1);
  }
  if (request == "garbage") (void)!write(1, "HTTP/1.1 200 OK\r\n\r\n", 19);
  if (request == "huge") {
    std::string head = encode_frame(2, "");
    std::memset(head.data() + 8, 0xff, 4);
    (void)!write(1, head.data(), head.size());
    pause();
  }
  if (request == "two answers") {
    const std::string twice = encode_frame(2, "a") + encode_frame(2, "b");
    (void)!write(1, twice.data(), twice.size());
    pause();
  }
  if (request == "close") {
    close(1);
    pause();
  }
  if (request == "complain") {
    for (int i = 0; i < 20000; ++i) (void)!write(2, "all is lost\n", 12);
    raise(SIGABRT);
  }
  if (request == "leave a grandchild") {
    const pid_t pid = fork();
    if (pid == 0)
      while (true) pause();
    (void)!write(2, &pid, sizeof pid);
    raise(SIGABRT);
  }
  if (request == "descriptors") return listed_descriptors();
  if (request == "big") return big_allocation();
  if (request == "burn")
    for (volatile bool on = true; on;) {
    }
  if (request == "let a child burn") {
    const pid_t pid = fork();
    if (pid == 0) {
      const rlimit one_second{1, 1};
      setrlimit(RLIMIT_CPU, &one_second);
      for (volatile bool on = true; on;) {
      }
    }
    waitpid(pid, nullptr, 0);
  }
  if (request == "signals") {
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, nullptr, &blocked);
    struct sigaction term {};
    sigaction(SIGTERM, nullptr, &term);
    return std::string(sigismember(&blocked, SIGINT) ? "blocked" : "open") +
           (term.sa_handler == SIG_DFL ? " default" : " changed");
  }
  return "you said " + std::string(request);
}

[[gnu::constructor]] void play_the_role(int argc, char** argv, char**) {
  if (argc < 2) return;
  if (std::strcmp(argv[1], "--answer-requests") == 0) {
    die_with_parent(getppid());
    _exit(serve_requests(answer));
  }
  if (std::strcmp(argv[1], "--host-and-die") == 0) {  // a host whose spawning thread ends before the host itself does
    auto worker = WorkerProcess::start({{"/proc/self/exe", "--answer-requests"}, {}, StandardError::inherit});
    for (std::thread t([&] { (void)worker->restart().ok(); }); t.joinable();) t.join();
    if (!worker->call("x", 5000ms)) _exit(9);  // killed with the thread
    const pid_t pid = worker->pid();
    (void)!write(1, &pid, sizeof pid);
    raise(SIGKILL);
  }
}

WorkerOptions this_program(ProcessLimits limits = {}) {
  return {{"/proc/self/exe", "--answer-requests"}, limits, StandardError::capture};
}

WorkerProcess started(ProcessLimits limits = {}) {
  auto worker = WorkerProcess::start(this_program(limits));
  PW_CHECK(worker.ok());
  return std::move(*worker);
}

bool gone(pid_t pid) {
  for (int i = 0; i < 1000; ++i) {
    if (kill(pid, 0) != 0) return true;
    std::string stat_path = "/proc/" + std::to_string(pid) + "/stat";
    char text[256] = {};
    const int fd = open(stat_path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return true;
    (void)!read(fd, text, sizeof text - 1);
    close(fd);
    if (const char* state = std::strrchr(text, ')'); state && state[2] == 'Z') return true;
    usleep(2000);
  }
  return false;
}

TEST(Subprocess, answers_requests_of_any_size) {
  auto worker = started();
  EXPECT_EQ(*worker.call("hello", 5000ms), "you said hello");
  EXPECT_EQ(*worker.call("", 5000ms), "you said ");
  const std::string large(8 << 20, 'x');
  EXPECT_EQ(*worker.call(large, 20000ms), "you said " + large);
  EXPECT_EQ(worker.starts(), 1u);
}

struct EndCase {
  const char* request;
  const char* code;
  EndKind kind;
};

TEST(Subprocess, every_end_is_classified_and_the_next_call_starts_a_new_child) {
  const EndCase cases[] = {
      {"crash", "PW0601", EndKind::signalled},
      {"exit", "PW0601", EndKind::exited},
      {"hang", "PW0602", EndKind::timed_out},
      {"memory", "PW0603", EndKind::out_of_memory},
      {"killed", "PW0603", EndKind::out_of_memory},
      {"sigsys", "PW0604", EndKind::forbidden_call},
      {"last words", "PW0604", EndKind::forbidden_call},
      {"garbage", "PW0605", EndKind::protocol_error},
      {"huge", "PW0605", EndKind::protocol_error},
      {"two answers", "PW0605", EndKind::protocol_error},
      {"close", "PW0605", EndKind::protocol_error},
      {"complain", "PW0601", EndKind::signalled},
  };
  auto worker = started();
  for (const auto& c : cases) {
    const bool waits = c.kind == EndKind::timed_out;
    auto reply = worker.call(c.request, waits ? 100ms : 10000ms);
    ASSERT_FALSE(reply.ok()) << c.request;
    EXPECT_EQ(reply.error().code, c.code) << c.request;
    EXPECT_EQ(worker.last_end().kind, c.kind) << c.request << ": " << worker.last_end().text();
    EXPECT_FALSE(worker.running()) << c.request;
    EXPECT_EQ(*worker.call("again", 5000ms), "you said again") << c.request;
  }
  EXPECT_EQ(worker.starts(), std::size(cases) + 1);
}

TEST(Subprocess, the_end_says_which_signal_code_call_and_text) {
  auto worker = started();
  (void)worker.call("crash", 5000ms).ok();
  EXPECT_EQ(worker.last_end().text(), "killed by signal 11 (SIGSEGV)");
  (void)worker.call("exit", 5000ms).ok();
  EXPECT_EQ(worker.last_end().text(), "exited with code 3");
  (void)worker.call("last words", 5000ms).ok();
  EXPECT_EQ(worker.last_end().text(), "tried a forbidden system call (number 41)");
  auto reply = worker.call("complain", 5000ms);
  EXPECT_EQ(reply.error().notes.size(), 1u);
  EXPECT_NE(worker.last_end().standard_error.find("all is lost"), std::string::npos);
  EXPECT_LE(worker.last_end().standard_error.size(), 4096u);
}

TEST(Subprocess, a_missing_program_is_an_error_value) {
  EXPECT_EQ(WorkerProcess::start({{"/nonexistent/program"}, {}, StandardError::discard}).error().code, "PW0606");
  EXPECT_EQ(WorkerProcess::start({{}, {}, StandardError::discard}).error().code, "PW0606");
}

TEST(Subprocess, the_child_has_three_descriptors_and_clean_signals) {
  const int leaky = dup(0);  // without O_CLOEXEC, as a careless host has them
  sigset_t interrupt, before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  auto worker = started();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(*worker.call("descriptors", 5000ms), "0 1 2 ");
  EXPECT_EQ(*worker.call("signals", 5000ms), "open default");
  close(leaky);
}

TEST(Subprocess, the_host_leaks_no_descriptor_and_no_zombie) {
  { auto worker = started(); }
  const std::string before = listed_descriptors();
  {
    auto worker = started();
    for (int i = 0; i < 10; ++i) (void)worker.call(i % 2 ? "crash" : "exit", 5000ms).ok();
    (void)worker.call("hang", 20ms).ok();
  }
  EXPECT_EQ(listed_descriptors(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(Subprocess, limits_are_in_force) {
  if (kBuiltWithSanitizer) GTEST_SKIP() << "sanitizers need their addresses";
  auto worker = started({.address_space_bytes = uint64_t{1} << 30});
  EXPECT_EQ(*worker.call("big", 5000ms), "refused");
  EXPECT_FALSE(worker.call("new", 5000ms).ok());
  EXPECT_EQ(worker.last_end().kind, EndKind::out_of_memory);
  EXPECT_EQ(*started().call("big", 5000ms), "granted");
}

TEST(Subprocess, deadlines_in_processor_time_wait_for_a_child_that_does_not_run) {
  WorkerOptions options = this_program();
  options.wall_factor = 200;
  auto launched = WorkerProcess::start(std::move(options));
  ASSERT_TRUE(launched.ok());
  auto worker = std::move(launched).value();
  EXPECT_EQ(*worker.call("nap", 50ms), "you said nap");
  EXPECT_FALSE(worker.call("burn", 50ms).ok());
  EXPECT_EQ(worker.last_end().kind, EndKind::timed_out);
}

TEST(Subprocess, processor_time_of_ended_children_is_kept) {
  auto worker = started({.cpu_seconds = 1});
  EXPECT_FALSE(worker.call("burn", 20000ms).ok());  // it ends itself
  const auto first = worker.processor_time();
  EXPECT_GT(first, 900ms);
  EXPECT_TRUE(worker.call("x", 5000ms).ok());
  EXPECT_GE(worker.processor_time(), first) << "another child goes on from there";
  EXPECT_FALSE(worker.call("burn", 100ms).ok());  // it is ended
  EXPECT_GT(worker.processor_time(), first + 20ms);
  worker.stop();
  EXPECT_GT(worker.processor_time(), first + 20ms);
  EXPECT_TRUE(worker.call("let a child burn", 20000ms).ok());
  EXPECT_GT(worker.processor_time(), first + 800ms) << "what its own children used counts";
}

TEST(Subprocess, processor_time_is_limited) {
  auto worker = started({.cpu_seconds = 1});
  EXPECT_FALSE(worker.call("burn", 20000ms).ok());
  EXPECT_EQ(worker.last_end().kind, EndKind::timed_out);
}

TEST(Subprocess, what_the_child_left_in_its_group_is_killed_too) {
  auto worker = started();
  (void)worker.call("leave a grandchild", 5000ms).ok();
  ASSERT_EQ(worker.last_end().standard_error.size(), sizeof(pid_t));
  pid_t grandchild = 0;
  std::memcpy(&grandchild, worker.last_end().standard_error.data(), sizeof grandchild);
  EXPECT_TRUE(gone(grandchild));
}

TEST(Subprocess, a_child_outlives_the_thread_that_made_it_but_not_the_process) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const pid_t host = fork();
  if (host == 0) {
    dup2(fds[1], 1);
    execl("/proc/self/exe", "host", "--host-and-die", nullptr);
    _exit(8);
  }
  close(fds[1]);
  int status = 0;
  waitpid(host, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the worker died with the thread";
  pid_t orphan = 0;
  ASSERT_EQ(read(fds[0], &orphan, sizeof orphan), static_cast<ssize_t>(sizeof orphan));
  close(fds[0]);
  EXPECT_TRUE(gone(orphan));
}

TEST(Subprocess, a_request_over_the_frame_limit_is_refused_and_the_child_lives) {
  auto worker = started();
  EXPECT_EQ(worker.call(std::string(size_t{kMaxFrameBytes} + 1, 'x'), 5000ms).error().code, "PW0605");
  EXPECT_EQ(*worker.call("still here", 5000ms), "you said still here");
  EXPECT_EQ(worker.starts(), 1u);
}

}  // namespace
}  // namespace polyweft
