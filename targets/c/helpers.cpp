#include "targets/c/helpers.h"

#include <vector>

#include "polyweft/result.h"

namespace polyweft::targets::c {
namespace {

// $T: the C type; $U: the unsigned type of its width; $N: the language's name; $S: suffix of the library's functions;
// $L: suffix of literals.
std::string filled(std::string text, ElementType type) {
  const std::string unsigned_type = type == ElementType::i64 ? "uint64_t" : type == ElementType::i32 ? "uint32_t" : "";
  const bool is_f32 = type == ElementType::f32;
  const std::pair<std::string, std::string> parts[] = {{"$T", value_type(type)},
                                                       {"$U", unsigned_type},
                                                       {"$N", name_of(type)},
                                                       {"$S", is_f32 ? "f" : ""},
                                                       {"$L", is_f32 ? "f" : ""}};
  for (const auto& [from, to] : parts)
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

std::string inline_function(const std::string& declaration, const std::string& body) {
  return "static inline " + declaration + " {\n  " + body + "\n}\n";
}

struct Limits {
  const char *name, *least, *greatest, *below,
      *above;  ///< `below`: the greatest float that is too small or just fits; `above`: the least that is too large
};

}  // namespace

std::string storage_type(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return "double";
    case ElementType::f32:
      return "float";
    case ElementType::f16:
      return "_Float16";
    case ElementType::bf16:
      return "uint16_t";
    case ElementType::i64:
      return "int64_t";
    case ElementType::i32:
      return "int32_t";
    case ElementType::i16:
      return "int16_t";
    case ElementType::i8:
      return "int8_t";
    case ElementType::u8:
      return "uint8_t";
    case ElementType::boolean:
      return "bool";
  }
  return "";
}

bool is_narrow_float(ElementType type) {
  return type == ElementType::f16 || type == ElementType::bf16;
}
ElementType carrier(ElementType type) {
  return is_narrow_float(type) ? ElementType::f32 : type;
}
std::string value_type(ElementType type) {
  return storage_type(carrier(type));
}

void Helpers::add(const std::string& name, const std::string& text, std::set<std::string> calls) {
  known_[name] = {static_cast<int>(known_.size()), text, std::move(calls)};
}

void Helpers::add_shared(ElementType type) {
  const std::string n = name_of(type);
  add("select_" + n, filled(inline_function("$T select_$N(bool c, $T a, $T b)", "return c ? a : b;"), type));
}

void Helpers::add_integer(ElementType type) {
  const std::string n = name_of(type);
  const auto one = [&](const std::string& name, const std::string& parameters, const std::string& body) {
    add(name + "_" + n, filled(inline_function("$T " + name + "_$N(" + parameters + ")", body), type));
  };
  one("max", "$T a, $T b", "return a > b ? a : b;");
  one("min", "$T a, $T b", "return a < b ? a : b;");
  one("add", "$T a, $T b", "return ($T)(($U)a + ($U)b);");
  one("sub", "$T a, $T b", "return ($T)(($U)a - ($U)b);");
  one("mul", "$T a, $T b", "return ($T)(($U)a * ($U)b);");
  one("neg", "$T a", "return ($T)(0 - ($U)a);");
  one("abs", "$T a", "return ($T)(a < 0 ? 0 - ($U)a : ($U)a);");
  one("floor_div", "$T a, $T b",
      "const $T d = b == 0 || b == -1 ? 1 : b;\n  const $T q = a / d - (a % d != 0 && (a < 0) != (d < 0));\n"
      "  return b == 0 ? 0 : b == -1 ? ($T)(0 - ($U)a) : q;");
  one("floor_mod", "$T a, $T b",
      "const $T d = b == 0 || b == -1 ? 1 : b;\n  const $T r = a % d;\n  return r != 0 && (r < 0) != (d < 0) ? r + d : "
      "r;");
  for (const char* better : {"greater", "less"})
    add(std::string(better) + "_" + n,
        filled(inline_function(
                   "bool " + std::string(better) + "_$N($T x, $T best, bool earlier)",
                   std::string("return (x ") + (better[0] == 'g' ? ">" : "<") + " best) | ((x == best) & earlier);"),
               type));
}

void Helpers::add_float(ElementType type, bool strict) {
  const std::string n = name_of(type);
  const auto one = [&](const std::string& name, const std::string& parameters, const std::string& body) {
    add(name + "_" + n, filled(inline_function("$T " + name + "_$N(" + parameters + ")", body), type));
  };
  one("max", "$T a, $T b",
      std::string("return (a > b) | (a != a) ? a : ") + (strict ? "a == b && !signbit(a) ? a : b;" : "b;"));
  one("min", "$T a, $T b",
      std::string("return (a < b) | (a != a) ? a : ") + (strict ? "a == b && signbit(a) ? a : b;" : "b;"));
  one("sigmoid", "$T x", "return 1.0$L / (1.0$L + exp$S(-x));");
  one("rsqrt", "$T x", "return 1.0$L / sqrt$S(x);");
  // A NaN is better than every number.
  for (const char* better : {"greater", "less"})
    add(std::string(better) + "_" + n,
        filled(inline_function("bool " + std::string(better) + "_$N($T x, $T best, bool earlier)",
                               std::string("return x != x ? (best == best) | earlier : (best == best) & ((x ") +
                                   (better[0] == 'g' ? ">" : "<") + " best) | ((x == best) & earlier));"),
               type));
}

// Toward zero, saturating, NaN gives 0.
void Helpers::add_conversions(ElementType from) {
  const std::string l = from == ElementType::f32 ? "f" : "";
  static const Limits kLimits[] = {{"i64", "INT64_MIN", "INT64_MAX", "-9223372036854775808.0", "9223372036854775808.0"},
                                   {"i32", "INT32_MIN", "INT32_MAX", "-2147483648.0", "2147483648.0"},
                                   {"i16", "-32768", "32767", "-32768.0", "32768.0"},
                                   {"i8", "-128", "127", "-128.0", "128.0"},
                                   {"u8", "0", "255", "0.0", "256.0"}};
  for (const Limits& to : kLimits) {
    const std::string type = storage_type(*element_type_named(to.name)), name = std::string(to.name) + "_of_$N";
    add(filled(name, from),
        filled(inline_function(type + " " + name + "($T x)",
                               std::string("return x >= ") + to.above + l + " ? " + to.greatest + " : x > " + to.below +
                                   l + " ? (" + type + ")x : x <= " + to.below + l + " ? " + to.least + " : 0;"),
               from));
  }
}

void Helpers::add_narrow() {
  add("f32_of_bf16",
      inline_function("float f32_of_bf16(uint16_t x)",
                      "const union { uint32_t bits; float value; } u = {(uint32_t)x << 16};\n  return u.value;"));
  add("bf16_of_f32",
      inline_function("uint16_t bf16_of_f32(float x)",
                      "const union { float value; uint32_t bits; } u = {x};\n"
                      "  const uint32_t rounded = u.bits + 0x7fff + ((u.bits >> 16) & 1), quiet = u.bits | 0x400000;\n"
                      "  return (uint16_t)(((u.bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded) >> 16);"));
  add("f32_toward_odd",
      inline_function("float f32_toward_odd(double x)",
                      "union { float value; uint32_t bits; } u = {(float)x};\n"
                      "  const bool exact = (u.bits & 1) != 0 || u.value == x || x != x;\n"
                      "  u.bits += exact ? 0u : fabs((double)u.value) < fabs(x) ? 1u : -1u;\n  return u.value;"));
  add("bf16_of_f64", inline_function("uint16_t bf16_of_f64(double x)", "return bf16_of_f32(f32_toward_odd(x));"),
      {"bf16_of_f32", "f32_toward_odd"});
  // What 16 bits less of a large number leave keeps a bit for those that are gone.
  add("f64_toward_odd_of_i64",
      inline_function("double f64_toward_odd_of_i64(int64_t x)",
                      "return x > -4503599627370496 && x < 4503599627370496 ? (double)x : (double)(x / 65536 * 2 + (x "
                      "% 65536 != 0 ? x > 0 ? 1 : -1 : 0)) * 32768.0;"));
  add("round_f16", inline_function("float round_f16(float x)", "return (float)(_Float16)x;"));
  add("round_bf16", inline_function("float round_bf16(float x)", "return f32_of_bf16(bf16_of_f32(x));"),
      {"f32_of_bf16", "bf16_of_f32"});
}

void Helpers::add_exact() {
  const auto one = [&](const std::string& name, const std::string& parameters, const std::string& body) {
    add(name + "_i128", inline_function("__int128 " + name + "_i128(" + parameters + ")", body));
  };
  one("max", "__int128 a, __int128 b", "return a > b ? a : b;");
  one("min", "__int128 a, __int128 b", "return a < b ? a : b;");
  one("abs", "__int128 a", "return a < 0 ? -a : a;");
  one("floor_div", "__int128 a, __int128 b", "return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));");
  one("floor_mod", "__int128 a, __int128 b",
      "const __int128 d = b == 0 || b == -1 ? 1 : b;\n  const __int128 r = a % d;\n  return r != 0 && (r < 0) != (d < "
      "0) ? r + d : r;");
}

Helpers::Helpers(bool strict) {
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::i64, ElementType::i32,
                                 ElementType::i16, ElementType::i8, ElementType::u8, ElementType::boolean})
    add_shared(type);
  for (const ElementType type : {ElementType::i64, ElementType::i32}) add_integer(type);
  for (const ElementType type : {ElementType::f64, ElementType::f32}) {
    add_float(type, strict);
    add_conversions(type);
  }
  add_narrow();
  add_exact();
}

const std::string& Helpers::use(const std::string& name) {
  const auto it = known_.find(name);
  PW_CHECK(it != known_.end());
  for (const std::string& called : it->second.calls) use(called);
  for (const char* function : {"exp", "sqrt", "signbit", "fabs"})
    uses_math_ |= it->second.text.find(function) != std::string::npos;
  return *used_.insert(name).first;
}

std::set<std::string> Helpers::names() const {
  std::set<std::string> out;
  for (const auto& [name, helper] : known_) out.insert(name);
  return out;
}

std::string Helpers::text() const {
  std::map<int, std::string> in_order;
  for (const std::string& name : used_) in_order[known_.at(name).number] = known_.at(name).text;
  std::string out;
  for (const auto& [number, text] : in_order) out += text;
  return out;
}

}  // namespace polyweft::targets::c
