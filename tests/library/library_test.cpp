// Every trace of schedules/library replays on its case, is proven, and gives the right product.
//
// A case is told by the file's name, gemm_FAMILY_TYPE_MxNxK.trace. The oracle is Freivalds': C x = A (W x) for random x, in exact integers,
// so 2048^3 is judged in milliseconds and no code of ours computes the expected values.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "polyweft/tuner.h"

namespace polyweft {
namespace {

const std::filesystem::path kLibrary = std::filesystem::path(PW_SOURCE_DIR) / "schedules" / "library";

struct Case {
  std::filesystem::path file;
  int64_t m = 0, n = 0, k = 0;
  bool has_weights = false;
};

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const auto& entry : std::filesystem::directory_iterator(kLibrary)) {
    if (entry.path().extension() != ".trace" || entry.path().stem().string().rfind("gemm_", 0) != 0) continue;
    if (contents(entry.path()).find("\n#| ") != std::string::npos) continue;  // holds its program: programs_test.cpp
    Case c{entry.path()};
    const std::string name = entry.path().stem();
    const auto sizes = name.substr(name.rfind('_') + 1);
    if (std::sscanf(sizes.c_str(), "%ldx%ldx%ld", &c.m, &c.n, &c.k) != 3) ADD_FAILURE() << name << " does not end in sizes";
    c.has_weights = name.find("skinny") != std::string::npos;
    out.push_back(c);
  }
  return out;
}

std::string program_of(const Case& c) {
  return "program kernel(M = " + std::to_string(c.m) + ", N = " + std::to_string(c.n) + ", K = " + std::to_string(c.k) + ")\nin A: f32[M, K]\n" +
         (c.has_weights ? "const in" : "in") + " W: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * W[k, j]\n";
}

float* floats(TensorData& data) {
  return reinterpret_cast<float*>(data.bytes.data());
}

TensorData integers(std::vector<int64_t> extents, std::mt19937& random) {
  TensorData out = make_tensor(ElementType::f32, std::move(extents));
  for (int64_t i = 0; i < out.elements(); ++i) floats(out)[i] = static_cast<float>(static_cast<int>(random() % 9) - 4);
  return out;
}

/// matrix * x, exact: all sums stay far below 2^53.
std::vector<double> times(TensorData& matrix, const std::vector<double>& x) {
  const auto rows = matrix.extents[0], columns = matrix.extents[1];
  std::vector<double> out(static_cast<size_t>(rows), 0);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) out[static_cast<size_t>(r)] += static_cast<double>(floats(matrix)[r * columns + c]) * x[static_cast<size_t>(c)];
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

TEST(Library, every_trace_is_proven_and_right) {
  Tuner tuner(*find_target("host"), {});
  std::mt19937 random(1);
  const auto all = cases();
  EXPECT_GE(all.size(), 30u);
  for (const Case& c : all) {
    SCOPED_TRACE(c.file.filename().string());
    const auto program = parse_program(program_of(c));
    ASSERT_TRUE(program);
    TaskOptions options;
    options.trace = contents(c.file);
    auto kernel = tuner.compile(*program, options);  // proves the trace first
    if (!kernel) {
      ADD_FAILURE() << kernel.error().message;
      continue;
    }
    EXPECT_EQ(kernel->origin(), "trace");
    TensorData a = integers({c.m, c.k}, random), w = integers({c.k, c.n}, random);
    auto outputs = kernel->run({a, w});
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_TRUE(is_product(a, w, outputs->at(0), random));
    floats(outputs->at(0))[(c.m * c.n) / 2] += 1;  // the oracle sees one wrong element
    EXPECT_FALSE(is_product(a, w, outputs->at(0), random));
  }
}

TEST(Library, every_trace_says_what_it_is_for) {
  for (const Case& c : cases()) EXPECT_EQ(contents(c.file).rfind("# ", 0), 0u) << c.file;
}

}  // namespace
}  // namespace polyweft
