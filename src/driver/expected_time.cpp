#include "driver/expected_time.h"

#include "driver/first_choices.h"

namespace polyweft {

Result<double> expected_ns(const CompileService& compiler, const CostModel& model, const LoopNest& nest, int threads) {
  const auto cycles = compiler.expected_cycles(nest, threads);
  if (!cycles) return cycles.error();
  if (*cycles <= 0) return model.predict_ns(nest);  // nothing is known of the target's instructions
  return predicted_together(model.predict_ns(nest), model.predict_ns(nest, *cycles));
}

Timing expected_timing(double ns, double incumbent_ns) {
  Timing timing;
  timing.median_ns = timing.min_ns = ns;
  if (incumbent_ns > 0) timing.ratio = timing.ratio_lo = timing.ratio_hi = ns / incumbent_ns;
  return timing;
}

RunRequest comparing_only(const LoadableKernel& candidate) {
  RunRequest request;
  request.candidate = candidate;
  request.time_budget = std::chrono::milliseconds(0);
  return request;
}

}  // namespace polyweft
