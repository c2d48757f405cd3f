// Lanes whose elements lie S apart, next to those of other accesses: rows are loaded and stored in pieces and
// transposed in registers. The bits of the interpreter for all strides, types and widths, whatever lies around the
// rows; where all is whole, no gather and no scatter.
#include <gtest/gtest.h>

#include "samples.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

struct GroupCase {
  std::string type = "f32";
  int64_t stride = 3, lanes = 8, rows = 21, shift = 0;
  std::string statements;  ///< R stands for the row's first element
};

std::string filled_in(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

LoopNest nest_of(const GroupCase& c) {
  const std::string bytes = c.type == "f64" || c.type == "i64"   ? "8"
                            : c.type == "f32" || c.type == "i32" ? "4"
                            : c.type == "i16"                    ? "2"
                                                                 : "1";
  const std::string elements = std::to_string(c.rows * c.stride + c.shift), l = std::to_string(c.lanes),
                    s = std::to_string(c.stride);
  const std::string row = s + "*i + " + s + "*v + " + std::to_string(c.shift);
  const std::string buffer = ": " + c.type + "[" + elements + "] argument align " + bytes;
  const std::string count = c.rows % c.lanes == 0 ? l : "min(" + l + ", -i + " + std::to_string(c.rows) + ")";
  return parsed("nest 1 rows class strict\nloops i, v\nbuffer X" + buffer + "\nbuffer Y" + buffer +
                " output\narguments X, Y\nbody {\n  for i in 0 .. " + std::to_string(c.rows) + " step " + l +
                " {\n    for v in 0 .. " + count + " vector " + l + " {\n" + filled_in(c.statements, "R", row) +
                "    }\n  }\n}\n");
}

std::string store(int64_t to, const std::string& value) {
  return "      compute 0(i, v) store: Y[R + " + std::to_string(to) + "] <- " + value + "\n";
}
std::string x(int64_t column) {
  return "X[R + " + std::to_string(column) + "]";
}

/// Columns in another order.
std::string transposed_rows(int64_t stride) {
  std::string out;
  for (int64_t c = 0; c < stride; ++c) out += store(c, x((c * 5 + 1) % stride));
  return out;
}

bool asks_for_lanes(const GroupCase& c, const char* level) {
  auto text = targets::llvm_text(nest_of(c), *find_target(level), "rows");
  if (!text) throw std::runtime_error(text.error().message);
  return text->find("masked.gather") != std::string::npos || text->find("masked.scatter") != std::string::npos;
}

TEST(Groups, of_all_strides_and_types_are_the_interpreters) {
  test::Sample sample(2);
  for (const char* type : {"f32", "f64", "i32", "i16", "i8"})
    for (int64_t stride = 2; stride <= 16; ++stride) {
      if (!sample.takes()) continue;
      GroupCase c{type, stride, std::string(type) == "f64" ? 8 : 16, 32, 0, transposed_rows(stride)};
      SCOPED_TRACE(c.type + " every " + std::to_string(stride));
      expect_same_bits(nest_of(c), 1);
      if (std::string(type) == "f32" || std::string(type) == "f64") {
        EXPECT_FALSE(asks_for_lanes(c, "x86-64-v3"));
        EXPECT_FALSE(asks_for_lanes(c, "x86-64-v4"));
      }
    }
}

TEST(Groups, of_all_widths) {
  for (const int64_t lanes : {2, 4, 8, 16, 32, 64})
    for (const int64_t stride : {2, 3, 4, 6, 9})
      for (const char* type : {"f32", "i8"}) {
        SCOPED_TRACE(std::to_string(lanes) + " lanes of " + type + " every " + std::to_string(stride));
        expect_same_bits(nest_of({type, stride, lanes, 2 * lanes, 0, transposed_rows(stride)}), 1);
      }
}

TEST(Groups, tails_bases_and_parts) {
  test::Sample sample(5);
  for (const int64_t stride : {2, 3, 4, 5, 7, 9, 16})
    for (const char* type : {"f32", "f64", "i16"})
      for (const int64_t rows : {16, 21})
        for (const int64_t shift : {0, 1, 5}) {
          if (!sample.takes()) continue;
          SCOPED_TRACE(std::string(type) + " every " + std::to_string(stride) + ", " + std::to_string(rows) +
                       " rows from " + std::to_string(shift));
          expect_same_bits(nest_of({type, stride, 8, rows, shift, transposed_rows(stride)}), 1);
          expect_same_bits(nest_of({type, stride, 8, rows, shift,
                                    store(stride - 1, x(0)) + (stride > 2 ? store(0, x(stride - 1)) : "")}),
                           1);  // some columns
        }
}

/// What waits is written before it is read, written again, or passed by under a condition.
TEST(Groups, the_order_of_stores_and_loads_stays) {
  const auto y = [](int64_t column) { return "Y[R + " + std::to_string(column) + "]"; };
  for (const int64_t stride : {2, 3, 4, 9})
    for (const int64_t rows : {16, 21}) {
      const int64_t last = stride - 1;
      SCOPED_TRACE("every " + std::to_string(stride) + ", " + std::to_string(rows) + " rows");
      const auto check = [&](const std::string& statements) {
        expect_same_bits(nest_of({"f32", stride, 8, rows, 0, statements}), 1);
      };
      check(store(0, x(0)) + store(last, "(" + y(0) + " + " + x(last) + ")") +
            store(0, "(" + y(last) + " - " + x(0) + ")"));
      check(store(0, x(0)) + store(0, x(last)) + store(1, x(0)));
      check(store(0, x(0)) + "      compute 0(i, v) store: Y[R] <- guarded(v - 3 >= 0; " + x(1) + ", " + y(0) + ")\n" +
            store(1, x(1)));
      check(store(0, x(0)) + "      if v - 3 >= 0 {\n  " + store(1, x(0)) + "      }\n" + store(last, x(last)));
      check(store(0, x(0)) + "      if i - 8 >= 0 {\n  " + store(0, x(1)) + store(1, y(0)) + "      }\n" +
            store(last, y(0)));
    }
}

/// Columns that a serial loop walks inside the lanes; the last pieces end with the buffer.
TEST(Groups, columns_that_a_loop_walks) {
  for (const int64_t stride : {3, 4, 7})
    for (const char* type : {"f32", "f64"}) {
      SCOPED_TRACE(std::string(type) + " every " + std::to_string(stride));
      const std::string bytes = std::string(type) == "f32" ? "4" : "8", s = std::to_string(stride),
                        buffer = std::string(": ") + type + "[16, " + s + "] argument align " + bytes;
      expect_same_bits(parsed("nest 1 walk class strict\nloops i, v, k\nbuffer X" + buffer + "\nbuffer Y" + buffer +
                              " output\nbuffer r: " + type +
                              "[8] reg align 64\narguments X, Y\nbody {\n  for i in 0 .. 16 step 8 {\n    alloc r {\n  "
                              "    for v in 0 .. 8 vector 8 {\n"
                              "        compute 0(i, v) store: r[v] <- X[i + v, 0]\n        for k in 0 .. " +
                              s +
                              " {\n          compute 0(i, v) store: r[v] <- (r[v] + X[i + v, k])\n          compute "
                              "0(i, v) store: Y[i + v, k] <- (r[v] * X[i + v, " +
                              s + " - k - 1])\n        }\n      }\n    }\n  }\n}\n"),
                       1);
    }
}

}  // namespace
}  // namespace polyweft::targets_test
