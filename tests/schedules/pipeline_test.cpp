// Copies made ahead: right and proven for several numbers of slots, also where copies arrive as late as a wait allows;
// waits, groups, slots and sources changed, which the checker refutes.
#include <cstdio>

#include "harness.h"
#include "ir/nests/asynchronous.h"
#include "mutator.h"
#include "poly/check/checker.h"

namespace polyweft::test {
namespace {

const char* kAheadProduct =
    "program mm(M = 10, N = 9, K = 27)\nin A: i8[M, K]\nin B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) * "
    "i32(B[k, j])\n";
const char* kAheadSteps =
    "trace 1\n  tile C [i: 4, j: 4, k: 4]\n  permute C [i.1, j.1, k.1, i, j, k]\n  accumulate C at j.1 stack\n  "
    "promote "
    "A in C at k.1 heap\n  promote B in C at k.1 heap\n";
const char* kAheadConvolution =
    "program conv(N = 2, H = 5, W = 6, C = 8, F = 3)\nin X: i8[N, H+2, W+2, C]\nin K: i8[3, 3, C, F]\nout Y[n: N, y: "
    "H, "
    "x: W, f: F] = sum[r: 3, s: 3, c: C] i32(X[n, y+r, x+s, c]) * i32(K[r, s, c, f])\n";
/// Windows of one iteration and the next overlap: rows of the picture.
const char* kAheadRows =
    "trace 1\n  tile Y [y: 2]\n  permute Y [n, y.1, f, y, x, r, s, c]\n  promote X in Y at y.1 heap\n  promote K in Y "
    "at n "
    "heap\n";

std::string with_step(const char* steps, const std::string& step) {
  return std::string(steps) + "  " + step + "\n";
}
LoopNest pipelined_nest(const Program& program, const std::string& trace) {
  auto nest = nest_of(program, trace);
  EXPECT_TRUE(nest.ok()) << (nest ? "" : described(nest.error()));
  return nest ? *nest : LoopNest{};
}
std::string pipeline_verdict(const Program& program, const LoopNest& nest) {
  const auto check = poly::check_nest(program, nest);
  return std::string(name_of(check.verdict)) + " " + check.code + " " + check.message;
}
/// Do copies that arrive late leave the values as they are? Empty: yes.
std::string late_difference(const Program& program, const LoopNest& nest) {
  const auto expected = reference(program, 7, ir::DataKind::integers, {});
  const auto& [inputs, wanted] = *expected;
  for (const bool last_thread_first : {false, true}) {
    ir::InterpreterOptions options;
    options.late_copies = true;
    options.last_thread_first = last_thread_first;
    const auto got = ir::interpret(nest, inputs, options);
    if (!got) return described(got.error());
    for (size_t k = 0; k < got->tensors.size(); ++k)
      if (got->tensors[k].bytes != wanted->tensors[k].bytes) return "output " + std::to_string(k) + " differs";
  }
  return "";
}

TEST(Pipeline, copies_made_ahead_are_right_and_proven) {
  for (const int slots : {1, 2, 3, 4, 9}) {
    SCOPED_TRACE(slots);
    const Program product = normalized_program(kAheadProduct), convolution = normalized_program(kAheadConvolution);
    const std::string by = " by " + std::to_string(slots);
    for (const auto& [program, trace] :
         {std::pair(&product, with_step(kAheadSteps, "pipeline C k.1" + by)),
          std::pair(&product, with_step(kAheadSteps, "pipeline C k.1 by s\n  decide s = " + std::to_string(slots))),
          std::pair(&convolution, with_step(kAheadRows, "pipeline Y y.1" + by))}) {
      const LoopNest nest = pipelined_nest(*program, trace);
      EXPECT_EQ(ir::has_async_copies(nest), slots > 1) << print(nest);
      EXPECT_EQ(difference(*program, nest, 3), "");
      EXPECT_EQ(late_difference(*program, nest), "");
      EXPECT_EQ(pipeline_verdict(*program, nest), "proven  ") << print(nest);
      EXPECT_FALSE(tag_mode_rejects(*program, nest));
      const auto again = parse_loop_nest(print(nest));
      ASSERT_TRUE(again.ok()) << described(again.error());
      EXPECT_EQ(print(*again), print(nest));
      EXPECT_EQ(hash(*again), hash(nest));
    }
  }
}

TEST(Pipeline, the_next_slot_is_filled_beside_the_work) {
  const Program program = normalized_program(kAheadProduct, {{"M", 4}, {"N", 4}, {"K", 12}});
  const std::string text = print(pipelined_nest(program, with_step(kAheadSteps, "pipeline C k.1 by 2")));
  EXPECT_NE(text.find("buffer A.p: i8[3, 4, 4] heap fold 0 mod 2 align 64"), std::string::npos) << text;
  EXPECT_NE(text.find("sync async_wait 1"), std::string::npos) << text;
  EXPECT_NE(text.find("if -k.1 + 1 >= 0"), std::string::npos) << text;
}

/// Each place of `from` in turn becomes `to`.
std::vector<std::string> each_replaced(const std::string& text, const std::string& from, const std::string& to) {
  std::vector<std::string> out;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
    out.push_back(std::string(text).replace(at, from.size(), to));
  return out;
}

TEST(Pipeline, waits_groups_and_slots_that_are_changed_are_refuted) {
  int made = 0, late = 0;
  for (const int slots : {2, 3}) {
    const Program program = normalized_program(kAheadProduct, {{"M", 4}, {"N", 5}, {"K", 22}});
    const std::string text =
        print(pipelined_nest(program, with_step(kAheadSteps, "pipeline C k.1 by " + std::to_string(slots))));
    const std::string wait = "sync async_wait " + std::to_string(slots - 1),
                      fold = "fold 0 mod " + std::to_string(slots);
    std::vector<std::string> mutants;
    const auto add = [&](const std::vector<std::string>& more) {
      mutants.insert(mutants.end(), more.begin(), more.end());
    };
    add(each_replaced(text, wait, "seq {\n}"));
    add(each_replaced(text, wait, "sync async_wait " + std::to_string(slots)));
    add(each_replaced(text, "sync async_commit 0", "seq {\n}"));
    add(each_replaced(text, fold, "fold 0 mod " + std::to_string(slots - 1)));
    for (const char* buffer : {"A.p", "B.p"}) {
      const std::string read = std::string(buffer) + "[k.1, ";
      add(each_replaced(text, read, std::string(buffer) + "[k.1 + 1, "));
      const std::string to = std::string("copy async ") + buffer + "[k.1 + " + std::to_string(slots - 1);
      add(each_replaced(text, to, std::string("copy async ") + buffer + "[k.1 + " + std::to_string(slots - 2)));
    }
    for (const std::string& mutant : mutants) {
      const auto nest = parse_loop_nest(mutant);
      ASSERT_TRUE(nest.ok()) << described(nest.error()) << mutant;
      ++made;
      const auto check = poly::check_nest(program, *nest);
      EXPECT_EQ(check.verdict, Verdict::refuted) << check.message << "\n" << mutant;
      const bool shows = !late_difference(program, *nest).empty() || tag_mode_rejects(program, *nest);
      EXPECT_TRUE(shows) << mutant;
      late += shows;
    }
  }
  std::printf("%d mutants, %d seen by the interpreter\n", made, late);
  EXPECT_EQ(made, 16);
}

TEST(Pipeline, what_is_wrong_with_a_step_is_said) {
  const Program program = normalized_program(kAheadProduct);
  const auto said = [&](const char* steps, const std::string& step) {
    const auto nest = nest_of(program, with_step(steps, step));
    return nest ? std::string() : nest.error().code + " " + nest.error().message;
  };
  EXPECT_EQ(said(kAheadSteps, "pipeline C k.1 by 0"), "PW0308 pipeline C k.1: a copy has one slot or more");
  EXPECT_EQ(said(kAheadSteps, "pipeline C j.1 by 2"), "PW0308 pipeline C j.1: nothing is copied inside this loop");
  EXPECT_EQ(said(kAheadSteps, "parallel C i.1\n  pipeline C i.1 by 2"),
            "PW0304 pipeline C i.1: the loop is not serial, or it is split");
  EXPECT_EQ(said(kAheadSteps, "pipeline C q by 2").substr(0, 6), "PW0303");
  EXPECT_EQ(said(kAheadSteps, "pipeline D k.1 by 2").substr(0, 6), "PW0302");
}

/// `body` with a buffer S in which element x of X is copied asynchronously.
std::string verdict_of_copies(const std::string& body, const std::string& fold = "") {
  const Program program = normalized_program("program line(N = 8)\nin X: i32[N]\nout Y[i: N] = X[i]\n");
  const std::string text =
      "nest 1 line class reassoc\nparam N = 8\nloops i\nbuffer X: i32[8] argument align 4 tensor 0 element "
      "[$0]\nbuffer "
      "Y: i32[8] argument align 4 output tensor 1 element [$0]\nbuffer S: i32[8] scratchpad" +
      fold + " align 64 tensor 0 element [$0]\narguments X, Y\nbody {\n  alloc S {\n    seq {\n" + body +
      "    }\n  }\n}\n";
  const auto nest = parse_loop_nest(text);
  if (!nest) return described(nest.error());
  return pipeline_verdict(program, *nest);
}
const std::string kAsyncFill = "for i in 0 .. 8 {\n copy async S[i] <- X[i]\n}\n";
std::string read_of_copies(const std::string& var) {
  return "for " + var + " in 0 .. 8 {\n compute 0(" + var + ") store: Y[" + var + "] <- S[" + var + "]\n}\n";
}

TEST(Pipeline, arrivals_that_are_missed_are_named) {
  EXPECT_EQ(verdict_of_copies("sync async_wait 0\nsync async_commit 0\nsync warp 0\n").substr(0, 14), "refuted PW0414");
  EXPECT_EQ(verdict_of_copies("sync async_wait 0\n" + read_of_copies("i")).substr(0, 14), "refuted PW0403");
  EXPECT_EQ(verdict_of_copies("copy async S[0] <- X[0]\nsync async_commit 0\ncompute 0(0) store: Y[0] <- S[0]\n"),
            "refuted PW0407 buffer S: read before its copy has arrived");
  EXPECT_EQ(verdict_of_copies("copy async S[0] <- X[0]\nsync async_wait 0\ncompute 0(0) store: Y[0] <- S[0]\n"),
            "refuted PW0407 buffer S: read before its copy has arrived");
  EXPECT_EQ(verdict_of_copies(
                "copy async S[0] <- X[0]\nsync async_commit 0\nsync async_commit 0\nsync async_wait 2\ncompute 0(0) "
                "store: Y[0] <- S[0]\n"),
            "refuted PW0407 buffer S: read before its copy has arrived");
  EXPECT_EQ(verdict_of_copies("copy async S[0] <- X[0]\ncopy S[0] <- X[0]\n"),
            "refuted PW0407 buffer S: written while a copy into the same cells is under way");
  EXPECT_EQ(verdict_of_copies("copy async S[1] <- Y[1]\ncompute 0(1) store: Y[1] <- X[1]\n"),
            "refuted PW0407 buffer Y: written while it is being copied");
  EXPECT_EQ(verdict_of_copies("copy async S[1] <- X[1]\n"),
            "refuted PW0407 buffer S: its lifetime ends while a copy of it is under way");
  EXPECT_EQ(verdict_of_copies(kAsyncFill + "sync async_commit 0\nsync async_wait 0\n", " fold 0 mod 4").substr(0, 56),
            "refuted PW0407 buffer S: copies of one group share cells");
  EXPECT_EQ(verdict_of_copies(kAsyncFill + "sync async_commit 0\nsync async_wait 0\n").substr(0, 14), "refuted PW0403");
}

/// Blocks of 2 x 2 rows of threads, lanes along j.
const char* kAheadBlocks =
    "trace 1\n  tile C [i: 8, j: 8, k: 4, i: 2]\n  permute C [i.1, j.1, i.2, k.1, i, k, j]\n  bind C i.1 to block_y\n  "
    "bind C j.1 to block_x\n  bind C i.2 to thread_y\n  accumulate C at i.2 reg\n  promote A in C at k.1 shared\n  "
    "promote "
    "B in C at k.1 shared\n  unroll C i\n  vectorize C j 8\n  bind C j.v to thread_x\n";

TEST(Pipeline, blocks_of_threads_share_copies_made_ahead) {
  const Program program = normalized_program(kAheadProduct, {{"M", 16}, {"N", 16}, {"K", 20}});
  int dropped = 0;
  for (const int slots : {2, 3}) {
    const LoopNest nest =
        pipelined_nest(program, with_step(kAheadBlocks, "pipeline C k.1 by " + std::to_string(slots)));
    ASSERT_TRUE(ir::has_async_copies(nest)) << print(nest);
    EXPECT_EQ(pipeline_verdict(program, nest), "proven  ") << print(nest);
    EXPECT_EQ(late_difference(program, nest), "");
    const std::string text = print(nest);
    std::vector<std::string> mutants = each_replaced(text, "sync async_wait " + std::to_string(slots - 2), "seq {\n}");
    for (const std::string& mutant : each_replaced(text, "sync block", "sync async_commit")) mutants.push_back(mutant);
    for (const std::string& mutant : mutants) {
      const auto changed = parse_loop_nest(mutant);
      ASSERT_TRUE(changed.ok()) << described(changed.error());
      EXPECT_EQ(poly::check_nest(program, *changed).verdict, Verdict::refuted) << mutant;
      ++dropped;
    }
  }
  EXPECT_EQ(dropped, 4);  // a wait and a barrier of each
}

}  // namespace
}  // namespace polyweft::test
