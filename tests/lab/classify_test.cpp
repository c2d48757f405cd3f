// Every way to fail has its status, the next candidate is fine, and nothing is left behind.
#include <unistd.h>

#include <fstream>

#include "lab_fixture.h"

namespace polyweft::lab_tests {
namespace {

struct Case {
  const char* symbol;
  RunStatus status;
  const char* detail;  ///< a part of it
};

const Case kCases[] = {
    {"reference", RunStatus::ok, ""},
    {"backwards", RunStatus::ok, ""},
    {"checks_abi", RunStatus::ok, ""},
    {"uses_scratch", RunStatus::ok, ""},
    {"reads_the_clock", RunStatus::ok, ""},
    {"prints_through_the_runtime", RunStatus::ok, ""},
    {"uses_amx", RunStatus::ok, ""},
    // wrong results
    {"wrong_last", RunStatus::wrong_result, "C[23,19] is "},
    {"slightly_off", RunStatus::wrong_result, "C[0,3] is "},
    {"returns_at_once", RunStatus::wrong_result, "C[0,0] was never written, the reference has "},
    {"forgets_a_row", RunStatus::wrong_result, "C[23,0] was never written"},
    {"copies_its_last_answer", RunStatus::wrong_result, "outside the error bound"},
    {"adds_to_the_output", RunStatus::wrong_result, "integer-valued data must agree bit for bit"},
    // memory
    {"crash", RunStatus::crash, "the kernel writes at address 0x10"},
    {"writes_before", RunStatus::out_of_bounds, "the kernel writes 4 bytes before C (1920 bytes)"},
    {"writes_behind", RunStatus::out_of_bounds, "the kernel writes behind C"},
    {"writes_far_behind", RunStatus::out_of_bounds, " bytes behind C (1920 bytes)"},
    {"reads_before", RunStatus::out_of_bounds, "the kernel reads 4 bytes before A (1536 bytes)"},
    {"reads_behind", RunStatus::out_of_bounds, "the kernel reads 0 bytes behind B (1280 bytes)"},
    {"writes_its_input", RunStatus::input_overwritten, "the kernel writes into its input A"},
    {"makes_its_input_writable", RunStatus::input_overwritten, "the kernel writes into its input A"},
    {"unmaps_its_input", RunStatus::crash, ""},
    {"takes_10_gb", RunStatus::out_of_memory, "an allocation over the memory limit was refused"},
    {"takes_10_gb_unchecked", RunStatus::out_of_memory, "an allocation over the memory limit was refused"},
    {"takes_memory_until_it_ends", RunStatus::out_of_memory, "an allocation over the memory limit was refused"},
    {"overflows_the_stack", RunStatus::crash, "stack overflow"},
    // other ends
    {"illegal", RunStatus::illegal_instruction, "illegal instruction at 0x"},
    {"divides_by_zero", RunStatus::arithmetic_trap, "integer division by zero or overflow"},
    {"leaves", RunStatus::early_exit, "exited with code 0 inside the kernel"},
    {"leaves_with_code", RunStatus::early_exit, "exited with code 3 inside the kernel"},
    {"aborts", RunStatus::crash, ""},
    {"ends_its_thread", RunStatus::crash, ""},
    {"returns_7", RunStatus::kernel_error, "the kernel returned 7"},
    {"complains", RunStatus::kernel_error, "the kernel returned -3: the extents do not fit"},
    // system calls
    {"opens_a_file", RunStatus::forbidden_system_call, "openat"},
    {"writes_a_file", RunStatus::forbidden_system_call, "openat"},
    {"opens_a_socket", RunStatus::forbidden_system_call, "socket"},
    {"executes", RunStatus::forbidden_system_call, "execve"},
    {"forks", RunStatus::forbidden_system_call, "clone"},
    {"starts_a_thread", RunStatus::forbidden_system_call, ""},
    {"kills_its_parent", RunStatus::forbidden_system_call, "getppid"},
    {"kills_everybody", RunStatus::forbidden_system_call, "kill"},
    {"traces", RunStatus::forbidden_system_call, "ptrace"},
    {"raises_its_limits", RunStatus::forbidden_system_call, "prlimit64"},
    {"makes_code", RunStatus::forbidden_system_call, "mprotect"},
    {"maps_code", RunStatus::forbidden_system_call, "mmap"},
    {"maps_over", RunStatus::forbidden_system_call, "mmap"},
    {"makes_a_memory_file", RunStatus::forbidden_system_call, "memfd_create"},
    {"uses_io_uring", RunStatus::forbidden_system_call, "io_uring_setup"},
    {"loosens_with_prctl", RunStatus::forbidden_system_call, "prctl"},
    {"catches_signals", RunStatus::forbidden_system_call, "rt_sigaction"},
    {"writes_to_standard_output", RunStatus::forbidden_system_call, "write"},
    {"prints_for_ever", RunStatus::forbidden_system_call, ""},
    {"writes_into_another_process", RunStatus::forbidden_system_call, ""},
    {"sets_an_alarm", RunStatus::forbidden_system_call, "alarm"},
    {"uses_unshare", RunStatus::forbidden_system_call, "unshare"},
    {"uses_mount", RunStatus::forbidden_system_call, "mount"},
    {"uses_bpf", RunStatus::forbidden_system_call, "bpf"},
    {"uses_keyctl", RunStatus::forbidden_system_call, "keyctl"},
    {"uses_userfaultfd", RunStatus::forbidden_system_call, "userfaultfd"},
    {"uses_perf_event_open", RunStatus::forbidden_system_call, "perf_event_open"},
    {"uses_seccomp", RunStatus::forbidden_system_call, "seccomp"},
    {"uses_setuid", RunStatus::forbidden_system_call, "setuid"},
    {"uses_chroot", RunStatus::forbidden_system_call, "chroot"},
    {"uses_pipe2", RunStatus::forbidden_system_call, "pipe2"},
    {"uses_dup2", RunStatus::forbidden_system_call, "dup2"},
    {"uses_fcntl", RunStatus::forbidden_system_call, "fcntl"},
    {"uses_ioctl", RunStatus::forbidden_system_call, "ioctl"},
    {"uses_sched_setaffinity", RunStatus::forbidden_system_call, "sched_setaffinity"},
    {"uses_getrandom", RunStatus::forbidden_system_call, "getrandom"},
    {"uses_pidfd_open", RunStatus::forbidden_system_call, "pidfd_open"},
    {"uses_sendto", RunStatus::forbidden_system_call, "sendto"},
    {"uses_unlink", RunStatus::forbidden_system_call, "unlink"},
    {"uses_remap_file_pages", RunStatus::forbidden_system_call, "remap_file_pages"},
    {"uses_sigaltstack", RunStatus::forbidden_system_call, "sigaltstack"},
#if defined(__x86_64__)
    {"calls_as_32_bit", RunStatus::forbidden_system_call, ""},
#endif
};

size_t resident_kilobytes(const std::string& pid) {
  std::ifstream in("/proc/" + pid + "/statm");
  size_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * 4;
}

class Classify : public testing::TestWithParam<Case> {};

TEST_P(Classify, the_candidate_and_then_the_next_one_is_fine) {
  const Case& c = GetParam();
  const std::string symbol = c.symbol;
  if (kBuiltWithSanitizer && (symbol == "takes_memory_until_it_ends" || symbol == "maps_over"))
    GTEST_SKIP() << "a wall that sanitizers cannot live with";
  const RunOutcome outcome = run(matrix_task(), compare(c.symbol));
  EXPECT_EQ(static_cast<int>(outcome.status), static_cast<int>(c.status)) << outcome.detail;
  EXPECT_NE(outcome.detail.find(c.detail), std::string::npos) << outcome.detail;
  EXPECT_EQ(child_processes(shared_runner().worker().pid()), 0u);
  const RunOutcome next = run(matrix_task(), compare("reference"));
  EXPECT_EQ(next.status, RunStatus::ok) << next.detail;
}

INSTANTIATE_TEST_SUITE_P(kernels, Classify, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.symbol); });

