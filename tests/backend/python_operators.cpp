#include "backend/python_operators.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ir/values/scalar.h"

namespace polyweft::backend_test {
namespace {

struct Definition {
  const char* name;
  const char* calls;  ///< another one, or ""
  const char* text;
};

const Definition kDefinitions[] = {
    {"view", "", "def view(data, kind):\n    return memoryview(data).cast('B').cast(kind) if len(data) else []\n"},
    {"i8", "", "def i8(x):\n    return (x + 2**7) % 2**8 - 2**7\n"},
    {"i16", "", "def i16(x):\n    return (x + 2**15) % 2**16 - 2**15\n"},
    {"i32", "", "def i32(x):\n    return (x + 2**31) % 2**32 - 2**31\n"},
    {"i64", "", "def i64(x):\n    return (x + 2**63) % 2**64 - 2**63\n"},
    {"i128", "", "def i128(x):\n    return (x + 2**127) % 2**128 - 2**127\n"},
    {"u8", "", "def u8(x):\n    return x % 2**8\n"},
    {"quotient", "", "def quotient(a, b):\n    return a // b if b else 0\n"},
    {"remainder", "", "def remainder(a, b):\n    return a % b if b else 0\n"},
    {"f32", "", R"(def f32(x):  # to nearest; + - * / and sqrt of f32 may be rounded to f64 before
    try:
        return struct.unpack('<f', struct.pack('<f', x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)
)"},
    {"f32_of_integer", "f32", R"(def f32_of_integer(n):  # its first 53 bits, the last of them 1 where any behind is
    cut = max(0, abs(n).bit_length() - 53)
    first = abs(n) >> cut
    odd = first if first << cut == abs(n) else first | 1
    return f32(math.copysign(math.ldexp(odd, cut), n))
)"},
    {"integer_of_float", "", R"(def integer_of_float(x, least, greatest):
    if x != x:
        return 0
    if math.isinf(x):
        return greatest if x > 0 else least
    return max(least, min(int(x), greatest))
)"},
    {"divide", "", R"(def divide(a, b):
    if b != 0:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
)"},
    {"square_root", "", "def square_root(x):\n    return math.nan if x < 0 else math.sqrt(x)\n"},
    {"whole", "", "def whole(to_integer, x):\n    return math.copysign(to_integer(x), x) if abs(x) < 2.0**52 else x\n"},
    {"float_max", "", R"(def float_max(a, b):
    if a != a or b != b:
        return math.nan
    if a == b:
        return b if math.copysign(1.0, a) < 0 else a
    return a if a > b else b
)"},
    {"float_min", "", R"(def float_min(a, b):
    if a != a or b != b:
        return math.nan
    if a == b:
        return a if math.copysign(1.0, a) < 0 else b
    return a if a < b else b
)"},
    {"fma_f32", "f32", R"(def fma_f32(a, b, c):  # the product is exact; what the sum loses makes its last bit odd
    product = a * b
    total = product + c
    part = total - product
    lost = (product - (total - part)) + (c - part)
    if lost and lost == lost:
        bits, = struct.unpack('<q', struct.pack('<d', total))
        if bits % 2 == 0:
            bits += 1 if (lost > 0) == (total > 0) else -1
            total, = struct.unpack('<d', struct.pack('<q', bits))
    return f32(total)
)"},
    {"fma_f64", "", R"(def fma_f64(a, b, c):  # by integers: their quotient is rounded once
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    (na, da), (nb, db), (nc, dc) = (x.as_integer_ratio() for x in (a, b, c))
    total = na * nb * dc + nc * da * db
    if total == 0:
        return 0.0 if nc else a * b + c
    try:
        return total / (da * db * dc)
    except OverflowError:
        return math.inf if total > 0 else -math.inf
)"},
    {"beats", "", R"(def beats(is_greatest, new, old):  # (value, index...): ties go to the first index
    x, best = new[0], old[0]
    if x != x or best != best:
        return x != x and (best == best or new[1:] < old[1:])
    return (x > best if is_greatest else x < best) or (x == best and new[1:] < old[1:])
)"},
};

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string float_text(double value) {
  if (std::isnan(value)) return "math.nan";
  if (std::isinf(value)) return value > 0 ? "math.inf" : "(-math.inf)";
  char digits[40];
  std::string out(digits, std::to_chars(std::begin(digits), std::end(digits), value).ptr);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out[0] == '-' ? in_parentheses(out) : out;
}

const char* infix(Op op) {
  switch (op) {
    case Op::add:
      return " + ";
    case Op::sub:
      return " - ";
    case Op::mul:
      return " * ";
    case Op::bit_and:
      return " & ";
    case Op::bit_or:
      return " | ";
    case Op::bit_xor:
      return " ^ ";
    case Op::eq:
      return " == ";
    case Op::ne:
      return " != ";
    case Op::lt:
      return " < ";
    case Op::le:
      return " <= ";
    case Op::gt:
      return " > ";
    case Op::ge:
      return " >= ";
    case Op::logical_and:
      return " and ";
    case Op::logical_or:
      return " or ";
    default:
      return nullptr;
  }
}

}  // namespace

void refuse(const std::string& what) {
  throw NoPython{fail("PW0523", "the backend for python has no " + what)};
}

const std::set<std::string>& taken_names() {
  static const std::set<std::string> names = [] {
    std::set<std::string> out = {
        "False",  "None",     "True",       "and",       "as",    "assert", "async",  "await",    "break",
        "class",  "continue", "def",        "del",       "elif",  "else",   "except", "finally",  "for",
        "from",   "global",   "if",         "import",    "in",    "is",     "lambda", "nonlocal", "not",
        "or",     "pass",     "raise",      "return",    "try",   "while",  "with",   "yield",    "math",
        "struct", "range",    "memoryview", "bytearray", "float", "int",    "abs",    "min",      "max",
        "round",  "all",      "len",        "value",     "found", "state"};
    for (const Definition& definition : kDefinitions) out.insert(definition.name);
    return out;
  }();
  return names;
}

bool is_word(const std::string& text) {
  return std::all_of(text.begin(), text.end(), is_letter_or_digit);
}
std::string in_parentheses(const std::string& text) {
  return "(" + text + ")";
}
std::string atom(const std::string& text) {
  return is_word(text) ? text : in_parentheses(text);
}
std::string joined(const Texts& parts, const std::string& between) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : between) + part;
  return out;
}

