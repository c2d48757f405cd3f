// What stands inside a subscript that depends on data: exact integers, whatever their types and sizes (LANGUAGE.md
// section 2, "Gather").
//
// + - * // % & | ^ << >> ~ abs min max clamp select and guarded values are over exact integers, and so are comparisons
// that a select decides on. A conversion T(..) is an ordinary value: its argument is computed in its own type. What may
// need more than 128 bits is refused here, by the ranges of types, promises (`values lo..hi`) and sizes.
#include <algorithm>

#include "ir/values/exact.h"
#include "lang/types.h"
#include "lang/value_reader.h"

namespace polyweft::lang {
namespace {

constexpr int64_t kLargestParameter = INT32_MAX;  ///< a size: LANGUAGE.md section 9

ir::ExactRange common(const ir::ExactRange& a, const ir::ExactRange& b) {
  return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
}

bool is_inside(const ir::ExactRange& inner, const ir::ExactRange& outer) {
  return outer.lo <= inner.lo && inner.hi <= outer.hi;
}

/// What a value of a type may be after an operator that wraps: all of the type where it may.
ir::ExactRange wrapped_to(ElementType type, const std::optional<ir::ExactRange>& exact) {
  const ir::ExactRange all = ir::range_of_type(type);
  return exact && is_inside(*exact, all) ? *exact : all;
}

/// Ranges of leaves, which are ordinary values of integer types: what wraps there may be any of its type. Affine forms
/// are computed in 64 bits wherever a kernel runs.
class LeafRanges {
 public:
  explicit LeafRanges(const Context& context) : context_(context) {}

  std::optional<ir::ExactRange> operator()(const ExprNode& e) const { return of_value(e); }

 private:
  ir::ExactRange of_value(const ExprNode& e) const {
    if (e.type == ElementType::boolean) return {0, 1};
    switch (e.op) {
      case Op::literal:
        return {e.literal.i, e.literal.i};
      case Op::variable:
        return of_variable(e.var);
      case Op::affine:
        return of_affine(e.affine);
      case Op::read:
        return of_element(e);
      case Op::convert:
        return of_conversion(*e.args[0], e.type);
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::neg:
      case Op::abs:
      case Op::min:
      case Op::max:
      case Op::clamp:
        return of_operator(e);
      default:
        return ir::range_of_type(e.type);
    }
  }

  ir::ExactRange of_conversion(const ExprNode& inner, ElementType type) const {
    const bool is_exact = is_integer(inner.type) || inner.type == ElementType::boolean;
    return is_exact ? wrapped_to(type, of_value(inner)) : ir::range_of_type(type);
  }

  ir::ExactRange of_operator(const ExprNode& e) const {
    ir::ExactRange args[3];
    for (size_t k = 0; k < e.args.size(); ++k) args[k] = of_value(*e.args[k]);
    return wrapped_to(e.type, ir::exact_range_of(e.op, std::span<const ir::ExactRange>(args, e.args.size())));
  }

  /// `values` of a promise may hold nothing: then the type counts.
  ir::ExactRange of_element(const ExprNode& e) const {
    const Tensor& tensor = context_.program.tensors[e.access.id];
    ir::ExactRange whole = ir::range_of_type(e.type);
    if (!tensor.values_lo || is_float(tensor.type)) return whole;
    ir::ExactRange promised = common(whole, {of_affine(*tensor.values_lo).lo, of_affine(*tensor.values_hi).hi - 1});
    return promised.lo <= promised.hi ? promised : whole;
  }

  ir::ExactRange of_variable(VarId var) const {
    if (var < context_.program.parameters.size())
      return {context_.parameter_least[var],
              std::max<int64_t>(kLargestParameter, context_.program.parameters[var].value)};
    const auto& ranges = context_.index_ranges;
    const size_t k = var - context_.program.parameters.size();
    if (k >= ranges.size()) return ir::range_of_type(ElementType::i64);
    ir::ExactRange range{of_affine(ranges[k].lo).lo, of_affine(ranges[k].hi).hi - 1};
    return range.lo <= range.hi ? range : ir::range_of_type(ElementType::i64);
  }

