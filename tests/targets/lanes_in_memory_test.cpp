// Lanes that run against the order of memory, and lanes that choose from a table of one vector, lanes that
// read near each other: the bits of the interpreter, and no gathers.
#include <gtest/gtest.h>

#include "samples.h"
#include "targets/kernels.h"
#include "targets/rows_of_lanes.h"

namespace polyweft::targets_test {
namespace {

std::string bytes_of(const std::string& type) {
  return type == "f64" || type == "i64" ? "8" : type == "f32" || type == "i32" ? "4" : type == "u8" ? "1" : "2";
}

/// Y reversed from X, by lanes over X's end or over Y's, with tails and, for `late`, a first lane that is off.
LoopNest reversed(const std::string& type, int64_t n, int64_t lanes, bool stores, int64_t late) {
  const std::string l = std::to_string(lanes), size = std::to_string(n), back = std::to_string(n - 1) + " - i - v",
                    bytes = bytes_of(type);
  const std::string forth = "i + v";
  return parsed("nest 1 reversed class strict\nloops i, v\nbuffer X: " + type + "[" + size + "] argument align " +
                bytes + "\nbuffer Y: " + type + "[" + size + "] argument align " + bytes +
                " output\narguments X, Y\nbody {\n  for i in 0 .. " + size + " step " + l +
                " {\n    for v in max(0, -i + " + std::to_string(late) + ") .. min(" + l + ", -i + " + size +
                ") vector " + l + " {\n      compute 0(i, v) store: Y[" + (stores ? back : forth) + "] <- X[" +
                (stores ? forth : back) + "]\n    }\n  }\n}\n");
}

TEST(LanesInMemory, against_the_order_of_memory_are_reversed_vectors) {
  const auto check = [](const std::string& type, int64_t n, int64_t late) {
    for (bool stores : {false, true}) {
      SCOPED_TRACE(type + " " + std::to_string(n) + (stores ? " stored" : " loaded"));
      expect_same_bits(reversed(type, n, 16, stores, late), 1);
    }
  };
  for (int64_t n : {1, 16}) check("f32", n, 0);
  for (const char* type : {"f32", "f64", "u8", "f16"}) check(type, 37, 3);
  for (bool stores : {false, true}) {
    auto text = targets::llvm_text(reversed("f32", 64, 16, stores, 0), runnable_targets().front(), "reversed");
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(text->find(stores ? "masked.scatter" : "masked.gather"), std::string::npos);
  }
}

/// Every second lane reads, as far as X goes; the others leave zeros.
TEST(LanesInMemory, lanes_that_are_off_by_turns_meet_a_condition) {
  for (const int64_t turn : {2, 3})
    for (const std::string type : {"i64", "f32"})
      for (const std::string lanes : {"4", "16"}) {
        SCOPED_TRACE(type + " every " + std::to_string(turn) + " of " + lanes);
        const std::string by = std::to_string(turn), bytes = bytes_of(type), at = lanes + "*i - v";
        expect_same_bits(
            parsed("nest 1 turns class strict\nloops i, v\nbuffer X: " + type + "[21] argument align " + bytes +
                   "\nbuffer Y: " + type + "[3, " + lanes + "] argument align " + bytes +
                   " output\narguments X, Y\nbody {\n  for i in 0 .. 3 {\n    for v in 0 .. " + lanes + " vector " +
                   lanes + " {\n      if v - " + by + "*floor(v / " + by +
                   ") == 0 {\n        compute 0(i, v) store: Y[i, v] <- guarded(-" + at + " + 20 >= 0; X[-" + at +
                   " + 20], 0:" + type + ")\n      } else {\n        compute 0(i, v) store: Y[i, v] <- 0:" + type +
                   "\n      }\n    }\n  }\n}\n"),
            1);
      }
}

/// Vectors of registers that share lanes: rows of a triangle, whose last fold begins one lane later.
TEST(LanesInMemory, register_vectors_that_overlap_lie_in_memory) {
  for (const auto& [late, lanes] : {std::pair<int64_t, int64_t>{1, 1}, {1, 3}, {2, 2}, {3, 1}}) {
    SCOPED_TRACE(std::to_string(lanes) + " from " + std::to_string(late));
    const std::string from = std::to_string(late), width = std::to_string(lanes);
    expect_same_bits(parsed("nest 1 late class strict\nloops i, v, w, u\nbuffer X: f64[3, 4] argument align 8\nbuffer "
                            "Y: f64[3, 4] argument align 8 output\n"
                            "buffer A: f64[4] reg align 64\narguments X, Y\nbody {\n  for i in 0 .. 3 {\n    alloc A "
                            "{\n      for v in 0 .. 4 vector 4 {\n"
                            "        copy A[v] <- X[i, v]\n      }\n      for w in 0 .. " +
                            width + " vector 4 {\n        copy A[w + " + from +
                            "] <- X[2 - i, w]\n      }\n"
                            "      for u in 0 .. 4 vector 4 {\n        copy Y[i, u] <- A[u]\n      }\n    }\n  }\n}\n"),
                     1);
  }
}

/// Y[i] = T[I[i] / columns, I[i] % columns] with a table of rows x columns, powers of two.
LoopNest chosen(const std::string& type, int64_t rows, int64_t columns, int64_t lanes) {
  const std::string l = std::to_string(lanes), bytes = bytes_of(type),
                    table = std::to_string(rows) + ", " + std::to_string(columns);
  return parsed(
      "nest 1 chosen class strict\nloops i, v\nbuffer I: u8[53] argument align 1\nbuffer J: u8[53] argument align "
      "1\nbuffer T: " +
      type + "[" + table + "] argument align " + bytes + "\nbuffer Y: " + type + "[53] argument align " + bytes +
      " output\narguments I, J, T, Y\nbody {\n  for i in 0 .. 53 step " + l + " {\n    for v in 0 .. min(" + l +
      ", -i + 53) vector " + l + " {\n      compute 0(i, v) store: Y[i + v] <- T[{convert:i64((I[i + v] & " +
      std::to_string(rows - 1) + ":u8)) in 0 .. " + std::to_string(rows - 1) + "}, {convert:i64((J[i + v] & " +
      std::to_string(columns - 1) + ":u8)) in 0 .. " + std::to_string(columns - 1) + "}]\n    }\n  }\n}\n");
}

TEST(LanesInMemory, a_table_of_one_vector_is_permuted) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{4, 4}, {1, 1}, {2, 4}, {8, 4}})
    for (const char* type : {"f32", "i32", "f64"}) {
      SCOPED_TRACE(std::string(type) + " " + std::to_string(rows) + "x" + std::to_string(columns));
      expect_same_bits(chosen(type, rows, columns, bytes_of(type) == "8" ? 8 : 16), 1);
    }
  const Target v4 = *find_target("x86-64-v4");
  auto gathers = [&](int64_t rows, int64_t columns) {
    return targets::llvm_text(chosen("f32", rows, columns, 16), v4, "chosen")->find("masked.gather") !=
           std::string::npos;
  };
  EXPECT_FALSE(gathers(4, 4));
  EXPECT_TRUE(gathers(8, 4));
}

