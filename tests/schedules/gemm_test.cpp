// The hand-written GEMM trace, at sizes that divide, that do not, and below one tile.
#include "harness.h"

namespace polyweft::test {
namespace {

const char* kGemmTrace = R"(trace 1
  tile C [j: nc, k: kc, i: mc, j: nr, i: mr]
  promote B at kc heap layout [j / nr, k, j % nr]
  promote A at mc heap layout [i / mr, k, i % mr]
  accumulate C at mr reg
  unroll C i ; vectorize C j 4 ; parallel C mc
decide nc = 32, kc = 16, mc = 12, nr = 8, mr = 3
)";

struct Sizes {
  int64_t m, n, k;
};

TEST(GemmTrace, gives_the_evaluators_result_at_every_size) {
  for (Sizes s : {Sizes{24, 64, 32},
                  {20, 40, 24},
                  {7, 13, 5},
                  {1, 1, 1},
                  {2, 3, 1},
                  {3, 8, 16},
                  {13, 9, 17},
                  {37, 33, 50},
                  {12, 32, 16},
                  {1, 70, 3}}) {
    Program program = normalized_program(gemm_text(), {{"M", s.m}, {"N", s.n}, {"K", s.k}});
    for (auto cls : {NumericsClass::reassoc, NumericsClass::contract, NumericsClass::strict})
      EXPECT_EQ(check_trace(program, kGemmTrace, cls), "") << s.m << " " << s.n << " " << s.k;
  }
}

TEST(GemmTrace, computes_every_point_once) {
  Program program = normalized_program(gemm_text(), {{"M", 37}, {"N", 33}, {"K", 50}});
  auto nest = nest_of(program, kGemmTrace);
  ASSERT_TRUE(nest.ok());
  PlainRun run(*nest, ir::seeded_inputs(program, 1, ir::DataKind::integers));
  int64_t tiles_of_k = (50 + 15) / 16;
  EXPECT_LE(run.computes(), 37 * 33 * 50 + 37 * 33 * tiles_of_k);
}

}  // namespace
}  // namespace polyweft::test
