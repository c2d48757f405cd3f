#include "lang/expression_parser.h"

#include <algorithm>

#include "lang/familiar_names.h"

namespace polyweft::lang {

class ExpressionParser::Nest {
 public:
  explicit Nest(ExpressionParser& parser) : parser_(parser) {
    if (++parser_.nesting_ > kMaxNesting)
      parser_.tokens_.error("PW0804", parser_.tokens_.extent(), "nested more than 200 deep",
                            {"name a part of the expression with 'let'"});
  }
  ~Nest() { --parser_.nesting_; }
  Nest(const Nest&) = delete;
  Nest& operator=(const Nest&) = delete;

 private:
  ExpressionParser& parser_;
};

namespace {

uint32_t height(const std::vector<Node*>& args) {
  uint32_t height = 1;
  for (size_t i = 0; i < args.size(); ++i)
    height = std::max(height, args[i]->depth + static_cast<uint32_t>(args.size() - std::max<size_t>(i, 1)) + 1);
  return height;
}

}  // namespace

Node* ExpressionParser::make(NodeKind kind, uint32_t begin, std::vector<Node*> args) {
  Node& node = tree_.nodes.emplace_back();
  node.kind = kind;
  node.extent = tokens_.since(begin);
  node.depth = height(args);
  node.args = std::move(args);
  if (node.depth > kMaxHeight)
    tokens_.error("PW0805", {begin, begin + 1}, "the expression has more than 2000 operators in a row",
                  {"name a part of the expression with 'let'"});
  return &node;
}

void ExpressionParser::take_operator(Node& node) {
  node.ops.push_back(tokens_.extent());
  node.op_text.emplace_back(tokens_.text());
  tokens_.advance();
}

bool ExpressionParser::at_comparison() const {
  return tokens_.at("==") || tokens_.at("!=") || tokens_.at("<") || tokens_.at("<=") || tokens_.at(">") ||
         tokens_.at(">=");
}
bool ExpressionParser::at_bit_operator() const {
  return tokens_.at("&") || tokens_.at("^") || tokens_.at("|");
}
bool ExpressionParser::at_operand() const {
  const TokenKind kind = tokens_.kind();
  return kind == TokenKind::name || kind == TokenKind::integer || kind == TokenKind::decimal || at_type() ||
         tokens_.at("not") || is_function(tokens_.text());
}
bool ExpressionParser::at_shift() const {
  return tokens_.at("<<") || tokens_.at(">>");
}
bool ExpressionParser::at_additive() const {
  return tokens_.at("+") || tokens_.at("-");
}
bool ExpressionParser::at_multiplicative() const {
  return tokens_.at("*") || tokens_.at("/") || tokens_.at("//") || tokens_.at("%");
}

bool ExpressionParser::at_reduction() const {
  size_t ahead = 0;
  while (tokens_.text_ahead(ahead) == "-") ++ahead;
  if (tokens_.kind_ahead(ahead) != TokenKind::keyword) return false;
  std::string_view word = tokens_.text_ahead(ahead);
  if (word == "max" || word == "min") return tokens_.text_ahead(ahead + 1) == "[";
  return is_reducer(word);
}

Node* ExpressionParser::chain_of(Node* (ExpressionParser::*next)(), bool (ExpressionParser::*is_operator)() const,
                                 NodeKind kind) {
  uint32_t begin = tokens_.position();
  Node* first = (this->*next)();
  if (!(this->*is_operator)()) return first;
  Node operators;
  std::vector<Node*> args{first};
  while ((this->*is_operator)()) {
    take_operator(operators);
    args.push_back((this->*next)());
  }
  Node* node = make(kind, begin, std::move(args));
  node->ops = std::move(operators.ops);
  node->op_text = std::move(operators.op_text);
  return node;
}

Node* ExpressionParser::expression() {
  uint32_t begin = tokens_.position();
  std::vector<Node*> args{condition()};
  std::vector<Node*> conditions;
  while (tokens_.take("where")) {
    conditions.push_back(condition());
    tokens_.expect("else");
    args.push_back(condition());
  }
  if (conditions.empty()) return args[0];
  Node* node = make(NodeKind::guarded, begin, std::move(args));
  node->conditions = std::move(conditions);
  for (const Node* each : node->conditions) node->depth = std::max(node->depth, each->depth + 1);
  return node;
}

Node* ExpressionParser::condition() {
  uint32_t begin = tokens_.position();
  std::vector<Node*> args{conjunction()};
  while (tokens_.take("or")) args.push_back(conjunction());
  return args.size() == 1 ? args[0] : make(NodeKind::disjunction, begin, std::move(args));
}

Node* ExpressionParser::conjunction() {
  uint32_t begin = tokens_.position();
  std::vector<Node*> args{negation()};
  while (tokens_.take("and")) args.push_back(negation());
  return args.size() == 1 ? args[0] : make(NodeKind::conjunction, begin, std::move(args));
}

Node* ExpressionParser::negation() {
  if (!tokens_.at("not")) return comparison();
  Nest nest(*this);
  uint32_t begin = tokens_.position();
  tokens_.take("not");
  return make(NodeKind::logical_not, begin, {negation()});
}

Node* ExpressionParser::comparison() {
  return chain_of(&ExpressionParser::bits, &ExpressionParser::at_comparison, NodeKind::compare);
}

Node* ExpressionParser::bits() {
  Node* node = chain_of(&ExpressionParser::shift, &ExpressionParser::at_bit_operator, NodeKind::chain);
  for (size_t i = 1; i < node->op_text.size(); ++i) {
    const std::string& first = node->op_text[0];
    if (node->op_text[i] == first || (first != "&" && first != "|" && first != "^")) continue;
    tokens_.error("PW0104", node->ops[i],
                  "'" + first + "' and '" + node->op_text[i] + "' side by side: write parentheses");
    break;
  }
  return node;
}

Node* ExpressionParser::shift() {
  return chain_of(&ExpressionParser::sum, &ExpressionParser::at_shift, NodeKind::chain);
}

Node* ExpressionParser::sum() {
  return chain_of(&ExpressionParser::term, &ExpressionParser::at_additive, NodeKind::chain);
}

Node* ExpressionParser::term() {
  if (at_reduction()) return reduction();
  uint32_t begin = tokens_.position();
  Node* first = unary();
  if (!at_multiplicative()) return first;
  Node operators;
  std::vector<Node*> args{first};
  bool closed = false;
  while (!closed && at_multiplicative()) {
    take_operator(operators);
    refuse_power(operators.ops.back());
    closed = at_reduction();
    args.push_back(closed ? reduction() : unary());
  }
  Node* node = make(NodeKind::chain, begin, std::move(args));
  node->ops = std::move(operators.ops);
  node->op_text = std::move(operators.op_text);
  return node;
}

/// Two stars beside each other, as other languages write powers.
void ExpressionParser::refuse_power(Extent star) {
  if (!tokens_.at("*") || tokens_.position() != star.end) return;
  tokens_.error("PW0134", {star.begin, tokens_.extent().end}, "'**' is no operator",
                {"write a product, x * x, or pow(x, y) for floats"});
}

Node* ExpressionParser::unary() {
  if (!tokens_.at("-") && !tokens_.at("~")) return primary();
  Nest nest(*this);
  uint32_t begin = tokens_.position();
  NodeKind kind = tokens_.at("-") ? NodeKind::negate : NodeKind::complement;
  tokens_.advance();
  return make(kind, begin, {unary()});
}

Node* ExpressionParser::reduction() {
  Nest nest(*this);
  uint32_t begin = tokens_.position();
  if (tokens_.take("-")) return make(NodeKind::negate, begin, {reduction()});
  ReductionSyntax header = reduction_header();
  Node* node = make(NodeKind::reduction, begin, {term()});
  if (header.where != nullptr) node->depth = std::max(node->depth, header.where->depth + 1);
  node->reduction = std::move(header);
  return node;
}

ReductionSyntax ExpressionParser::reduction_header() {
  uint32_t begin = tokens_.position();
  ReductionSyntax header;
  static constexpr const char* kNames[] = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "reduce"};
  for (uint8_t i = 0; i < 9; ++i)
    if (tokens_.text() == kNames[i]) header.reducer = static_cast<Reducer>(i);
  tokens_.advance();
  if (header.reducer == Reducer::combiner) {
    header.combiner_extent = tokens_.extent();
    header.combiner = name("the name of a combiner").text;
  }
  tokens_.expect("[");
  do header.indices.push_back(index());
  while (tokens_.take(","));
  if (tokens_.take("where")) header.where = condition();
  tokens_.expect("]");
  header.header = tokens_.since(begin);
  return header;
}

