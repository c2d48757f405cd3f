// Sliding windows: buffers outside a loop whose iterations compute only what the ones before have not.
//
//   alloc P.w { for w in the iterations before the first: <new rows of P>     for y: { <new rows of P>  rest } }
//
// In iteration y the window of what is read of P begins at rate * y + start and has `extent` rows; the last rate * step
// of them are new, and those from SlidingWindow::rest on are computed there. What the first iteration finds computed
// already (its window but for the new rows) is computed by iterations before the first, in which nothing but the
// windows runs: so a chain of windows warms up in circular buffers no larger than those of the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/instantiate/body_emitter.h"
#include "ir/instantiate/nest_writer.h"
#include "ir/instantiate/sized_template.h"
#include "ir/instantiate/storage.h"
#include "ir/instantiate/windows.h"

namespace polyweft::ir {

class SlidingWindows {
 public:
  /// `slides`: what `windows` looks at.
  SlidingWindows(const SizedTemplate& schedule, const Windows& windows, OpenSlides& slides, NestWriter& nest,
                 Storage& storage, BodyEmitter& inner)
      : schedule_(schedule), windows_(windows), slides_(slides), nest_(nest), storage_(storage), inner_(inner) {}

  /// Does the window of some producer slide along loop `depth` of the body?
  bool any_at(const Body& body, size_t depth) const;
  /// The buffers of all that slide along loop `depth`, the iterations before the first, then the loop.
  NodeId emit(NestPlace at);

 private:
  /// What a stage placed at the loop reads and makes while the loop runs, before any of it is written.
  struct Producer {
    uint32_t stage = 0;
    Window window;             ///< over the loop's variable
    std::vector<Affine> base;  ///< least element that the whole loop needs
    bool is_sliding = false;
  };
  /// The loop, as long as its iterations before the first are written.
  struct Warming {
    std::vector<Producer> producers;
    std::vector<char> is_needed;  ///< before the first iteration: what slides, and what that reads
    Affine start;                 ///< the index's value where the loop's variable is 0
    VarId var = kNoVar;
    int64_t step = 1;
  };

  bool slides_at(const Body& body, size_t depth, uint32_t stage) const;
  std::vector<Producer> producers_at(const Body& body, size_t depth, VarId var);
  bool follow(const Body& body, size_t depth, VarId var, const Producer& producer);
  int64_t iterations_before(const std::vector<Producer>& producers, const Range& range, int64_t step);
  std::vector<char> needed_before(const std::vector<Producer>& producers) const;
  View make_line_buffer(const Producer& producer, const Range& range, int64_t step);
  NodeId iterations(const Warming& loop, int64_t count);
  NodeId warm_up(const Warming& loop, size_t which, const Affine& at);
  /// A body, where the tests hold.
  struct TestedBody {
    std::vector<Guard> tests;
    Body body;
  };
  TestedBody body_before(const Warming& loop, size_t which, Window window, const Affine& at) const;

  const SizedTemplate& schedule_;
  const Windows& windows_;
  OpenSlides& slides_;
  NestWriter& nest_;
  Storage& storage_;
  BodyEmitter& inner_;
};

}  // namespace polyweft::ir
