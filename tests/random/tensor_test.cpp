// Instructions of tensor units: every judge (evaluator, interpreter, tags, machine code behind guard pages, checker) on
// small sizes, tails included, and nests that were changed by hand.
#include <gtest/gtest.h>

#include "cpu.h"
#include "ir/nests/instruction.h"
#include "ir/oracles/evaluator.h"
#include "ir/oracles/interpreter.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"
#include "machines.h"
#include "poly/check/checker.h"
#include "random/pairs.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"
#include "targets/kernels.h"

namespace polyweft::random_test {
namespace {

std::string filled_in(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

const char* const kProduct =
    "program g(M = 5, N = 40, K = 24)\nin A: u8[M, K]\nin B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) * "
    "i32(B[k, j])\n";
const char* const kTrace = R"(trace 1
  tile C [k: 8, j: 2V, i: 3, k: 4]
  permute C [k.1, j.1, i.1, k.2, k, i, j]
  promote B in C at j.1 heap layout [d1 / 2V, d0 / 4, d1 % 2V, d0 % 4]
  accumulate C at i.1 reg
  unroll C i
  vectorize C j V
  tensorize C k by vpdpbusd_W
)";

Program parsed(const std::string& text) {
  auto file = lang::parse(text, "test.weft");
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
  return file->programs.front();
}
Trace trace_for(const std::string& text, int lanes) {
  auto trace =
      parse_trace(filled_in(filled_in(filled_in(text, "2V", std::to_string(2 * lanes)), "V", std::to_string(lanes)),
                            "W", std::to_string(32 * lanes)));
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message);
  return *trace;
}
Program sized(const std::string& text, int64_t m, int64_t n, int64_t k) {
  return parsed(
      filled_in(filled_in(filled_in(text, "M = 5", "M = " + std::to_string(m)), "N = 40", "N = " + std::to_string(n)),
                "K = 24", "K = " + std::to_string(k)));
}
bool runs_here(const std::string& instruction) {
  return (*ir::instruction_named(instruction))->runs_on(*find_target("host"));
}

Pair pair_of(Program program, Trace trace, uint64_t seed = 1) {
  Pair pair{std::move(program), std::move(trace)};
  pair.data_seed = seed;
  pair.ask_checker = true;
  return pair;
}

Result<NestTemplate> replayed(const Program& source, const Trace& trace, NumericsClass cls = NumericsClass::reassoc) {
  return schedules::replay(polyweft::normalize(polyweft::bind(source, *make_binding(source, {}))), cls, trace);
}

bool has_instruction(const Program& source, const Trace& trace) {
  auto t = replayed(source, trace);
  auto nest = instantiate(*t, values_of(trace));
  return nest.ok() && print(*nest).find("tensor \"") != std::string::npos;
}

TEST(Tensor, products_of_bytes_on_all_small_sizes) {
  for (int lanes : {4, 8, 16}) {
    if (!runs_here("vpdpbusd_" + std::to_string(32 * lanes))) {
      test::leave_out("vpdpbusd_" + std::to_string(32 * lanes) + " does not run here");
      continue;
    }
    const Trace trace = trace_for(kTrace, lanes);
    int with_instruction = 0;
    for (int64_t m : {1, 7})
      for (int64_t n : {15, 33})
        for (int64_t k : {1, 3, 4, 5, 8, 9, 23}) {
          Pair pair = pair_of(sized(kProduct, m, n, k), trace, static_cast<uint64_t>(100 * n + k));
          const Judgement judgement = judge(pair);
          EXPECT_EQ(judgement.outcome, Outcome::agreed)
              << m << " " << n << " " << k << " lanes " << lanes << ": " << judgement.message;
          EXPECT_FALSE(judgement.not_decided) << judgement.undecided_why;
          with_instruction += k >= 4 && has_instruction(pair.source, trace);
        }
    EXPECT_EQ(with_instruction, 2 * 2 * 5);
  }
}

TEST(Tensor, every_class_may_use_exact_sums) {
  PW_NEEDS("avx512vnni");
  for (auto cls : {NumericsClass::strict, NumericsClass::contract}) {
    Pair pair = pair_of(parsed(kProduct), trace_for(kTrace, 16));
    pair.cls = cls;
    EXPECT_EQ(judge(pair).outcome, Outcome::agreed);
  }
}

std::string bf16_text(const std::string& text) {
  return filled_in(filled_in(filled_in(filled_in(text, "u8", "bf16"), "i8", "bf16"), "i32(", "f32("), "vpdpbusd",
                   "vdpbf16ps");
}
const char* const kPairsTrace = R"(trace 1
  tile C [k: 8, j: 2V, i: 3, k: 2]
  permute C [k.1, j.1, i.1, k.2, k, i, j]
  promote B in C at j.1 heap layout [d1 / 2V, d0 / 2, d1 % 2V, d0 % 2]
  accumulate C at i.1 reg
  unroll C i
  vectorize C j V
  tensorize C k by vdpbf16ps_W
)";

