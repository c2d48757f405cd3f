// What the printed Python is compared on.
#pragma once

#include <span>
#include <string>

namespace polyweft::backend_test {

struct PythonCase {
  const char* name;
  const char* text;
};
/// Texts of the language, with small sizes as defaults.
std::span<const PythonCase> program_cases();
/// Texts of nests that use what base nests do not; all types are f64 where the case is meant for f32 too.
std::span<const PythonCase> nest_cases();
/// Of either; empty where there is none of this name.
std::string text_of_case(const std::string& name);
/// A program with each operator of a type, and conversions to all others.
std::string operators_of(const std::string& type);

}  // namespace polyweft::backend_test
