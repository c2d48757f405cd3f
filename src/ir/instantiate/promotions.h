// Private copies of what a stage reads, made at one of its loops or further out.
//
//   promote B      alloc B.p { <copy of the footprint>  rest }
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/instantiate/body_emitter.h"
#include "ir/instantiate/copies.h"
#include "ir/instantiate/nest_writer.h"
#include "ir/instantiate/sized_template.h"
#include "ir/instantiate/storage.h"
#include "ir/instantiate/windows.h"

namespace polyweft::ir {

/// A copy that an attached stage wants at its own beginning, made outside loops of the stage that it is attached to.
struct HoistedCopy {
  const Promotion* promotion = nullptr;
  size_t depth = 0;  ///< where it is made
  Body body;         ///< of the attached stage, over all that the other one has here
};

class Promotions {
 public:
  Promotions(const SizedTemplate& schedule, const Windows& windows, const OpenSlides& slides, NestWriter& nest,
             Storage& storage, Copies& copies, BodyEmitter& inner)
      : schedule_(schedule),
        windows_(windows),
        slides_(slides),
        nest_(nest),
        storage_(storage),
        copies_(copies),
        inner_(inner) {}

  /// Every `const in` is packed by a function of its own, and the argument is the packed buffer: callers need not know
  /// what the schedule made of it.
  void pack_const_inputs();
  /// Copies of inputs that attached stages want further in at their beginning, and that are the same in all iterations
  /// of the loops from here to there: they are made here.
  std::vector<HoistedCopy> hoisted_copies(const Body& body, size_t depth);
  NodeId hoist(const HoistedCopy& copy, NestPlace at);
  /// Is the copy being made further out?
  bool is_hoisted(const Promotion& promotion) const;
  NodeId promote(const Promotion& promotion, NestPlace at);

 private:
  NodeId promote_for(const Body& reader, const Promotion& promotion, NestPlace at);
  bool may_hoist(uint32_t stage, const Promotion& promotion, size_t depth);
  /// What an attached stage runs over and what it reads of the tensor that is promoted.
  struct Reading {
    Body body;
    Window window;
  };
  std::optional<Reading> reading_of(const Body& outer, size_t depth, uint32_t attached, TensorId tensor) const;

  const SizedTemplate& schedule_;
  const Windows& windows_;
  const OpenSlides& slides_;
  NestWriter& nest_;
  Storage& storage_;
  Copies& copies_;
  BodyEmitter& inner_;
  std::vector<HoistedCopy> hoisted_;  ///< under way
};

}  // namespace polyweft::ir
