// A kernel for one thread makes no tasks, whatever its schedule would let run at once.
#include <gtest/gtest.h>

#include "polyweft/tuner.h"

namespace polyweft {
namespace {

TEST(Threads, a_kernel_for_one_thread_makes_no_tasks) {
  Tuner tuner(*find_target("host"), {});
  const auto program =
      parse_program("program scale(M = 64, N = 64)\nin X: f32[M, N]\nout Y[i: M, j: N] = 2.0 * X[i, j]\n");
  ASSERT_TRUE(program);
  TaskOptions options;
  options.trace = "trace 1\ntile Y [i: 8]\npermute Y [i.1, i, j]\nvectorize Y j 16\nparallel Y i.1\n";
  for (const int threads : {1, 2}) {
    options.threads = threads;
    const auto code = tuner.show(*program, options, ShowStage::llvm);
    ASSERT_TRUE(code) << code.error().message;
    EXPECT_EQ(code->find("call i32 @halide_do_par_for") != std::string::npos, threads > 1) << *code;
    auto inputs = tuner.make_inputs(*program, options, InputSet::random, 1);
    ASSERT_TRUE(inputs);
    const auto compared = tuner.verify(*program, options, *inputs);
    ASSERT_TRUE(compared) << compared.error().message;
  }
}

}  // namespace
}  // namespace polyweft
