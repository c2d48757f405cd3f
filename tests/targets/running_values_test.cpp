// Recurrences along a row: loops cut where their conditions change, values of earlier iterations in registers, running
// extremes and integer sums as vectors. The bits of the interpreter, and no load of what the loop itself has stored.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "targets/count_of.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

struct Shape {
  std::string type = "f32";
  std::string combine = "+";  ///< of the value before and the row's own one
  int64_t lag = 1;            ///< how far back the value before lies
  int64_t first = 1;          ///< the least index that has one
  int64_t rows = 1;           ///< unrolled, side by side
  int64_t length = 100;
  int64_t window = 0;       ///< cells kept of a running value that is no output; 0: an output with all
  bool is_guarded = true;   ///< one statement with a guarded value, else one for each case
  bool is_lagging = false;  ///< a reader of the value before, behind the store
  std::string cls = "strict";
};

std::string text_of(int64_t value) {
  return std::to_string(value);
}

std::string combined(const Shape& s, const std::string& a, const std::string& b) {
  return s.combine.size() > 1 ? s.combine + "(" + a + ", " + b + ")" : "(" + a + " " + s.combine + " " + b + ")";
}

/// S <- running values of X's rows, Y <- those beside X.
LoopNest running(const Shape& s) {
  const int64_t bytes = s.type == "u8" || s.type == "i8"     ? 1
                        : s.type == "i16"                    ? 2
                        : s.type == "f64" || s.type == "i64" ? 8
                                                             : 4;
  const std::string row = "r.1 + r", at = row + ", i", extents = "[12, " + text_of(s.length) + "]",
                    align = " argument align " + text_of(bytes);
  const std::string before = "S[" + row + ", i - " + text_of(s.lag) + "]",
                    condition = "i - " + text_of(s.first) + " >= 0";
  const std::string next = combined(s, before, "X[" + at + "]");
  std::string text =
      "nest 1 c class " + s.cls + "\nloops r.1, i, r\nbuffer X: " + s.type + extents + align + "\nbuffer S: " + s.type +
      extents + (s.window > 0 ? " stack fold 1 mod " + text_of(s.window) + " align 64" : align + " output") +
      "\nbuffer Y: " + s.type + extents + align + " output\narguments X, " + (s.window > 0 ? "" : "S, ") +
      "Y\nbody {\n" + (s.window > 0 ? "alloc S {\n" : "") + "for r.1 in 0 .. 12 step " + text_of(s.rows) +
      " { for i in 0 .. " + text_of(s.length) + " { for r in 0 .. " + text_of(s.rows) + " unroll { seq {\n";
  if (s.is_guarded)
    text += "compute 0(r.1, i, r) store: S[" + at + "] <- guarded(" + condition + "; " + next + ", X[" + at + "])\n";
  else
    text += "if -i + " + text_of(s.first - 1) + " >= 0 { compute 0(r.1, i, r) store: S[" + at + "] <- X[" + at +
            "] }\nif " + condition + " { compute 1(r.1, i, r) store: S[" + at + "] <- " + next + " }\n";
  text += "compute 2(r.1, i, r) store: Y[" + at + "] <- " +
          (s.is_lagging ? "guarded(" + condition + "; (" + before + " - S[" + at + "]), X[" + at + "])"
                        : "(S[" + at + "] - X[" + at + "])") +
          "\n} } } }\n" + (s.window > 0 ? "}\n" : "") + "}\n";
  return parsed(text);
}

std::string description_of(const Shape& s) {
  return s.type + " " + s.combine + " lag " + text_of(s.lag) + " first " + text_of(s.first) + " rows " +
         text_of(s.rows) + " length " + text_of(s.length) + " window " + text_of(s.window) +
         (s.is_guarded ? " guarded" : " split") + (s.is_lagging ? " lagging " : " ") + s.cls;
}