// Whole numbers bit for bit, others within the running bound; the order inside the instruction is its own.
TEST(Tensor, products_of_bf16_pairs) {
  for (int lanes : {4, 8, 16}) {
    if (!runs_here("vdpbf16ps_" + std::to_string(32 * lanes))) {
      test::leave_out("vdpbf16ps_" + std::to_string(32 * lanes) + " does not run here");
      continue;
    }
    const Trace trace = trace_for(kPairsTrace, lanes);
    for (int64_t n : {15, 33})
      for (int64_t k : {1, 2, 7, 21})
        for (bool whole : {true, false}) {
          Pair pair = pair_of(sized(bf16_text(kProduct), 7, n, k), trace, static_cast<uint64_t>(10 * n + k));
          pair.whole_numbers = whole;
          pair.ask_checker = whole && n == 33;
          const Judgement judgement = judge(pair);
          EXPECT_EQ(judgement.outcome, Outcome::agreed)
              << n << " " << k << " lanes " << lanes << ": " << judgement.message;
          EXPECT_EQ(has_instruction(pair.source, trace), k >= 2);
        }
  }
}

// No operator is known by name: a convolution over channels, and sums of one operand.
TEST(Tensor, other_reductions_with_the_same_structure) {
  PW_NEEDS("avx512vnni");
  const char* conv =
      "program conv(H = 6, W = 7, C = 8, O = 20)\nin X: u8[H, W, C]\nin F: i8[3, 3, C, O]\n"
      "out Y[y: H, x: W, o: O] = sum[r: 3, s: 3, c: C where y + r < H and x + s < W] i32(F[r, s, c, o]) * i32(X[y + r, "
      "x + s, c])\n";
  auto trace = parse_trace(
      "trace 1\n  tile Y [o: 16, x: 1, c: 4]\n  permute Y [y, o.1, x.1, r, s, c.1, c, x, o]\n"
      "  promote F in Y at root heap layout [d3 / 16, d0, d1, d2 / 4, d3 % 16, d2 % 4]\n"
      "  accumulate Y at x.1 reg\n  unroll Y x\n  vectorize Y o 16\n  tensorize Y c by vpdpbusd_512\n");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const Judgement convolution = judge(pair_of(parsed(conv), *trace));
  EXPECT_EQ(convolution.outcome, Outcome::agreed) << convolution.message;
  EXPECT_TRUE(has_instruction(parsed(conv), *trace));

  const char* sums = "program sums(N = 40, K = 24)\nin B: i8[K, N]\nout S[j: N] = sum[k: K] i32(B[k, j])\n";
  auto columns = parse_trace(
      "trace 1\n  tile S [j: 16, k: 4]\n  permute S [j.1, k.1, k, j]\n  promote B in S at root heap layout [d1 / 16, "
      "d0 / 4, d1 % 16, d0 % 4]\n"
      "  accumulate S at j.1 reg\n  vectorize S j 16\n  tensorize S k by vpdpbusd_512\n");
  ASSERT_TRUE(columns.ok());
  const Judgement sum = judge(pair_of(parsed(sums), *columns));
  EXPECT_EQ(sum.outcome, Outcome::agreed) << sum.message;
  EXPECT_TRUE(has_instruction(parsed(sums), *columns));
}