/// Y[i] = X[place of i] for n elements; X ends with the last one that is read, and begins with the first.
LoopNest near(const std::string& type, int64_t n, int64_t lanes, const std::string& place, int64_t elements) {
  const std::string l = std::to_string(lanes), size = std::to_string(n), bytes = bytes_of(type);
  return parsed("nest 1 near class strict\nloops i, v\nbuffer X: " + type + "[" + std::to_string(elements) +
                "] argument align " + bytes + "\nbuffer Y: " + type + "[" + size + "] argument align " + bytes +
                " output\narguments X, Y\nbody {\n  for i in 0 .. " + size + " step " + l +
                " {\n    for v in 0 .. min(" + l + ", -i + " + size + ") vector " + l +
                " {\n      compute 0(i, v) store: Y[i + v] <- X[" + place + "]\n    }\n  }\n}\n");
}

struct NearCase {
  const char* name;
  std::string place;
  int64_t elements;  ///< of X for n elements of Y
};
std::vector<NearCase> near_cases(int64_t n) {
  return {{"even", "2*i + 2*v", 2 * n - 1},
          {"odd", "2*i + 2*v + 1", 2 * n},
          {"later", "2*i + 2*v + 5", 2 * n + 6},
          {"backwards", "-2*i - 2*v + " + std::to_string(2 * n - 2), 2 * n - 1},
          {"twice", "floor(i + v / 2)", (n + 1) / 2},
          {"next", "floor(i + v + 1 / 2)", n / 2 + 1},
          {"thrice", "floor(i + v / 3)", (n + 2) / 3},
          {"thirds", "3*i + 3*v", 3 * n - 2}};
}

