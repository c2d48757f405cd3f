#include "band_oracle.h"
#include "corpus.h"
#include "tests/generators/random_program.h"

namespace polyweft::poly_test {
namespace {

using poly::BandProposal;

Program example(const std::string& name, int64_t size) {
  std::ifstream in(PW_SOURCE_DIR "/examples/" + name + ".weft");
  Program program = parsed({std::istreambuf_iterator<char>(in), {}});
  return normalize(size > 0 ? small(program, size) : polyweft::bind(program, *make_binding(program, {})));
}

std::vector<BandProposal> bands_of(const Program& program) {
  auto bands = poly::propose_bands(program);
  EXPECT_TRUE(bands.ok()) << program.name << ": " << (bands.ok() ? "" : bands.error().message);
  return bands ? *bands : std::vector<BandProposal>{};
}

/// Equations with elements that need other elements of the same equation, over others or at once.
std::set<EquationId> recursive_equations(const Program& program) {
  const size_t n = program.equations.size();
  std::map<Element, EquationId> definer;
  std::vector<std::vector<Moment>> moments;
  for (EquationId q = 0; q < n; ++q) {
    moments.push_back(BandOracle::of_equation(program, q));
    for (const Moment& m : moments.back())
      for (const Element& e : m.writes) definer[e] = q;
  }
  std::vector<std::vector<char>> needs(n, std::vector<char>(n, 0));
  for (EquationId q = 0; q < n; ++q)
    for (const Moment& m : moments[q])
      for (const auto& [access, e] : m.reads)
        if (auto found = definer.find(e); found != definer.end()) needs[q][found->second] = 1;
  for (size_t k = 0; k < n; ++k)
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) needs[i][j] |= needs[i][k] & needs[k][j];
  std::set<EquationId> out;
  for (EquationId q = 0; q < n; ++q)
    if (needs[q][q]) out.insert(q);
  return out;
}

/// Every instance in one statement, every pair in order, every statement's points apart: by enumeration.
void expect_legal(const Program& program, const BandProposal& band) {
  ASSERT_EQ(std::set<std::string>(band.names.begin(), band.names.end()).size(), band.statements.at(0).members.size())
      << program.name;
  const poly::BandQuestion question{band.statements, {}};
  BandOracle oracle(program, question);
  std::map<std::tuple<EquationId, bool, std::vector<int64_t>, std::vector<int64_t>>, int> times;
  std::map<std::pair<uint32_t, std::vector<int64_t>>, std::vector<int64_t>> own_at;
  for (const Moment& m : oracle.moments) {
    ++times[{m.equation, m.first, m.own, m.reduced}];
    auto [at, is_new] = own_at.try_emplace({m.statement, m.members}, m.own);
    if (!m.first) {
      EXPECT_EQ(at->second, m.own) << program.name << ": two points of a statement at the same members";
    }
  }
  std::set<EquationId> equations;
  for (const poly::Mapped& statement : band.statements) equations.insert(statement.equation);
  for (EquationId q : equations)
    for (const Moment& m : BandOracle::of_equation(program, q))
      EXPECT_EQ((times[{q, m.first, m.own, m.reduced}]), 1) << program.name;
  for (const poly::Relation& r : oracle.facts.relations) {
    EXPECT_TRUE(r.is_lex_positive) << program.name << ": " << r.source << " -> " << r.sink;
    const bool is_sequenced = r.source < r.sink || (r.source == r.sink && r.kind == poly::Relation::Kind::order);
    EXPECT_TRUE(!r.may_be_zero || is_sequenced) << program.name << ": " << r.source << " -> " << r.sink;
  }
}

/// "t+ i j": members, + where no distance is negative.
std::string members_text(const Program& program, const BandProposal& band) {
  auto facts = poly::band_facts(program, {band.statements, {}});
  std::string out;
  for (size_t m = 0; m < band.names.size(); ++m) {
    bool is_permutable = facts.ok() && std::all_of(facts->relations.begin(), facts->relations.end(),
                                                   [&](const poly::Relation& r) { return r.lo[m] >= 0; });
    out += (m ? " " : "") + band.names[m] + (is_permutable ? "+" : "");
  }
  return out;
}

}  // namespace

