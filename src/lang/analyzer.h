// Syntax tree of one program -> Program.
#pragma once

#include "lang/value_reader.h"

namespace polyweft::lang {

inline constexpr size_t kMaxRank = 8;

class Analyzer {
 public:
  Analyzer(ProgramSyntax& syntax, Reporter& report);
  /// Errors are in the reporter; the result is meaningful when there are none.
  Program run();

 private:
  // declarations.cpp
  void declare_parameters();
  void declare_items();
  bool declare(const NameSyntax& name, Symbol symbol);
  void declare_input(const InputSyntax& input);
  void declare_constant(const ConstantSyntax& constant);
  void declare_combiner(CombinerSyntax& combiner);
  std::vector<Affine> shape(const std::vector<Node*>& extents);
  bool constant_shape(const ConstantSyntax& constant, const std::vector<Affine>& shape, std::vector<int64_t>& extents);
  bool flatten(const LiteralSyntax& literal, const std::vector<int64_t>& extents, size_t depth, Tensor& tensor);
  std::optional<Literal> scalar(const LiteralSyntax& literal, ElementType type);
  void promise_values(const RangeSyntax& values, Tensor& tensor);
  void promise_floats(const RangeSyntax& values, Tensor& tensor);
  std::optional<Literal> float_end(const Node& node, ElementType type);
  void check_bytes(const Tensor& tensor, const std::vector<__int128>& extents, Extent where);
  // assumptions.cpp
  void read_assumptions();
  void add_assumption(const Guard& guard);
  void check_defaults();
  // targets.cpp
  void declare_targets(EquationSyntax& equation);
  TensorId declare_target(const EquationSyntax& equation, size_t component);
  void check_target(const EquationSyntax& equation, size_t component, TensorId id);
  void find_types();
  bool try_to_decide(bool only_complete);
  bool reads_open_type(size_t equation) const;
  void collect_reads(const Node& node, std::vector<TensorId>& out) const;
  void report_open_types();
  // equations.cpp
  void read_combiner_bodies();
  void read_combiner_body(CombinerSyntax& syntax, Combiner& combiner);
  void read_equation(size_t number);
  bool adopt_index(const EquationSyntax& syntax, const Node& position);
  bool read_slots(const EquationSyntax& syntax, Equation& out);
  bool check_types(const EquationSyntax& syntax, const Expr& rhs, const std::vector<TensorId>& targets);
  void check_equation_bytes(const EquationSyntax& syntax, const Equation& equation);
  void warn_unused();

  ProgramSyntax& syntax_;
  Reporter& report_;
  Context context_;
  AffineReader affine_;
  ValueReader values_;
  struct Pending {
    EquationSyntax* syntax = nullptr;
    std::vector<TensorId> targets;
    std::vector<TensorId> reads;
  };
  std::vector<Pending> pending_;
  std::vector<std::pair<CombinerSyntax*, uint32_t>> combiners_;
  struct FirstUse {
    Extent where;
    bool is_output = false;
    bool partial = false;
    std::optional<Extent> annotated;
  };
  std::map<TensorId, FirstUse> targets_;
  std::vector<Guard> other_assumptions_;
  std::vector<bool> least_is_stated_;
};

}  // namespace polyweft::lang
