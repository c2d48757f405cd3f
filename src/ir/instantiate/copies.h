// Copies of windows: nests of moves whose loops follow the layout of the copy.
#pragma once

#include <memory>
#include <vector>

#include "ir/instantiate/body_emitter.h"
#include "ir/instantiate/nest_writer.h"
#include "ir/instantiate/sized_template.h"
#include "ir/instantiate/view.h"
#include "ir/instantiate/window.h"

namespace polyweft::ir {

struct WindowCopy {
  TensorId tensor = 0;
  Window window;
  View to, from;
  std::vector<LayoutPart> layout = {};    ///< of `to`; empty: row-major
  MarkKind outermost = MarkKind::serial;  ///< a copy that parallel loops will share may be made by all of them
  int64_t vectors = 1;                    ///< elements that are copied at once; 1: as the layout wants it
  std::vector<Range> limits = {};         ///< one a dimension, the window cut by what is read; empty: all of it
};

class Copies {
 public:
  Copies(const SizedTemplate& schedule, NestWriter& nest, BodyEmitter& inner)
      : schedule_(schedule), nest_(nest), inner_(inner) {}

  /// Copies the part of a window that lies in the tensor's box.
  NodeId copy(const WindowCopy& what);

 private:
  std::vector<SizedLoop> loops_of(const WindowCopy& what) const;

  const SizedTemplate& schedule_;
  NestWriter& nest_;
  BodyEmitter& inner_;
  std::vector<std::unique_ptr<Stage>> stages_;  ///< bodies of copies look at them
};

}  // namespace polyweft::ir
