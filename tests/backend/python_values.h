// What the expressions, subscripts and conditions of a nest are in Python.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "backend/python_operators.h"
#include "polyweft/loop_nest.h"

namespace polyweft::backend_test {

/// Names of one module.
class ModuleNames {
 public:
  /// One like `wanted` that nobody has.
  std::string open(const std::string& wanted);

 private:
  std::set<std::string> taken_ = taken_names();
};

class PythonValues {
 public:
  /// Opens a name for each loop variable and buffer; parameters are their values. `nest` must outlive it.
  PythonValues(const LoopNest& nest, ModuleNames names);

  const std::string& variable(VarId var) const { return variables_[var]; }
  const std::string& buffer(BufferId id) const { return buffers_[id]; }
  PythonOperators& operators() { return operators_; }
  /// Whether a text that this object made reads the buffer.
  bool is_read(BufferId id) const { return read_.contains(id); }

  std::string affine(const Affine& e) const;
  std::string guard(const Guard& g) const;
  /// `of_several`: "max" of lower bounds, "min" of upper ones.
  std::string bound(const Bound& b, const char* of_several) const;
  /// A place that can be written.
  std::string element(const Access& access);
  std::string read(const Access& access);
  std::string value(const ExprNode& e);
  /// A component of a combiner's result, whose variables are the components of the tuple `state`.
  std::string component(const ExprNode& e);
  /// Of a Compute that is `fused`: product after product is added to the sum, each with one rounding.
  std::string fused_sum(const ExprNode& product, const std::string& sum);

 private:
  using Operand = std::function<std::string(const ExprNode&)>;
  std::string operation(const ExprNode& e, const Operand& operand);
  std::string quasi(const Quasi& q) const;
  std::string exact(const ExprNode& e);
  std::string exact_condition(const ExprNode& e);
  std::string subscript(const Subscript& s);
  std::string offset(const Access& access);

  const LoopNest& nest_;
  PythonOperators operators_;
  Texts variables_, buffers_;
  std::set<BufferId> read_;
};

}  // namespace polyweft::backend_test
