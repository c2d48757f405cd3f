// The independent checker on nests written by hand: what no sketch makes today, and one must be able to hand in.
#include "harness.h"
#include "ir/oracles/interpreter.h"
#include "poly/check/checker.h"

namespace polyweft::test {
namespace {

std::string verdict_of(const Program& program, const std::string& nest) {
  auto parsed = parse_loop_nest(nest);
  if (!parsed) return described(parsed.error());
  poly::NestCheck check = poly::check_nest(program, *parsed);
  return std::string(name_of(check.verdict)) + " " + check.code + " " + check.message;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

const char* kGather =
    "program g(N = 16)\nin X: f32[N+2]\nin d: i32[N] values 0..3\nlet B[t: N+2] = X[t] * 2\nout Y[i: N] = B[i + "
    "d[i]]\n";
const char* kRing = R"(nest 1 g class reassoc
param N = 16
loops t
buffer X: f32[18] argument align 4 tensor 0 element [$0]
buffer d: i32[16] argument align 4 values 0 .. 3 tensor 1 element [$0]
buffer Y: f32[16] argument align 4 output tensor 3 element [$0]
buffer B: f32[18] heap fold 0 mod 3 align 64 tensor 2 element [$0]
arguments X, d, Y
body {
  alloc B {
    for t in 0 .. 18 {
      seq {
        compute 0(t) store: B[t] <- (X[t] * 2:f32)
        if t - 2 >= 0 {
          compute 1(t - 2) store: Y[t - 2] <- B[t - 2 + {convert:i64(d[t - 2]) in 0 .. 2}]
        }
      }
    }
  }
}
)";

TEST(CheckerOfNests, decides_a_gather_from_a_folded_dimension) {
  Program program = normalized_program(kGather);
  EXPECT_EQ(verdict_of(program, kRing), "proven  ");
  EXPECT_EQ(verdict_of(program, replaced(kRing, "mod 3", "mod 4")), "proven  ");
  EXPECT_EQ(verdict_of(program, replaced(kRing, "mod 3", "mod 2")).substr(0, 17), "not_proven PW0409");
  // One iteration late: B[t] has taken the place of B[t - 3].
  std::string late = replaced(replaced(kRing, "0 .. 18", "0 .. 19"), "if t - 2 >= 0", "if t - 3 >= 0");
  late = replaced(replaced(late, "compute 0(t)", "if 17 - t >= 0 { compute 0(t)"), "2:f32)", "2:f32) }");
  while (late.find("t - 2") != std::string::npos) late = replaced(late, "t - 2", "t - 3");
  EXPECT_EQ(verdict_of(program, late).substr(0, 14), "refuted PW0403") << verdict_of(program, late);
  EXPECT_EQ(verdict_of(program, replaced(late, "mod 3", "mod 4")), "proven  ");
}

/// Y = X + 1 where X goes through `count` buffers first.
std::string through_buffers(int count, int shifted) {
  std::string head = "nest 1 chain class reassoc\nparam N = 9\nloops i", buffers, opens, copies, closes;
  for (int k = 0; k < count; ++k) {
    std::string name = "B" + std::to_string(k), from = k == 0 ? "X" : "B" + std::to_string(k - 1);
    head += ", i" + std::to_string(k);
    buffers += "buffer " + name + ": f32[9] heap align 64 tensor 0 element [$0]\n";
    opens += "alloc " + name + " {\n";
    closes += "}\n";
    std::string var = "i" + std::to_string(k);
    copies += "for " + var + " in 0 .. 9 {\ncopy " + name + "[" + var + "] <- " + from + "[" +
              (k == shifted ? "8 - " : "") + var + "] else 0:f32\n}\n";
  }
  return head +
         "\nbuffer X: f32[9] argument align 4 tensor 0 element [$0]\nbuffer Y: f32[9] argument align 4 output tensor 1 "
         "element [$0]\n" +
         buffers + "arguments X, Y\nbody {\n" + opens + "seq {\n" + copies +
         "for i in 0 .. 9 {\ncompute 0(i) store: Y[i] <- (B" + std::to_string(count - 1) + "[i] + 1:f32)\n}\n}\n" +
         closes + "}\n";
}

TEST(CheckerOfNests, follows_copies_of_copies_of_copies) {
  Program program = normalized_program("program chain(N = 9)\nin X: f32[N]\nout Y[i: N] = X[i] + 1\n");
  EXPECT_EQ(verdict_of(program, through_buffers(20, -1)), "proven  ");
  EXPECT_EQ(verdict_of(program, through_buffers(20, 11)).substr(0, 14), "refuted PW0403");
}

/// k runs to 8, K is 6: both factors are filled with zeros there.
const char* kPadded = R"(nest 1 dots class strict
param M = 3
param K = 6
loops i, k@3, k@4, k@5
buffer X: f32[3, 6] argument align 4 tensor 0 element [$0, $1]
buffer y: f32[6] argument align 4 tensor 1 element [$0]
buffer s: f32[3] argument align 4 output tensor 2 element [$0]
buffer Xp: f32[8] heap align 64 tensor 0 element [i, $0]
buffer yp: f32[8] heap align 64 tensor 1 element [$0]
arguments X, y, s
body {
  for i in 0 .. 3 {
    alloc Xp {
      alloc yp {
        seq {
          for k@3 in 0 .. 8 {
            copy Xp[k@3] <- X[i, k@3] valid 5 - k@3 >= 0 else 0:f32
          }
          for k@4 in 0 .. 8 {
            copy yp[k@4] <- y[k@4] valid 5 - k@4 >= 0 else 0:f32
          }
          compute 0(i) init sum: s[i]
          for k@5 in 0 .. 8 {
            compute 0(i, k@5) accumulate sum: s[i] <- (Xp[k@5] * yp[k@5])
          }
        }
      }
    }
  }
}
)";

TEST(CheckerOfNests, decides_zero_padding_along_a_reduced_index) {
  Program program = normalized_program(
      "program dots(M = 3, K = 6)\nin X: f32[M, K]\nin y: f32[K]\nout s[i: M] = sum[k: K] X[i, k] * y[k]\n");
  EXPECT_EQ(verdict_of(program, kPadded), "proven  ");
  EXPECT_EQ(verdict_of(program, replaced(kPadded, "strict", "reassoc")), "proven  ");
  auto nest = parse_loop_nest(kPadded);
  auto inputs = ir::seeded_inputs(program, 3, ir::DataKind::integers);
  ir::EvaluateOptions wanted;
  wanted.tags = NumericsClass::strict;
  ir::InterpreterOptions options;
  options.with_tags = true;
  EXPECT_EQ(ir::interpret(*nest, inputs, options)->tags, ir::evaluate(program, inputs, wanted)->tags);
  // One factor that is no zero: 0 * inf. Another fill. A fill over an element. A point that padding displaces. Padding
  // as a point.
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"else 0:f32\n          }\n          compute", "else 1:f32\n          }\n          compute"},
           {"k@3] valid 5 - k@3 >= 0 else 0:f32", "k@3] valid 5 - k@3 >= 0 else -0:f32"},
           {"valid 5 - k@4", "valid 4 - k@4"},
           {"k@5 in 0 .. 8", "k@5 in 1 .. 8"},
           {"Xp[k@5]", "Xp[7 - k@5]"},
           {"(Xp[k@5] * yp[k@5])", "(Xp[k@5] + yp[k@5])"}})
    EXPECT_EQ(verdict_of(program, replaced(kPadded, from, to)).substr(0, 10), "refuted PW")
        << from << ": " << verdict_of(program, replaced(kPadded, from, to));
}

