#include <csignal>
#include <cstring>
#include <thread>

#include "lab_fixture.h"
#include "support/cpu_features.h"

namespace polyweft::lab_tests {
namespace {

using std::chrono::milliseconds;

TEST(Runner, says_what_its_walls_are_made_of) {
  const auto& description = shared_runner().description();
  EXPECT_TRUE(description.seccomp) << description.weaker;
  if (description.landlock_abi >= 4) {
    EXPECT_EQ(description.weaker, "");
  } else {
    EXPECT_NE(description.weaker, "");
  }
}

TEST(Runner, a_failing_reference_is_an_error_of_the_task) {
  RunnerTask task = matrix_task();
  task.id = "bad reference";
  task.reference = kernel("crash");
  Status began = shared_runner().begin(task);
  ASSERT_FALSE(began.ok());
  EXPECT_EQ(began.error().code, "PW0608");
  EXPECT_EQ(began.error().message,
            "runner: the reference kernel of task bad reference failed: the kernel writes at address 0x10");
  EXPECT_EQ(run(matrix_task(), compare("reference")).status, RunStatus::ok);
}

// Whatever it is for: reference, bounds, incumbent, candidate.
TEST(Runner, kernels_that_need_features_this_cpu_lacks_are_not_loaded) {
  const auto refused = [](const Status& status, const std::string& symbol) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, "PW0517");
    EXPECT_EQ(status.error().message.substr(0, status.error().message.find(", which")),
              "runner: kernel " + symbol + " needs tail-wag");
  };
  const auto needing = [](const std::string& symbol) {
    LoadableKernel out = kernel(symbol);
    out.features = {"sse2", "tail-wag"};
    return out;
  };
  RunnerTask task = matrix_task();
  task.id = "features";
  task.reference = needing("reference");
  refused(shared_runner().begin(task), "reference");
  task = matrix_task();
  task.id = "features of the bound";
  task.bound = needing("reference");
  refused(shared_runner().begin(task), "reference");
  ASSERT_TRUE(shared_runner().begin(matrix_task()).ok());
  refused(shared_runner().set_incumbent(needing("backwards")), "backwards");
  RunRequest request = compare("backwards");
  request.candidate = needing("backwards");
  const auto outcome = shared_runner().run(request);
  refused(outcome ? Status(Ok{}) : Status(outcome.error()), "backwards");
  EXPECT_EQ(run(matrix_task(), compare("reference")).status, RunStatus::ok);
}

// The level that this process is held to is the runner's too.
TEST(Runner, a_held_host_holds_its_runners) {
  const std::string before = held_cpu_level();
  ASSERT_TRUE(hold_cpu("x86-64").ok());
  auto held = targets::WorkerRunner::start({});
  ASSERT_TRUE(hold_cpu(before).ok());
  ASSERT_TRUE(held.ok()) << held.error().message;
  RunnerTask task = matrix_task();
  task.reference.features = {"sse3"};
  const Status began = (*held)->begin(task);
  ASSERT_FALSE(began.ok());
  EXPECT_EQ(began.error().code, "PW0517");
  EXPECT_EQ(began.error().message, "runner: kernel reference needs sse3, which this CPU, held to x86-64, has not");
  task.reference.features = {"sse2"};
  EXPECT_TRUE((*held)->begin(task).ok());
}

TEST(Runner, impossible_tasks_are_refused) {
  RunnerTask task = matrix_task();
  task.arguments.pop_back();
  EXPECT_EQ(shared_runner().begin(task).error().code, "PW0610");
  task = matrix_task();
  std::swap(task.arguments[1], task.arguments[2]);
  EXPECT_EQ(shared_runner().begin(task).error().code, "PW0610");
  task = matrix_task();
  task.arguments[0].extents = {1, int64_t{1} << 33};
  EXPECT_EQ(shared_runner().begin(task).error().code, "PW0610");
  task = matrix_task();
  task.arguments[0].extents = {1 << 20, 1 << 10};
  EXPECT_EQ(shared_runner().begin(task).error().code, "PW0609");
  task = matrix_task();
  task.threads = 0;
  EXPECT_EQ(shared_runner().begin(task).error().code, "PW0605");
  task = matrix_task();
  task.reference.symbol = "no; symbol";
  EXPECT_EQ(shared_runner().begin(task).error().code, "PW0605");
}

