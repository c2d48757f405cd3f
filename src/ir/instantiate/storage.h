// Where the elements of tensors live at the place that is being written: buffers of the nest, and views of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/instantiate/nest_writer.h"
#include "ir/instantiate/sized_template.h"
#include "ir/instantiate/view.h"
#include "ir/instantiate/window.h"

namespace polyweft::ir {

class Storage {
 public:
  Storage(const SizedTemplate& schedule, NestWriter& nest);

  /// Arguments first, in the order of the ABI; then constants.
  void add_arguments_and_constants();
  /// A buffer and a view for all elements.
  BufferId add_tensor(TensorId id);
  /// A private buffer for a window, row-major; named as the tensor, with a suffix. Without a view.
  BufferId make_window(const Window& window, TensorId tensor, Scope scope, const std::string& suffix);
  /// The lanes of elements while they are merged: registers where each step halves them. `shape`: of the elements.
  BufferId make_rows(TensorId tensor, const std::vector<Affine>& element, std::vector<int64_t> shape, int64_t lanes);

  /// From here on the tensor's elements live there, until `pop`.
  void push(TensorId tensor, View view) { views_[tensor].push_back(std::move(view)); }
  void pop(TensorId tensor) { views_[tensor].pop_back(); }
  const View& innermost(TensorId tensor) const { return views_[tensor].back(); }
  /// Where a stage finds the elements; PW0314 where they live in another loop.
  const View& view_of(TensorId tensor, uint32_t stage);

  /// Tensor reads become reads of the buffers that hold the elements here. Subscripts are over loop variables already.
  Expr with_buffers(const Expr& e, uint32_t stage);
  /// Registers have no address: PW0311 for an index that a serial loop moves.
  void check_register_index(const Access& access);

 private:
  const SizedTemplate& schedule_;
  NestWriter& nest_;
  std::vector<std::vector<View>> views_;  ///< by tensor; the last applicable one counts
  View nowhere_;                          ///< after an error
};

}  // namespace polyweft::ir
