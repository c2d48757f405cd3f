// Private: which element needs which, and an order in which they can be computed.
//
// A statement is an equation, or a piece of one: { A@2[x] } holds the elements that it defines, in coordinates of the
// tensor. A need { A@2[x] -> A[y] } relates an element to an element that its equation reads. Components are strongly
// connected sets of statements, producers first. The order of a component is a map from elements to times; isl's answer
// is never believed without the lexicographic test (isl 0.25 returns a schedule for h[i] = h[i]).
#pragma once

#include "poly/model.h"

namespace polyweft::poly {

struct Statement {
  EquationId equation = 0;
  std::string name;
  Set elements;
};
struct Need {
  uint32_t from = 0, to = 0;  ///< statement numbers: `from` reads `to`
  std::vector<Map> reads;     ///< one a read that asks for such elements; none between cycles
  /// The union of the reads. Many reads of residue classes have a union that isl takes long for: ask it of each read
  /// where that does.
  Map all() const;
};
struct ElementGraph {
  std::vector<Statement> statements;
  std::vector<Need> needs;
  std::vector<uint32_t> cycles;  ///< for each tensor the number of its cycle: those of one number may read each other
};
/// One statement an equation; needs of another cycle are edges without reads, for only the order of cycles asks for
/// them. Tuples: elements of the first target; all targets share them. PW0830 where an equation takes more than the
/// quota.
Result<ElementGraph> element_graph(const Model& model, unsigned long quota);
/// The same in steps, for one question an equation.
ElementGraph element_statements(const Model& model);
void add_needs(const Model& model, EquationId q, ElementGraph& graph);
/// How many quotas the needs of an equation may take: each of its reads is asked for by itself.
unsigned long quotas_of(const Program& program, EquationId q);
/// Numbers of statements, producers first; a component holds statements that need each other, or one.
std::vector<std::vector<uint32_t>> components(const ElementGraph& graph);
/// The same with statements of one recursive tensor kept together where the order allows it: a border computed for all
/// times before the interior would keep every plane alive.
std::vector<std::vector<uint32_t>> merged_components(const Program& program, const ElementGraph& graph);
/// Whether the component needs itself.
bool is_recursive(const ElementGraph& graph, const std::vector<uint32_t>& component);
UnionMap needs_within(const ElementGraph& graph, const std::vector<uint32_t>& component);

/// The times of one statement's elements, all statements of a component in one anonymous space.
using Times = std::vector<Map>;
/// Tries: the statements' own order, sequenced after each number of outer dimensions; the same with dimensions that run
/// down; isl's scheduler. Every answer passes is_order.
std::optional<Times> affine_order(const Model& model, const ElementGraph& graph, const std::vector<uint32_t>& component,
                                  unsigned long quota);
/// The component with its statements cut where their needs begin and end; nothing when there is nothing to cut.
std::optional<ElementGraph> split(const ElementGraph& graph, const std::vector<uint32_t>& component);

/// A part of a program in its place in the base order.
struct Ordered {
  std::vector<Statement> statements;
  bool recursive = false;
  Times times;  ///< of recursive parts, one a statement
};
/// The whole program's base order: of each component an affine one, whole or in pieces; where sizes are numbers, at
/// last one element by element. PW0208 where none was found.
Result<std::vector<Ordered>> base_order(const Model& model, unsigned long quota);
/// The same by bands (propose.cpp), which keep fewer planes alive: what moves in time runs step by step. Sizes must be
/// numbers. PW0208 where some recurrence has none.
Result<std::vector<Ordered>> order_by_bands(const Model& model);

}  // namespace polyweft::poly
