// Every trace of schedules/library replays on its case, is proven, and gives the right product.
//
// A case is told by the file's name, gemm_FAMILY_f32_MxNxK.trace. The oracle is Freivalds': C x = A (W x) for random
// x, in exact integers, so 2048^3 is judged in milliseconds and no code of ours computes the expected values.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "library/cases.h"
#include "library/covering_sample.h"
#include "library/small_integers.h"
#include "polyweft/tuner.h"

namespace polyweft {
namespace {

using library_test::contents;
using library_test::floats;
using library_test::integers;

struct Case {
  std::filesystem::path file;
  library_test::Product product;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const auto& file : library_test::library_files()) {
    if (const auto product = library_test::product_named(file.stem())) out.push_back({file, *product});
  }
  return out;
}

/// matrix * x, exact: all sums stay far below 2^53.
std::vector<double> times(TensorData& matrix, const std::vector<double>& x) {
  const auto rows = matrix.extents[0], columns = matrix.extents[1];
  std::vector<double> out(static_cast<size_t>(rows), 0);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      out[static_cast<size_t>(r)] += static_cast<double>(floats(matrix)[r * columns + c]) * x[static_cast<size_t>(c)];
  return out;
}

bool is_product(TensorData& a, TensorData& w, TensorData& c, std::mt19937& random) {
  for (int round = 0; round < 3; ++round) {
    std::vector<double> x;
    for (int64_t i = 0; i < c.extents[1]; ++i) x.push_back(1 + static_cast<double>(random() % 1000));
    if (times(c, x) != times(a, times(w, x))) return false;
  }
  return true;
}

/// The steps of its trace, and its family and type: gemm_square_f32, ..
std::set<std::string> steps_of_product(const Case& c) {
  auto out = library_test::features_of(contents(c.file));
  const std::string name = c.file.stem();
  out.insert("family " + name.substr(0, name.rfind('_')));
  return out;
}

// A sample that covers families and steps; all of them in the soak.
TEST(Library, traces_are_proven_and_right) {
  Tuner tuner(*find_target("host"), {});
  std::mt19937 random(1);
  const auto all = cases();
  EXPECT_GE(all.size(), 30u);
  for (const Case& c : library_test::covering_sample<Case>(all, steps_of_product)) {
    SCOPED_TRACE(c.file.filename().string());
    const auto program = parse_program(library_test::program_in(contents(c.file)));
    ASSERT_TRUE(program);
    const auto [m, n, k] = c.product;
    TaskOptions options;
    options.trace = contents(c.file);
    auto kernel = tuner.compile(*program, options);  // proves the trace first
    if (!kernel) {
      ADD_FAILURE() << kernel.error().message;
      continue;
    }
    EXPECT_EQ(kernel->origin(), "trace");
    TensorData a = integers({m, k}, random), w = integers({k, n}, random);
    auto outputs = kernel->run({a, w});
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_TRUE(is_product(a, w, outputs->at(0), random));
    floats(outputs->at(0))[(m * n) / 2] += 1;  // the oracle sees one wrong element
    EXPECT_FALSE(is_product(a, w, outputs->at(0), random));
  }
}

TEST(Library, every_trace_says_what_it_is_for) {
  for (const Case& c : cases()) EXPECT_EQ(contents(c.file).rfind("# ", 0), 0u) << c.file;
}

}  // namespace
}  // namespace polyweft