  ir::ExactRange of_affine(const Affine& e) const {
    const ir::ExactRange all = ir::range_of_type(ElementType::i64);
    std::optional<ir::ExactRange> sum = ir::ExactRange{e.constant, e.constant};
    for (const Term& term : e.terms) {
      const ir::ExactRange factors[2] = {term.quasi ? of_quasi(*term.quasi) : of_variable(term.var),
                                         {term.coeff, term.coeff}};
      auto product = ir::exact_range_of(Op::mul, factors);
      if (!product) return all;
      const ir::ExactRange both[2] = {*sum, *product};
      sum = ir::exact_range_of(Op::add, both);
      if (!sum) return all;
    }
    return common(*sum, all);
  }

  ir::ExactRange of_quasi(const Quasi& quasi) const {
    const bool divides = quasi.kind == Quasi::Kind::floor_div;
    const ir::ExactRange args[3] = {of_affine(quasi.e),
                                    divides ? ir::ExactRange{quasi.den, quasi.den} : of_affine(quasi.lo),
                                    divides ? ir::ExactRange{} : of_affine(quasi.hi)};
    return *ir::exact_range_of(divides ? Op::floor_div : Op::clamp,
                               std::span<const ir::ExactRange>(args, divides ? 2 : 3));
  }

  const Context& context_;
};

/// The first of the smallest parts that do not fit; null where all do.
class WidthCheck {
 public:
  explicit WidthCheck(const Context& context) : leaves_(context) {}

  const ExprNode* too_wide(const ExprNode& e) {
    range_of(e);
    return found_;
  }
  std::optional<ir::ExactRange> range_of(const ExprNode& e) {
    if (!ir::is_exact_operator(e)) return leaves_(e);
    ir::ExactRange args[3];
    const size_t first = e.op == Op::select ? 1 : 0;
    for (size_t k = first; k < e.args.size() && found_ == nullptr; ++k)
      args[k - first] = range_of(*e.args[k]).value_or(ir::ExactRange{});
    auto range = found_ == nullptr
                     ? ir::exact_range_of(e.op, std::span<const ir::ExactRange>(args, e.args.size() - first))
                     : std::nullopt;
    if (!range && found_ == nullptr) found_ = &e;
    return range;
  }