std::string format_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return "'d'";
    case ElementType::f32:
      return "'f'";
    case ElementType::i64:
      return "'q'";
    case ElementType::i32:
      return "'i'";
    case ElementType::i16:
      return "'h'";
    case ElementType::i8:
      return "'b'";
    case ElementType::u8:
    case ElementType::boolean:
      return "'B'";
    default:
      refuse(std::string("type ") + name_of(type));
  }
}

std::string literal_text(const Literal& literal) {
  if (is_float(literal.type)) return float_text(literal.f);
  if (literal.type == ElementType::boolean) return literal.i ? "True" : "False";
  return literal.i < 0 ? in_parentheses(std::to_string(literal.i)) : std::to_string(literal.i);
}

std::string PythonOperators::apply(Op op, ElementType type, const Texts& args) {
  if (op == Op::select) return in_parentheses(args[1] + " if " + args[0] + " else " + args[2]);
  if (op == Op::logical_not) return "(not " + args[0] + ")";
  if (op >= Op::eq && op <= Op::logical_or) return in_parentheses(args[0] + infix(op) + args[1]);
  format_of(type);
  if (type == ElementType::boolean) refuse(std::string("arithmetic on bool: ") + name_of(op));
  if (is_float(type)) return on_floats(op, type, args);
  return on_integers(op, name_of(type), static_cast<int>(8 * size_bytes(type) - 1), args);
}

std::string PythonOperators::apply_exactly(Op op, const Texts& args) {
  return on_integers(op, "i128", 63, args);
}

