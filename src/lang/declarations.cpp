// Parameters, inputs, constants and combiners: the part of Analyzer that fills the symbol table.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "ir/values/float_places.h"
#include "lang/analyzer.h"
#include "lang/grammar.h"
#include "lang/number.h"
#include "lang/wide.h"

namespace polyweft::lang {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 62;

}  // namespace

Analyzer::Analyzer(ProgramSyntax& syntax, Reporter& report)
    : syntax_(syntax), report_(report), context_(report), affine_(context_), values_(context_) {}

Program Analyzer::run() {
  size_t errors = report_.error_count();
  context_.program.name = syntax_.name.text;
  declare_parameters();
  read_assumptions();
  declare_items();
  read_combiner_bodies();
  find_types();
  for (size_t i = 0; i < pending_.size(); ++i) read_equation(i);
  report_open_types();
  if (report_.error_count() == errors) warn_unused();
  return std::move(context_.program);
}

bool Analyzer::declare(const NameSyntax& name, Symbol symbol) {
  symbol.where = name.extent;
  auto [place, inserted] = context_.symbols.emplace(name.text, symbol);
  if (inserted) return true;
  Span first = report_.source().span(place->second.where);
  report_.error("PW0110", name.extent,
                "'" + name.text.substr(0, 60) + "' is declared twice, here and at line " + std::to_string(first.line));
  return false;
}

void Analyzer::declare_parameters() {
  for (const ParameterSyntax& each : syntax_.parameters) {
    Symbol symbol;
    symbol.kind = each.is_const ? Symbol::Kind::const_parameter : Symbol::Kind::parameter;
    symbol.value = each.value;
    symbol.id = static_cast<uint32_t>(context_.program.parameters.size());
    if (!declare(each.name, symbol)) continue;
    auto& list = each.is_const ? context_.program.const_parameters : context_.program.parameters;
    list.push_back({each.name.text, each.value});
  }
}

void Analyzer::declare_items() {
  for (ItemSyntax& item : syntax_.items) {
    switch (item.kind) {
      case ItemSyntax::Kind::input:
        declare_input(item.input);
        break;
      case ItemSyntax::Kind::constant:
        declare_constant(item.constant);
        break;
      case ItemSyntax::Kind::combiner:
        declare_combiner(item.combiner);
        break;
      case ItemSyntax::Kind::equation:
        declare_targets(item.equation);
        break;
    }
  }
}

std::vector<Affine> Analyzer::shape(const std::vector<Node*>& extents) {
  context_.begin_equation();
  std::vector<Affine> result;
  if (extents.size() > kMaxRank)
    report_.error("PW0801", extents[kMaxRank]->extent, "rank " + std::to_string(extents.size()) + " is above 8");
  for (const Node* each : extents) {
    auto extent = affine_.affine(*each, "shape");
    if (extent && extent->is_constant() && extent->constant > kMaxSize) {
      report_.error("PW0809", each->extent, "the extent " + std::to_string(extent->constant) + " is above 2^31 - 1");
      extent = std::nullopt;  // said once
    }
    if (extent && extent->is_constant() && extent->constant < 0)
      report_.error("PW0129", each->extent, "the extent " + std::to_string(extent->constant) + " is negative");
    result.push_back(extent.value_or(Affine::of(1)));
  }
  return result;
}

void Analyzer::check_bytes(const Tensor& tensor, const std::vector<__int128>& extents, Extent where) {
  __int128 bytes = size_bytes(tensor.type);
  for (__int128 extent : extents)
    bytes = std::min(bytes * std::clamp<__int128>(extent, 0, kMaxBytes), __int128{kMaxBytes} * 2);
  if (bytes > kMaxBytes)
    report_.error("PW0810", where, tensor.name + " takes more than 2^62 bytes at the default sizes");
  if (tensor.kind == TensorKind::local) return;  // nobody calls with it
  const auto most = std::max_element(extents.begin(), extents.end());
  if (bytes <= kMaxBytes && most != extents.end() && *most > kMaxSize)
    report_.error("PW0809", where,
                  tensor.name + " has an extent above 2^31 - 1 at the default sizes: " +
                      std::to_string(static_cast<int64_t>(std::min<__int128>(*most, INT64_MAX))));
}

