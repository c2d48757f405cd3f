// Times of kernels whose runner is an emulator: what a call would take on the machine that the target describes, by the
// cost model and by LLVM's scheduling model of its core.
#pragma once

#include "driver/compile_service.h"
#include "polyweft/cost_model.h"
#include "polyweft/loop_nest.h"
#include "polyweft/runner.h"

namespace polyweft {

/// Nanoseconds. Errors as of CompileService::expected_cycles.
Result<double> expected_ns(const CompileService& compiler, const CostModel& model, const LoopNest& nest, int threads);
/// Of no samples; `incumbent_ns` 0: there is none to compare with.
Timing expected_timing(double ns, double incumbent_ns);
/// A request that only compares: nobody looks at an emulator's clock.
RunRequest comparing_only(const LoadableKernel& candidate);

}  // namespace polyweft