TEST(Runner, without_a_bound_kernel_the_relative_bound_decides) {
  RunnerTask task = matrix_task();
  task.id = "relative";
  task.bound = {};
  task.relative_bound = 1e-5;
  EXPECT_EQ(run(task, compare("backwards")).status, RunStatus::ok);
  EXPECT_EQ(run(task, compare("slightly_off")).status, RunStatus::wrong_result);
  task.relative_bound = 0;
  EXPECT_EQ(run(task, compare("backwards")).status, RunStatus::wrong_result);
}

TEST(Runner, strict_tasks_want_the_same_bits) {
  RunnerTask task = matrix_task();
  task.id = "strict";
  task.bit_exact = true;
  const RunOutcome outcome = run(task, compare("backwards"));
  EXPECT_EQ(outcome.status, RunStatus::wrong_result);
  EXPECT_NE(outcome.detail.find("(strict arithmetic must agree bit for bit)"), std::string::npos) << outcome.detail;
  EXPECT_EQ(run(task, compare("reference")).status, RunStatus::ok);
}

TEST(Runner, adversarial_data_agree_and_disagree) {
  RunRequest request = compare("backwards");
  request.compare_on = {InputSet::integer_valued, InputSet::adversarial};
  const RunOutcome outcome = run(matrix_task(), request);
  EXPECT_EQ(outcome.status, RunStatus::ok) << outcome.detail;
  request.candidate = kernel("copies_its_last_answer");
  EXPECT_EQ(run(matrix_task(), request).status, RunStatus::wrong_result);
}

TEST(Runner, quotients_of_integers_fall_under_the_bound) {
  RunnerTask task;
  task.id = "thirds";
  task.arguments = {input("X", ElementType::f32, {1000}), output("Y", ElementType::f32, {1000})};
  task.reference = kernel("divides");
  task.relative_bound = 1e-6;
  EXPECT_EQ(run(task, compare("multiplies_by_a_third")).status, RunStatus::ok);
  task.relative_bound = 0;
  EXPECT_EQ(run(task, compare("multiplies_by_a_third")).status, RunStatus::wrong_result);
}

TEST(Runner, promised_values_are_kept_on_every_set) {
  RunnerTask task;
  task.id = "gather";
  task.arguments = {input("T", ElementType::f32, {16}), input("I", ElementType::i64, {500}),
                    output("Y", ElementType::f32, {500})};
  task.arguments[1].has_values = true;
  task.arguments[1].values_lo = 3;
  task.arguments[1].values_hi = 11;
  task.reference = kernel("gather");
  RunRequest request = compare("gather");
  request.compare_on = {InputSet::integer_valued, InputSet::random, InputSet::adversarial};
  const RunOutcome outcome = run(task, request);
  EXPECT_EQ(outcome.status, RunStatus::ok) << outcome.detail;
}

TEST(Runner, every_element_type_arrives_as_the_interface_says) {
  const ElementType types[] = {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::i64,
                               ElementType::i32, ElementType::i16, ElementType::i8,  ElementType::u8};
  RunnerTask task;
  task.id = "types";
  for (const ElementType type : types)
    task.arguments.push_back(input("a" + std::to_string(task.arguments.size()), type, {33}));
  task.arguments.push_back(output("y", ElementType::i64, {33}));
  task.reference = kernel("all_types");
  RunRequest request = compare("all_types");
  request.compare_on = {InputSet::integer_valued, InputSet::random, InputSet::adversarial};
  EXPECT_EQ(run(task, request).status, RunStatus::ok);

  RunnerTask bf16;
  bf16.id = "bf16";
  bf16.arguments = {input("X", ElementType::bf16, {100}), output("Y", ElementType::bf16, {100})};
  bf16.reference = kernel("scale_bf16");
  request.candidate = kernel("scale_bf16");
  const RunOutcome outcome = run(bf16, request);
  EXPECT_EQ(outcome.status, RunStatus::ok) << outcome.detail;

  RunnerTask boolean;
  boolean.id = "bool";
  boolean.arguments = {input("X", ElementType::boolean, {}), output("Y", ElementType::boolean, {})};
  boolean.reference = kernel("negate_bool_scalar");
  EXPECT_EQ(run(boolean, compare("negate_bool_scalar")).status, RunStatus::ok);
}

