// Sweeps all arguments of the approximations of f32, f16 and bf16: the worst error of each binade of the argument, by
// its sign, in units of the last place of the result and absolute, against double precision.
//     sweep FILE
#include <cmath>

#include "record.h"

using record::File;

namespace {

struct Worst {
  unsigned long long ulp_and_argument, absolute_and_argument;
  unsigned int other_class;
};

/// The unit in the last place of a type with `mantissa` bits below the leading one, denormals included.
__device__ double ulp_of(double value, int mantissa, int least_exponent) {
  const int exponent = value == 0 ? least_exponent : max(ilogb(value), least_exponent);
  return ldexp(1.0, exponent - mantissa);
}

__device__ int class_of(double value) {
  return isnan(value) ? 0 : isinf(value) ? (value > 0 ? 1 : 2) : 3;
}

__device__ void note(Worst& worst, uint32_t argument, double got, double exact, double rounded, double ulp) {
  if (class_of(got) != class_of(rounded)) {
    worst.other_class = 1;
    return;
  }
  if (class_of(got) != 3) return;
  const double error = fabs(got - exact);
  const auto packed = [&](double e) {
    return (static_cast<unsigned long long>(__float_as_uint(__double2float_ru(e))) << 32) | argument;
  };
  const auto by_ulp = packed(error / ulp), by_value = packed(error);
  if (by_ulp > worst.ulp_and_argument) atomicMax(&worst.ulp_and_argument, by_ulp);
  if (by_value > worst.absolute_and_argument) atomicMax(&worst.absolute_and_argument, by_value);
}

template <class Op>
__global__ void sweep_f32(Worst* worst) {
  const uint32_t stride = gridDim.x * blockDim.x;
  uint64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  for (; i < (uint64_t{1} << 32); i += stride) {
    const uint32_t argument = static_cast<uint32_t>(i);
    const uint32_t result = Op::run(argument);
    const double exact = Op::exact(static_cast<double>(__uint_as_float(argument)));
    note(worst[argument >> 23], argument, __uint_as_float(result), exact, static_cast<float>(exact),
         ulp_of(exact, 23, -126));
  }
}

__device__ double f16_value(uint32_t h) {
  const int exponent = h >> 10 & 31;
  const double sign = h >> 15 & 1 ? -1 : 1, fraction = h & 1023;
  if (exponent == 31) return fraction ? nan("") : sign * INFINITY;
  return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

__device__ double bf16_value(uint32_t h) {
  return __uint_as_float(h << 16);
}

/// f16: 10 bits, least exponent -14, largest value 65504. bf16: 7 bits, those of f32.
template <class Op, bool is_f16>
__global__ void sweep_16(Worst* worst) {
  const uint32_t h = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t result = Op::run(h | h << 16) & 0xFFFF;
  const double argument = is_f16 ? f16_value(h) : bf16_value(h), got = is_f16 ? f16_value(result) : bf16_value(result);
  const double exact = Op::exact(argument);
  const double limit = is_f16 ? 65520.0 : 3.3961775292304957e38;
  const double rounded = fabs(exact) >= limit ? copysign(INFINITY, exact) : exact;
  note(worst[is_f16 ? h >> 10 : h >> 7], h, got, exact, rounded,
       is_f16 ? ulp_of(exact, 10, -14) : ulp_of(exact, 7, -126));
}

#define APPROXIMATION(Name, text, formula)                       \
  struct Name {                                                  \
    static constexpr const char* name = text;                    \
    static __device__ uint32_t run(uint32_t x) {                 \
      uint32_t d;                                                \
      asm volatile(text " %0, %1;" : "=r"(d) : "r"(x));          \
      return d;                                                  \
    }                                                            \
    static __device__ double exact(double x) { return formula; } \
  };
APPROXIMATION(Ex2, "ex2.approx.f32", exp2(x))
APPROXIMATION(Ex2Ftz, "ex2.approx.ftz.f32", exp2(x))
APPROXIMATION(Lg2, "lg2.approx.f32", log2(x))
APPROXIMATION(Rcp, "rcp.approx.f32", 1 / x)
APPROXIMATION(RcpFtz, "rcp.approx.ftz.f32", 1 / x)
APPROXIMATION(Rsqrt, "rsqrt.approx.f32", 1 / sqrt(x))
APPROXIMATION(Sqrt, "sqrt.approx.f32", sqrt(x))
APPROXIMATION(Sin, "sin.approx.f32", sin(x))
APPROXIMATION(Cos, "cos.approx.f32", cos(x))
APPROXIMATION(Tanh, "tanh.approx.f32", tanh(x))
APPROXIMATION(Ex2F16, "ex2.approx.f16x2", exp2(x))
APPROXIMATION(TanhF16, "tanh.approx.f16x2", tanh(x))
APPROXIMATION(Ex2Bf16, "ex2.approx.ftz.bf16x2", exp2(x))
APPROXIMATION(TanhBf16, "tanh.approx.bf16x2", tanh(x))

void store(File& file, const char* name, const std::vector<Worst>& worst) {
  std::vector<uint32_t> ulp, ulp_at, absolute;
  std::vector<uint8_t> other_class;
  for (const Worst& w : worst) {
    ulp.push_back(static_cast<uint32_t>(w.ulp_and_argument >> 32)),
        ulp_at.push_back(static_cast<uint32_t>(w.ulp_and_argument));
    absolute.push_back(static_cast<uint32_t>(w.absolute_and_argument >> 32));
    other_class.push_back(w.other_class != 0);
  }
  const int n = static_cast<int>(worst.size());
  file.add(
      std::string("sweep.") + name,
      {{"ulp", {n}, ulp}, {"ulp_at", {n}, ulp_at}, {"absolute", {n}, absolute}, {"other_class", {n}, other_class}});
}

std::vector<Worst> nothing_yet(size_t binades) {
  return std::vector<Worst>(binades, Worst{0, 0, 0});
}

template <class Op>
void sweep(File& file) {
  record::Buffer<Worst> worst(nothing_yet(512));
  sweep_f32<Op><<<132 * 8, 256>>>(worst.data());
  record::finish(Op::name);
  store(file, Op::name, worst.values());
}

template <class Op, bool is_f16>
void sweep_half(File& file) {
  record::Buffer<Worst> worst(nothing_yet(is_f16 ? 64 : 512));
  sweep_16<Op, is_f16><<<256, 256>>>(worst.data());
  record::finish(Op::name);
  store(file, Op::name, worst.values());
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  File file(words[1]);
  sweep_half<Ex2F16, true>(file), sweep_half<TanhF16, true>(file), sweep_half<Ex2Bf16, false>(file),
      sweep_half<TanhBf16, false>(file);
  sweep<Ex2>(file), sweep<Ex2Ftz>(file), sweep<Lg2>(file), sweep<Rcp>(file), sweep<RcpFtz>(file);
  sweep<Rsqrt>(file), sweep<Sqrt>(file), sweep<Tanh>(file), sweep<Sin>(file), sweep<Cos>(file);
  return 0;
}
