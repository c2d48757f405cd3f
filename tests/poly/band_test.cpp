#include "poly/band.h"

#include "band_oracle.h"
#include "corpus.h"
#include "support/rng.h"
#include "tests/generators/random_program.h"

namespace polyweft::poly_test {
namespace {

using poly::BandFacts;
using poly::BandQuestion;
using poly::Relation;

Program program_of(const std::string& text, const std::map<std::string, int64_t>& sizes = {}) {
  Program program = parsed(text);
  return normalize(polyweft::bind(program, *make_binding(program, sizes)));
}

constexpr const char* kHeat = R"(program heat(T = 6, N = 9)
in A0: f64[N]
let A[0, i: N] = A0[i]
let A[t: 1..T+1, i: 1..N-1] = A[t-1, i-1] + A[t-1, i+1]
let A[t: 1..T+1, i: N] where i == 0 or i == N-1 = A[t-1, i]
out R[i: N] = A[T, i])";

constexpr const char* kConv = R"(program conv(H = 8)
in X: f32[H+2, H+2]
in K: f32[3, 4]
out Y[y: H] = sum[r: 3, s: 4] X[y+r, s] * K[r, s])";

Affine index(const Program& program, uint32_t k) {
  return Affine::variable(program.index_var(k));
}

BandFacts facts_of(const Program& program, const BandQuestion& question) {
  auto facts = poly::band_facts(program, question);
  EXPECT_TRUE(facts.ok()) << (facts.ok() ? "" : facts.error().message);
  return facts ? *facts : BandFacts{};
}

std::string text(const std::vector<int64_t>& v) {
  std::string out = "(";
  for (size_t k = 0; k < v.size(); ++k) out += (k ? "," : "") + std::to_string(v[k]);
  return out + ")";
}

std::string text(const Relation& r) {
  const char* kinds[] = {"flow", "anti", "order"};
  return std::string(kinds[static_cast<size_t>(r.kind)]) + " " + std::to_string(r.source) + "->" +
         std::to_string(r.sink) + " tensor " + std::to_string(r.tensor) + " " + text(r.lo) + ".." + text(r.hi) +
         (r.may_be_zero ? " zero" : "") + (r.is_lex_positive ? "" : " wrong");
}

std::string text(const BandFacts& facts) {
  std::vector<std::string> lines;
  for (const Relation& r : facts.relations) lines.push_back(text(r));
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  for (size_t s = 0; s < facts.lo.size(); ++s) out += "hull " + text(facts.lo[s]) + ".." + text(facts.hi[s]) + "\n";
  return out;
}

std::vector<std::string> relations(const BandFacts& facts, Relation::Kind kind) {
  std::vector<std::string> out;
  for (const Relation& r : facts.relations)
    if (r.kind == kind) out.push_back(text(r));
  return out;
}

/// Conditions of `inside` hold at all instances, and each cuts something off the hulls' box.
void expect_inside(const Program& program, const BandOracle& oracle, const BandFacts& facts) {
  for (const Moment& m : oracle.moments)
    for (const Affine& e : facts.inside) ASSERT_GE(evaluate(e, m.members), 0) << program.name;
  for (const Affine& e : facts.inside) {
    int64_t least = e.constant;
    for (const Term& term : e.terms) {
      int64_t lo = INT64_MAX, hi = INT64_MIN;
      for (const Moment& m : oracle.moments) {
        lo = std::min(lo, m.members[term.var]);
        hi = std::max(hi, m.members[term.var]);
      }
      least += term.coeff * (term.coeff > 0 ? lo : hi);
    }
    EXPECT_LT(least, 0) << program.name;
  }
}

/// What a sweep has seen, so that a test that sees nothing fails.
struct Seen {
  int refused = 0, anti = 0, wrong = 0, zero = 0, conditions = 0;
};

void expect_as_enumerated(const Program& program, const BandQuestion& question, Seen& seen) {
  BandOracle oracle(program, question);
  auto facts = poly::band_facts(program, question);
  if (oracle.folds_clash) {
    EXPECT_FALSE(facts.ok()) << program.name << ": the folds clash with what lies outside\n" << print(program);
    if (!facts.ok()) {
      EXPECT_EQ(facts.error().code, "PW0323") << facts.error().message;
    }
    ++seen.refused;
    return;
  }
  ASSERT_TRUE(facts.ok()) << program.name << ": " << facts.error().message << "\n" << print(program);
  EXPECT_EQ(text(*facts), text(oracle.facts)) << print(program);
  for (const Relation& r : facts->relations) {
    EXPECT_TRUE(r.is_lex_positive ||
                !r.witness.empty());  // those within one value of the outermost member have a pair too
    seen.anti += r.kind == Relation::Kind::anti;
    seen.wrong += !r.is_lex_positive;
    seen.zero += r.may_be_zero;
  }
  seen.conditions += static_cast<int>(facts->inside.size());
  expect_inside(program, oracle, *facts);
}

