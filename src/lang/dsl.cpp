#include "polyweft/dsl.h"

#include <cmath>

#include "lang/parser.h"
#include "lang/rope.h"

namespace polyweft::dsl {

using namespace detail;

namespace {

Value infix(Level level, const char* symbol, const Value& a, const Value& b) {
  auto above = static_cast<Level>(level == kSum ? kReduction : level + 1);
  bool strict_left = level == kRelation || (level == kBits && a.rope()->bit_operator != symbol);
  auto rope = std::make_shared<Rope>();
  rope->level = level;
  if (level == kBits) rope->bit_operator = symbol;
  rope->pieces = {at_level(a.rope(), strict_left ? above : level), " " + std::string(symbol) + " ",
                  at_level(b.rope(), above)};
  return Value(std::move(rope));
}

Value prefix(const char* symbol, Level level, const Value& a) {
  return Value(make_rope(level, {std::string(symbol), at_level(a.rope(), level)}));
}

std::vector<RopePtr> ropes_of(const std::vector<Value>& values) {
  std::vector<RopePtr> ropes;
  for (const Value& each : values) ropes.push_back(each.rope());
  return ropes;
}

RopePtr enclosed(const std::string& open, const std::vector<Value>& values, const char* close) {
  std::vector<Rope::Piece> pieces{open};
  append_list(pieces, ropes_of(values));
  pieces.emplace_back(std::string(close));
  return make_rope(kPrimary, std::move(pieces));
}

}  // namespace

Value Value::from_integer(int64_t number) {
  return Value(rope_text(std::to_string(number), number < 0 ? kUnary : kPrimary));
}
Value::Value(double number)
    : rope_(rope_text(number_text(number), std::signbit(number) && !std::isnan(number) ? kUnary : kPrimary)) {}
Value::Value(const Index& index) : rope_(make_rope(kPrimary, {index.state_})) {}
Value::Value(const Element& element) : rope_(element.access_->read()) {}

Index::Index() : state_(std::make_shared<IndexState>()) {}
Index::Index(std::string name) : state_(std::make_shared<IndexState>()) {
  state_->name = std::move(name);
}
Index Index::in(const Value& extent) const {
  Index copy = *this;
  copy.lo_ = nullptr;
  copy.hi_ = extent.rope();
  return copy;
}
Index Index::in(const Value& lo, const Value& hi) const {
  Index copy = *this;
  copy.lo_ = lo.rope();
  copy.hi_ = hi.rope();
  return copy;
}

ReductionIndices ReductionIndices::where(const Value& guard) const {
  ReductionIndices copy = *this;
  copy.guards_.push_back(guard);
  return copy;
}

struct detail::ReductionWriter {
  static Value write(const std::string& reducer, const ReductionIndices& indices, const RopePtr& body) {
    auto rope = std::make_shared<Rope>();
    rope->level = kReduction;
    rope->pieces.emplace_back(reducer + "[");
    for (size_t i = 0; i < indices.indices_.size(); ++i) {
      const Index& index = indices.indices_[i];
      RopePtr range = index.hi_ ? range_text(index.lo_, index.hi_) : extent_of(index.state_.get(), body);
      if (!range) {
        rope->misuse = reducer + ": the index has no range and indexes no dimension alone; write k.in(N)";
        range = rope_text("1");
      }
      rope->pieces.insert(rope->pieces.end(),
                          {std::string(i == 0 ? "" : ", "), index.state_, std::string(": "), at_level(range, kSum)});
    }
    for (size_t i = 0; i < indices.guards_.size(); ++i)
      rope->pieces.insert(rope->pieces.end(),
                          {std::string(i == 0 ? " where " : " and "),
                           at_level(indices.guards_[i].rope(), i == 0 && indices.guards_.size() == 1 ? kOr : kNot)});
    rope->pieces.insert(rope->pieces.end(), {std::string("] "), at_level(body, kReduction)});
    return Value(std::move(rope));
  }
};

Value sum(const ReductionIndices& indices, const Value& body) {
  return ReductionWriter::write("sum", indices, body.rope());
}
Value prod(const ReductionIndices& indices, const Value& body) {
  return ReductionWriter::write("prod", indices, body.rope());
}
Value max(const ReductionIndices& indices, const Value& body) {
  return ReductionWriter::write("max", indices, body.rope());
}
Value min(const ReductionIndices& indices, const Value& body) {
  return ReductionWriter::write("min", indices, body.rope());
}
Value any(const ReductionIndices& indices, const Value& body) {
  return ReductionWriter::write("any", indices, body.rope());
}
Value all(const ReductionIndices& indices, const Value& body) {
  return ReductionWriter::write("all", indices, body.rope());
}
Value argmax(const ReductionIndices& indices, const Value& body) {
  return ReductionWriter::write("argmax", indices, body.rope());
}
Value argmin(const ReductionIndices& indices, const Value& body) {
  return ReductionWriter::write("argmin", indices, body.rope());
}
Value reduce(const CombinerHandle& combiner, const ReductionIndices& indices, const std::vector<Value>& body) {
  return ReductionWriter::write("reduce " + combiner.name(), indices, tuple(body).rope());
}

Value operator+(const Value& a, const Value& b) {
  return infix(kSum, "+", a, b);
}
Value operator-(const Value& a, const Value& b) {
  return infix(kSum, "-", a, b);
}
Value operator*(const Value& a, const Value& b) {
  return infix(kProduct, "*", a, b);
}
Value operator/(const Value& a, const Value& b) {
  return infix(kProduct, "/", a, b);
}
Value operator%(const Value& a, const Value& b) {
  return infix(kProduct, "%", a, b);
}
Value floor_div(const Value& a, const Value& b) {
  return infix(kProduct, "//", a, b);
}
Value operator&(const Value& a, const Value& b) {
  return infix(kBits, "&", a, b);
}
Value operator|(const Value& a, const Value& b) {
  return infix(kBits, "|", a, b);
}
Value operator^(const Value& a, const Value& b) {
  return infix(kBits, "^", a, b);
}
Value operator<<(const Value& a, const Value& b) {
  return infix(kShift, "<<", a, b);
}
Value operator>>(const Value& a, const Value& b) {
  return infix(kShift, ">>", a, b);
}
Value operator==(const Value& a, const Value& b) {
  return infix(kRelation, "==", a, b);
}
Value operator!=(const Value& a, const Value& b) {
  return infix(kRelation, "!=", a, b);
}
Value operator<(const Value& a, const Value& b) {
  return infix(kRelation, "<", a, b);
}
Value operator<=(const Value& a, const Value& b) {
  return infix(kRelation, "<=", a, b);
}
Value operator>(const Value& a, const Value& b) {
  return infix(kRelation, ">", a, b);
}
Value operator>=(const Value& a, const Value& b) {
  return infix(kRelation, ">=", a, b);
}
Value operator&&(const Value& a, const Value& b) {
  return infix(kAnd, "and", a, b);
}
Value operator||(const Value& a, const Value& b) {
  return infix(kOr, "or", a, b);
}
Value operator!(const Value& a) {
  return prefix("not ", kNot, a);
}
Value operator-(const Value& a) {
  return prefix("-", kUnary, a);
}
Value operator~(const Value& a) {
  return prefix("~", kUnary, a);
}

Value call(const std::string& function, const std::vector<Value>& arguments) {
  return Value(enclosed(function + "(", arguments, ")"));
}
Value convert(ElementType type, const Value& value) {
  return call(name_of(type), {value});
}
Value max(const Value& a, const Value& b) {
  return call("max", {a, b});
}
Value min(const Value& a, const Value& b) {
  return call("min", {a, b});
}
Value tuple(const std::vector<Value>& values) {
  return values.size() == 1 ? values[0] : Value(enclosed("(", values, ")"));
}

Value Guarded::otherwise(const Value& other) const {
  return Value(make_rope(kGuarded, {at_level(value_.rope(), kOr), std::string(" where "), at_level(guard_.rope(), kOr),
                                    std::string(" else "), other.rope()}));
}

}  // namespace polyweft::dsl
