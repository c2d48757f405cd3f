// tile S [j: nc, k: kc]: new loops outside the point loops of S, in this order.
//
//   for i, j, k: S          for j.1 step nc: for k.1 step kc: for i, j, k: S
//
// Legal by T1 (monotone loops): a tile loop is a monotone function of one index. The one active relation inside a
// statement that is no recurrence is the order of its reduction, where the class keeps it.
#include <algorithm>

#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

Result<NestTemplate> tile(NestTemplate t, const TileStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  if (stage.parted)
    return fail("PW0304", "tile " + stage.name + ": its reduction is in parts already", {"tile first, then rfactor"});
  auto first_point = std::find_if(stage.loops.begin(), stage.loops.end(), is_point_loop);
  if (std::any_of(stage.loops.begin(), stage.loops.end(),
                  [](const TemplateLoop& loop) { return loop.mark.kind == MarkKind::vector; }))
    return fail("PW0304", "tile " + stage.name + ": it is vectorized already", {"tile first"});
  auto place = static_cast<uint32_t>(first_point - stage.loops.begin());
  for (const Stage& attached : t.stages)
    if (!stage.is_frame && attached.placement.kind == Placement::Kind::fused && attached.placement.host == *id &&
        attached.placement.depth > place)
      return fail("PW0304", "tile " + stage.name + ": " + attached.name + " is fused into the loops inside",
                  {"tile first, then fuse"});
  std::vector<TemplateLoop> loops = stage.loops;
  for (size_t k = 0; k < step.levels.size(); ++k) {
    auto index = index_named(t, stage, step.levels[k].index);
    if (!index) return index.error();
    if (step.levels[k].size.decision.empty() && step.levels[k].size.constant < 1)
      return fail("PW0304",
                  "tile " + stage.name + ": size " + std::to_string(step.levels[k].size.constant) + " is less than 1");
    if (std::any_of(loops.begin(), loops.end(),
                    [&](const TemplateLoop& l) { return l.index == *index && !l.cuts.empty(); }))
      return fail("PW0304", "tile " + stage.name + ": index " + step.levels[k].index + " is split already",
                  {"tile first, then split the outermost tile loop"});
    TemplateLoop loop;
    loop.kind = TemplateLoop::Kind::tile;
    loop.index = *index;
    loop.step = step.levels[k].size;
    auto level = 1 + std::count_if(loops.begin(), loops.end(),
                                   [&](const TemplateLoop& l) { return l.index == *index && !is_point_loop(l); });
    loop.name = step.levels[k].index + "." + std::to_string(level);
    loops.insert(loops.begin() + place + static_cast<std::ptrdiff_t>(k), std::move(loop));
  }
  if (auto status = keeps_reduction_order(t, stage, loops, "tile " + stage.name); !status) return status.error();
  shift_depths(t, *id, place, static_cast<uint32_t>(step.levels.size()));
  stage.loops = std::move(loops);
  return t;
}

}  // namespace polyweft::schedules
