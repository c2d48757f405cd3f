// Questions about bands through polyweft-isl: the child's answer is the one of poly/band.h.
#include <gtest/gtest.h>

#include "driver/isl_client.h"
#include "lang/parser.h"

namespace polyweft {
namespace {

constexpr const char* kHeat = R"(program heat(T = 6, N = 9)
in A0: f64[N]
let A[0, i: N] = A0[i]
let A[t: 1..T+1, i: 1..N-1] = A[t-1, i-1] + A[t-1, i+1]
let A[t: 1..T+1, i: N] where i == 0 or i == N-1 = A[t-1, i]
out R[i: N] = A[T, i])";

Task task_of(const std::string& text, const std::vector<int64_t>& binding) {
  auto parsed = lang::parse(text, "test.weft");
  EXPECT_TRUE(parsed.ok());
  Task task;
  task.source = parsed->programs.front();
  task.binding = binding;
  task.program = normalize(polyweft::bind(task.source, binding));
  task.key.cls = NumericsClass::reassoc;
  return task;
}

IslClient client() {
  IslClient::Options options;
  options.helper = PW_BINARY_DIR "/src/tools/polyweft-isl";
  return IslClient(std::move(options));
}

}  // namespace

TEST(IslBands, come_back_as_they_were_found) {
  Task task = task_of(kHeat, {6, 9});
  const Affine t = Affine::variable(task.program.index_var(0)), i = Affine::variable(task.program.index_var(1));
  const Guard odd = guard_eq0(modulo(i, 2) - Affine::of(1)),
              border = guard_any({guard_eq0(i), guard_not(guard_ge0(Affine::of(7) - i))});
  IslClient isl = client();
  auto facts = isl.band_facts(task, {{{1, {odd}, {t, t + i}}, {2, {border}, {t, t + i}}}, {}});
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  // Odd elements need even ones, which are not in the band, but those of the border (N = 9: both even).
  ASSERT_EQ(facts->relations.size(), 3u);
  for (const BandRelation& r : facts->relations) EXPECT_TRUE(r.is_lex_positive && !r.may_be_zero && r.witness.empty());
  EXPECT_EQ(facts->lo, (std::vector<std::vector<int64_t>>{{1, 2}, {1, 1}}));
  EXPECT_EQ(facts->hi, (std::vector<std::vector<int64_t>>{{7, 14}, {7, 15}}));
  EXPECT_EQ(facts->inside.size(), 2u);
}

TEST(IslBands, are_proposed_with_their_pieces) {
  Task task = task_of(kHeat, {6, 9});
  IslClient isl = client();
  auto bands = isl.propose_bands(task);
  ASSERT_TRUE(bands.ok()) << bands.error().message;
  ASSERT_EQ(bands->size(), 1u);
  const poly::BandProposal& band = bands->front();
  EXPECT_EQ(band.names, (std::vector<std::string>{"t", "i"}));
  ASSERT_EQ(band.statements.size(), 3u);  // the border is two pieces
  const Affine t = Affine::variable(task.program.index_var(0)), i = Affine::variable(task.program.index_var(1));
  for (const poly::Mapped& statement : band.statements) {
    EXPECT_EQ(statement.members, (std::vector<Affine>{t, i}));
    EXPECT_EQ(statement.piece.size(), statement.equation == 2 ? 1u : 0u);
  }
}

TEST(IslBands, refuse_what_is_no_question) {
  Task task = task_of(kHeat, {6, 9});
  const Affine t = Affine::variable(task.program.index_var(0));
  Guard deep = guard_ge0(t);
  for (int k = 0; k < 100; ++k) deep = guard_not(guard_all({deep, guard_ge0(t - Affine::of(k))}));
  IslClient isl = client();
  for (const poly::Mapped& wrong :
       {poly::Mapped{77, {}, {t}}, poly::Mapped{1, {deep}, {t}}, poly::Mapped{1, {}, {Affine::variable(99)}}}) {
    auto facts = isl.band_facts(task, {{wrong}, {}});
    ASSERT_FALSE(facts.ok());
    EXPECT_EQ(facts.error().code, "PW0605") << facts.error().message;
  }
  EXPECT_TRUE(isl.band_facts(task, {{{1, {}, {t}}}, {}}).ok());  // the child is alive
}

}  // namespace polyweft