std::string refusal(const std::string& program, const std::string& trace, NumericsClass cls = NumericsClass::reassoc) {
  auto t = replayed(parsed(program), trace_for(trace, 16), cls);
  return t.ok() ? "" : t.error().code + " " + t.error().message;
}

TEST(Tensor, refusals_name_what_differs) {
  const std::string product = kProduct, trace = kTrace;
  ASSERT_EQ(refusal(product, trace), "");
  EXPECT_EQ(refusal(filled_in(product, "B: i8", "B: u8"), trace),
            "PW0322 tensorize C k: operand B of vpdpbusd_512 is i8, the program reads u8");
  EXPECT_EQ(refusal(filled_in(product, "A: u8", "A: i8"), trace),
            "PW0322 tensorize C k: operand A of vpdpbusd_512 is u8, the program reads i8");
  EXPECT_NE(refusal(filled_in(filled_in(product, "i32(A", "i16(A"), "i32(B", "i16(B"), trace)
                .find("folds a sum in i32, the program a sum in i16"),
            std::string::npos);
  EXPECT_NE(
      refusal(product, filled_in(trace, "d1 % 2V, d0 % 4", "d0 % 4, d1 % 2V")).find("must be neighbours in memory"),
      std::string::npos);
  EXPECT_NE(refusal(product, filled_in(trace, "i: 3, k: 4", "i: 3, k: 8")).find("takes 4 values of k at once"),
            std::string::npos);
  EXPECT_NE(refusal(product, filled_in(trace, "vectorize C j V", "vectorize C j 8")).find("has 16 lanes"),
            std::string::npos);
  EXPECT_NE(refusal(product, filled_in(trace, "vpdpbusd_W", "vpdpbusd")).find("PW0416"), std::string::npos);
  const std::string by_columns = filled_in(filled_in(product, "A: u8[M, K]", "A: u8[K, M]"), "A[i, k]", "A[k, i]");
  EXPECT_NE(refusal(by_columns, trace).find("4 values of k of A must be neighbours in memory"), std::string::npos);
}

// Rule 10 finds the instruction by itself; every sketch passes every judge.
TEST(Tensor, sketches_use_the_instruction) {
  PW_NEEDS("avx512vnni");
  const std::string kPrograms[] = {
      kProduct,
      filled_in(kProduct, "in B", "const in B"),
      "program swapped(M = 9, N = 33, K = 30)\nconst in W: i8[K, N]\nin X: u8[M, K]\nout Y[i: M, j: N] = sum[k: K] "
      "i32(W[k, j]) * i32(X[i, k])\n",
      "program requantized(M = 9, N = 33, K = 21)\nin A: u8[M, K]\nconst in B: i8[K, N]\nin s: f32[N]\nlet C[i: M, j: "
      "N] = sum[k: K] i32(A[i, k]) * i32(B[k, j])\n"
      "out Q[i: M, j: N] = sat_u8(i32(round(f32(C[i, j]) * s[j])))\n",
      "program zero_points(M = 9, N = 33, K = 21)\nin A: u8[M, K]\nconst in B: i8[K, N]\nin za: i32\nin s: f32[N]\n"
      "let C[i: M, j: N] = sum[k: K] (i32(A[i, k]) - za) * i32(B[k, j])\nout Q[i: M, j: N] = sat_u8(i32(round(f32(C[i, "
      "j]) * s[j])))\n",
      "program conv(H = 6, W = 9, C = 9, O = 20)\nin X: u8[H, W, C]\nconst in F: i8[3, 3, C, O]\n"
      "out Y[y: H, x: W, o: O] = sum[r: 3, s: 3, c: C where y + r < H and x + s < W] i32(F[r, s, c, o]) * i32(X[y + r, "
      "x + s, c])\n",
      "program transposed(M = 9, N = 33, K = 30)\nin A: u8[K, M]\nconst in B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] "
      "i32(A[k, i]) * i32(B[k, j])\n",
      "program batch(B = 2, M = 6, N = 20, K = 9)\nin X: u8[B, M, K]\nin W: i8[B, K, N]\nout Y[b: B, i: M, j: N] = "
      "sum[k: K] i32(X[b, i, k]) * i32(W[b, k, j])\n",
  };
  for (const std::string& text : kPrograms) {
    const Program source = parsed(text);
    const Program program = polyweft::normalize(polyweft::bind(source, *make_binding(source, {})));
    Machine machine = test::machine_with();
    machine.units.instructions = {"vpdpbusd_512", "vpdpbusd_256"};
    bool is_used = false;
    for (int threads : {1, 2}) {
      for (const Trace& trace : schedules::sketches(program, NumericsClass::reassoc, on_cores(machine, threads))) {
        Pair pair = pair_of(source, trace);
        pair.threads = threads;
        const Judgement judgement = judge(pair);
        EXPECT_NE(judgement.outcome, Outcome::disagreement) << text << trace.text() << judgement.message;
        EXPECT_FALSE(judgement.not_decided) << judgement.undecided_why;
        is_used |= has_instruction(source, trace);
      }
    }
    EXPECT_TRUE(is_used) << text;
  }
}

