// The LoopNest interpreter: a packed, tiled GEMM against the evaluator, and mistakes that tags or cells must show.
#include "ir/oracles/interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/oracles/evaluator.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"

namespace polyweft {
namespace {

const char* const kProgram = R"(program gemm(M = 4, N = 6, K = 7)
in A: f32[M, K]
in B: f32[K, N]
out C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]
)";

/// Tiles of 2 x 4, the last column tile half empty; B packed by column tiles with zeros beyond its edge.
const std::string kNest = R"(nest 1 gemm class reassoc
param M = 4
param N = 6
param K = 7
loops jc, kp, pv, ic, i0, v0, k, i1, v1, i2, v2
buffer A: f32[4, 7] argument align 4 tensor 0 element [$0, $1]
buffer B: f32[7, 6] argument align 4 tensor 1 element [$0, $1]
buffer C: f32[4, 6] argument align 4 output tensor 2 element [$0, $1]
buffer Bp: f32[7, 4] heap layout [0:7, 1:4] pad [0, 1] align 64 tensor 1 element [$0, 4*jc + $1]
buffer acc: f32[2, 4] reg align 64 tensor 2 element [2*ic + $0, 4*jc + $1]
arguments A, B, C
body {
  for jc in 0 .. 2 {
    alloc Bp {
      for kp in 0 .. 7 {
        for pv in 0 .. 4 vector 4 {
          copy Bp[kp, pv] <- B[kp, 4*jc + pv] valid -4*jc - pv + 5 >= 0 else 0:f32
        }
      }
      for ic in 0 .. 2 {
        alloc acc {
          for i0 in 0 .. 2 unroll {
            for v0 in 0 .. 4 vector 4 {
              compute 0(2*ic + i0, 4*jc + v0) init sum: acc[i0, v0]
            }
          }
          for k in 0 .. 7 {
            for i1 in 0 .. 2 unroll {
              for v1 in 0 .. 4 vector 4 {
                compute 0(2*ic + i1, 4*jc + v1, k) accumulate sum fused: acc[i1, v1] <- (A[2*ic + i1, k] * Bp[k, v1])
              }
            }
          }
          for i2 in 0 .. 2 unroll {
            for v2 in 0 .. min(4, -4*jc + 6) vector 4 {
              copy C[2*ic + i2, 4*jc + v2] <- acc[i2, v2]
            }
          }
        }
      }
    }
  }
}
)";

LoopNest nest_of(const std::string& text) {
  auto nest = parse_loop_nest(text);
  if (!nest) ADD_FAILURE() << nest.error().message << "\n" << text;
  return nest ? *nest : LoopNest{};
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kNest;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Program bound_gemm() {
  Program program = lang::parse(kProgram, "gemm.weft")->programs.at(0);
  return polyweft::bind(program, make_binding(program, {}).value());
}

std::vector<TensorData> inputs(ir::DataKind kind = ir::DataKind::integers) {
  return ir::seeded_inputs(bound_gemm(), 5, kind);
}

ir::Evaluation expected() {
  ir::EvaluateOptions options;
  options.tags = NumericsClass::reassoc;
  return *ir::evaluate(bound_gemm(), inputs(), options);
}

Result<ir::NestRun> run(const std::string& text, const std::vector<TensorData>& data) {
  ir::InterpreterOptions options;
  options.with_tags = true;
  return ir::interpret(nest_of(text), data, options);
}

TEST(Interpreter, a_packed_tiled_gemm_computes_the_terms_and_values_of_the_program) {
  auto got = run(kNest, inputs());
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->tags, expected().tags);
  EXPECT_EQ(got->written, expected().written);
  EXPECT_EQ(got->tensors[0].bytes, expected().tensors[0].bytes);
}

TEST(Interpreter, fused_sums_round_once) {
  LoopNest fused = nest_of(kNest), plain = nest_of(with(" fused", ""));
  auto data = inputs(ir::DataKind::random);
  auto a = ir::interpret(fused, data), b = ir::interpret(plain, data);
  EXPECT_NE(a->tensors[0].bytes, b->tensors[0].bytes);
  for (int64_t x = 0; x < 24; ++x) EXPECT_NEAR(a->tensors[0].at(x).f, b->tensors[0].at(x).f, 1e-6);
}

TEST(Interpreter, tags_show_what_zeros_hide) {
  std::vector<TensorData> zeros = inputs();
  for (TensorData& tensor : zeros) std::fill(tensor.bytes.begin(), tensor.bytes.end(), 0);
  const std::pair<std::string, std::string> mistakes[] = {
      {"for k in 0 .. 7", "for k in 0 .. 6"},                      // a term forgotten
      {"A[2*ic + i1, k] *", "A[2*ic + i1, 6 - k] *"},              // the wrong operand
      {"<- B[kp, 4*jc + pv]", "<- B[kp, 5 - 4*jc - pv]"},          // a packed copy from elsewhere
      {"valid -4*jc - pv + 5 >= 0", "valid -4*jc - pv + 4 >= 0"},  // a halo too small
      {"for k in 0 .. 7", "for k in 0 .. 7"}};                     // none
  for (const auto& [from, to] : mistakes) {
    auto got = run(with(from, to), zeros);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->tensors[0].bytes, std::vector<unsigned char>(24 * 4, 0)) << to;
    EXPECT_EQ(got->tags == expected().tags, from == to) << to;
  }
}

TEST(Interpreter, terms_folded_twice_show) {
  std::string text = with("for k in 0 .. 7", "for k in 0 .. 8");
  size_t at = text.find("A[2*ic + i1, k] * Bp[k, v1]");
  text.replace(at, 27, "A[2*ic + i1, clamp(k, 0, 6)] * Bp[clamp(k, 0, 6), v1]");
  auto got = run(text, inputs());
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_NE(got->tags, expected().tags);
}

TEST(Interpreter, mistakes_of_memory_are_errors) {
  auto outside = run(with("for k in 0 .. 7", "for k in 0 .. 8"), inputs());
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, "PW0491");
  EXPECT_EQ(outside.error().message, "A[0, 7] is outside its extents [4, 7]");
  auto unwritten = run(with("for kp in 0 .. 7", "for kp in 0 .. 6"), inputs());
  ASSERT_FALSE(unwritten);
  EXPECT_EQ(unwritten.error().code, "PW0492");
  EXPECT_EQ(unwritten.error().message, "Bp[6, 0] is read before it is written");
}

TEST(Interpreter, missing_stores_leave_elements_unwritten) {
  auto got = run(with("for v2 in 0 .. min(4, -4*jc + 6)", "for v2 in 0 .. min(4, -4*jc + 5)"), inputs());
  ASSERT_TRUE(got);
  EXPECT_EQ(got->written[0][5], 0);
  EXPECT_EQ(got->written[0][4], 1);
}

TEST(Interpreter, wrong_inputs_are_refused) {
  std::vector<TensorData> one = {inputs()[0]};
  EXPECT_EQ(run(kNest, one).error().code, "PW0490");
  std::vector<TensorData> swapped = {inputs()[1], inputs()[0]};
  EXPECT_EQ(run(kNest, swapped).error().code, "PW0490");
}

TEST(Interpreter, limits_stop_it) {
  ir::InterpreterOptions options;
  options.step_limit = 10;
  EXPECT_EQ(ir::interpret(nest_of(kNest), inputs(), options).error().code, "PW0812");
  options = {};
  options.cell_limit = 50;
  EXPECT_EQ(ir::interpret(nest_of(kNest), inputs(), options).error().code, "PW0812");
}

}  // namespace
}  // namespace polyweft
