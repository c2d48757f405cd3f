// Traces as text: what is printed parses back, what is not a trace is refused with its place.
#include "polyweft/trace.h"

#include <gtest/gtest.h>

#include "support/rng.h"

namespace polyweft {
namespace {

const char* kAllSteps = R"(trace 1
  tile C [j: nc, k: 256, i: mc]
  permute C [i.1, j, k]
  parallel C mc
  parallel D i in 2
  vectorize C j 16
  unroll C i, s
  promote B at kc heap layout [j / nr, k, j % nr]
  promote A in T.1 at root stack
  promote A in C at i.1 shared vectors 8
  accumulate A@2 at mr reg
  inline P
  compute_at P in Y at x.1 heap
  fuse Z into Y at i
  distribute Z
  split Y r at -1, 2
  stream Y
  prefetch X in Y along i by 4
  bind C i.1 to block_y
  compute_at Q in Y at x.1 heap layout [d1, d0 / 8, d0 % 8]
  rfactor C k in 16
  online m by 256
  snapshot C of path read 2 in path@2
  compute_at R in Y at y heap slide
  compute_at S in Y at y heap layout [d1, d0] slide fold nr
  compute_at T in Y at y stack slide whole
  batch 8
  batch 16 in 2
  autovectorize
  autovectorize without gathers
decide nc = 512
decide mc = 168 of 84 168 336
decide nr = 32
require registers: 0.0625 * mc * nr + nr <= 31
)";

TEST(TraceText, prints_and_parses_back) {
  auto trace = parse_trace(kAllSteps);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->steps.size(), 29u);
  auto again = parse_trace(trace->text());
  ASSERT_TRUE(again.ok()) << trace->text();
  EXPECT_TRUE(*again == *trace) << trace->text();
  EXPECT_EQ(again->text(), trace->text());
}

TEST(TraceText, takes_semicolons_comments_and_lists_of_decisions) {
  auto trace = parse_trace("trace 1 # a schedule\n unroll C i ; parallel C j\ndecide a = 1, b = 2 of 1 2 4, c = 3\n");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->steps.size(), 2u);
  EXPECT_EQ(values_of(*trace), (std::vector<int64_t>{1, 2, 3}));
}

struct Bad {
  const char* text;
  const char* message;
  const char* place;
};

TEST(TraceText, may_begin_with_comments) {
  auto trace = parse_trace("# what it is for\n\n  # and when\ntrace 1\n  unroll C i\n");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->steps.size(), 1u);
}

TEST(TraceText, refuses_with_line_and_column) {
  const Bad kBad[] = {
      {"nest 1\n", "trace: expected 'trace'", "line 1, column 1"},
      {"trace 2\n", "trace: unknown version; this build reads version 1", "line 1, column 8"},
      {"trace 1\n twist C i\n", "trace: unknown step 'twist'", "line 2, column 7"},
      {"trace 1\n tile C i: 4\n", "trace: expected '['", "line 2, column 9"},
      {"trace 1\n unroll C i extra\n", "trace: expected the end of the line", "line 2, column 13"},
      {"trace 1\n tile C [i: mc]\n", "trace: size 'mc' is not decided; add: decide mc = 32", "line 3, column 1"},
      {"trace 1\n tile C [i: 99999999999999]\n", "trace: expected a number from 0 to 2^40", "line 2, column 13"},
      {"trace 1\n accumulate C at i disk\n", "trace: unknown scope 'disk'; known are heap stack reg tile shared",
       "line 2, column 24"},
      {"trace 1\n promote B at i shared vectors 3\n", "trace: vectors of 2, 4, .. 64 elements",
       "line 2, column 33"},
      {"trace 1\ndecide a = 1, a = 2\n", "trace: decision 'a' is there twice", "line 3, column 1"},
  };
  for (const Bad& bad : kBad) {
    auto trace = parse_trace(bad.text);
    ASSERT_FALSE(trace.ok()) << bad.text;
    EXPECT_EQ(trace.error().code, "PW0301");
    EXPECT_EQ(trace.error().message.rfind(bad.message, 0), 0u) << trace.error().message;
    EXPECT_EQ(trace.error().notes.at(0), bad.place) << bad.text;
  }
}

TEST(TraceText, survives_mutated_texts) {
  Rng rng(42);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = kAllSteps;
    for (uint64_t edits = 1 + rng.below(6); edits > 0; --edits) {
      size_t at = rng.below(text.size());
      if (rng.below(2))
        text[at] = static_cast<char>(rng.below(256));
      else
        text.erase(at, 1 + rng.below(8));
    }
    auto trace = parse_trace(text);
    if (trace) {
      auto again = parse_trace(trace->text());
      ASSERT_TRUE(again.ok()) << text << "\n" << trace->text();
      ASSERT_TRUE(*again == *trace) << text;
    }
  }
}

TEST(TraceText, refuses_what_is_too_long) {
  EXPECT_FALSE(parse_trace(std::string(70'000, ' ')).ok());
  std::string many = "trace 1\n";
  for (int k = 0; k < 1024; ++k) many += "inline P\n";
  EXPECT_TRUE(parse_trace(many).ok());
  EXPECT_FALSE(parse_trace(many + "inline P\n").ok());
}

TEST(TraceDecisions, constraints_are_sums_of_products) {
  auto trace =
      parse_trace("trace 1\ndecide mr = 14, nr = 32\nrequire registers: 0.0625 * mr * nr + 0.0625 * nr <= 30\n");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(violated(*trace, {14, 32}), nullptr);
  ASSERT_NE(violated(*trace, {15, 32}), nullptr);
  EXPECT_EQ(violated(*trace, {15, 32})->name, "registers");
}

TEST(TraceNames, are_replaced_with_what_follows_them) {
  auto trace = parse_trace("trace 1\n tile C [i: 4]\n unroll C.1 i\n unroll C@2 i\n promote A in C at i.1 heap\n");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(renamed(*trace, {{"C", "Y"}, {"A", "X"}}).text(),
            "trace 1\n  tile Y [i: 4]\n  unroll Y.1 i\n  unroll Y@2 i\n  promote X in Y at i.1 heap\n");
}

}  // namespace
}  // namespace polyweft