TEST(Runner, a_partial_output_keeps_what_nobody_writes) {
  RunnerTask task;
  task.id = "partial";
  task.arguments = {input("X", ElementType::f32, {64}), output("Y", ElementType::f32, {64})};
  task.arguments[1].partial = true;
  task.reference = kernel("writes_every_second");
  EXPECT_EQ(run(task, compare("writes_every_second")).status, RunStatus::ok);
  const RunOutcome outcome = run(task, compare("writes_all"));
  EXPECT_EQ(outcome.status, RunStatus::wrong_result);
  EXPECT_NE(outcome.detail.find("Y[1] is "), std::string::npos) << outcome.detail;
  EXPECT_NE(outcome.detail.find("leaves it unwritten"), std::string::npos) << outcome.detail;
}

TEST(Runner, empty_tensors_are_fine) {
  RunnerTask task;
  task.id = "empty";
  task.arguments = {input("X", ElementType::f32, {0}), output("Y", ElementType::f32, {0})};
  task.reference = kernel("copies_empty");
  EXPECT_EQ(run(task, compare("copies_empty")).status, RunStatus::ok);
}

TEST(Runner, constant_inputs_are_packed_by_the_kernels_own_function) {
  RunnerTask task = matrix_task();
  task.id = "packed";
  task.arguments[1].is_packed = true;
  RunRequest request = compare("packed");
  request.time_budget = milliseconds(5);
  const RunOutcome outcome = run(task, request);
  EXPECT_EQ(outcome.status, RunStatus::ok) << outcome.detail;
  EXPECT_GT(outcome.pack_ns, 0);
  EXPECT_EQ(run(task, compare("reference")).status, RunStatus::ok)
      << "a kernel without a pack function takes the argument as it is";
  EXPECT_EQ(run(task, compare("bad_pack")).status, RunStatus::out_of_bounds);
  const RunOutcome overrun = run(task, compare("packed_overrun"));
  EXPECT_EQ(overrun.status, RunStatus::out_of_bounds);
  EXPECT_EQ(overrun.detail, "the kernel reads 0 bytes behind packed B (1280 bytes)");
}

TEST(Runner, parallel_kernels_run_on_the_pool_and_their_failures_are_classified) {
  RunnerTask task = matrix_task();
  task.id = "parallel";
  task.threads = 3;
  RunRequest request = compare("parallel");
  request.time_budget = milliseconds(20);
  const RunOutcome outcome = run(task, request);
  EXPECT_EQ(outcome.status, RunStatus::ok) << outcome.detail;
  RunRequest many_allocations = compare("parallel_scratch");
  many_allocations.deadline = std::chrono::seconds(60);  // a sanitizer maps and poisons each of them
  const RunOutcome scratch = run(task, many_allocations);
  EXPECT_EQ(scratch.status, RunStatus::ok) << scratch.detail;
  EXPECT_EQ(run(task, compare("counts_threads")).detail, "the kernel returned 53");
  EXPECT_EQ(run(task, compare("parallel_crash")).status, RunStatus::crash);
  EXPECT_EQ(run(task, compare("parallel_error")).status, RunStatus::kernel_error);
  EXPECT_EQ(run(task, compare("parallel_socket")).detail, "forbidden system call socket");
  RunRequest hang = compare("parallel_hang");
  hang.deadline = milliseconds(150);
  EXPECT_EQ(run(task, hang).status, RunStatus::hang);
  EXPECT_EQ(run(matrix_task(), compare("counts_threads")).detail, "the kernel returned 51");
}

TEST(Runner, timing_alone_gives_a_median_with_an_interval) {
  RunRequest request = compare("reference");
  request.time_budget = milliseconds(50);
  const RunOutcome outcome = run(matrix_task(), request);
  ASSERT_EQ(outcome.status, RunStatus::ok) << outcome.detail;
  EXPECT_GT(outcome.timing.median_ns, 0);
  EXPECT_LE(outcome.timing.min_ns, outcome.timing.median_ns);
  EXPECT_GE(outcome.timing.samples, 9);
  EXPECT_EQ(outcome.timing.ratio, 0);
  EXPECT_GT(outcome.reference_ns, 0);
}

