// Running maxima and minima in lanes keep NaN, whatever the loop does instead of keeping it.
#include <gtest/gtest.h>

#include <sstream>

#include "samples.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

struct ExtremesShape {
  std::string type = "f32", operation = "max", cls = "reassoc";
  int64_t lanes = 16, chains = 4, folds = 1, steps = 5;
  bool is_swapped = false;  ///< the element first, then what is kept
};

/// R: the extremes of `chains` vectors, begun with the first of X's blocks, `folds` blocks an iteration; Y: what R
/// holds in the end, and Z: beside it, so that it is read twice.
LoopNest extremes(const ExtremesShape& s) {
  const auto t = [](int64_t k) { return std::to_string(k); };
  const int64_t bytes = s.type == "f64" ? 8 : 4, width = s.chains * s.lanes, row = width * (1 + s.folds * s.steps);
  std::string loops = "i, j", body;
  int64_t loop = 0;
  const auto block = [&](const std::string& indices,
                         const std::string& what) {  // @: the element in the block, #: the indices
    const std::string u = "u" + t(loop), v = "v" + t(loop), at = t(s.lanes) + "*" + u + " + " + v;
    loops += ", " + u + ", " + v;
    std::string line = "compute " + t(loop++) + "(" + indices + ", " + u + ", " + v + ") store: " + what;
    for (size_t k = line.find('@'); k != std::string::npos; k = line.find('@')) line.replace(k, 1, at);
    body += "for " + u + " in 0 .. " + t(s.chains) + " unroll { for " + v + " in 0 .. " + t(s.lanes) + " vector " +
            t(s.lanes) + " { " + line + " } }\n";
  };
  block("i", "R[@] <- X[i, @]");
  body += "for j in 0 .. " + t(s.steps) + " { seq {\n";
  for (int64_t k = 0; k < s.folds; ++k) {
    const std::string x = "X[i, " + t(s.folds * width) + "*j + @ + " + t((1 + k) * width) + "]";
    block("i, j", "R[@] <- " + s.operation + (s.is_swapped ? "(" + x + ", R[@])" : "(R[@], " + x + ")"));
  }
  body += "} }\n";
  block("i", "Y[i, @] <- (R[@] + 0:" + s.type + ")");  // which zero is kept is not said
  block("i", "Z[i, @] <- (R[@] + 2:" + s.type + ")");
  const auto buffer = [&](const std::string& name, const std::string& extents, const std::string& where) {
    return "buffer " + name + ": " + s.type + "[" + extents + "] " + where + "\n";
  };
  const std::string argument = "argument align " + t(bytes);
  return parsed("nest 1 extremes class " + s.cls + "\nloops " + loops + "\n" + buffer("X", "40, " + t(row), argument) +
                buffer("R", t(width), "reg align 64") + buffer("Y", "40, " + t(width), argument + " output") +
                buffer("Z", "40, " + t(width), argument + " output") +
                "arguments X, Y, Z\nbody {\nfor i in 0 .. 40 { alloc R { seq {\n" + body + "} } } }\n");
}

TEST(RunningExtremes, the_same_bits) {
  test::Sample sample(5);
  for (const char* operation : {"max", "min"})
    for (const char* cls : {"strict", "reassoc"})
      for (bool is_f64 : {false, true})
        for (int64_t bits : {128, 256, 512})
          for (int64_t chains : {1, 4, 8})
            for (int64_t folds : {1, 3})
              for (bool is_swapped : {false, true}) {
                if (!sample.takes()) continue;
                const ExtremesShape shape{
                    is_f64 ? "f64" : "f32", operation, cls, bits / (is_f64 ? 64 : 32), chains, folds, 5, is_swapped};
                SCOPED_TRACE(std::string(operation) + " " + cls + " " + shape.type + " bits " + std::to_string(bits) +
                             " chains " + std::to_string(chains) + " folds " + std::to_string(folds) +
                             (is_swapped ? " swapped" : ""));
                expect_same_bits(extremes(shape), 1);
              }
}

/// Comparisons that ask for what is no number, between a label and the jump back to it.
int64_t questions_in_loops(const LoopNest& nest, const Target& target, const char* name) {
  const auto text = targets::assembly_text(nest, target);
  EXPECT_TRUE(text) << text.error().message;
  int64_t most = 0, here = 0;
  std::istringstream lines(text ? *text : "");
  std::string label;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".LBB")) here = 0, label = line.substr(0, line.find(':'));
    here += line.find(name) != std::string::npos ? 1 : 0;
    if (line.starts_with("\tj") && line.find(label) != std::string::npos) most = std::max(most, here);
  }
  return most;
}

TEST(RunningExtremes, wait_for_one_operation_only) {
  const Target target = *find_target("x86-64-v4");
  for (int64_t chains : {1, 4, 6}) {
    const LoopNest nest = extremes({.chains = chains, .steps = 53});  // a prime: no iterations are written as one
    EXPECT_EQ(questions_in_loops(nest, target, "vcmpunordps"), 0) << chains;
    EXPECT_EQ(questions_in_loops(nest, target, "vcmpordps"), chains);
  }
  EXPECT_GT(questions_in_loops(extremes({.cls = "strict", .steps = 50}), target, "vcmpunordps"), 0)
      << "zeros have signs there";
}

}  // namespace
}  // namespace polyweft::targets_test
