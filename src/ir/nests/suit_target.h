// What classes may round once, and a target has an instruction for.
#pragma once

#include "polyweft/loop_nest.h"
#include "polyweft/nest_template.h"
#include "polyweft/target.h"

namespace polyweft::ir {

/// To round a * b + c once is slow where no instruction does it: which types the template may fuse on this target.
void suit_target(NestTemplate& made, const Target& target);
/// The same for a nest that was made without a target: an error stays.
Result<LoopNest> for_target(const Target& target, Result<LoopNest> nest);

}  // namespace polyweft::ir
