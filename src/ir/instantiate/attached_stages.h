// Stages placed at a loop of another stage.
//
//   compute_at T   alloc T.w { <T's nest on the window>  rest }   (a window for each of its targets)
//   fused Z        rest, then <Z's nest on the same ranges>
//   alone          if <the conditions hold at every point reached here> these statements  else rest
#pragma once

#include <cstdint>
#include <vector>

#include "ir/instantiate/body_emitter.h"
#include "ir/instantiate/nest_writer.h"
#include "ir/instantiate/sized_template.h"
#include "ir/instantiate/storage.h"
#include "ir/instantiate/windows.h"

namespace polyweft::ir {

class AttachedStages {
 public:
  AttachedStages(const SizedTemplate& schedule, const Windows& windows, const OpenSlides& slides, NestWriter& nest,
                 Storage& storage, BodyEmitter& inner)
      : schedule_(schedule), windows_(windows), slides_(slides), nest_(nest), storage_(storage), inner_(inner) {}

  /// The producer's nest before what follows here, on what is read there.
  NodeId compute_at(uint32_t producer, NestPlace at);
  /// What follows here, then the statements on the same ranges; what only they read is kept near.
  NodeId fused(const std::vector<uint32_t>& statements, const NestPlace& at);
  /// if <the conditions hold at every point reached here>: these statements, in loops of their own; else what follows.
  NodeId alone(const std::vector<uint32_t>& statements, const NestPlace& at);

 private:
  void line_up(const Stage& producer, View& view);
  std::vector<BufferId> open_private_results(const NestPlace& at);

  const SizedTemplate& schedule_;
  const Windows& windows_;
  const OpenSlides& slides_;
  NestWriter& nest_;
  Storage& storage_;
  BodyEmitter& inner_;
};

}  // namespace polyweft::ir
