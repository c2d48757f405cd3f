// Buffers in one memory: what is placed where, that the checker proves it, and that wrong places are seen by tag mode
// and never proven.
#include "ir/nests/shared_memory.h"

#include "harness.h"
#include "ir/nests/workspace.h"
#include "mutator.h"
#include "poly/base_nest.h"
#include "poly/check/checker.h"

namespace polyweft::test {
namespace {

const char* kSmooth =
    "program smooth(T = 3, N = 6)\nin A0: f64[N, N]\nlet A[0, i: N, j: N] = A0[i, j]\n"
    "let B[t: 1..T+1, i: 1..N-1, j: 1..N-1] = 0.25 * (A[t-1, i, j-1] + A[t-1, i, j+1] + A[t-1, i+1, j] + A[t-1, i-1, "
    "j])\n"
    "let B[t: 1..T+1, i: N, j: N] where i == 0 or i == N-1 or j == 0 or j == N-1 = A0[i, j]\n"
    "let A[t: 1..T+1, i: 1..N-1, j: 1..N-1] = 0.25 * (B[t, i, j-1] + B[t, i, j+1] + B[t, i+1, j] + B[t, i-1, j])\n"
    "let A[t: 1..T+1, i: N, j: N] where i == 0 or i == N-1 or j == 0 or j == N-1 = A0[i, j]\n";
const char* kWhole = "out R[i: N, j: N] = A[T, i, j]\n";
const char* kPart = "out partial R[i: N, j: 0..i+1] = A[T, i, j]\n";
const char* kProducerChain =
    "program chain(N = 2100)\nin x: f64[N]\nlet a[i: N] = x[i] + 1.0\nlet b[i: N] = a[N-1-i] * 2.0\nlet c[i: N] = "
    "b[N-1-i] + 3.0\nlet d[i: N] = c[N-1-i] * 4.0\n"
    "out y[i: N] = d[i] + d[N-1-i]\n";

LoopNest base_of(const Program& program) {
  auto nest = poly::base_nest(program, NumericsClass::strict);
  if (!nest) ADD_FAILURE() << described(nest.error());
  return nest ? *nest : LoopNest{};
}

std::string shared_verdict(const Program& program, const LoopNest& nest) {
  const auto check = poly::check_nest(program, nest);
  return std::string(name_of(check.verdict)) + " " + check.code + " " + check.message;
}

BufferId named(const LoopNest& nest, const std::string& name) {
  for (BufferId id = 0; id < nest.buffers.size(); ++id)
    if (nest.buffers[id].name == name) return id;
  ADD_FAILURE() << "no buffer " << name;
  return 0;
}

TEST(SharedMemory, what_is_copied_to_an_output_lives_in_it) {
  const Program program = normalized_program(std::string(kSmooth) + kWhole);
  const LoopNest nest = base_of(program);
  const Buffer& a = nest.buffers[named(nest, "A")];
  ASSERT_TRUE(a.within.has_value()) << print(nest);
  EXPECT_EQ(a.within->host, named(nest, "R"));
  EXPECT_EQ(allocated_elements(a), 36);
  EXPECT_EQ(shared_verdict(program, nest), "proven  ");
  EXPECT_FALSE(tag_mode_rejects(program, nest));
  auto again = parse_loop_nest(print(nest));
  ASSERT_TRUE(again.ok()) << described(again.error());
  EXPECT_EQ(hash(*again), hash(nest));
  LoopNest apart = nest;
  apart.buffers[named(nest, "A")].within.reset();
  EXPECT_NE(hash(apart), hash(nest));
  EXPECT_EQ(shared_verdict(program, apart), "proven  ");
}

TEST(SharedMemory, dead_buffers_are_reused) {
  const Program program = normalized_program(kProducerChain);
  const LoopNest nest = base_of(program);
  const auto workspace = ir::workspace_of(nest);
  ASSERT_TRUE(workspace.ok());
  ASSERT_EQ(workspace->blocks.size(), 1U);
  EXPECT_EQ(workspace->blocks[0].bytes, 17472 + 16832);  // two of four, 17 lines past a page apart
  EXPECT_EQ(workspace->bytes, workspace->blocks[0].bytes + 128);
  EXPECT_EQ(shared_verdict(program, nest), "proven  ");
  EXPECT_FALSE(tag_mode_rejects(program, nest));
}

/// Every placement of the four buffers in three slots, whole ones and halves: tag mode runs each, the checker proves
/// none that it rejects.
TEST(SharedMemory, no_wrong_place_is_proven) {
  const Program program = normalized_program(kProducerChain);
  LoopNest nest = base_of(program);
  const BufferId host = named(nest, "workspace");
  nest.buffers[host].extents = {3 * 16832};
  nest.buffers[host].layout = row_major(nest.buffers[host].extents);
  const std::string names[] = {"a", "b", "c", "d"};
  int proven = 0, refuted = 0, rejected = 0;
  for (int k = 0; k < 3 * 3 * 3 * 3; ++k) {
    int rest = k;
    for (const auto& name : names) {
      nest.buffers[named(nest, name)].within = Within{host, (rest % 3) * 8448};
      rest /= 3;
    }
    ASSERT_TRUE(verify(nest).ok());
    const bool wrong = tag_mode_rejects(program, nest);
    const auto check = poly::check_nest(program, nest);
    rejected += wrong;
    proven += check.verdict == Verdict::proven;
    refuted += check.verdict == Verdict::refuted;
    EXPECT_FALSE(wrong && check.verdict == Verdict::proven) << k;
    EXPECT_TRUE(wrong || check.verdict == Verdict::proven)
        << k << " " << check.message;  // exact here: the text tells all
  }
  EXPECT_EQ(proven, 2);  // 0, 16896, 0, 16896 and the other way round
  EXPECT_EQ(refuted, rejected);
}

TEST(SharedMemory, places_that_cannot_be_are_refused) {
  const Program program = normalized_program(kProducerChain);
  const LoopNest nest = base_of(program);
  const BufferId a = named(nest, "a"), host = named(nest, "workspace");
  const auto refused = [&](const Within& within) {
    LoopNest wrong = nest;
    wrong.buffers[a].within = within;
    return !verify(wrong).ok();
  };
  EXPECT_FALSE(refused({host, 0}));
  EXPECT_TRUE(refused({host, 8}));                        // not aligned
  EXPECT_TRUE(refused({host, 17536}));                    // beyond the end
  EXPECT_TRUE(refused({host, INT64_MAX / 64 * 64}));      // far beyond
  EXPECT_TRUE(refused({named(nest, "x"), 0}));            // an input
  EXPECT_TRUE(refused({a, 0}));                           // itself
  EXPECT_TRUE(refused({static_cast<BufferId>(999), 0}));  // nothing
  EXPECT_FALSE(refused({named(nest, "y"), 0}));           // the output: allowed by form ..
  LoopNest in_output = nest;
  in_output.buffers[named(nest, "d")].within = Within{named(nest, "y"), 0};
  EXPECT_EQ(shared_verdict(program, in_output).substr(0, 7), "refuted");  // .. and wrong where y needs d of both ends
  EXPECT_TRUE(tag_mode_rejects(program, in_output));
}

TEST(SharedMemory, an_element_that_a_partial_output_leaves_undefined_is_not_touched) {
  const Program program = normalized_program(std::string(kSmooth) + kPart);
  LoopNest nest = base_of(program);
  EXPECT_FALSE(nest.buffers[named(nest, "A")].within.has_value());
  ASSERT_EQ(allocated_elements(nest.buffers[named(nest, "A")]), 36);
  nest.buffers[named(nest, "A")].within = Within{named(nest, "R"), 0};
  EXPECT_EQ(shared_verdict(program, nest).substr(0, 14), "refuted PW0401");
}

TEST(SharedMemory, a_step_puts_a_local_in_an_output) {
  const Program program = normalized_program(
      "program twice(N = 50)\nin X: f64[N, N]\nlet a[i: N, j: N] = X[i, j] * 2.0\nout R[i: N, j: N] = a[i, j]\nout "
      "S[i: N, j: N] = a[j, i]\n");
  for (const char* more :
       {"", "vectorize a j 8\nvectorize R j 8\n", "vectorize R j 8\nparallel a i\nparallel R i\nparallel S i\n"}) {
    auto nest = nest_of(program, std::string("trace 1\nstore a in R\n") + more);
    ASSERT_TRUE(nest.ok()) << described(nest.error());
    EXPECT_TRUE(nest->buffers[named(*nest, "a")].within.has_value());
    EXPECT_EQ(shared_verdict(program, *nest), "proven  ") << print(*nest);
    EXPECT_FALSE(tag_mode_rejects(program, *nest));
  }
  for (const char* wrong : {"store a in X", "store a in S", "store R in S", "store a in R\nstore a in S"}) {
    auto nest = nest_of(program, std::string("trace 1\n") + wrong + "\n");
    ASSERT_FALSE(nest.ok()) << wrong;
    EXPECT_TRUE(nest.error().code == "PW0308" || nest.error().code == "PW0304")
        << wrong << ": " << described(nest.error());
  }
}

TEST(Workspace, counts_the_blocks_of_all_tasks) {
  const Program program = normalized_program(gemm_text(), {{"M", 610}, {"N", 670}, {"K", 530}});
  auto nest = nest_of(program,
                      "trace 1\n  tile C [j: nc, k: kc, i: mc, j: nr, i: mr]\n  promote B at kc heap layout [j / nr, "
                      "k, j % nr]\n  promote A at mc heap layout [i / mr, k, i % mr]\n"
                      "  accumulate C at mr reg\n  unroll C i ; vectorize C j 16 ; parallel C mc\ndecide nc = 256, kc "
                      "= 128, mc = 120, nr = 32, mr = 6\n");
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  const auto workspace = ir::workspace_of(*nest);
  ASSERT_TRUE(workspace.ok());
  ASSERT_EQ(workspace->blocks.size(), 2U);
  EXPECT_EQ(workspace->blocks[0].bytes, 256 * 128 * 4);
  EXPECT_EQ(workspace->blocks[1].bytes, 120 * 128 * 4);
  EXPECT_EQ(workspace->blocks[1].instances, 6);  // ceil(610 / 120)
  EXPECT_EQ(workspace->bytes, 256 * 128 * 4 + 128 + 6 * (120 * 128 * 4 + 128));
}

TEST(Workspace, refuses_what_63_bits_do_not_count) {
  Buffer b;
  b.type = ElementType::f64;
  b.extents = {int64_t{1} << 30, int64_t{1} << 30};
  b.layout = row_major(b.extents);
  const auto bytes = ir::bytes_of(b);
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code, "PW0822");
  b.extents = {int64_t{1} << 30, (int64_t{1} << 30) - 1};
  b.layout = row_major(b.extents);
  ASSERT_TRUE(ir::bytes_of(b).ok());
  EXPECT_EQ(*ir::bytes_of(b), INT64_MAX - ((int64_t{1} << 33) - 1));
}

}  // namespace
}  // namespace polyweft::test
