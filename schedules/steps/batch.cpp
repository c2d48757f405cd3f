// batch: elements of a batch of small problems are lanes, each with what it needs in registers.
//
//   for b: for i: T[b, i] = ..; for b: for i: Y[b, i] = ..        batch 16
//                                                                 for b.1: for b vector: for i unroll: T = ..; for i
//                                                                 unroll: Y[b, i] = ..
//
// Legal where all that the loops write is apart for different elements (ir::batch_lanes looks at the subscripts of the
// base order).
#include "ir/passes/batch_lanes.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

Result<NestTemplate> batch(NestTemplate t, const BatchStep& step) {
  constexpr int64_t kMostLanes = 64, kMostParts = 1024;
  const std::string subject = print(Step{step});
  if (t.trace.steps.size() != 1)
    return fail("PW0304", subject + ": other steps stand beside it", {"make batch the only step"});
  if (step.lanes < 2 || step.lanes > kMostLanes || (step.lanes & (step.lanes - 1)) != 0)
    return fail("PW0304", subject + ": lanes are a power of two, 2 to 64", {"write batch 8 or batch 16"});
  if (step.parts > kMostParts)
    return fail("PW0304", subject + ": more than 1024 parts", {"one part for each thread is enough"});
  if (auto base = instantiate(t, {}); !base) return base.error();
  t.batch = step;
  if (auto nest = instantiate(t, {}); !nest) return nest.error();
  return t;
}

}  // namespace polyweft::schedules
