#include "targets/c/names.h"

#include <cctype>

namespace polyweft::targets::c {
namespace {

// Keywords of C11, macros that GNU C predefines, and what the emitted code itself takes from headers.
constexpr const char* kTaken[] = {
    "auto",      "break",     "case",      "char",      "const",   "continue",      "default", "do",       "double",
    "else",      "enum",      "extern",    "float",     "for",     "goto",          "if",      "inline",   "int",
    "long",      "register",  "restrict",  "return",    "short",   "signed",        "sizeof",  "static",   "struct",
    "switch",    "typedef",   "union",     "unsigned",  "void",    "volatile",      "while",   "bool",     "true",
    "false",     "asm",       "typeof",    "linux",     "unix",    "i386",          "NULL",    "INFINITY", "NAN",
    "INT32_MIN", "INT32_MAX", "INT64_MIN", "INT64_MAX", "INT64_C", "int8_t",        "int16_t", "int32_t",  "int64_t",
    "uint8_t",   "uint16_t",  "uint32_t",  "uint64_t",  "size_t",  "aligned_alloc", "free",    "exp",      "expf",
    "log",       "logf",      "tanh",      "tanhf",     "sqrt",    "sqrtf",         "erf",     "erff",     "sin",
    "sinf",      "cos",       "cosf",      "floor",     "floorf",  "ceil",          "ceilf",   "rint",     "rintf",
    "fabs",      "fabsf",     "pow",       "powf",      "fma",     "fmaf",          "signbit", "main"};

}  // namespace

std::string identifier(const std::string& name) {
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) || out[0] == '_') out = "v" + out;
  return out;
}

Names::Names() : taken_(std::begin(kTaken), std::end(kTaken)) {}

std::string Names::open(const std::string& wanted) {
  const std::string base = identifier(wanted);
  std::string name = base;
  for (int k = 2; !taken_.insert(name).second; ++k) name = base + "_" + std::to_string(k);
  return name;
}

}  // namespace polyweft::targets::c
