// LoopNest: layout arithmetic, text, verifier, hash.
#include "polyweft/loop_nest.h"

#include <gtest/gtest.h>

namespace polyweft {
namespace {

const char* const kGemm = R"(nest 1 gemm class reassoc
param M = 10
param N = 33
param K = 7
loops kc, jc, ic, jr, kp, pv, i0, u0, v0, k, i1, u1, v1, i2, u2, v2
buffer A: f32[10, 7] argument align 4 tensor 0 element [$0, $1]
buffer B: f32[7, 33] argument align 4 tensor 1 element [$0, $1]
buffer C: f32[10, 33] argument align 4 output tensor 2 element [$0, $1]
buffer Bp: f32[2, 7, 32] heap layout [1:7, 0:2, 2:32] pad [0, 1, 0] align 64 tensor 1 element [$1, 32*$0 + $2]
buffer acc: f32[5, 2, 16] reg align 64 tensor 2 element [5*ic + $0, 32*jr + 16*$1 + $2]
arguments A, B, C
body {
  for kc in 0 .. 1 {
    alloc Bp {
      for jc in 0 .. 2 {
        for kp in 0 .. 7 {
          for pv in 0 .. 32 vector 32 {
            copy Bp[jc, kp, pv] <- B[kp, 32*jc + pv] valid -32*jc - pv + 32 >= 0 else 0:f32
          }
        }
      }
      for ic in 0 .. 2 parallel {
        for jr in 0 .. 2 {
          alloc acc {
            for i0 in 0 .. 5 unroll {
              for u0 in 0 .. 2 unroll {
                for v0 in 0 .. 16 vector 16 {
                  compute 0(5*ic + i0, 32*jr + 16*u0 + v0) init sum: acc[i0, u0, v0]
                }
              }
            }
            for k in 0 .. 7 {
              for i1 in 0 .. 5 unroll {
                for u1 in 0 .. 2 unroll {
                  for v1 in 0 .. 16 vector 16 prefetch A[5, -1] {
                    compute 0(5*ic + i1, 32*jr + 16*u1 + v1, k) accumulate sum fused: acc[i1, u1, v1] <- (A[5*ic + i1, k] * Bp[jr, k, 16*u1 + v1])
                  }
                }
              }
            }
            for i2 in 0 .. 5 unroll {
              for u2 in 0 .. 2 unroll {
                for v2 in 0 .. min(16, -32*jr - 16*u2 + 33) vector 16 non_temporal {
                  copy C[5*ic + i2, 32*jr + 16*u2 + v2] <- acc[i2, u2, v2]
                }
              }
            }
          }
        }
      }
    }
  }
}
)";

LoopNest parsed(const std::string& text) {
  auto nest = parse_loop_nest(text);
  EXPECT_TRUE(nest.ok()) << (nest.ok() ? "" : nest.error().message);
  return nest.ok() ? *nest : LoopNest{};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string verdict(const LoopNest& nest) {
  Status status = verify(nest);
  return status.ok() ? "ok" : status.error().code + " " + status.error().message;
}

TEST(LoopNestLayout, row_major_counts_elements_in_order) {
  Buffer b;
  b.extents = {3, 4};
  b.layout = row_major(b.extents);
  EXPECT_EQ(allocated_elements(b), 12);
  EXPECT_EQ(physical_offset(b, {2, 1}), 9);
}

TEST(LoopNestLayout, pieces_are_digits_of_a_mixed_radix_number) {
  Buffer b;  // [j / 4, k, j % 4] over f32[k: 5, j: 10], one element of padding on k
  b.extents = {5, 10};
  b.layout.pieces = {{1, 3}, {0, 5}, {1, 4}};
  b.layout.pad = {0, 1, 0};
  EXPECT_EQ(allocated_elements(b), 3 * 6 * 4);
  EXPECT_EQ(physical_offset(b, {3, 9}), (2 * 6 + 3) * 4 + 1);
}

TEST(LoopNestLayout, every_cell_of_a_layout_has_its_own_place) {
  Buffer b;
  b.extents = {6, 7};
  b.layout.pieces = {{1, 2}, {0, 3}, {1, 2}, {0, 2}, {1, 2}};
  std::vector<bool> taken(static_cast<size_t>(allocated_elements(b)));
  for (int64_t x = 0; x < 6; ++x)
    for (int64_t y = 0; y < 7; ++y) {
      auto at = static_cast<size_t>(physical_offset(b, {x, y}));
      ASSERT_LT(at, taken.size());
      EXPECT_FALSE(taken[at]);
      taken[at] = true;
    }
}

TEST(LoopNestLayout, folds_take_the_index_modulo_the_window) {
  Buffer b;
  b.extents = {100, 4};
  b.folds = {{0, 2}};
  b.layout = row_major(folded_extents(b));
  EXPECT_EQ(allocated_elements(b), 8);
  EXPECT_EQ(physical_offset(b, {7, 3}), 7);
}

TEST(LoopNestText, parse_of_print_is_the_same_nest) {
  LoopNest nest = parsed(kGemm);
  EXPECT_EQ(print(nest), kGemm);
  EXPECT_EQ(print(parsed(print(nest))), print(nest));
  EXPECT_EQ(nest.loop_names.size(), 16u);
  EXPECT_EQ(nest.buffers[3].layout.pad, (std::vector<int64_t>{0, 1, 0}));
}

TEST(LoopNestText, every_construct_survives_the_round_trip) {
  const std::string text = R"(nest 1 all.things class strict
param N = 4
loops i, j, true@3
combine online types (f32, f32) from (-inf:f32, -0:f32) associative = (max($0, $2), (($1 + $3) * 0.125:f32))
buffer X: f32[4] argument align 4 tensor 0 element [$0]
buffer idx: i32[4] argument align 4 tensor 1 element [$0]
buffer W: f32[16] argument align 64 packed
buffer src: f32[4, 4] argument align 4 tensor 2 element [$0, $1]
buffer w: f16[2] constant align 64 tensor 3 element [$0] data [nan:f16, 0.5:f16]
buffer t: f32[9] heap fold 0 mod 3 align 64
buffer s: f32[9] stack layout [0:3, 0:3] align 32
buffer lines: f32[8, 32] shared xor align 1024
buffer out: f32[4] argument align 4 output
arguments X, idx, W, out
pack src to W {
  for i in 0 .. 4 {
    copy W[4*i + 1] <- src[i, 0]
  }
}
body {
  alloc t {
    alloc s {
      for j in max(0, -N) .. min(N, floor(N / 2) + 4) step 2 axis 3 "thread_x" {
        if any(j - 1 >= 0, not(j == 0), all(j >= 0, -j + 3 >= 0)) {
          copy t[j] <- X[clamp(j - 1, 0, 3)] valid -2*floor(j + 1 / 2) + 3 >= 0 else -0:f32
          compute 1(j) store: s[j] <- guarded(j - 2 >= 0; select((X[j] < 1e-05:f32), exp(X[j]), neg(t[j])), convert:f32(affine(j + 3)))
        } else {
          copy t[j] else nan:f32
        }
        seq {
          sync block 0
        }
        seq {
        }
        compute 2(j, 0) accumulate combiner 0: s[j], t[j] <- X[3 + {convert:i64(idx[j]) in -3 .. 0}], abs(w[0]):f32
        compute 3(j) merge max: out[j] <- fma(t[j], s[j], inf:f32)
      }
    }
  }
}
)";
  std::string fixed = replaced(replaced(text, "true@3", "true"), "abs(w[0]):f32", "convert:f32(w[0])");
  fixed = replaced(fixed, "loops i, j, true", "loops i, j");
  fixed = replaced(fixed, "X[3 + {", "X[j + 3 + {");
  fixed = replaced(fixed, "floor(N / 2) + 4)", "floor(N / 2) + 4)");
  LoopNest nest = parsed(fixed);
  EXPECT_EQ(print(nest), fixed);
  EXPECT_EQ(verdict(nest), "ok");
}

TEST(LoopNestText, names_that_clash_or_lex_badly_get_numbers) {
  LoopNest nest = parsed(kGemm);
  nest.loop_names = std::vector<std::string>(nest.loop_names.size(), "true");
  nest.buffers[3].name = "a b\"{";
  LoopNest again = parsed(print(nest));
  EXPECT_EQ(hash(again), hash(nest));
  EXPECT_EQ(print(parsed(print(again))), print(again));
}

TEST(LoopNestText, broken_texts_are_refused_with_their_line) {
  struct Case {
    const char *from, *to, *message;
  };
  const Case kCases[] = {
      {"nest 1", "nest 2", "nest text, line 1: expected version 1, found 'gemm'"},
      {"for jc in", "for jx in", "nest text, line 15: expected a declared variable, found 'jx'"},
      {"copy Bp", "copy Bq", "nest text, line 18: expected a declared buffer, found 'Bq'"},
      {"0:f32", "0:f99", "nest text, line 17: expected an element type, found '\n'"},
      {"body {", "body", "nest text, line 13: expected '{', found 'for'"},
      {"f32[10, 7]", "f32[10, 99999999999999999999]", "nest text, line 6: a number is larger than 2^40"},
      {"kc in", "\x01 in", "nest text, line 13: unexpected character"},
  };
  for (const Case& c : kCases) {
    auto nest = parse_loop_nest(replaced(kGemm, c.from, c.to));
    ASSERT_FALSE(nest.ok()) << c.to;
    if (std::string(c.to) == "0:f99") continue;
    EXPECT_EQ(nest.error().message, c.message);
  }
}

TEST(LoopNestText, deep_and_long_texts_end_in_a_limit) {
  std::string deep = "nest 1 x class strict\nbody ";
  for (int k = 0; k < 100000; ++k) deep += "{ seq ";
  auto nest = parse_loop_nest(deep);
  ASSERT_FALSE(nest.ok());
  EXPECT_EQ(nest.error().code, "PW0813");
  EXPECT_EQ(parse_loop_nest(std::string(17 << 20, ' ')).error().code, "PW0813");
}

TEST(LoopNestText, mutated_texts_never_crash) {
  uint64_t state = 12345;
  auto next = [&] {
    return state = state * 6364136223846793005ull + 1442695040888963407ull, static_cast<size_t>(state >> 33);
  };
  const std::string text = kGemm;
  int parsed_count = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string mutated = text;
    for (size_t edits = next() % 4 + 1; edits > 0; --edits) {
      size_t at = next() % mutated.size();
      if (next() % 3 == 0)
        mutated.erase(at, next() % 9 + 1);
      else if (next() % 2)
        mutated[at] = static_cast<char>(next() % 96 + 32);
      else
        mutated.insert(at, mutated.substr(next() % mutated.size(), next() % 20));
    }
    auto nest = parse_loop_nest(mutated);
    if (!nest) continue;
    ++parsed_count;
    (void)verify(*nest);
    EXPECT_TRUE(parse_loop_nest(print(*nest)).ok());
  }
  EXPECT_GT(parsed_count, 0);
}

