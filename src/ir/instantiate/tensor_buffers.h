// Buffers that tensors have for the whole nest, and which tensors have none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "ir/instantiate/sized_template.h"
#include "ir/instantiate/view.h"

namespace polyweft::ir {

/// A buffer for all elements of a tensor, and where they are in it (view.buffer is open).
struct TensorBuffer {
  Buffer buffer;
  View view;
};
TensorBuffer tensor_buffer(const SizedTemplate& schedule, TensorId id);

/// Tensors whose elements live inside loops only.
std::set<TensorId> private_tensors(const SizedTemplate& schedule);
/// The outermost loop at whose end all readers of a stage's results run: in each iteration the results fit into a
/// buffer of its own. Nothing where somebody else reads them.
std::optional<size_t> private_results(const SizedTemplate& schedule, uint32_t stage);

}  // namespace polyweft::ir
