// Products that are written as recurrences, compiled: bases of all classes and first choices against plain loops, on
// values at the ends of their type. A product whose order was changed has a NaN or an infinity where these have a
// number.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "polyweft/tuner.h"
#include "support/rng.h"

namespace polyweft::recurrences {
namespace {

constexpr int64_t kRows = 6, kFactors = 9;

struct ProductForm {
  const char* name;
  const char* equations;
  bool goes_up;
};

const ProductForm kForms[] = {
    {"up", "let r[i: M, 0] = b[i]\nlet r[i: M, k: 1..N+1] = r[i, k-1] * A[i, k-1]\nout y[i: M] = r[i, N]\n", true},
    {"down", "let r[i: M, N] = b[i]\nlet r[i: M, k: N] = r[i, k+1] * A[i, k]\nout y[i: M] = r[i, 0]\n", false},
    {"one equation", "let r[k: N, i: M] = (r[k-1, i] where k >= 1 else b[i]) * A[i, k]\nout y[i: M] = r[N-1, i]\n",
     true},
};

class Products : public testing::TestWithParam<ProductForm> {
 protected:
  static double extreme(Rng& rng) {
    const double some[] = {0, 1, 1, 1, -1, 1e30, 1e30, -1e30, 1e-30, 1e-30, 3e38, 1e-38, 0.5};
    return static_cast<float>(some[rng.below(std::size(some))]);
  }
  static std::vector<float> floats_of(const TensorData& data) {
    std::vector<float> out(static_cast<size_t>(data.elements()));
    std::memcpy(out.data(), data.bytes.data(), data.bytes.size());
    return out;
  }
  static std::vector<float> plain(const std::vector<float>& a, const std::vector<float>& b, bool goes_up) {
    std::vector<float> out;
    for (int64_t i = 0; i < kRows; ++i) {
      volatile float r = b[static_cast<size_t>(i)];
      for (int64_t n = 0; n < kFactors; ++n)
        r = r * a[static_cast<size_t>(i * kFactors + (goes_up ? n : kFactors - 1 - n))];
      out.push_back(static_cast<float>(r));
    }
    return out;
  }
};

TEST_P(Products, are_computed_step_by_step) {
  const ProductForm& form = GetParam();
  const auto program =
      parse_program("program p(M = 6, N = 9)\nin A: f32[M, N]\nin b: f32[M]\n" + std::string(form.equations));
  ASSERT_TRUE(program) << program.error().message;
  TunerOptions where;
  where.helper_directory = PW_BINARY_DIR "/src/tools";
  Tuner tuner(find_target("host").value(), where);
  int ordinary = 0;
  for (const NumericsClass cls : {NumericsClass::strict, NumericsClass::contract, NumericsClass::reassoc})
    for (const char* trace : {"", "trace 1\n"}) {
      TaskOptions options;
      options.cls = cls;
      options.trace = trace;
      auto kernel = tuner.compile(*program, options);
      ASSERT_TRUE(kernel) << kernel.error().message;
      for (uint64_t seed = 0; seed < 200; ++seed) {
        Rng rng(seed);
        auto inputs = *tuner.make_inputs(*program, options, InputSet::integer_valued, 1);
        for (TensorData& data : inputs)
          for (int64_t i = 0; i < data.elements(); ++i) data.set(i, {ElementType::f32, extreme(rng), 0});
        const auto outputs = kernel->run(inputs);
        ASSERT_TRUE(outputs) << outputs.error().message;
        const auto got = floats_of(outputs->front());
        const auto want = plain(floats_of(inputs[0]), floats_of(inputs[1]), form.goes_up);
        for (size_t i = 0; i < want.size(); ++i) {
          ordinary += std::isfinite(want[i]);
          EXPECT_TRUE(want[i] == got[i] || (std::isnan(want[i]) && std::isnan(got[i])))
              << name_of(cls) << ", " << kernel->origin() << ", seed " << seed << ": " << want[i] << ", not " << got[i];
        }
      }
    }
  EXPECT_GT(ordinary, 1000);
}

INSTANTIATE_TEST_SUITE_P(Forms, Products, testing::ValuesIn(kForms),
                         [](const auto& info) { return "form" + std::to_string(info.index); });

}  // namespace
}  // namespace polyweft::recurrences
