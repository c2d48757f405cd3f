// Nests that read and write the same buffer in straight-line code: a value loaded before a store to its cell must not
// be used after it, one that no store can meet may be.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "targets/count_of.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

/// X -> A in place by `body` -> Y, all of `extents` ("12, 40"), two dimensions.
std::string in_place_nest(const std::string& loops, const std::string& folds, const std::string& body) {
  return "nest 1 p class strict\nloops a, b, c, d, " + loops +
         "\nbuffer X: f64[12, 40] argument align 8\nbuffer A: f64[12, 40] heap" + folds +
         " align 64\nbuffer Y: f64[12, 40] argument align 8 output\narguments X, Y\nbody { alloc A {\nfor a in 0 .. 12 "
         "{ for b in 0 .. 40 { copy A[a, b] <- X[a, b] } "
         "}\n" +
         body + "for c in 0 .. 12 { for d in 0 .. 40 { copy Y[c, d] <- A[c, d] } }\n} }\n";
}

TEST(InPlaceNests, an_unrolled_chain_sees_what_it_has_just_stored) {
  expect_same_bits(parsed(in_place_nest("i, j", "",
                                        "for i in 0 .. 12 { for j in 1 .. 39 unroll { compute 0(i, j) store: A[i, j] "
                                        "<- ((A[i, j - 1] + A[i, j]) + A[i, j + 1]) } }\n")));
}

TEST(InPlaceNests, unrolled_rows_of_seidel) {
  expect_same_bits(
      parsed(in_place_nest("i, j, r", "",
                           "for i in 1 .. 11 step 2 { for j in 1 .. 39 { for r in 0 .. 2 unroll { compute 0(i + r, j) "
                           "store: A[i + r, j] <- (((A[i + r - 1, j] + A[i + r, j - 1]) + A[i + r, "
                           "j + 1]) + (A[i + r + 1, j] + A[i + r - 1, j + 1])) } } }\n")));
}

TEST(InPlaceNests, vectors_read_ahead_of_what_they_write) {
  for (const char* ahead : {"1", "2", "7", "8", "9"})
    expect_same_bits(parsed(in_place_nest("i, j, v", "",
                                          "for i in 0 .. 12 { for j in 0 .. 24 step 8 { for v in j .. j + 8 vector 8 { "
                                          "compute 0(i, v) store: A[i, v] <- (A[i, v] + A[i, v + " +
                                              std::string(ahead) + "]) } } }\n")));
}

// The second statement finds what the first has just stored, the third what nobody has, across vectors that are written
// out.
TEST(InPlaceNests, statements_and_unrolled_vectors_share_only_what_is_still_there) {
  expect_same_bits(parsed(in_place_nest("i, u, v, w", "",
                                        "for i in 1 .. 11 { for u in 0 .. 3 unroll { for v in 8*u + 8 .. 8*u + 16 "
                                        "vector 8 { compute 0(i, v) store: A[i, v] <- (A[i, v + 8] + A[i - 1, v + 1])\n"
                                        "compute 1(i, v) store: A[i - 1, v] <- (A[i, v] + A[i, v + 8])\ncompute 2(i, "
                                        "v) store: A[i + 1, v] <- (A[i + 1, v] + A[i, v + 8]) } } }\n")));
}

TEST(InPlaceNests, a_folded_dimension_makes_cells_of_one) {
  expect_same_bits(
      parsed(in_place_nest("i, u", " fold 0 mod 2",
                           "for i in 1 .. 10 { for u in 0 .. 4 unroll { compute 0(i, u) store: A[i + 1, u] <- (A[i - "
                           "1, u] + A[i, u + 1])\ncompute 1(i, u) store: A[i, u + 1] <- (A[i, u] + "
                           "A[i + 1, u + 1]) } }\n")));
}

