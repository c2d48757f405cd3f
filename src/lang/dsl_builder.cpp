// ProgramBuilder: declarations and equations as lines of source text.
#include <cmath>

#include "lang/parser.h"
#include "lang/rope.h"

namespace polyweft::dsl {

using namespace detail;

namespace {

std::string joined_words(const std::vector<std::string>& items, const char* separator) {
  std::string text;
  for (const std::string& each : items) text += (text.empty() ? "" : separator) + each;
  return text;
}

std::string group(const std::vector<std::string>& items) {
  return items.size() == 1 ? items[0] : "(" + joined_words(items, ", ") + ")";
}

RopePtr shape_text(const std::vector<Value>& shape) {
  std::vector<Rope::Piece> pieces;
  std::vector<RopePtr> extents;
  for (const Value& each : shape) extents.push_back(at_level(each.rope(), kSum));
  if (!extents.empty()) pieces.emplace_back(std::string("["));
  append_list(pieces, extents);
  if (!extents.empty()) pieces.emplace_back(std::string("]"));
  return make_rope(kPrimary, std::move(pieces));
}

std::string scalar_text(ElementType type, double value) {
  if (type == ElementType::boolean) return value != 0 ? "true" : "false";
  bool whole = is_integer(type) && std::trunc(value) == value && std::abs(value) <= 9007199254740992.0;
  return whole ? std::to_string(static_cast<int64_t>(value)) : number_text(value);
}

std::string nested_text(ElementType type, const std::vector<int64_t>& shape, size_t dimension,
                        const std::vector<double>& values, size_t& next) {
  if (dimension == shape.size()) return next < values.size() ? scalar_text(type, values[next++]) : "0";
  std::vector<std::string> items;
  for (int64_t i = 0; i < shape[dimension] && next < values.size(); ++i)
    items.push_back(nested_text(type, shape, dimension + 1, values, next));
  return "[" + joined_words(items, ", ") + "]";
}

}  // namespace

Element TensorRef::at(const std::vector<SubscriptArg>& subscripts) const {
  auto access = std::make_shared<Access>();
  access->builder = builder_;
  access->tensor = number_;
  access->subscripts = subscripts;
  return Element(std::move(access));
}

const std::string& TensorRef::name() const {
  return builder_->tensors[number_].name;
}

Element Element::where(const Value& guard) const {
  auto copy = std::make_shared<Access>(*access_);
  copy->guards.push_back(guard.rope());
  return Element(std::move(copy));
}

namespace {

void add_equation(const std::vector<std::shared_ptr<Access>>& targets, const RopePtr& value) {
  BuilderState& builder = *targets[0]->builder;
  std::vector<std::string> names;
  std::vector<std::string> types;
  for (const auto& each : targets) {
    const TensorState& tensor = builder.tensors[each->tensor];
    names.push_back(tensor.name);
    if (tensor.type) types.emplace_back(name_of(*tensor.type));
  }
  const TensorState& first = builder.tensors[targets[0]->tensor];
  std::string misuse;
  if (first.keyword[0] == '\0') misuse = first.name + " is an input or a constant; it cannot be defined";
  RopePtr slots = targets[0]->slots(misuse);
  auto line = std::make_shared<Rope>();
  line->misuse = misuse;
  line->pieces = {std::string(first.keyword) + " " + group(names), slots};
  if (types.size() == names.size()) line->pieces.emplace_back(": " + group(types));
  const char* word = " where ";
  for (const RopePtr& guard : targets[0]->guards) {
    line->pieces.insert(line->pieces.end(),
                        {std::string(word), at_level(guard, targets[0]->guards.size() == 1 ? kOr : kNot)});
    word = " and ";
  }
  line->pieces.insert(line->pieces.end(), {std::string(" = "), value});
  builder.items.push_back(std::move(line));
}

}  // namespace

Element& Element::operator=(const Value& value) {
  add_equation({access_}, value.rope());
  return *this;
}

Element& Element::operator=(const Element& value) {
  add_equation({access_}, value.access_->read());
  return *this;
}

ProgramBuilder::ProgramBuilder(std::string name) : state_(std::make_shared<BuilderState>()) {
  if (!is_name(name))
    state_->note("'" + name.substr(0, 60) + "' is not the name of a program: a letter, then letters, digits and '_'");
  state_->name = std::move(name);
}

Param ProgramBuilder::param(const std::string& name, int64_t value) {
  state_->declare(name);
  state_->parameters.push_back(name + " = " + std::to_string(value));
  return Value(rope_text(name));
}

Param ProgramBuilder::const_param(const std::string& name, int64_t value) {
  state_->declare(name);
  state_->parameters.push_back("const " + name + " = " + std::to_string(value));
  return Value(rope_text(name));
}

void ProgramBuilder::assume(const Value& condition) {
  state_->assumptions.push_back(at_level(condition.rope(), kOr));
}

TensorRef ProgramBuilder::declare(const std::string& name, const char* keyword, const std::vector<Value>& shape,
                                  std::optional<ElementType> type) {
  state_->declare(name);
  TensorState tensor;
  tensor.name = name;
  tensor.keyword = keyword;
  tensor.type = type;
  for (const Value& each : shape) tensor.shape.push_back(each.rope());
  state_->tensors.push_back(std::move(tensor));
  TensorRef handle;
  handle.builder_ = state_;
  handle.number_ = state_->tensors.size() - 1;
  return handle;
}

TensorRef ProgramBuilder::input(const std::string& name, ElementType type, const std::vector<Value>& shape,
                                const InputOptions& options) {
  std::string head = (options.is_const ? "const in " : "in ") + name + ": " + name_of(type);
  std::vector<Rope::Piece> pieces{head, shape_text(shape)};
  if (options.values.size() > 2) state_->note(name + ": 'values' takes {hi} or {lo, hi}");
  if (!options.values.empty()) {
    RopePtr lo = options.values.size() > 1 ? options.values[0].rope() : nullptr;
    pieces.insert(pieces.end(), {std::string(" values "), range_text(lo, options.values.back().rope())});
  }
  state_->items.push_back(make_rope(kPrimary, std::move(pieces)));
  return declare(name, "", shape, type);
}

TensorRef ProgramBuilder::constant(const std::string& name, ElementType type, const std::vector<int64_t>& shape,
                                   const std::vector<double>& values) {
  std::vector<Value> extents;
  int64_t count = 1;
  for (int64_t each : shape) {
    extents.emplace_back(each);
    count *= std::max<int64_t>(each, 0);
  }
  if (count != static_cast<int64_t>(values.size()))
    state_->note(name + ": " + std::to_string(values.size()) + " values for " + std::to_string(count) + " elements");
  size_t next = 0;
  std::string data = nested_text(type, shape, 0, values, next);
  state_->items.push_back(
      make_rope(kPrimary, {"const " + name + ": " + name_of(type), shape_text(extents), " = " + data}));
  return declare(name, "", extents, type);
}

TensorRef ProgramBuilder::let(const std::string& name, const std::vector<Value>& shape,
                              std::optional<ElementType> type) {
  return declare(name, "let", shape, type);
}
TensorRef ProgramBuilder::output(const std::string& name, const std::vector<Value>& shape,
                                 std::optional<ElementType> type) {
  return declare(name, "out", shape, type);
}
TensorRef ProgramBuilder::partial_output(const std::string& name, const std::vector<Value>& shape,
                                         std::optional<ElementType> type) {
  return declare(name, "out partial", shape, type);
}

std::vector<Value> ProgramBuilder::components(const std::string&, const char* prefix, size_t count) const {
  std::vector<Value> values;
  for (size_t i = 0; i < count; ++i) values.emplace_back(rope_text(prefix + std::to_string(i)));
  return values;
}

CombinerHandle ProgramBuilder::add_combiner(const std::string& name, const CombinerOptions& options,
                                            const std::vector<Value>& result) {
  state_->declare(name);
  std::vector<std::string> left;
  std::vector<std::string> right;
  std::vector<std::string> types;
  for (size_t i = 0; i < options.types.size(); ++i) {
    left.push_back("l" + std::to_string(i));
    right.push_back("r" + std::to_string(i));
    types.emplace_back(name_of(options.types[i]));
  }
  if (types.empty() || options.identity.empty() || result.empty())
    state_->note(name + ": a combiner needs types, identities and a result");
  if (types.empty() || options.identity.empty() || result.empty()) return CombinerHandle(name);
  std::string promises =
      std::string(options.associative ? " associative" : "") + (options.commutative ? " commutative" : "");
  state_->items.push_back(make_rope(
      kPrimary, {"combine " + name + "(" + group(left) + ", " + group(right) + "): " + group(types) + " from ",
                 tuple(options.identity).rope(), promises + " = ", tuple(result).rope()}));
  return CombinerHandle(name);
}

void ProgramBuilder::define(const std::vector<Element>& targets, const Value& value) {
  if (targets.empty()) return state_->note("define: no targets");
  std::vector<std::shared_ptr<Access>> accesses;
  for (const Element& each : targets) accesses.push_back(each.access_);
  add_equation(accesses, value.rope());
}

namespace {

std::string write_program(const BuilderState& state, std::string& misuse) {
  misuse = state.misuse;
  std::string text = "program " + state.name + "(" + joined_words(state.parameters, ", ") + ")";
  for (size_t i = 0; i < state.assumptions.size(); ++i)
    text += (i == 0 ? " assume " : ", ") + state.write(state.assumptions[i], misuse);
  text += "\n";
  for (const RopePtr& item : state.items) text += state.write(item, misuse) + "\n";
  return text;
}

}  // namespace

std::string ProgramBuilder::text() const {
  std::string misuse;
  return write_program(*state_, misuse);
}

Result<Program> ProgramBuilder::build() const {
  std::string misuse;
  std::string source = write_program(*state_, misuse);
  if (!misuse.empty()) return fail("PW0150", state_->name + ": " + misuse);
  auto parsed = lang::parse(source, state_->name);
  if (!parsed.ok()) return parsed.error();
  return std::move(parsed->programs[0]);
}

}  // namespace polyweft::dsl