std::string PythonOperators::convert(ElementType to, ElementType from, const std::string& arg) {
  format_of(to);
  if (to == ElementType::boolean) return in_parentheses(arg + " != 0");
  if (is_float(to) && is_float(from)) return to == ElementType::f32 && from != to ? call("f32", {arg}) : arg;
  if (is_float(to)) return to == ElementType::f32 ? call("f32_of_integer", {arg}) : "float(" + arg + ")";
  if (is_float(from))
    return call("integer_of_float", {arg, std::to_string(ir::least_of(to)), std::to_string(ir::greatest_of(to))});
  if (from == ElementType::boolean) return "int(" + arg + ")";
  return from == to ? arg : call(name_of(to), {arg});
}

std::string PythonOperators::saturate(ElementType to, ElementType from, const std::string& arg) {
  if (!is_integer(to)) refuse(std::string("saturation to ") + name_of(to));
  if (is_float(from)) return convert(to, from, arg);
  return "max(" + std::to_string(ir::least_of(to)) + ", min(" + arg + ", " + std::to_string(ir::greatest_of(to)) + "))";
}

std::string PythonOperators::call(const std::string& function, const Texts& args) {
  called_.insert(function);
  return function + in_parentheses(joined(args, ", "));
}

std::string PythonOperators::definitions() const {
  std::set<std::string> wanted = called_;
  for (const Definition& definition : kDefinitions)
    if (wanted.contains(definition.name) && *definition.calls) wanted.insert(definition.calls);
  std::string out;
  for (const Definition& definition : kDefinitions)
    if (wanted.contains(definition.name)) out += std::string("\n\n") + definition.text;
  return out;
}

std::string PythonOperators::on_floats(Op op, ElementType type, const Texts& args) {
  const bool is_single = type == ElementType::f32;
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
      return is_single ? call("f32", {args[0] + infix(op) + args[1]}) : in_parentheses(args[0] + infix(op) + args[1]);
    case Op::div:
      return is_single ? call("f32", {call("divide", args)}) : call("divide", args);
    case Op::sqrt:
      return is_single ? call("f32", {call("square_root", args)}) : call("square_root", args);
    case Op::fma:
      return call(is_single ? "fma_f32" : "fma_f64", args);
    case Op::neg:
      return "(-" + args[0] + ")";
    case Op::abs:
      return "abs(" + args[0] + ")";
    case Op::floor:
      return call("whole", {"math.floor", args[0]});
    case Op::ceil:
      return call("whole", {"math.ceil", args[0]});
    case Op::round:
      return call("whole", {"round", args[0]});
    case Op::max:
      return call("float_max", args);
    case Op::min:
      return call("float_min", args);
    case Op::clamp:
      return call("float_min", {call("float_max", {args[0], args[1]}), args[2]});
    default:
      refuse(name_of(op));
  }
}

/// `wrap`: the function that brings a result back into its type.
std::string PythonOperators::on_integers(Op op, const std::string& wrap, int shift_mask, const Texts& args) {
  switch (op) {
    case Op::neg:
      return call(wrap, {"-" + args[0]});
    case Op::bit_not:
      return call(wrap, {"~" + args[0]});
    case Op::abs:
      return call(wrap, {"abs(" + args[0] + ")"});
    case Op::add:
    case Op::sub:
    case Op::mul:
      return call(wrap, {args[0] + infix(op) + args[1]});
    case Op::fma:
      return call(wrap, {args[0] + " * " + args[1] + " + " + args[2]});
    case Op::floor_div:
      return call(wrap, {call("quotient", args)});
    case Op::floor_mod:
      return call("remainder", args);
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
      return in_parentheses(args[0] + infix(op) + args[1]);
    case Op::shl:
      return call(wrap, {args[0] + " << (" + args[1] + " & " + std::to_string(shift_mask) + ")"});
    case Op::shr:
      return in_parentheses(args[0] + " >> (" + args[1] + " & " + std::to_string(shift_mask) + ")");
    case Op::min:
      return "min(" + joined(args, ", ") + ")";
    case Op::max:
      return "max(" + joined(args, ", ") + ")";
    case Op::clamp:
      return "min(max(" + args[0] + ", " + args[1] + "), " + args[2] + ")";
    default:
      refuse(name_of(op));
  }
}

}  // namespace polyweft::backend_test
