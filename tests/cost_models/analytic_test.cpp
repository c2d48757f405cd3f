// The model is judged by order: pairs of nests whose faster one is known, and why.
#include <gtest/gtest.h>

#include <string>

#include "machines.h"
#include "polyweft/cost_model.h"

namespace polyweft {
namespace {

Machine machine() {
  return test::machine_with(64, 32, {48 << 10, 2 << 20, 16 << 20});
}

/// C[M, N] += A[M, K] * B[K, N] with loops i, j, k by tiles: [mc][kc] i-tile mr (unroll), j-tile u*w, k innermost
/// serial; the accumulator in registers where `in_registers`.
struct GemmShape {
  int64_t m = 512, n = 512, k = 512, mr = 12;
  int64_t vectors = 2;
  int32_t width = 16;  // 1: scalar
  bool in_registers = true;
  bool parallel = false;
  bool columns_outside = false;  // all row tiles of a column tile, one after the other
};

Buffer argument(const char* name, std::vector<int64_t> extents, bool output) {
  Buffer b;
  b.name = name;
  b.scope = Scope::argument;
  b.layout = row_major(extents);
  b.extents = std::move(extents);
  b.is_output = output;
  return b;
}

class GemmNest {
 public:
  explicit GemmNest(const GemmShape& s) : s_(s) {
    nest_.buffers = {argument("A", {s.m, s.k}, false), argument("B", {s.k, s.n}, false),
                     argument("C", {s.m, s.n}, true), Buffer{}};
    nest_.arguments = {0, 1, 2};
    Buffer& acc = nest_.buffers[3];
    acc.name = "acc";
    acc.scope = Scope::reg;
    acc.extents = {s.mr, s.vectors, s.width};
    acc.layout = row_major(acc.extents);
    it_ = nest_.new_loop_var("it"), jt_ = nest_.new_loop_var("jt"), k_ = nest_.new_loop_var("k");
    i_ = nest_.new_loop_var("i"), u_ = nest_.new_loop_var("u"), v_ = nest_.new_loop_var("v");
  }
  LoopNest build() {
    NodeId tile = loop(k_, s_.k, 1, {}, block());
    if (s_.in_registers) tile = nest_.add(Alloc{3, nest_.add(Seq{{tile, store()}})});
    Mark outer;
    if (s_.parallel) outer.kind = MarkKind::parallel;
    const int64_t nr = s_.vectors * s_.width;
    nest_.root = s_.columns_outside ? loop(jt_, s_.n, nr, outer, loop(it_, s_.m, s_.mr, {}, tile))
                                    : loop(it_, s_.m, s_.mr, outer, loop(jt_, s_.n, nr, {}, tile));
    return nest_;
  }