TEST(Classify, a_hang_costs_the_deadline_and_no_more) {
  for (const char* symbol : {"hang", "sleeps_for_ever", "hangs_later"}) {
    RunRequest request = compare(symbol);
    request.deadline = std::chrono::milliseconds(150);
    request.time_budget = std::chrono::milliseconds(std::string(symbol) == "hangs_later" ? 50 : 0);
    const auto begin = std::chrono::steady_clock::now();
    const RunOutcome outcome = run(matrix_task(), request);
    EXPECT_EQ(outcome.status, RunStatus::hang) << symbol << ": " << outcome.detail;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(5000)) << symbol;
    EXPECT_EQ(child_processes(shared_runner().worker().pid()), 0u);
    EXPECT_EQ(run(matrix_task(), compare("reference")).status, RunStatus::ok);
  }
}

// The same machine code, once as a stranger's and once as made from a LoopNest: whose loops are counted is slow, with
// the time that it ran as a lower bound.
TEST(Classify, what_terminates_is_slower_at_its_deadline_and_what_need_not_hangs) {
  constexpr double kDeadlineNs = 150e6;
  for (const char* symbol : {"hang", "sleeps_for_ever", "hangs_later", "parallel_hang"})
    for (const bool terminates : {false, true}) {
      RunRequest request = compare(symbol);
      request.candidate.terminates = terminates;
      request.deadline = std::chrono::milliseconds(150);
      request.time_budget = std::chrono::milliseconds(std::string(symbol) == "hangs_later" ? 50 : 0);
      const RunOutcome outcome = run(matrix_task(), request);
      EXPECT_EQ(outcome.status, terminates ? RunStatus::slower : RunStatus::hang) << symbol << ": " << outcome.detail;
      EXPECT_EQ(outcome.timing.samples, 0) << symbol;
      if (!terminates) {
        EXPECT_EQ(outcome.timing.median_ns, 0) << symbol;
        continue;
      }
      const bool is_repeated =
          std::string(symbol) == "hangs_later";  // short calls are timed some at once, and share the time
      EXPECT_GE(outcome.timing.median_ns, (is_repeated ? 1e-3 : 0.99) * kDeadlineNs) << symbol << ": a lower bound";
      EXPECT_EQ(outcome.timing.min_ns, outcome.timing.median_ns) << symbol;
      EXPECT_EQ(outcome.detail.rfind("the kernel had not returned after ", 0), 0u) << outcome.detail;
      EXPECT_EQ(child_processes(shared_runner().worker().pid()), 0u);
      EXPECT_EQ(run(matrix_task(), compare("reference")).status, RunStatus::ok);
    }
}

