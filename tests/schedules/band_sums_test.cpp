// Sums in bands whose folds move along sums of indices ([i + j, j]): a maximum of an alignment, folded diagonal by diagonal, and plain sums in random orders.
#include <random>
#include <regex>

#include "bands_harness.h"

namespace polyweft::test {
namespace {

Program alignment(int m, int n) {
  return normalized_program("program sw(M = " + std::to_string(m) + ", N = " + std::to_string(n) +
                            ", V = 4)\nin a: u8[M] values 0..V\nin b: u8[N] values 0..V\nin score: i32[V, V]\nlet H[0, j: N+1] = 0\nlet H[i: 1..M+1, 0] = 0\n"
                            "let H[i: 1..M+1, j: 1..N+1]: i32 = max(max(0, H[i-1, j-1] + score[a[i-1], b[j-1]]), max(H[i-1, j], H[i, j-1]) - 2)\n"
                            "out best = max[i: M+1, j: N+1] H[i, j]\n");
}

const std::string kDiagonals =
    "band sw [d, j] of best.first: [0, 0], H@1: [j, j], H@2: [i, 0], H@3: [i + j, j], best.folds: [i + j, j]\nstore H [d0 + d1, d1]\nfold H c0 mod 3\n";

TEST(BandSums, the_maximum_of_an_alignment_is_folded_with_each_diagonal) {
  for (auto [m, n] : {std::pair(1, 1), std::pair(9, 5), std::pair(6, 13)}) {
    expect_right(alignment(m, n), kDiagonals);
    expect_right(alignment(m, n), kDiagonals + "distribute sw at d\nvectorize H@3 j 4\naccumulate best.folds at d reg\nvectorize best.folds j 4\n");
    expect_right(alignment(m, n), kDiagonals + "distribute sw at d\naccumulate best.folds at d reg\n");
  }
}

// Rows of a tile are cut at both ends by two limits each: whole vectors run without a test between cut ones.
TEST(BandSums, rows_of_skewed_tiles_have_whole_vectors_between_cut_ones) {
  const std::string steps =
      "band sw [d, j] of best.first: [0, 0], H@1: [j, 6*j], H@2: [i, 5*i], H@3: [i + j, 5*i + 6*j], best.folds: [i + j, 5*i + 6*j]\nstore H [d0 + d1, d1]\nfold H c0 mod "
      "3\n"
      "tile sw [d: 6, j: 16]\npermute sw [d.1, j.1, d, j]\ndistribute sw at d\nvectorize H@3 j 4\naccumulate best.folds at d reg\nvectorize best.folds j 4\n";
  expect_right(alignment(9, 12), steps);
  const auto t = replayed(alignment(40, 40), steps);
  ASSERT_TRUE(t.ok());
  const std::string text = print(*instantiate(*t, values_of(t->trace)));
  EXPECT_TRUE(std::regex_search(text, std::regex("step 4 \\{\n *for j\\.v@[0-9]+ in 0 \\.\\. 4 vector 4 \\{\n *compute 2"))) << text;
}

TEST(BandSums, a_window_that_the_maximum_still_needs_is_refused) {
  const std::string late = "band sw [d, j] of best.first: [0, 0], H@1: [j, j], H@2: [i, 0], H@3: [i + j, j], best.folds: [i + j + 3, j]\nstore H [d0 + d1, d1]\n";
  EXPECT_NE(refusal(alignment(6, 7), late + "fold H c0 mod 3\n").find("PW0305"), std::string::npos) << refusal(alignment(6, 7), late + "fold H c0 mod 3\n");
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
      if (row[k] != 0) member += (row[k] < 0 ? "-" : member.empty() ? "" : "+") + std::to_string(std::abs(row[k])) + "*" + indices[k];
    out += (out.empty() ? "" : ", ") + member;
  }
  return out;
}

// Folds of an element in any order of whole numbers: where the members give the indices back the sum is right, else PW0324 says so.
TEST(BandSums, folds_in_random_orders_are_right_or_refused) {
  const Program program = normalized_program("program p(M = 5)\nin X: f32[2, M, M]\nout s[r: 2] = sum[i: M, j: 0..i+1] X[r, i, j]\n");
  std::mt19937 random(11);
  int right = 0;
  for (int round = 0; round < 5; ++round) {
    const std::string steps = "band b [x, y, z] of s.first: [-100, -100, r], s.folds: [" + random_members(random, {"i", "j"}) + ", r]\n";
    const std::string said = refusal(program, steps);
    if (said != "accepted") {
      EXPECT_NE(said.find("PW0324"), std::string::npos) << steps << said;
      continue;
    }
    ++right;
    expect_right(program, steps);
    expect_right(program, steps + "distribute b at x\npermute s.folds [z, y]\naccumulate s.folds at z reg\nvectorize s.folds y 4\n");
  }
  EXPECT_GE(right, 2);
}

TEST(BandSums, are_refused_with_their_reasons) {
  const Program program = normalized_program("program p(M = 6, N = 5)\nin X: f32[M, N]\nout s = sum[i: M, j: N] X[i, j]\n");
  const auto expect_refused = [&](const std::string& steps, const std::string& what) {
    EXPECT_NE(refusal(program, steps).find(what), std::string::npos) << refusal(program, steps);
  };
  expect_refused("band b [x, y] of s: [i + j, j]\n",
                 "PW0324 band b: member x moves with a reduced index, and is not that index or its negative alone\n"
                 "  note: name the parts of the sum");
  expect_refused("band b [x, y] of s.first: [0, 0], s.folds: [i + j, 2*i + 2*j]\n", "PW0324 band b: the members do not give the reduced indices of s by whole numbers");
  const std::string diagonals = "band b [x, y] of s.first: [0, 0], s.folds: [i + j, j]\n";
  expect_refused(diagonals + "distribute b at x\nvectorize s.folds y 4\n", "PW0307");
  expect_refused(diagonals + "distribute b at x\naccumulate s.folds at y reg\n", "PW0308");
  auto strict = replayed(program, diagonals, NumericsClass::strict);
  ASSERT_FALSE(strict.ok());
  EXPECT_EQ(strict.error().code, "PW0305");
}

}  // namespace
}  // namespace polyweft::test