/// A question about some equations of the program, with maps and folds that mean nothing.
BandQuestion random_question(const Program& program, Rng& rng, bool with_folds) {
  BandQuestion out;
  auto below = [&](int64_t n) { return static_cast<int64_t>(rng.below(static_cast<uint64_t>(n))); };
  const int64_t members = 1 + below(3);
  for (EquationId q = 0; q < program.equations.size(); ++q) {
    if (below(4) == 0 && !(out.statements.empty() && q + 1 == program.equations.size())) continue;
    const size_t indices = program.equations[q].index_names.size();
    poly::Mapped statement{q, {}, {}};
    for (int64_t m = 0; m < members; ++m) {
      Affine e = Affine::of(below(5) - 2);
      for (uint32_t k = 0; k < indices; ++k)
        if (below(3) != 0) e = e + (below(4) - 1) * index(program, k);
      statement.members.push_back(e);
    }
    if (indices > 0 && below(3) == 0) {
      Guard cut =
          guard_ge0(index(program, static_cast<uint32_t>(below(static_cast<int64_t>(indices)))) - Affine::of(below(4)));
      out.statements.push_back(statement);
      out.statements.back().piece = {cut};
      if (below(2) == 0) continue;
      statement.piece = {guard_not(cut)};
    }
    out.statements.push_back(statement);
  }
  if (!with_folds) return out;
  for (const poly::Mapped& statement : out.statements)
    for (TensorId tensor : program.equations[statement.equation].targets) {
      bool known =
          std::any_of(out.folds.begin(), out.folds.end(), [&](const poly::BandFold& f) { return f.tensor == tensor; });
      if (known || program.tensors[tensor].kind != TensorKind::local) continue;
      for (uint32_t d = 0; d < program.tensors[tensor].rank; ++d)
        if (below(2) == 0) out.folds.push_back({tensor, d, 1 + below(4), below(2) == 0});
    }
  return out;
}

}  // namespace

TEST(Band, gives_the_distances_of_a_stencil) {
  Program program = program_of(kHeat);
  BandFacts plain = facts_of(program, {{{1, {}, {index(program, 0), index(program, 1)}}}, {}});
  EXPECT_EQ(relations(plain, Relation::Kind::flow),
            (std::vector<std::string>{"flow 0->0 tensor 1 (1,1)..(1,1)", "flow 0->0 tensor 1 (1,-1)..(1,-1)"}));
  EXPECT_TRUE(plain.inside.empty());
  BandFacts skewed = facts_of(program, {{{1, {}, {index(program, 0), index(program, 0) + index(program, 1)}}}, {}});
  EXPECT_EQ(relations(skewed, Relation::Kind::flow),
            (std::vector<std::string>{"flow 0->0 tensor 1 (1,2)..(1,2)", "flow 0->0 tensor 1 (1,0)..(1,0)"}));
  EXPECT_EQ(skewed.inside.size(), 2u);  // 1 <= b_1 - b_0 <= N-2
}

TEST(Band, tells_why_several_reduced_indices_do_not_tile_in_strict) {
  Program program = program_of(kConv);
  BandFacts facts = facts_of(program, {{{0, {}, {index(program, 0), index(program, 1), index(program, 2)}}}, {}});
  EXPECT_EQ(
      relations(facts, Relation::Kind::order),
      (std::vector<std::string>{"order 0->0 tensor 2 (0,1,-3)..(0,2,3)", "order 0->0 tensor 2 (0,0,1)..(0,0,3)"}));
}

TEST(Band, shows_a_pair_that_an_order_runs_backwards) {
  Program program = program_of(kHeat);
  BandFacts facts = facts_of(program, {{{1, {}, {index(program, 1), index(program, 0)}}}, {}});
  ASSERT_EQ(facts.relations.size(), 2u);
  EXPECT_TRUE(facts.relations[0].is_lex_positive);
  EXPECT_FALSE(facts.relations[1].is_lex_positive);
  EXPECT_EQ(facts.relations[1].witness, "A@2[t=1, i=2] must run before A@2[t=2, i=1]");
}

TEST(Band, sees_fusions_that_run_producers_first) {
  Program program =
      program_of("program chain(N = 8)\nin X: f32[N+1]\nlet A[i: N+1] = X[i]\nout B[i: N] = A[i] + A[i+1]");
  auto flow = [&](int64_t shift) {
    return relations(
        facts_of(program, {{{0, {}, {index(program, 0)}}, {1, {}, {index(program, 0) + Affine::of(shift)}}}, {}}),
        Relation::Kind::flow);
  };
  EXPECT_EQ(flow(0),
            (std::vector<std::string>{"flow 0->1 tensor 1 (0)..(0) zero", "flow 0->1 tensor 1 (-1)..(-1) wrong"}));
  EXPECT_EQ(flow(1), (std::vector<std::string>{"flow 0->1 tensor 1 (1)..(1)", "flow 0->1 tensor 1 (0)..(0) zero"}));
}

