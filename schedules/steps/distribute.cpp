// distribute Z: back to a nest of its own. Legal by structure: the order of the stages is topological, so that all
// sources are complete nests before and all readers come after.
#include "schedules/bands.h"
#include "schedules/placement.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

/// Point loops of a band inside loop `at` become loops of each statement; whether the sequence may be so is asked of
/// the relations afterwards.
Result<NestTemplate> distribute_band(NestTemplate t, const DistributeStep& step) {
  auto number = band_named(t, step.statement);
  if (!number) return number.error();
  Stage& frame = t.stages[t.bands[*number].frame];
  auto depth = depth_of(frame, step.at);
  if (!depth) return depth.error();
  for (uint32_t k = *depth; k < frame.loops.size(); ++k)
    if (!is_point_loop(frame.loops[k]) || frame.loops[k].mark != Mark{})
      return fail("PW0304",
                  "distribute " + step.statement + " at " + step.at + ": loop " + frame.loops[k].name +
                      " inside is no plain point loop",
                  {"permute tile loops outwards first"});
  for (uint32_t far : alone_in(t, *number))
    if (t.stages[far].placement.depth > *depth)
      return fail("PW0304",
                  "distribute " + step.statement + " at " + step.at + ": " + t.stages[far].name +
                      " runs alone in tiles of a loop inside",
                  {"distribute first, or isolate at a loop outside"});
  frame.loops.resize(*depth);
  return t;
}

}  // namespace

Result<NestTemplate> distribute(NestTemplate t, const DistributeStep& step) {
  if (!step.at.empty()) return distribute_band(std::move(t), step);
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  if (band_of(t, *id))
    return fail("PW0304", "distribute " + stage.name + ": it is part of a band",
                {"distribute BAND at LOOP: each statement has the loops inside for itself"});
  if (stage.placement.kind == Placement::Kind::inlined)
    return fail("PW0304", "distribute " + stage.name + ": it is inlined", {"remove the step that does it"});
  if (stage.placement.kind == Placement::Kind::at_root)
    return fail("PW0304", "distribute " + stage.name + ": it is a nest of its own already");
  Placement old = stage.placement;
  stage.placement = Placement{};
  // What it reads must not stay private to the former host.
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    const Stage& source = t.stages[k];
    if (source.placement.kind != Placement::Kind::compute_at || source.placement.host != old.host) continue;
    if (reads_any(t, stage, equation_of(t, source).targets))
      return fail("PW0314",
                  "distribute " + stage.name + ": it reads " + source.name + ", which lives inside a loop of " +
                      t.stages[old.host].name,
                  {"distribute " + source.name + " first"});
  }
  return t;
}

}  // namespace polyweft::schedules
