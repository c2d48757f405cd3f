// What is proposed, refused and refuted of blocks of tiles.
#include <gtest/gtest.h>

#include "ir/nests/instruction.h"
#include "lang/parser.h"
#include "machines.h"
#include "poly/check/checker.h"
#include "random/tile_products.h"
#include "samples.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"
#include "targets/kernels.h"

namespace polyweft::tile_test {
namespace {

using targets_test::with_tiles;

std::string sketch_refusal(const Trace& trace, const Unit& unit = kUnits[0]) {
  auto nest = scheduled(product(unit, {96, 96, 128}), trace);
  return nest.ok() ? "" : nest.error().code + " " + nest.error().message;
}

TEST(Tiles, never_more_than_eight_live) {
  Block block;
  EXPECT_EQ(sketch_refusal(schedule(kUnits[0], block)), "");
  block.rows = block.columns = 3;
  EXPECT_EQ(sketch_refusal(schedule(kUnits[0], block)),
            "PW0311 accumulate C in tiles: 9 tiles of sums and 2 of operands are 11 live tiles, the unit has 8");
  block.columns = 2;
  auto nest = scheduled(product(kUnits[0], {96, 96, 128}), schedule(kUnits[0], block));
  ASSERT_TRUE(nest.ok());
  const std::string text = print(*nest);
  auto grown =
      parse_loop_nest(replaced(replaced(text, "i32[48, 32] tile", "i32[48, 48] tile"), "[0:48, 1:32]", "[0:48, 1:48]"));
  ASSERT_TRUE(grown.ok());
  const Status status = verify(*grown);
  ASSERT_FALSE(status.ok()) << print(*grown);
  EXPECT_EQ(status.error().code, "PW0412");
  EXPECT_NE(status.error().message.find("9 tiles of sums and 2 of operands are 11 live tiles, the unit has 8"),
            std::string::npos)
      << status.error().message;
}

TEST(Tiles, refusals_name_what_differs) {
  const std::string right = schedule(kUnits[0], {}).text();
  const auto with = [&](const std::string& from, const std::string& to) {
    auto trace = parse_trace(replaced(right, from, to));
    return trace.ok() ? sketch_refusal(*trace) : trace.error().message;
  };
  EXPECT_NE(with("i.1 tile", "i.1 reg").find("registers have no rows"), std::string::npos);
  EXPECT_NE(with("  tensorize C i, j, k.2, k by tdpbusd\n  unroll C i.2\n  unroll C j.2\n", "").find("tiles"),
            std::string::npos);
  EXPECT_NE(with("  unroll C i.2\n", "").find("loop i.2 inside is neither unrolled nor part of the instruction"),
            std::string::npos);
  EXPECT_NE(with("i: 16,", "i: 8,").find("takes 16 values of i at once"), std::string::npos);
  EXPECT_NE(with("i, j, k.2, k by", "j, i, k.2, k by").find("PW0322"), std::string::npos);
  EXPECT_NE(with("heap layout", "tile layout").find("PW0308"), std::string::npos);
}

/// Caches so small that small sizes have panels.
Machine tile_machine(const Target& target, int threads) {
  Machine out = test::machine_with(64, 32, {48 << 10, 64 << 10, 1 << 20}, threads);
  out.units.instructions = ir::instructions_of(target);
  return out;
}

bool has_tiles(const Trace& trace) {
  return trace.text().find(" tile\n") != std::string::npos;
}

// Rule 10 proposes blocks of tiles by itself; each is proven, and its code gives the interpreter's bits.
TEST(Tiles, sketches_propose_blocks) {
  const std::string kPrograms[] = {
      "program g(M = 35, N = 50, K = 140)\nin A: u8[M, K]\nconst in B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] "
      "i32(A[i, k]) * i32(B[k, j])\n",
      "program g(M = 35, N = 50, K = 70)\nin A: bf16[M, K]\nin B: bf16[K, N]\nout C[i: M, j: N] = sum[k: K] f32(A[i, "
      "k]) * f32(B[k, j])\n",
      "program rounded(M = 40, N = 75, K = 600)\nin A: bf16[M, K]\nconst in B: bf16[K, N]\nin s: f32[N]\nlet S[i: M, "
      "j: N] = sum[k: K] f32(A[i, k]) * f32(B[k, j])\n"
      "out C[i: M, j: N] = bf16(max(S[i, j] + s[j], 0.0))\n",
      "program long(M = 70, N = 40, K = 1100)\nin A: u8[M, K]\nconst in B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] "
      "i32(A[i, k]) * i32(B[k, j])\n",
      "program swapped(M = 33, N = 50, K = 130)\nin W: i8[K, N]\nin X: i8[M, K]\nout Y[i: M, j: N] = sum[k: K] "
      "i32(W[k, j]) * i32(X[i, k])\n",
      "program transposed(M = 33, N = 40, K = 70)\nin X: u8[K, M]\nin W: u8[K, N]\nout Y[i: M, j: N] = sum[k: K] "
      "i32(X[k, i]) * i32(W[k, j])\n",
      "program batch(B = 2, M = 20, N = 36, K = 66)\nin X: u8[B, M, K]\nin W: i8[B, K, N]\nout Y[b: B, i: M, j: N] = "
      "sum[k: K] i32(X[b, i, k]) * i32(W[b, k, j])\n",
      "program conv(H = 4, W = 19, C = 40, O = 20)\nin X: u8[H + 2, W + 2, C]\nconst in F: i8[3, 3, C, O]\n"
      "out Y[y: H, x: W, o: O] = sum[r: 3, s: 3, c: C] i32(F[r, s, c, o]) * i32(X[y + r, x + s, c])\n",
  };
  test::Sample sample(3);
  for (const std::string& text : kPrograms)
    for (int threads : {1, 2}) {
      if (threads == 2 && text != kPrograms[0] && text != kPrograms[1]) continue;
      auto file = lang::parse(text, "test.weft");
      ASSERT_TRUE(file.ok()) << file.error().message;
      const Program& source = file->programs.front();
      int with_tiles_count = 0, fused = 0, in_panels = 0;
      for (const Trace& trace :
           schedules::sketches(bound(source), NumericsClass::reassoc, tile_machine(with_tiles(), threads))) {
        if (!has_tiles(trace)) continue;
        ++with_tiles_count;
        fused += trace.text().find("fuse ") != std::string::npos;
        in_panels += trace.text().find("decide panel") != std::string::npos;
        if (!sample.takes()) continue;
        auto nest = scheduled(source, trace);
        ASSERT_TRUE(nest.ok()) << trace.text() << nest.error().message;
        ASSERT_TRUE(verify(*nest).ok()) << verify(*nest).error().message;
        EXPECT_EQ(poly::check_nest(bound(source), *nest).verdict, Verdict::proven) << trace.text();
        EXPECT_GT(expect_same_bits(*nest, trace.text()).counts.products, 0) << trace.text();
      }
      EXPECT_GT(with_tiles_count, 0) << text;
      EXPECT_EQ(fused > 0, text.find("rounded") != std::string::npos) << text;
      if (text.find("K = 1100") != std::string::npos) {
        EXPECT_GT(in_panels, 0);
      }
    }
}

// B in another order: no tile is loaded from it, and a nest that mixes its cells up is refuted.
TEST(Tiles, another_order_is_plain_code_or_refuted) {
  const Program source = product(kUnits[0], {32, 32, 128});
  const Trace trace = schedule(kUnits[0], {});
  auto plain = scheduled(source, *parse_trace(replaced(trace.text(), "d1 % 16, d0 % 4", "d0 % 4, d1 % 16")));
  ASSERT_TRUE(plain.ok());
  expect_right(source, *plain);
  EXPECT_EQ(expect_same_bits(*plain, "other order").counts.products, 0);
  EXPECT_EQ(targets::assembly_text(*plain, with_tiles())->find("ldtilecfg"), std::string::npos);
  const std::string right = print(*scheduled(source, trace));
  for (const auto& [from, to] :
       {std::pair{"B.p[k.1", "B.p[1 + k.1"}, {"+ k.2 + k, 16*j.2", "+ k.2 + k, 16*i.2"}, {"4*k.2", "2*k.2"}}) {
    const std::string wrong = replaced(right, from, to);
    if (wrong == right) continue;
    auto nest = parse_loop_nest(wrong);
    if (!nest.ok()) continue;
    EXPECT_EQ(poly::check_nest(bound(source), *nest).verdict, Verdict::refuted) << from;
  }
}

}  // namespace
}  // namespace polyweft::tile_test
