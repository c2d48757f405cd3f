// What a body reads and makes of a tensor: boxes with corners affine in the loops around and constant extents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/instantiate/body.h"
#include "ir/instantiate/loop_variables.h"
#include "ir/instantiate/sized_template.h"
#include "ir/instantiate/window.h"

namespace polyweft::ir {

/// How a slot's element moves: stride * var + first. A position without a variable stays.
struct SlotWalk {
  VarId var = kNoVar;
  int64_t stride = 1, first = 0;
};
SlotWalk slot_walk(const Slot& slot);
/// Of the tensor that a body's stage defines: what its ranges cover.
Window slot_window(const Body& body);

/// Questions; the answers hold at the place that is being written.
class Windows {
 public:
  Windows(const SizedTemplate& schedule, const LoopVariables& variables, const OpenSlides& slides)
      : schedule_(schedule), variables_(variables), slides_(slides) {}

  /// The whole tensor.
  Window hull(TensorId tensor) const;
  /// Widens a window to the union; a dimension whose corners differ by more than a constant becomes the whole
  /// dimension.
  void join(std::optional<Window>& window, Window other, TensorId tensor) const;
  /// What the body's own statement reads of a tensor.
  std::optional<Window> footprint(const Body& body, TensorId tensor) const;
  /// What a stage reads of a tensor from loop `depth` inwards, through the stages attached there too.
  std::optional<Window> window_at(const Body& body, size_t depth, TensorId tensor) const;
  /// Of tensors that one statement defines together: what is read of any of them.
  std::optional<Window> window_of_all(const Body& body, size_t depth, const std::vector<TensorId>& targets) const;
  /// A stage restricted to a window of its tensor.
  Body body_in(uint32_t stage, const Window& window) const;
  /// A fused stage: its tied indices run over the present ranges of the body that it is attached to.
  Body body_tied(uint32_t stage, const Body& outer) const;

 private:
  using KnownWindows = std::map<TensorId, std::optional<Window>>;  ///< of one body and depth
  std::pair<int64_t, int64_t> values_of(const Body& body, const Subscript& s, int64_t least, int64_t most) const;
  void widen(std::optional<Window>& window, const Access& access, const Body& body, TensorId tensor) const;
  std::optional<Body> attached_body(const Body& body, size_t depth, uint32_t attached, KnownWindows& known) const;
  std::optional<Window> window_at(const Body& body, size_t depth, TensorId tensor, KnownWindows& known) const;
  std::optional<Window> window_of_all(const Body& body, size_t depth, const std::vector<TensorId>& targets,
                                      KnownWindows& known) const;
  void bind_to_tile(Body& body, const Body& frame) const;

  const SizedTemplate& schedule_;
  const LoopVariables& variables_;
  const OpenSlides& slides_;
};

}  // namespace polyweft::ir
