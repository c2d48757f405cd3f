// What the parts of code generation know of memory: where buffers lie, places of accesses, and what was loaded.
#pragma once

#include "targets/common/memory/places.h"

namespace polyweft::targets {

/// Of one function.
struct Addresses {
  Values values;
  Buffers& buffers;
  KnownLoads& loads;
  MovingPointers& pointers;
  Places& places;
};

/// Owns them.
struct AddressParts : ValueParts {
  AddressParts(const NewFunction& of, std::vector<llvm::Value*> bases, CodeEmitter& further)
      : ValueParts(of),
        buffers(of.nest, std::move(bases)),
        loads(values()),
        pointers(values(), buffers),
        places(values(), buffers, pointers, loads, further) {}
  Addresses addresses() { return {values(), buffers, loads, pointers, places}; }

  Buffers buffers;
  KnownLoads loads;
  MovingPointers pointers;
  Places places;
};

class MemoryPart : protected ValuePart {
 protected:
  explicit MemoryPart(const Addresses& addresses)
      : ValuePart(addresses.values),
        buffers_(addresses.buffers),
        loads_(addresses.loads),
        pointers_(addresses.pointers),
        places_(addresses.places),
        bases_(buffers_.bases()) {}

  void forget_values();

  Buffers& buffers_;
  KnownLoads& loads_;
  MovingPointers& pointers_;
  Places& places_;
  const std::vector<llvm::Value*>& bases_;
};

}  // namespace polyweft::targets