// A masked lane in the guard costs hundreds of cycles on some CPUs, and no caller's memory has guards: the clock runs
// where there are none.
TEST(Runner, no_guard_is_next_to_what_is_timed) {
  RunRequest request = compare("reads_around_while_it_is_timed");
  request.time_budget = milliseconds(20);
  const RunOutcome outcome = run(matrix_task(), request);
  EXPECT_EQ(outcome.status, RunStatus::ok) << outcome.detail;
}

// Arguments that begin alike modulo a page share sets of the caches row by row; those of a caller's heap mostly do not.
TEST(Runner, arguments_lie_apart_where_they_are_timed_in_each_layout) {
  RunRequest request = compare("wants_arguments_apart_while_it_is_timed");
  request.time_budget = milliseconds(20);
  for (int layout = 0; layout < 5; ++layout) {
    const RunOutcome outcome = run(matrix_task(), request);
    EXPECT_EQ(outcome.status, RunStatus::ok) << layout << ": " << outcome.detail;
  }
}

// A race that is repeated does not repeat the luck of addresses; other candidates are met where the first one was.
TEST(Runner, a_candidate_that_is_run_again_lies_elsewhere) {
  RunnerTask task = matrix_task();
  task.id = "elsewhere";
  const auto where = [&](const std::string& id) {
    RunRequest request = compare("tells_where_it_lies_while_it_is_timed");
    request.candidate.id = id;
    request.time_budget = milliseconds(20);
    return run(task, request).detail;
  };
  const std::string first = where("a");
  EXPECT_EQ(first.rfind("the kernel returned ", 0), 0u) << first;
  EXPECT_EQ(where("b"), first);
  const std::string second = where("a");
  EXPECT_NE(second, first);
  EXPECT_EQ(where("b"), second);
  EXPECT_EQ(where("c"), first);
}

/// The outcome of a candidate beside a reference, without a kernel for bounds.
RunOutcome beside_reference(const char* reference, const char* candidate, std::vector<unsigned char> given = {}) {
  RunnerTask task = matrix_task();
  task.id = std::string(reference) + (given.empty() ? "" : ", given");
  task.reference = kernel(reference);
  task.bound = {};
  task.relative_bound = 1e-5;
  if (!given.empty()) task.given = {std::move(given), {}, {}};
  return run(task, compare(candidate));
}

TEST(Data, where_the_reference_is_nan_others_are_drawn_that_make_it_a_test) {
  const RunOutcome right = beside_reference("divides_by_each", "reference");
  EXPECT_EQ(right.status, RunStatus::ok) << right.detail << ": A / A is 1 where A is not 0";
  ASSERT_EQ(right.notes.size(), 1u) << "whole numbers have zeros, random ones have none";
  const SetNote& note = right.notes.front();
  EXPECT_EQ(note.set, InputSet::integer_valued);
  EXPECT_EQ(note.drawn, "numbers of 0.5 to 1");
  EXPECT_EQ(note.element, "C[0,0] is nan");
  EXPECT_EQ(note.output, "C");
  EXPECT_EQ(note.usual_judged, 0);
  EXPECT_EQ(note.judged, 1);
  EXPECT_EQ(beside_reference("divides_by_each", "wrong_first_row").status, RunStatus::wrong_result);
}

TEST(Data, elements_that_are_nan_in_the_reference_are_not_judged) {
  const RunOutcome right = beside_reference("first_row_is_not_a_number", "wrong_first_row");
  EXPECT_EQ(right.status, RunStatus::ok) << right.detail;
  ASSERT_EQ(right.notes.size(), 2u);
  EXPECT_EQ(right.notes[0].drawn, "the usual numbers") << "most elements are judged";
  EXPECT_DOUBLE_EQ(right.notes[0].judged, 23.0 / 24);
  RunnerTask strict = matrix_task();
  strict.id = "strict";
  strict.reference = kernel("first_row_is_not_a_number");
  strict.bound = {};
  strict.bit_exact = true;
  EXPECT_EQ(run(strict, compare("wrong_first_row")).status, RunStatus::wrong_result) << "strict leaves nothing open";
}

