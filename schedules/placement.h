// Questions about running one statement inside another's nest.
#pragma once

#include "schedules/queries.h"

namespace polyweft::schedules {

/// Is everything that `attached` reads ready inside loops[depth - 1] of `host`? Sources are inputs, nests before the
/// host's, or attached stages placed at that depth or further out. PW0314 names the first that is not.
Status sources_are_ready(const NestTemplate& t, uint32_t attached, uint32_t host, uint32_t depth,
                         const std::string& subject);
/// Each dimension once: whole, or as a quotient and later a remainder by one number. PW0308.
Status is_digit_order(const std::vector<LayoutPart>& parts, uint32_t rank, const std::string& subject);
/// Dimensions of a private copy, outermost first, as numbers: `dN`, or by the index of `stage` that subscripts one
/// alone. PW0308 where they are not a digit order of each dimension (T7).
Result<std::vector<LayoutPart>> layout_parts(const NestTemplate& t, const Stage& stage, TensorId tensor,
                                             const std::vector<LayoutDigit>& layout);
/// The place must lie outside register blocks.
Status is_open_place(const Stage& host, uint32_t depth, const std::string& subject);

}  // namespace polyweft::schedules