void Analyzer::declare_input(const InputSyntax& input) {
  Tensor tensor;
  tensor.name = input.name.text;
  tensor.kind = TensorKind::input;
  tensor.type = input.type;
  tensor.is_const_input = input.is_const;
  tensor.where = report_.source().span(input.name.extent);
  tensor.shape = shape(input.shape);
  tensor.rank = static_cast<uint32_t>(tensor.shape.size());
  if (input.values) promise_values(*input.values, tensor);
  std::vector<__int128> extents;
  std::vector<int64_t> defaults;
  for (const Parameter& parameter : context_.program.parameters) defaults.push_back(parameter.value);
  for (const Affine& each : tensor.shape) extents.push_back(wide_value(each, defaults));
  check_bytes(tensor, extents, input.name.extent);
  if (!declare(input.name, {Symbol::Kind::tensor, static_cast<uint32_t>(context_.program.tensors.size()), 0, {}}))
    return;
  context_.types.push_back(tensor.type);
  context_.program.tensors.push_back(std::move(tensor));
}

void Analyzer::promise_values(const RangeSyntax& values, Tensor& tensor) {
  if (is_float(tensor.type)) return promise_floats(values, tensor);
  if (!is_integer(tensor.type))
    report_.error("PW0130", values.extent,
                  "'values' needs a type of numbers, not " + std::string(name_of(tensor.type)));
  if (auto bounds = affine_.range(values)) {
    tensor.values_lo = bounds->lo;
    tensor.values_hi = bounds->hi;
  }
}

/// Both ends are numbers and belong to the range: what floats lie just below one is nothing that people count.
void Analyzer::promise_floats(const RangeSyntax& values, Tensor& tensor) {
  const auto lo = values.lo ? float_end(*values.lo, tensor.type) : Literal{tensor.type, 0, 0};
  const auto hi = float_end(*values.hi, tensor.type);
  if (!lo || !hi) return;
  if (lo->f > hi->f) {
    report_.error("PW0130", values.extent, "'values': no " + std::string(name_of(tensor.type)) + " lies in this range");
    return;
  }
  const ValueRange places = ir::places_between(tensor.type, lo->f, hi->f);
  tensor.values_lo = Affine::of(places.lo);
  tensor.values_hi = Affine::of(places.hi);
}

std::optional<Literal> Analyzer::float_end(const Node& node, ElementType type) {
  const bool is_negative = node.kind == NodeKind::negate;
  const Node& number = is_negative ? *node.args[0] : node;
  const bool is_number = number.kind == NodeKind::integer || number.kind == NodeKind::decimal;
  const auto value = is_number ? literal_of(type, number.text, is_negative) : std::nullopt;
  if (!value)
    report_.error("PW0130", node.extent,
                  "'values' of " + std::string(name_of(type)) + " needs two finite numbers, not " + show(node),
                  {"write e.g. 'values 0.5..2.0'; both ends belong to it"});
  return value;
}

std::optional<Literal> Analyzer::scalar(const LiteralSyntax& literal, ElementType type) {
  const Node* number = literal.number;
  std::string shown = (literal.negative ? "-" : "") + (number == nullptr ? std::string("a list") : show(*number));
  std::optional<Literal> value;
  if (number != nullptr && number->kind == NodeKind::truth) {
    if (type == ElementType::boolean && !literal.negative) {
      value = Literal{};
      value->type = type;
      value->i = number->text == "true" ? 1 : 0;
    }
  } else if (number != nullptr && (number->kind == NodeKind::infinity || number->kind == NodeKind::not_a_number)) {
    double special = number->kind == NodeKind::infinity ? std::numeric_limits<double>::infinity() : std::nan("");
    if (is_float(type)) value = special_literal(type, literal.negative ? -special : special);
  } else if (number != nullptr) {
    value = literal_of(type, number->text, literal.negative);
  }
  if (!value) report_.error("PW0121", literal.extent, shown + " does not fit " + name_of(type));
  return value;
}

