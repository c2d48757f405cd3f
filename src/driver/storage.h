// What a nest stores where: the report of `show --stage storage`.
#pragma once

#include "polyweft/loop_nest.h"
#include "polyweft/tuner.h"

namespace polyweft {

/// `program`: bound and normalized. PW0822 where a number does not fit.
Result<Storage> storage_of(const LoopNest& nest, const Program& program);

}  // namespace polyweft