const char* kCyclic = R"(nest 1 cyclic class reassoc
param N = 16
loops t, i
buffer X: f32[16] argument align 4 tensor 0 element [$0]
buffer Y: f32[16] argument align 4 output tensor 1 element [$0]
arguments X, Y
body {
  for t in 0 .. 3 {
    for i in max(t, 0) .. 16 step 3 {
      compute 0(i) store: Y[i] <- (X[i] + 1:f32)
    }
  }
}
)";

TEST(CheckerOfNests, decides_a_step_with_several_lower_bounds) {
  Program program = normalized_program("program cyclic(N = 16)\nin X: f32[N]\nout Y[i: N] = X[i] + 1\n");
  EXPECT_EQ(verdict_of(program, kCyclic), "proven  ");
  EXPECT_EQ(verdict_of(program, replaced(kCyclic, "max(t, 0)", "max(t, t - 3)")), "proven  ");
  EXPECT_EQ(verdict_of(program, replaced(kCyclic, "max(t, 0)", "max(t - 3, t)")), "proven  ");
  EXPECT_EQ(verdict_of(program, replaced(kCyclic, "max(t, 0)", "max(t, 1)")).substr(0, 14), "refuted PW0403");
  EXPECT_EQ(verdict_of(program, replaced(kCyclic, "max(t, 0)", "max(t, t + 3)")).substr(0, 14), "refuted PW0403");
  EXPECT_EQ(verdict_of(program, replaced(kCyclic, "max(t, 0)", "max(t - 1, 0)")).substr(0, 14), "refuted PW0403");
}

// Found by scripts/soak: what is fused into an empty reduction was forgotten with the reduction's loops.
TEST(CheckerOfNests, what_is_fused_into_an_empty_reduction_is_computed) {
  const char* text =
      "program p(M = 3, N = 5, K = 0)\nassume K >= 0\nin A: f32[M, K]\nout C[i: M, j: N]: f32 = sum[k: K] A[i, k]\nout "
      "D[i: M, j: N]: f32 = C[i, j] + 1\n";
  Program program = normalized_program(text);
  for (const char* trace : {"trace 1\n fuse D into C at i\n", "trace 1\n fuse D into C at j\n",
                            "trace 1\n tile C [i: 2, j: 2]\n fuse D into C at i.1\n"}) {
    auto nest = nest_of(program, trace);
    ASSERT_TRUE(nest) << described(nest.error());
    EXPECT_EQ(difference(program, *nest, 3), "") << trace;
    EXPECT_EQ(verdict_of(program, print(*nest)), "proven  ") << trace;
  }
}

}  // namespace
}  // namespace polyweft::test
