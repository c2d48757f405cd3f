// The structure of a program: its statements, tensors and indices numbered by what they are to one another, whatever
// their names and sizes. Programs of one structure may take each other's schedules.
//
// Left out: names, extents, element types and conversions between them, literals, conditions (padding), coefficients of
// subscripts (strides), constants in sums of several indices (pads) and constants beyond 8. Kept: operators, which
// dimension of which tensor is read over which indices, the order of dimensions, small distances (A[i-1]), which bounds
// depend on which indices. Whether a schedule is legal here is no question of its structure: replay decides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::schedules {

struct Structure {
  struct Statement {
    EquationId equation = 0;
    /// Numbers of the equation's indices: slots in their order, then reduced ones by the subscripts that they are in.
    std::vector<uint32_t> indices;
    /// Its reads, each the tensor and which of the statement's reads of that tensor it is in the text, from 1.
    std::vector<std::pair<TensorId, uint32_t>> reads;
  };
  std::string text;  ///< equal texts: one structure
  std::vector<TensorId> tensors;
  std::vector<Statement> statements;
};

/// Of a bound, normalized program. Tensors are told apart by refinement of the equations that they are in; ties are
/// split in the order of the program, so that two programs of one structure may have two texts where they are not
/// symmetric. Nothing where the program has more than 64 tensors or equations, or 4000 nodes of expressions. Below 1 ms
/// for a product.
std::optional<Structure> structure_of(const Program& normalized);
/// 32 hexadecimal digits of the text.
std::string key_of(const Structure& structure);

}  // namespace polyweft::schedules