TEST(InPlaceNests, a_stride_meets_what_lies_between) {
  expect_same_bits(parsed(
      in_place_nest("i, v, w", "",
                    "for i in 0 .. 12 { for v in 0 .. 8 vector 8 { compute 0(i, v) store: A[i, 2*v] <- (A[i, 2*v] + "
                    "A[i, 16 + v])\ncompute 1(i, v) store: A[i, 16 + v] <- (A[i, 2*v] - "
                    "A[i, 16 + v])\ncompute 2(i, v) store: A[i, 39 - v] <- (A[i, 16 + v] + A[i, 24 + v]) } }\n")));
}

// Rows as lanes, eight of them a block of cells: what stands above and below is rotated out of two blocks, before a sum
// where all of it is rotated alike; chains of a row side by side; rows that begin and end between two vectors.
TEST(InPlaceNests, skewed_rows_in_blocks_of_cells) {
  std::stringstream text;
  text << std::ifstream(std::string(PW_SOURCE_DIR) + "/tests/schedules/nests/seidel_2d_blocks_small.nest").rdbuf();
  expect_same_bits(parsed(text.str()));
}

/// Rows that begin and end anywhere, five vectors each, from the row before; `rows` says how they run.
std::string masked_rows(const std::string& rows) {
  return in_place_nest("i, u, v", "",
                       "for i in 1 .. 12 " + rows +
                           " { for u in 0 .. 5 unroll { for v in max(0, 3*i - 8*u - 5) .. min(8, 2*i - 8*u + 20) "
                           "vector 8 { compute 0(i, 8*u + v) store: A[i, "
                           "8*u + v] <- (A[i, 8*u + v] + A[i - 1, 8*u + v]) } } }\n");
}

// Lanes beside those that a row has keep their bits; where other threads may write them meanwhile they are not touched.
TEST(InPlaceNests, lines_of_masked_rows_are_stored_whole_where_no_thread_is_beside) {
  expect_same_bits(parsed(masked_rows("")));
  const Target v4 = *find_target("x86-64-v4");
  const auto masked_stores = [&](std::string text) {
    auto code = targets::llvm_text(parsed(text), v4, "p");
    EXPECT_TRUE(code) << code.error().message;
    return code ? count_of("call void @llvm.masked.store", *code) : 0;
  };
  EXPECT_EQ(masked_stores(masked_rows("")), 0u);
  EXPECT_GT(masked_stores(masked_rows("parallel")), 0u);
}

// What moves values to where they are is left out with the loops around it.
TEST(InPlaceNests, statements_that_move_nothing_have_no_loops) {
  const std::string idle = in_place_nest(
      "i, j", "",
      "for i in 0 .. 12 { for j in 0 .. 40 { if i + j - 7 >= 0 { compute 0(i, j) store: A[i, j] <- A[i, j] } } }\n");
  expect_same_bits(parsed(idle));
  const auto loops = [](const std::string& text) {
    auto code = targets::llvm_text(parsed(text), runnable_targets().front(), "p");
    return code ? count_of("\nloop", *code) : 99;
  };
  EXPECT_EQ(loops(idle), loops(in_place_nest("i, j", "", "")));
}

// A local in the cells of the output that takes it: the loops of that copy are left out, vectors too.
TEST(InPlaceNests, a_local_in_its_output_is_copied_by_no_loop) {
  const auto code_of = [](const std::string& copy, const char* where) {
    const std::string text = std::string(
                                 "nest 1 p class strict\nloops a, b, c, d, v\nbuffer X: f64[12, 40] argument align "
                                 "8\nbuffer Y: f64[12, 40] argument align 8 output\n") +
                             "buffer A: f64[12, 40] heap align 64" + where +
                             "\narguments X, Y\nbody { alloc A {\nfor a in 0 .. 12 { for b in 0 .. 40 { compute 0(a, "
                             "b) store: A[a, b] <- X[a, b] } }\n" +
                             copy + "} }\n";
    const LoopNest nest = parsed(text);
    expect_same_bits(nest);
    auto code = targets::llvm_text(nest, runnable_targets().front(), "p");
    return code ? *code : std::string();
  };
  const std::string plain = "for c in 0 .. 12 { for d in 0 .. 40 { compute 1(c, d) store: Y[c, d] <- A[c, d] } }\n";
  const std::string vectors =
      "for c in 0 .. 12 { for d in 0 .. 40 step 8 { for v in 0 .. 8 vector 8 { compute 1(c, d + v) store: Y[c, d + v] "
      "<- A[c, d + v] } } }\n";
  for (const std::string& copy : {plain, vectors}) {
    EXPECT_EQ(count_of("\nloop", code_of(copy, " within Y at 0")), 2u) << copy;
    EXPECT_EQ(count_of("\nloop", code_of(copy, "")), 4u) << copy;
  }
}