TEST(ProposeBands, finds_a_band_for_every_recurrence_of_the_examples) {
  const std::map<std::string, std::vector<std::string>> expected{
      {"08_jacobi2d", {"t+ i j"}},
      {"09_lstm", {"l+ t+ k g"}},
      {"10_cholesky", {"k+ i+ j+"}},
      {"11_floyd_warshall", {"k+ i j"}},
      {"12_smith_waterman", {"i+ j+"}},
      {"polybench/adi", {"j+", "j+", "t+ s i j"}},
      {"polybench/cholesky", {"k+ i+ j+"}},
      {"polybench/deriche", {"i+ j+", "i+ j+", "i+ j+", "j+ i+"}},
      {"polybench/durbin", {"k+ i"}},
      {"polybench/fdtd_2d", {"t+ i j"}},
      {"polybench/floyd_warshall", {"k+ i j"}},
      {"polybench/gramschmidt", {"k+ s i j"}},
      {"polybench/heat_3d", {"t+ i j k"}},
      {"polybench/jacobi_1d", {"t+ i"}},
      {"polybench/jacobi_2d", {"t+ i j"}},
      {"polybench/lu", {"k+ i+ j+"}},
      {"polybench/ludcmp", {"k+ i+ j+", "j+ i+", "i+"}},
      {"polybench/nussinov", {"j+ i+"}},
      {"polybench/seidel_2d", {"t+ i j"}},
      {"polybench/trisolv", {"j+ i+"}},
  };
  std::vector<std::string> names;
  for (const char* folder : {"", "polybench"})
    for (const auto& entry : std::filesystem::directory_iterator(std::string(PW_SOURCE_DIR "/examples/") + folder))
      if (entry.path().extension() == ".weft")
        names.push_back((*folder ? std::string(folder) + "/" : "") + entry.path().stem().string());
  size_t with_bands = 0;
  for (const std::string& name : names) {
    Program tiny = example(name, name == "polybench/heat_3d" ? 5 : 4);
    const std::vector<BandProposal> bands = bands_of(tiny);
    for (const BandProposal& band : bands) expect_legal(tiny, band);
    std::set<EquationId> covered;
    for (const BandProposal& band : bands)
      for (const poly::Mapped& statement : band.statements) covered.insert(statement.equation);
    for (EquationId q : recursive_equations(tiny)) EXPECT_TRUE(covered.contains(q)) << name << ": equation " << q;
    auto row = expected.find(name);
    with_bands += !bands.empty();
    if (row == expected.end()) {
      EXPECT_TRUE(bands.empty()) << name;
      continue;
    }
    Program own_size = example(name, 0);
    std::vector<std::string> found;
    for (const BandProposal& band : bands_of(own_size)) found.push_back(members_text(own_size, band));
    EXPECT_EQ(found, row->second) << name;
  }
  EXPECT_EQ(with_bands, expected.size());
}

TEST(ProposeBands, cuts_borders_into_disjoint_boxes) {
  Program program = example("08_jacobi2d", 6);
  std::vector<BandProposal> bands = bands_of(program);
  ASSERT_EQ(bands.size(), 1u);
  EXPECT_EQ(bands[0].statements.size(), 5u);
  for (const poly::Mapped& statement : bands[0].statements)
    for (const Guard& g : statement.piece) EXPECT_TRUE(g.kind == Guard::Kind::ge0 || g.kind == Guard::Kind::eq0);
}

/// What both eliminations of adi make at each step of time lives for that step; so its planes may share their storage.
/// The pivots p and g, the same at all times, are made before.
TEST(ProposeBands, takes_in_what_would_keep_all_its_planes) {
  Program program = example("polybench/adi", 6);
  std::vector<BandProposal> bands = bands_of(program);
  ASSERT_EQ(bands.size(), 3u);
  poly::BandQuestion question{bands.back().statements, {}};
  for (const char* name : {"q", "v", "h"})
    for (TensorId id = 0; id < program.tensors.size(); ++id)
      if (program.tensors[id].name == name) question.folds.push_back({id, 0, 1, true});
  ASSERT_EQ(question.folds.size(), 3u);
  auto facts = poly::band_facts(program, question);
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  for (const poly::Relation& r : facts->relations)
    EXPECT_TRUE(r.is_lex_positive && (!r.may_be_zero || r.source < r.sink)) << r.witness;
}

TEST(ProposeBands, cuts_folds_whose_conditions_are_no_conjunction) {
  Program source = parsed(R"(program p(N = 9)
in X: f64[N]
let A[0] = X[0]
let A[i: 1..N] = X[i] + sum[k: i where k != i - 2 and (k % 3 == 0 or k == i - 1)] A[k]
out R[i: N] = A[i])");
  Program program = normalize(polyweft::bind(source, *make_binding(source, {})));
  std::vector<BandProposal> bands = bands_of(program);
  ASSERT_EQ(bands.size(), 1u);
  EXPECT_GT(bands[0].statements.size(), 2u);
  expect_legal(program, bands[0]);
}

TEST(ProposeBands, are_legal_on_random_programs_and_the_corpus) {
  std::vector<Program> programs = corpus();
  for (Program& program : programs) program = normalize(small(program, 3));
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Program source = ir::random_program(seed);
    programs.push_back(normalize(polyweft::bind(source, *make_binding(source, {}))));
  }
  size_t recursive = 0, covered = 0;
  for (const Program& program : programs) {
    std::set<EquationId> in_bands;
    for (const BandProposal& band : bands_of(program)) {
      expect_legal(program, band);
      for (const poly::Mapped& statement : band.statements) in_bands.insert(statement.equation);
    }
    for (EquationId q : recursive_equations(program)) {
      ++recursive;
      covered += in_bands.contains(q);
    }
    if (HasFailure()) FAIL() << print(program);
  }
  EXPECT_GT(recursive, 40u);
  EXPECT_EQ(covered, recursive);
}

}  // namespace polyweft::poly_test
