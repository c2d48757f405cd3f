// Program to text of the language. Every equation carries its type, so that literals find theirs; a literal whose
// context says nothing is written as a conversion, f32(1.0).
#include <algorithm>
#include <cmath>

#include "ir/text/expression_text.h"
#include "ir/text/literal_text.h"
#include "ir/values/float_places.h"
#include "ir/values/scalar.h"

namespace polyweft {
namespace {

using Names = std::vector<std::string>;

/// Levels of the grammar of LANGUAGE.md section 1, loosest first.
enum Precedence { kGuarded, kOr, kAnd, kNot, kRelation, kBits, kShift, kSum, kProduct, kUnary, kPrimary };

/// Whether the surroundings give a literal its type.
enum class Context { unknown, known };

std::string list_of(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

std::string group_of(const std::vector<std::string>& items) {
  return items.size() == 1 ? items[0] : "(" + list_of(items) + ")";
}

struct Infix {
  Precedence level;
  const char* symbol;
};

std::optional<Infix> infix(Op op) {
  switch (op) {
    case Op::add:
      return Infix{kSum, " + "};
    case Op::sub:
      return Infix{kSum, " - "};
    case Op::mul:
      return Infix{kProduct, " * "};
    case Op::div:
      return Infix{kProduct, " / "};
    case Op::floor_div:
      return Infix{kProduct, " // "};
    case Op::floor_mod:
      return Infix{kProduct, " % "};
    case Op::bit_and:
      return Infix{kBits, " & "};
    case Op::bit_or:
      return Infix{kBits, " | "};
    case Op::bit_xor:
      return Infix{kBits, " ^ "};
    case Op::shl:
      return Infix{kShift, " << "};
    case Op::shr:
      return Infix{kShift, " >> "};
    case Op::eq:
      return Infix{kRelation, " == "};
    case Op::ne:
      return Infix{kRelation, " != "};
    case Op::lt:
      return Infix{kRelation, " < "};
    case Op::le:
      return Infix{kRelation, " <= "};
    case Op::gt:
      return Infix{kRelation, " > "};
    case Op::ge:
      return Infix{kRelation, " >= "};
    case Op::logical_and:
      return Infix{kAnd, " and "};
    case Op::logical_or:
      return Infix{kOr, " or "};
    default:
      return std::nullopt;
  }
}

/// Prints the expressions of one scope: an equation or a combiner.
class ExpressionPrinter {
 public:
  ExpressionPrinter(const Program& program, Names names) : program_(program), names_(std::move(names)) {}

  std::string print(const Expr& e, Precedence least, Context context) const {
    auto [text, level] = text_of(*e, context);
    return level < least ? "(" + text + ")" : text;
  }

 private:
  struct Text {
    std::string text;
    Precedence level;
  };

  Text text_of(const ExprNode& e, Context context) const {
    switch (e.op) {
      case Op::literal:
        return literal(e, context);
      case Op::variable:
        return {e.var < names_.size() ? names_[e.var] : "?" + std::to_string(e.var), kPrimary};
      case Op::read:
        return {read(e.access), kPrimary};
      case Op::affine:
        return {"(" + polyweft::print(e.affine, names_) + ")", kPrimary};
      case Op::guarded:
        return {print(e.args[0], kOr, context) + " where " + polyweft::print(e.guard, names_) + " else " +
                    print(e.args[1], kGuarded, context),
                kGuarded};
      case Op::reduce:
        return {reduction(e, context), kSum};
      case Op::tuple:
        return {"(" + list_of(prints(e.args, context)) + ")", kPrimary};
      case Op::component:
        return {print(e.args[0], kPrimary, context) + "." + std::to_string(e.var), kPrimary};
      default:
        return operation(e, context);
    }
  }

  Text literal(const ExprNode& e, Context context) const {
    std::string text = ir::text_of(e.literal);
    bool typed = e.type == ElementType::boolean;
    if (context == Context::unknown && !typed) return {std::string(name_of(e.type)) + "(" + text + ")", kPrimary};
    return {text, text[0] == '-' ? kUnary : kPrimary};
  }

  Text operation(const ExprNode& e, Context context) const {
    if (auto known = infix(e.op)) return binary(e, *known, context);
    switch (e.op) {
      case Op::neg:
        return {"-" + print(e.args[0], e.args[0]->op == Op::literal ? static_cast<Precedence>(kPrimary + 1) : kUnary,
                            context),
                kUnary};
      case Op::bit_not:
        return {"~" + print(e.args[0], kUnary, context), kUnary};
      case Op::logical_not:
        return {"not " + print(e.args[0], kNot, Context::known), kNot};
      case Op::convert:
        return {call(name_of(e.type), prints(e.args, Context::unknown)), kPrimary};
      case Op::saturate:
        return {call("sat_" + std::string(name_of(e.type)), prints(e.args, Context::unknown)), kPrimary};
      case Op::select:
        return {select(e, context), kPrimary};
      default:
        return {call(name_of(e.op), prints(e.args, shared_context(e.args, context))), kPrimary};
    }
  }

  Text binary(const ExprNode& e, const Infix& known, Context context) const {
    bool logical = known.level == kAnd || known.level == kOr;
    bool relation = known.level == kRelation;
    Context inner = logical ? Context::known : shared_context(e.args, relation ? Context::unknown : context);
    Precedence above = static_cast<Precedence>(known.level + 1);
    bool mixes = known.level == kBits && e.args[0]->op != e.op;
    Precedence left = relation || mixes ? above : known.level;
    return {print(e.args[0], left, inner) + known.symbol + print(e.args[1], above, inner), known.level};
  }

  std::string select(const ExprNode& e, Context context) const {
    std::vector<Expr> values(e.args.begin() + 1, e.args.end());
    Context inner = shared_context(values, context);
    return "select(" + print(e.args[0], kGuarded, Context::unknown) + ", " + list_of(prints(values, inner)) + ")";
  }

  /// One operand with a type of its own gives it to the others.
  Context shared_context(const std::vector<Expr>& args, Context outer) const {
    for (const Expr& arg : args)
      if (has_own_type(*arg)) return Context::known;
    return outer;
  }

  bool has_own_type(const ExprNode& e) const {
    switch (e.op) {
      case Op::literal:
        return false;
      case Op::variable:
      case Op::read:
      case Op::affine:
      case Op::convert:
      case Op::saturate:
        return true;
      case Op::reduce:
        return e.reduction.reducer == Reducer::combiner || e.reduction.reducer == Reducer::argmax ||
               e.reduction.reducer == Reducer::argmin || has_own_type(*e.args[0]);
      default:
        break;
    }
    if (e.type == ElementType::boolean) return true;
    for (size_t k = e.op == Op::select ? 1 : 0; k < e.args.size(); ++k)
      if (has_own_type(*e.args[k])) return true;
    return false;
  }

  std::string call(const std::string& name, const std::vector<std::string>& args) const {
    return name + "(" + list_of(args) + ")";
  }

  std::vector<std::string> prints(const std::vector<Expr>& args, Context context) const {
    std::vector<std::string> out;
    for (const Expr& arg : args) out.push_back(print(arg, kGuarded, context));
    return out;
  }

  std::string read(const Access& access) const {
    const std::string& name = program_.tensors[access.id].name;
    std::vector<std::string> index;
    for (const Subscript& s : access.index) index.push_back(subscript(s));
    return index.empty() ? name : name + "[" + list_of(index) + "]";
  }

  std::string subscript(const Subscript& s) const {
    if (!s.data) return polyweft::print(s.affine, names_);
    std::string data = print(s.data, kSum, Context::known);
    bool alone = s.affine.is_constant() && s.affine.constant == 0;
    return alone ? data : data + " + " + "(" + polyweft::print(s.affine, names_) + ")";
  }

  std::string reduction(const ExprNode& e, Context context) const {
    const Reduction& r = e.reduction;
    std::string name = name_of(r.reducer);
    if (r.reducer == Reducer::combiner) name += " " + program_.combiners[r.combiner].name;
    std::vector<std::string> ranges;
    for (const IndexRange& range : r.ranges)
      ranges.push_back(names_[range.var] + ": " + range_text(range.lo, range.hi));
    std::string where = r.where.is_true() ? "" : " where " + polyweft::print(r.where, names_);
    bool own_types = r.reducer == Reducer::combiner;
    bool ordered = r.reducer == Reducer::argmax || r.reducer == Reducer::argmin;
    Context inner = own_types ? Context::known : ordered ? Context::unknown : context;
    std::string body =
        e.args.size() == 1 ? print(e.args[0], kProduct, inner) : "(" + list_of(prints(e.args, inner)) + ")";
    return name + "[" + list_of(ranges) + where + "] " + body;
  }

 public:
  std::string range_text(const Affine& lo, const Affine& hi) const {
    std::string end = polyweft::print(hi, names_);
    bool from_zero = lo.is_constant() && lo.constant == 0;
    return from_zero ? end : polyweft::print(lo, names_) + ".." + end;
  }

 private:
  const Program& program_;
  Names names_;
};

class ProgramPrinter {
 public:
  explicit ProgramPrinter(const Program& program) : program_(program) {
    for (const Parameter& parameter : program.parameters) parameters_.push_back(parameter.name);
  }

  std::string print() {
    out_ = header() + "\n";
    for (const Combiner& combiner : program_.combiners) out_ += combiner_text(combiner) + "\n";
    for (const Equation& equation : program_.equations) {
      TensorId first = *std::min_element(equation.targets.begin(), equation.targets.end());
      declare_before(first);
      out_ += equation_text(equation) + "\n";
    }
    declare_before(static_cast<TensorId>(program_.tensors.size()));
    return std::move(out_);
  }

 private:
  std::string header() const {
    std::vector<std::string> items;
    for (const Parameter& p : program_.parameters) items.push_back(p.name + " = " + std::to_string(p.value));
    for (const Parameter& p : program_.const_parameters)
      items.push_back("const " + p.name + " = " + std::to_string(p.value));
    std::string assume;
    for (const Guard& g : program_.assumptions) {
      if (is_default(g) || g.is_true()) continue;
      std::string text = polyweft::print(g, parameters_);
      assume += (assume.empty() ? " assume " : ", ") + text;
    }
    return "program " + program_.name + "(" + list_of(items) + ")" + assume;
  }

  /// p >= 1, which holds without being written.
  static bool is_default(const Guard& g) {
    return g.kind == Guard::Kind::ge0 && g.e.constant == -1 && g.e.terms.size() == 1 && !g.e.terms[0].quasi &&
           g.e.terms[0].coeff == 1;
  }

  /// Inputs and constants are printed in the order of their tensor numbers, as in the source.
  void declare_before(TensorId end) {
    for (; next_tensor_ < end; ++next_tensor_) {
      const Tensor& tensor = program_.tensors[next_tensor_];
      if (tensor.kind == TensorKind::input) out_ += input_text(tensor) + "\n";
      if (tensor.kind == TensorKind::constant) out_ += constant_text(tensor) + "\n";
    }
  }

  std::string typed_name(const Tensor& tensor) const {
    std::vector<std::string> extents;
    for (const Affine& extent : tensor.shape) extents.push_back(polyweft::print(extent, parameters_));
    return tensor.name + ": " + name_of(tensor.type) + (extents.empty() ? "" : "[" + list_of(extents) + "]");
  }

  std::string input_text(const Tensor& tensor) const {
    std::string out = (tensor.is_const_input ? "const in " : "in ") + typed_name(tensor);
    if (!tensor.values_lo) return out;
    if (is_float(tensor.type)) return out + " values " + float_range_text(tensor);
    return out + " values " + polyweft::print(*tensor.values_lo, parameters_) + ".." +
           polyweft::print(*tensor.values_hi, parameters_);
  }

  static std::string float_range_text(const Tensor& tensor) {
    const ir::FloatRange range =
        ir::floats_within(tensor.type, {tensor.values_lo->constant, tensor.values_hi->constant});
    return ir::text_of(ir::float_literal(tensor.type, range.lo)) + ".." +
           ir::text_of(ir::float_literal(tensor.type, range.hi));
  }

  std::string constant_text(const Tensor& tensor) const {
    size_t next = 0;
    return "const " + typed_name(tensor) + " = " + constant_data(tensor, 0, next);
  }

  std::string constant_data(const Tensor& tensor, size_t dimension, size_t& next) const {
    if (dimension == tensor.shape.size()) return ir::text_of(tensor.data[next++]);
    std::vector<std::string> items;
    for (int64_t k = 0; k < tensor.shape[dimension].constant; ++k)
      items.push_back(constant_data(tensor, dimension + 1, next));
    return "[" + list_of(items) + "]";
  }

  std::string combiner_text(const Combiner& c) const {
    std::vector<std::string> types, identity, results;
    for (ElementType type : c.types) types.push_back(name_of(type));
    for (const Literal& value : c.identity) identity.push_back(ir::text_of(value));
    Names names = c.left;
    names.insert(names.end(), c.right.begin(), c.right.end());
    ExpressionPrinter printer(program_, names);
    for (const Expr& result : c.result) results.push_back(printer.print(result, kGuarded, Context::known));
    return "combine " + c.name + "(" + group_of(c.left) + ", " + group_of(c.right) + "): " + group_of(types) +
           " from " + group_of(identity) + (c.associative ? " associative" : "") +
           (c.commutative ? " commutative" : "") + " = " + group_of(results);
  }

  std::string equation_text(const Equation& equation) const {
    Names names = variable_names(program_, equation);
    ExpressionPrinter printer(program_, names);
    std::vector<std::string> targets, types, slots;
    for (TensorId id : equation.targets) {
      targets.push_back(program_.tensors[id].name);
      types.push_back(name_of(program_.tensors[id].type));
    }
    for (const Slot& slot : equation.slots) slots.push_back(slot_text(slot, printer, names));
    std::string where = equation.where.is_true() ? "" : " where " + polyweft::print(equation.where, names);
    return keyword(equation) + group_of(targets) + (slots.empty() ? "" : "[" + list_of(slots) + "]") + ": " +
           group_of(types) + where + " = " + printer.print(equation.rhs, kGuarded, Context::known);
  }

  std::string keyword(const Equation& equation) const {
    const Tensor& tensor = program_.tensors[equation.targets.front()];
    if (tensor.kind != TensorKind::output) return "let ";
    return tensor.partial ? "out partial " : "out ";
  }

  static std::string slot_text(const Slot& slot, const ExpressionPrinter& printer, const Names& names) {
    if (slot.var == kNoVar) return polyweft::print(slot.position, names);
    return names[slot.var] + ": " + printer.range_text(slot.lo, slot.hi);
  }

  const Program& program_;
  Names parameters_;
  TensorId next_tensor_ = 0;
  std::string out_;
};

}  // namespace

std::string print(const Program& program) {
  return ProgramPrinter(program).print();
}

std::string print(const Program& program, const Equation& equation, const Expr& e) {
  return ExpressionPrinter(program, variable_names(program, equation)).print(e, kGuarded, Context::known);
}

}  // namespace polyweft
