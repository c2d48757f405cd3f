#include "lang/number.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "lang/grammar.h"

namespace polyweft::lang {
namespace {

/// digits * 10^exponent with digits an integer without leading and trailing zeros ("" is zero).
struct Decimal {
  std::string digits;
  int64_t exponent = 0;
};

Decimal decimal_of(const std::string& text) {
  Decimal result;
  size_t i = 0;
  bool fraction = false;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.')
      fraction = true;
    else if (text[i] != '_') {
      result.digits += text[i];
      result.exponent -= fraction ? 1 : 0;
    }
  }
  if (i < text.size()) {
    bool negative = text[i + 1] == '-';
    int64_t value = 0;
    for (size_t k = i + 1; k < text.size(); ++k)
      if (text[k] >= '0' && text[k] <= '9' && value < 100000000) value = value * 10 + (text[k] - '0');
    result.exponent += negative ? -value : value;
  }
  result.digits.erase(0, std::min(result.digits.find_first_not_of('0'), result.digits.size()));
  while (!result.digits.empty() && result.digits.back() == '0') {
    result.digits.pop_back();
    ++result.exponent;
  }
  return result;
}

/// Sign of a - b for non-negative decimals.
int compare(const Decimal& a, const Decimal& b) {
  if (a.digits.empty() || b.digits.empty())
    return static_cast<int>(b.digits.empty()) - static_cast<int>(a.digits.empty());
  int64_t top_a = a.exponent + static_cast<int64_t>(a.digits.size());
  int64_t top_b = b.exponent + static_cast<int64_t>(b.digits.size());
  if (top_a != top_b) return top_a < top_b ? -1 : 1;
  int order = a.digits.compare(b.digits);
  return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

Decimal exact_decimal(double value) {
  std::string text(1100, '\0');
  int length = std::snprintf(text.data(), text.size(), "%.800e", value);
  text.resize(static_cast<size_t>(length));
  for (char& c : text)
    if (c == ',') c = '.';
  return decimal_of(text);
}

template <class T>
T nearest(const std::string& text, const Decimal& decimal) {
  T value = 0;
  auto outcome = std::from_chars(text.data(), text.data() + text.size(), value);
  if (outcome.ec == std::errc::result_out_of_range)
    return decimal.exponent + static_cast<int64_t>(decimal.digits.size()) > 0 ? std::numeric_limits<T>::infinity()
                                                                              : T(0);
  return value;
}

struct NarrowFormat {
  int precision;
  int least_exponent;  ///< of the smallest normal number: 2^least_exponent
  double largest;
};

/// Rounds to a narrow format from the decimal: through double, which decides everything but exact halves.
double narrow(const std::string& text, const Decimal& decimal, NarrowFormat format) {
  double value = nearest<double>(text, decimal);
  if (value == 0 || std::isinf(value)) return value;
  int exponent = std::max(std::ilogb(value), format.least_exponent);
  double step = std::ldexp(1.0, exponent - format.precision + 1);
  double below = std::floor(value / step) * step;
  double rest = value - below;
  bool is_odd = std::fmod(below / step, 2.0) != 0;
  int side = rest == step / 2 ? compare(decimal, exact_decimal(value)) : (rest < step / 2 ? -1 : 1);
  bool up = side > 0 || (side == 0 && is_odd);
  double rounded = up ? below + step : below;
  return rounded > format.largest ? std::numeric_limits<double>::infinity() : rounded;
}

double round_once(ElementType type, const std::string& text, const Decimal& decimal) {
  switch (type) {
    case ElementType::f64:
      return nearest<double>(text, decimal);
    case ElementType::f32:
      return nearest<float>(text, decimal);
    case ElementType::f16:
      return narrow(text, decimal, {11, -14, 65504.0});
    default:
      return narrow(text, decimal, {8, -126, std::ldexp(255.0, 120)});
  }
}

std::string plain(const std::string& digits) {
  if (digits.size() > 2 && digits[1] == 'x') {
    auto value = integer_value(digits);
    return value ? std::to_string(*value) : std::string();
  }
  std::string out;
  for (char c : digits)
    if (c != '_') out += c;
  return out;
}

std::optional<Literal> integer_literal(ElementType type, const std::string& digits, bool negative) {
  if (digits.find('.') != std::string::npos) return std::nullopt;
  bool hex = digits.size() > 2 && digits[1] == 'x';
  if (!hex && digits.find_first_of("eE") != std::string::npos) return std::nullopt;
  auto value = integer_value(digits);
  if (!value) return std::nullopt;
  uint64_t limit = negative ? ~static_cast<uint64_t>(least(type)) + 1 : static_cast<uint64_t>(largest(type));
  if (*value > limit) return std::nullopt;
  Literal literal;
  literal.type = type;
  literal.i = static_cast<int64_t>(negative ? ~*value + 1 : *value);
  return literal;
}

}  // namespace

int64_t largest(ElementType type) {
  if (type == ElementType::u8) return 255;
  int bits = static_cast<int>(size_bytes(type)) * 8;
  return static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
}

int64_t least(ElementType type) {
  return type == ElementType::u8 ? 0 : -largest(type) - 1;
}

Literal special_literal(ElementType type, double value) {
  Literal literal;
  literal.type = type;
  literal.f = value;
  return literal;
}

std::optional<Literal> literal_of(ElementType type, const std::string& digits, bool negative) {
  if (is_integer(type)) return integer_literal(type, digits, negative);
  if (!is_float(type)) return std::nullopt;
  std::string text = plain(digits);
  if (text.empty()) return std::nullopt;
  double value = round_once(type, text, decimal_of(text));
  if (std::isinf(value)) return std::nullopt;
  return special_literal(type, negative ? -value : value);
}

}  // namespace polyweft::lang
