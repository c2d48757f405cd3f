// What a call of compiled code is expected to take, from its text alone.
#pragma once

#include <string>
#include <vector>

#include "polyweft/result.h"
#include "polyweft/target.h"
#include "targets/cpu/build.h"
#include "targets/cpu/pipeline.h"

namespace polyweft::targets {

/// Sum over the blocks: visits times cycles by LLVM's MCA, as if all loads hit the first cache. An innermost loop
/// counts as its often visited blocks one after the other, so that chains from one iteration to the next are seen;
/// leaving one costs a wrongly guessed branch. PW0512 where LLVM cannot read the text.
Result<ExpectedCode> expected_code(const std::string& assembly, const std::vector<BlockFrequency>& blocks,
                                   const Target& target);

}  // namespace polyweft::targets
