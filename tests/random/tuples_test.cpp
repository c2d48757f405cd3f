// Reductions whose state has several components (argmax with its value, combiners): accumulators, lanes, parts. Every
// judge (text, replay, verifier, evaluator, interpreter, tags, machine code behind guard pages, checker) agrees;
// changed merges are refuted; ties and NaN.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "ir/oracles/evaluator.h"
#include "ir/oracles/interpreter.h"
#include "lang/parser.h"
#include "machines.h"
#include "poly/check/checker.h"
#include "random/pairs.h"
#include "schedules/queries.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"
#include "targets/kernels.h"

namespace polyweft::random_test {
namespace {

using TupleSizes = std::pair<int64_t, int64_t>;

/// With quotients, so that they stay combiners (ir/normalize/combiner_stages.h).
constexpr const char* kOnline =
    "combine online((m, s), (n, t)): (f32, f32) from (-inf, 0) associative commutative =\n"
    "  (max(m, n), select(m == -inf, 0, s / exp(max(m, n) - m)) + select(n == -inf, 0, t / exp(max(m, n) - n)))\n";

std::string head(const std::string& name, TupleSizes sizes) {
  return "program " + name + "(M = " + std::to_string(sizes.first) + ", N = " + std::to_string(sizes.second) +
         ") assume N >= " + std::to_string(std::min<int64_t>(sizes.second, 1)) + "\n";
}
std::string logsumexp(TupleSizes sizes) {
  return head("lse", sizes) + "in X: f32[M, N]\n" + kOnline +
         "let (m, s)[i: M] = reduce online[j: N] (X[i, j], 1)\nout Y[i: M] = m[i]\nout Z[i: M] = s[i]\n";
}
std::string argument(const std::string& reducer, const std::string& type, TupleSizes sizes) {
  return head("best", sizes) + "in X: " + type + "[M, N]\nout p[i: M] = " + reducer + "[j: N] X[i, j]\n";
}
/// Two components of integers: exact, so that whole numbers must agree bit for bit.
std::string count_of_greatest(TupleSizes sizes) {
  return head("ties", sizes) +
         "in X: i32[M, N]\n"
         "combine more((m, c), (n, d)): (i32, i32) from (-2147483648, 0) associative commutative =\n"
         "  (max(m, n), select(m == max(m, n), c, 0) + select(n == max(m, n), d, 0))\n"
         "let (m, c)[i: M] = reduce more[j: N] (X[i, j], 1)\nout Y[i: M] = m[i]\nout Z[i: M] = c[i]\n";
}
constexpr const char* kAttention =
    "program attention(S = 7, K = 13, D = 10)\nin A: f32[S, K]\nin V: f32[K, D]\n"
    "combine online((m, s, o), (n, t, q)): (f32, f32, f32) from (-inf, 0, 0) associative commutative =\n"
    "  (max(m, n), select(m == -inf, 0, s / exp(max(m, n) - m)) + select(n == -inf, 0, t / exp(max(m, n) - n)),\n"
    "   select(m == -inf, 0, o / exp(max(m, n) - m)) + select(n == -inf, 0, q / exp(max(m, n) - n)))\n"
    "let (m, s, o)[i: S, d: D] = reduce online[j: K] (A[i, j], 1, V[j, d])\nout O[i: S, d: D] = o[i, d] / s[i, d]\n";
constexpr const char* kCorner =
    "program corner(B = 3, M = 7, N = 11)\nin X: f32[B, M, N]\nlet (bi, bj)[b: B] = argmax[i: M, j: N] X[b, i, j]\nout "
    "I[b: B] = bi[b]\nout J[b: B] = bj[b]\n";

/// $ is the statement that folds the tuple.
constexpr std::array kRowSteps = {
    "accumulate $ at i reg",
    "tile $ [i: 4]\n accumulate $ at i.1 reg\n unroll $ i",
    "tile $ [i: 8]\n accumulate $ at i.1 reg\n vectorize $ i 8",
    "accumulate $ at root stack\n unroll $ i",
    "accumulate $ at i reg\n vectorize $ j 8",
    "tile $ [j: 16]\n permute $ [i, j.1, j]\n accumulate $ at i reg\n vectorize $ j 4",
    "tile $ [j: 9]\n permute $ [i, j.1, j]\n accumulate $ at i reg\n vectorize $ j 3",
    "tile $ [i: 4, j: 4]\n permute $ [i.1, j.1, i, j]\n accumulate $ at i.1 reg\n unroll $ i\n vectorize $ j 4",
    "accumulate $ at i reg\n rfactor $ j in 4",
    "tile $ [j: 8]\n permute $ [i, j.1, j]\n accumulate $ at i reg\n vectorize $ j 4\n rfactor $ j in 3\n parallel $ i",
    "accumulate $ at root heap\n rfactor $ j in 2\n parallel $ j.p"};

Program parsed_tuples(const std::string& text) {
  auto file = lang::parse(text, "test.weft");
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
  return file->programs.front();
}
Program normalized(const Program& source) {
  auto binding = make_binding(source, {});
  EXPECT_TRUE(binding.ok());
  return polyweft::normalize(polyweft::bind(source, *binding));
}
std::string folding_statement(const Program& program) {
  auto t = schedules::base_template(program, NumericsClass::reassoc);
  EXPECT_TRUE(t.ok());
  for (const Stage& stage : t->stages)
    if (stage.reduces && program.equations[stage.equation].targets.size() > 1) return stage.name;
  return "";
}
Trace trace_of(const Program& program, std::string steps) {
  const std::string statement = folding_statement(program);
  for (size_t at = steps.find('$'); at != std::string::npos; at = steps.find('$')) steps.replace(at, 1, statement);
  auto trace = parse_trace("trace 1\n " + steps + "\n");
  EXPECT_TRUE(trace.ok()) << steps;
  return *trace;
}
Result<LoopNest> nest_of(const Program& program, const Trace& trace, NumericsClass cls) {
  auto t = schedules::replay(program, cls, trace);
  if (!t) return t.error();
  return instantiate(*t, values_of(t->trace));
}

void expect_agreement(const std::string& text, const std::string& steps, NumericsClass cls = NumericsClass::reassoc) {
  Pair pair;
  pair.source = parsed_tuples(text);
  pair.trace = trace_of(normalized(pair.source), steps);
  pair.cls = cls;
  pair.whole_numbers = text.find("exp(") == std::string::npos;
  pair.ask_checker = true;
  pair.threads = 2;
  const Judgement judgement = judge(pair);
  EXPECT_EQ(judgement.outcome, Outcome::agreed) << judgement.kind << ": " << judgement.message << "\n"
                                                << described(pair);
  EXPECT_FALSE(judgement.not_decided) << judgement.undecided_why << "\n" << described(pair);
}

TEST(Tuples, combiners_in_registers_lanes_and_parts) {
  for (const char* steps : kRowSteps) {
    for (const TupleSizes& sizes : {TupleSizes{5, 37}, TupleSizes{8, 16}, TupleSizes{1, 1}, TupleSizes{3, 0}})
      expect_agreement(logsumexp(sizes), steps);
    for (const TupleSizes& sizes : {TupleSizes{3, 31}, TupleSizes{2, 0}})
      expect_agreement(count_of_greatest(sizes), steps);
  }
}

TEST(Tuples, arguments_in_registers_lanes_and_parts_in_every_class) {
  for (const char* steps : kRowSteps) {
    expect_agreement(argument("argmax", "f32", {5, 37}), steps, NumericsClass::strict);
    expect_agreement(argument("argmin", "f32", {8, 16}), steps, NumericsClass::contract);
    expect_agreement(argument("argmax", "i16", {3, 29}), steps, NumericsClass::reassoc);
    expect_agreement(argument("argmin", "f64", {1, 1}), steps, NumericsClass::strict);
    expect_agreement(argument("argmin", "f16", {2, 19}), steps, NumericsClass::reassoc);
  }
}

TEST(Tuples, several_data_and_reduced_indices) {
  for (const char* steps :
       {"tile $ [d: 8]\n permute $ [i, d.1, j, d]\n accumulate $ at d.1 reg\n vectorize $ d 8",
        "tile $ [i: 2, d: 8]\n accumulate $ at d.1 reg\n unroll $ i\n vectorize $ d 4",
        "tile $ [i: 4]\n permute $ [d, i.1, i, j]\n accumulate $ at i.1 reg\n vectorize $ i 4",
        "tile $ [j: 5, d: 8]\n permute $ [i, j.1, d.1, j, d]\n accumulate $ at d.1 reg\n vectorize $ d 8",
        "tile $ [d: 8]\n permute $ [i, d.1, j, d]\n accumulate $ at d.1 reg\n vectorize $ d 8\n rfactor $ j in 3\n "
        "parallel $ i"})
    expect_agreement(kAttention, steps);
  for (const char* steps :
       {"permute $ [b, j, i]\n accumulate $ at b reg", "accumulate $ at b reg\n vectorize $ j 4",
        "accumulate $ at b reg\n vectorize $ i 4",
        "tile $ [i: 3, j: 4]\n permute $ [b, j.1, i.1, i, j]\n accumulate $ at b reg\n vectorize $ j 4",
        "tile $ [j: 4]\n permute $ [b, i, j.1, j]\n accumulate $ at b stack\n rfactor $ i in 3\n parallel $ b"})
    expect_agreement(kCorner, steps, NumericsClass::strict);
}

constexpr const char* kSoftmax =
    "let (m, s)[i: M] = reduce online[j: N] (X[i, j], 1)\nout Y[i: M, j: N] = exp(X[i, j] - m[i]) / s[i]\n";

TEST(Tuples, a_state_is_made_where_its_reader_wants_it) {
  for (const TupleSizes& sizes : {TupleSizes{5, 37}, TupleSizes{8, 16}, TupleSizes{1, 1}})
    for (const char* steps : {"tile Y [i: 2]\n permute Y [i.1, i, j]\n compute_at $ in Y at i.1 heap",
                              "compute_at $ in Y at i stack\n accumulate $ at i reg\n vectorize $ j 8",
                              "tile Y [i: 3]\n permute Y [i.1, i, j]\n compute_at $ in Y at i.1 heap\n tile $ [j: 4]\n "
                              "permute $ [i, j.1, j]\n accumulate $ at i reg\n "
                              "vectorize $ j 4\n vectorize Y j 4",
                              "accumulate $ at i reg\n vectorize $ j 4\n fuse Y into $ at i"})
      expect_agreement(head("p", sizes) + "in X: f32[M, N]\n" + kOnline + kSoftmax, steps);
}

/// Scores, their maximum, weights and weighted sums of a block of keys are made inside the loop that folds blocks,
/// which runs inside the output's loop.
constexpr const char* kBlocks =
    "program blocks(L = 7, const B = 3, const W = 5, const D = 10)\nin Q: f32[L, D]\nin K: f32[B * W, D]\nin V: f32[B "
    "* W, D]\n"
    "combine online((m, s, o), (n, t, q)): (f32, f32, f32) from (-inf, 0, 0) associative commutative =\n"
    "  (max(m, n), select(m == -inf, 0, s / exp(max(m, n) - m)) + select(n == -inf, 0, t / exp(max(m, n) - n)),\n"
    "   select(m == -inf, 0, o / exp(max(m, n) - m)) + select(n == -inf, 0, q / exp(max(m, n) - n)))\n"
    "let a[i: L, b: B, j: W] = sum[d: D] Q[i, d] * K[W * b + j, d]\nlet x[i: L, b: B] = max[j: W] a[i, b, j]\n"
    "let e[i: L, b: B, j: W] = exp(a[i, b, j] - x[i, b])\nlet y[i: L, b: B] = sum[j: W] e[i, b, j]\nlet z[i: L, b: B, "
    "d: D] = sum[j: W] e[i, b, j] * V[W * b + j, d]\n"
    "let (m, s, o)[i: L, d: D] = reduce online[b: B] (x[i, b], y[i, b], z[i, b, d])\nout O[i: L, d: D] = o[i, d] / "
    "s[i, d]\n";

TEST(Tuples, online_attention_in_blocks) {
  const std::string inside =
      "compute_at z in $ at b heap\n compute_at y in $ at b heap\n compute_at e in $ at b heap layout [d1, d2, d0]\n "
      "compute_at x in $ at b heap\n compute_at a in $ at "
      "b heap\n";
  for (const std::string& steps :
       {"tile O [i: 4, d: 8]\n permute O [i.1, i, d.1, d]\n compute_at $ in O at i.1 heap\n tile $ [d: 8]\n permute $ "
        "[b, i, d.1, d]\n " +
            inside + "vectorize $ d 8\n vectorize O d 8",
        "tile $ [i: 4]\n permute $ [i.1, b, i, d]\n accumulate $ at i.1 heap\n " + inside + "fuse O into $ at i.1",
        "permute $ [i, b, d]\n " + inside + "parallel $ i"})
    expect_agreement(kBlocks, steps);
}

/// No operator is named anywhere: the first sketch keeps the state in registers, with lanes along a dense reduced index
/// or along the outputs.
TEST(Tuples, sketches_give_them_registers_and_lanes) {
  struct Wanted {
    std::string text, step;
  };
  const TupleSizes sizes{6, 70};
  const Wanted wanted[] = {
      {argument("argmax", "f32", sizes), "vectorize p j 16"},
      {head("c", sizes) + "in X: f32[N, M]\nout p[i: N] = argmin[j: M] X[i, j]\n", "accumulate p at i reg"},
      {head("c", sizes) + "in X: f32[M, N]\nout p[j: N] = argmin[i: M] X[i, j]\n", "vectorize p j 16"},
      {logsumexp(sizes), "vectorize m j 16"},
      {head("p", sizes) + "in X: f32[M, N]\n" + kOnline + kSoftmax, "compute_at m in Y"},
      {kAttention, "vectorize m d 16"},
      {kCorner, "vectorize bi j"}};
  for (const auto& [text, step] : wanted)
    for (const int threads : {1, 2}) {
      Pair pair;
      pair.source = parsed_tuples(text);
      const auto traces = schedules::sketches(normalized(pair.source), NumericsClass::reassoc,
                                              test::machine_with(64, 32, {48 << 10, 2 << 20}, threads));
      ASSERT_FALSE(traces.empty());
      bool is_there = false;
      for (const Trace& trace : traces) {
        is_there |= trace.text().find(step) != std::string::npos;
        pair.trace = trace;
        pair.ask_checker = true;
        pair.threads = threads;
        const Judgement judgement = judge(pair);
        EXPECT_EQ(judgement.outcome, Outcome::agreed) << judgement.kind << ": " << judgement.message << "\n"
                                                      << described(pair);
        EXPECT_FALSE(judgement.not_decided) << judgement.undecided_why << "\n" << described(pair);
      }
      EXPECT_TRUE(is_there) << step << " in no sketch, the first is\n" << traces.front().text();
    }
}

/// Rows with ties, NaN and infinities, as LANGUAGE.md section 4 answers them: a NaN wins, ties and NaN go to the first
/// index.
struct Row {
  std::array<float, 11> values;
  int64_t argmax, argmin;
};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
constexpr std::array kRows = {Row{{1, 5, 2, 5, 1, 5, 0, 0, 3, 4, 0}, 1, 6},
                              Row{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10}, 9, 0},
                              Row{{1, kNan, 9, kNan, 0, 0, 0, 0, 0, 0, 0}, 1, 1},
                              Row{{9, 9, 9, 9, 9, 9, 9, 9, 9, 9, kNan}, 10, 10},
                              Row{{-kInf, -kInf, -kInf, -kInf, -kInf, -kInf, -kInf, -kInf, -kInf, -kInf, -kInf}, 0, 0},
                              Row{{kInf, kInf, kInf, kInf, kInf, kInf, kInf, kInf, kInf, kInf, kInf}, 0, 0},
                              Row{{-1, 0.0f, -0.0f, -2, 0.0f, -2, -2, -0.0f, -3, -3, -1}, 1, 8},
                              Row{{-kInf, 1, kInf, kNan, kInf, 2, kNan, -kInf, kInf, 1, -kInf}, 3, 3}};

TEST(Tuples, ties_and_nan_give_the_first_index_in_every_schedule) {
  constexpr int64_t kColumns = 11, kCount = static_cast<int64_t>(kRows.size());
  TensorData data = make_tensor(ElementType::f32, {kCount, kColumns});
  for (int64_t i = 0; i < kCount; ++i)
    for (int64_t j = 0; j < kColumns; ++j)
      data.set(i * kColumns + j,
               Literal{ElementType::f32, kRows[static_cast<size_t>(i)].values[static_cast<size_t>(j)], 0});
  for (const bool is_max : {true, false})
    for (const char* steps : kRowSteps) {
      const Program program =
          normalized(parsed_tuples(argument(is_max ? "argmax" : "argmin", "f32", {kCount, kColumns})));
      auto nest = nest_of(program, trace_of(program, steps), NumericsClass::strict);
      ASSERT_TRUE(nest.ok()) << steps << ": " << nest.error().message;
      const auto wanted = ir::evaluate(program, {data});
      const auto got = ir::interpret(*nest, {data});
      ASSERT_TRUE(wanted.ok() && got.ok());
      targets_test::Loaded loaded = targets_test::load(*nest, *find_target("x86-64"));
      std::vector<TensorData> arguments = {data, make_tensor(ElementType::i64, {kCount})};
      ASSERT_EQ(targets_test::call(loaded.code->address(nest->name), arguments), 0);
      for (int64_t i = 0; i < kCount; ++i) {
        const Row& row = kRows[static_cast<size_t>(i)];
        const int64_t right = is_max ? row.argmax : row.argmin;
        EXPECT_EQ(wanted->tensors[0].at(i).i, right) << "evaluator, row " << i;
        EXPECT_EQ(got->tensors[0].at(i).i, right) << "interpreter, row " << i << "\n" << steps;
        EXPECT_EQ(arguments[1].at(i).i, right) << "code, row " << i << "\n" << steps;
      }
    }
}

std::string described_error(const Error& error) {
  std::string out = error.code + " " + error.message;
  for (const auto& note : error.notes) out += "\n" + note;
  return out;
}

TEST(Tuples, order_that_counts_is_refused_with_a_pair) {
  const std::string first = "combine first((a, h), (b, k)): (f32, i32) from (0, 0)",
                    body = " = (select(h == 1, a, b), max(h, k))\n";
  const std::string rest =
      "in X: f32[M, N]\nlet (a, h)[i: M] = reduce first[j: N] (X[i, j], 1)\nout Y[i: M] = a[i]\nout H[i: M] = h[i]\n";
  struct Refusal {
    std::string promises, steps, why;
    NumericsClass cls;
  };
  const std::string pair = "[i=0, j=0] comes before ";
  const Refusal refusals[] = {
      {" associative", "accumulate $ at i reg\n rfactor $ j in 2",
       "combiner first is not commutative, parts would change it", NumericsClass::reassoc},
      {" associative", "accumulate $ at i reg\n vectorize $ j 4",
       "combiner first is not commutative, lanes would change it", NumericsClass::reassoc},
      {" commutative", "accumulate $ at i reg\n vectorize $ j 4",
       "combiner first is not associative, lanes would change it", NumericsClass::reassoc},
      {" commutative", "accumulate $ at i reg\n rfactor $ j in 2",
       "combiner first is not associative, parts would change it", NumericsClass::reassoc},
      {" associative commutative", "accumulate $ at i reg\n vectorize $ j 4",
       "class strict keeps the order of this reduction, lanes would change it", NumericsClass::strict},
      {" associative commutative", "accumulate $ at i reg\n rfactor $ j in 2",
       "class contract keeps the order of this reduction, parts would change it", NumericsClass::contract}};
  for (const Refusal& refusal : refusals) {
    const Program program = normalized(parsed_tuples(head("p", {3, 9}) + first + refusal.promises + body + rest));
    const auto nest = nest_of(program, trace_of(program, refusal.steps), refusal.cls);
    ASSERT_FALSE(nest.ok()) << refusal.steps;
    EXPECT_EQ(nest.error().code, "PW0307");
    EXPECT_NE(described_error(nest.error()).find(refusal.why), std::string::npos) << described_error(nest.error());
    EXPECT_NE(described_error(nest.error()).find(pair), std::string::npos) << described_error(nest.error());
  }
  // In registers, in their order, every combiner may be folded.
  const std::string text = head("p", {3, 9}) + first + body + rest;
  for (const char* steps : {"accumulate $ at i reg", "tile $ [i: 2]\n accumulate $ at i.1 reg\n unroll $ i",
                            "tile $ [i: 4, j: 3]\n accumulate $ at i.1 reg\n vectorize $ i 4"})
    expect_agreement(text, steps, NumericsClass::strict);
  const auto reversed =
      "program q(M = 2, N = 3, K = 4)\n" + first + body +
      "in X: f32[M, N, K]\nlet (a, h)[i: M] = reduce first[j: N, k: K] (X[i, j, k], 1)\nout Y[i: M] = a[i]\n";
  const Program program = normalized(parsed_tuples(reversed));
  const auto nest = nest_of(program, trace_of(program, "permute $ [i, k, j]"), NumericsClass::reassoc);
  ASSERT_FALSE(nest.ok());
  EXPECT_EQ(nest.error().code, "PW0305");
  EXPECT_NE(described_error(nest.error())
                .find("combiner first is not associative, and loop j inside a loop over k reverses it"),
            std::string::npos)
      << described_error(nest.error());
}

TEST(Tuples, windows_of_states_do_not_slide) {
  const Program program = normalized(parsed_tuples(head("p", {5, 9}) + "in X: f32[M, N]\n" + kOnline + kSoftmax));
  const auto nest = nest_of(program, trace_of(program, "compute_at $ in Y at i heap slide"), NumericsClass::reassoc);
  ASSERT_FALSE(nest.ok());
  EXPECT_EQ(nest.error().code, "PW0315") << described_error(nest.error());
  EXPECT_NE(described_error(nest.error()).find("makes one tensor a statement"), std::string::npos)
      << described_error(nest.error());
}

TEST(Tuples, hosts_stand_at_the_root_or_before_their_readers) {
  const std::string text = head("p", {5, 9}) + "in X: f32[M, N]\n" + kOnline +
                           "let q[i: M] = sum[j: N] X[i, j]\nlet (m, s)[i: M] = reduce online[j: N] (X[i, j], 1)\nout "
                           "Y[i: M, j: N] = exp(X[i, j] - m[i]) / s[i] + q[i]\n";
  const Program program = normalized(parsed_tuples(text));
  const auto nest =
      nest_of(program, trace_of(program, "fuse Y into $ at i\n compute_at q in Y at i heap"), NumericsClass::reassoc);
  ASSERT_FALSE(nest.ok());
  EXPECT_EQ(nest.error().code, "PW0304");
  EXPECT_NE(described_error(nest.error()).find("the host runs at the end of another nest"), std::string::npos)
      << described_error(nest.error());
}

/// What a slip in a merge could look like: each must be refuted (by the verifier or the checker), none proven.
TEST(Tuples, changed_merges_are_refuted) {
  int changed = 0, caught = 0;
  const auto ask = [&](const Program& program, const LoopNest& nest, const std::string& what) {
    ++changed;
    const bool is_refused = !verify(nest) || poly::check_nest(program, nest).verdict == Verdict::refuted;
    caught += is_refused;
    EXPECT_TRUE(is_refused) << what << "\n" << print(nest);
  };
  const std::pair<std::string, NumericsClass> programs[] = {
      {logsumexp({3, 37}), NumericsClass::reassoc},
      {count_of_greatest({3, 37}), NumericsClass::reassoc},
      {argument("argmax", "f32", {3, 37}), NumericsClass::strict}};
  for (const auto& [text, cls] : programs)
    for (const char* steps : {kRowSteps[5], kRowSteps[7], kRowSteps[8], kRowSteps[10]}) {
      const Program program = normalized(parsed_tuples(text));
      auto made = nest_of(program, trace_of(program, steps), cls);
      ASSERT_TRUE(made.ok());
      for (size_t n = 0; n < made->nodes.size(); ++n) {
        LoopNest nest = *made;
        if (auto* loop = std::get_if<Loop>(&nest.nodes[n])) {
          const auto* inner = std::get_if<Compute>(&nest.nodes[loop->body]);
          if (!inner || inner->how != Write::merge) continue;
          loop->hi.of[0].constant -= 1;  // a lane or part left out
          if (loop->mark.kind == MarkKind::vector) loop->mark.width -= 1;
          ask(program, nest, "a merge left out");
        }
        auto* compute = std::get_if<Compute>(&nest.nodes[n]);
        if (!compute || compute->how != Write::merge) continue;
        const Compute right = *compute;
        std::swap(compute->rhs[0], compute->rhs[1]);
        ask(program, nest, "components exchanged");
        *compute = right;
        compute->rhs[1] = make_read(right.rhs[1]->type, right.dst[1]);
        ask(program, nest, "one component merged with itself");
        *compute = right;
        for (size_t k = 0; k < right.dst.size(); ++k) compute->rhs[k] = make_read(right.rhs[k]->type, right.dst[k]);
        ask(program, nest, "a state merged with itself");
        *compute = right;
        compute->reducer = right.reducer == Reducer::argmax ? Reducer::argmin : Reducer::argmax;
        ask(program, nest, "another reducer");
      }
    }
  EXPECT_GE(changed, 60);
  EXPECT_EQ(caught, changed);
}

}  // namespace
}  // namespace polyweft::random_test
