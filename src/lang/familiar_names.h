// Words of other languages, and how they are written here.
#pragma once

#include <string>
#include <string_view>

namespace polyweft::lang {

/// "max(x, 0)" for relu; empty for names that stand for nothing known.
std::string spelling_of(std::string_view function);
/// "f32" for float32 and float; empty for names that stand for no type of ours.
std::string_view type_meant_by(std::string_view name);
/// What to write in place of a word or a sign that begins nothing here: "if", "?"; empty for others.
std::string_view remedy_for(std::string_view word);

}  // namespace polyweft::lang
