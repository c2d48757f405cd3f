// Places of accesses: offsets in elements, addresses, alignment, one offset a lane.
#pragma once

#include <string>
#include <vector>

#include "targets/common/code_emitter.h"
#include "targets/common/memory/known_loads.h"
#include "targets/common/memory/moving_pointers.h"

namespace polyweft::targets {

class Places : ValuePart {
 public:
  Places(const Values& values, const Buffers& buffers, MovingPointers& pointers, KnownLoads& loads,
         CodeEmitter& further)
      : ValuePart(values), buffers_(buffers), pointers_(pointers), loads_(loads), further_(further) {}

  /// In elements. `gathers`: where to put values of subscripts that depend on data; the offset has variables in their
  /// stead. Null where the access has none.
  Affine offset_of(const Access& access, std::vector<llvm::Value*>* gathers);
  Place place_of(const Access& access);
  /// Lanes a fixed stride apart, no data in the subscripts.
  Place place_at(BufferId id, const Affine& offset);
  int64_t alignment_of(BufferId id, const Affine& offset) const;
  void name_place(Place& place, BufferId id, const Affine& offset) const;
  llvm::Value* pointers_of(const Place& place, llvm::Type* type);
  /// Lanes that are masked off may lie anywhere, but a load of a page that is not there costs some hundred cycles where
  /// all of its lanes are masked off.
  Place in_reach(Place place, BufferId buffer);
  /// One element, by the base of its buffer.
  llvm::Value* pointer_to(BufferId buffer, const Affine& offset);
  /// Elements `first` .. `first + count` are memory of the buffer, whatever the loops around do.
  bool lies_inside(BufferId id, const Affine& first, int64_t count) const;
  /// The element of each lane, relative to variables outside the vector; empty where a lane's place is no fixed
  /// distance from the first's.
  std::vector<Affine> places_of_lanes(const Affine& offset) const;

 private:
  void spread_lanes(Place& place, BufferId id, const Affine& offset);
  /// Of a layout by xor.
  llvm::Value* xor_pointer(BufferId id, const Affine& offset);

  const Buffers& buffers_;
  MovingPointers& pointers_;
  KnownLoads& loads_;
  CodeEmitter& further_;
};

}  // namespace polyweft::targets
