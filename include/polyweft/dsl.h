// Programs from C++: the same language, the same checks, the same text and the same key.
//
//   using namespace polyweft::dsl;
//   ProgramBuilder p("gemm");
//   Param M = p.param("M", 1024), N = p.param("N", 1024), K = p.param("K", 1024);
//   TensorRef A = p.input("A", ElementType::f32, {M, K}), B = p.input("B", ElementType::f32, {K, N});
//   TensorRef C = p.output("C", {M, N});
//   Index i, j, k;
//   C(i, j) = sum(k, A(i, k) * B(k, j));
//   Result<Program> program = p.build();
//
// Memory model: handles are cheap values that share an immutable expression (Value) or the builder's state (TensorRef,
// Element). The builder writes source text of the language and build() parses it, so whatever the parser refuses is
// refused here, with places in that text. Nothing throws: misuse (a name that is no name, an index without a range) is
// an error of build().
#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::dsl {

namespace detail {
struct Rope;
struct IndexState;
struct BuilderState;
struct Access;
struct ReductionWriter;
}  // namespace detail

using polyweft::ElementType;
class Index;
class Element;
class ReductionIndices;

/// An expression: numbers, parameters, indices, elements and what is built of them. Integers are untyped literals, as
/// in the text.
class PW_EXPORT Value {
 public:
  template <std::integral T>
  requires(!std::same_as<T, bool>) Value(T number)
      : Value(from_integer(static_cast<int64_t>(number))) {}  // NOLINT: implicit by purpose
  Value(double number);                                       // NOLINT: shortest decimal that gives it back
  Value(const Index& index);                                  // NOLINT
  Value(const Element& element);                              // NOLINT
  explicit Value(std::shared_ptr<const detail::Rope> rope) : rope_(std::move(rope)) {}
  const std::shared_ptr<const detail::Rope>& rope() const { return rope_; }

 private:
  static Value from_integer(int64_t number);
  std::shared_ptr<const detail::Rope> rope_;
};
/// A parameter: used like any Value.
using Param = Value;

/// An index bound by a slot or a reduction. Without a name it gets one that is free in its equation; without a range it
/// takes the extent of the dimension that it indexes alone (a slot of a tensor with a shape, else a read in the
/// reduction's body).
class PW_EXPORT Index {
 public:
  Index();
  explicit Index(std::string name);
  /// The same index over 0..extent or lo..hi: where it is bound, C(i.in(N), ..) or sum(k.in(lo, hi), ..).
  Index in(const Value& extent) const;
  Index in(const Value& lo, const Value& hi) const;

 private:
  friend class Value;
  friend struct detail::ReductionWriter;
  friend struct detail::Access;
  std::shared_ptr<detail::IndexState> state_;
  std::shared_ptr<const detail::Rope> lo_, hi_;  ///< null: no range of its own
};

/// T(i, j): a Value where it is read, an equation where it is assigned.
class PW_EXPORT Element {
 public:
  Element(const Element&) = default;
  /// Restricts where the equation defines anything: C(i).where(i > 0) = ...
  Element where(const Value& guard) const;
  Element& operator=(const Value& value);
  Element& operator=(const Element& value);

 private:
  friend class TensorRef;
  friend class Value;
  friend class ProgramBuilder;
  friend struct detail::Access;
  explicit Element(std::shared_ptr<detail::Access> access) : access_(std::move(access)) {}
  std::shared_ptr<detail::Access> access_;
};

/// One subscript or slot: an index, or any affine Value.
class PW_EXPORT SubscriptArg {
 public:
  SubscriptArg(const Index& index) : index_(index), value_(index), is_index_(true) {}  // NOLINT: implicit by purpose
  template <class T>
  requires(std::convertible_to<const T&, Value> && !std::same_as<T, Index>) SubscriptArg(const T& value)
      : value_(value) {}  // NOLINT: implicit by purpose

 private:
  friend struct detail::Access;
  Index index_;
  Value value_;
  bool is_index_ = false;
};

/// A tensor of the program that is being built.
class PW_EXPORT TensorRef {
 public:
  template <class... T>
  Element operator()(const T&... subscripts) const {
    return at({SubscriptArg(subscripts)...});
  }
  Element at(const std::vector<SubscriptArg>& subscripts) const;
  const std::string& name() const;

 private:
  friend class ProgramBuilder;
  std::shared_ptr<detail::BuilderState> builder_;
  size_t number_ = 0;
};

