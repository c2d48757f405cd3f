// What the checker settles by arithmetic against what isl says: the same last writers of every read, the same verdict
// on every nest.
#include "bands_harness.h"
#include "poly/base_nest.h"
#include "poly/check/checker.h"
#include "poly/check/flow.h"
#include "poly/check/images.h"
#include "poly/check/views.h"
#include "random_pairs.h"
#include "samples.h"

namespace polyweft::test {
namespace {

using namespace poly;
using namespace poly::checker;

void collect_reads(const Expr& e, std::vector<const Access*>& out) {
  if (!e) return;
  for (const Expr& arg : e->args) collect_reads(arg, out);
  if (e->op == Op::read) out.push_back(&e->access);
}

std::vector<const Access*> reads_of(const Statement& s) {
  std::vector<const Access*> out;
  if (s.copy && s.copy->has_src) out.push_back(&s.copy->src);
  if (!s.compute) return out;
  for (const Access& dst : s.compute->dst)
    out.push_back(&dst);  // state, where it folds; else a question as good as any
  for (const Expr& e : s.compute->rhs) collect_reads(e, out);
  return out;
}

struct Answer {
  Writers writers;
  bool misses = false;
  Set missing;
};

Answer ask(Flow& flow, const Statement& s, const Access& access) {
  Answer out{{}, false, Set(isl_set_empty(s.space.copy()))};
  out.writers = flow.last_writers(s.number, access, s.domain, &out.misses, &out.missing);
  return out;
}

bool agree(const Answer& a, const Answer& b) {
  if (a.misses != b.misses || a.writers.size() != b.writers.size()) return false;
  if (a.misses && !yes(isl_set_is_equal(a.missing.get(), b.missing.get()))) return false;
  for (const auto& [writer, pairs] : a.writers)
    if (!b.writers.count(writer) || !yes(isl_map_is_equal(pairs.get(), b.writers.at(writer).get()))) return false;
  return true;
}

struct ArithmeticCounts {
  int reads = 0, settled = 0, nests = 0, proven = 0, refuted = 0, images = 0, inverted = 0;
};

/// By buffer: the statements that write it, and where.
std::map<BufferId, std::vector<std::pair<size_t, const Access*>>> writes_of(const Statements& statements) {
  std::map<BufferId, std::vector<std::pair<size_t, const Access*>>> out;
  for (const Statement& s : statements.all) {
    if (s.copy) out[s.copy->dst.id].push_back({s.number, &s.copy->dst});
    if (s.compute)
      for (const Access& dst : s.compute->dst) out[dst.id].push_back({s.number, &dst});
  }
  return out;
}

void compare_flows(const Program& program, const LoopNest& nest, ArithmeticCounts& counts) {
  Context context;
  context.set_quota(5'000'000);
  Statements statements = statements_of(context, nest);
  Flow by_isl(context, program, nest, statements, false), by_both(context, program, nest, statements, true);
  auto writes = writes_of(statements);
  WindowFacts windows;
  for (const Statement& s : statements.all)
    for (const Access* access : reads_of(s)) {
      if (by_isl.is_input(access->id)) continue;
      bool is_settled =
          find_last_writers(nest, statements, {s.number, access, &s.domain, &writes[access->id]}, windows).has_value();
      ++counts.reads;
      counts.settled += is_settled;
      if (!is_settled) continue;
      ASSERT_TRUE(agree(ask(by_isl, s, *access), ask(by_both, s, *access)))
          << "statement " << s.number << " reads " << nest.buffers[access->id].name << "\n"
          << print(nest);
    }
}

/// Intervals hold the iterations, and every form of a coordinate is the coordinate.
void compare_views(const LoopNest& nest) {
  Context context;
  context.set_quota(5'000'000);
  const Statements statements = statements_of(context, nest);
  for (const Statement& s : statements.all)
    for (const Access* access : reads_of(s)) {
      const auto view = view_of(nest, statements, s.number, *access);
      if (!view) continue;
      for (unsigned d = 0; d < view->dimensions(); ++d) {
        const Set outside = intersect(
            s.domain, holds(guard_any({guard_ge0(Affine::of(view->box[d].least - 1) - Affine::variable(d)),
                                       guard_ge0(Affine::variable(d) - Affine::of(view->box[d].greatest + 1))}),
                            s.space));
        EXPECT_TRUE(is_empty(outside)) << "statement " << s.number << ", dimension " << d << "\n" << print(nest);
      }
      for (size_t x = 0; x < view->cell.size(); ++x)
        for (const Affine& form : view->forms[x])
          EXPECT_TRUE(is_empty(intersect(s.domain, differs(form - view->cell[x], s.space))))
              << "statement " << s.number << ", coordinate " << x << "\n"
              << print(nest);
    }
}

/// Cells by quotients against isl's projection, and whether statements together reach what they reach, and still do
/// without the last one.
void compare_images(const LoopNest& nest, ArithmeticCounts& counts) {
  Context context;
  context.set_quota(20'000'000);
  const Statements statements = statements_of(context, nest);
  std::map<BufferId, std::vector<View>> writers;
  for (const Statement& s : statements.all) {
    std::vector<const Access*> written;
    if (s.copy) written.push_back(&s.copy->dst);
    if (s.compute)
      for (const Access& dst : s.compute->dst) written.push_back(&dst);
    for (const Access* access : written)
      if (auto view = view_of(nest, statements, s.number, *access)) writers[access->id].push_back(*std::move(view));
  }
  for (const auto& [id, views] : writers) {
    const Space cells = named_space(context, "B", views.front().cell.size());
    Set all(isl_set_empty(cells.copy())), but_last = all;
    std::vector<const View*> every;
    for (const View& view : views) {
      const Set projected = apply(view.s->domain, map_of(view.s->space, view.cell, "B")),
                reached = cells_reached(view, cells);
      EXPECT_TRUE(yes(isl_set_is_equal(projected.get(), reached.get())))
          << nest.buffers[id].name << ", statement " << view.s->number << "\n"
          << print(nest);
      ++counts.images;
      counts.inverted += iteration_of_cell(view).has_value();
      but_last = all;
      all = unite(std::move(all), projected);
      every.push_back(&view);
    }
    EXPECT_TRUE(are_reached(all, every, cells)) << nest.buffers[id].name << "\n" << print(nest);
    every.pop_back();
    EXPECT_EQ(are_reached(all, every, cells), is_subset(all, but_last)) << nest.buffers[id].name << "\n" << print(nest);
  }
}

void compare_verdicts(const Program& program, const LoopNest& nest, ArithmeticCounts& counts) {
  NestCheckLimits slow;
  slow.by_arithmetic = false;
  NestCheck a = check_nest(program, nest), b = check_nest(program, nest, slow);
  ++counts.nests;
  counts.proven += a.verdict == Verdict::proven;
  counts.refuted += a.verdict == Verdict::refuted;
  EXPECT_EQ(a.verdict, b.verdict) << a.code << " " << a.message << "\nby isl: " << b.code << " " << b.message << "\n"
                                  << print(nest);
  EXPECT_EQ(a.code, b.code) << print(nest);
}

/// One number of the body changes by one; nothing where that is no nest.
std::optional<LoopNest> nudged(const LoopNest& nest, Rng& rng) {
  std::string text = print(nest);
  std::vector<size_t> at;
  for (size_t k = text.find("\nbody"); k + 1 < text.size(); ++k)
    if (std::isdigit(static_cast<unsigned char>(text[k])) &&
        (text[k - 1] == ' ' || text[k - 1] == '[' || text[k - 1] == '-'))
      at.push_back(k);
  if (at.empty()) return std::nullopt;
  size_t k = pick(rng, at), end = k;
  while (std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
  long value = std::stol(text.substr(k, end - k)) + (rng.below(2) ? 1 : -1);
  if (value < 0) return std::nullopt;
  auto parsed = parse_loop_nest(text.replace(k, end - k, std::to_string(value)));
  if (!parsed || !verify(*parsed).ok()) return std::nullopt;
  return *std::move(parsed);
}

void compare(const Program& program, const LoopNest& nest, Rng& rng, int mutants, ArithmeticCounts& counts) {
  compare_flows(program, nest, counts);
  compare_verdicts(program, nest, counts);
  compare_views(nest);
  compare_images(nest, counts);
  for (int k = 0; k < mutants; ++k) {
    auto mutant = nudged(nest, rng);
    if (!mutant) continue;
    compare_flows(program, *mutant, counts);
    compare_verdicts(program, *mutant, counts);
  }
}

TEST(ArithmeticOfTheChecker, agrees_with_isl_on_random_nests_and_mutants) {
  ArithmeticCounts counts;
  const int pairs = std::getenv("PW_RANDOM_PAIRS") ? std::atoi(std::getenv("PW_RANDOM_PAIRS"))
                    : takes_all_cases()            ? 60
                                                   : 10;
  for (int seed = 1; seed <= pairs; ++seed) {
    Rng rng(static_cast<uint64_t>(seed) * 7919);
    Program program = normalized_program(random_program(rng));
    auto base = base_nest(program, NumericsClass::reassoc);
    if (base) compare(program, *base, rng, 2, counts);
    auto nest = nest_of(program, random_trace(rng, program, NumericsClass::reassoc).text());
    if (nest) compare(program, *nest, rng, 3, counts);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
  std::printf("reads %d, settled by arithmetic %d; nests %d: proven %d, refuted %d\n", counts.reads, counts.settled,
              counts.nests, counts.proven, counts.refuted);
  EXPECT_GT(counts.settled, counts.reads / 2);
  EXPECT_GT(counts.inverted, counts.images / 4) << "of " << counts.images;
  EXPECT_GT(counts.refuted, counts.nests / 10);
}

/// Shapes that random programs reach rarely: several writers of one buffer, loops whose last iteration counts, digits
/// that do not match.
TEST(ArithmeticOfTheChecker, agrees_with_isl_on_a_packed_gemm_and_its_mutants) {
  ArithmeticCounts counts;
  Program program = normalized_program(gemm_text(), {{"M", 7}, {"N", 21}, {"K", 5}});
  const char* kTraces[] = {
      "trace 1\n  tile C [j: 16, k: 4, i: 6, j: 16, i: 3]\n  promote B at k.1 heap layout [j / 16, k, j % 16]\n  "
      "accumulate C at i.2 reg\n",
      "trace 1\n  tile C [k: 5, j: 16, i: 3]\n  permute C [k.1, j.1, i.1, k, i, j]\n  promote B in C at k.1 heap "
      "layout [d1 / 16, d0, d1 % 16]\n"
      "  accumulate C at i.1 reg\n  unroll C i\n  vectorize C j 8\n",
  };
  Rng rng(5);
  int made = 0;
  for (const char* trace : kTraces) {
    auto nest = nest_of(program, trace);
    if (!nest) continue;
    ++made;
    compare(program, *nest, rng, takes_all_cases() ? 60 : 20, counts);
  }
  EXPECT_GE(made, 1);
  std::printf("reads %d, settled by arithmetic %d; nests %d: proven %d, refuted %d\n", counts.reads, counts.settled,
              counts.nests, counts.proven, counts.refuted);
}

/// Of nests whose threads take turns.
void compare_turns(const Program& program, const LoopNest& nest, ArithmeticCounts& counts) {
  Context context;
  context.set_quota(20'000'000);
  Statements statements = statements_of(context, nest);
  Flow by_isl(context, program, nest, statements, false), by_both(context, program, nest, statements, true);
  auto writes = writes_of(statements);
  TimeOrder order(context, nest, statements);
  for (const Statement& s : statements.all)
    for (const Access* access : reads_of(s)) {
      if (by_isl.is_input(access->id)) continue;
      ++counts.reads;
      counts.settled += order.find({s.number, access, &s.domain, &writes[access->id]}).has_value();
      ASSERT_TRUE(agree(ask(by_isl, s, *access), ask(by_both, s, *access)))
          << "statement " << s.number << " reads " << nest.buffers[access->id].name << "\n"
          << print(nest);
    }
}

/// Threads that take turns between barriers, quotients of their numbers, copies ahead.
TEST(ArithmeticOfTheChecker, agrees_with_isl_on_blocks_of_threads_and_their_mutants) {
  ArithmeticCounts counts;
  const std::string tiles =
      "trace 1\n  tile C [i: 4, j: 4, k: 4, i: 2]\n  vectorize C j 4\n  permute C [i.1, j.1, i.2, k.1, k, i, j]\n  "
      "bind C i.1 to block_y\n  bind C j.1 to block_x\n  bind C i.2 to thread_y\n  accumulate C at i.2 reg\n";
  const std::string ends = "  unroll C i\n  bind C j.v to thread_x\n";
  const std::string kCopies[] = {
      "  promote A in C at k.1 shared\n  promote B in C at k.1 shared\n",
      "  promote A in C at k.1 shared vectors 4\n  promote B in C at k.1 shared vectors 2\n",
      "  promote A in C at k.1 shared\n  promote B in C at k.1 shared vectors 2\n  pipeline C k.1 by 2\n",
      "  promote A in C at k.1 shared vectors 2\n  promote B in C at k.1 shared vectors 4\n  pipeline C k.1 by 3\n"};
  Rng rng(11);
  for (const auto& [m, n, k] : {std::tuple{8, 8, 12}, {6, 8, 12}, {8, 8, 10}}) {
    const Program program = normalized_program(gemm_text(), {{"M", m}, {"N", n}, {"K", k}});
    for (const std::string& copies : kCopies) {
      const auto nest = nest_of(program, tiles + copies + ends);
      ASSERT_TRUE(nest) << copies;
      compare_turns(program, *nest, counts);
      compare_verdicts(program, *nest, counts);
      for (int mutant = 0; mutant < (takes_all_cases() ? 30 : 4); ++mutant) {
        const auto other = nudged(*nest, rng);
        if (!other) continue;
        compare_turns(program, *other, counts);
        compare_verdicts(program, *other, counts);
      }
    }
  }
  std::printf("reads %d, settled by arithmetic %d; nests %d: proven %d, refuted %d\n", counts.reads, counts.settled,
              counts.nests, counts.proven, counts.refuted);
  EXPECT_GT(counts.settled, counts.reads / 2);
  EXPECT_GT(counts.refuted, counts.nests / 4);
}

std::string causal_attention(int64_t s, int64_t d, const std::string& strip, const std::string& tile) {
  return "program causal(S = " + std::to_string(s) + ", D = " + std::to_string(d) +
         ", G = 2)\nin Q: f32[2*G, S, D]\nin K: f32[G, S, D]\nin V: f32[G, S, D]\nlet a[h: 2*G, i: S, j: 0..i+1] = "
         "sum[d: D] Q[h, i, d] * K[h // 2, j, d]\n"
         "let m[h: 2*G, i: S] = max[j: 0..i+1] a[h, i, j]\nlet p[h: 2*G, i: S, j: 0..i+1] = exp(a[h, i, j] - m[h, "
         "i])\nlet l[h: 2*G, i: S] = sum[j: 0..i+1] p[h, i, j]\n"
         "out O[h: 2*G, i: S, d: D] = (sum[j: 0..i+1] p[h, i, j] * V[h // 2, j, d]) / l[h, i]\n"
         "---trace 1\n tile O [i: " +
         strip +
         "]\n permute O [h, i.1, i, d]\n compute_at O.1 in O at i.1 heap\n compute_at l in O at i.1 heap\n compute_at "
         "p in O at i.1 heap\n"
         " compute_at m in O at i.1 heap\n compute_at a in O at i.1 heap\n tile a [" +
         tile + "]\n permute a [h, j.1, i.1, d, i, j]\n accumulate a at i.1 reg\n unroll a i\n vectorize a j 4\n";
}

void split_text(const std::string& text, std::string& program, std::string& trace) {
  const size_t at = text.find("---");
  program = text.substr(0, at);
  trace = text.substr(at + 3);
}

/// Strips of rows of a triangle: each tile on the diagonal is a copy of its own.
TEST(ArithmeticOfTheChecker, agrees_with_isl_on_strips_of_triangles) {
  std::string text, trace;
  split_text(causal_attention(21, 3, "8", "j: 8, i: 4"), text, trace);
  const Program program = normalized_program(text);
  auto nest = nest_of(program, trace);
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  EXPECT_EQ(difference(program, *nest, 5, ir::DataKind::random), "");
  ArithmeticCounts counts;
  Rng rng(3);
  compare(program, *nest, rng, takes_all_cases() ? 5 : 1, counts);
  std::printf("reads %d, settled by arithmetic %d; nests %d: proven %d, refuted %d; %d of %d images by quotients\n",
              counts.reads, counts.settled, counts.nests, counts.proven, counts.refuted, counts.inverted,
              counts.images);
}

/// By projections these take 7 to 11 million operations (17 to 33 s).
TEST(ArithmeticOfTheChecker, proves_strips_of_odd_triangles_in_few_questions) {
  for (const int64_t size : {101, 509}) {
    std::string text, trace;
    split_text(causal_attention(size, 64, "28", "j: 32, i: 4"), text, trace);
    const Program program = normalized_program(text);
    auto nest = nest_of(program, trace);
    ASSERT_TRUE(nest.ok()) << described(nest.error());
    const NestCheck found = check_nest(program, *nest);
    EXPECT_EQ(found.verdict, Verdict::proven) << found.code << " " << found.message;
    EXPECT_LT(found.isl_operations, 2'000'000u) << size;
  }
}

/// Panels of a factorization with blocks inside them: first values that one iteration writes, blocks on the diagonal
/// said by either coordinate, tiles in tiles.
TEST(ArithmeticOfTheChecker, agrees_with_isl_on_panels_and_their_mutants) {
  const Program program = normalized_program(
      "program lu(N = 9)\nin A0: f64[N, N]\nout A[i: N, j: i..N]: f64 = A0[i, j] - sum[k: 0..i] A[i, k] * A[k, j]\n"
      "out A[i: N, j: 0..i]: f64 = (A0[i, j] - sum[k: 0..j] A[i, k] * A[k, j]) / A[j, j]\n");
  const std::string band =
      "band lu [j, k, i] of A.1.first: [j, 0, i], A.2.first: [j, 0, i], A@1: [j, i, i], A@2: [j, j, i], A.1.folds: [j, "
      "k, i], A.2.folds: [j, k, i]\n";
  const std::string apart = "A.1.first, A.2.first, A.1.folds, A.2.folds in lu at ";
  const std::string blocks =
      "tile A.1.folds.far [j: 4, i: 2]; permute A.1.folds.far [i.1, j.1, k, i, j]; accumulate A.1.folds.far at j.1 "
      "reg; unroll A.1.folds.far i; vectorize A.1.folds.far "
      "j 2\n";
  const std::string traces[] = {
      band +
          "fold A.1 d1 mod 4; fold A.2 d1 mod 4\ntile lu [j: 4, k: 4, i: 4]; permute lu [j.1, k.1, i.1, k, j, "
          "i]\nisolate " +
          apart + "i.1 where j - k - 1, i - k - 1\ndistribute lu at k\n" + blocks,
      band +
          "fold A.1 d1 mod 8; fold A.2 d1 mod 8\ntile lu [j: 8, k: 8, i: 8, j: 4, k: 4, i: 4]; permute lu [j.1, k.1, "
          "i.1, j.2, k.2, i.2, k, j, i]\nisolate " +
          apart + "i.1 where j - k - 1, i - k - 1\nisolate " + apart +
          "i.2 where j - k - 1, i - k - 1\ndistribute lu at k\n" + blocks,
  };
  ArithmeticCounts counts;
  Rng rng(11);
  for (const std::string& steps : traces) {
    auto t = replayed(program, steps);
    ASSERT_TRUE(t.ok()) << described(t.error());
    auto nest = instantiate(*t, values_of(t->trace));
    ASSERT_TRUE(nest.ok()) << described(nest.error());
    compare(program, *nest, rng, takes_all_cases() ? 3 : 1, counts);
    if (!takes_all_cases()) break;
  }
  std::printf("reads %d, settled by arithmetic %d; nests %d: proven %d, refuted %d\n", counts.reads, counts.settled,
              counts.nests, counts.proven, counts.refuted);
  EXPECT_GE(counts.proven, 1);
}

/// Against all points of small boxes.
TEST(ArithmeticOfTheChecker, digits_are_all_zero_where_the_number_is) {
  int split = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Rng rng(seed * 31337);
    const int64_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 24};
    checker::Box box;
    Affine e = Affine::of(static_cast<int64_t>(rng.below(7)) - 3);
    for (VarId v = 0; v < 4; ++v) {
      const int64_t least = static_cast<int64_t>(rng.below(5)) - 3;
      box.push_back({least, least + static_cast<int64_t>(rng.below(5))});
      e = e + Affine::variable(v, sizes[rng.below(8)] * (rng.below(2) ? 1 : -1));
    }
    if (rng.below(3) == 0) e = e + 8 * floor_div(Affine::variable(0) + Affine::of(1), 2);
    const std::vector<Affine> parts = digits(e, box);
    split += parts.size() > 1;
    std::vector<int64_t> at(4);
    for (at[0] = box[0].least; at[0] <= box[0].greatest; ++at[0])
      for (at[1] = box[1].least; at[1] <= box[1].greatest; ++at[1])
        for (at[2] = box[2].least; at[2] <= box[2].greatest; ++at[2])
          for (at[3] = box[3].least; at[3] <= box[3].greatest; ++at[3]) {
            const bool is_zero =
                std::all_of(parts.begin(), parts.end(), [&](const Affine& part) { return evaluate(part, at) == 0; });
            ASSERT_EQ(is_zero, evaluate(e, at) == 0) << "seed " << seed;
          }
  }
  EXPECT_GT(split, 500);
}

}  // namespace
}  // namespace polyweft::test
