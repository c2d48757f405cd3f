// Operators of the language as Python's expressions, and the functions that a module defines for them.
//
// A text that stands for a value is a name, a call, a subscript, a literal or in parentheses, so that it can be an
// operand anywhere.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::backend_test {

using Texts = std::vector<std::string>;

/// Thrown by what prints, caught by python_module().
struct NoPython {
  Error error;
};
/// PW0523: the backend has no such thing.
[[noreturn]] void refuse(const std::string& what);

/// Words of Python and names that any module uses.
const std::set<std::string>& taken_names();

/// Whether it consists of letters, digits and _ alone.
bool is_word(const std::string& text);
std::string in_parentheses(const std::string& text);
/// Words stay as they are.
std::string atom(const std::string& text);
std::string joined(const Texts& parts, const std::string& between);

/// Of a memoryview's elements, in quotes; refuses types that are not supported.
std::string format_of(ElementType type);
std::string literal_text(const Literal& literal);

/// ir::apply on texts of operands.
class PythonOperators {
 public:
  std::string apply(Op op, ElementType type, const Texts& args);
  /// In subscripts that depend on data (ir/exact.h).
  std::string apply_exactly(Op op, const Texts& args);
  std::string convert(ElementType to, ElementType from, const std::string& arg);
  std::string saturate(ElementType to, ElementType from, const std::string& arg);
  /// Of a function of the module.
  std::string call(const std::string& function, const Texts& args);
  /// Definitions of what was called, and what these call.
  std::string definitions() const;

 private:
  std::string on_floats(Op op, ElementType type, const Texts& args);
  std::string on_integers(Op op, const std::string& wrap, int shift_mask, const Texts& args);

  std::set<std::string> called_;
};

}  // namespace polyweft::backend_test
