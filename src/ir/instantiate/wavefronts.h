// Wavefronts: tiles whose numbers have one sum, and the bounds that leave out waves without an instance.
#pragma once

#include <cstddef>

#include "ir/instantiate/body_emitter.h"
#include "ir/instantiate/nest_writer.h"

namespace polyweft::ir {

/// for w: for p_1, p_2, ..: p_0 = w - p_1 - p_2 - .., where p_m are the numbers of tiles; bounds keep every p in its
/// range. Loop `depth` is the outermost tile loop of a wavefront.
NodeId emit_wave(NestWriter& nest, BodyEmitter& inner, Body body, size_t depth);

}  // namespace polyweft::ir