TEST(Data, what_is_given_is_taken_in_each_set) {
  std::vector<unsigned char> zeros(24 * 16 * sizeof(float), 0);
  const RunOutcome right = beside_reference("divides_by_each", "reference", zeros);
  EXPECT_EQ(right.status, RunStatus::ok) << "nothing can be judged";
  ASSERT_EQ(right.notes.size(), 2u);
  for (const SetNote& note : right.notes) EXPECT_EQ(note.judged, 0);
  std::vector<unsigned char> ones(24 * 16 * sizeof(float));
  for (size_t i = 0; i < ones.size(); i += sizeof(float)) {
    const float one = 1;
    std::memcpy(ones.data() + i, &one, sizeof one);
  }
  const RunOutcome judged = beside_reference("divides_by_each", "reference", ones);
  EXPECT_EQ(judged.status, RunStatus::ok) << judged.detail;
  EXPECT_TRUE(judged.notes.empty());
  ones.pop_back();
  RunnerTask task = matrix_task();
  task.id = "too short";
  task.given = {ones, {}, {}};
  EXPECT_EQ(shared_runner().begin(task).error().code, "PW0610");
}

TEST(Data, whole_numbers_that_comparisons_decide_may_differ_by_what_may_tip) {
  RunnerTask task = matrix_task();
  task.arguments[2].type = ElementType::i32;
  task.reference = kernel("counts");
  task.bound = kernel("two_may_tip");
  task.id = "counts";
  EXPECT_EQ(run(task, compare("counts")).status, RunStatus::ok);
  EXPECT_EQ(run(task, compare("counts_one_more")).status, RunStatus::ok);
  const RunOutcome wrong = run(task, compare("counts_three_more"));
  EXPECT_EQ(wrong.status, RunStatus::wrong_result);
  EXPECT_NE(wrong.detail.find("more than comparisons of floats that a rounding decides explain"), std::string::npos)
      << wrong.detail;
  task.id = "exact counts";
  task.bound = {};
  EXPECT_EQ(run(task, compare("counts_one_more")).status, RunStatus::wrong_result) << "without a bound all are exact";
}

TEST(Runner, a_candidate_far_behind_a_known_time_is_dropped_early) {
  RunRequest request = compare("reference");
  request.time_budget = milliseconds(2000);
  request.incumbent_ns = 1;
  const RunOutcome outcome = run(matrix_task(), request);
  EXPECT_EQ(outcome.status, RunStatus::slower);
  EXPECT_EQ(outcome.timing.samples, 3);
}

RunOutcome against_incumbent(const char* candidate, const char* incumbent) {
  EXPECT_TRUE(shared_runner().begin(matrix_task()).ok());
  EXPECT_TRUE(shared_runner().set_incumbent(kernel(incumbent)).ok());
  RunRequest request = compare(candidate);
  request.pair_with_incumbent = true;
  request.time_budget = milliseconds(400);
  auto outcome = shared_runner().run(request);
  PW_CHECK(outcome.ok());
  return *outcome;
}

// The kernels' work differs by a known factor, so the verdicts hold on any machine that executes instructions at all
// evenly.
TEST(Runner, interleaved_pairs_tell_faster_from_slower) {
  const RunOutcome faster = against_incumbent("times_4", "times_8");
  ASSERT_EQ(faster.status, RunStatus::ok) << faster.detail;
  EXPECT_LT(faster.timing.ratio_hi, 1);
  EXPECT_GT(faster.timing.ratio, 0.3);
  EXPECT_LT(faster.timing.ratio, 0.7);
  EXPECT_LE(faster.timing.samples, 30) << "a clear case needs few pairs";
  EXPECT_EQ(against_incumbent("times_8", "times_4").status, RunStatus::slower);
}

TEST(Runner, a_peak_kernel_is_no_rival_pairs_are_taken_to_the_end) {
  ASSERT_TRUE(shared_runner().begin(matrix_task()).ok());
  ASSERT_TRUE(shared_runner().set_incumbent(kernel("times_4")).ok());
  RunRequest request = compare("times_8");
  request.pair_with_incumbent = request.pair_to_the_end = true;
  request.time_budget = milliseconds(400);
  const auto outcome = shared_runner().run(request);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->status, RunStatus::ok) << "half as fast, and not dropped";
  EXPECT_GT(outcome->timing.samples, 30);
  EXPECT_GT(outcome->timing.ratio, 1.25);
}