TEST(LanesInMemory, near_each_other_are_picked_from_vectors) {
  for (const char* type : {"f32", "f64", "i16", "bool"})
    for (int64_t n : {1, 53, 64})
      for (const NearCase& c : near_cases(n)) {
        SCOPED_TRACE(std::string(type) + " " + std::to_string(n) + " " + c.name);
        expect_same_bits(near(type, n, 16, c.place, c.elements), 1);
      }
  const auto gathers = [](const char* wanted, int64_t n) {
    for (const NearCase& c : near_cases(n))
      if (std::string(c.name) == wanted) {
        auto text = targets::llvm_text(near("f32", n, 16, c.place, c.elements), runnable_targets().front(), "near");
        EXPECT_TRUE(text) << text.error().message;
        return text && text->find("masked.gather") != std::string::npos;
      }
    return true;
  };
  for (const char* name : {"even", "odd", "later", "backwards", "twice", "next"})
    EXPECT_FALSE(gathers(name, 64)) << name;
  EXPECT_TRUE(gathers("thirds", 64));  // three vectors
}

TEST(LanesInMemory, near_each_other_under_masks_are_picked_from_vectors) {
  test::Sample sample(5);
  const auto check = [&](const RowsCase& c) {
    if (!sample.takes()) return;
    SCOPED_TRACE(text_of(c));
    expect_same_bits(rows_of(c), 1);
  };
  for (int64_t n : {8, 31})
    for (const auto& [place, elements] : places_of_rows(n))
      for (int64_t late : {0, 2})
        for (bool has_condition : {false, true}) check({"f32", place, n, elements, late, has_condition});
  for (const char* type : {"f64", "f16", "bf16", "i64", "i32", "i16", "u8", "bool"})
    for (size_t k : {0, 4, 7}) {
      const auto [place, elements] = places_of_rows(24)[k];
      check({type, place, 24, elements, 0, false});
      check({type, place, 24, elements, 2, true});
    }
  const auto gathers = [](const RowsCase& c, const char* level) {
    auto text = targets::llvm_text(rows_of(c), *find_target(level), "rows");
    if (!text) throw std::runtime_error(text.error().message);
    return text->find("masked.gather") != std::string::npos;
  };
  for (const char* level : {"x86-64-v3", "x86-64-v4"}) {
    EXPECT_FALSE(gathers({"f32", "2*j + 2*v", 24, 47}, level)) << level;
    EXPECT_FALSE(gathers({"f32", "floor(j + v / 2)", 24, 12}, level)) << level;
    EXPECT_FALSE(gathers({"f32", "4*j + 4*v", 24, 96}, level)) << level;
  }
  for (const int64_t late : {0, 2})
    for (bool has_condition : {false, true})
      for (const char* type : {"f32", "u8"})
        EXPECT_FALSE(gathers({type, "2*j + 2*v", 24, 47, late, has_condition}, "x86-64-v4")) << type;
}

/// Y[2 * i + odd] = X[i], what lies between as it was: by another loop before.
LoopNest spread(const std::string& type, int64_t n, int64_t lanes, int64_t odd, int64_t late) {
  const std::string l = std::to_string(lanes), size = std::to_string(n), all = std::to_string(2 * n - 1 + odd),
                    bytes = bytes_of(type);
  return parsed(
      "nest 1 spread class strict\nloops i, v, j\nbuffer X: " + type + "[" + all + "] argument align " + bytes +
      "\nbuffer Y: " + type + "[" + all + "] argument align " + bytes +
      " output\narguments X, Y\nbody {\n  for j in 0 .. " + all + " {\n    compute 0(j) store: Y[j] <- X[-j + " +
      std::to_string(2 * n - 2 + odd) + "]\n  }\n  for i in 0 .. " + size + " step " + l +
      " {\n    for v in max(0, -i + " + std::to_string(late) + ") .. min(" + l + ", -i + " + size + ") vector " + l +
      " {\n      compute 1(i, v) store: Y[2*i + 2*v + " + std::to_string(odd) + "] <- X[i + v]\n    }\n  }\n}\n");
}

TEST(LanesInMemory, are_spread_over_every_second_element) {
  for (const char* type : {"f32", "f64", "i16", "bool"})
    for (int64_t n : {1, 16, 53})
      for (int64_t odd : {0, 1}) {
        SCOPED_TRACE(std::string(type) + " " + std::to_string(n) + " " + std::to_string(odd));
        expect_same_bits(spread(type, n, 16, odd, n == 53 ? 3 : 0), 1);
      }
  auto text = targets::llvm_text(spread("f32", 64, 16, 1, 0), runnable_targets().front(), "spread");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->find("masked.scatter"), std::string::npos);
}

}  // namespace
}  // namespace polyweft::targets_test
