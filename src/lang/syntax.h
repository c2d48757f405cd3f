// The syntax tree: what the text says, before names, types and affinity.
//
// Memory model: a Tree owns all its nodes in one arena; nodes point to each other without owning, so that a tree of any
// shape is freed without recursion. A chain of operators of one level is one node with many operands: its depth is 1.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "lang/source.h"
#include "polyweft/program.h"

namespace polyweft::lang {

enum class NodeKind : uint8_t {
  integer,  ///< text: digits, as written without '_'
  decimal,  ///< text
  infinity,
  not_a_number,
  truth,        ///< text: true or false
  name,         ///< text
  element,      ///< text[args]
  call,         ///< text(args): predeclared function
  convert,      ///< type(args[0])
  tuple,        ///< (args)
  negate,       ///< -args[0]
  complement,   ///< ~args[0]
  chain,        ///< args[0] ops[0] args[1] ..: one of + - * / // % << >> & | ^
  compare,      ///< args[0] ops[0] args[1] ..: comparisons, all of them hold
  conjunction,  ///< args[0] and args[1] ..
  disjunction,  ///< args[0] or args[1] ..
  logical_not,  ///< not args[0]
  guarded,      ///< args[0] where conditions[0] else args[1] where conditions[1] else .. args.back()
  reduction,    ///< args[0]: the body
};

struct Node;

struct RangeSyntax {
  Node* lo = nullptr;  ///< null: 0
  Node* hi = nullptr;
  Extent extent;
};
struct IndexSyntax {
  std::string name;
  Extent extent;
  RangeSyntax range;
};
struct ReductionSyntax {
  Reducer reducer = Reducer::sum;
  std::string combiner;
  Extent combiner_extent;
  std::vector<IndexSyntax> indices;
  Node* where = nullptr;
  Extent header;  ///< sum[k: K]
};
struct Node {
  NodeKind kind = NodeKind::integer;
  Extent extent;
  std::string text;
  std::vector<Node*> args;
  std::vector<Extent> ops;  ///< operators of chain and compare; their text is in the source
  std::vector<std::string> op_text;
  std::vector<Node*> conditions;
  ElementType type = ElementType::f32;
  std::optional<ReductionSyntax> reduction;
  uint32_t depth = 1;
  std::optional<ElementType> decided;  ///< memo of the type search
};

struct NameSyntax {
  std::string text;
  Extent extent;
};
struct ParameterSyntax {
  NameSyntax name;
  int64_t value = 1;
  bool is_const = false;
};
struct InputSyntax {
  NameSyntax name;
  bool is_const = false;
  ElementType type = ElementType::f32;
  std::vector<Node*> shape;
  std::optional<RangeSyntax> values;
};
struct LiteralSyntax {
  bool negative = false;
  Node* number = nullptr;  ///< null: a list
  std::vector<LiteralSyntax> list;
  Extent extent;
};
struct ConstantSyntax {
  NameSyntax name;
  ElementType type = ElementType::f32;
  std::vector<Node*> shape;
  LiteralSyntax value;
};
struct CombinerSyntax {
  NameSyntax name;
  std::vector<NameSyntax> left, right;
  std::vector<ElementType> types;
  std::vector<LiteralSyntax> identity;
  bool associative = false, commutative = false;
  Node* body = nullptr;
};
struct SlotSyntax {
  std::optional<IndexSyntax> index;  ///< a new index
  Node* position = nullptr;          ///< or a position
};
struct EquationSyntax {
  bool is_output = false;
  bool partial = false;
  std::vector<NameSyntax> names;
  std::vector<SlotSyntax> slots;
  std::vector<ElementType> types;  ///< empty: no annotation
  Node* where = nullptr;
  Node* rhs = nullptr;
  Extent left;  ///< from the keyword to before '='
};
struct ItemSyntax {
  enum class Kind : uint8_t { input, constant, combiner, equation } kind;
  InputSyntax input;
  ConstantSyntax constant;
  CombinerSyntax combiner;
  EquationSyntax equation;
};
struct ProgramSyntax {
  NameSyntax name;
  std::vector<ParameterSyntax> parameters;
  std::vector<Node*> assumptions;
  std::vector<ItemSyntax> items;
  bool broken = false;  ///< an item was skipped after a syntax error: unknown names are not reported
};
struct Tree {
  std::deque<Node> nodes;
  std::vector<ProgramSyntax> programs;
};

/// The node as one line of source text with usual spacing, cut after about 80 characters.
std::string show(const Node& node);
bool is_cut(const Node& node);
/// In a second place of one message: ".." where it is cut, since half an expression helps once.
std::string show_again(const Node& node);
/// `sum[k: K]`
std::string show_header(const ReductionSyntax& reduction);

}  // namespace polyweft::lang