TEST(Runner, so_many_pairs_as_asked_and_no_more) {
  ASSERT_TRUE(shared_runner().begin(matrix_task()).ok());
  ASSERT_TRUE(shared_runner().set_incumbent(kernel("times_4")).ok());
  RunRequest request = compare("times_8");
  request.pair_with_incumbent = request.pair_to_the_end = true;
  request.time_budget = milliseconds(60'000);  // not what ends it
  for (const int pairs : {1, 2, 3, 7, 40, 201, 300}) {
    request.most_pairs = pairs;
    const auto outcome = shared_runner().run(request);
    ASSERT_TRUE(outcome.ok());
    ASSERT_EQ(outcome->status, RunStatus::ok) << outcome->detail;
    EXPECT_EQ(outcome->timing.samples, pairs);
  }
}

TEST(Runner, a_hang_at_any_position_of_the_pairs_is_one_lost_candidate) {
  ASSERT_TRUE(shared_runner().begin(matrix_task()).ok());
  ASSERT_TRUE(shared_runner().set_incumbent(kernel("reference")).ok());
  RunRequest request;
  request.pair_with_incumbent = true;
  request.time_budget = milliseconds(200);
  request.deadline = milliseconds(300);
  for (const char* symbol : {"hangs_at_1", "hangs_at_2", "hangs_at_3", "hangs_at_4", "hangs_at_5", "hangs_at_8"}) {
    request.candidate = kernel(symbol);
    auto hung = shared_runner().run(request);
    ASSERT_TRUE(hung.ok());
    EXPECT_EQ(hung->status, RunStatus::hang) << symbol << ": " << hung->detail;
    request.candidate = kernel("times_4");
    auto next = shared_runner().run(request);
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(next->status, RunStatus::slower) << next->detail;
    EXPECT_GT(next->timing.ratio, 1.25) << "the incumbent is still there to race against";
  }
}

TEST(Runner, an_incumbent_that_fails_is_not_held_against_the_candidate) {
  const RunOutcome outcome = against_incumbent("reference", "crash");
  EXPECT_EQ(outcome.status, RunStatus::not_run);
  EXPECT_EQ(outcome.detail, "the incumbent failed: the kernel writes at address 0x10");
}

TEST(Runner, goes_on_after_its_worker_was_killed) {
  auto runner = targets::WorkerRunner::start(small_options());
  ASSERT_TRUE(runner.ok());
  ASSERT_TRUE((*runner)->begin(matrix_task()).ok());
  ASSERT_TRUE((*runner)->set_incumbent(kernel("times_4")).ok());
  kill((*runner)->worker().pid(), SIGKILL);
  RunRequest request = compare("reference");
  request.pair_with_incumbent = true;
  request.time_budget = milliseconds(20);
  auto lost = (*runner)->run(request);
  ASSERT_TRUE(lost.ok());
  EXPECT_EQ(lost->status, RunStatus::out_of_memory)
      << "only the kernel's out-of-memory killer sends this signal in the field";
  auto next = (*runner)->run(request);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->status, RunStatus::ok) << next->detail;
  EXPECT_GT(next->timing.ratio, 0) << "the new worker knows the incumbent";
  EXPECT_EQ((*runner)->worker().starts(), 2u);
}

TEST(Runner, a_command_that_is_no_runner_is_an_error_value) {
  RunnerOptions options = small_options();
  options.command = {"/bin/cat"};
  EXPECT_FALSE(start_local_runner(options).ok());
  options.command = {"/nonexistent/runner"};
  EXPECT_EQ(start_local_runner(options).error().code, "PW0606");
  options.command = {"/bin/sleep", "60"};
  options.start_deadline = milliseconds(100);
  EXPECT_FALSE(start_local_runner(options).ok());
}

TEST(Runner, works_from_any_thread_even_when_that_thread_ends) {
  Result<std::unique_ptr<Runner>> runner = fail("", "");
  std::thread([&] {
    runner = start_local_runner(small_options());
    PW_CHECK((*runner)->begin(matrix_task()).ok());
  }).join();
  auto outcome = (*runner)->run(compare("reference"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->status, RunStatus::ok) << outcome->detail;
}

}  // namespace
}  // namespace polyweft::lab_tests
