// Which names a kernel may have: C identifiers that mean nothing yet to a compiler, the C library or the runtime.
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "targets/cpu/build.h"
#include "targets/cpu/c_library_symbols.h"

namespace polyweft::targets {
namespace {

// C23 and C++23, with the alternative spellings of operators and what gcc adds where it is not told to be strict.
constexpr auto kKeywords = std::to_array<std::string_view>({
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "linux",
    "long",
    "main",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
});

// Macros and types of other headers of C that a kernel may be called by mistake; no symbols, so that the library does
// not know them.
constexpr auto kOfHeaders = std::to_array<std::string_view>({
    "EOF",         "FILE",     "I",          "INFINITY",  "NAN",      "NULL",      "alloca",  "assert",
    "complex",     "errno",    "fpclassify", "imaginary", "isfinite", "isgreater", "isless",  "isnormal",
    "isunordered", "noreturn", "offsetof",   "ptrdiff_t", "signbit",  "size_t",    "ssize_t", "stderr",
    "stdin",       "stdout",   "va_arg",     "va_copy",   "va_end",   "va_start",
});

bool is_identifier(std::string_view name) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_word) && !(name[0] >= '0' && name[0] <= '9');
}

bool begins(std::string_view name, std::string_view with) {
  return name.rfind(with, 0) == 0;
}
bool ends(std::string_view name, std::string_view with) {
  return name.size() >= with.size() && name.substr(name.size() - with.size()) == with;
}

bool is_reserved(std::string_view name) {
  return name.size() > 1 && name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'));
}

/// Types and macros of <stdint.h>, which the kernel's header includes.
bool is_of_stdint(std::string_view name) {
  if (ends(name, "_t")) return begins(name, "int") || begins(name, "uint");
  if (!ends(name, "_MAX") && !ends(name, "_MIN") && !ends(name, "_C")) return false;
  for (const char* stem : {"INT", "UINT", "PTRDIFF_", "SIG_ATOMIC_", "SIZE_", "WCHAR_", "WINT_"})
    if (begins(name, stem)) return true;
  return false;
}

/// What the name means already; empty: nothing.
std::string meaning_of(const std::string& name) {
  if (!is_identifier(name)) return "no C identifier";
  if (std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end()) return "a word of C or C++";
  if (is_reserved(name)) return "reserved for the compiler and its libraries";
  if (begins(name, "halide_")) return "a symbol of the runtime";
  const auto symbols = c_library_symbols();
  const bool is_of_header =
      is_of_stdint(name) || std::find(kOfHeaders.begin(), kOfHeaders.end(), name) != kOfHeaders.end();
  if (is_of_header || std::binary_search(symbols.begin(), symbols.end(), name)) return "a name of the C library";
  return "";
}

}  // namespace

bool may_name_parameter(const std::string& name) {
  return is_identifier(name) && !is_reserved(name) && !is_of_stdint(name) &&
         std::find(kKeywords.begin(), kKeywords.end(), name) == kKeywords.end();
}

Status symbol_is_free(const std::string& symbol) {
  const std::string meaning = meaning_of(symbol);
  if (meaning.empty()) return Ok{};
  return fail("PW0513", "the kernel's name '" + symbol + "' is " + meaning,
              {"give the kernel another name with --name"});
}

}  // namespace polyweft::targets
