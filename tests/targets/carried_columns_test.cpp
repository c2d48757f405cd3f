// Loops whose iterations share what they load, store and turn: registers and slots of the stack instead of memory, and
// the bits of the interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "support/rng.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

constexpr int kColumns = 40;

struct ColumnTerm {
  int column = 0, row = 0;  ///< from those of the element that is stored
};
/// A[i + to, r + row] <- sum of terms, for all r of two vectors.
struct Statement {
  int to = 0;
  std::vector<ColumnTerm> terms;
  int row = 0;
};

std::string by(int64_t k) {
  return k == 0 ? "" : (k < 0 ? " - " : " + ") + std::to_string(k < 0 ? -k : k);
}

/// Columns one after the other, rows as lanes: eight rows a line of cells, so that what stands above and below is
/// rotated out of two lines.
LoopNest sweep(const std::vector<Statement>& statements, bool in_lines) {
  std::string body;
  for (size_t s = 0; s < statements.size(); ++s) {
    const auto cell = [&](int column, int row) { return "A[i" + by(column) + ", 8*u + v" + by(row + 8) + "]"; };
    std::string sum;
    for (const ColumnTerm& term : statements[s].terms)
      sum = sum.empty() ? cell(term.column, term.row) : "(" + sum + " + " + cell(term.column, term.row) + ")";
    body += "compute " + std::to_string(s) + "(i, 8*u + v) store: " + cell(statements[s].to, statements[s].row) +
            " <- (" + sum + " * 0.25:f64)\n";
  }
  const std::string columns = std::to_string(kColumns);
  return parsed("nest 1 p class strict\nloops a, b, i, u, v, c, d\nbuffer X: f64[" + columns +
                ", 32] argument align 8\nbuffer A: f64[" + columns + ", 32] heap" +
                (in_lines ? " layout [1:4, 0:" + columns + ", 1:8]" : "") + " align 64\nbuffer Y: f64[" + columns +
                ", 32] argument align 8 output\narguments X, Y\nbody { alloc A {\nfor a in 0 .. " + columns +
                " { for b in 0 .. 32 { copy A[a, b] <- X[a, b] } }\nfor i in 4 .. " + std::to_string(kColumns - 4) +
                " { for u in 0 .. 2 unroll { for v in 0 .. 8 vector 8 {\n" + body + "} } }\nfor c in 0 .. " + columns +
                " { for d in 0 .. 32 { copy Y[c, d] <- A[c, d] } }\n} }\n");
}

/// The most instructions of a kind in a block that branches to itself.
int64_t most_in_a_loop(const LoopNest& nest, const std::string& mnemonic) {
  const auto text = targets::assembly_text(nest, *find_target("x86-64-v4"));
  EXPECT_TRUE(text) << text.error().message;
  int64_t most = 0, found = 0;
  std::string label;
  std::istringstream lines(text ? *text : "");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".LBB")) label = line.substr(0, line.find(':')), found = 0;
    found += line.find(mnemonic) != std::string::npos ? 1 : 0;
    if (line.find("\tj") == 0 && line.ends_with("\t" + label)) most = std::max(most, found);
  }
  return most;
}

TEST(CarriedColumns, a_column_furthest_ahead_is_transposed_once) {
  const LoopNest ahead = sweep({{0, {{0, 0}, {1, 1}, {2, 1}, {3, 1}}}}, true);
  expect_same_bits(ahead);
  EXPECT_EQ(most_in_a_loop(ahead, "valignq"), 2);  // of two vectors; six before
  // What the loop stores two columns ahead meets what it would keep.
  const LoopNest met = sweep({{2, {{0, 0}, {1, 1}, {2, 1}, {3, 1}}}}, true);
  expect_same_bits(met);
  EXPECT_GT(most_in_a_loop(met, "valignq"), 2);
}

TEST(CarriedColumns, a_sum_of_two_columns_is_made_once) {
  // The second statement adds the columns that the first one begins with an iteration later.
  const LoopNest handed_on = sweep({{0, {{0, 0}, {1, 0}, {-1, 0}}}, {-3, {{1, 0}, {2, 0}}}}, true);
  const LoopNest stored_between = sweep({{1, {{0, 0}, {1, 0}, {-1, 0}}}, {-3, {{1, 0}, {2, 0}}}}, true);
  const LoopNest stored_before = sweep({{-3, {{1, 0}, {2, 0}}}, {0, {{-1, 0}, {2, 0}}}, {-2, {{0, 0}, {1, 0}}}}, true);
  const LoopNest other_order = sweep({{0, {{1, 0}, {0, 0}, {-1, 0}}}, {-3, {{1, 0}, {2, 0}}}}, true);
  for (const LoopNest* nest : {&handed_on, &stored_between, &stored_before, &other_order}) expect_same_bits(*nest);
  EXPECT_EQ(most_in_a_loop(handed_on, "vaddpd"), 4);  // of two vectors; six before
  EXPECT_EQ(most_in_a_loop(stored_between, "vaddpd"), 6);
  EXPECT_EQ(most_in_a_loop(stored_before, "vaddpd"), 6);
  EXPECT_EQ(most_in_a_loop(other_order, "vaddpd"), 6);
}

TEST(CarriedColumns, what_was_stored_and_what_was_stored_again) {
  for (bool in_lines : {false, true}) {
    expect_same_bits(sweep({{0, {{-1, 0}, {0, 0}, {1, 0}}}}, in_lines));
    expect_same_bits(sweep({{0, {{-1, 0}, {1, 0}}}, {0, {{0, 0}, {-1, 0}}}}, in_lines));
    expect_same_bits(sweep({{0, {{-1, 0}, {1, 0}}}, {-1, {{0, 0}, {-1, 0}}}}, in_lines));
    expect_same_bits(sweep({{1, {{0, 0}, {1, 0}}}, {0, {{1, 0}, {0, 0}}}}, in_lines));
    // Four lanes of what the column before has stored are others by now.
    if (!in_lines) expect_same_bits(sweep({{-1, {{1, 0}, {2, 0}}, 4}, {0, {{-1, 0}, {1, 0}}}}, false));
  }
}

TEST(CarriedColumns, any_columns_and_rows) {
  Rng rng(5);
  for (int nest = 0; nest < 40; ++nest) {
    std::vector<Statement> statements(1 + rng.below(3));
    for (Statement& statement : statements) {
      statement.to = static_cast<int>(rng.below(5)) - 2;
      const int row = static_cast<int>(rng.below(3)) - 1, first = static_cast<int>(rng.below(4)) - 3;
      for (int column = first; column < first + 4; ++column) statement.terms.push_back({column, row});
      for (uint64_t more = rng.below(4); more > 0; --more)
        statement.terms.push_back({static_cast<int>(rng.below(7)) - 3, static_cast<int>(rng.below(3)) - 1});
    }
    // What a column stores only its own lanes read in the same iteration: the interpreter runs them one after the
    // other.
    for (Statement& reader : statements)
      for (ColumnTerm& term : reader.terms)
        if (std::any_of(statements.begin(), statements.end(), [&](const Statement& s) { return s.to == term.column; }))
          term.row = 0;
    SCOPED_TRACE("nest " + std::to_string(nest));
    expect_same_bits(sweep(statements, nest % 4 != 0), 1);
  }
}

}  // namespace
}  // namespace polyweft::targets_test