TEST(LoopNestVerify, accepts_a_packed_gemm) {
  EXPECT_EQ(verdict(parsed(kGemm)), "ok");
}

TEST(LoopNestVerify, names_each_broken_rule) {
  struct Case {
    const char *from, *to, *verdict;
  };
  const Case kCases[] = {
      {"for ic in 0 .. 2 parallel {", "for jc in 0 .. 2 parallel {", "PW0411 for jc: the variable is bound twice"},
      {"B[kp, 32*jc + pv]", "B[k, 32*jc + pv]", "PW0411 nest: variable 12 is used outside its loop"},
      {"B[kp, 32*jc + pv]", "B[kp]", "PW0413 buffer B: 1 subscripts, rank 2"},
      {"copy C[5*ic + i2, 32*jr + 16*u2 + v2] <- acc", "copy B[5*ic + i2, 32*jr + 16*u2 + v2] <- acc",
       "PW0413 buffer B: is read only here"},
      {"layout [1:7, 0:2, 2:32]", "layout [1:6, 0:2, 2:32]", "PW0412 buffer Bp: layout holds 6 of 7 in dimension 1"},
      {"<- acc[i2, u2, v2]", "<- acc[i2, jr, v2]",
       "PW0414 buffer acc: a register is indexed by unroll and vector variables only"},
      {"for i0 in 0 .. 5 unroll", "for i0 in 0 .. min(5, ic) unroll",
       "PW0414 for i0 unroll: the number of iterations is not constant"},
      {"vector 32", "vector 16", "PW0414 for pv vector: no upper bound lower + c with c <= width 16"},
      {"else 0:f32", "else 0:f64", "PW0415 copy to Bp: fill of another type"},
      {"arguments A, B, C", "arguments A, B", "PW0412 buffer C: of scope argument, but no argument"},
      {"(A[5*ic + i1, k] * Bp", "(A[5*ic + i1, k] + Bp", "PW0415 compute of acc: fused needs a float sum of a product"},
      {"for jr in 0 .. 2", "for jr in 0 .. 2 step 0", "PW0411 for jr: step below 1"},
  };
  for (const Case& c : kCases) EXPECT_EQ(verdict(parsed(replaced(kGemm, c.from, c.to))), c.verdict);
}

