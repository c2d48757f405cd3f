// What a program adds that links a product: words for whoever does it.
#pragma once

#include <string>

#include "polyweft/loop_nest.h"
#include "targets/backend.h"

namespace polyweft::targets {

/// Of the archive with the runtime in it.
inline constexpr const char* kLinkedWithArchive = "-lpthread -ldl -lm";

/// Of an object: "the C library alone", or the functions of the runtime that its code calls, and where they are.
std::string linked_with_object(const LoopNest& nest, Caller caller);

}  // namespace polyweft::targets
