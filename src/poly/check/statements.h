// Private to the checker: the leaves of a LoopNest with their iterations, times and cells.
//
// Statement k has the tuple S<k>; its dimensions are the loops around it that run more than once (a loop with step s
// counts iterations where it can, so no division appears). Affine expressions of the nest are rewritten over these
// dimensions. The cell of buffer b has the tuple B<b> and the coordinates [loops around the Alloc.., cell..]: each
// iteration of the loops around an Alloc has cells of its own.
#pragma once

#include <map>

#include "poly/check/formula.h"
#include "polyweft/loop_nest.h"

namespace polyweft::poly::checker {

struct Refuted {
  std::string code, message;
};
struct Undecided {
  std::string message;
};

struct Statement {
  size_t number = 0;
  const Compute* compute = nullptr;
  const Copy* copy = nullptr;
  std::vector<NodeId> loops;     ///< of dimension d; kNoNode: none alone (time_order.h)
  std::map<VarId, Affine> dims;  ///< parameters and loop variables over the dimensions
  std::vector<Affine> time;  ///< positions and loops alternate; a loop over threads with a barrier inside comes after
                             ///< the position between barriers
  std::vector<Affine> zero;  ///< over the dimensions: 0 in every iteration, by conditions around
  std::vector<Affine> not_negative;  ///< likewise
  Set domain;
  Space space;
  std::map<size_t, std::pair<int64_t, int64_t>> ranges = {};  ///< least and greatest, of dimensions that are no loop's

  Affine over_dims(const Affine& e) const { return substitute(e, dims); }
  Guard over_dims(const Guard& g) const { return substitute(g, dims); }
  std::string tuple() const { return "S" + std::to_string(number); }
};

struct Statements {
  std::vector<Statement> all;
  std::vector<Statement> barriers;          ///< each `sync block`, with the tuple Y<k>
  std::vector<size_t> prefix;               ///< of each buffer: dimensions around its Alloc
  std::vector<std::vector<NodeId>> around;  ///< of each buffer: the loops of these dimensions
};
Statements statements_of(Context& context, const LoopNest& nest);

/// Logical coordinates without the Alloc's loops; a gathered subscript is its interval.
std::vector<Coordinate> logical_cell(const Statement& s, const Access& access);
/// { S -> B }: the cells with folds applied.
Map physical_cells(const Statement& s, const LoopNest& nest, const Statements& statements, const Access& access);
/// { S -> B } with unfolded coordinates.
Map logical_cells(const Statement& s, const Statements& statements, const Access& access);

}  // namespace polyweft::poly::checker