/// In loops of one block, the one of these where most is stored.
size_t loads_of(const Shape& s, const std::string& target) {
  const auto text = targets::assembly_text(running(s), *find_target(target));
  if (!text) throw std::runtime_error(text.error().message);
  size_t most = 0, loads = 0, stored = 0, loaded = 0;
  std::string label = "none";
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const bool has_address = line.find("\tv") != std::string::npos && line.find('(') != std::string::npos;
    if (line.starts_with(".LBB")) stored = loaded = 0, label = line.substr(0, line.find(':'));
    if (has_address) ++(line.ends_with(")") ? stored : loaded);
    if (line.starts_with("\tj") && line.ends_with(label) && stored > most) most = stored, loads = loaded;
  }
  return loads;
}

TEST(RunningValues, the_same_bits) {
  std::mt19937 random(7);
  const auto one_of = [&](const auto& all) { return all[random() % std::size(all)]; };
  const std::vector<std::string> types = {"f32", "f64", "i32", "i64", "i16", "u8"},
                                 operations = {"+", "max", "min", "-", "*"}, bits = {"&", "|", "^"},
                                 classes = {"strict", "contract", "reassoc"};
  const std::vector<int64_t> lags = {1, 1, 1, 2, 3}, counts = {1, 2, 4}, lengths = {1, 2, 3, 31, 33, 100, 129};
  for (int n = 0; n < 60; ++n) {
    Shape s;
    s.type = one_of(types);
    s.combine = one_of(s.type[0] != 'f' && random() % 4 == 0 ? bits : operations);
    s.lag = one_of(lags);
    s.first = s.lag + static_cast<int64_t>(random() % 2);
    s.rows = one_of(counts);
    s.length = one_of(lengths);
    s.window = random() % 3 == 0 ? s.lag + 1 + static_cast<int64_t>(random() % 3) : 0;
    s.is_guarded = random() % 2 == 0;
    s.is_lagging = random() % 3 == 0;
    s.cls = s.combine.starts_with("m") ? "strict"
                                       : one_of(classes);  // elsewhere the sign of a zero that is the greatest is free
    SCOPED_TRACE(description_of(s));
    expect_same_bits(running(s), 1);
  }
}

/// A vector of 64 bytes or less goes through a few operations, none of them on single values.
TEST(RunningValues, extremes_and_integer_sums_are_vectors_and_float_sums_are_not) {
  const auto vectors = [](const Shape& s, const char* target) {
    const auto text = targets::assembly_text(running(s), *find_target(target));
    if (!text) throw std::runtime_error(text.error().message);
    size_t out = 0;
    for (const char* operation : {"vpmaxsd\t%", "vpmaxsd\t(", "vpaddd\t", "vaddps\t"})
      out += count_of(operation, *text) - count_of(std::string(operation) + "xmm", *text);
    return out;
  };
  for (const char* target : {"x86-64-v3", "x86-64-v4"})
    for (const int64_t rows : {1, 4}) {
      EXPECT_GE(vectors({.type = "f32", .combine = "max", .rows = rows}, target), 5u * static_cast<size_t>(rows));
      EXPECT_GE(vectors({.type = "i32", .combine = "+", .rows = rows}, target), 5u * static_cast<size_t>(rows));
      EXPECT_EQ(vectors({.type = "f32", .combine = "+", .rows = rows, .cls = "reassoc"}, target), 0u);
    }
}

TEST(RunningValues, what_an_iteration_stores_is_not_loaded_again) {
  for (const char* target : {"x86-64-v3", "x86-64-v4"})
    for (const int64_t lag : {1, 2})
      for (const int64_t rows : {1, 4})
        for (const bool is_guarded : {true, false}) {
          const Shape s{.lag = lag, .first = lag, .rows = rows, .is_guarded = is_guarded, .is_lagging = true};
          SCOPED_TRACE(description_of(s) + target);
          EXPECT_EQ(loads_of(s, target), static_cast<size_t>(rows));
        }
}

}  // namespace
}  // namespace polyweft::targets_test
