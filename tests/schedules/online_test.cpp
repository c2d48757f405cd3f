// The step online: nests of the other form compute the program and are proven for it, and for nothing else.
#include "schedules/sketches/online.h"

#include "harness.h"
#include "ir/normalize/online_maximum.h"
#include "machines.h"
#include "proofs.h"

namespace polyweft::test {
namespace {

Program attention(int64_t keys) {
  return normalized_program("program p(const N = 5, const S = " + std::to_string(keys) +
                            ", const D = 4)\nin Q: f32[N, D]\nin K: f32[S, D]\nin V: f32[S, D]\n"
                            "let a[i: N, j: S] = sum[d: D] Q[i, d] * K[j, d]\nlet m[i: N] = max[j: S] a[i, j]\n"
                            "let e[i: N, j: S] = exp(a[i, j] - m[i])\nlet s[i: N] = sum[j: S] e[i, j]\n"
                            "out O[i: N, d: D] = (sum[j: S] e[i, j] * V[j, d]) / s[i]\n");
}

const std::string kOnline = "trace 1\n online m by 32\n";
const std::string kInStrips =
    kOnline +
    " tile O [i: 2]\n permute O [i.1, i, d]\n compute_at m.m in O at i.1 heap\n permute m.m [jb, i, d]\n"
    " compute_at O.1.b in m.m at jb heap\n compute_at s.b in m.m at jb heap\n compute_at m.e in m.m at jb heap\n"
    " compute_at m.x in m.m at jb heap\n compute_at a in m.m at jb heap\n vectorize m.m d 4\n vectorize O d 4\n"
    " vectorize a j 8\n";

TEST(Online, computes_the_program_and_is_proven) {
  const Program program = attention(96);
  for (const std::string& steps : {kOnline, kInStrips}) {
    auto nest = nest_of(program, steps);
    ASSERT_TRUE(nest.ok()) << described(nest.error());
    EXPECT_EQ(difference(program, *nest, 4, ir::DataKind::random), "") << print(*nest);
    EXPECT_EQ(proved(program, *nest), "") << print(*nest);
    const auto again = parse_loop_nest(print(*nest));
    ASSERT_TRUE(again.ok()) << described(again.error());
    EXPECT_EQ(again->online, nest->online);
    EXPECT_EQ(proved(program, *again), "");
  }
}

TEST(Online, is_said_by_the_nest) {
  const Program program = attention(96);
  auto nest = nest_of(program, kInStrips);
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  LoopNest silent = *nest, other = *nest, strict = *nest;
  silent.online.clear();
  other.online[0].block = 48;
  strict.cls = NumericsClass::strict;
  for (const LoopNest& wrong : {silent, other, strict}) {
    EXPECT_NE(proved(program, wrong), "");
    EXPECT_NE(hash(wrong), hash(*nest));
  }
  other.online[0].block = 40;
  EXPECT_EQ(words(poly::check_nest(program, other)).substr(0, 14), "refuted PW0308");
}

TEST(Online, is_refused_where_the_class_or_the_order_of_steps_forbids_it) {
  const Program program = attention(96);
  const auto refusal = [&](const std::string& steps, NumericsClass cls) {
    auto nest = nest_of(program, steps, cls);
    return nest.ok() ? "" : nest.error().code;
  };
  EXPECT_EQ(refusal(kOnline, NumericsClass::strict), "PW0308");
  EXPECT_EQ(refusal(kOnline, NumericsClass::contract), "PW0308");
  EXPECT_EQ(refusal("trace 1\n online s by 32\n", NumericsClass::reassoc), "PW0308");
  EXPECT_EQ(refusal("trace 1\n online m by 40\n", NumericsClass::reassoc), "PW0308");
  EXPECT_EQ(refusal("trace 1\n online nobody by 32\n", NumericsClass::reassoc), "PW0302");
  EXPECT_EQ(refusal("trace 1\n tile O [i: 2]\n online m by 32\n", NumericsClass::reassoc), "PW0304");
  EXPECT_EQ(refusal("trace 1\n online m by 0\n", NumericsClass::reassoc), "PW0301");
}

// What the rule proposes where rows are long, before all judges.
TEST(Online, sketches_are_right_and_proven) {
  const Program program = attention(256);
  const Machine machine = machine_with(64, 32, {1 << 10, 16 << 10, 64 << 20});
  const auto sketches = schedules::online_sketches(program, NumericsClass::reassoc, machine);
  ASSERT_FALSE(sketches.empty());
  for (const NestTemplate& t : sketches) {
    auto nest = instantiate(t, values_of(t.trace));
    ASSERT_TRUE(nest.ok()) << t.trace.text() << described(nest.error());
    EXPECT_EQ(proved(program, *nest), "") << t.trace.text();
    EXPECT_EQ(difference(program, *nest, 4, ir::DataKind::random), "") << t.trace.text();
  }
  EXPECT_TRUE(schedules::online_sketches(program, NumericsClass::strict, machine).empty());
  EXPECT_TRUE(schedules::online_sketches(attention(64), NumericsClass::reassoc, machine).empty());
}

}  // namespace
}  // namespace polyweft::test
