// What `polyweft explain` says about each code. To add a message: add a line to the table of its hundred (sorted by
// code); to add a hundred: a file like the others, declared here and listed in explain.cpp.
#pragma once

#include <span>
#include <string_view>

namespace polyweft::explain {

struct Entry {
  std::string_view code;
  std::string_view text;
};

std::span<const Entry> general();           ///< PW00xx: files and the command line
std::span<const Entry> syntax_and_types();  ///< PW01xx
std::span<const Entry> checks();            ///< PW02xx
std::span<const Entry> steps();             ///< PW03xx
std::span<const Entry> nests();             ///< PW04xx
std::span<const Entry> code_generation();   ///< PW05xx
std::span<const Entry> lab();               ///< PW06xx
std::span<const Entry> database();          ///< PW07xx
std::span<const Entry> limits();            ///< PW08xx

}  // namespace polyweft::explain
