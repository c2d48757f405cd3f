// The messages come back as they were sent, and no bytes from the other side do more than fail.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/rng.h"
#include "targets/workers/runner_protocol.h"
#include "tools/runner_values.h"

namespace polyweft::targets {
namespace {

LoadableKernel some_kernel() {
  LoadableKernel kernel{kElfShared, {0, 1, 255, 0}, "gemm", "0123"};
  kernel.terminates = true;
  kernel.features = {"avx2", "fma"};
  return kernel;
}

RunnerTask some_task() {
  RunnerTask task;
  task.id = "id";
  ArgumentSpec in;
  in.name = "A";
  in.type = ElementType::bf16;
  in.extents = {3, 0, 5};
  in.is_packed = in.has_values = true;
  in.values_lo = -4;
  in.values_hi = 9;
  ArgumentSpec out;
  out.name = "C";
  out.is_output = out.partial = true;
  task.arguments = {in, out};
  task.reference = some_kernel();
  task.bit_exact = true;
  task.relative_bound = 1e-5;
  task.seed = UINT64_MAX;
  task.threads = 8;
  task.given = {{1, 2, 3}, {}};
  return task;
}

RunRequest some_request() {
  RunRequest request;
  request.candidate = some_kernel();
  request.compare_on = {InputSet::adversarial, InputSet::random};
  request.incumbent_ns = 12.5;
  request.pair_with_incumbent = true;
  request.pair_to_the_end = true;
  request.most_pairs = 31;
  request.deadline = std::chrono::milliseconds(77);
  return request;
}

RunOutcome some_outcome() {
  RunOutcome outcome;
  outcome.status = RunStatus::wrong_result;
  outcome.detail = "C[0] is wrong";
  outcome.timing = {1, 0.5, 0.01, 40, 0.9, 0.8, 1.1};
  outcome.timing.samples_ns = {1, 2.5F, 3};
  outcome.timing.beside_ns = {4};
  outcome.reference_ns = 1e9;
  outcome.pack_ns = 3;
  outcome.timing.is_exact = true;
  outcome.notes.emplace_back();
  outcome.notes.back().set = InputSet::random;
  outcome.notes.back().drawn = "numbers near 1";
  outcome.notes.back().judged = 0.5;
  outcome.notes.back().output = "C";
  outcome.notes.back().element = "C[0] is nan";
  outcome.notes.back().usual_judged = 0.25;
  return outcome;
}

TEST(Protocol, messages_come_back_as_they_were_sent) {
  EXPECT_EQ(encode(*decode_kernel(encode(some_kernel()))), encode(some_kernel()));
  EXPECT_EQ(encode(*decode_task(encode(some_task()))), encode(some_task()));
  EXPECT_EQ(encode(*decode_request(encode(some_request()))), encode(some_request()));
  EXPECT_EQ(encode(*decode_outcome(encode(some_outcome()))), encode(some_outcome()));
  EXPECT_TRUE(decode_outcome(encode(some_outcome()))->timing.is_exact);
  EXPECT_EQ(decode_outcome(encode(some_outcome()))->notes.at(0).element, "C[0] is nan");
  EXPECT_EQ(decode_task(encode(some_task()))->given.at(0), (std::vector<unsigned char>{1, 2, 3}));
  EXPECT_TRUE(decode_kernel(encode(some_kernel()))->terminates);
  EXPECT_FALSE(decode_kernel(encode(LoadableKernel{}))->terminates);
  const auto task = *decode_task(encode(some_task()));
  EXPECT_EQ(task.arguments[0].extents, (std::vector<int64_t>{3, 0, 5}));
  EXPECT_EQ(task.arguments[0].values_lo, -4);
  EXPECT_TRUE(task.arguments[1].partial && task.bit_exact);
  EXPECT_EQ(decode_request(encode(some_request()))->compare_on, some_request().compare_on);
  EXPECT_EQ(decode_outcome(encode(some_outcome()))->timing.ratio_hi, 1.1);
  EXPECT_EQ(decode_outcome(encode(some_outcome()))->timing.samples_ns, some_outcome().timing.samples_ns);
  EXPECT_EQ(decode_outcome(encode(some_outcome()))->timing.beside_ns, some_outcome().timing.beside_ns);
  EXPECT_EQ(decode_error(encode(fail("PW0608", "text"))).message, "text");
}

// What no clock tells would be believed for ever, whoever says it.
TEST(Protocol, times_are_those_of_a_clock) {
  double Timing::*const times[] = {&Timing::median_ns, &Timing::min_ns, &Timing::cold_ns};
  double Timing::*const ratios[] = {&Timing::ratio, &Timing::ratio_lo, &Timing::ratio_hi, &Timing::ci_rel};
  const auto code_with = [](double Timing::*figure, double value) {
    RunOutcome outcome = some_outcome();
    outcome.timing.*figure = value;
    const auto read = decode_outcome(encode(outcome));
    return read ? "ok" : read.error().code;
  };
  for (const double ns : {5e-324, 1e-4, -1.0, 1e19, 1e308, HUGE_VAL, static_cast<double>(NAN)})
    for (double Timing::*figure : times) EXPECT_EQ(code_with(figure, ns), "PW0605") << ns;
  for (const double ratio : {-1.0, 1e13, 1e308, HUGE_VAL, static_cast<double>(NAN)})
    for (double Timing::*figure : ratios) EXPECT_EQ(code_with(figure, ratio), "PW0605") << ratio;
  for (const double ns : {0.0, 1e-3, 1.0, 1e18})
    for (double Timing::*figure : times) EXPECT_EQ(code_with(figure, ns), "ok") << ns;
  RunOutcome outcome = some_outcome();
  outcome.timing.samples_ns.back() = HUGE_VALF;
  EXPECT_EQ(decode_outcome(encode(outcome)).error().message, "message: has a sample of inf ns, which no clock tells");
  outcome = some_outcome();
  outcome.reference_ns = HUGE_VAL;
  EXPECT_FALSE(decode_outcome(encode(outcome)));
}

template <class Change>
std::string code_of_task(const Change& change) {
  RunnerTask task = some_task();
  change(task);
  auto decoded = decode_task(encode(task));
  return decoded ? "ok" : decoded.error().code;
}

TEST(Protocol, values_out_of_range_are_refused) {
  EXPECT_EQ(code_of_task([](RunnerTask&) {}), "ok");
  EXPECT_EQ(code_of_task([](RunnerTask& t) { t.arguments[0].extents[0] = -1; }), "PW0605");
  EXPECT_EQ(code_of_task([](RunnerTask& t) {
              t.arguments[0].extents = {int64_t{1} << 39, int64_t{1} << 39};
            }),
            "PW0605");
  EXPECT_EQ(code_of_task([](RunnerTask& t) { t.arguments[0].extents.assign(kMaxRank + 1, 1); }), "PW0605");
  EXPECT_EQ(code_of_task([](RunnerTask& t) { t.arguments.resize(kMaxArguments + 1); }), "PW0605");
  EXPECT_EQ(code_of_task([](RunnerTask& t) { t.arguments[0].type = static_cast<ElementType>(200); }), "PW0605");
  EXPECT_EQ(code_of_task([](RunnerTask& t) { t.arguments[0].values_hi = -4; }), "PW0605");
  EXPECT_EQ(code_of_task([](RunnerTask& t) { t.threads = 0; }), "PW0605");
  EXPECT_EQ(code_of_task([](RunnerTask& t) { t.threads = kMaxThreads + 1; }), "PW0605");
  EXPECT_EQ(code_of_task([](RunnerTask& t) { t.relative_bound = NAN; }), "PW0605");
  EXPECT_EQ(code_of_task([](RunnerTask& t) { t.reference.symbol = "a b"; }), "PW0605");
  EXPECT_EQ(code_of_task([](RunnerTask& t) { t.reference.symbol.clear(); }), "PW0605");
  RunOutcome outcome = some_outcome();
  outcome.status = static_cast<RunStatus>(99);
  EXPECT_FALSE(decode_outcome(encode(outcome)).ok());
}

void mutate(std::string& bytes, Rng& rng) {
  for (uint64_t n = 1 + rng.below(4); n > 0; --n) {
    if (bytes.empty()) return;
    const size_t at = rng.below(bytes.size());
    switch (rng.below(4)) {
      case 0:
        bytes[at] = static_cast<char>(rng());
        break;
      case 1:
        bytes.resize(at);
        break;
      case 2:
        bytes.insert(at, 1 + rng.below(8), static_cast<char>(rng()));
        break;
      case 3:
        bytes[at] = static_cast<char>(0xff);
        break;
    }
  }
}

TEST(Protocol, mutated_messages_never_do_more_than_fail) {
  const std::string originals[] = {encode(some_kernel()), encode(some_task()), encode(some_request()),
                                   encode(some_outcome()), encode(WorkerDescription{7, true, "x", "0123456789abcdef"})};
  Rng rng(31);
  int refused = 0;
  for (int round = 0; round < 100000; ++round) {
    std::string bytes = originals[rng.below(std::size(originals))];
    mutate(bytes, rng);
    refused += !decode_kernel(bytes).ok();
    refused += !decode_task(bytes).ok();
    refused += !decode_request(bytes).ok();
    refused += !decode_outcome(bytes).ok();
    refused += !decode_description(bytes).ok();
  }
  EXPECT_GT(refused, 400000);
}

// The worker's conversions against the library's own, which share no code.
TEST(Values, narrow_floats_agree_with_the_library) {
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    TensorData all = make_tensor(type, {65536}), back = make_tensor(type, {65536});
    for (uint32_t bits = 0; bits < 65536; ++bits)
      runner::store(all.bytes.data() + 2 * bits, static_cast<uint16_t>(bits));
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const double ours = runner::value_at(type, all.bytes.data() + 2 * bits), theirs = all.at(bits).f;
      ASSERT_TRUE(ours == theirs || (std::isnan(ours) && std::isnan(theirs))) << bits;
      runner::store_value(type, back.bytes.data() + 2 * bits, ours);
      if (std::isnan(ours)) continue;
      ASSERT_EQ(runner::load<uint16_t>(back.bytes.data() + 2 * bits), bits);
    }
  }
}

TEST(Values, half_rounds_to_nearest_even_and_overflows_to_infinity) {
  EXPECT_EQ(runner::f16_bits(1 + 0x1p-11), runner::f16_bits(1.0));
  EXPECT_EQ(runner::f16_bits(1 + 3 * 0x1p-11), runner::f16_bits(1 + 0x1p-9));
  EXPECT_EQ(runner::f16_bits(65519.9), 0x7bff);
  EXPECT_EQ(runner::f16_bits(65520), 0x7c00);
  EXPECT_EQ(runner::f16_bits(-0.0), 0x8000);
  EXPECT_EQ(runner::f16_bits(0x1p-25), 0);
  EXPECT_EQ(runner::f16_bits(0x1.8p-25), 1);
}

}  // namespace
}  // namespace polyweft::targets
