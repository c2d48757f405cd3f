#include "ir/text/loop_nest_text.h"

#include <cctype>
#include <iterator>

namespace polyweft::ir {
namespace {

struct Spelling {
  Op op;
  const char* call;
  const char* infix;
};

constexpr Spelling kSpellings[] = {
    {Op::neg, "neg", nullptr},
    {Op::bit_not, "bit_not", nullptr},
    {Op::logical_not, "logical_not", nullptr},
    {Op::convert, "convert", nullptr},
    {Op::saturate, "saturate", nullptr},
    {Op::exp, "exp", nullptr},
    {Op::log, "log", nullptr},
    {Op::tanh, "tanh", nullptr},
    {Op::sqrt, "sqrt", nullptr},
    {Op::rsqrt, "rsqrt", nullptr},
    {Op::erf, "erf", nullptr},
    {Op::sigmoid, "sigmoid", nullptr},
    {Op::sin, "sin", nullptr},
    {Op::cos, "cos", nullptr},
    {Op::floor, "floor", nullptr},
    {Op::ceil, "ceil", nullptr},
    {Op::round, "round", nullptr},
    {Op::abs, "abs", nullptr},
    {Op::add, "add", "+"},
    {Op::sub, "sub", "-"},
    {Op::mul, "mul", "*"},
    {Op::div, "div", "/"},
    {Op::floor_div, "floor_div", "//"},
    {Op::floor_mod, "floor_mod", "%"},
    {Op::bit_and, "bit_and", "&"},
    {Op::bit_or, "bit_or", "|"},
    {Op::bit_xor, "bit_xor", "^"},
    {Op::shl, "shl", "<<"},
    {Op::shr, "shr", ">>"},
    {Op::min, "min", nullptr},
    {Op::max, "max", nullptr},
    {Op::pow, "pow", nullptr},
    {Op::eq, "eq", "=="},
    {Op::ne, "ne", "!="},
    {Op::lt, "lt", "<"},
    {Op::le, "le", "<="},
    {Op::gt, "gt", ">"},
    {Op::ge, "ge", ">="},
    {Op::logical_and, "logical_and", nullptr},
    {Op::logical_or, "logical_or", nullptr},
    {Op::select, "select", nullptr},
    {Op::clamp, "clamp", nullptr},
    {Op::fma, "fma", nullptr},
};

constexpr const char* kReducerWords[] = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "combiner"};

}  // namespace

const char* reducer_name(Reducer reducer) {
  return kReducerWords[static_cast<size_t>(reducer)];
}

std::optional<Reducer> reducer_called(const std::string& name) {
  for (size_t k = 0; k < std::size(kReducerWords); ++k)
    if (name == kReducerWords[k]) return static_cast<Reducer>(k);
  return std::nullopt;
}

const char* call_name(Op op) {
  for (const Spelling& s : kSpellings)
    if (s.op == op) return s.call;
  return nullptr;
}

std::optional<Op> op_called(const std::string& name) {
  for (const Spelling& s : kSpellings)
    if (name == s.call) return s.op;
  return std::nullopt;
}

const char* infix_name(Op op) {
  for (const Spelling& s : kSpellings)
    if (s.op == op) return s.infix;
  return nullptr;
}

std::optional<Op> op_infix(const std::string& symbol) {
  for (const Spelling& s : kSpellings)
    if (s.infix && symbol == s.infix) return s.op;
  return std::nullopt;
}

bool is_comparison(Op op) {
  return op >= Op::eq && op <= Op::ge;
}

ElementType implied_type(Op op, const std::vector<Expr>& args) {
  if (is_comparison(op)) return ElementType::boolean;
  return args[op == Op::select && args.size() > 1 ? 1 : 0]->type;
}

bool is_nest_name(const std::string& name) {
  if (name.empty() || !(std::isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_')) return false;
  for (size_t i = 1; i < name.size(); ++i) {
    auto c = static_cast<unsigned char>(name[i]);
    bool inner_dot = c == '.' && i + 1 < name.size() && std::isalnum(static_cast<unsigned char>(name[i + 1]));
    if (!(std::isalnum(c) || c == '_' || inner_dot)) return false;
  }
  return name != "true" && name != "inf" && name != "nan";
}

}  // namespace polyweft::ir
