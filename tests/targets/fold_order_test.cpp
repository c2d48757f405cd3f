// Terms of argmax and argmin that come with growing indices take fewer questions each; those that do not, the general
// ones. The same bits as the interpreter's.
#include "targets/common/fold_order.h"

#include <gtest/gtest.h>

#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

struct Case {
  const char* name;
  bool is_upwards;
  const char* text;
};

const Case kCases[] = {
    {"argmax_upwards_in_tiles", true, R"(nest 1 best class strict
loops i, k1, k
buffer X: f32[9, 30] argument align 4
buffer V: f32[9] argument align 4 output
buffer P: i64[9] argument align 8 output
arguments X, V, P
body {
  for i in 0 .. 9 {
    compute 0(i) init argmax: V[i], P[i]
    for k1 in 0 .. 30 step 8 {
      for k in 0 .. min(8, -k1 + 30) {
        compute 0(i, k1 + k) accumulate argmax: V[i], P[i] <- X[i, k1 + k], affine(k1 + k)
      }
    }
  }
}
)"},
    {"argmax_of_two_terms_that_may_be_the_least", true, R"(nest 1 best class strict
loops i, k
buffer X: i8[900, 2] argument align 1
buffer V: i8[900] argument align 1 output
buffer P: i64[900] argument align 8 output
arguments X, V, P
body {
  for i in 0 .. 900 {
    compute 0(i) init argmax: V[i], P[i]
    for k in 0 .. 2 {
      compute 0(i, k) accumulate argmax: V[i], P[i] <- X[i, k], affine(k)
    }
  }
}
)"},
    {"argmin_by_turns_is_not_upwards", false, R"(nest 1 best class strict
loops i, k, k1
buffer X: f32[9, 30] argument align 4
buffer V: f32[9] argument align 4 output
buffer P: i64[9] argument align 8 output
arguments X, V, P
body {
  for i in 0 .. 9 {
    compute 0(i) init argmin: V[i], P[i]
    for k in 0 .. 6 {
      for k1 in 0 .. 30 step 6 {
        compute 0(i, k1 + k) accumulate argmin: V[i], P[i] <- X[i, k1 + k], affine(k1 + k)
      }
    }
  }
}
)"},
    {"argmax_second_half_first", false, R"(nest 1 best class strict
loops i, k, l
buffer X: i8[40, 30] argument align 1
buffer V: i8[40] argument align 1 output
buffer P: i64[40] argument align 8 output
arguments X, V, P
body {
  for i in 0 .. 40 {
    compute 0(i) init argmax: V[i], P[i]
    for k in 15 .. 30 {
      compute 0(i, k) accumulate argmax: V[i], P[i] <- X[i, k], affine(k)
    }
    for l in 0 .. 15 {
      compute 0(i, l) accumulate argmax: V[i], P[i] <- X[i, l], affine(l)
    }
  }
}
)"},
    {"argmax_in_lanes_of_registers", true, R"(nest 1 best class reassoc
loops i1, u, v, k, w, x, y, z
buffer X: f64[30, 32] argument align 8
buffer V: f64[32] argument align 8 output
buffer P: i64[32] argument align 8 output
buffer A: f64[16] reg align 64
buffer B: i64[16] reg align 64
arguments X, V, P
body {
  for i1 in 0 .. 32 step 16 {
    alloc A {
      alloc B {
        for u in 0 .. 2 unroll {
          for v in 0 .. 8 vector 8 {
            compute 0(i1 + 8*u + v) init argmax: A[8*u + v], B[8*u + v]
          }
        }
        for k in 0 .. 30 {
          for w in 0 .. 2 unroll {
            for x in 0 .. 8 vector 8 {
              compute 0(i1 + 8*w + x, k) accumulate argmax: A[8*w + x], B[8*w + x] <- X[k, i1 + 8*w + x], affine(k)
            }
          }
        }
        for y in 0 .. 2 unroll {
          for z in 0 .. 8 vector 8 {
            copy V[i1 + 8*y + z] <- A[8*y + z] else 0:f64
            copy P[i1 + 8*y + z] <- B[8*y + z] else 0:i64
          }
        }
      }
    }
  }
}
)"},
};

class FoldOrder : public testing::TestWithParam<Case> {};

TEST_P(FoldOrder, the_same_bits) {
  const LoopNest nest = parsed(GetParam().text);
  int folds = 0;
  for (const Node& node : nest.nodes)
    if (const auto* compute = std::get_if<Compute>(&node); compute && compute->how == Write::accumulate) {
      EXPECT_EQ(targets::folds_upwards(nest, *compute), GetParam().is_upwards);
      ++folds;
    }
  EXPECT_GE(folds, 1);
  expect_same_bits(nest, 8);
}

INSTANTIATE_TEST_SUITE_P(Nests, FoldOrder, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace polyweft::targets_test
