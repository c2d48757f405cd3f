#include "ir/text/literal_text.h"

#include <charconv>
#include <cmath>

namespace polyweft::ir {
namespace {

std::string float_literal_text(ElementType type, double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  auto end = type == ElementType::f64 ? std::to_chars(buffer, buffer + sizeof buffer, value)
                                      : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value));
  std::string text(buffer, end.ptr);
  if (size_t plus = text.find('+'); plus != std::string::npos) text.erase(plus, 1);
  bool plain = text.find_first_of(".e") == std::string::npos;
  return plain ? text + ".0" : text;
}

}  // namespace

std::string text_of(const Literal& literal) {
  if (is_float(literal.type)) return float_literal_text(literal.type, literal.f);
  if (literal.type == ElementType::boolean) return literal.i ? "true" : "false";
  return std::to_string(literal.i);
}

}  // namespace polyweft::ir
