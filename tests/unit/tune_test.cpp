// Programs that have nothing for the unit, and searches with a database: ranked by cycles of the model.
#include "emulated/tune.h"

#include <chrono>

#include "backend/bits.h"
#include "emulated/emulated.h"
#include "unit/machines.h"

namespace polyweft::unit_test {
namespace {

using emulated_test::emulated_difference;

class UnitTune : public UnitMachine {
 protected:
  Tuner tuner() const { return folder_.tuner(target_); }

  emulated_test::TuneFolder folder_;
};

const char* kOfCpu[] = {
    "program depthwise(H = 6, W = 10, C = 20)\nin X: i8[H+2, W+2, C]\nin K: i8[3, 3, C]\nout Y[y: H, x: W, c: C] = "
    "sum[r: 3, s: 3] i32(X[y+r, x+s, c]) * i32(K[r, s, c])\n",
    "program pool(H = 5, W = 7, C = 18)\nin X: i8[2*H, 2*W, C]\nout Y[y: H, x: W, c: C] = max[r: 2, s: 2] X[2*y+r, "
    "2*x+s, c]\n",
    "program relu(N = 131)\nin X: i8[N]\nout Y[i: N] = max(X[i], 0)\n",
    // Weights 2^(x - max) in 15 bits of fraction, of a row: softmax in fixed point.
    "program softmax(M = 5, N = 33)\nin X: i8[M, N]\nlet m[i: M] = max[j: N] i32(X[i, j])\nlet e[i: M, j: N] = 32768 "
    ">> "
    "min((m[i] - i32(X[i, j])) >> 3, 15)\nlet s[i: M] = sum[j: N] e[i, j]\nout Y[i: M, j: N] = (e[i, j] * 127) // "
    "s[i]\n",
};

TEST_P(UnitTune, what_is_no_product_runs_on_the_cpu) {
  for (const char* text : kOfCpu) {
    const auto parsed = parse_program(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    SCOPED_TRACE(parsed->name);
    for (const char* trace : {"", "trace 1\n"}) {
      TaskOptions options;
      options.trace = trace;
      const auto shown = tuner().show(*parsed, options, ShowStage::loops);
      ASSERT_TRUE(shown) << shown.error().message;
      const auto nest = parse_loop_nest(*shown);
      ASSERT_TRUE(nest) << nest.error().message;
      EXPECT_EQ(emulated_difference(*nest, target_, 9), "") << *shown;
      EXPECT_GT(model_cycles(*nest, target_), 0);
    }
  }
}

TEST_P(UnitTune, a_search_takes_the_unit_and_keeps_what_it_found) {
  const auto program = parse_program(
      "program mm(M = 64, N = 64, K = 128)\nin A: i8[M, K]\nin B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) "
      "* "
      "i32(B[k, j])\n");
  ASSERT_TRUE(program) << program.error().message;
  const auto found = tuner().tune(*program, emulated_test::trials(6));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->failed, 0);
  EXPECT_GT(found->measured, 0);
  EXPECT_FALSE(is_emulated(found->record.key));
  EXPECT_EQ(found->record.certificate.verdict, Verdict::proven);
  EXPECT_NE(found->record.trace_text.find("by unit_"), std::string::npos) << found->record.trace_text;
  EXPECT_GT(found->record.measurement.timing.median_ns, 0);
  Tuner keeper = tuner();
  auto database = keeper.database();
  ASSERT_TRUE(database) << database.error().message;
  const auto rows = (*database)->measurements(found->record.key);
  ASSERT_TRUE(rows) << rows.error().message;
  for (const auto& [trace, row] : *rows)
    if (row.status == RunStatus::ok)
      EXPECT_LE(found->record.measurement.timing.median_ns, row.timing.median_ns) << "cycles are exact: the least wins";
  EXPECT_STREQ(comparison_word(found->beside_base), "faster");
  const auto hit = tuner().tune(*program, emulated_test::trials(6));
  ASSERT_TRUE(hit) << hit.error().message;
  EXPECT_TRUE(hit->hit);
  for (const Emit emit : {Emit::object, Emit::assembly, Emit::llvm, Emit::artifact, Emit::header}) {
    const auto built = tuner().build(*program, {}, emit, "");
    ASSERT_TRUE(built) << built.error().message;
  }
}

TEST_P(UnitTune, cycles_may_take_longer_than_the_program_that_counts_them) {
  const auto program = parse_program(
      "program mm(M = 64, N = 64, K = 512)\nin A: i8[M, K]\nin B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) "
      "* i32(B[k, j])\n");
  ASSERT_TRUE(program) << program.error().message;
  const auto timed = tuner().bench(*program, {}, std::chrono::milliseconds(10));
  ASSERT_TRUE(timed) << timed.error().message;
  EXPECT_EQ(timed->warnings, std::vector<std::string>());
  EXPECT_GT(timed->reference.median_ns, timed->kernel.median_ns);
  EXPECT_TRUE(timed->kernel.is_exact && timed->reference.is_exact);
  EXPECT_EQ(timed->reference.samples, 1) << "one call says all";
  EXPECT_EQ(timed->reference.ratio_lo, timed->reference.ratio_hi);
  EXPECT_STREQ(comparison_word(timed->reference), "slower");
}

INSTANTIATE_TEST_SUITE_P(Machines, UnitTune, testing::Values(kGemmini, kMadeUp),
                         [](const auto& info) { return info.index == 0 ? "gemmini" : "made_up"; });

}  // namespace
}  // namespace polyweft::unit_test