/// Of a runner that says it is an emulator: its clock drops nothing, and what it stops was not slow.
TEST(Classify, an_emulators_clock_drops_nothing_and_a_time_out_is_no_time) {
  RunnerOptions options = small_options();
  options.command = {PW_BINARY_DIR "/src/tools/polyweft-runner", "--emulated"};
  options.emulated_call_deadline = std::chrono::milliseconds(300);
  auto runner = targets::WorkerRunner::start(options);
  ASSERT_TRUE(runner.ok()) << runner.error().message;
  ASSERT_TRUE((*runner)->begin(matrix_task()).ok());
  const auto asked = [&](const char* symbol) {
    RunRequest request = compare(symbol);
    request.candidate.terminates = true;
    request.deadline = std::chrono::milliseconds(1);
    return (*runner)->run(request).value();
  };
  const RunOutcome late = asked("right_after_30_ms");
  EXPECT_EQ(late.status, RunStatus::ok) << late.detail;
  const RunOutcome never = asked("hang");
  EXPECT_EQ(never.status, RunStatus::timed_out) << never.detail;
  EXPECT_EQ(never.timing.median_ns, 0) << "no lower bound either";
}

TEST(Classify, an_incumbent_that_is_stopped_is_not_held_against_the_candidate) {
  ASSERT_TRUE(shared_runner().begin(matrix_task()).ok());
  LoadableKernel incumbent = kernel("hang");
  incumbent.terminates = true;
  ASSERT_TRUE(shared_runner().set_incumbent(incumbent).ok());
  RunRequest request;
  request.candidate = kernel("reference");
  request.pair_with_incumbent = true;
  request.deadline = std::chrono::milliseconds(150);
  const auto outcome = shared_runner().run(request);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->status, RunStatus::not_run) << outcome->detail;
  EXPECT_EQ(outcome->timing.median_ns, 0);
}

