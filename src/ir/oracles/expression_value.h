// The value of an expression at one point: scalars with their errors, reads answered by a callback.
#pragma once

#include <functional>

#include "ir/oracles/error_bound.h"
#include "ir/values/domain.h"

namespace polyweft::ir {

/// Answers reads. A read whose element is not known yet returns a Scalar with known == false and notes the element.
using ReadElement = std::function<Scalar(TensorId, const std::vector<int64_t>&)>;

class ExpressionEvaluator {
 public:
  /// `tags`: the class whose tags go along with the values; none: no tags.
  ExpressionEvaluator(const Program& program, ReadElement read, std::optional<NumericsClass> tags)
      : program_(program), read_(std::move(read)), tags_(tags) {}

  /// A scalar expression under env.
  Scalar scalar(const ExprNode& e, Environment& env) const;
  /// The right-hand side of an equation: one Scalar a target. argmax and argmin give (value, index...) when `width`
  /// says so.
  std::vector<Scalar> components(const ExprNode& e, Environment& env, size_t width) const;

 private:
  using State = std::vector<Scalar>;
  Scalar literal(const Literal& value) const;
  Scalar applied(Op op, ElementType type, std::span<const Scalar> args) const;
  Scalar combiner_value(const ExprNode& e, std::span<const Scalar> state) const;
  /// Adds one term's tag to every component of a state.
  void fold_term(const ExprNode& e, std::span<const Scalar> term, std::vector<Tag>& tags) const;
  Scalar operation(const ExprNode& e, Environment& env) const;
  Scalar read(const Access& access, Environment& env) const;
  int64_t index_data(const ExprNode& data, Environment& env, bool& known, double& error) const;
  State reduction(const ExprNode& e, Environment& env) const;
  State simple_reduction(const ExprNode& e, Environment& env) const;
  State argument_reduction(const ExprNode& e, Environment& env) const;
  State combiner_reduction(const ExprNode& e, Environment& env) const;
  State combined(const Combiner& combiner, const State& left, const State& right) const;
  State fold(const Combiner& combiner, const std::vector<State>& terms) const;
  State tree(const Combiner& combiner, const std::vector<State>& terms) const;

  const Program& program_;
  ReadElement read_;
  std::optional<NumericsClass> tags_;
};

}  // namespace polyweft::ir