/// A user-defined combiner, made by ProgramBuilder::combine.
class PW_EXPORT CombinerHandle {
 public:
  const std::string& name() const { return name_; }

 private:
  friend class ProgramBuilder;
  explicit CombinerHandle(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

/// `combine name((l..), (r..)): types from identity = body(l, r)`. Identities are literals: numbers, inf, -inf, nan.
struct CombinerOptions {
  std::vector<ElementType> types;
  std::vector<Value> identity;
  bool associative = false;
  bool commutative = false;
};

struct InputOptions {
  bool is_const = false;      ///< `const in`: packed ahead of time
  std::vector<Value> values;  ///< {lo, hi}: `values lo..hi`; {hi}: `values 0..hi`; empty: no promise
};

/// Collects the declarations and equations of one program.
class PW_EXPORT ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name);
  Param param(const std::string& name, int64_t value);
  Param const_param(const std::string& name, int64_t value);
  void assume(const Value& condition);
  TensorRef input(const std::string& name, ElementType type, const std::vector<Value>& shape = {},
                  const InputOptions& options = {});
  /// A constant tensor; `values` row-major, as many as the shape holds.
  TensorRef constant(const std::string& name, ElementType type, const std::vector<int64_t>& shape,
                     const std::vector<double>& values);
  /// Tensors that equations define. The shape, where given, is the range of slots whose index has none; the type, where
  /// given, is the annotation.
  TensorRef let(const std::string& name, const std::vector<Value>& shape = {}, std::optional<ElementType> type = {});
  TensorRef output(const std::string& name, const std::vector<Value>& shape = {}, std::optional<ElementType> type = {});
  TensorRef partial_output(const std::string& name, const std::vector<Value>& shape = {},
                           std::optional<ElementType> type = {});
  /// `body` gets the components of the left and the right operand and returns those of the result.
  template <class Body>
  CombinerHandle combine(const std::string& name, const CombinerOptions& options, const Body& body) {
    std::vector<Value> left = components(name, "l", options.types.size());
    std::vector<Value> right = components(name, "r", options.types.size());
    return add_combiner(name, options, body(left, right));
  }
  /// One equation for several tensors: define({m(i), s(i)}, reduce(f, k, {X(i, k), 1})).
  void define(const std::vector<Element>& targets, const Value& value);
  /// The source text. What build() parses.
  std::string text() const;
  /// The program, or the first misuse (PW0150), or what the parser says about text().
  Result<Program> build() const;

 private:
  TensorRef declare(const std::string& name, const char* keyword, const std::vector<Value>& shape,
                    std::optional<ElementType> type);
  std::vector<Value> components(const std::string& name, const char* prefix, size_t count) const;
  CombinerHandle add_combiner(const std::string& name, const CombinerOptions& options,
                              const std::vector<Value>& result);
  std::shared_ptr<detail::BuilderState> state_;
};

/// The indices of a reduction and, after them, its guard.
class PW_EXPORT ReductionIndices {
 public:
  ReductionIndices(const Index& index) : indices_{index} {}                      // NOLINT: implicit by purpose
  ReductionIndices(std::initializer_list<Index> indices) : indices_(indices) {}  // NOLINT: implicit by purpose
  explicit ReductionIndices(std::vector<Index> indices) : indices_(std::move(indices)) {}
  ReductionIndices where(const Value& guard) const;

 private:
  friend struct detail::ReductionWriter;
  std::vector<Index> indices_;
  std::vector<Value> guards_;
};

PW_EXPORT Value sum(const ReductionIndices& indices, const Value& body);
PW_EXPORT Value prod(const ReductionIndices& indices, const Value& body);
PW_EXPORT Value max(const ReductionIndices& indices, const Value& body);
PW_EXPORT Value min(const ReductionIndices& indices, const Value& body);
inline Value max(const Index& index, const Value& body) {
  return max(ReductionIndices(index), body);
}  ///< the reduction; max(Value(i), x) is the function
inline Value min(const Index& index, const Value& body) {
  return min(ReductionIndices(index), body);
}
PW_EXPORT Value any(const ReductionIndices& indices, const Value& body);
PW_EXPORT Value all(const ReductionIndices& indices, const Value& body);
PW_EXPORT Value argmax(const ReductionIndices& indices, const Value& body);
PW_EXPORT Value argmin(const ReductionIndices& indices, const Value& body);
PW_EXPORT Value reduce(const CombinerHandle& combiner, const ReductionIndices& indices, const std::vector<Value>& body);

