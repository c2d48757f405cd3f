// Are the outputs of a kernel those of the reference? The runner judges candidates by the same rules
// (src/tools/runner_compare.cpp).
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "driver/kernel_impl.h"
#include "ir/oracles/least_scale.h"

namespace polyweft {
namespace {

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
  if (!is_float(a.type)) return a.i == b.i || std::abs(number(a) - number(b)) <= tolerance;
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

/// Outputs one after the other, element by element, up to the first that is wrong.
class OutputJudge {
 public:
  OutputJudge(const Tolerance& tolerance, Comparison& out) : tolerance_(tolerance), out_(out) {}

  void output(const std::string& name, const TensorData& got, const TensorData& expected) {
    const bool has_bounds = !tolerance_.bit_exact && !tolerance_.bounds.empty();
    const double whole = tolerance_.bit_exact || has_bounds ? 0 : tolerance_.relative_bound * scale_of(expected);
    for (int64_t i = 0; i < got.elements() && out_.equal; ++i) {
      const double may_differ = has_bounds ? tolerance_.bounds[number_].at(i).f : is_float(got.type) ? whole : 0;
      element(name + index_text(got, i), got.at(i), expected.at(i), may_differ);
    }
    ++number_;
  }

  std::string text(const std::string& origin) const {
    if (tolerance_.bit_exact)
      return std::to_string(elements_) + " elements of " + origin + " equal the base nest's, bit for bit";
    if (!is_tested()) return "none of the " + std::to_string(unjudged_) + " elements is judged: " + first_unjudged_;
    char share[200];
    std::snprintf(share, sizeof share, " equal the base nest's (at most %.3f of the %s)", worst_,
                  tolerance_.bounds.empty() ? "rule of thumb" : "error bound");
    std::string out = std::to_string(elements_) + " elements of " + origin + share;
    if (decided_ > 0)
      out += "; " + std::to_string(decided_) + " whole numbers differ by no more than " +
             (tolerance_.deciding.empty() ? "a rounding decides" : tolerance_.deciding + " lets them");
    if (unjudged_ > 0) out += "; " + std::to_string(unjudged_) + " more are not judged: " + first_unjudged_;
    return out;
  }
  bool is_tested() const { return elements_ > 0 || unjudged_ == 0; }

 private:
  void element(const std::string& name, const Literal& got, const Literal& expected, double may_differ) {
    const bool is_special = is_float(expected.type) && !std::isfinite(expected.f);
    if (!tolerance_.bit_exact && (is_special || !std::isfinite(may_differ))) {
      if (unjudged_++ == 0)
        first_unjudged_ =
            name + (is_special ? " is " + value_text(expected) + " in the reference" : " has no finite error bound");
      return;
    }
    ++elements_;
    if (!same(got, expected, may_differ)) return wrong(name, got, expected, may_differ);
    decided_ += !is_float(got.type) && got.i != expected.i;
    if (may_differ > 0) worst_ = std::max(worst_, std::abs(number(got) - number(expected)) / may_differ);
  }

  void wrong(const std::string& name, const Literal& got, const Literal& expected, double may_differ) {
    out_.equal = false;
    out_.detail = name + " is " + value_text(got) + ", the reference has " + value_text(expected);
    if (tolerance_.bit_exact || (!is_float(got.type) && may_differ == 0)) return;
    out_.detail += "; they may differ by " + value_text({ElementType::f64, may_differ, 0});
    if (!is_float(got.type) && !tolerance_.deciding.empty())
      out_.detail += ", which " + tolerance_.deciding + " decides";
  }

  const Tolerance& tolerance_;
  Comparison& out_;
  size_t number_ = 0;
  int64_t elements_ = 0, unjudged_ = 0, decided_ = 0;
  double worst_ = 0;
  std::string first_unjudged_;
};

}  // namespace

Comparison compare_outputs(const std::vector<ArgumentSpec>& arguments, std::vector<TensorData> got,
                           const std::vector<TensorData>& expected, const Tolerance& tolerance,
                           const std::string& origin) {
  Comparison out;
  out.equal = true;
  OutputJudge judge(tolerance, out);
  size_t o = 0;
  for (const auto& spec : arguments) {
    if (!spec.is_output) continue;
    judge.output(spec.name, got[o], expected[o]);
    ++o;
  }
  out.is_tested = judge.is_tested();
  if (out.equal) out.detail = judge.text(origin);
  out.outputs = std::move(got);
  return out;
}

}  // namespace polyweft
