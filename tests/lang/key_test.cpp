// Keys: equal under every change that LANGUAGE.md section 7 calls free, different under every change that it does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "lang/canonical.h"
#include "lang/corpus.h"
#include "lang/lexer.h"
#include "lang/parser.h"
#include "tests/generators/random_program.h"

namespace polyweft {
namespace {

Program parsed(const std::string& text) {
  auto result = lang::parse(text, "t.weft");
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message) << "\n" << text;
  return result.ok() ? result->programs[0] : Program{};
}
std::string key(const std::string& text) {
  return lang::key_of(parsed(text));
}

/// Every name becomes another one, every gap a line of its own with a comment.
std::string with_other_names(const std::string& text, std::mt19937& random) {
  lang::Source source("t", text);
  lang::Reporter report(source);
  std::map<std::string, std::string> names;
  std::string out;
  for (const lang::Token& token : lang::tokenize(source, report)) {
    std::string word = text.substr(token.extent.begin, token.extent.end - token.extent.begin);
    if (token.kind == lang::TokenKind::name) {
      auto& name = names[word];
      if (name.empty())
        name = std::string(1, static_cast<char>('a' + random() % 26)) + "_" + std::to_string(names.size());
      word = name;
    }
    out += word + (random() % 4 == 0 ? " # comment\n" : " ");
  }
  return out;
}

/// Lines of the printed program in another order; inputs among themselves and outputs among themselves keep theirs.
std::string reordered(const Program& program, std::mt19937& random) {
  std::vector<std::string> lines;
  std::istringstream in(print(program));
  std::string header;
  std::getline(in, header);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  auto kind = [](const std::string& line) {
    return line.rfind("in ", 0) == 0 || line.rfind("const in", 0) == 0 ? 1 : (line.rfind("out", 0) == 0 ? 2 : 0);
  };
  std::vector<std::string> shuffled = lines;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  for (int fixed : {1, 2}) {
    size_t next = 0;
    for (std::string& line : shuffled) {
      if (kind(line) != fixed) continue;
      while (kind(lines[next]) != fixed) ++next;
      line = lines[next++];
    }
  }
  std::string text = header + "\n";
  for (const std::string& line : shuffled) text += line + "\n";
  return text;
}

Expr swapped_operands(const Expr& e) {
  static const std::set<Op> commutative = {Op::add, Op::mul, Op::bit_and, Op::bit_or,      Op::bit_xor,   Op::eq,
                                           Op::ne,  Op::min, Op::max,     Op::logical_and, Op::logical_or};
  static const std::map<Op, Op> mirrored = {{Op::lt, Op::gt}, {Op::gt, Op::lt}, {Op::le, Op::ge}, {Op::ge, Op::le}};
  bool mirrors = mirrored.count(e->op) != 0;
  if (!mirrors && commutative.count(e->op) == 0) return nullptr;
  return make_op(mirrors ? mirrored.at(e->op) : e->op, e->type, {e->args[1], e->args[0]});
}

TEST(key, is_free_of_names_blanks_and_comments) {
  std::mt19937 random(1);
  for (const auto& [name, text] : lang_test::corpus())
    EXPECT_EQ(key(text), key(with_other_names(text, random))) << name;
}

TEST(key, is_free_of_the_order_of_equations_and_lets) {
  std::mt19937 random(2);
  for (const auto& [name, text] : lang_test::corpus()) {
    Program program = parsed(text);
    std::string expected = lang::key_of(parsed(print(program)));
    for (int i = 0; i < 5; ++i) {
      std::string other = reordered(program, random);
      EXPECT_EQ(key(other), expected) << name << "\n" << other;
    }
  }
}

TEST(key, is_free_of_operand_order) {
  for (const auto& [name, text] : lang_test::corpus()) {
    Program program = parsed(text);
    std::string expected = lang::key_of(program);
    for (Equation& each : program.equations) each.rhs = rewrite(each.rhs, swapped_operands);
    for (Combiner& each : program.combiners)
      for (Expr& result : each.result) result = rewrite(result, swapped_operands);
    EXPECT_EQ(lang::key_of(program), expected) << name;
  }
}

TEST(key, all_programs_differ) {
  std::map<std::string, std::string> seen;
  for (const auto& [name, text] : lang_test::corpus()) {
    auto [place, is_new] = seen.emplace(key(text), name);
    EXPECT_TRUE(is_new) << name << " and " << place->second;
    EXPECT_EQ(place->first.size(), 32U);
  }
}

struct Pair {
  const char* what;
  const char* a;
  const char* b;
};

TEST(key, same_meaning_same_key) {
  static const Pair kPairs[] = {
      {"range from 0", "out Y[i: N] = X[i]", "out Y[i: 0..N] = X[i]"},
      {"literals", "out Y[i: N] = X[i] * 0.125", "out Y[i: N] = X[i] * 1.25e-1"},
      {"hexadecimal", "out Y[i: N] = X[i] * 16", "out Y[i: N] = X[i] * 0x10"},
      {"integer literal of a float", "out Y[i: N] = X[i] * 2", "out Y[i: N] = X[i] * 2.0"},
      {"folded integers", "out Y[i: N] = X[i] * f32(J[i] + 6)", "out Y[i: N] = X[i] * f32(J[i] + 2 * 3)"},
      {"parentheses", "out Y[i: N] = X[i] + 1 + 2", "out Y[i: N] = (X[i] + 1) + (2)"},
      {"direction of <", "out Y[i: N] = select(X[i] < 1, X[i], 2)", "out Y[i: N] = select(1 > X[i], X[i], 2)"},
      {"guards", "out Y[i: N] = X[i] where 0 < i and i < N - 1 else 0",
       "out Y[i: N] = X[i] where 2*i <= 2*N - 3 and i >= 1 else 0"},
      {"negated guards", "out Y[i: N] = X[i] where not (i == 0 or i >= 3) else 0",
       "out Y[i: N] = X[i] where i != 0 and i < 3 else 0"},
      {"unequal", "out Y[i: N] = X[i] where i != 3 else 0", "out Y[i: N] = X[i] where i < 3 or 3 < i else 0"},
      {"affine terms", "out partial Y[i: N] where 2*i + N - 3 >= 0 = X[i]",
       "out partial Y[i: N] where N + i >= 3 - i = X[i]"},
      {"range as guard of a reduction", "out Y[i: N] = sum[k: 1..N] X[k]",
       "out Y[i: N] = sum[k: 1..N where k < N] X[k]"},
      {"let without readers", "out Y[i: N] = X[i]", "let T[i: N] = X[i] + 1\nout Y[i: N] = X[i]"},
      {"lets that only read themselves", "out Y[i: N] = X[i]",
       "let T[0] = X[0]\nlet T[i: 1..N] = T[i-1]\nout Y[i: N] = X[i]"},
      {"twin lets", "let A[i: N] = X[i]\nlet B[i: N] = X[i]\nout Y[i: N] = A[i] - B[i]",
       "let B[i: N] = X[i]\nlet A[i: N] = X[i]\nout Y[i: N] = B[i] - A[i]"},
      {"symmetric lets",
       "let A[i: N] = X[i]\nlet B[i: N] = A[i]\nlet C[i: N] = X[i]\nlet D[i: N] = C[i]\nout Y[i: N] = B[i] * D[i]",
       "let C[i: N] = X[i]\nlet B[i: N] = A[i]\nlet D[i: N] = C[i]\nlet A[i: N] = X[i]\nout Y[i: N] = D[i] * B[i]"},
      {"annotation", "let A[i: N] = X[i]\nout Y[i: N] = A[i]", "let A[i: N]: f32 = X[i]\nout Y[i: N]: f32 = A[i]"},
      {"combiner names", "combine f(a, b): f32 from 0 associative = a + b\nout Y = reduce f[i: N] X[i]",
       "combine add(l, r): f32 from 0.0 associative = r + l\nout Y = reduce add[j: N] X[j]"},
      {"order of combiners",
       "combine f(a, b): f32 from 0 = a + b\ncombine g(a, b): f32 from 1 = a * b\nout Y = reduce f[i: N] X[i]\nout Z = "
       "reduce g[i: N] X[i]",
       "combine g(a, b): f32 from 1 = a * b\ncombine f(a, b): f32 from 0 = a + b\nout Y = reduce f[i: N] X[i]\nout Z = "
       "reduce g[i: N] X[i]"},
      {"conversion to the own type", "out Y[i: N] = X[i]", "out Y[i: N] = f32(X[i])"},
  };
  const std::string header = "program p(N = 4)\nin X: f32[N]\nin J: i32[N]\n";
  for (const Pair& each : kPairs)
    EXPECT_EQ(lang::canonical_text(parsed(header + each.a)), lang::canonical_text(parsed(header + each.b)))
        << each.what;
}

TEST(key, other_meaning_other_key) {
  static const Pair kPairs[] = {
      {"grouping", "out Y[i: N] = X[i] + 1 + 2", "out Y[i: N] = X[i] + (1 + 2)"},
      {"operands of -", "out Y[i: N] = X[i] - 1", "out Y[i: N] = 1 - X[i]"},
      {"literal", "out Y[i: N] = X[i] * 0.1", "out Y[i: N] = X[i] * 0.10000001"},
      {"sign of zero", "out Y[i: N] = X[i] + 0.0", "out Y[i: N] = X[i] + -0.0"},
      {"range", "out Y[i: N] = sum[k: N] X[k]", "out Y[i: N] = sum[k: 1..N] X[k]"},
      {"reducer", "out Y[i: N] = sum[k: N] X[k]", "out Y[i: N] = prod[k: N] X[k]"},
      {"guard", "out Y[i: N] = X[i] where i > 1 else 0", "out Y[i: N] = X[i] where i > 2 else 0"},
      {"guard or select", "out Y[i: N] = X[i] where i > 1 else 0", "out Y[i: N] = select(i > 1, X[i], 0)"},
      {"order of reduction indices", "out Y = sum[i: N, k: 2*N] X[i] * f32(k)",
       "out Y = sum[k: 2*N, i: N] X[i] * f32(k)"},
      {"order of slots", "out Y[i: N, j: N] = X[i]", "out Y[i: N, j: N] = X[j]"},
      {"type of an output", "out Y[i: N]: f32 = X[i]", "out Y[i: N]: f64 = f64(X[i])"},
      {"type of an accumulator", "out Y = f64(sum[k: N] X[k])", "out Y = sum[k: N] f64(X[k])"},
      {"order of outputs", "out Y[i: N] = X[i]\nout Z[i: N] = X[i] + 1", "out Y[i: N] = X[i] + 1\nout Z[i: N] = X[i]"},
      {"partial", "out Y[i: N] = X[i]", "out partial Y[i: N] = X[i]"},
      {"extent of an output", "out partial Y[i: N] where i < 2*N = X[i]", "out partial Y[i: 2*N] where i < N = X[i]"},
      {"let or output", "let A[i: N] = X[i]\nout Y[i: N] = A[i]", "out A[i: N] = X[i]\nout Y[i: N] = A[i]"},
      {"inlined let", "let A[i: N] = X[i]\nout Y[i: N] = A[i]", "out Y[i: N] = X[i]"},
      {"recurrence direction", "let A[0] = X[0]\nlet A[i: 1..N] = A[i-1]\nout Y = A[N-1]",
       "let A[N-1] = X[0]\nlet A[i: N-1] = A[i+1]\nout Y = A[0]"},
      {"constant", "const c: f32 = 1\nout Y[i: N] = X[i] * c", "const c: f32 = 2\nout Y[i: N] = X[i] * c"},
      {"combiner promise", "combine f(a, b): f32 from 0 = a + b\nout Y = reduce f[i: N] X[i]",
       "combine f(a, b): f32 from 0 associative = a + b\nout Y = reduce f[i: N] X[i]"},
      {"combiner sides", "combine f(a, b): f32 from 0 = a - b\nout Y = reduce f[i: N] X[i]",
       "combine f(a, b): f32 from 0 = b - a\nout Y = reduce f[i: N] X[i]"},
      {"a part of a subscript that wraps", "in K: i64[N]\nout Y[i: N] = X[(K[i] + K[i]) % N]",
       "in K: i64[N]\nout Y[i: N] = X[i64(K[i] + K[i]) % N]"},
      {"numbers of a subscript beyond 64 bits", "in K: i64[N]\nout Y[i: N] = X[(9223372036854775807 * 2 + K[i]) % N]",
       "in K: i64[N]\nout Y[i: N] = X[(-2 + K[i]) % N]"},
      {"component", "out (a, b)[i: N]: (f32, f32) = (X[i], 1)", "out (b, a)[i: N]: (f32, f32) = (1, X[i])\n"},
  };
  const std::string header = "program p(N = 4)\nin X: f32[N]\nin J: i32[N]\n";
  for (const Pair& each : kPairs) {
    bool outputs_swapped = std::string(each.what) == "component";
    bool equal = key(header + each.a) == key(header + each.b);
    EXPECT_FALSE(equal) << each.what << (outputs_swapped ? " (order of outputs is the ABI)" : "");
  }
}

TEST(key, headers_that_differ) {
  const std::string rest = "\nin X: f32[N]\nin W: f32[M]\nout Y[i: N] = X[i] + W[0]";
  std::string base = key("program p(N = 4, M = 4)" + rest);
  EXPECT_EQ(key("program q(N = 9, M = 2)" + rest), base) << "defaults and the name are free";
  EXPECT_EQ(key("program p(N = 4, M = 4) assume N >= 1" + rest), base) << "the default assumption";
  EXPECT_NE(key("program p(M = 4, N = 4)" + rest), base) << "order of parameters";
  EXPECT_NE(key("program p(N = 4, M = 4) assume N >= 2" + rest), base);
  EXPECT_NE(key("program p(N = 4, M = 4) assume N <= M" + rest), base);
  EXPECT_NE(key("program p(N = 4, const M = 4)" + rest), base);
  EXPECT_NE(key("program p(N = 4, const M = 4)" + rest), key("program p(N = 4, const M = 5)" + rest));
  EXPECT_NE(key("program p(N = 4, M = 4)\nin W: f32[M]\nin X: f32[N]\nout Y[i: N] = X[i] + W[0]"), base)
      << "order of inputs";
  EXPECT_NE(key("program p(N = 4, M = 4)\nin X: f32[N]\nconst in W: f32[M]\nout Y[i: N] = X[i] + W[0]"), base)
      << "const in";
}

TEST(key, many_identical_lets_end_soon_and_mean_the_same) {
  std::string text = "program p(N = 4)\nin X: f32[N]\n";
  for (int i = 0; i < 7; ++i) text += "let A" + std::to_string(i) + "[i: N] = X[i]\n";
  std::string sum = "out Y[i: N] = A0[i]";
  for (int i = 1; i < 7; ++i) sum += " * A" + std::to_string(i) + "[i]";
  std::string other = "out Y[i: N] = A3[i] * A5[i] * A0[i] * A1[i] * A6[i] * A2[i] * A4[i]";
  EXPECT_EQ(key(text + sum), key(text + other)) << "7! = 5040 choices";
  std::string many = "program p(N = 4)\nin X: f32[N]\n";
  std::string total = "out Y[i: N] = X[i]";
  for (int i = 0; i < 250; ++i) {
    many += "let A" + std::to_string(i) + "[i: N] = X[i]\n";
    total += " + A" + std::to_string(i) + "[i]";
  }
  EXPECT_EQ(key(many + total).size(), 32U);
}

TEST(key, random_programs_keep_their_key) {
  std::mt19937 random(3);
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Program program = ir::random_program(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(program));
    std::string expected = lang::key_of(program);
    EXPECT_EQ(key(print(program)), expected);
    EXPECT_EQ(key(with_other_names(print(program), random)), expected);
    EXPECT_EQ(key(reordered(program, random)), expected);
    Program swapped = program;
    for (Equation& each : swapped.equations) each.rhs = rewrite(each.rhs, swapped_operands);
    EXPECT_EQ(lang::key_of(swapped), expected);
  }
}

TEST(key, deep_chains_have_a_key) {
  std::string text = "program p()\nin x: f32\nout y = x";
  for (int i = 0; i < 1990; ++i) text += i % 3 == 0 ? " - x" : " + 1";
  EXPECT_EQ(key(text).size(), 32U);
}

}  // namespace
}  // namespace polyweft