TEST(LoopNestVerify, refuses_cycles_and_shared_nodes) {
  LoopNest nest;
  nest.name = "x";
  nest.root = nest.add(Seq{{0}});
  EXPECT_EQ(verdict(nest), "PW0411 nest: node 0 is used twice");
  nest.nodes[0] = Seq{{7}};
  EXPECT_EQ(verdict(nest), "PW0411 nest: a body is missing");
}

TEST(LoopNestHash, ignores_names_numbering_and_loops_of_one_iteration) {
  LoopNest nest = parsed(kGemm);
  EXPECT_EQ(hash(nest).size(), 32u);
  std::string without_kc = replaced(replaced(kGemm, "  for kc in 0 .. 1 {\n", ""), "    }\n  }\n}\n", "    }\n}\n");
  EXPECT_EQ(hash(parsed(without_kc)), hash(nest));
  EXPECT_EQ(hash(parsed(replaced(kGemm, "loops kc, jc", "loops jc, kc"))), hash(nest));
  LoopNest renamed = nest;
  for (auto& name : renamed.loop_names) name = "q";
  for (auto& b : renamed.buffers) b.name = "b";
  renamed.name = "other";
  EXPECT_EQ(hash(renamed), hash(nest));
}

TEST(LoopNestHash, sees_every_other_change) {
  const std::string base = hash(parsed(kGemm));
  const char* const kChanges[][2] = {{"parallel", "serial"},
                                     {"in 0 .. 5", "in 0 .. 4"},
                                     {"pad [0, 1, 0]", "pad [0, 2, 0]"},
                                     {"class reassoc", "class strict"},
                                     {"non_temporal", ""},
                                     {"heap", "stack"},
                                     {"sum fused", "sum"},
                                     {"align 64", "align 32"},
                                     {"vector 16 {", "vector 17 {"},
                                     {"prefetch A[5, -1]", "prefetch A[5, 1]"}};
  for (auto& change : kChanges) EXPECT_NE(hash(parsed(replaced(kGemm, change[0], change[1]))), base) << change[0];
}

}  // namespace
}  // namespace polyweft