IndexSyntax ExpressionParser::index() {
  IndexSyntax index;
  NameSyntax word = name("an index");
  index.name = word.text;
  index.extent = word.extent;
  tokens_.expect(":");
  index.range = range();
  return index;
}

RangeSyntax ExpressionParser::range() {
  uint32_t begin = tokens_.position();
  RangeSyntax range;
  range.hi = sum();
  if (tokens_.take("..")) {
    range.lo = range.hi;
    range.hi = sum();
  }
  range.extent = tokens_.since(begin);
  return range;
}

NameSyntax ExpressionParser::name(const char* what) {
  NameSyntax result{std::string(tokens_.text()), tokens_.extent()};
  if (tokens_.kind() == TokenKind::keyword) {
    tokens_.error("PW0105", tokens_.extent(), "'" + result.text + "' is a reserved word; expected " + what);
  } else if (tokens_.kind() != TokenKind::name) {
    tokens_.error_expected(what);
  }
  tokens_.advance();
  return result;
}

bool ExpressionParser::at_type() const {
  return tokens_.kind() == TokenKind::keyword && element_type_named(std::string(tokens_.text())).has_value();
}

ElementType ExpressionParser::type() {
  if (!at_type()) {
    const std::string meant(type_meant_by(tokens_.text()));
    tokens_.error_expected("a type (f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool)", meant.empty() ? "" : "write " + meant);
    return ElementType::f32;
  }
  ElementType type = *element_type_named(std::string(tokens_.text()));
  tokens_.advance();
  return type;
}

