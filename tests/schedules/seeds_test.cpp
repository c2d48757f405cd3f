// Schedules of one program for another of its structure: keys, names, sizes.
#include <algorithm>

#include "schedules/seeds/seed_template.h"
#include "sketch_harness.h"

namespace polyweft {
namespace {

using schedules::Counterparts;
using schedules::SizeChange;
using schedules::Structured;
using test::normalized_program;

Structured structured_program(const std::string& text, const std::map<std::string, int64_t>& values = {}) {
  return schedules::structured(normalized_program(text, values)).value();
}

std::string key(const std::string& text, const std::map<std::string, int64_t>& values = {}) {
  return schedules::key_of(structured_program(text, values).structure);
}

const char* const kPlainProduct =
    "program p(M = 64, N = 96, K = 48)\nin A: f32[M, K]\nin W: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * W[k, "
    "j]\n";

TEST(Structure, is_free_of_names_sizes_and_types) {
  const std::string same[] = {
      "program q(X = 5, Y = 7, Z = 3)\nconst in right: f64[Z, Y]\nin left: f64[X, Z]\nout P[r: X, c: Y] = sum[s: Z] "
      "right[s, c] * left[r, s]\n",
      "program q(X = 5, Y = 7, Z = 3)\nin B: u8[X, Z]\nin D: i8[Z, Y]\nout P[r: X, c: Y] = sum[s: Z] i32(B[r, s]) * "
      "i32(D[s, c])\n"};
  for (const std::string& text : same) EXPECT_EQ(key(text), key(kPlainProduct)) << text;
  const std::string others[] = {
      "program q(M = 64, N = 96, K = 48)\nin A: f32[K, M]\nin W: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[k, i] * "
      "W[k, j]\n",
      "program q(M = 64, N = 96, K = 48)\nin A: f32[M, K]\nin W: f32[K, N]\nout C[i: M, j: N] = max[k: K] A[i, k] * "
      "W[k, j]\n",
      "program q(M = 64, N = 96, K = 48)\nin A: f32[M, K]\nin W: f32[K, N]\nout C[i: M, j: i..N] = sum[k: K] A[i, k] * "
      "W[k, j]\n"};
  for (const std::string& text : others) EXPECT_NE(key(text), key(kPlainProduct)) << text;
}

// Strides, pads, kernels and the order in which taps are named do not count; distances of stencils do.
TEST(Structure, of_windows_is_free_of_strides_and_pads) {
  const std::string wide =
      "program c(N = 14)\nin X: f32[N, 8]\nin W: f32[3, 8, 16]\nout Y[y: N, f: 16] = sum[t: 3, c: 8 where 0 <= y + t - "
      "1 < N] X[y + t - 1, c] * W[t, c, f]\n";
  const std::string strided =
      "program c(N = 28)\nin X: f32[N, 8]\nin W: f32[5, 8, 16]\nout Y[y: 14, f: 16] = sum[c: 8, t: 5 where 0 <= 2*y + "
      "t "
      "- 2 < N] X[2*y + t - 2, c] * W[t, c, f]\n";
  EXPECT_EQ(key(wide), key(strided));
  const auto stencil = [](const std::string& distance) {
    return "program s(N = 20)\nin X: f32[N]\nout Y[i: 2..N-2] = X[i" + distance + "] + X[i]\n";
  };
  EXPECT_NE(key(stencil("-1")), key(stencil("-2")));
  EXPECT_NE(key(stencil("-1")), key(stencil("+1")));
}

TEST(Structure, tells_inputs_apart_by_what_is_made_of_them) {
  const auto two = [](const std::string& names) {
    return "program t(N = 8)\nin " + names.substr(0, 1) + ": f32[N, N]\nin " + names.substr(1, 1) +
           ": f32[N, N]\nlet T[i: N, j: N] = sum[k: N] P[i, k] * Q[k, j]\nout Y[i: N, j: N] = T[i, j] - Q[i, j]\n";
  };
  EXPECT_EQ(key(two("PQ")), key(two("QP")));
  const Structured a = structured_program(two("PQ")), b = structured_program(two("QP"));
  const Counterparts names(a, b);
  EXPECT_EQ(names.tensor_name("P"), "P");
  EXPECT_EQ(names.tensor_name("Q"), "Q");
}

TEST(Renamed, statements_loops_and_dimensions_are_the_other_programs) {
  const Structured from = structured_program(kPlainProduct),
                   to = structured_program(
                       "program q(X = 5, Y = 7, Z = 3)\nin i: f64[Z, Y]\nin nr: f64[X, Z]\nout P[k: X, j: Y] = sum[s: "
                       "Z] i[s, j] * nr[k, s]\n");
  const Trace trace =
      parse_trace(
          "trace 1\n  tile C [j: nr, k: 16, i: mr]\n  permute C [nr, k.1, i.1, k, i, j]\n  promote W in "
          "C at nr heap layout [j / nr, k, j % nr]\n  accumulate C at i.1 reg\n  unroll C i\n  vectorize "
          "C j 8\n  prefetch A in C along k by 4\ndecide nr = 16\ndecide mr = 4\n")
          .value();
  const auto renamed = schedules::renamed(trace, Counterparts(from, to));
  ASSERT_TRUE(renamed);
  EXPECT_EQ(
      renamed->text(),
      "trace 1\n  tile P [j: nr_s, s: 16, k: mr]\n  permute P [nr_s, s.1, k.1, s, k, j]\n  promote i in P at nr_s "
      "heap layout [j / nr_s, s, j % nr_s]\n  accumulate P at k.1 reg\n  unroll P k\n  vectorize P j 8\n  prefetch "
      "nr in P along s by 4\ndecide nr_s = 16\ndecide mr = 4\n");
}

TEST(Renamed, members_of_bands_stay_and_parameters_become_numbers) {
  const auto sweep = [](const std::string& name, const std::string& i, int size) {
    return "program s(N = " + std::to_string(size) + ", T = 9)\nin A0: f64[N]\nlet " + name + "[0, " + i +
           ": N] = A0[" + i + "]\nlet " + name + "[t: 1..T+1, " + i + ": N] = 0.5 * (" + name + "[t-1, clamp(" + i +
           "-1, 0, N-1)] + " + name + "[t-1, " + i + "])\nout R[" + i + ": N] = " + name + "[T, " + i + "]\n";
  };
  const Structured from = structured_program(sweep("A", "i", 40)), to = structured_program(sweep("B", "x", 25));
  const Trace trace =
      parse_trace(
          "trace 1\nband sw [t, i] of A@2: [t, i + 2*t]\ntile sw [t: 4, i: 16]\nisolate A@2 in sw at i.1 "
          "where N - 2 - i + 2*t\ndistribute sw at t\nvectorize A@2.far i 4\n")
          .value();
  const auto renamed = schedules::renamed(trace, Counterparts(from, to));
  ASSERT_TRUE(renamed);
  EXPECT_EQ(renamed->text(),
            "trace 1\n  band sw [t, i] of B@2: [t, x + 2*t]\n  tile sw [t: 4, i: 16]\n  isolate B@2 in sw at i.1 where "
            "-i + 2*t + 23\n  distribute sw at t\n  vectorize B@2.far i 4\n");
}

TEST(Renamed, reads_are_counted_as_the_other_program_has_them) {
  const auto text = [](const std::string& sum) {
    return "program r(N = 16)\nin A: f32[N, N]\nout Y[i: N, j: N] = " + sum + "\n";
  };
  const Structured from = structured_program(text("A[i, j] + A[j, i]")),
                   to = structured_program(text("A[j, i] + A[i, j]"));
  const Trace trace = parse_trace("trace 1\n  promote A read 2 in Y at root heap layout [d1, d0]\n").value();
  EXPECT_EQ(schedules::renamed(trace, Counterparts(from, to))->text(),
            "trace 1\n  promote A read 1 in Y at root heap layout [d1, d0]\n");
}

Trace opened(const std::string& trace, const Structured& from, const Structured& to, const SizeChange& change) {
  return schedules::with_open_sizes(parse_trace(trace).value(), Counterparts(from, to), change).value();
}

const char* const kBlocks =
    "trace 1\n  tile C [j: 48, k: 32, i: 9, j: 32]\n  permute C [j.1, k.1, i.1, j.2, k, i, j]\n  promote W in C at k.1 "
    "heap layout [d1 / 32, d0, d1 % 32]\n  accumulate C at j.2 reg\n  unroll C i\n  vectorize C j 16\n  prefetch W in "
    "C "
    "along k by 8\n";

std::map<std::string, int64_t> values(const Trace& trace) {
  std::map<std::string, int64_t> out;
  for (const Decision& d : trace.decisions) out[d.name] = d.value;
  return out;
}

std::vector<int64_t> offered(const Trace& trace, const std::string& name) {
  for (const Decision& d : trace.decisions)
    if (d.name == name) return d.candidates;
  return {};
}

TEST(OpenSizes, keep_the_values_on_the_same_task) {
  const Structured own = structured_program(kPlainProduct);
  const Trace open = opened(kBlocks, own, own, {});
  EXPECT_EQ(values(open), (std::map<std::string, int64_t>{
                              {"tile_j", 48}, {"tile_k", 32}, {"tile_i", 9}, {"tile_j_2", 32}, {"ahead_k", 8}}));
  EXPECT_NE(open.text().find("layout [d1 / tile_j_2, d0, d1 % tile_j_2]"), std::string::npos) << open.text();
  EXPECT_EQ(offered(open, "tile_j"), (std::vector<int64_t>{24, 48, 96}));
  EXPECT_EQ(offered(open, "tile_k"), (std::vector<int64_t>{16, 32, 48})) << "clipped to the extent";
  EXPECT_EQ(offered(open, "tile_i"), (std::vector<int64_t>{4, 6, 8, 9})) << "8 divides 64 rows";
  EXPECT_EQ(offered(open, "tile_j_2"), (std::vector<int64_t>{16, 32})) << "of two vectors";
  EXPECT_EQ(offered(open, "ahead_k"), (std::vector<int64_t>{0, 4, 8, 16}));
}

TEST(OpenSizes, follow_the_element_type) {
  std::string text = kPlainProduct;
  for (size_t at = 0; (at = text.find("f32", at)) != std::string::npos;) text.replace(at, 3, "f64");
  const Trace open = opened(kBlocks, structured_program(kPlainProduct), structured_program(text), {});
  EXPECT_NE(open.text().find("vectorize C j 8\n"), std::string::npos) << open.text();
  EXPECT_EQ(values(open)["tile_j_2"], 16) << "two vectors, as before";
  EXPECT_EQ(values(open)["tile_j"], 24) << "as many bytes";
  EXPECT_EQ(values(open)["tile_i"], 9);
}

TEST(OpenSizes, follow_vectors_and_registers_of_the_machine) {
  const Structured own = structured_program(kPlainProduct);
  const Trace open = opened(kBlocks, own, own, {{64, 32}, {32, 16}, {}});
  EXPECT_NE(open.text().find("vectorize C j 8\n"), std::string::npos) << open.text();
  EXPECT_EQ(values(open)["tile_j_2"], 16);
  EXPECT_EQ(values(open)["tile_i"], 4) << "two vectors of 4 rows are half of 18 sums";
  EXPECT_EQ(values(open)["tile_j"], 48);
}

TEST(OpenSizes, follow_the_extents) {
  const Structured own = structured_program(kPlainProduct),
                   other = structured_program(kPlainProduct, {{"M", 5}, {"N", 20}, {"K", 400}});
  const std::string whole = test::with(kBlocks, "k: 32", "k: 48");
  const Trace open = opened(whole, own, other, {});
  EXPECT_EQ(values(open)["tile_i"], 5);
  EXPECT_EQ(values(open)["tile_j"], 20);
  EXPECT_EQ(values(open)["tile_k"], 400) << "it was the whole sum";
  EXPECT_EQ(offered(open, "tile_k"), (std::vector<int64_t>{48, 200, 400}));
}

TEST(OpenSizes, of_equal_tiles_of_two_statements_are_one_decision) {
  const Structured own = structured_program(
      "program s(R = 64, C = 256)\nin X: f32[R, C]\nlet m[i: R] = max[j: C] X[i, j]\nout O[i: R, j: C] = X[i, j] - "
      "m[i]\n");
  const Trace open = opened(
      "trace 1\n  tile O [j: 64]\n  permute O [i, j.1, j]\n  vectorize O j 16\n  tile m [j: 64]\n  permute m [i, j.1, "
      "j]\n  accumulate m at i reg\n  vectorize m j 16\n",
      own, own, {});
  ASSERT_EQ(open.decisions.size(), 1u) << open.text();
  EXPECT_EQ(open.decisions[0].candidates, (std::vector<int64_t>{32, 48, 64, 128}));
}

TEST(OpenSizes, cuts_keep_their_distance_from_the_ends) {
  const auto taps = [](int rows, int kernel) {
    return structured_program("program c(N = " + std::to_string(rows) + ")\nin X: f32[N]\nin W: f32[" +
                              std::to_string(kernel) + "]\nout Y[y: N] = sum[t: " + std::to_string(kernel) +
                              " where 0 <= y + t - 1 < N] X[y + t - 1] * W[t]\n");
  };
  const std::string trace = "trace 1\n  split Y y at 1, 13\n  split Y t at 1, 2\n";
  EXPECT_EQ(opened(trace, taps(14, 3), taps(50, 5), {}).text(),
            "trace 1\n  split Y y at 1, 49\n  split Y t at 1, 2, 3, 4\n");
}

TEST(OpenSizes, are_none_where_the_machine_lacks_an_instruction) {
  const Structured own = structured_program(kPlainProduct);
  const Trace trace =
      parse_trace("trace 1\n  tile C [k: 4]\n  vectorize C j 16\n  tensorize C k by vpdpbusd_512\n").value();
  EXPECT_FALSE(schedules::with_open_sizes(trace, Counterparts(own, own), {}));
  EXPECT_TRUE(schedules::with_open_sizes(trace, Counterparts(own, own), {{}, {}, {"vpdpbusd_512"}}));
}

TEST(SeedTemplate, leaves_out_steps_that_only_help_and_are_refused) {
  const Structured own = structured_program(kPlainProduct);
  const std::string bad = test::with(kBlocks, "prefetch W in C along k by 8", "prefetch W in C along i by 8");
  const auto open = schedules::open_trace(parse_trace(bad).value(), Counterparts(own, own), {});
  ASSERT_TRUE(open);
  const auto seed = schedules::seed_template(own.program, NumericsClass::reassoc, *open, {});
  ASSERT_TRUE(seed) << test::described(seed.error());
  EXPECT_EQ(seed->left_out, std::vector<std::string>{"prefetch W in C along i by ahead_i"});
  EXPECT_EQ(seed->made.trace.decisions.size(), 4u);
  EXPECT_EQ(seed->chosen[0].size(), 4u);
  EXPECT_TRUE(instantiate(seed->made, seed->chosen[0]));
  const auto wrong =
      schedules::open_trace(parse_trace("trace 1\n  accumulate C at q reg\n").value(), Counterparts(own, own), {});
  EXPECT_EQ(schedules::seed_template(own.program, NumericsClass::reassoc, *wrong, {}).error().code, "PW0303");
}

TEST(SeedTemplate, traces_of_equal_steps_are_one) {
  const Structured own = structured_program(kPlainProduct);
  const Counterparts names(own, own);
  const auto open = [&](const std::string& text) {
    return *schedules::open_trace(parse_trace(text).value(), names, {});
  };
  const auto all = schedules::merged(
      {open(kBlocks), open("trace 1\n  tile C [i: 4]\n"), open(test::with(kBlocks, "i: 9", "i: 12")), open(kBlocks)});
  ASSERT_EQ(all.size(), 2u);
  ASSERT_EQ(all[0].chosen.size(), 2u);
  EXPECT_EQ(all[0].chosen[1][2], 12);
  EXPECT_EQ(offered(all[0].trace, "tile_i"), (std::vector<int64_t>{4, 6, 8, 9, 12}));
}

}  // namespace
}  // namespace polyweft
