// Are the outputs of a kernel those of the reference? The runner judges candidates by the same rules
// (src/tools/runner_compare.cpp).
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "driver/kernel_impl.h"
#include "ir/oracles/least_scale.h"

namespace polyweft {
namespace {

// Where the bound's own computation divided zero by zero: better a rough check than none.
constexpr double kWithoutBound = 1e-2;

double number(const Literal& v) {
  return is_float(v.type) ? v.f : static_cast<double>(v.i);
}

// The scale of an output: what sums of its magnitude may lose does not shrink where terms cancel.
double scale_of(const TensorData& data) {
  double scale = least_scale(data.type);
  for (int64_t i = 0; i < data.elements(); ++i) {
    const double v = std::abs(number(data.at(i)));
    if (std::isfinite(v)) scale = std::max(scale, v);
  }
  return scale;
}

bool same(const Literal& a, const Literal& b, double tolerance) {
  if (!is_float(a.type)) return a.i == b.i;
  if (std::isnan(a.f) || std::isnan(b.f)) return std::isnan(a.f) && std::isnan(b.f);
  return a.f == b.f || std::abs(a.f - b.f) <= tolerance;
}

std::string index_text(const TensorData& data, int64_t flat) {
  std::string text;
  for (size_t d = data.extents.size(); d-- > 0; flat /= std::max<int64_t>(data.extents[d], 1))
    text = std::to_string(flat % std::max<int64_t>(data.extents[d], 1)) + (text.empty() ? "" : "," + text);
  return data.extents.empty() ? "" : "[" + text + "]";
}

std::string value_text(const Literal& v) {
  if (!is_float(v.type)) return std::to_string(v.i);
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", v.f);
  return text;
}

}  // namespace

Comparison compare_outputs(const std::vector<ArgumentSpec>& arguments, std::vector<TensorData> got,
                           const std::vector<TensorData>& expected, const Tolerance& tolerance,
                           const std::string& origin) {
  Comparison out;
  out.equal = true;
  double worst = 0;
  int64_t elements = 0;
  size_t o = 0;
  for (const auto& spec : arguments) {
    if (!spec.is_output) continue;
    const double whole =
        tolerance.bit_exact || !tolerance.bounds.empty() ? 0 : tolerance.relative_bound * scale_of(expected[o]);
    for (int64_t i = 0; i < got[o].elements() && out.equal; ++i) {
      const Literal a = got[o].at(i), b = expected[o].at(i);
      double may_differ = tolerance.bit_exact || tolerance.bounds.empty() ? whole : tolerance.bounds[o].at(i).f;
      if (std::isnan(may_differ)) may_differ = kWithoutBound * std::max(std::abs(number(a)), std::abs(number(b)));
      if (!same(a, b, may_differ)) {
        out.equal = false;
        out.detail =
            spec.name + index_text(got[o], i) + " is " + value_text(a) + ", the reference has " + value_text(b);
        if (!tolerance.bit_exact && is_float(a.type))
          out.detail += "; they may differ by " + value_text({ElementType::f64, may_differ, 0});
      } else if (may_differ > 0 && is_float(a.type) && std::isfinite(a.f)) {
        worst = std::max(worst, std::abs(a.f - b.f) / may_differ);
      }
      ++elements;
    }
    ++o;
  }
  if (out.equal) {
    char text[200];
    std::snprintf(text, sizeof text, "%lld elements of %s equal the base nest's (at most %.3f of the %s)",
                  static_cast<long long>(elements), origin.c_str(), worst,
                  tolerance.bounds.empty() ? "rule of thumb" : "error bound");
    out.detail = tolerance.bit_exact
                     ? std::to_string(elements) + " elements of " + origin + " equal the base nest's, bit for bit"
                     : text;
  }
  out.outputs = std::move(got);
  return out;
}

}  // namespace polyweft
