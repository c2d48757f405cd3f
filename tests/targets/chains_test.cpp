// Recurrences along the innermost loop of nests that are left to the compiler (running extremes and sums), and what
// subscripts and quotients in 32 bits or by shifts must give: the bits of the plain interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ir/values/scalar.h"
#include "samples.h"
#include "targets/count_of.h"
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
  const std::string n = std::to_string(c.n + 1), rows = std::to_string(c.rows), t = c.type,
                    bytes = std::to_string(size_bytes(*element_type_named(t)));
  const auto buffer = [&](const char* name, const std::string& where) {
    return std::string("buffer ") + name + ": " + t + "[" + rows + ", " + n + "] " + where + "\n";
  };
  const std::string argument = "argument align " + bytes;
  const std::string m =
      "compute 1(r, i) store: M[r, i] <- " + replaced(replaced(c.step, "@", "M[r, i - 1]"), "#", "X[r, i]");
  const std::string after = "compute 2(r, i) store: D[r, i] <- (M[r, i] + M[r, i - 1])";
  const std::string inside = c.is_read_after ? "seq {\n" + m + "\n" + after + "\n}" : m;
  return parsed("nest 1 chain class " + c.cls + "\nautovectorize\nloops r, i, k, l\n" + buffer("X", argument) +
                buffer("Y", argument + " output") + buffer("D", argument + " output") + buffer("M", "heap align 64") +
                "arguments X, Y, D\nbody {\nalloc M { for r in 0 .. " + rows +
                " { seq {\ncompute 0(r) store: M[r, 0] <- X[r, 0]\n" +
                "compute 3(r) store: D[r, 0] <- X[r, 0]\nfor i in 1 .. " + n + " { " + inside + " }\n" +
                (c.is_read_after ? "" : "for k in 1 .. " + n + " { compute 5(r, k) store: D[r, k] <- X[r, k] }\n") +
                "for l in 0 .. " + n + " { compute 4(r, l) store: Y[r, l] <- (M[r, l] + 0:" + t + ") }\n} } }\n}\n");
}

TEST(Chains, the_same_bits) {
  test::Sample sample(3);
  for (const std::string type : {"f32", "f64", "i32", "i64", "i16", "i8", "u8"})
    for (const char* cls : {"strict", "reassoc"})
      for (const char* step : {"max(@, #)", "min(#, @)", "(@ + #)", "max(#, (@ - 1:T))", "(min(@, #) + #)"})
        for (int64_t n : {1, 16, 17, 333}) {
          const bool has_all_lengths = type == "f32" || type == "i32";
          if ((n != 333 && !has_all_lengths) || (type[0] != 'f' && cls == std::string("strict"))) continue;
          for (bool is_read_after : {false, true}) {
            if ((is_read_after && n != 333) || !sample.takes()) continue;
            SCOPED_TRACE(type + " " + cls + " " + step + " " + std::to_string(n) +
                         (is_read_after ? " read after" : ""));
            expect_same_bits(chain({type, cls, replaced(step, "T", type), 3, n, is_read_after}), 1);
          }
        }
}

/// One loop from the first element on, or down from the last: the element before is read where a guard says that there
/// is one.
LoopNest guarded_chain(const std::string& type, const std::string& step, bool is_downward) {
  const std::string at = is_downward ? "-i" : "i", before = is_downward ? "-i + 1" : "i - 1",
                    guard = is_downward ? "i + 198 >= 0" : "i - 1 >= 0";
  const std::string bytes = std::to_string(size_bytes(*element_type_named(type)));
  const auto buffer = [&](const char* name, const std::string& where) {
    return std::string("buffer ") + name + ": " + type + "[3, 200] " + where + "\n";
  };
  const std::string value = replaced(
      replaced(step, "@", "guarded(" + guard + "; M[r, " + before + "], 3:" + type + ")"), "#", "X[r, " + at + "]");
  return parsed("nest 1 chain class reassoc\nautovectorize\nloops r, i, l\n" + buffer("X", "argument align " + bytes) +
                buffer("Y", "argument align " + bytes + " output") + buffer("M", "heap align 64") +
                "arguments X, Y\nbody {\nalloc M { for r in 0 .. 3 { seq {\nfor i in " +
                (is_downward ? "-199 .. 1" : "0 .. 200") + " { compute 0(r, " + at + ") store: M[r, " + at + "] <- " +
                value + " }\nfor l in 0 .. 200 { compute 1(r, l) store: Y[r, l] <- (M[r, l] + 0:" + type +
                ") }\n} } }\n}\n");
}