// Rows above and below were asked for by the iterations before, or will be by the next ones.
TEST(InPlaceNests, a_line_that_passes_three_times_is_asked_for_once) {
  const std::string body =
      "for i in 1 .. 11 { for v in 0 .. 8 vector 8 prefetch A[4, 0] { compute 0(i, v) store: A[i, v] <- ((A[i - 1, v] "
      "+ A[i, v]) + (A[i + 1, v] + A[i, v + 8])) } }\n";
  auto code = targets::assembly_text(parsed(in_place_nest("i, v", "", body)), *find_target("x86-64-v4"));
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(count_of("prefetcht0", *code), 2u);
}

TEST(InPlaceNests, an_interleaving_copy_in_one_buffer_keeps_the_order_of_rows) {
  expect_same_bits(parsed(in_place_nest("i, r, v", "",
                                        "for i in 0 .. 12 { for r in 0 .. 2 unroll { for v in 0 .. 8 vector 8 { copy "
                                        "A[i, 2*v + r] <- A[i, 16 - 8*r + v] } } }\n")));
}

/// B from A, rows 8 or 16 columns a step, from a start that may lie behind the end.
std::string neighbours(const std::string& lo, const std::string& hi, int rows, int vectors, const std::string& sum,
                       const std::string& target) {
  const std::string step = std::to_string(8 * vectors);
  std::string text = in_place_nest(
      "i, x, r, u, v, e, f", "",
      "alloc B {\nfor e in 0 .. 12 { for f in 0 .. 40 { copy B[e, f] <- X[e, f] } }\nfor i in 1 .. 11 step " +
          std::to_string(rows) + " { for x in " + lo + " .. " + hi + " step " + step + " { for r in 0 .. " +
          std::to_string(rows) + " unroll { for u in 0 .. " + std::to_string(vectors) +
          " unroll { for v in 0 .. 8 vector 8 { compute 0(i, v) store: " + target + "[i + r, x + 8*u + v] <- " + sum +
          " } } } } }\n" +
          "for c in 0 .. 12 { for d in 0 .. 40 { compute 1(c, d) store: Y[c, d] <- (A[c, d] + B[c, d]) } }\n}\n");
  text.erase(text.rfind("for c in 0 .. 12 { for d in 0 .. 40 { copy"));
  text.replace(text.find("buffer Y"), 0, "buffer B: f64[12, 40] heap align 64\n");
  return text + "} }\n";
}

TEST(Neighbours, go_from_register_to_register) {
  const auto targets = runnable_targets();
  size_t round = 0;
  const auto check = [&](const std::string& text) {
    const LoopNest nest = parsed(text);
    EXPECT_EQ(compiled_difference(nest, targets.front(), ++round), "") << print(nest);
  };
  const auto at = [](const char* buffer, int d) {
    return std::string(buffer) + "[i + r, x + 8*u + v" + (d < 0 ? " - " : " + ") + std::to_string(std::abs(d)) + "]";
  };
  for (const char* lo : {"8", "max(8, 40 - 8*i)"})
    for (int rows : {1, 2})
      for (const char* target : {"A", "B"}) {
        const std::string left = at("B", -1), centre = at("B", 0), right = at("B", 1), far = at("B", -3);
        const bool is_own = target[0] == 'B';  // then a lane must not read what an earlier one writes
        check(neighbours(
            lo, "min(32, 8*i)", rows, 1,
            is_own ? "(" + centre + " + " + right + ")" : "((" + left + " + " + centre + ") + " + right + ")", target));
        check(neighbours(lo, "32", rows, 1, "(" + (is_own ? at("B", 7) : left) + " + " + (is_own ? right : far) + ")",
                         target));
      }
  expect_same_bits(parsed(neighbours("8", "25", 2, 2, "(" + at("B", -1) + " + " + at("B", -2) + ")", "A")));
}