 private:
  NodeId loop(VarId var, int64_t extent, int64_t step, Mark mark, NodeId body) {
    Loop l;
    l.var = var;
    l.lo.of = {Affine::of(0)};
    l.hi.of = {Affine::of(extent)};
    l.step = step;
    l.mark = mark;
    l.body = body;
    return nest_.add(l);
  }
  NodeId register_loops(NodeId body) {
    Mark vector, unroll;
    vector.kind = MarkKind::vector;
    vector.width = s_.width;
    unroll.kind = MarkKind::unroll;
    return loop(i_, s_.mr, 1, unroll,
                loop(u_, s_.vectors, 1, unroll, s_.width > 1 ? loop(v_, s_.width, 1, vector, body) : body));
  }
  static Access access(BufferId id, std::vector<Affine> index) {
    Access a;
    a.id = id;
    for (auto& e : index) a.index.push_back({std::move(e), nullptr, {}, {}});
    return a;
  }
  Affine row() const { return Affine::variable(it_) + Affine::variable(i_); }
  Affine column() const {
    Affine e = Affine::variable(jt_) + Affine::variable(u_, s_.width);
    return s_.width > 1 ? e + Affine::variable(v_) : e;
  }
  Access accumulator() const {
    if (!s_.in_registers) return access(2, {row(), column()});
    return access(3, {Affine::variable(i_), Affine::variable(u_), s_.width > 1 ? Affine::variable(v_) : Affine::of(0)});
  }
  NodeId block() {
    Compute c;
    c.how = Write::accumulate;
    c.fused = true;
    c.dst = {accumulator()};
    c.rhs = {make_op(Op::mul, ElementType::f32,
                     {make_read(ElementType::f32, access(0, {row(), Affine::variable(k_)})),
                      make_read(ElementType::f32, access(1, {Affine::variable(k_), column()}))})};
    return register_loops(nest_.add(c));
  }
  NodeId store() {
    Copy c;
    c.dst = access(2, {row(), column()});
    c.src = accumulator();
    return register_loops(nest_.add(c));
  }
  GemmShape s_;
  LoopNest nest_;
  VarId it_, jt_, k_, i_, u_, v_;
};

double predicted(const GemmShape& shape, const Machine& m = machine()) {
  return analytic_model(m)->predict_ns(GemmNest(shape).build());
}

TEST(AnalyticModel, a_register_tiled_gemm_is_near_the_fma_bound) {
  const double bound_ns = 512.0 * 512 * 512 / 16 / 2 / machine().clock_ghz.value;
  const double ns = predicted({.mr = 12, .vectors = 2});
  EXPECT_GE(ns, bound_ns);
  EXPECT_LE(ns, 1.7 * bound_ns);
}

TEST(AnalyticModel, vectors_beat_scalars) {
  EXPECT_LT(4 * predicted({}), predicted({.vectors = 2, .width = 1}));
}

// LLVM loads them before the loop over k and stores them behind it: 1.00 of the time in pairs (Zen 3).
TEST(AnalyticModel, sums_in_an_argument_that_the_inner_loop_does_not_move_are_as_good_as_registers) {
  EXPECT_NEAR(predicted({.in_registers = false}) / predicted({}), 1, 0.05);
}

TEST(AnalyticModel, few_chains_expose_latency) {
  EXPECT_LT(1.5 * predicted({.mr = 12, .vectors = 2}), predicted({.mr = 1, .vectors = 1}));
}

TEST(AnalyticModel, a_tile_beyond_the_register_file_spills) {
  EXPECT_LT(1.2 * predicted({.mr = 12, .vectors = 2}), predicted({.mr = 24, .vectors = 4}));
}

TEST(AnalyticModel, a_tile_that_loads_less_a_multiply_add_wins) {
  EXPECT_LE(predicted({.mr = 12, .vectors = 2}), predicted({.mr = 3, .vectors = 3}));
}

TEST(AnalyticModel, two_threads_nearly_halve_a_large_product) {
  const Machine two = on_cores(machine(), 2);
  const double serial = predicted({.parallel = true}), parallel = predicted({.parallel = true}, two);
  EXPECT_LT(parallel, 0.6 * serial);
  EXPECT_GT(parallel, 0.45 * serial);
}

// The same rows copied twice, by way of all of them or of four at a time: fresh memory is mapped page by page.
double through_scratch(const std::string& rows, const std::string& outer, const std::string& from) {
  const std::string text =
      "nest 1 copy class reassoc\nloops s, i, j, k, l\nbuffer X: f32[512, 1024] argument align 4\nbuffer Y: f32[512, "
      "1024] argument align 4 output\nbuffer T: f32[" +
      rows + ", 1024] heap align 64\narguments X, Y\nbody {\nfor s in 0 .. 512 step " + outer +
      " { alloc T { for i in 0 .. " + rows + " { for j in 0 .. 1024 { copy T[i, j] <- X[" + from +
      ", j] else 0:f32 } }\nfor k in 0 .. " + rows +
      " { for l in 0 .. 1024 { copy Y[s + k, l] <- T[k, l] else 0:f32 } } } }\n}\n";
  const auto nest = parse_loop_nest(text);
  EXPECT_TRUE(nest) << nest.error().message;
  return nest ? analytic_model(machine())->predict_ns(*nest) : 0;
}
TEST(AnalyticModel, large_scratch_is_mapped_anew_at_each_call) {
  EXPECT_GT(through_scratch("512", "512", "s + i") - through_scratch("4", "4", "s + i"), 200'000);
}

TEST(AnalyticModel, masked_lanes_cost_as_much_as_active_ones) {
  // 17 columns take two vectors a row: twice the time of 16.
  EXPECT_GT(predicted({.n = 17, .vectors = 1}), 1.5 * predicted({.n = 16, .vectors = 1}));
}

// Nanoseconds a point of the product.
double per_point(const GemmShape& s) {
  return predicted(s) / static_cast<double>(s.m * s.n * s.k);
}

TEST(AnalyticModel, rows_a_power_of_two_apart_crowd_a_few_cache_sets) {
  // 600 rows of two lines, 4096 bytes apart, for every row tile: they lie in 64 of L2's sets. Two lines more between
  // rows spread them.
  EXPECT_GT(per_point({.m = 504, .n = 1024, .k = 600, .columns_outside = true}),
            1.05 * per_point({.m = 504, .n = 1056, .k = 600, .columns_outside = true}));
}

TEST(AnalyticModel, an_operand_that_just_fits_the_second_cache_does_not_stay) {
  // B of 1.94, 1.35 and 0.68 MB for each row tile, in 2 MB.
  const double whole = per_point({.m = 2016, .n = 1056, .k = 460}), most = per_point({.m = 2016, .n = 1056, .k = 320}),
               third = per_point({.m = 2016, .n = 1056, .k = 160});
  EXPECT_GT(whole, 1.02 * most);
  EXPECT_LT(most, third) << "the deeper block passes the result less often";
}

TEST(AnalyticModel, an_operand_of_half_the_second_cache_stays_better_than_one_of_three_quarters) {
  // B of 1.0 and 1.5 MB for each row tile: pages lie anywhere, and some places get more of them than there are ways (4
  // to 6 % slower, measured by a plain C form).
  const GemmShape half = {.m = 2016, .n = 528, .k = 480, .mr = 9, .vectors = 3},
                  most = {.m = 2016, .n = 768, .k = 512, .mr = 9, .vectors = 3};
  EXPECT_GT(per_point(most), 1.01 * per_point(half));
}

TEST(AnalyticModel, rows_of_one_block_wait_together_at_the_ends_of_pages) {
  // A of 16 MB passes once, eight rows side by side, for 96 columns: 3 to 4 % slower than rows that stay (measured).
  const double passes = per_point({.m = 4032, .n = 96, .k = 1024, .mr = 8, .vectors = 3}),
               stays = per_point({.m = 96, .n = 96, .k = 1024, .mr = 8, .vectors = 3});
  EXPECT_GT(passes, 1.01 * stays);
  EXPECT_LT(passes, 1.15 * stays);
}

TEST(AnalyticModel, tiles_of_three_vectors_load_less_and_win) {
  EXPECT_LT(per_point({.m = 126, .n = 96, .k = 480, .mr = 9, .vectors = 3}),
            per_point({.m = 126, .n = 96, .k = 480, .mr = 14, .vectors = 2}));
}

TEST(AnalyticModel, rows_on_pages_of_their_own_wait_for_translation) {
  // 1,600 rows of B are read for each tile, each on a page of its own: more than the translations kept nearby. Without
  // that it is cheaper.
  Machine many = machine();
  for (TlbLevel& level : many.tlbs) level.pages = {1 << 20};
  const GemmShape shape = {.m = 504, .n = 1056, .k = 1600};
  EXPECT_GT(predicted(shape), 1.1 * predicted(shape, many));
}

/// A row of 4096 vectors of what is read at this place of X or T.
double reading(const std::string& what, const std::string& extents = "65536", const std::string& table = "16") {
  const auto nest = parse_loop_nest(
      "nest 1 reads class reassoc\nloops i, v\nbuffer X: f32[" + extents + "] argument align 4\nbuffer T: f32[" +
      table +
      "] argument align 4\nbuffer K: i32[65536] argument align 4 values 0 .. 16\nbuffer Y: f32[65536] argument align 4 "
      "output\narguments X, T, K, Y\n"
      "body {\nfor i in 0 .. 65536 step 16 { for v in 0 .. 16 vector 16 { compute 0(i, v) store: Y[i + v] <- " +
      what + " } }\n}\n");
  EXPECT_TRUE(nest) << nest.error().message;
  return nest ? analytic_model(machine())->predict_ns(*nest) : 0;
}

TEST(AnalyticModel, lanes_the_other_way_round_and_tables_of_one_vector_are_no_gathers) {
  const double forward = reading("X[i + v]"), backward = reading("X[65535 - i - v]"),
               apart = reading("X[3 * i + 3 * v]", "196608");
  EXPECT_LT(backward, 2 * forward);
  EXPECT_GT(apart, 3 * backward);
  EXPECT_LT(2 * reading("T[{convert:i64(K[i + v]) in 0 .. 15}]"),
            reading("T[{convert:i64(K[i + v]) in 0 .. 15}]", "65536", "17"));
}

/// A copy of X[rows, columns] in pieces of 16 columns, in the order of these loops.
double copying(const std::string& loops, const Machine& m = machine()) {
  const auto nest = parse_loop_nest(
      "nest 1 copy class reassoc\nloops i, j, v\nbuffer X: f32[65536, 160] argument align 4\n"
      "buffer Y: f32[65536, 160] argument align 4 output\narguments X, Y\nbody {\n" +
      loops + " { for v in 0 .. 16 vector 16 { compute 0(i, j + v) store: Y[i, j + v] <- X[i, j + v] } } }\n}\n");
  EXPECT_TRUE(nest) << nest.error().message;
  return nest ? analytic_model(m)->predict_ns(*nest) : 0;
}

TEST(AnalyticModel, short_rows_that_follow_one_another_are_a_stream) {
  // Rows of 640 bytes: in their order one stream of 42 MB, by columns a line of each.
  const double rows = copying("for i in 0 .. 65536 { for j in 0 .. 160 step 16"),
               columns = copying("for j in 0 .. 160 step 16 { for i in 0 .. 65536");
  EXPECT_LT(1.2 * rows, columns);
}

TEST(AnalyticModel, streams_wait_at_page_starts_where_the_machine_does) {
  const GemmShape shape = {.m = 4032, .n = 96, .k = 1024, .mr = 8, .vectors = 3};
  Machine goes_on = machine();
  goes_on.page_start_cycles = {0};
  EXPECT_LT(predicted(shape, goes_on), predicted(shape));
}

/// A sum over columns of as many rows at once as there are lanes, rows of X that far apart.
double lanes_over_rows(int64_t lanes, int64_t columns) {
  const std::string n = std::to_string(columns), w = std::to_string(lanes);
  const auto nest =
      parse_loop_nest("nest 1 sums class reassoc\nloops i, v\nbuffer X: f32[" + w + ", " + n +
                      "] argument align 4\nbuffer Y: f32[16384, " + w +
                      "] argument align 4 output\narguments X, Y\nbody {\nfor i in 0 .. 16384 { for v in 0 .. " + w +
                      " vector " + w + " { compute 0(v, i) store: Y[i, v] <- X[v, i] } }\n}\n");
  EXPECT_TRUE(nest) << nest.error().message;
  Machine m = machine();
  for (const size_t level : {1, 2, 3})
    m.memories[level].scattered_line_cycles = {std::vector<double>{0, 8, 10, 16}[level]};
  return nest ? analytic_model(m)->predict_ns(*nest, 16384.0) : 0;
}

TEST(AnalyticModel, lanes_whole_pages_apart_drive_each_other_out_of_the_first_cache) {
  // Z and X of a filter along 64 rows of 64 KB: 2.1 ms with 16 rows in lanes, 1.8 with 8, 0.6 one after the other.
  EXPECT_GT(lanes_over_rows(16, 16384), 1.5 * lanes_over_rows(16, 16400));
  EXPECT_GT(lanes_over_rows(8, 16384), 1.5 * lanes_over_rows(8, 16400)) << "another array's rows want the same sets";
}

/// Nanoseconds a kilobyte of a copy whose two arrays take so much of the last cache together.
double copying_share(double share) {
  const auto n = std::to_string(static_cast<int64_t>(share * (16 << 20) / 8 / 16) * 16);
  const auto nest = parse_loop_nest("nest 1 copy class reassoc\nloops i, v\nbuffer X: f32[" + n +
                                    "] argument align 4\nbuffer Y: f32[" + n +
                                    "] argument align 4 output\narguments X, Y\nbody {\nfor i in 0 .. " + n +
                                    " step 16 { for v in 0 .. 16 vector 16 { compute 0(i + v) store: Y[i + v] <- "
                                    "X[i + v] } }\n}\n");
  EXPECT_TRUE(nest) << nest.error().message;
  return nest ? analytic_model(machine())->predict_ns(*nest) / share : 0;
}

TEST(AnalyticModel, the_last_cache_keeps_a_part_of_what_is_too_large_for_it) {
  const double inside = copying_share(0.98), beyond = copying_share(8);
  EXPECT_GT(beyond, 1.5 * inside);
  EXPECT_LT(copying_share(1.04), inside + 0.2 * (beyond - inside));
  double last = inside;
  for (const double share : {1.02, 1.1, 1.3, 1.6, 2.0, 3.0}) {
    const double now = copying_share(share);
    EXPECT_GE(now, last) << share;
    EXPECT_LE(now, beyond) << share;
    last = now;
  }
}

/// Two stencils of seven taps, one behind the other, both in registers: blocks of `rows` rows of 32 columns.
double two_stencils(int rows, const Machine& m) {
  const std::string r = std::to_string(rows), trips = std::to_string(512 / rows);
  const std::string row = "for y in 0 .. " + r + " unroll { ";
  const auto nest = parse_loop_nest(
      "nest 1 stencils class reassoc\nloops t, y, s, x, v\nbuffer X: f32[1024, 64] argument align 4\n"
      "buffer Y: f32[1024, 32] argument align 4 output\nbuffer A: f32[" +
      r +
      ", 38] reg align 64 element [$0, $1]\n"
      "buffer B: f32[" +
      r + ", 32] reg align 64 element [$0, $1]\narguments X, Y\nbody {\nfor t in 0 .. " + trips +
      " { alloc A { seq { " + row +
      "seq { for x in 0 .. 5 unroll { for v in 0 .. min(8, -8*x + 38) vector 8 { "
      "compute 0(y, x, v) init sum: A[y, 8*x + v] } } for s in 0 .. 7 unroll { for x in 0 .. 5 unroll { "
      "for v in 0 .. min(8, -8*x + 38) vector 8 { compute 0(y, x, v, s) accumulate sum fused: A[y, 8*x + v] <- "
      "(X[" +
      r + "*t + y + s, 8*x + v] * 0.5:f32) } } } } } alloc B { seq { " + row +
      "seq { for x in 0 .. 4 unroll { for v in 0 .. 8 vector 8 { compute 1(y, x, v) init sum: B[y, 8*x + v] } } "
      "for s in 0 .. 7 unroll { for x in 0 .. 4 unroll { for v in 0 .. 8 vector 8 { compute 1(y, x, v, s) accumulate "
      "sum fused: B[y, 8*x + v] <- (A[y, s + 8*x + v] * 0.5:f32) } } } } } " +
      row + "for x in 0 .. 4 unroll { for v in 0 .. 8 vector 8 { compute 2(y, x, v) store: Y[" + r +
      "*t + y, 8*x + v] <- B[y, 8*x + v] } } } } } } }\n}\n}\n");
  EXPECT_TRUE(nest) << nest.error().message;
  return nest ? analytic_model(m)->predict_ns(*nest) : 0;
}

TEST(AnalyticModel, what_another_statement_left_in_registers_counts_beside_the_sums) {
  // Two rows: 10 and 8 vectors of 16 registers or 32.
  const Machine few = test::machine_with(32, 16, {48 << 10, 2 << 20, 16 << 20}),
                many = test::machine_with(32, 32, {48 << 10, 2 << 20, 16 << 20});
  EXPECT_GT(two_stencils(2, few), 1.1 * two_stencils(2, many));
  EXPECT_LT(two_stencils(1, few), 1.01 * two_stencils(1, many));
}

}  // namespace
}  // namespace polyweft
