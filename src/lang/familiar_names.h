// Functions of other languages, and how they are written here.
#pragma once

#include <string>
#include <string_view>

namespace polyweft::lang {

/// "max(x, 0)" for relu; empty for names that stand for nothing known.
std::string_view spelling_of(std::string_view function);

}  // namespace polyweft::lang
