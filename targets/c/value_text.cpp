#include "targets/c/value_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ir/values/scalar.h"

namespace polyweft::targets::c {
namespace {

/// Of the widths that C computes in; narrower ones are promoted to int.
ElementType promoted(ElementType type) {
  return type == ElementType::i64 ? ElementType::i64 : ElementType::i32;
}
bool calls_function(const ExprNode& e) {
  bool found = e.op >= Op::exp && e.op <= Op::cos && e.op != Op::sqrt;
  found |= e.op == Op::pow;
  for (const Expr& arg : e.args) found = found || calls_function(*arg);
  return found;
}
bool has_read(const ExprNode& e) {
  bool found = e.op == Op::read;
  for (const Expr& arg : e.args) found = found || has_read(*arg);
  return found;
}

std::string float_text(const Literal& literal) {
  if (std::isnan(literal.f)) return "NAN";
  if (std::isinf(literal.f)) return literal.f < 0 ? "-INFINITY" : "INFINITY";
  char text[48];
  const bool is_double = literal.type == ElementType::f64;
  const auto end = is_double ? std::to_chars(text, text + sizeof text, literal.f)
                             : std::to_chars(text, text + sizeof text, static_cast<float>(literal.f));
  std::string out(text, end.ptr);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out + (is_double ? "" : "f");
}

std::string integer_text(int64_t value) {
  if (value == INT64_MIN) return "INT64_MIN";
  if (value == INT64_MAX) return "INT64_MAX";
  if (value == INT32_MIN) return "INT32_MIN";
  return std::to_string(value);
}

}  // namespace

std::string key_of(const Access& access) {
  std::string out = "[";
  for (const Subscript& s : access.index) {
    if (s.data) return "";
    out += targets::key_of(s.affine) + ";";
  }
  return out + "]";
}

// ---- elements ----

bool ValueText::is_row_major(const Buffer& buffer) {
  return std::all_of(buffer.layout.pad.begin(), buffer.layout.pad.end(), [](int64_t p) { return p == 0; }) &&
         buffer.layout.pieces == row_major(folded_extents(buffer)).pieces;
}

std::string ValueText::element(const Access& access) {
  printed_.insert(access.id);
  for (const std::string& key : {std::string(), key_of(access)})
    if (const auto local = locals_.find({access.id, key}); local != locals_.end()) return local->second;
  const Buffer& buffer = nest_.buffers[access.id];
  const std::string& name = buffer_names_[access.id];
  if (access.index.empty()) return "*" + name;
  return name + "[" + (is_row_major(buffer) ? row_major_index(buffer, access) : laid_out_index(buffer, access)).text +
         "]";
}

Text ValueText::subscript(const Subscript& s) {
  if (!s.data) return indices_.affine(s.affine);
  const Value data = exact_index(*s.data);
  if (s.affine.terms.empty() && s.affine.constant == 0) return data.text;
  return sum(indices_.affine(s.affine), data.text);
}

/// Elements from one index of the dimension to the next: a number, or a product where sizes are arguments.
std::string ValueText::stride_after(const Buffer& buffer, size_t dim) const {
  const std::vector<int64_t> extents = folded_extents(buffer);
  int64_t number = 1;
  std::string sizes;
  for (size_t d = dim + 1; d < extents.size(); ++d) {
    if (extents[d] == kSymbolicExtent)
      sizes += (sizes.empty() ? "" : "*") + right_of(indices_.affine(buffer.shape[d]), Level::mul);
    else
      number *= extents[d];
  }
  if (sizes.empty()) return number == 1 ? "" : std::to_string(number);
  return (number == 1 ? "" : std::to_string(number) + "*") + sizes;
}

namespace {

Text times(const Text& index, const std::string& stride) {
  const auto is_number = [](const std::string& text) {
    return text.size() < 10 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (stride.empty()) return index;
  if (is_number(index.text) && is_number(stride)) return {std::to_string(std::stoll(index.text) * std::stoll(stride))};
  const bool is_product = index.text.find_first_not_of(
                              "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_*") == std::string::npos;
  const std::string left =
      index.level == Level::mul && !is_product ? "(" + index.text + ")" : within(index, Level::mul);
  return {left + "*" + (stride.find_first_of(" *+-/") == std::string::npos ? stride : "(" + stride + ")"), Level::mul};
}

}  // namespace

Text ValueText::row_major_index(const Buffer& buffer, const Access& access) {
  Text out;
  for (size_t d = 0; d < access.index.size(); ++d) {
    const Subscript& s = access.index[d];
    const auto fold = std::find_if(buffer.folds.begin(), buffer.folds.end(), [&](const Fold& f) { return f.dim == d; });
    const bool is_folded = fold != buffer.folds.end();
    if (is_folded && fold->window == 1) continue;
    Text index = is_folded && !s.data ? indices_.remainder(s.affine, fold->window) : subscript(s);
    if (is_folded && s.data)
      index = {helpers_.use("floor_mod_i64") + "(" + index.text + ", " + std::to_string(fold->window) + ")"};
    if (index.text == "0") continue;
    index = times(index, stride_after(buffer, d));
    const bool is_sum =
        !s.data && index.level == Level::add && index.text[0] != '-';  // of exact integers: needs no parentheses
    out = out.text.empty() ? index
          : is_sum         ? Text{within(out, Level::add) + " + " + index.text, Level::add}
                           : sum(out, index);
  }
  return out.text.empty() ? Text{"0"} : out;
}

// Digits of the folded indices, outermost piece first.
Text ValueText::laid_out_index(const Buffer& buffer, const Access& access) {
  if (std::none_of(access.index.begin(), access.index.end(), [](const Subscript& s) { return s.data != nullptr; })) {
    std::vector<Affine> index;
    for (const Subscript& s : access.index) index.push_back(facts_.simplify(s.affine));
    return indices_.affine(facts_.offset(buffer, index));
  }
  std::vector<int64_t> below(buffer.extents.size(), 1);
  const auto& pieces = buffer.layout.pieces;
  Text out;
  int64_t stride = 1;
  for (size_t p = pieces.size(); p-- > 0;) {
    const uint32_t dim = pieces[p].dim;
    std::string digit = within(subscript(access.index[dim]), Level::atom);
    for (const Fold& f : buffer.folds)
      if (f.dim == dim) digit = helpers_.use("floor_mod_i64") + "(" + digit + ", " + std::to_string(f.window) + ")";
    const std::string text = digit + "/" + std::to_string(below[dim]) + " % " + std::to_string(pieces[p].factor) + "*" +
                             std::to_string(stride);
    out = out.text.empty() ? Text{"(" + digit + "/" + std::to_string(below[dim]) + " % " +
                                      std::to_string(pieces[p].factor) + ")*" + std::to_string(stride),
                                  Level::mul}
                           : sum({"(" + digit + "/" + std::to_string(below[dim]) + " % " +
                                      std::to_string(pieces[p].factor) + ")*" + std::to_string(stride),
                                  Level::mul},
                                 out);
    below[dim] *= pieces[p].factor;
    stride *= pieces[p].factor + (p < buffer.layout.pad.size() ? buffer.layout.pad[p] : 0);
  }
  return out;
}

Value ValueText::named(std::string text, ElementType type) const {
  const Level level = text[0] == '*' ? Level::unary : Level::atom;
  Value out{{std::move(text), level}, type};
  if (!is_float(type)) out.lo = ir::least_of(type), out.hi = ir::greatest_of(type);
  return out;
}

Value ValueText::element_value(const Access& access) {
  const Buffer& buffer = nest_.buffers[access.id];
  Value out = named(element(access), buffer.type);
  if (buffer.type == ElementType::f16) out.text = {"(float)" + within(out.text, Level::unary), Level::unary};
  if (buffer.type == ElementType::bf16) out.text = {helpers_.use("f32_of_bf16") + "(" + out.text.text + ")"};
  if (buffer.values && is_integer(buffer.type) && !buffer.is_output && buffer.scope == Scope::argument)
    out.lo = std::max(out.lo, buffer.values->lo), out.hi = std::min(out.hi, buffer.values->hi - 1);
  if (out.lo > out.hi) out.lo = out.hi;  // of nothing
  return out;
}

std::string ValueText::stored(ElementType type, const Value& value) {
  if (type == ElementType::f16) return "(_Float16)" + within(value.text, Level::unary);
  if (type == ElementType::bf16) return helpers_.use("bf16_of_f32") + "(" + value.text.text + ")";
  return value.text.text;
}

std::string ValueText::stored(ElementType type, const ExprNode& e) {
  if (is_narrow_float(type) && e.op == Op::read && nest_.buffers[e.access.id].type == type) return element(e.access);
  return stored(type, value(e));
}

// ---- leaves ----

Value ValueText::literal(const Literal& literal) {
  Value out;
  uses_math_ |= is_float(literal.type) && !std::isfinite(literal.f);
  out.type = literal.type;
  out.is_literal = true;
  if (is_float(literal.type)) {
    const std::string text = float_text(literal);
    out.text = {text, text[0] == '-' ? Level::unary : Level::atom};
  } else if (literal.type == ElementType::boolean) {
    out.text = {literal.i != 0 ? "true" : "false"};
    out.lo = out.hi = literal.i != 0;
  } else {
    const std::string text = integer_text(literal.i);
    out.text = {text, text[0] == '-' ? Level::unary : Level::atom};
    out.lo = out.hi = literal.i;
  }
  return out;
}

std::string ValueText::stored_constant(const Literal& of) {
  return of.type == ElementType::bf16 ? std::to_string(ir::bf16_bits(of.f)) : literal(of).text.text;
}

std::string ValueText::whole(const Value& value) const {
  if (!value.is_literal || value.type != ElementType::i64 || value.lo == INT64_MIN || value.lo == INT64_MAX)
    return value.text.text;
  return "INT64_C(" + value.text.text + ")";
}

Value ValueText::ranged(Text text, ElementType type, __int128 lo, __int128 hi) const {
  Value out{std::move(text), type};
  out.lo = static_cast<int64_t>(std::max<__int128>(lo, ir::least_of(type)));
  out.hi = static_cast<int64_t>(std::min<__int128>(hi, ir::greatest_of(type)));
  return out;
}

// Classes below strict keep narrow values of one expression in float.
Value ValueText::rounded(Value value) const {
  if (!is_narrow_float(value.type) || nest_.cls != NumericsClass::strict) return value;
  value.text = {helpers_.use(value.type == ElementType::f16 ? "round_f16" : "round_bf16") + "(" + value.text.text +
                ")"};
  return value;
}

// ---- operators ----

Value ValueText::call(const std::string& helper, ElementType type, const std::vector<const Value*>& args) {
  std::string text = helpers_.use(helper) + "(";
  for (size_t k = 0; k < args.size(); ++k) text += (k > 0 ? ", " : "") + args[k]->text.text;
  return named(text + ")", type);
}

Value ValueText::library(const std::string& function, ElementType type, const std::vector<const Value*>& args) {
  uses_math_ = true;
  std::string text = function + (carrier(type) == ElementType::f32 ? "f" : "") + "(";
  for (size_t k = 0; k < args.size(); ++k) text += (k > 0 ? ", " : "") + args[k]->text.text;
  return named(text + ")", type);
}

Value ValueText::infix(const char* op, Level level, ElementType type, const Value& a, const Value& b) {
  Text left = a.text;
  if (a.is_literal && b.is_literal)
    left = {whole(a), std::string(whole(a)) == a.text.text ? a.text.level : Level::atom};
  return named(within(left, level) + " " + op + " " + right_of(b.text, level), type);
}

namespace {
Value at(Value value, Level level) {
  value.text.level = level;
  return value;
}
}  // namespace

Value ValueText::float_unary(Op op, ElementType type, const Value& a) {
  const std::string suffix = "_" + std::string(name_of(carrier(type)));
  switch (op) {
    case Op::neg: {
      Value out = a;
      out.is_literal = false;
      out.text = {"-" + right_of(a.text, Level::unary), Level::unary};
      return out;
    }
    case Op::sigmoid:
      return rounded(call("sigmoid" + suffix, type, {&a}));
    case Op::rsqrt:
      return rounded(call("rsqrt" + suffix, type, {&a}));
    case Op::abs:
      return library("fabs", type, {&a});
    case Op::round:
      return library("rint", type, {&a});
    case Op::floor:
    case Op::ceil:
      return library(name_of(op), type, {&a});
    default:
      return rounded(library(name_of(op), type, {&a}));
  }
}

Value ValueText::unary(Op op, ElementType type, const Value& a) {
  if (op == Op::convert) return convert(type, a);
  if (op == Op::saturate) return saturate(type, a);
  if (op == Op::logical_not) return at(named("!" + within(a.text, Level::unary), ElementType::boolean), Level::unary);
  if (is_float(type)) return float_unary(op, type, a);
  const std::string name = name_of(promoted(type));
  if (op == Op::bit_not) {
    const std::string text = "~" + right_of({whole(a), a.text.level}, Level::unary);
    return type == ElementType::u8 ? at(named("(uint8_t)" + text, type), Level::unary)
                                   : ranged({text, Level::unary}, type, ~a.hi, ~a.lo);
  }
  const __int128 lo = a.lo, hi = a.hi;
  if (op == Op::neg) {
    if (-hi >= ir::least_of(type) && -lo <= ir::greatest_of(type))
      return ranged({"-" + right_of({whole(a), a.text.level}, Level::unary), Level::unary}, type, -hi, -lo);
    if (promoted(type) == type) return call("neg_" + name, type, {&a});
    return at(named("(" + storage_type(type) + ")-" + right_of(a.text, Level::unary), type), Level::unary);
  }
  PW_CHECK(op == Op::abs);
  if (lo >= 0) return a;
  Value out = call("abs_" + name, type, {&a});
  if (-lo > ir::greatest_of(type))
    return promoted(type) == type ? out : at(named("(" + storage_type(type) + ")" + out.text.text, type), Level::unary);
  return ranged(out.text, type, 0, std::max(-lo, hi));
}

Value ValueText::narrow_of_integer(ElementType type, const Value& a) {
  const bool is_wide = a.type == ElementType::i64;
  if (type == ElementType::f16)
    return at(
        named("(float)(_Float16)(" + std::string(is_wide ? "double" : "float") + ")" + within(a.text, Level::unary),
              type),
        Level::unary);
  const std::string exact = is_wide ? helpers_.use("f64_toward_odd_of_i64") + "(" + a.text.text + ")" : a.text.text;
  return named(helpers_.use("f32_of_bf16") + "(" + helpers_.use("bf16_of_f64") + "(" + exact + "))", type);
}

Value ValueText::integer_convert(ElementType type, const Value& a) {
  const Text cast{"(" + storage_type(type) + ")" + within(a.text, Level::unary), Level::unary};
  if (a.lo >= ir::least_of(type) && a.hi <= ir::greatest_of(type)) return ranged(cast, type, a.lo, a.hi);
  return at(named(cast.text, type), Level::unary);
}

Value ValueText::convert(ElementType type, const Value& a) {
  if (type == ElementType::boolean) return at(named(within(a.text, Level::shift) + " != 0", type), Level::compare);
  if (!is_float(type) && is_float(a.type))
    return call(std::string(name_of(type)) + "_of_" + name_of(carrier(a.type)), type, {&a});
  if (!is_float(type)) return integer_convert(type, a);
  const std::string cast = "(" + value_type(type) + ")";
  if (!is_float(a.type)) {
    const bool is_exact = a.lo >= -256 && a.hi <= 256;
    if (is_narrow_float(type) && !is_exact) return narrow_of_integer(type, a);
    return at(named(cast + within(a.text, Level::unary), type), Level::unary);
  }
  if (carrier(type) == ElementType::f64 || (type == ElementType::f32 && a.type == ElementType::f64))
    return carrier(a.type) == carrier(type) ? a : at(named(cast + within(a.text, Level::unary), type), Level::unary);
  if (type == ElementType::f32 || type == a.type) {
    Value out = a;
    out.type = type;
    return out;
  }
  if (type == ElementType::f16)
    return at(named("(float)(_Float16)" + within(a.text, Level::unary), type), Level::unary);
  return named(helpers_.use("f32_of_bf16") + "(" +
                   helpers_.use(a.type == ElementType::f64 ? "bf16_of_f64" : "bf16_of_f32") + "(" + a.text.text + "))",
               type);
}

Value ValueText::saturate(ElementType type, const Value& a) {
  if (is_float(a.type)) return convert(type, a);
  const int64_t least = ir::least_of(type), greatest = ir::greatest_of(type);
  Value inside = a;
  const std::string name = name_of(promoted(a.type));
  if (a.lo < least)
    inside.text = {helpers_.use("max_" + name) + "(" + inside.text.text + ", " + integer_text(least) + ")"},
    inside.lo = least;
  if (a.hi > greatest)
    inside.text = {helpers_.use("min_" + name) + "(" + inside.text.text + ", " + integer_text(greatest) + ")"},
    inside.hi = greatest;
  inside.hi = std::max(inside.hi, least);
  inside.lo = std::min(inside.lo, greatest);
  return integer_convert(type, inside);
}

Value ValueText::wrapped(Op op, ElementType type, const Value& a, const Value& b) {
  const char* names[] = {"add_", "sub_", "mul_"};
  const char* ops[] = {"+", "-", "*"};
  const size_t k = op == Op::add ? 0 : op == Op::sub ? 1 : 2;
  if (promoted(type) == type) return call(names[k] + std::string(name_of(type)), type, {&a, &b});
  const Value plain = infix(ops[k], op == Op::mul ? Level::mul : Level::add, type, a, b);
  return at(named("(" + storage_type(type) + ")(" + plain.text.text + ")", type), Level::unary);
}

Value ValueText::integer_binary(Op op, ElementType type, const Value& a, const Value& b) {
  const __int128 products[] = {static_cast<__int128>(a.lo) * b.lo, static_cast<__int128>(a.lo) * b.hi,
                               static_cast<__int128>(a.hi) * b.lo, static_cast<__int128>(a.hi) * b.hi};
  __int128 lo = static_cast<__int128>(a.lo) + b.lo, hi = static_cast<__int128>(a.hi) + b.hi;
  if (op == Op::sub) lo = static_cast<__int128>(a.lo) - b.hi, hi = static_cast<__int128>(a.hi) - b.lo;
  if (op == Op::mul) lo = *std::min_element(products, products + 4), hi = *std::max_element(products, products + 4);
  if (lo < ir::least_of(type) || hi > ir::greatest_of(type)) return wrapped(op, type, a, b);
  if (a.is_literal && b.is_literal) return literal(ir::integer_literal(type, static_cast<int64_t>(lo)));
  const Level level = op == Op::mul ? Level::mul : Level::add;
  return ranged({infix(op == Op::mul   ? "*"
                       : op == Op::add ? "+"
                                       : "-",
                       level, type, a, b)
                     .text.text,
                 level},
                type, lo, hi);
}

Value ValueText::division(Op op, ElementType type, const Value& a, const Value& b) {
  const bool is_quotient = op == Op::floor_div;
  if (a.lo >= 0 && b.lo > 0) {
    const Text text{infix(is_quotient ? "/" : "%", Level::mul, type, a, b).text.text, Level::mul};
    return is_quotient ? ranged(text, type, a.lo / b.hi, a.hi / b.lo) : ranged(text, type, 0, std::min(a.hi, b.hi - 1));
  }
  const Value out =
      call((is_quotient ? "floor_div_" : "floor_mod_") + std::string(name_of(promoted(type))), type, {&a, &b});
  if (promoted(type) != type) return at(named("(" + storage_type(type) + ")" + out.text.text, type), Level::unary);
  if (!is_quotient && b.lo > 0) return ranged(out.text, type, 0, b.hi - 1);
  return out;
}

// The count is taken modulo the width.
Value ValueText::shift(Op op, ElementType type, const Value& a, const Value& b) {
  const int64_t width = 8 * size_bytes(type);
  const Text count = b.lo >= 0 && b.hi < width
                         ? b.text
                         : Text{within(b.text, Level::shift) + " & " + std::to_string(width - 1), Level::bits};
  const Text left{whole(a), a.is_literal ? Level::atom : a.text.level};
  if (op == Op::shr) {
    const Text text{within(left, Level::mul) + " >> " + within(count, Level::mul), Level::shift};
    return ranged(text, type, std::min<int64_t>(a.lo, 0), std::max<int64_t>(a.hi, 0));
  }
  const std::string carrier_type = type == ElementType::i64 ? "uint64_t" : "uint32_t";
  return at(named("(" + storage_type(type) + ")((" + carrier_type + ")" + within(left, Level::unary) + " << " +
                      within(count, Level::mul) + ")",
                  type),
            Level::unary);
}

Value ValueText::extreme(Op op, ElementType type, const Value& a, const Value& b) {
  const std::string name =
      std::string(op == Op::max ? "max_" : "min_") + name_of(is_float(type) ? carrier(type) : promoted(type));
  Value out = call(name, type, {&a, &b});
  if (is_float(type)) return out;
  if (op == Op::max) return ranged(out.text, type, std::max(a.lo, b.lo), std::max(a.hi, b.hi));
  return ranged(out.text, type, std::min(a.lo, b.lo), std::min(a.hi, b.hi));
}

Value ValueText::compared(Op op, const Value& a, const Value& b) {
  const char* names[] = {"==", "!=", "<", "<=", ">", ">="};
  const char* name = names[static_cast<size_t>(op) - static_cast<size_t>(Op::eq)];
  return at(named(within(a.text, Level::shift) + " " + name + " " + within(b.text, Level::shift), ElementType::boolean),
            Level::compare);
}

// Both sides are computed: no branch.
Value ValueText::logical(Op op, const Value& a, const Value& b) {
  return at(named(within(a.text, Level::mul) + (op == Op::logical_and ? " & " : " | ") + within(b.text, Level::mul),
                  ElementType::boolean),
            Level::bits);
}

Value ValueText::binary(Op op, ElementType type, const Value& a, const Value& b) {
  if (op >= Op::eq && op <= Op::ge) return compared(op, a, b);
  if (op == Op::logical_and || op == Op::logical_or) return logical(op, a, b);
  if (op == Op::max || op == Op::min)
    return type == ElementType::boolean ? logical(op == Op::max ? Op::logical_or : Op::logical_and, a, b)
                                        : extreme(op, type, a, b);
  if (is_float(type)) {
    if (op == Op::pow) return rounded(library("pow", type, {&a, &b}));
    const bool is_sum = op == Op::add || op == Op::sub;
    const Level level = is_sum ? Level::add : Level::mul;
    return rounded(at(infix(op == Op::add   ? "+"
                            : op == Op::sub ? "-"
                            : op == Op::mul ? "*"
                                            : "/",
                            level, type, a, b),
                      level));
  }
  if (op == Op::add || op == Op::sub || op == Op::mul) return integer_binary(op, type, a, b);
  if (op == Op::floor_div || op == Op::floor_mod) return division(op, type, a, b);
  if (op == Op::shl || op == Op::shr) return shift(op, type, a, b);
  const char* name = op == Op::bit_and ? " & " : op == Op::bit_or ? " | " : " ^ ";
  const Text text{within({whole(a), a.is_literal ? Level::atom : a.text.level}, Level::mul) + name +
                      within({whole(b), b.is_literal ? Level::atom : b.text.level}, Level::mul),
                  Level::bits};
  if (op == Op::bit_and && (a.lo >= 0 || b.lo >= 0))
    return ranged(text, type, 0, std::min(a.lo >= 0 ? a.hi : INT64_MAX, b.lo >= 0 ? b.hi : INT64_MAX));
  Value out = named(text.text, type);
  out.text = text;
  return out;
}

// Both sides exist, so that reading both needs no branch; what is costly is computed once.
Value ValueText::select(const ExprNode& e) {
  const Value c = value(*e.args[0]), a = value(*e.args[1]), b = value(*e.args[2]);
  Value out = named("", e.type);
  const bool is_costly = calls_function(*e.args[1]) || calls_function(*e.args[2]);
  if (!is_costly && (has_read(*e.args[1]) || has_read(*e.args[2])))
    out.text = {helpers_.use(std::string("select_") + name_of(carrier(e.type))) + "(" + c.text.text + ", " +
                a.text.text + ", " + b.text.text + ")"};
  else
    out.text = {within(c.text, Level::compare) + " ? " + within({whole(a), a.text.level}, Level::logical) + " : " +
                    within({whole(b), b.text.level}, Level::logical),
                Level::ternary};
  out.lo = std::min(a.lo, b.lo);
  out.hi = std::max(a.hi, b.hi);
  return out;
}

Value ValueText::guarded(const ExprNode& e) {
  if (const auto known = facts_.decide(e.guard)) return value(*e.args[*known ? 0 : 1]);
  const std::string condition = within(indices_.guard(e.guard), Level::compare);
  const Facts before = facts_;
  facts_.assume(e.guard, true);
  const Value a = value(*e.args[0]);
  facts_ = before;
  facts_.assume(e.guard, false);
  const Value b = value(*e.args[1]);
  facts_ = before;
  Value out = named("", e.type);
  out.text = {condition + " ? " + within({whole(a), a.text.level}, Level::logical) + " : " +
                  within({whole(b), b.text.level}, Level::logical),
              Level::ternary};
  out.lo = std::min(a.lo, b.lo);
  out.hi = std::max(a.hi, b.hi);
  return out;
}

Value ValueText::operation(const ExprNode& e) {
  std::vector<Value> args;
  for (const Expr& arg : e.args) args.push_back(value(*arg));
  if (args.size() == 1) return unary(e.op, e.type, args[0]);
  if (args.size() == 2) return binary(e.op, e.type, args[0], args[1]);
  if (e.op == Op::clamp) return binary(Op::min, e.type, binary(Op::max, e.type, args[0], args[1]), args[2]);
  PW_CHECK(e.op == Op::fma);
  if (is_float(e.type) && nest_.cls == NumericsClass::strict)
    return rounded(library("fma", e.type, {&args[0], &args[1], &args[2]}));
  return binary(Op::add, e.type, binary(Op::mul, e.type, args[0], args[1]), args[2]);
}

Value ValueText::value(const ExprNode& e) {
  switch (e.op) {
    case Op::literal:
      return literal(e.literal);
    case Op::variable:
      if (!state_.empty()) return state_.at(e.var);
      [[fallthrough]];
    case Op::affine: {
      const Affine at = e.op == Op::affine ? e.affine : Affine::variable(e.var);
      const Interval range = facts_.range(at);
      const bool is_known = range.lo > INT64_MIN / 8 && range.hi < INT64_MAX / 8;
      Value out{indices_.affine(at), ElementType::i64};
      out.is_literal = facts_.simplify(at).is_constant();
      if (is_known) out.lo = range.lo, out.hi = range.hi;
      return out;
    }
    case Op::read:
      return element_value(e.access);
    case Op::select:
      return select(e);
    case Op::guarded:
      return guarded(e);
    default:
      return operation(e);
  }
}

}  // namespace polyweft::targets::c