 private:
  LeafRanges leaves_;
  const ExprNode* found_ = nullptr;
};

}  // namespace

Expr as_index(Expr value) {
  if (!value || value->type == ElementType::i64) return value;
  Span where = value->where;
  return make_op(Op::convert, ElementType::i64, {std::move(value)}, where);
}

Expr ValueReader::index_chain(Node& node, size_t operands) {
  Expr result = index_value(*node.args[0]);
  for (size_t i = 1; i < operands; ++i) {
    Expr next = index_value(*node.args[i]);
    if (!result || !next) return nullptr;
    if (node.op_text[i - 1] == "/") {
      context_.report.error("PW0131", node.extent, "a subscript is an integer: use // (floor)");
      return nullptr;
    }
    Extent extent = join(node.args[0]->extent, node.args[i]->extent);
    result = make_op(operator_of(node.op_text[i - 1]), ElementType::i64, {result, next},
                     context_.report.source().span(extent));
  }
  return result;
}

Expr ValueReader::index_call(Node& node) {
  static constexpr const char* kNames[] = {"min", "max", "abs", "clamp"};
  static constexpr Op kOps[] = {Op::min, Op::max, Op::abs, Op::clamp};
  static constexpr size_t kArity[] = {2, 2, 1, 3};
  for (size_t k = 0; k < 4; ++k) {
    if (node.text != kNames[k] || node.args.size() != kArity[k]) continue;
    std::vector<Expr> args;
    for (Node* arg : node.args) args.push_back(index_value(*arg));
    if (std::any_of(args.begin(), args.end(), [](const Expr& each) { return !each; })) return nullptr;
    return make_op(kOps[k], ElementType::i64, std::move(args), context_.report.source().span(node.extent));
  }
  if (node.text == "select" && node.args.size() == 3) return index_select(node);
  return as_index(value(node, ElementType::i64));
}

Expr ValueReader::index_select(Node& node) {
  Expr condition = index_condition(*node.args[0]);
  Expr yes = index_value(*node.args[1]);
  Expr no = index_value(*node.args[2]);
  if (!condition || !yes || !no) return nullptr;
  return make_op(Op::select, ElementType::i64, {condition, yes, no}, context_.report.source().span(node.extent));
}

/// Comparisons of integers compare exact integers; every other condition is an ordinary bool.
Expr ValueReader::index_condition(Node& node) {
  if (node.kind == NodeKind::compare) return index_comparison(node);
  const bool joins = node.kind == NodeKind::conjunction || node.kind == NodeKind::disjunction;
  if (!joins && node.kind != NodeKind::logical_not) return boolean(node);
  Expr result = index_condition(*node.args[0]);
  Span where = context_.report.source().span(node.extent);
  if (!joins) return result ? make_op(Op::logical_not, ElementType::boolean, {result}, where) : nullptr;
  for (size_t i = 1; i < node.args.size(); ++i) {
    Expr next = index_condition(*node.args[i]);
    if (!result || !next) return nullptr;
    result = make_op(node.kind == NodeKind::conjunction ? Op::logical_and : Op::logical_or, ElementType::boolean,
                     {result, next}, where);
  }
  return result;
}

Expr ValueReader::index_comparison(Node& node) {
  bool any = false, all = true;
  for (Node* arg : node.args) {
    auto type = decide(context_, *arg);
    any |= type.has_value();
    all &= !type || is_integer(*type);
  }
  if (!any || !all) return boolean(node);
  std::vector<Expr> values;
  for (Node* arg : node.args) values.push_back(index_value(*arg));
  if (std::any_of(values.begin(), values.end(), [](const Expr& each) { return !each; })) return nullptr;
  Span where = context_.report.source().span(node.extent);
  Expr result;
  for (size_t i = 0; i < node.ops.size(); ++i) {
    Expr pair = make_op(comparison_of(node.op_text[i]), ElementType::boolean, {values[i], values[i + 1]}, where);
    result = result ? make_op(Op::logical_and, ElementType::boolean, {result, pair}, where) : pair;
  }
  return result;
}

Expr ValueReader::index_guarded(Node& node) {
  std::vector<Expr> values;
  for (Node* arg : node.args) values.push_back(index_value(*arg));
  if (std::any_of(values.begin(), values.end(), [](const Expr& each) { return !each; })) return nullptr;
  return guarded_of(node, std::move(values));
}

/// An integer expression inside a subscript: operands of any integer type, as exact integers. ~ of a u8 is that of
/// eight bits.
Expr ValueReader::index_value(Node& node) {
  Expr result;
  switch (node.kind) {
    case NodeKind::chain:
      return index_chain(node, node.args.size());
    case NodeKind::guarded:
      return index_guarded(node);
    case NodeKind::negate:
      if (node.args[0]->kind == NodeKind::integer) return value(node, ElementType::i64);
      result = index_value(*node.args[0]);
      return result ? make_op(Op::neg, ElementType::i64, {result}, context_.report.source().span(node.extent))
                    : nullptr;
    case NodeKind::complement:
      if (decide(context_, *node.args[0]) == ElementType::u8) return as_index(value(node, ElementType::i64));
      result = index_value(*node.args[0]);
      return result ? make_op(Op::bit_not, ElementType::i64, {result}, context_.report.source().span(node.extent))
                    : nullptr;
    case NodeKind::call:
      result = index_call(node);
      break;
    default:
      result = value(node, ElementType::i64);
      break;
  }
  if (!result || is_integer(result->type)) return as_index(result);
  context_.type_error("PW0119", node.extent,
                      "a subscript is an integer, but " + show(node) + " is " + name_of(result->type));
  return nullptr;
}

// Wider than that it is what any integer may be, and the answer is how to promise or to clamp it.
std::optional<ValueReader::Gather> ValueReader::bounded(Node& node) {
  constexpr ir::ExactRange kWidest{INT32_MIN / 2, INT32_MAX / 2};
  const auto type = decide(context_, node);
  if (!type || !is_integer(*type)) return std::nullopt;
  Expr data = index_value(node);
  if (!data) return std::nullopt;
  const auto range = WidthCheck(context_).range_of(*data);
  if (!range || !is_inside(*range, kWidest)) return std::nullopt;
  return Gather{data, Affine::of(static_cast<int64_t>(range->lo)), Affine::of(static_cast<int64_t>(range->hi))};
}

bool ValueReader::fits_128_bits(const Expr& data) {
  const ExprNode* part = WidthCheck(context_).too_wide(*data);
  if (part == nullptr) return true;
  const Source& source = context_.report.source();
  const Extent where = source.extent(part->where);
  context_.report.error(
      "PW0133", where,
      "subscripts are exact integers, and " + source.text().substr(where.begin, where.end - where.begin) +
          " may need more than 128 bits",
      {"promise smaller data, 'values lo..hi', take a factor modulo n first, or let a part wrap: i64(..)"});
  return false;
}

}  // namespace polyweft::lang
