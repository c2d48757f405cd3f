// Subscripts that depend on data, where 64 bits do not hold every part of them (ir/exact.h): in __int128, which gcc and
// clang have.
#include "targets/c/value_text.h"
#include "targets/common/exact_leaves.h"

namespace polyweft::targets::c {
namespace {

const char* infix_of(Op op) {
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
    default:
      return nullptr;
  }
}

}  // namespace

Value ValueText::exact_index(const ExprNode& data) {
  const ExactLeaves leaves(nest_, [this](const Affine& e) { return exact_bounds(facts_, e); });
  if (needs_64_bits_only(data, leaves)) return value(data);
  Value out = named("", ElementType::i64);
  out.text = {"(int64_t)" + exact(data), Level::unary};
  return out;
}

/// An atom of type __int128.
std::string ValueText::exact(const ExprNode& e) {
  if (!ir::is_exact_operator(e)) return "((__int128)(" + whole(value(e)) + "))";
  if (e.op == Op::guarded)
    return "(" + within(indices_.guard(e.guard), Level::compare) + " ? " + exact(*e.args[0]) + " : " +
           exact(*e.args[1]) + ")";
  if (e.op == Op::select)
    return "(" + exact_condition(*e.args[0]) + " ? " + exact(*e.args[1]) + " : " + exact(*e.args[2]) + ")";
  std::vector<std::string> args;
  for (const Expr& arg : e.args) args.push_back(exact(*arg));
  if (e.op == Op::neg) return "(-" + args[0] + ")";
  if (e.op == Op::bit_not) return "(~" + args[0] + ")";
  if (const char* op = infix_of(e.op)) return "(" + args[0] + op + args[1] + ")";
  if (e.op == Op::shl) return "(" + args[0] + " * ((__int128)1 << (" + args[1] + " & 63)))";
  if (e.op == Op::shr) return "(" + args[0] + " >> (" + args[1] + " & 63))";
  if (e.op == Op::clamp)
    return helpers_.use("min_i128") + "(" + helpers_.use("max_i128") + "(" + args[0] + ", " + args[1] + "), " +
           args[2] + ")";
  const std::string name = helpers_.use(std::string(name_of(e.op)) + "_i128");
  return name + "(" + args[0] + (args.size() > 1 ? ", " + args[1] : "") + ")";
}

std::string ValueText::exact_condition(const ExprNode& e) {
  if (!ir::is_exact_condition(e)) return "(" + value(e).text.text + ")";
  if (e.op == Op::logical_not) return "(!" + exact_condition(*e.args[0]) + ")";
  if (e.op == Op::logical_and || e.op == Op::logical_or)
    return "(" + exact_condition(*e.args[0]) + (e.op == Op::logical_and ? " & " : " | ") + exact_condition(*e.args[1]) +
           ")";
  static constexpr const char* kNames[] = {" == ", " != ", " < ", " <= ", " > ", " >= "};
  return "(" + exact(*e.args[0]) + kNames[static_cast<size_t>(e.op) - static_cast<size_t>(Op::eq)] + exact(*e.args[1]) +
         ")";
}

}  // namespace polyweft::targets::c
