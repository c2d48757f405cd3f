// Affine expressions, guards and bounds as C: what is known to be non-negative is divided by / and %, all else by
// floor_div and floor_mod.
#pragma once

#include <string>
#include <vector>

#include "polyweft/loop_nest.h"
#include "targets/c/helpers.h"
#include "targets/common/ranges.h"

namespace polyweft::targets::c {

/// How tightly the outermost operator of a text binds: an operand in a place that binds tighter needs parentheses.
enum class Level : uint8_t { ternary, logical, bits, compare, shift, add, mul, unary, atom };
struct Text {
  std::string text;
  Level level = Level::atom;
};
/// The text, in parentheses where its operator binds less tightly than `least`.
std::string within(const Text& text, Level least);
/// An operand to the right of a left-associative operator of this level.
std::string right_of(const Text& text, Level level);
/// "a + b", "a - b" where b starts with a minus.
Text sum(const Text& a, const Text& b);

class IndexText {
 public:
  /// All outlive it. `variables`: a name for each variable, set as loops open.
  IndexText(const Facts& facts, const std::vector<std::string>& variables, Helpers& helpers)
      : facts_(facts), variables_(variables), helpers_(helpers) {}

  Text affine(const Affine& e) const;
  /// e modulo a window > 1.
  Text remainder(const Affine& e, int64_t den) const;
  Text guard(const Guard& g) const;
  /// The greatest or the least of them.
  Text bound(const Bound& b, bool greatest) const;

 private:
  struct Part {
    int64_t coeff = 0;
    Text text;
  };
  struct Parts {
    std::vector<Part> parts;
    int64_t constant = 0;
  };
  Parts parts(const Affine& e) const;
  Text quasi(const Quasi& q) const;
  Text divided(const Affine& e, int64_t den, bool wants_quotient) const;
  Text sum_of(const Parts& of) const;
  Text comparison(const Affine& e, const char* op, const char* flipped) const;
  Text joined(const std::vector<Guard>& of, const char* op) const;
  static Text product(const Part& part);

  const Facts& facts_;
  const std::vector<std::string>& variables_;
  Helpers& helpers_;
};

}  // namespace polyweft::targets::c
