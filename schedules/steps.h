// Steps: pure functions from a template to a template, one a file in steps/. Each is legal by a theorem of
// docs/theorems.md or by structure; what is not legal is refused with PW03xx and, where a dependence is the reason,
// with a pair of instances.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "poly/band.h"
#include "polyweft/nest_template.h"

namespace polyweft::schedules {

/// What steps for recurrences ask of isl. A driver passes the questions to a child process.
struct Isl {
  std::shared_ptr<const LoopNest> recurrence_nest =
      nullptr;  ///< the base nest (poly/base_nest.h) of a program with a recurrence
  std::function<Result<poly::BandFacts>(const poly::BandQuestion&)> band_facts = nullptr;
  std::function<Result<std::vector<poly::BandProposal>>()> propose_bands = nullptr;
};
/// Every equation as a nest of its own, loops in the order of its indices, in a topological order. `recurrence_nest` is
/// the base nest that serves programs with a recurrence (made with isl, see poly/base_nest.h); PW0320 where one is
/// needed and there is none.
Result<NestTemplate> base_template(const Program& normalized, NumericsClass cls,
                                   std::shared_ptr<const LoopNest> recurrence_nest = nullptr);
/// The same for steps to follow: statements of recurrences are marked as in need of a band.
NestTemplate unscheduled_template(const Program& normalized, NumericsClass cls);
/// Does an element of some tensor depend on another element of the same tensor?
bool has_recurrence(const Program& normalized);
/// No step changes the order: what runs is the base order.
bool runs_base_order(const Trace& trace);
/// base_template and then every step of the trace. PW0321 where a recurrence is left without a band.
Result<NestTemplate> replay(const Program& normalized, NumericsClass cls, const Trace& trace, const Isl& isl);
/// The same from a template on that was made by the first steps of this trace: the others are applied.
Result<NestTemplate> replay_rest(NestTemplate begun, const Trace& trace, const Isl& isl = {});
/// PW0321 where a recurrence is left without a band.
Status has_bands(const NestTemplate& t);
Result<NestTemplate> replay(const Program& normalized, NumericsClass cls, const Trace& trace,
                            std::shared_ptr<const LoopNest> recurrence_nest = nullptr);

/// A step that names a split statement acts on each of its parts.
Result<NestTemplate> apply(NestTemplate t, const Step& step, const Isl& isl = {});
Result<NestTemplate> band(NestTemplate t, const BandStep& step, const Isl& isl);
Result<NestTemplate> skew(NestTemplate t, const SkewStep& step, const Isl& isl);
Result<NestTemplate> shift(NestTemplate t, const ShiftStep& step, const Isl& isl);
Result<NestTemplate> reverse(NestTemplate t, const ReverseStep& step, const Isl& isl);
Result<NestTemplate> isolate(NestTemplate t, const IsolateStep& step);
Result<NestTemplate> store(NestTemplate t, const StoreStep& step);
Result<NestTemplate> cut(NestTemplate t, const CutStep& step);
Result<NestTemplate> snapshot(NestTemplate t, const SnapshotStep& step);
Result<NestTemplate> online(NestTemplate t, const OnlineStep& step);
Result<NestTemplate> overlap(NestTemplate t, const OverlapStep& step);
Result<NestTemplate> wavefront(NestTemplate t, const WavefrontStep& step);
Result<NestTemplate> fold(NestTemplate t, const FoldStep& step, const Isl& isl);
Result<NestTemplate> rfactor(NestTemplate t, const RfactorStep& step);
Result<NestTemplate> tile(NestTemplate t, const TileStep& step);
Result<NestTemplate> permute(NestTemplate t, const PermuteStep& step);
Result<NestTemplate> parallel(NestTemplate t, const ParallelStep& step);
Result<NestTemplate> bind(NestTemplate t, const BindStep& step);
Result<NestTemplate> vectorize(NestTemplate t, const VectorizeStep& step);
Result<NestTemplate> unroll(NestTemplate t, const UnrollStep& step);
Result<NestTemplate> promote(NestTemplate t, const PromoteStep& step);
Result<NestTemplate> accumulate(NestTemplate t, const AccumulateStep& step);
Result<NestTemplate> inline_producer(NestTemplate t, const InlineStep& step);
Result<NestTemplate> compute_at(NestTemplate t, const ComputeAtStep& step);
Result<NestTemplate> fuse(NestTemplate t, const FuseStep& step);
Result<NestTemplate> split(NestTemplate t, const SplitStep& step);
Result<NestTemplate> index_set_split(NestTemplate t, const IndexSetSplitStep& step);
Result<NestTemplate> stream(NestTemplate t, const StreamStep& step);
Result<NestTemplate> batch(NestTemplate t, const BatchStep& step);
Result<NestTemplate> autovectorize(NestTemplate t, const AutovectorizeStep& step);
Result<NestTemplate> pipeline(NestTemplate t, const PipelineStep& step);
Result<NestTemplate> prefetch(NestTemplate t, const PrefetchStep& step);
Result<NestTemplate> tensorize(NestTemplate t, const TensorizeStep& step);
Result<NestTemplate> distribute(NestTemplate t, const DistributeStep& step);

}  // namespace polyweft::schedules
