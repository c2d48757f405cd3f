// Expressions, elements and literals of a nest as C. Integers whose ranges are known not to leave their type are
// computed by plain operators, all others wrap by way of unsigned ones.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "targets/c/index_text.h"

namespace polyweft::targets::c {

struct Value {
  Text text;
  ElementType type = ElementType::i64;
  int64_t lo = INT64_MIN, hi = INT64_MAX;  ///< of an integer
  bool is_literal = false;
};

/// "[i;j;]": equal for accesses of one element of a buffer; empty where a subscript is data.
std::string key_of(const Access& access);

class ValueText {
 public:
  /// All outlive it.
  ValueText(const LoopNest& nest, Facts& facts, const IndexText& indices, Helpers& helpers)
      : nest_(nest), facts_(facts), indices_(indices), helpers_(helpers) {}

  /// Names of the buffers, by number.
  std::vector<std::string>& buffer_names() { return buffer_names_; }
  /// Elements that live in a variable: of these buffers all accesses, or those of the key.
  void open_local(BufferId buffer, const std::string& key, const std::string& name) { locals_[{buffer, key}] = name; }
  void close_local(BufferId buffer, const std::string& key) { locals_.erase({buffer, key}); }
  bool is_local(BufferId buffer, const std::string& key) const {
    return locals_.contains({buffer, key}) || locals_.contains({buffer, ""});
  }

  /// "A[i*64 + k]", or the variable that the element lives in.
  std::string element(const Access& access);
  /// The element as a value.
  Value element_value(const Access& access);
  Value value(const ExprNode& e);
  /// As it lies in memory: what is assigned to an element of this type.
  std::string stored(ElementType type, const Value& value);
  /// An element's own bits where the expression only reads one.
  std::string stored(ElementType type, const ExprNode& e);
  Value literal(const Literal& literal);
  /// In the initializer of an array.
  std::string stored_constant(const Literal& literal);
  /// As a text whose C type is the value's.
  std::string whole(const Value& value) const;
  Value binary(Op op, ElementType type, const Value& a, const Value& b);
  /// Variables of a combiner's expressions: components of the left, then the right state. Empty: none.
  void set_state(std::vector<Value> state) { state_ = std::move(state); }
  /// Buffers whose elements stand in a text.
  bool is_printed(BufferId buffer) const { return printed_.contains(buffer); }
  bool uses_math() const { return uses_math_; }

 private:
  Value named(std::string text, ElementType type) const;
  Value ranged(Text text, ElementType type, __int128 lo, __int128 hi) const;
  Value rounded(Value value) const;
  Value call(const std::string& helper, ElementType type, const std::vector<const Value*>& args);
  Value library(const std::string& function, ElementType type, const std::vector<const Value*>& args);
  Value unary(Op op, ElementType type, const Value& a);
  Value float_unary(Op op, ElementType type, const Value& a);
  Value convert(ElementType type, const Value& a);
  Value integer_convert(ElementType type, const Value& a);
  Value narrow_of_integer(ElementType type, const Value& a);
  Value saturate(ElementType type, const Value& a);
  Value integer_binary(Op op, ElementType type, const Value& a, const Value& b);
  Value wrapped(Op op, ElementType type, const Value& a, const Value& b);
  Value division(Op op, ElementType type, const Value& a, const Value& b);
  Value shift(Op op, ElementType type, const Value& a, const Value& b);
  Value extreme(Op op, ElementType type, const Value& a, const Value& b);
  Value compared(Op op, const Value& a, const Value& b);
  Value logical(Op op, const Value& a, const Value& b);
  Value infix(const char* op, Level level, ElementType type, const Value& a, const Value& b);
  Value select(const ExprNode& e);
  Value guarded(const ExprNode& e);
  Value operation(const ExprNode& e);
  Text subscript(const Subscript& s);
  Value exact_index(const ExprNode& data);
  std::string exact(const ExprNode& e);
  std::string exact_condition(const ExprNode& e);
  Text row_major_index(const Buffer& buffer, const Access& access);
  Text laid_out_index(const Buffer& buffer, const Access& access);
  std::string stride_after(const Buffer& buffer, size_t dim) const;
  static bool is_row_major(const Buffer& buffer);

  const LoopNest& nest_;
  Facts& facts_;
  const IndexText& indices_;
  Helpers& helpers_;
  std::vector<std::string> buffer_names_;
  std::map<std::pair<BufferId, std::string>, std::string> locals_;
  std::vector<Value> state_;
  std::set<BufferId> printed_;
  bool uses_math_ = false;
};

}  // namespace polyweft::targets::c
