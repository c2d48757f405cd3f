// Nests whose lanes read elements near each other, under masks of each kind.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "targets/kernels.h"

namespace polyweft::targets_test {

/// Y[i, j] = X[i, place of j] for three rows of n elements, in vectors of 16; X's rows hold `elements`. The first
/// vector of row i begins `late` - i lanes late. With a condition only every third lane reads, and none of the first
/// row.
struct RowsCase {
  std::string type, place;
  int64_t n = 0, elements = 0, late = 0;
  bool has_condition = false;
};

inline std::string text_of(const RowsCase& c) {
  return c.type + " " + std::to_string(c.n) + " of " + c.place + " from " + std::to_string(c.late) +
         (c.has_condition ? " under a condition" : "");
}

/// Places of lanes, and how many elements they reach.
inline std::vector<std::pair<std::string, int64_t>> places_of_rows(int64_t n) {
  return {{"2*j + 2*v", 2 * n - 1},          {"2*j + 2*v + 1", 2 * n},
          {"2*j + 2*v + 5", 2 * n + 6},      {"-2*j - 2*v + " + std::to_string(2 * n - 1), 2 * n},
          {"floor(j + v / 2)", (n + 1) / 2}, {"floor(j + v + 1 / 2)", n / 2 + 1},
          {"floor(j + v / 3)", (n + 2) / 3}, {"3*j + 3*v", 3 * n - 2},
          {"3*j + 3*v + 1", 3 * n},          {"4*j + 4*v + 2", 4 * n},
          {"9*j + 9*v + 2", 9 * n}};
}

inline LoopNest rows_of(const RowsCase& c) {
  const std::string n = std::to_string(c.n), late = std::to_string(c.late);
  const bool has_8_bytes = c.type == "f64" || c.type == "i64", has_4_bytes = c.type == "f32" || c.type == "i32";
  const std::string bytes = has_8_bytes ? "8" : has_4_bytes ? "4" : c.type == "u8" || c.type == "bool" ? "1" : "2";
  const std::string value = "X[i, " + c.place + "]";
  const std::string third = "all(i + j + v - 3*floor(i + j + v / 3) == 0, i - 1 >= 0)";
  const std::string first = c.late > 0 ? "max(0, -j - i + " + late + ")" : "0";
  return parsed("nest 1 rows class strict\nloops i, j, v\nbuffer X: " + c.type + "[3, " + std::to_string(c.elements) +
                "] argument align " + bytes + "\nbuffer Y: " + c.type + "[3, " + n + "] argument align " + bytes +
                " output\narguments X, Y\nbody {\n  for i in 0 .. 3 {\n    for j in 0 .. " + n +
                " step 16 unroll {\n      for v in " + first + " .. min(16, -j + " + n +
                ") vector 16 {\n        compute 0(i, j, v) store: Y[i, j + v] <- " +
                (c.has_condition ? "guarded(" + third + "; " + value + ", 0:" + c.type + ")" : value) +
                "\n      }\n    }\n  }\n}\n");
}

}  // namespace polyweft::targets_test