LiteralSyntax ExpressionParser::literal() {
  Nest nest(*this);
  LiteralSyntax result;
  uint32_t begin = tokens_.position();
  if (tokens_.take("[")) {
    do result.list.push_back(literal());
    while (tokens_.take(","));
    tokens_.expect("]");
  } else {
    result.negative = tokens_.take("-");
    bool word = tokens_.at("inf") || tokens_.at("nan") || tokens_.at("true") || tokens_.at("false");
    if (word || tokens_.kind() == TokenKind::integer || tokens_.kind() == TokenKind::decimal)
      result.number = primary();
    else
      tokens_.error_expected("a number");
  }
  result.extent = tokens_.since(begin);
  return result;
}

std::vector<Node*> ExpressionParser::list(const char* close) {
  std::vector<Node*> args;
  do args.push_back(expression());
  while (tokens_.take(","));
  tokens_.expect(close);
  return args;
}

Node* ExpressionParser::primary() {
  TokenKind kind = tokens_.kind();
  Node* node = nullptr;
  if (kind == TokenKind::integer || kind == TokenKind::decimal)
    node = number();
  else if (kind == TokenKind::name)
    node = named();
  else if (tokens_.at("inf") || tokens_.at("nan") || tokens_.at("true") || tokens_.at("false"))
    node = number();
  else if (at_type())
    node = call(NodeKind::convert);
  else if (tokens_.at("max") || tokens_.at("min") || is_function(tokens_.text()))
    node = call(NodeKind::call);
  else if (tokens_.at("("))
    node = parenthesized();
  if (node != nullptr) return node;
  if (kind == TokenKind::keyword && is_reducer(tokens_.text()))
    tokens_.error("PW0106", tokens_.extent(), "a reduction after '~' needs parentheses");
  else
    tokens_.error_expected("an expression");
  return make(NodeKind::integer, tokens_.position(), {});
}

Node* ExpressionParser::number() {
  uint32_t begin = tokens_.position();
  std::string text(tokens_.text());
  NodeKind kind = NodeKind::truth;
  if (tokens_.kind() == TokenKind::integer)
    kind = NodeKind::integer;
  else if (tokens_.kind() == TokenKind::decimal)
    kind = NodeKind::decimal;
  else if (text == "inf")
    kind = NodeKind::infinity;
  else if (text == "nan")
    kind = NodeKind::not_a_number;
  text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
  tokens_.advance();
  Node* node = make(kind, begin, {});
  node->text = std::move(text);
  return node;
}

Node* ExpressionParser::named() {
  uint32_t begin = tokens_.position();
  std::string text(tokens_.text());
  Extent word = tokens_.extent();
  tokens_.advance();
  NodeKind kind = NodeKind::name;
  std::vector<Node*> args;
  if (tokens_.at("[")) {
    Nest nest(*this);
    tokens_.take("[");
    kind = NodeKind::element;
    args = list("]");
  } else if (tokens_.at("(")) {
    report_no_function(text, word);
  } else if (text == "if" && at_operand()) {
    tokens_.error("PW0102", word, "'if' begins nothing in the language", {std::string(remedy_for(text))});
  }
  Node* node = make(kind, begin, std::move(args));
  node->text = std::move(text);
  return node;
}

void ExpressionParser::report_no_function(const std::string& name, Extent where) {
  const std::string shown = name.substr(0, 40), spelling = spelling_of(name);
  std::vector<std::string> notes = {spelling.empty() ? "'" + shown + "[..]' reads an element" : "write " + spelling};
  notes.push_back("the functions are " + function_list() + ", and conversions like f32(x)");
  tokens_.error("PW0107", where, "there is no function '" + shown + "'", std::move(notes));
}

Node* ExpressionParser::call(NodeKind kind) {
  Nest nest(*this);
  uint32_t begin = tokens_.position();
  std::string text(tokens_.text());
  ElementType type = element_type_named(text).value_or(ElementType::f32);
  tokens_.advance();
  tokens_.expect("(");
  Node* node = make(kind, begin, list(")"));
  node->extent = tokens_.since(begin);
  node->text = std::move(text);
  node->type = type;
  return node;
}

Node* ExpressionParser::parenthesized() {
  Nest nest(*this);
  uint32_t begin = tokens_.position();
  tokens_.take("(");
  std::vector<Node*> args = list(")");
  return args.size() == 1 ? args[0] : make(NodeKind::tuple, begin, std::move(args));
}

}  // namespace polyweft::lang
