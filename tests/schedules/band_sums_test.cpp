// Sums in bands whose folds move along sums of indices ([i + j, j]): a maximum of an alignment, folded diagonal by
// diagonal, and plain sums in random orders.
#include <random>
#include <regex>

#include "bands_harness.h"
#include "samples.h"

namespace polyweft::test {
namespace {

Program alignment(int m, int n) {
  return normalized_program("program sw(M = " + std::to_string(m) + ", N = " + std::to_string(n) +
                            ", V = 4)\nin a: u8[M] values 0..V\nin b: u8[N] values 0..V\nin score: i32[V, V]\nlet H[0, "
                            "j: N+1] = 0\nlet H[i: 1..M+1, 0] = 0\n"
                            "let H[i: 1..M+1, j: 1..N+1]: i32 = max(max(0, H[i-1, j-1] + score[a[i-1], b[j-1]]), "
                            "max(H[i-1, j], H[i, j-1]) - 2)\n"
                            "out best = max[i: M+1, j: N+1] H[i, j]\n");
}

const std::string kDiagonals =
    "band sw [d, j] of best.first: [0, 0], H@1: [j, j], H@2: [i, 0], H@3: [i + j, j], best.folds: [i + j, j]\nstore H "
    "[d0 + d1, d1]\nfold H c0 mod 3\n";

TEST(BandSums, the_maximum_of_an_alignment_is_folded_with_each_diagonal) {
  for (auto [m, n] : {std::pair(1, 1), std::pair(9, 5), std::pair(6, 13)}) {
    expect_right(alignment(m, n), kDiagonals);
    expect_right(
        alignment(m, n),
        kDiagonals +
            "distribute sw at d\nvectorize H@3 j 4\naccumulate best.folds at d reg\nvectorize best.folds j 4\n");
    expect_right(alignment(m, n), kDiagonals + "distribute sw at d\naccumulate best.folds at d reg\n");
  }
}

// Rows of a tile are cut at both ends by two limits each: whole vectors run without a test between cut ones.
TEST(BandSums, rows_of_skewed_tiles_have_whole_vectors_between_cut_ones) {
  const std::string steps =
      "band sw [d, j] of best.first: [0, 0], H@1: [j, 6*j], H@2: [i, 5*i], H@3: [i + j, 5*i + 6*j], best.folds: [i + "
      "j, 5*i + 6*j]\nstore H [d0 + d1, d1]\nfold H c0 mod "
      "3\n"
      "tile sw [d: 6, j: 16]\npermute sw [d.1, j.1, d, j]\ndistribute sw at d\nvectorize H@3 j 4\naccumulate "
      "best.folds at d reg\nvectorize best.folds j 4\n";
  expect_right(takes_all_cases() ? alignment(9, 12) : alignment(7, 9), steps);
  const auto t = replayed(alignment(40, 40), steps);
  ASSERT_TRUE(t.ok());
  const std::string text = print(*instantiate(*t, values_of(t->trace)));
  EXPECT_TRUE(
      std::regex_search(text, std::regex("step 4 \\{\n *for j\\.v@[0-9]+ in 0 \\.\\. 4 vector 4 \\{\n *compute 2")))
      << text;
}

TEST(BandSums, a_window_that_the_maximum_still_needs_is_refused) {
  const std::string late =
      "band sw [d, j] of best.first: [0, 0], H@1: [j, j], H@2: [i, 0], H@3: [i + j, j], best.folds: [i + j + 3, "
      "j]\nstore H [d0 + d1, d1]\n";
  EXPECT_NE(refusal(alignment(6, 7), late + "fold H c0 mod 3\n").find("PW0305"), std::string::npos)
      << refusal(alignment(6, 7), late + "fold H c0 mod 3\n");
  expect_right(alignment(6, 7), late + "fold H c0 mod 4\n");
}

/// Rows of a random matrix of determinant 1 or -1, as members over the indices.
std::string random_members(std::mt19937& random, const std::vector<std::string>& indices) {
  std::vector<std::vector<int>> rows(indices.size(), std::vector<int>(indices.size(), 0));
  for (size_t k = 0; k < indices.size(); ++k) rows[k][k] = 1;
  std::shuffle(rows.begin(), rows.end(), random);
  for (int step = 0; step < 3; ++step) {
    const size_t to = random() % rows.size(), from = random() % rows.size();
    const int times = random() % 2 ? 1 : -1;
    if (to == from) continue;
    for (size_t k = 0; k < indices.size(); ++k) rows[to][k] += times * rows[from][k];
  }
  std::string out;
  for (const auto& row : rows) {
    std::string member;
    for (size_t k = 0; k < indices.size(); ++k)
      if (row[k] != 0)
        member += (row[k] < 0 ? "-" : member.empty() ? "" : "+") + std::to_string(std::abs(row[k])) + "*" + indices[k];
    out += (out.empty() ? "" : ", ") + member;
  }
  return out;
}

// Folds of an element in any order of whole numbers: where the members give the indices back the sum is right, else
// PW0324 says so.
TEST(BandSums, folds_in_random_orders_are_right_or_refused) {
  const Program program =
      normalized_program("program p(M = 5)\nin X: f32[2, M, M]\nout s[r: 2] = sum[i: M, j: 0..i+1] X[r, i, j]\n");
  std::mt19937 random(11);
  int right = 0;
  for (int round = 0; round < 5; ++round) {
    const std::string steps =
        "band b [x, y, z] of s.first: [-100, -100, r], s.folds: [" + random_members(random, {"i", "j"}) + ", r]\n";
    const std::string said = refusal(program, steps);
    if (said != "accepted") {
      EXPECT_NE(said.find("PW0324"), std::string::npos) << steps << said;
      continue;
    }
    ++right;
    expect_right(program, steps);
    expect_right(
        program,
        steps + "distribute b at x\npermute s.folds [z, y]\naccumulate s.folds at z reg\nvectorize s.folds y 4\n");
  }
  EXPECT_GE(right, 2);
}

TEST(BandSums, are_refused_with_their_reasons) {
  const Program program =
      normalized_program("program p(M = 6, N = 5)\nin X: f32[M, N]\nout s = sum[i: M, j: N] X[i, j]\n");
  const auto expect_refused = [&](const std::string& steps, const std::string& what) {
    EXPECT_NE(refusal(program, steps).find(what), std::string::npos) << refusal(program, steps);
  };
  expect_refused("band b [x, y] of s: [i + j, j]\n",
                 "PW0324 band b: member x moves with a reduced index, and is not that index or its negative alone\n"
                 "  note: name the parts of the sum");
  expect_refused("band b [x, y] of s.first: [0, 0], s.folds: [i + j, 2*i + 2*j]\n",
                 "PW0324 band b: the members do not give the reduced indices of s by whole numbers");
  const std::string diagonals = "band b [x, y] of s.first: [0, 0], s.folds: [i + j, j]\n";
  expect_refused(diagonals + "distribute b at x\nvectorize s.folds y 4\n", "PW0307");
  expect_refused(diagonals + "distribute b at x\naccumulate s.folds at y reg\n", "PW0308");
  auto strict = replayed(program, diagonals, NumericsClass::strict);
  ASSERT_FALSE(strict.ok());
  EXPECT_EQ(strict.error().code, "PW0305");
}

Program folding(int n) {
  return normalized_program(
      "program nus(N = " + std::to_string(n) +
      ")\nin seq: i32[N] values 0..4\nout partial T[i: N, i]: i32 = 0\nout partial T[i: N, j: i+1..N]: i32 = "
      "max(max(T[i, j-1], T[i+1, j]), max((T[i+1, j-1] "
      "+ select(seq[i] + seq[j] == 3, 1, 0) where i < j-1 else 0), max[k: i+1..j] (T[i, k] + T[k+1, j])))\n");
}

// Rows run from the last to the first: positions fall with the member. Folds of far rows are blocks of registers; those
// of near rows are a piece with other members.
TEST(BandSums, folds_are_cut_into_far_ones_in_blocks_and_near_ones) {
  const std::string head =
      "cut T.1.folds where k - i - 3\nband nus [j, i, k] of T@1: [i, -i, i], T.1.first: [j, -i, i], T.1.folds.p2: [j, "
      "-i, j], T@2: [j, -i, j], T.1.folds.p1: [j, -i, k]\n"
      "fold T.1 d0 mod 3 down\n";
  const std::string tiles =
      "tile nus [j: 4, i: 3, k: 4]\npermute nus [j.1, i.1, k.1, i, k, j]\nisolate T.1.first, T.1.folds.p1 in nus at "
      "k.1 where j - k - 1\ndistribute nus at k\n"
      "tile T.1.folds.p1.far [j: 4, i: 3]\npermute T.1.folds.p1.far [j.1, i.1, k, i, j]\naccumulate T.1.folds.p1.far "
      "at i.1 reg\nunroll T.1.folds.p1.far i\n"
      "vectorize T.1.folds.p1.far j 4\nvectorize T.1.folds.p1 j 4\n";
  for (int n : {4, 14}) expect_right(folding(n), head);
  expect_right(folding(14), head + tiles);
  EXPECT_NE(refusal(folding(14), "cut T.1.folds where k - i - 1" + head.substr(head.find('\n')) + tiles).find("PW0305"),
            std::string::npos);
}

TEST(BandSums, random_cuts_are_right) {
  const Program program =
      normalized_program("program p(M = 5)\nin X: f32[2, M, M]\nout s[r: 2] = sum[i: M, j: 0..i+1] X[r, i, j]\n");
  std::mt19937 random(5);
  for (int round = 0; round < 4; ++round) {
    const std::string where = "i" + std::string(random() % 2 ? " + j - " : " - 2*j + ") + std::to_string(random() % 4);
    expect_right(program, "cut s.folds where " + where +
                              "\nband b [x, y, z] of s.first: [-100, -100, r], s.folds.p2: [" +
                              random_members(random, {"i"}) + ", -1*j, r], s.folds.p1: [i+j, j, r]\n");
  }
}

TEST(BandSums, cuts_are_refused_with_their_reasons) {
  const Program program = folding(5);
  const auto expect_refused = [&](const std::string& steps, const std::string& what) {
    EXPECT_NE(refusal(program, steps).find(what), std::string::npos) << refusal(program, steps);
  };
  const std::string band =
      "band nus [j, i, k] of T@1: [i, -i, i], T.1.first: [j, -i, i], T.1.folds.p1: [j, -i, k], T@2: [j, -i, j]\n";
  expect_refused("cut U where i\n", "PW0302");
  expect_refused("cut T.1.folds where m - 1\n", "PW0303 cut T.1.folds: there is no index 'm'");
  expect_refused("cut T.1.first where k - i - 3\n", "PW0303 cut T.1.first: there is no index 'k'");
  expect_refused("cut T.1 where k - i - 3\n", "PW0304 cut T.1: the cut moves with a reduced index of a whole sum");
  expect_refused("cut T@2.folds where j - 3\n", "PW0304 cut T@2.folds: T@2 folds nothing");
  expect_refused("cut T.1.folds where k - i - 3\n" + band, "PW0304 band nus: not all pieces of T.1.folds are named");
  expect_refused("band nus [i, j, k] of T@1: [-i, i, i], T.1: [-i, j, k], T@2: [-i, j, j]\ncut T.1 where j - 3\n",
                 "PW0304 cut T.1: T.1 is placed or split already");
}

}  // namespace
}  // namespace polyweft::test