// Signs that no instruction has, other widths, and too little reuse of a panel that is packed at each call.
TEST(Tensor, sketches_leave_other_sums_alone) {
  Machine machine = test::machine_with();
  machine.units.instructions = {"vpdpbusd_512"};
  const std::string kPrograms[] = {filled_in(kProduct, "A: u8", "A: i8"), filled_in(kProduct, "B: i8", "B: u8"),
                                   filled_in(filled_in(kProduct, "i32(A", "i64(A"), "i32(B", "i64(B"),
                                   filled_in(kProduct, "M = 5", "M = 2"), filled_in(kProduct, "K = 24", "K = 3")};
  for (const std::string& text : kPrograms) {
    const Program source = parsed(text);
    for (const Trace& trace : schedules::sketches(
             polyweft::normalize(polyweft::bind(source, *make_binding(source, {}))), NumericsClass::reassoc, machine))
      EXPECT_EQ(trace.text().find("tensorize"), std::string::npos) << text << trace.text();
  }
}

TEST(Tensor, roundings_and_flushes_need_class_reassoc) {
  const std::string text = bf16_text(kProduct);
  EXPECT_EQ(refusal(text, kPairsTrace), "");
  for (auto cls : {NumericsClass::strict, NumericsClass::contract})
    EXPECT_EQ(refusal(text, kPairsTrace, cls).substr(0, 6), "PW0307");
  // A sum in bf16 rounds after each term: another value.
  EXPECT_NE(refusal(filled_in(text, "f32(", "bf16("), kPairsTrace).find("PW0322"), std::string::npos);
}

