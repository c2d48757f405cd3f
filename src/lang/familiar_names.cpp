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
    {"elu", "select(x > 0, x, exp(x) - 1)"},
    {"exp2", "pow(2, x)"},
    {"expm1", "exp(x) - 1"},
    {"fabs", "abs(x)"},
    {"fmax", "max(x, y)"},
    {"fmin", "min(x, y)"},
    {"gelu", "x * 0.5 * (1 + erf(x * 0.70710678))"},
    {"if", "select(c, x, y)"},
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

constexpr auto kFamiliarTypes = std::to_array<Familiar>({
    {"bfloat16", "bf16"}, {"boolean", "bool"}, {"byte", "u8"},     {"char", "i8"},     {"double", "f64"},
    {"float", "f32"},     {"float16", "f16"},  {"float32", "f32"}, {"float64", "f64"}, {"half", "f16"},
    {"int", "i32"},       {"int16", "i16"},    {"int16_t", "i16"}, {"int32", "i32"},   {"int32_t", "i32"},
    {"int64", "i64"},     {"int64_t", "i64"},  {"int8", "i8"},     {"int8_t", "i8"},   {"long", "i64"},
    {"short", "i16"},     {"uint8", "u8"},     {"uint8_t", "u8"},
});
constexpr auto kRemedies = std::to_array<Familiar>({
    {"?", "write select(c, x, y)"},
    {"if", "write select(c, x, y), or 'x where c else y' where c is of indices and sizes alone"},
});

template <size_t N>
std::string_view found_in(const std::array<Familiar, N>& table, std::string_view name) {
  for (const Familiar& each : table)
    if (each.name == name) return each.spelling;
  return {};
}

}  // namespace

std::string spelling_of(std::string_view function) {
  if (const std::string_view type = type_meant_by(function); !type.empty()) return std::string(type) + "(x)";
  return std::string(found_in(kFamiliar, function));
}

std::string_view type_meant_by(std::string_view name) {
  return found_in(kFamiliarTypes, name);
}

std::string_view remedy_for(std::string_view word) {
  return found_in(kRemedies, word);
}

}  // namespace polyweft::lang