std::string fixture(const std::string& name) {
  std::stringstream out;
  out << std::ifstream(PW_SOURCE_DIR "/tests/schedules/nests/" + name + ".nest").rdbuf();
  return out.str();
}

TEST(Neighbours, rows_as_lanes_turn_and_time_tiles_rotate) {
  for (const char* name : {"seidel_2d_lanes_small", "jacobi_2d_small"}) {
    const LoopNest nest = parsed(fixture(name));
    for (const Target& target : runnable_targets())
      if (target.name == "host" || target.name == "x86-64-v3") {
        EXPECT_EQ(compiled_difference(nest, target, 3), "") << name;
      }
  }
}

/// Lanes of `first` .. first + 8 between two bounds.
std::string lanes(const std::string& first, const std::string& lo, const std::string& hi, const std::string& body) {
  return "for i in 0 .. 12 { for j in -8 .. 48 step 8 { for v in max(" + first + ", " + lo + ") .. min(" + first +
         " + 8, " + hi + ") vector 8 { " + body + " } } }\n";
}

TEST(LateLanes, masks_on_both_ends) {
  const auto targets = runnable_targets();
  size_t round = 0;
  for (const char* first : {"j", "j + 3"})
    for (const char* lo : {"0", "3", "i", "2*i - 5, 0", "floor(j + 3 / 2), 0"})
      for (const char* hi : {"39", "39 - i"}) {
        const LoopNest nest = parsed(in_place_nest(
            "i, j, v", "", lanes(first, lo, hi, "compute 0(i, v) store: A[i, v] <- (A[i, v] + A[i, v + 1])")));
        ++round;
        EXPECT_EQ(compiled_difference(nest, targets[round % targets.size()], round), "") << print(nest);
      }
}

TEST(LateLanes, the_first_lane_is_the_bound_that_an_upper_bound_is_near) {
  const std::string body =
      "for i in 0 .. 12 { for j in 0 .. 32 step 8 { for v in max(0, i, j) .. min(40 - i, j + 8) vector 8 { compute "
      "0(i, v) store: A[i, v] <- (A[i, v] + 1:f64) } } }\n";
  const LoopNest nest = parsed(in_place_nest("i, j, v", "", body));
  expect_same_bits(nest);
  std::string wrong = in_place_nest("i, j, v", "", body);
  wrong.replace(wrong.find("j + 8"), 5, "j + 9");
  auto far = parse_loop_nest(wrong);
  ASSERT_TRUE(far.ok());
  const Status refused = verify(*far);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "PW0414");
}

TEST(LateLanes, sums_in_registers_and_conditions_on_lanes) {
  std::string text = in_place_nest("i, j, v, k, w, u", "",
                                   "for i in 0 .. 12 { for j in 0 .. 40 step 8 { alloc s {\nfor v in 0 .. 8 vector 8 { "
                                   "compute 0(i, j + v) init sum: s[v] }\nfor k in 0 .. 5 "
                                   "{ for w in max(0, i - j, k - j) .. "
                                   "min(8, 33 - j) vector 8 { compute 0(i, j + w, k) accumulate sum: s[w] <- (A[i, j + "
                                   "w + k] * A[i, j + w]) } }\nfor u in max(0, 2 - j) .. "
                                   "min(8, 35 - j) vector 8 { if j + u - 2*i "
                                   ">= 0 { copy A[i, j + u] <- s[u] } } } } }\n");
  text.replace(text.find("buffer Y"), 0, "buffer s: f64[8] reg align 64\n");
  expect_same_bits(parsed(text), 1);
}

}  // namespace
}  // namespace polyweft::targets_test
