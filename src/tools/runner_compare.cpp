#include "runner_compare.h"

#include <algorithm>
#include <cstdio>

#include "ir/oracles/least_scale.h"
#include "runner_inputs.h"
#include "runner_values.h"

namespace polyweft::runner {
namespace {

std::string number_text(ElementType type, const unsigned char* at) {
  if (!is_floating(type)) return std::to_string(integer_at(type, at));
  const double value = value_at(type, at);
  if (std::isnan(value)) return "nan";  // of either sign
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string index_text(const ArgumentSpec& output, int64_t flat) {
  if (output.extents.empty()) return output.name;
  std::vector<int64_t> index(output.extents.size());
  for (size_t d = index.size(); d-- > 0;) {
    index[d] = flat % output.extents[d];
    flat /= output.extents[d];
  }
  std::string text = output.name + "[";
  for (size_t d = 0; d < index.size(); ++d) text += (d ? "," : "") + std::to_string(index[d]);
  return text + "]";
}

bool all_poison(ElementType type, const unsigned char* at) {
  const unsigned char poison = poison_byte(type);
  return std::all_of(at, at + element_bytes(type), [&](unsigned char byte) { return byte == poison; });
}

/// All elements are integers that the type and any order of adding hold exactly.
bool holds_exact_integers(ElementType type, const unsigned char* values, int64_t count) {
  const double limit = std::ldexp(1.0, significand_bits(type));
  const size_t step = element_bytes(type);
  for (int64_t i = 0; i < count; ++i) {
    const unsigned char* at = values + static_cast<size_t>(i) * step;
    const double v = value_at(type, at);
    if (!all_poison(type, at) && !(std::fabs(v) <= limit && v == std::nearbyint(v))) return false;
  }
  return true;
}

class Judge {
 public:
  Judge(const ArgumentSpec& output, const CompareRule& rule, const unsigned char* want)
      : output_(output),
        rule_(rule),
        want_(want),
        step_(element_bytes(output.type)),
        count_(element_count(output.extents)) {
    row_ = output.extents.empty() ? 1 : std::max<int64_t>(output.extents.back(), 1);
    exact_ =
        rule.bit_exact || (rule.set == InputSet::integer_valued && holds_exact_integers(output.type, want, count_));
  }

  int64_t count() const { return count_; }
  const char* reason() const {
    const bool is_decided = !is_floating(output_.type) && rule_.bound && !rule_.bit_exact;
    if (is_decided) return "more than comparisons of floats that a rounding decides explain";
    if (rule_.bit_exact) return "strict arithmetic must agree bit for bit";
    return exact_ ? "integer-valued data must agree bit for bit" : "outside the error bound";
  }

  bool right(int64_t i, const unsigned char* got) {
    const unsigned char* want = want_ + static_cast<size_t>(i) * step_;
    if (std::memcmp(got, want, step_) == 0) return true;
    if (!is_floating(output_.type)) return within_decisions(i, got, want);
    if (all_poison(output_.type, want) || all_poison(output_.type, got))
      return false;  // one wrote what the other did not
    const double a = value_at(output_.type, got), b = value_at(output_.type, want);
    if (std::isnan(a) && std::isnan(b)) return true;
    if (rule_.bit_exact) return false;
    if (exact_ && !is_open(i)) return a == b;
    return within_bound(i, a, b);
  }

 private:
  /// A comparison of floats that a rounding decides may come out either way, and so may what is counted from it.
  bool within_decisions(int64_t i, const unsigned char* got, const unsigned char* want) const {
    if (rule_.bit_exact || !rule_.bound) return false;
    const double apart = std::fabs(static_cast<double>(integer_at(output_.type, got)) -
                                   static_cast<double>(integer_at(output_.type, want)));
    return !std::isfinite(rule_.bound[i]) || apart <= rule_.bound[i];
  }
  /// Whole numbers are exact unless the bound leaves room for another one: a rounding decides a comparison there.
  bool is_open(int64_t i) const { return rule_.bound && !(rule_.bound[i] < 0.5); }
  /// Overflow and invalid operations may fall to either side when sums are reordered or products fused.
  bool within_bound(int64_t i, double a, double b) {
    if (!std::isfinite(b)) return true;
    const double bound = rule_.bound ? rule_.bound[i] : rule_.relative_bound * std::max(row_scale(i), std::fabs(a));
    if (rule_.bound && !std::isfinite(bound)) return true;
    return std::isfinite(a) && std::fabs(a - b) <= bound;
  }

  double row_scale(int64_t i) {
    const int64_t row = i / row_;
    if (row == scaled_row_) return scale_;
    scaled_row_ = row;
    scale_ = least_scale(output_.type);
    for (int64_t k = row * row_; k < (row + 1) * row_; ++k) {
      const double v = std::fabs(value_at(output_.type, want_ + static_cast<size_t>(k) * step_));
      if (std::isfinite(v)) scale_ = std::max(scale_, v);
    }
    return scale_;
  }

  const ArgumentSpec& output_;
  const CompareRule& rule_;
  const unsigned char* want_;
  size_t step_;
  int64_t count_;
  int64_t row_ = 1;
  int64_t scaled_row_ = -1;
  double scale_ = 0;
  bool exact_ = false;
};

}  // namespace

std::optional<std::string> first_difference(const ArgumentSpec& output, const CompareRule& rule,
                                            const unsigned char* got, const unsigned char* want) {
  const size_t step = element_bytes(output.type);
  const auto bytes = static_cast<size_t>(element_count(output.extents)) * step;
  if (std::memcmp(got, want, bytes) == 0) return std::nullopt;
  Judge judge(output, rule, want);
  for (int64_t i = 0; i < judge.count(); ++i) {
    const unsigned char* at = got + static_cast<size_t>(i) * step;
    if (judge.right(i, at)) continue;
    const std::string wrote =
        step > 1 && all_poison(output.type, at) ? "was never written" : "is " + number_text(output.type, at);
    const unsigned char* reference = want + static_cast<size_t>(i) * step;
    const std::string wanted =
        all_poison(output.type, reference) ? "leaves it unwritten" : "has " + number_text(output.type, reference);
    return index_text(output, i) + " " + wrote + ", the reference " + wanted + " (" + judge.reason() + ")";
  }
  return std::nullopt;
}

Judgeable judgeable(const ArgumentSpec& output, const double* bound, const unsigned char* want) {
  Judgeable out;
  if (!is_floating(output.type) && !bound) return out;
  out.elements = element_count(output.extents);
  const size_t step = element_bytes(output.type);
  for (int64_t i = 0; i < out.elements; ++i) {
    const unsigned char* const at = want + static_cast<size_t>(i) * step;
    const bool is_finite =
        !is_floating(output.type) || all_poison(output.type, at) || std::isfinite(value_at(output.type, at));
    const bool is_bound_finite = !bound || std::isfinite(bound[i]);
    if (is_finite && is_bound_finite)
      ++out.judged;
    else if (out.first.empty())
      out.first =
          index_text(output, i) + (is_finite ? " has no finite error bound" : " is " + number_text(output.type, at));
  }
  return out;
}

}  // namespace polyweft::runner
