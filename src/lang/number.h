// Decimal text -> Literal, rounded once to its type.
#pragma once

#include <optional>
#include <string>

#include "polyweft/program.h"

namespace polyweft::lang {

/// The value of digits ("12", "0x1f", "0.1", "1e-5") with a sign, as a `type`. Nothing where it does not fit: an
/// integer type given a fraction or a value outside its range, a float type given more than its largest value after
/// rounding. Halves are decided on the decimal itself, so f16 and bf16 are not rounded twice.
std::optional<Literal> literal_of(ElementType type, const std::string& digits, bool negative);
/// Infinity and NaN of a float type.
Literal special_literal(ElementType type, double value);
/// The largest and least value of an integer type.
int64_t largest(ElementType type);
int64_t least(ElementType type);

}  // namespace polyweft::lang