TEST(Chains, under_guards) {
  test::Sample sample(3);
  for (const char* type : {"f32", "f64", "i32", "i8"})
    for (const char* step : {"(@ + #)", "max(#, @)", "(#  - min(@, #))", "(@ - @)"})
      for (bool is_downward : {false, true}) {
        if (!sample.takes()) continue;
        SCOPED_TRACE(std::string(type) + " " + step + (is_downward ? " downward" : ""));
        expect_same_bits(guarded_chain(type, step, is_downward), 1);
      }
}

/// Quotients and remainders by a number, one at a time, in lanes, and as the compiler likes.
LoopNest divided(const std::string& type, const std::string& by, int way) {
  const std::string bytes = std::to_string(size_bytes(*element_type_named(type)));
  const auto buffer = [&](const char* name, const char* rest) {
    return std::string("buffer ") + name + ": " + type + "[64] argument align " + bytes + rest + "\n";
  };
  const std::string at = way == 1 ? "i + v" : "i", d = by + ":" + type;
  const std::string body = "compute 0(" + at + ") store: Q[" + at + "] <- (X[" + at + "] // " + d + ")\ncompute 1(" +
                           at + ") store: R[" + at + "] <- (X[" + at + "] % " + d + ")\n";
  return parsed(
      "nest 1 divided class reassoc\n" + std::string(way == 2 ? "autovectorize\n" : "") + "loops i, v\n" +
      buffer("X", "") + buffer("Q", " output") + buffer("R", " output") +
      "arguments X, Q, R\nbody {\nfor i in 0 .. 64" +
      (way == 1 ? " step 8 { for v in 0 .. 8 vector 8 { seq {\n" + body + "} } }" : " { seq {\n" + body + "} }") +
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

/// Y[r] = sum of A[r, k] * B[k], in `parts` vectors of as many lanes, merged in the end.
struct Dot {
  std::string a = "i8", b = "u8";
  int64_t lanes = 8, parts = 4, turns = 3;
  int64_t extent() const { return lanes * parts * turns; }
};

LoopNest dot(const Dot& d) {
  const auto t = [](int64_t k) { return std::to_string(k); };
  const auto argument = [&](const char* name, const std::string& type, const std::string& extents) {
    return std::string("buffer ") + name + ": " + type + "[" + extents + "] argument align " +
           t(size_bytes(*element_type_named(type)));
  };
  std::string loops = "r, k, u, v, w, x, y", body;
  int64_t fresh = 0;
  const auto over_lanes = [&](int64_t lanes, const std::string& what) {  // @: the lane
    const std::string m = "m" + t(fresh++);
    loops += ", " + m;
    body += "for " + m + " in 0 .. " + t(lanes) + (lanes == 1 ? " unroll { " : " vector " + t(lanes) + " { ") +
            replaced(what, "@", m) + " }\n";
  };
  const std::string l = t(d.lanes), parts = "0 .. " + t(d.parts) + " unroll { for ",
                    vector = " in 0 .. " + l + " vector " + l + " { ";
  const std::string at = "k + " + l + "*w + x";
  body += "for u in " + parts + "v" + vector + "compute 0(r) init sum: P[u, v] } }\n";
  body += "for k in 0 .. " + t(d.extent()) + " step " + t(d.lanes * d.parts) + " { for w in " + parts + "x" + vector +
          "compute 0(r, " + at + ") accumulate sum: P[w, x] <- (convert:i32(A[r, " + at + "]) * convert:i32(B[" + at +
          "])) } } }\n";
  for (int64_t part = 1; part < d.parts; ++part)
    over_lanes(d.lanes, "compute 0(r) merge sum: P[0, @] <- P[" + t(part) + ", @]");
  body += "alloc R { seq {\n";
  over_lanes(d.lanes, "copy R[@] <- P[0, @] else 0:i32");
  for (int64_t half = d.lanes / 2; half > 0; half /= 2)
    over_lanes(half, "compute 0(r) merge sum: R[@] <- R[@ + " + t(half) + "]");
  return parsed("nest 1 dot class reassoc\nloops " + loops + "\n" + argument("A", d.a, "4, " + t(d.extent())) + "\n" +
                argument("B", d.b, t(d.extent())) + "\n" + argument("Y", "i32", "4") +
                " output tensor 0 element [$0]\nbuffer P: i32[" + t(d.parts) + ", " + l +
                "] reg align 64 tensor 0 element [r]\nbuffer R: i32[" + l +
                "] reg align 64 tensor 0 element [r]\narguments A, B, Y\nbody {\nfor r in 0 .. 4 { alloc P { seq {\n" +
                body + "copy Y[r] <- R[0] else 0:i32\n} } } } }\n}\n");
}

const std::vector<std::string> kShort = {"i8", "u8", "i16"};

TEST(Dots, sums_of_products_of_all_signs_and_widths) {
  for (const std::string& a : kShort)
    for (const std::string& b : kShort)
      for (int64_t lanes : {4, 8, 16})
        for (int64_t parts : {2, 4, 7}) {
          SCOPED_TRACE(a + " x " + b + " lanes " + std::to_string(lanes) + " parts " + std::to_string(parts));
          expect_same_bits(dot({a, b, lanes, parts, 3}), 1);
        }
}

/// All elements the least or greatest there are: pairs of words and groups of bytes at their ends, and sums that pass
/// 2^31.
TEST(Dots, extremes_are_exact_modulo_2_to_the_32) {
  test::Sample sample(5);
  for (const Target& target : runnable_targets())
    for (const std::string& a : kShort)
      for (const std::string& b : kShort)
        for (int64_t lanes : {8, 16}) {
          if (!sample.takes()) continue;
          const Dot shape{a, b, lanes, 8, a == "i16" && b == "i16" ? 2 : 600};
          const LoopNest nest = dot(shape);
          const Loaded loaded = load(nest, target);
          std::vector<TensorData> arguments;
          for (BufferId id : nest.arguments) arguments.push_back(argument_data(nest.buffers[id]));
          const int64_t of_a[] = {ir::least_of(*element_type_named(a)), ir::greatest_of(*element_type_named(a))};
          const int64_t of_b[] = {ir::least_of(*element_type_named(b)), ir::greatest_of(*element_type_named(b))};
          for (int64_t x : of_a)
            for (int64_t y : of_b) {
              for (int64_t k = 0; k < arguments[0].elements(); ++k)
                arguments[0].set(k, Literal{element_type_named(a).value(), static_cast<double>(x), x});
              for (int64_t k = 0; k < arguments[1].elements(); ++k)
                arguments[1].set(k, Literal{element_type_named(b).value(), static_cast<double>(y), y});
              ASSERT_EQ(call(loaded.code->address("dot"), arguments), 0);
              const auto wanted = static_cast<int32_t>(
                  static_cast<uint32_t>(static_cast<uint64_t>(x * y) * static_cast<uint64_t>(shape.extent())));
              for (int64_t r = 0; r < 4; ++r)
                EXPECT_EQ(arguments[2].at(r).i, wanted)
                    << a << " " << x << " x " << b << " " << y << " lanes " << lanes;
            }
        }
}

TEST(Dots, bytes_take_the_unit_where_there_is_one) {
  Target with = *find_target("x86-64-v4");
  with.features.insert(std::lower_bound(with.features.begin(), with.features.end(), "avx512vnni"), "avx512vnni");
  for (const std::string& a : {"i8", "u8"})
    for (const std::string& b : {"i8", "u8"}) {
      const auto text = targets::assembly_text(dot({a, b, 16, 8, 3}), with);
      ASSERT_TRUE(text);
      EXPECT_EQ(count_of("vpdpbusd", *text), a == b ? 4u : 2u) << a << b;
      const auto without = targets::assembly_text(dot({a, b, 8, 8, 3}), *find_target("x86-64-v3"));
      ASSERT_TRUE(without);
      EXPECT_EQ(count_of("vpmaddwd", *without), 4u) << a << b;
    }
}

}  // namespace
}  // namespace polyweft::targets_test
