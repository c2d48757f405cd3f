// Symbolic nests: sizes are values of the function, strides are products of them. What of an offset no affine
// expression holds (an index times a stride) becomes a variable of its own, so that the rest of code generation sees
// affine offsets: a row's start and a constant stride along it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "targets/common/function_code.h"
#include "targets/common/values/variables.h"

namespace polyweft::targets {

class Strides : FunctionPart {
 public:
  struct Row {
    BufferId buffer = 0;
    std::vector<std::pair<size_t, Affine>> terms;  ///< dimension and index: times the dimension's stride
  };

  Strides(FunctionCode& code, const Variables& variables) : FunctionPart(code), variables_(variables) {}

  bool is_symbolic(BufferId id) const;
  /// Of each buffer all elements, then the stride of each dimension.
  void set(std::vector<std::vector<llvm::Value*>> strides) { strides_ = std::move(strides); }
  llvm::Value* elements(BufferId id) const { return strides_[id][0]; }
  llvm::Value* stride(BufferId id, size_t dim) const { return strides_[id][dim + 1]; }

  /// Of a symbolic buffer: affine along the dimensions whose strides are numbers, a row variable for the others.
  Affine symbolic_offset(BufferId id, std::vector<Affine> index);
  const Row* row_of(VarId var) const;  ///< null: no row
  /// Does e change with the variable, by way of rows too?
  bool moves(const Affine& e, VarId var) const;

 private:
  static constexpr VarId kRow = 0x7f000000;  ///< and up: starts of rows, in elements

  const Variables& variables_;
  std::vector<std::vector<llvm::Value*>> strides_;
  std::vector<Row> rows_;
  std::map<std::string, VarId> row_numbers_;
};

}  // namespace polyweft::targets
