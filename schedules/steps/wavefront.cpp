// wavefront jacobi [t.1, i.1, j.1]: tiles whose numbers have one sum run at once.
//
//   for t.1, i.1, j.1: ..          for w: parallel i.1: for j.1: t.1 = w - i.1 - j.1 (in numbers of tiles) ..
//
// Legal by T3: no relation has a negative distance along these members, so tiles of one sum that differ do not depend
// on each other. Loops outside stay as they are: waves of the tiles of one time block, one block after the other.
#include <algorithm>

#include "schedules/bands.h"

namespace polyweft::schedules {

Result<NestTemplate> wavefront(NestTemplate t, const WavefrontStep& step) {
  const std::string subject = "wavefront " + step.band;
  auto number = band_named(t, step.band);
  if (!number) return number.error();
  Stage& frame = t.stages[t.bands[*number].frame];
  if (t.bands[*number].overlap.depth > 0)
    return fail("PW0304", subject + ": tiles that overlap wait for nobody",
                {"parallel " + step.band + " at a tile loop"});
  if (step.loops.size() < 2) return fail("PW0304", subject + ": it takes two loops or more");
  const auto outermost = loop_named(frame, step.loops[0]);
  if (!outermost) return outermost.error();
  const size_t first = *outermost, end = first + step.loops.size();
  for (size_t k = 0; k < step.loops.size(); ++k) {
    auto loop = loop_named(frame, step.loops[k]);
    if (!loop) return loop.error();
    if (*loop != first + k)
      return fail("PW0304", subject + ": its loops must follow one another, in their order", {"permute first"});
  }
  for (size_t k = 0; k < end; ++k) {
    if (is_point_loop(frame.loops[k]) || frame.loops[k].mark != Mark{} || frame.loops[k].wave > 0)
      return fail("PW0304", subject + ": loop " + frame.loops[k].name + " is no plain tile loop", {"tile first"});
    for (size_t other = 0; other < k; ++other)
      if (frame.loops[other].index == frame.loops[k].index)
        return fail("PW0304", subject + ": two loops over " + index_name(t, frame, frame.loops[k].index));
  }
  for (uint32_t k : alone_in(t, *number))
    if (t.stages[k].placement.depth < end)
      return fail("PW0304", subject + ": statements are isolated between these loops");
  frame.loops[first].wave = static_cast<uint32_t>(step.loops.size());
  frame.loops[first + 1].mark = Mark{MarkKind::parallel, 0, "", false};
  return t;
}

}  // namespace polyweft::schedules
