// Names, buffers, combiners, arguments and packs of a nest text.
#include "ir/text/loop_nest_parser.h"

namespace polyweft::ir {

void NestParser::header() {
  expect_name("nest");
  if (natural() != kNestTextVersion) refuse("expected version " + std::to_string(kNestTextVersion));
  nest_.name = name();
  expect_name("class");
  auto cls = numerics_class_named(name());
  if (!cls) refuse("expected strict, contract or reassoc");
  nest_.cls = *cls;
}

void NestParser::declare_variable(const std::string& text) {
  if (variables_.size() >= kMaxNestVariables) over_limit("too many variables");
  auto var = static_cast<uint32_t>(variables_.size());
  if (!variables_.emplace(text, var).second) refuse("variable '" + text + "' is declared twice");
}

void NestParser::online_maximum() {
  constexpr size_t kMostOnline = 64;
  if (nest_.online.size() >= kMostOnline) over_limit("more than 64 maxima");
  OnlineMaximum made;
  made.maximum = static_cast<uint32_t>(natural_up_to(UINT32_MAX - 1, "2^32 - 2"));
  expect_name("by");
  made.block = natural();
  nest_.online.push_back(made);
}

void NestParser::parameter() {
  std::string text = name();
  declare_variable(text);
  expect("=");
  nest_.params.push_back({plain(text), integer()});
}

void NestParser::loops() {
  do {
    std::string text = name();
    declare_variable(text);
    nest_.loop_names.push_back(plain(text));
  } while (accept(","));
}

ElementType NestParser::type() {
  auto t = element_type_named(name());
  if (!t) refuse("expected an element type");
  return *t;
}

void NestParser::combiner() {
  Combiner c;
  c.name = name();
  expect_name("types");
  expect("(");
  do c.types.push_back(type());
  while (accept(","));
  expect(")");
  expect_name("from");
  expect("(");
  do c.identity.push_back(literal());
  while (accept(","));
  expect(")");
  c.associative = accept_name("associative");
  c.commutative = accept_name("commutative");
  expect("=");
  expect("(");
  combiner_types_ = c.types;
  do c.result.push_back(expression(0));
  while (accept(","));
  combiner_types_.clear();
  expect(")");
  bool fits = c.identity.size() == c.types.size() && c.result.size() == c.types.size();
  if (!fits) refuse("combiner '" + c.name + "' has components missing");
  for (size_t k = 0; k < c.types.size(); ++k) {
    c.left.push_back("l" + std::to_string(k));
    c.right.push_back("r" + std::to_string(k));
  }
  nest_.combiners.push_back(std::move(c));
}

void NestParser::buffer() {
  if (nest_.buffers.size() >= kMaxNestBuffers) over_limit("too many buffers");
  Buffer b;
  std::string text = name();
  b.name = plain(text);
  if (!buffers_.emplace(text, static_cast<uint32_t>(nest_.buffers.size())).second)
    refuse("buffer '" + text + "' is declared twice");
  expect(":");
  b.type = type();
  b.extents = nest_.symbolic ? shape(b) : numbers();
  b.scope = scope();
  bool has_layout = accept_name("layout");
  if (has_layout) b.layout.pieces = pieces();
  if (accept_name("pad")) b.layout.pad = numbers();
  b.layout.by_xor = accept_name("xor");
  while (accept_name("fold")) b.folds.push_back(fold(b.extents.size()));
  if (!has_layout) b.layout.pieces = row_major(folded_extents(b)).pieces;
  expect_name("align");
  b.align_bytes = natural();
  b.is_output = accept_name("output");
  b.is_packed = accept_name("packed");
  if (accept_name("values")) b.values = value_range();
  if (nest_.symbolic && accept_name("promise")) {
    b.promise.push_back(affine(0));
    expect("..");
    b.promise.push_back(affine(0));
  }
  if (accept_name("within")) {
    hosts_.emplace_back(static_cast<BufferId>(nest_.buffers.size()), name());
    expect_name("at");
    b.within = Within{0, natural_up_to(INT64_MAX, "2^63 - 1")};
  }
  if (accept_name("tensor")) b.tensor = id();
  if (accept_name("element")) b.element = bracketed();
  if (accept_name("data")) b.data = literals();
  nest_.buffers.push_back(std::move(b));
}

std::vector<int64_t> NestParser::shape(Buffer& b) {
  b.shape = bracketed();
  if (b.shape.size() > kMaxNestRank) over_limit("rank is larger than " + std::to_string(kMaxNestRank));
  std::vector<int64_t> extents;
  for (const Affine& e : b.shape) extents.push_back(e.is_constant() ? e.constant : kSymbolicExtent);
  return extents;
}

void NestParser::resolve_host(BufferId id, const std::string& host) {
  const auto found = buffers_.find(host);
  if (found == buffers_.end())
    refuse("buffer '" + nest_.buffers[id].name + "' lies within '" + host + "', which is not declared");
  nest_.buffers[id].within->host = found->second;
}

ValueRange NestParser::value_range() {
  const auto any_integer = [this] {
    const bool negative = accept("-");
    const int64_t value = natural_up_to(INT64_MAX, "2^63 - 1");
    return negative ? -value : value;
  };
  ValueRange range;
  range.lo = any_integer();
  expect("..");
  range.hi = any_integer();
  return range;
}

std::vector<int64_t> NestParser::numbers() {
  std::vector<int64_t> values;
  expect("[");
  if (accept("]")) return values;
  do {
    if (values.size() >= kMaxNestRank) over_limit("rank is larger than " + std::to_string(kMaxNestRank));
    values.push_back(natural());
  } while (accept(","));
  expect("]");
  return values;
}

Scope NestParser::scope() {
  std::string text = name();
  for (int s = 0; s <= static_cast<int>(Scope::accumulator); ++s)
    if (text == name_of(static_cast<Scope>(s))) return static_cast<Scope>(s);
  refuse("expected a scope before this");
}

std::vector<Piece> NestParser::pieces() {
  std::vector<Piece> result;
  expect("[");
  if (accept("]")) return result;
  do {
    if (result.size() >= 4 * kMaxNestRank) over_limit("too many layout pieces");
    uint32_t dim = id();
    expect(":");
    result.push_back({dim, natural()});
  } while (accept(","));
  expect("]");
  return result;
}

Fold NestParser::fold(size_t rank) {
  Fold f;
  f.dim = id();
  expect_name("mod");
  f.window = natural();
  if (f.dim >= rank || f.window < 1) refuse("a fold needs a dimension of the buffer and a window >= 1");
  return f;
}

std::vector<Affine> NestParser::bracketed() {
  expect("[");
  std::vector<Affine> values;
  if (accept("]")) return values;
  values = affines();
  expect("]");
  return values;
}

std::vector<Affine> NestParser::affines() {
  std::vector<Affine> values;
  do values.push_back(affine(0));
  while (accept(","));
  return values;
}

std::vector<Literal> NestParser::literals() {
  expect("[");
  std::vector<Literal> values;
  if (accept("]")) return values;
  do values.push_back(literal());
  while (accept(","));
  expect("]");
  return values;
}

void NestParser::arguments() {
  do nest_.arguments.push_back(buffer_id());
  while (accept(","));
}

void NestParser::pack() {
  Pack p;
  p.source = buffer_id();
  expect_name("to");
  p.packed = buffer_id();
  p.root = block(0);
  nest_.packs.push_back(p);
}

BufferId NestParser::buffer_id() {
  auto found = buffers_.find(now().text);
  if (now().kind != TokenKind::name || found == buffers_.end()) refuse("expected a declared buffer");
  advance();
  return found->second;
}

}  // namespace polyweft::ir
