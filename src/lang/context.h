// What the analysis of one program knows while it reads the tree: symbols, indices in scope, types found so far.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lang/syntax.h"
#include "polyweft/program.h"

namespace polyweft::lang {

struct Symbol {
  enum class Kind : uint8_t { parameter, const_parameter, tensor, combiner } kind = Kind::tensor;
  uint32_t id = 0;    ///< parameter, tensor or combiner number
  int64_t value = 0;  ///< of a const parameter
  Extent where;
};

/// A chain whose operand number `operand` is being read: names bound by reductions in the operands before it are out of
/// scope.
struct OpenChain {
  const Node* chain = nullptr;
  size_t operand = 0;
};

/// The names of a combiner while its body is read; component k of the left value has variable k, of the right n + k.
struct CombinerScope {
  const CombinerSyntax* syntax = nullptr;
  std::map<std::string, uint32_t> components;
};

struct Context {
  explicit Context(Reporter& reporter) : report(reporter) {}

  Reporter& report;
  Program program;
  std::map<std::string, Symbol> symbols;
  std::vector<std::optional<ElementType>> types;  ///< by TensorId
  std::vector<int64_t> parameter_least;           ///< what the assumptions say of each parameter alone
  bool types_incomplete = false;                  ///< a type was not found: messages about types are held back

  struct Index {
    std::string name;
    VarId var = kNoVar;
  };
  std::vector<Index> open;               ///< indices in scope, innermost last
  std::vector<std::string> index_names;  ///< of the equation, in order of binding
  struct Interval {
    std::optional<int64_t> least, largest;
  };
  std::vector<Interval> index_bounds;    ///< by index number
  std::vector<IndexRange> index_ranges;  ///< by index number
  std::vector<OpenChain> chains;
  std::set<std::string> unknown;  ///< names of the equation that were reported already
  const CombinerScope* combiner = nullptr;

  void begin_equation();
  const Symbol* symbol(const std::string& name) const;
  const Index* index(const std::string& name) const;
  /// Binds a new index over an already read range; reports shadowing and too many indices.
  VarId bind_index(const IndexSyntax& syntax, const Affine& lo, const Affine& hi);
  void close_indices(size_t open_before) { open.resize(open_before); }
  /// "X is not known", or how to bring it back into scope.
  void report_unknown(const Node& name);
  void type_error(const char* code, Extent where, std::string text, std::vector<std::string> notes = {});
  /// Least and largest value over all parameters allowed and all indices in scope, where simple arithmetic finds one.
  Interval bounds(const Affine& e) const;
  Interval bounds_of_variable(VarId var) const;
  std::vector<std::string> variable_names() const;
  /// "B[0..K]"-like spelling of an affine form, without blanks: "V-1".
  std::string compact(const Affine& e) const;
};

/// Whether every value allowed by the assumptions makes e >= 0, by simple arithmetic.
bool is_surely_at_least(const Context& context, const Affine& e, int64_t value);

}  // namespace polyweft::lang