bool Analyzer::flatten(const LiteralSyntax& literal, const std::vector<int64_t>& extents, size_t depth,
                       Tensor& tensor) {
  if (depth == extents.size()) {
    auto value = scalar(literal, tensor.type);
    if (value) tensor.data.push_back(*value);
    return value.has_value();
  }
  if (literal.number != nullptr || static_cast<int64_t>(literal.list.size()) != extents[depth]) {
    std::string found = literal.number != nullptr ? "a number" : "a list of " + std::to_string(literal.list.size());
    report_.error("PW0129", literal.extent,
                  tensor.name + " needs a list of " + std::to_string(extents[depth]) + " here, not " + found);
    return false;
  }
  return std::all_of(literal.list.begin(), literal.list.end(),
                     [&](const LiteralSyntax& each) { return flatten(each, extents, depth + 1, tensor); });
}

bool Analyzer::constant_shape(const ConstantSyntax& constant, const std::vector<Affine>& shape,
                              std::vector<int64_t>& extents) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!shape[d].is_constant()) {
      report_.error("PW0129", constant.shape[d]->extent,
                    "the shape of the constant " + constant.name.text +
                        " is not a number: " + show(*constant.shape[d]) + " is symbolic",
                    {"declare the parameter 'const'"});
      return false;
    }
    extents.push_back(shape[d].constant);
  }
  return true;
}

void Analyzer::declare_constant(const ConstantSyntax& constant) {
  Tensor tensor;
  tensor.name = constant.name.text;
  tensor.kind = TensorKind::constant;
  tensor.type = constant.type;
  tensor.where = report_.source().span(constant.name.extent);
  tensor.shape = shape(constant.shape);
  tensor.rank = static_cast<uint32_t>(tensor.shape.size());
  std::vector<int64_t> extents;
  if (constant_shape(constant, tensor.shape, extents)) flatten(constant.value, extents, 0, tensor);
  if (!declare(constant.name, {Symbol::Kind::tensor, static_cast<uint32_t>(context_.program.tensors.size()), 0, {}}))
    return;
  context_.types.push_back(tensor.type);
  context_.program.tensors.push_back(std::move(tensor));
}

void Analyzer::declare_combiner(CombinerSyntax& syntax) {
  Combiner combiner;
  combiner.name = syntax.name.text;
  combiner.types = syntax.types;
  combiner.associative = syntax.associative;
  combiner.commutative = syntax.commutative;
  combiner.where = report_.source().span(syntax.name.extent);
  size_t count = syntax.types.size();
  std::set<std::string> names;
  for (const auto* side : {&syntax.left, &syntax.right}) {
    for (const NameSyntax& name : *side) {
      if (!names.insert(name.text).second)
        report_.error("PW0127", name.extent,
                      "the combiner " + combiner.name + " has two parameters named " + name.text);
      (side == &syntax.left ? combiner.left : combiner.right).push_back(name.text);
    }
  }
  bool fits = syntax.left.size() == count && syntax.right.size() == count && syntax.identity.size() == count;
  if (!fits) {
    report_.error("PW0127", syntax.name.extent,
                  "the combiner " + combiner.name + " has " + std::to_string(syntax.left.size()) + " and " +
                      std::to_string(syntax.right.size()) + " parameters, " + std::to_string(count) + " types and " +
                      std::to_string(syntax.identity.size()) + " identities; the four numbers must be equal");
  }
  for (size_t i = 0; i < count; ++i) {
    auto value = fits ? scalar(syntax.identity[i], combiner.types[i]) : std::nullopt;
    combiner.identity.push_back(value.value_or(Literal{combiner.types[i], 0, 0}));
  }
  auto id = static_cast<uint32_t>(context_.program.combiners.size());
  if (!declare(syntax.name, {Symbol::Kind::combiner, id, 0, {}})) return;
  context_.program.combiners.push_back(std::move(combiner));
  if (fits) combiners_.emplace_back(&syntax, id);
}

}  // namespace polyweft::lang
