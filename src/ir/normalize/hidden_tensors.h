// Tensors that normalization makes, and who defines and who reads a tensor.
#pragma once

#include <string>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::ir {

/// A hidden local without an equation; nobody else has the name.
TensorId add_hidden(Program& program, std::string name, ElementType type, size_t rank);
bool has_tensor(const Program& program, const std::string& name);
/// Equations that define elements of the tensor, in program order.
std::vector<EquationId> makers_of(const Program& program, TensorId id);
/// Does the expression read an element of the tensor, in a subscript or not?
bool reads(const Expr& e, TensorId tensor);
/// The same elements by the same indices, without their conditions.
bool have_equal_slots(const Equation& a, const Equation& b);

}  // namespace polyweft::ir
