// distribute Z: back to a nest of its own. Legal by structure: the order of the stages is topological, so that all sources are complete
// nests before and all readers come after.
#include "schedules/placement.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

Result<NestTemplate> distribute(NestTemplate t, const DistributeStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  if (stage.placement.kind == Placement::Kind::inlined) return fail("PW0304", "distribute " + stage.name + ": it is inlined", {"remove the step that does it"});
  if (stage.placement.kind == Placement::Kind::at_root) return fail("PW0304", "distribute " + stage.name + ": it is a nest of its own already");
  Placement old = stage.placement;
  stage.placement = Placement{};
  // What it reads must not stay private to the former host.
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    const Stage& source = t.stages[k];
    if (source.placement.kind != Placement::Kind::compute_at || source.placement.host != old.host) continue;
    if (reads_any(t, stage, equation_of(t, source).targets))
      return fail("PW0314", "distribute " + stage.name + ": it reads " + source.name + ", which lives inside a loop of " + t.stages[old.host].name,
                  {"distribute " + source.name + " first"});
  }
  return t;
}

}  // namespace polyweft::schedules
