// Small functions of the emitted C that give operators the language's meaning (LANGUAGE.md section 4) without undefined
// behaviour: ternaries and no branches, so that compilers vectorize what calls them. Only those that are used are
// printed.
#pragma once

#include <map>
#include <set>
#include <string>

#include "polyweft/program.h"

namespace polyweft::targets::c {

/// How elements of this type lie in memory: "float", "int32_t", "_Float16", "bool"; bf16 as its 16 bits.
std::string storage_type(ElementType type);
/// What expressions of this type are computed in: f16 and bf16 in float, else storage_type.
std::string value_type(ElementType type);
/// f32 for f16 and bf16: the type that `value_type` names.
ElementType carrier(ElementType type);
bool is_narrow_float(ElementType type);

class Helpers {
 public:
  /// `strict`: max and min order -0 below +0.
  explicit Helpers(bool strict);
  /// The name, which is printed from now on.
  const std::string& use(const std::string& name);
  /// Names of all helpers, used or not.
  std::set<std::string> names() const;
  /// Definitions of those used, each after those that it calls.
  std::string text() const;
  bool uses_math() const { return uses_math_; }

 private:
  struct Helper {
    int number = 0;  ///< in order of definition
    std::string text;
    std::set<std::string> calls;
  };
  void add(const std::string& name, const std::string& text, std::set<std::string> calls = {});
  void add_integer(ElementType type);
  void add_float(ElementType type, bool strict);
  void add_conversions(ElementType from);
  void add_narrow();
  void add_exact();  ///< integers of 128 bits
  void add_shared(ElementType type);

  std::map<std::string, Helper> known_;
  std::set<std::string> used_;
  bool uses_math_ = false;
};

}  // namespace polyweft::targets::c