TEST(Band, gives_the_distances_of_two_planes) {
  Program program = program_of(kHeat);
  BandQuestion question{
      {{1, {}, {index(program, 0), index(program, 1)}}, {2, {}, {index(program, 0), index(program, 1)}}},
      {{1, 0, 2, true}}};
  BandFacts facts = facts_of(program, question);
  // What step t+2 takes, step t+1 must have read: distance 1 in time; step 6 takes cells that step 1 read from the
  // first plane.
  EXPECT_EQ(relations(facts, Relation::Kind::anti),
            (std::vector<std::string>{"anti 0->0 tensor 1 (2,0)..(4,0)", "anti 0->0 tensor 1 (1,-1)..(5,-1)",
                                      "anti 0->0 tensor 1 (1,1)..(5,1)", "anti 0->1 tensor 1 (1,-1)..(5,-1)",
                                      "anti 0->1 tensor 1 (1,1)..(5,1)", "anti 1->1 tensor 1 (2,0)..(4,0)",
                                      "anti 1->1 tensor 1 (1,0)..(5,0)"}));
}

TEST(Band, refuses_folds_that_lose_elements) {
  Program program = program_of(kHeat);
  std::vector<poly::Mapped> interior{{1, {}, {index(program, 0), index(program, 1)}}};
  auto alone = poly::band_facts(program, {interior, {{1, 0, 2, true}}});
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().code, "PW0323");
  EXPECT_NE(alone.error().message.find("made before the band"), std::string::npos) << alone.error().message;
  std::vector<poly::Mapped> whole = interior;
  whole.push_back({2, {}, interior[0].members});
  EXPECT_TRUE(poly::band_facts(program, {whole, {{1, 0, 2, true}}}).ok());
  auto backward = poly::band_facts(program, {whole, {{1, 0, 2, false}}});
  ASSERT_FALSE(backward.ok());
  EXPECT_EQ(backward.error().code, "PW0323");
}

TEST(Band, refuses_malformed_questions) {
  Program program = program_of(kHeat);
  const Affine i = index(program, 0);
  for (const BandQuestion& question : std::vector<BandQuestion>{{},
                                                                {{{9, {}, {i}}}, {}},
                                                                {{{1, {}, {}}}, {}},
                                                                {{{1, {}, {i}}, {2, {}, {i, i}}}, {}},
                                                                {{{1, {}, {index(program, 7)}}}, {}},
                                                                {{{1, {}, {floor_div(i, 2)}}}, {}},
                                                                {{{1, {guard_ge0(index(program, 7))}, {i}}}, {}},
                                                                {{{1, {}, {i}}}, {{1, 5, 2, true}}},
                                                                {{{1, {}, {i}}}, {{1, 0, 0, true}}}}) {
    auto facts = poly::band_facts(program, question);
    ASSERT_FALSE(facts.ok());
    EXPECT_EQ(facts.error().code, "PW0605");
  }
}

TEST(Band, facts_are_those_of_enumeration_on_the_corpus) {
  Rng rng(5);
  Seen seen;
  for (const Program& source : corpus()) {
    Program program = normalize(small(source, 3));
    for (int round = 0; round < 2; ++round)
      expect_as_enumerated(program, random_question(program, rng, round == 1), seen);
  }
  EXPECT_GT(seen.wrong, 20);
}

TEST(Band, facts_are_those_of_enumeration_on_random_programs) {
  Seen seen;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    Program source = ir::random_program(seed);
    Program program = normalize(polyweft::bind(source, *make_binding(source, {})));
    expect_as_enumerated(program, random_question(program, rng, seed % 2 == 1), seen);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_TRUE(seen.refused > 5 && seen.anti > 80 && seen.wrong > 200 && seen.zero > 100 && seen.conditions > 200);
}

TEST(Band, facts_of_recurrences_are_those_of_enumeration) {
  Seen seen;
  for (const char* name :
       {"08_jacobi2d", "09_lstm", "10_cholesky", "11_floyd_warshall", "12_smith_waterman", "polybench/durbin",
        "polybench/lu", "polybench/nussinov", "polybench/gramschmidt", "polybench/seidel_2d", "polybench/fdtd_2d"}) {
    std::ifstream in(std::string(PW_SOURCE_DIR "/examples/") + name + ".weft");
    Program program = normalize(small(parsed({std::istreambuf_iterator<char>(in), {}}), 4));
    Rng rng(11);
    for (int round = 0; round < 4; ++round)
      expect_as_enumerated(program, random_question(program, rng, round >= 1), seen);
    if (HasFailure()) FAIL() << name;
  }
  EXPECT_TRUE(seen.refused > 5 && seen.anti > 15 && seen.wrong > 40 && seen.zero > 20 && seen.conditions > 10);
}

}  // namespace polyweft::poly_test