PW_EXPORT Value operator+(const Value& a, const Value& b);
PW_EXPORT Value operator-(const Value& a, const Value& b);
PW_EXPORT Value operator*(const Value& a, const Value& b);
PW_EXPORT Value operator/(const Value& a, const Value& b);  ///< of floats
PW_EXPORT Value operator%(const Value& a, const Value& b);
PW_EXPORT Value floor_div(const Value& a, const Value& b);  ///< a // b
PW_EXPORT Value operator&(const Value& a, const Value& b);
PW_EXPORT Value operator|(const Value& a, const Value& b);
PW_EXPORT Value operator^(const Value& a, const Value& b);
PW_EXPORT Value operator<<(const Value& a, const Value& b);
PW_EXPORT Value operator>>(const Value& a, const Value& b);
PW_EXPORT Value operator==(const Value& a, const Value& b);
PW_EXPORT Value operator!=(const Value& a, const Value& b);
PW_EXPORT Value operator<(const Value& a, const Value& b);
PW_EXPORT Value operator<=(const Value& a, const Value& b);
PW_EXPORT Value operator>(const Value& a, const Value& b);
PW_EXPORT Value operator>=(const Value& a, const Value& b);
PW_EXPORT Value operator&&(const Value& a, const Value& b);
PW_EXPORT Value operator||(const Value& a, const Value& b);
PW_EXPORT Value operator!(const Value& a);
PW_EXPORT Value operator-(const Value& a);
PW_EXPORT Value operator~(const Value& a);

/// A predeclared function by its name in the language: call("exp", {x}), call("sat_u8", {x}), call("clamp", {x, lo,
/// hi}).
PW_EXPORT Value call(const std::string& function, const std::vector<Value>& arguments);
PW_EXPORT Value convert(ElementType type, const Value& value);
PW_EXPORT Value max(const Value& a, const Value& b);
PW_EXPORT Value min(const Value& a, const Value& b);
inline Value exp(const Value& x) {
  return call("exp", {x});
}
inline Value log(const Value& x) {
  return call("log", {x});
}
inline Value tanh(const Value& x) {
  return call("tanh", {x});
}
inline Value sqrt(const Value& x) {
  return call("sqrt", {x});
}
inline Value rsqrt(const Value& x) {
  return call("rsqrt", {x});
}
inline Value erf(const Value& x) {
  return call("erf", {x});
}
inline Value pow(const Value& x, const Value& y) {
  return call("pow", {x, y});
}
inline Value sigmoid(const Value& x) {
  return call("sigmoid", {x});
}
inline Value sin(const Value& x) {
  return call("sin", {x});
}
inline Value cos(const Value& x) {
  return call("cos", {x});
}
inline Value floor(const Value& x) {
  return call("floor", {x});
}
inline Value ceil(const Value& x) {
  return call("ceil", {x});
}
inline Value round(const Value& x) {
  return call("round", {x});
}
inline Value abs(const Value& x) {
  return call("abs", {x});
}
inline Value select(const Value& c, const Value& a, const Value& b) {
  return call("select", {c, a, b});
}
inline Value clamp(const Value& x, const Value& lo, const Value& hi) {
  return call("clamp", {x, lo, hi});
}
inline Value f64(const Value& x) {
  return convert(ElementType::f64, x);
}
inline Value f32(const Value& x) {
  return convert(ElementType::f32, x);
}
inline Value f16(const Value& x) {
  return convert(ElementType::f16, x);
}
inline Value bf16(const Value& x) {
  return convert(ElementType::bf16, x);
}
inline Value i64(const Value& x) {
  return convert(ElementType::i64, x);
}
inline Value i32(const Value& x) {
  return convert(ElementType::i32, x);
}
inline Value i16(const Value& x) {
  return convert(ElementType::i16, x);
}
inline Value i8(const Value& x) {
  return convert(ElementType::i8, x);
}
inline Value u8(const Value& x) {
  return convert(ElementType::u8, x);
}
/// Several values, for define() and combiners.
PW_EXPORT Value tuple(const std::vector<Value>& values);

/// `value where guard else other`: where(guard, value).otherwise(other). The guard is affine; the value is read only
/// where it holds.
class PW_EXPORT Guarded {
 public:
  Guarded(Value guard, Value value) : guard_(std::move(guard)), value_(std::move(value)) {}
  Value otherwise(const Value& other) const;

 private:
  Value guard_, value_;
};
inline Guarded where(const Value& guard, const Value& value) {
  return {guard, value};
}

}  // namespace polyweft::dsl
