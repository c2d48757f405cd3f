// Worst error of the f32 functions of src/ir/math.h over all 2^32 arguments, against the C library in double.
// bench_math_sweep [STRIDE]: every STRIDE-th bit pattern (default 1: all, about 10 minutes a function on one core).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "ir/values/math.h"

namespace {

using polyweft::ir::math::Functions;
using polyweft::ir::math::ScalarBuilder;
using F = Functions<ScalarBuilder, true>;

double ulps(float got, double want) {
  float rounded = static_cast<float>(want);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) && std::isnan(got) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : 1e9;
  if (want == 0) return got == 0 ? 0 : 1e9;
  int exponent = std::max(std::ilogb(want), -126) - 23;
  return std::fabs(std::ldexp(want - static_cast<double>(got), -exponent));
}

template <class Reference>
void sweep(const char* name, float (F::*own)(float), const Reference& reference, uint64_t stride) {
  ScalarBuilder builder;
  F functions(builder);
  double worst = 0;
  float at = 0;
  uint64_t count = 0;
  for (uint64_t pattern = 0; pattern < (uint64_t{1} << 32); pattern += stride, ++count) {
    float x = std::bit_cast<float>(static_cast<uint32_t>(pattern));
    double error = ulps((functions.*own)(x), reference(static_cast<double>(x)));
    if (error <= worst) continue;
    worst = error;
    at = x;
  }
  std::printf("%-8s worst %.4f ULP at %.9g (%a) of %llu arguments\n", name, worst, static_cast<double>(at),
              static_cast<double>(at), static_cast<unsigned long long>(count));
  std::fflush(stdout);
}

double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t stride = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  if (stride == 0) return 2;
  sweep(
      "exp", &F::exp, [](double x) { return std::exp(x); }, stride);
  sweep(
      "log", &F::log, [](double x) { return std::log(x); }, stride);
  sweep(
      "tanh", &F::tanh, [](double x) { return std::tanh(x); }, stride);
  sweep(
      "erf", &F::erf, [](double x) { return std::erf(x); }, stride);
  sweep("sigmoid", &F::sigmoid, sigmoid, stride);
  sweep(
      "rsqrt", &F::rsqrt, [](double x) { return 1 / std::sqrt(x); }, stride);
  sweep(
      "sin", &F::sin, [](double x) { return std::sin(x); }, stride);
  sweep(
      "cos", &F::cos, [](double x) { return std::cos(x); }, stride);
  return 0;
}