TEST(Classify, a_kernel_that_cheats_from_its_20th_call_on_is_caught_after_timing) {
  RunRequest request = compare("cheats_after_20_calls");
  request.time_budget = std::chrono::milliseconds(20);
  EXPECT_EQ(run(matrix_task(), request).status, RunStatus::wrong_result);
}

TEST(Classify, objects_that_cannot_be_loaded_are_failed_builds) {
  RunRequest request = compare("no_such_symbol");
  RunOutcome outcome = run(matrix_task(), request);
  EXPECT_EQ(outcome.status, RunStatus::build_failed);
  EXPECT_EQ(outcome.detail, "the object cannot be loaded: the object has no symbol 'no_such_symbol'");
  request.candidate.bytes.resize(request.candidate.bytes.size() / 2);
  EXPECT_EQ(run(matrix_task(), request).status, RunStatus::build_failed);
  request.candidate.bytes = {1, 2, 3};
  EXPECT_EQ(run(matrix_task(), request).status, RunStatus::build_failed);
}

TEST(Classify, an_object_that_misbehaves_while_it_is_loaded_meets_the_walls) {
  const std::pair<const char*, RunStatus> cases[] = {{"-DPW_SOCKET", RunStatus::forbidden_system_call},
                                                     {"-DPW_EXEC", RunStatus::forbidden_system_call},
                                                     {"-DPW_EXIT", RunStatus::early_exit}};
  for (const auto& [flag, status] : cases) {
    RunRequest request = compare("kernel");
    request.candidate.bytes = object_of("constructor_kernel.c", flag);
    const RunOutcome outcome = run(matrix_task(), request);
    EXPECT_EQ(outcome.status, status) << flag << ": " << outcome.detail;
  }
  if (shared_runner().description().landlock_abi == 0) GTEST_SKIP() << "no Landlock here";
  RunRequest request = compare("kernel");
  request.candidate.bytes = object_of("constructor_kernel.c", "-DPW_FILE");
  EXPECT_EQ(run(matrix_task(), request).status,
            RunStatus::wrong_result);  // the files stayed closed, so it came to the comparison
}

TEST(Classify, nothing_is_left_after_many_failures) {
  auto runner = targets::WorkerRunner::start(small_options());
  ASSERT_TRUE(runner.ok());
  ASSERT_TRUE((*runner)->begin(matrix_task()).ok());
  const char* symbols[] = {"crash",   "leaves",     "forks",         "takes_10_gb",
                           "illegal", "wrong_last", "writes_before", "parallel_crash"};
  for (const char* symbol : symbols)
    ASSERT_TRUE((*runner)->run(compare(symbol)).ok());  // the allocator reaches its working size
  const std::string pid = std::to_string((*runner)->worker().pid());
  const size_t before = open_descriptors(pid);
  const size_t resident = resident_kilobytes(pid);
  for (int round = 0; round < 1000; ++round) {
    auto outcome = (*runner)->run(compare(symbols[round % std::size(symbols)]));
    ASSERT_TRUE(outcome.ok());
    ASSERT_NE(outcome->status, RunStatus::ok);
  }
  EXPECT_EQ(open_descriptors(pid), before);
  if (!kBuiltWithSanitizer) {  // whose quarantine of freed memory grows
    EXPECT_LE(resident_kilobytes(pid), resident + resident / 100);
  }
  EXPECT_EQ(child_processes((*runner)->worker().pid()), 0u);
  EXPECT_EQ((*runner)->worker().starts(), 1u);
  EXPECT_NE(access("/tmp/polyweft_escaped", F_OK), 0);
}

}  // namespace
}  // namespace polyweft::lab_tests
