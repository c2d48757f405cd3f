#include "lang/familiar_names.h"

#include <array>

namespace polyweft::lang {
namespace {

struct Familiar {
  std::string_view name, spelling;
};
constexpr auto kFamiliar = std::to_array<Familiar>({
    {"ceiling", "ceil(x)"},
    {"clip", "clamp(x, lo, hi)"},
    {"cosh", "(exp(x) + exp(-x)) / 2"},
    {"double", "f64(x)"},
    {"elu", "select(x > 0, x, exp(x) - 1)"},
    {"exp2", "pow(2, x)"},
    {"expm1", "exp(x) - 1"},
    {"fabs", "abs(x)"},
    {"float", "f32(x)"},
    {"fmax", "max(x, y)"},
    {"fmin", "min(x, y)"},
    {"gelu", "x * 0.5 * (1 + erf(x * 0.70710678))"},
    {"half", "f16(x)"},
    {"if", "select(c, x, y)"},
    {"int", "i32(x)"},
    {"leaky_relu", "max(x, 0.01 * x)"},
    {"ln", "log(x)"},
    {"log10", "log(x) * 0.4342944819"},
    {"log1p", "log(1 + x)"},
    {"log2", "log(x) * 1.4426950409"},
    {"logistic", "sigmoid(x)"},
    {"maximum", "max(x, y)"},
    {"minimum", "min(x, y)"},
    {"mod", "x % y"},
    {"power", "pow(x, y)"},
    {"product", "prod[k: K] X[k]"},
    {"reciprocal", "1 / x"},
    {"relu", "max(x, 0)"},
    {"relu6", "clamp(x, 0, 6)"},
    {"sign", "select(x > 0, 1, select(x < 0, -1, 0))"},
    {"silu", "x * sigmoid(x)"},
    {"sinh", "(exp(x) - exp(-x)) / 2"},
    {"softplus", "log(1 + exp(x))"},
    {"sqr", "x * x"},
    {"square", "x * x"},
    {"swish", "x * sigmoid(x)"},
    {"tan", "sin(x) / cos(x)"},
});

}  // namespace

std::string_view spelling_of(std::string_view function) {
  for (const Familiar& each : kFamiliar)
    if (each.name == function) return each.spelling;
  return {};
}

}  // namespace polyweft::lang