TEST(Tensor, changed_nests_are_refuted) {
  const Program source = sized(kProduct, 6, 64, 24);  // whole tiles: each text below stands in the nest
  const Program program = polyweft::normalize(polyweft::bind(source, *make_binding(source, {})));
  const Trace trace = trace_for(kTrace, 16);
  auto t = schedules::replay(program, NumericsClass::reassoc, trace);
  ASSERT_TRUE(t.ok());
  const std::string text = print(*instantiate(*t, {}));
  EXPECT_EQ(poly::check_nest(program, *parse_loop_nest(text)).verdict, Verdict::proven);
  const std::pair<const char*, const char*> kChanges[] = {
      {"[1:1, 0:2, 1:32, 0:4]", "[1:1, 0:1, 1:32, 0:4]"},      // a layout too small for its cells
      {"A[i.1 + i", "A[i.1 + 1 + i"},                          // another row
      {"k.2 + k]) * ", "k.2 + k + 1]) * "},                    // another depth: beside the row
      {"B.p[k.2 + k, 16*j", "B.p[-k.2 + k + 4, 16*j"},         // the groups of the layout in another order
      {"tensor \"vpdpbusd_512\"", "tensor \"vpdpbusd_256\""},  // an instruction of other lanes
      {"buffer B.p: i8", "buffer B.p: u8"},                    // another sign
      {"for k in 0 .. 4 tensor", "for k in 0 .. 3 tensor"},    // a product is missing
      {"copy B.p[c0@5 + c0@7", "copy B.p[c0@5 - c0@7 + 3"},    // packed in reverse
  };
  int changed = 0;
  for (const auto& [from, to] : kChanges) {
    const std::string other = filled_in(text, from, to);
    if (other == text) {
      ADD_FAILURE() << from << " is not in\n" << text;
      continue;
    }
    ++changed;
    auto nest = parse_loop_nest(other);
    if (!nest) continue;
    EXPECT_EQ(poly::check_nest(program, *nest).verdict, Verdict::refuted) << from << " -> " << to;
  }
  EXPECT_EQ(changed, 8);
}

Machine machine_of(const Target& target) {
  Machine out = test::machine_with();
  out.units = target.machine.units;
  out.units.instructions = ir::instructions_of(target);
  return out;
}

/// Every sketch for the target, compiled for it and compared with the interpreter; how many have an instruction.
int compared_sketches(const std::string& text, const Target& target) {
  const Program source = parsed(text), program = polyweft::normalize(polyweft::bind(source, *make_binding(source, {})));
  int with_instruction = 0;
  for (const Trace& trace : schedules::sketches(program, NumericsClass::reassoc, machine_of(target))) {
    auto t = replayed(source, trace);
    auto nest = instantiate(*t, values_of(trace));
    EXPECT_TRUE(nest.ok());
    EXPECT_EQ(targets_test::compiled_difference(*nest, target, 5), "") << trace.text();
    with_instruction += has_instruction(source, trace);
  }
  return with_instruction;
}

TEST(Tensor, a_cpu_has_no_blocks_and_threads_to_bind_to) {
  auto t = replayed(parsed(kProduct), *parse_trace("trace 1\n bind C i to block_x\n"));
  auto object = targets::compile_object(*instantiate(*t, {}), *find_target("x86-64-v3"));
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.error().code, "PW0519");
}

TEST(Tensor, targets_without_the_unit_get_plain_vectors) {
  for (const char* name : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    const Target target = *find_target(name);
    if (target.is_host) {
      EXPECT_EQ(compared_sketches(kProduct, target), 0) << name;
      EXPECT_EQ(compared_sketches(bf16_text(kProduct), target), 0) << name;
    } else {
      test::leave_out(std::string(name) + " " + test::lacks(target.features));
    }
    // A trace with the instruction is refused with the reason.
    auto t = replayed(parsed(kProduct), trace_for(kTrace, 16));
    auto object = targets::compile_object(*instantiate(*t, {}), target);
    ASSERT_FALSE(object.ok()) << name;
    EXPECT_EQ(object.error().code, "PW0518");
    EXPECT_EQ(object.error().message,
              "instruction vpdpbusd_512 needs avx512vnni, which target " + std::string(name) + " has not");
  }
}

// Chips with AVX2 and the VNNI of their own.
TEST(Tensor, avx2_has_its_own_form) {
  Target target = *find_target("x86-64-v3");
  target.name = "v3-vnni";
  target.features.push_back("avxvnni");
  std::sort(target.features.begin(), target.features.end());
  auto t = replayed(parsed(kProduct), trace_for(kTrace, 8));
  auto text = targets::assembly_text(*instantiate(*t, {}), target);
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("{vex}\tvpdpbusd"), std::string::npos) << *text;
  PW_NEEDS("avxvnni");
  EXPECT_GT(compared_sketches(kProduct, target), 0);
}

}  // namespace
}  // namespace polyweft::random_test
