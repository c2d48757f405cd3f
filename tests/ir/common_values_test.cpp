// Values that several equations compute: which ones are made once, as text, and that the bits stay.
#include <gtest/gtest.h>

#include "ir/normalize/normalize.h"
#include "ir/oracles/evaluator.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"

namespace polyweft::test {
namespace {

struct CommonCase {
  const char* text;
  const char* equations;  ///< of the normalized program
};

const std::string kHead = "program p(M = 5, N = 6)\nin X: f32[M, N]\nin b: f32[M]\n";

const CommonCase kCommonCases[] = {
    // a maximum and an exponential, each said twice
    {"out Y[i: M, j: N] = exp(X[i, j] - (max[k: N] X[i, k])) / (sum[k: N] exp(X[i, k] - (max[q: N] X[i, q])))",
     "out Y[i: M, j: N]: f32 = Y.e1[i, j] / Y.2[i]\nlet Y.1[i: M]: f32 = max[k: N] X[i, k]\nlet Y.2[i: M]: f32 = "
     "sum[k: N] "
     "Y.e1[i, k]\nlet Y.e1[i: M, j: N]: f32 = exp(X[i, j] - Y.1[i])\n"},
    // one that has a tensor already
    {"let e[i: M, j: N] = exp(X[i, j])\nout s[i: M] = sum[j: N] exp(X[i, j])\nout t[j: N] = sum[i: M] e[i, j]",
     "let e[i: M, j: N]: f32 = exp(X[i, j])\nout s[i: M]: f32 = sum[j: N] e[i, j]\nout t[j: N]: f32 = sum[i: M] e[i, "
     "j]\n"},
    // other ranges, another operand, and cheap ones are computed again
    {"out s[i: M] = sum[j: N] exp(X[i, j])\nout t[i: M] = sum[j: 2..N] exp(X[i, j])",
     "out s[i: M]: f32 = sum[j: N] exp(X[i, j])\nout t[i: M]: f32 = sum[j: 2..N] exp(X[i, j])\n"},
    {"out s[i: M] = sum[j: N] exp(X[i, j] - 1)\nout t[i: M] = sum[j: N] exp(X[i, j] - 2)",
     "out s[i: M]: f32 = sum[j: N] exp(X[i, j] - 1.0)\nout t[i: M]: f32 = sum[j: N] exp(X[i, j] - 2.0)\n"},
    {"out s[i: M] = sum[j: N] (X[i, j] - b[i])\nout t[i: M, j: N] = X[i, j] - b[i]",
     "out s[i: M]: f32 = sum[j: N] (X[i, j] - b[i])\nout t[i: M, j: N]: f32 = X[i, j] - b[i]\n"},
    // under a condition its operands may not exist
    {"out s[i: M, j: N] = exp(X[i, j + 1]) where j + 1 < N else 0\nout t[i: M, j: N] = 1 + exp(X[i, j + 1]) where j + "
     "1 "
     "< N else 0",
     "out s[i: M, j: N]: f32 = exp(X[i, j + 1]) where N >= j + 2 else 0.0\nout t[i: M, j: N]: f32 = 1.0 + exp(X[i, j + "
     "1]) where N >= j + 2 else 0.0\n"},
};

Program parsed_for(const std::string& equations) {
  auto parsed = lang::parse(kHead + equations + "\n", "test.weft");
  if (!parsed) ADD_FAILURE() << parsed.error().message;
  return parsed->programs.front();
}

TEST(CommonValues, are_made_once) {
  for (const CommonCase& c : kCommonCases) {
    const std::string text = print(normalize(parsed_for(c.text), NumericsClass::strict));
    EXPECT_EQ(text.substr(std::min(text.find("\nlet "), text.find("\nout ")) + 1), c.equations);
  }
}

TEST(CommonValues, keep_their_bits) {
  for (const CommonCase& c : kCommonCases) {
    const Program source = parsed_for(c.text), bound = polyweft::bind(source, make_binding(source, {}).value());
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const auto inputs = ir::seeded_inputs(bound, seed, ir::DataKind::random);
      auto written = ir::evaluate(bound, inputs),
           normal = ir::evaluate(normalize(bound, NumericsClass::strict), inputs);
      ASSERT_TRUE(written.ok() && normal.ok()) << c.text;
      for (size_t k = 0; k < written->tensors.size(); ++k)
        EXPECT_EQ(written->tensors[k].bytes, normal->tensors[k].bytes) << c.text;
    }
  }
}

// A tensor of its own would be needed by what it is made of: values inside a recurrence stay where they are.
TEST(CommonValues, of_a_recurrence_stay) {
  const std::string text = print(normalize(
      parsed_for("let h[0]: f32 = b[0]\nlet h[i: 1..M]: f32 = exp(h[i - 1]) + b[i]\nlet g[0]: f32 = b[0]\nlet g[i: "
                 "1..M]: f32 = exp(h[i - 1]) + g[i - 1]\nout y[i: M]: f32 = h[i] + g[i]"),
      NumericsClass::strict));
  EXPECT_NE(text.find("exp(h[i - 1]) + b[i]"), std::string::npos) << text;
}

}  // namespace
}  // namespace polyweft::test
