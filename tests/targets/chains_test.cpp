// Recurrences along the innermost loop of nests that are left to the compiler (running extremes and sums), and what subscripts and quotients in 32 bits or by
// shifts must give: the bits of the plain interpreter.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/scalar.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

struct Chain {
  std::string type = "f32", cls = "reassoc";
  std::string step;           ///< of M[r, i]; @ stands for M[r, i - 1], # for X[r, i]
  int64_t rows = 3, n = 333;  ///< elements behind the first
  bool is_read_after = false;
};

std::string replaced(std::string text, const std::string& mark, const std::string& by) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) text.replace(at, mark.size(), by);
  return text;
}

/// M[r, 0] = X[r, 0]; M[r, i] = step; Y = M + 0, which makes zeros one; D reads this element and the one before.
LoopNest chain(const Chain& c) {
  const std::string n = std::to_string(c.n + 1), rows = std::to_string(c.rows), t = c.type, bytes = std::to_string(size_bytes(*element_type_named(t)));
  const auto buffer = [&](const char* name, const std::string& where) { return std::string("buffer ") + name + ": " + t + "[" + rows + ", " + n + "] " + where + "\n"; };
  const std::string argument = "argument align " + bytes;
  const std::string m = "compute 1(r, i) store: M[r, i] <- " + replaced(replaced(c.step, "@", "M[r, i - 1]"), "#", "X[r, i]");
  const std::string after = "compute 2(r, i) store: D[r, i] <- (M[r, i] + M[r, i - 1])";
  const std::string inside = c.is_read_after ? "seq {\n" + m + "\n" + after + "\n}" : m;
  return parsed("nest 1 chain class " + c.cls + "\nautovectorize\nloops r, i, k, l\n" + buffer("X", argument) + buffer("Y", argument + " output") + buffer("D", argument + " output") +
                buffer("M", "heap align 64") + "arguments X, Y, D\nbody {\nalloc M { for r in 0 .. " + rows + " { seq {\ncompute 0(r) store: M[r, 0] <- X[r, 0]\n" +
                "compute 3(r) store: D[r, 0] <- X[r, 0]\nfor i in 1 .. " + n + " { " + inside + " }\n" + (c.is_read_after ? "" : "for k in 1 .. " + n + " { compute 5(r, k) store: D[r, k] <- X[r, k] }\n") +
                "for l in 0 .. " + n + " { compute 4(r, l) store: Y[r, l] <- (M[r, l] + 0:" + t + ") }\n} } }\n}\n");
}

TEST(Chains, the_same_bits) {
  for (const std::string type : {"f32", "f64", "i32", "i64", "i16", "i8", "u8"})
    for (const char* cls : {"strict", "reassoc"})
      for (const char* step : {"max(@, #)", "min(#, @)", "(@ + #)", "max(#, (@ - 1:T))", "(min(@, #) + #)"})
        for (int64_t n : {1, 16, 17, 333}) {
          const bool has_all_lengths = type == "f32" || type == "i32";
          if ((n != 333 && !has_all_lengths) || (type[0] != 'f' && cls == std::string("strict"))) continue;
          for (bool is_read_after : {false, true}) {
            if (is_read_after && n != 333) continue;
            SCOPED_TRACE(type + " " + cls + " " + step + " " + std::to_string(n) + (is_read_after ? " read after" : ""));
            expect_same_bits(chain({type, cls, replaced(step, "T", type), 3, n, is_read_after}), 1);
          }
        }
}

/// Quotients and remainders by a number, one at a time, in lanes, and as the compiler likes.
LoopNest divided(const std::string& type, const std::string& by, int way) {
  const std::string bytes = std::to_string(size_bytes(*element_type_named(type)));
  const auto buffer = [&](const char* name, const char* rest) { return std::string("buffer ") + name + ": " + type + "[64] argument align " + bytes + rest + "\n"; };
  const std::string at = way == 1 ? "i + v" : "i", d = by + ":" + type;
  const std::string body = "compute 0(" + at + ") store: Q[" + at + "] <- (X[" + at + "] // " + d + ")\ncompute 1(" + at + ") store: R[" + at + "] <- (X[" + at + "] % " + d + ")\n";
  return parsed("nest 1 divided class reassoc\n" + std::string(way == 2 ? "autovectorize\n" : "") + "loops i, v\n" + buffer("X", "") + buffer("Q", " output") +
                buffer("R", " output") + "arguments X, Q, R\nbody {\nfor i in 0 .. 64" + (way == 1 ? " step 8 { for v in 0 .. 8 vector 8 { seq {\n" + body + "} } }" : " { seq {\n" + body + "} }") +
                "\n}\n");
}

TEST(Division, by_powers_of_two_and_their_neighbours) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> divisors = {
      {"i8", {"1", "2", "64", "-1", "-2", "-128", "3", "0"}},
      {"u8", {"1", "2", "64", "128", "3", "0"}},
      {"i16", {"1", "4", "16384", "-32768", "-4", "7", "0"}},
      {"i32", {"1", "256", "1073741824", "-2147483648", "-256", "255", "0"}},
      {"i64", {"1", "256", "4611686018427387904", "-9223372036854775808", "-8", "257", "0"}},
  };
  for (const auto& [type, numbers] : divisors)
    for (const std::string& number : numbers)
      for (int way : {0, 1, 2}) {
        SCOPED_TRACE(type + " by " + number + " way " + std::to_string(way));
        expect_same_bits(divided(type, number, way), 3);
      }
}

}  // namespace
}  // namespace polyweft::targets_test
