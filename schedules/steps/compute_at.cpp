// compute_at P in Y at i.1 heap: each iteration of that loop first computes what it reads of P, into a private buffer.
//
//   for y: P          for i.1: alloc P.w { for y in window: P;  ..Y reads P.w.. }
//   for i.1: ..Y..
//
// compute_at P in Y at y heap slide: the buffer lives outside that loop, and each iteration computes only what no
// earlier one has.
//
//   for y: P          alloc P.w { <rows before the first>  for y: { <new rows of P>  ..Y reads P.w.. } }
//   for y: ..Y..
//
// Legal by T10 (sliding window): what is read moves up along one dimension, at one speed; the loop is serial. The cells
// along that dimension are a ring of the window's size.
//
// Legal by T5 (single assignment recompute): the window covers what is read inside (box arithmetic on the subscripts,
// at instantiation), P's own sources are ready before the loop or made at the same place or further out, and the buffer
// is private to the iteration.
#include <algorithm>

#include "schedules/placement.h"
#include "schedules/slides.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

Status check_producer(const NestTemplate& t, uint32_t id, const std::string& subject) {
  const Stage& stage = t.stages[id];
  const Equation& equation = equation_of(t, stage);
  for (TensorId target : equation.targets) {
    if (definitions(t, target).size() != 1) return fail("PW0308", subject + ": several equations share it");
    if (t.program.tensors[target].kind != TensorKind::local)
      return fail("PW0308", subject + ": an output is stored on its whole domain, once",
                  {"place the other statement instead, or fuse"});
  }
  for (const Slot& slot : equation.slots)
    if (slot.var == kNoVar) return fail("PW0308", subject + ": a slot is not an index");
  for (const Stage& attached : t.stages)
    if (attached.placement.kind != Placement::Kind::at_root && attached.placement.host == id &&
        attached.placement.kind != Placement::Kind::inlined)
      return fail("PW0304", subject + ": " + attached.name + " is placed inside it");
  if (stage.placement.kind != Placement::Kind::at_root)
    return fail("PW0304", subject + ": it is placed already", {"distribute it first"});
  for (const Stage& reader : t.stages)
    for (const Promotion& promotion : reader.promotions)
      if (defines(equation, promotion.tensor))
        return fail("PW0304", subject + ": " + reader.name + " reads a promoted copy of it",
                    {"leave out one of the two"});
  return Ok{};
}

/// Every reader must run inside the loop where the buffer lives.
Status check_readers(const NestTemplate& t, uint32_t id, uint32_t host, uint32_t depth, const std::string& subject) {
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    const Stage& reader = t.stages[k];
    if (k == host || reader.placement.kind == Placement::Kind::inlined ||
        !reads_any(t, reader, equation_of(t, t.stages[id]).targets))
      continue;
    if (!runs_inside(t, k, host, depth))
      return fail("PW0314", subject + ": " + reader.name + " reads it outside that loop",
                  {"place " + reader.name + " there first"});
  }
  return Ok{};
}

/// Windows that slide move with a loop of the outermost nest, one tensor each: states of several components do not go
/// together with them.
Status check_sliding(const NestTemplate& t, const std::string& subject) {
  std::vector<uint32_t> outermost(t.stages.size());  // of each attached stage: the host of its hosts
  const auto is_attached = [&](uint32_t k) { return t.stages[k].placement.kind == Placement::Kind::compute_at; };
  for (uint32_t k = 0; k < t.stages.size(); ++k)
    for (outermost[k] = k; is_attached(outermost[k]);) outermost[k] = t.stages[outermost[k]].placement.host;
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    if (!is_attached(k) || !t.stages[k].placement.slide) continue;
    const auto has_state = [&](uint32_t other) {
      return is_attached(other) && outermost[other] == outermost[k] &&
             equation_of(t, t.stages[other]).targets.size() > 1;
    };
    bool is_deep = t.stages[k].placement.host != outermost[k];
    for (uint32_t other = 0; other < t.stages.size(); ++other) is_deep |= has_state(other);
    if (is_deep)
      return fail("PW0315",
                  subject + ": windows slide in a nest that is one nest deep and makes one tensor a statement",
                  {"leave out 'slide', or place the states elsewhere"});
  }
  return Ok{};
}

}  // namespace

Result<NestTemplate> compute_at(NestTemplate t, const ComputeAtStep& step) {
  auto id = stage_named(t, step.producer);
  if (!id) return id.error();
  auto host = stage_named(t, step.consumer);
  if (!host) return host.error();
  const std::string subject = "compute_at " + step.producer + " in " + step.consumer + " at " + step.at;
  auto depth = depth_of(t.stages[*host], step.at);
  if (!depth) return depth.error();
  if (*id == *host) return fail("PW0304", subject + ": a statement cannot run inside itself");
  const Placement::Kind of_host = t.stages[*host].placement.kind;
  if (of_host != Placement::Kind::at_root && of_host != Placement::Kind::compute_at)
    return fail("PW0304", subject + ": the host runs at the end of another nest");
  if (auto status = check_producer(t, *id, subject); !status) return status.error();
  if (auto status = check_readers(t, *id, *host, *depth, subject); !status) return status.error();
  if (auto status = is_open_place(t.stages[*host], *depth, subject); !status) return status.error();
  if (auto status = sources_are_ready(t, *id, *host, *depth, subject); !status) return status.error();
  auto layout = layout_parts(t, t.stages[*id], equation_of(t, t.stages[*id]).targets[0], step.layout);
  if (!layout) return layout.error();
  for (TemplateLoop& loop : t.stages[*id].loops)
    if (loop.mark.kind == MarkKind::parallel || loop.mark.kind == MarkKind::axis) loop.mark = Mark{};
  t.stages[*id].placement = Placement{Placement::Kind::compute_at, *host, *depth, step.scope, {}, std::move(*layout)};
  if (step.sliding) t.stages[*id].placement.slide = Slide{};
  if (auto status = check_sliding(t, subject); !status) return status.error();
  if (!step.sliding) return t;
  auto slide = slide_of(t, *id, *host, *depth, *step.sliding, subject + " slide");
  if (!slide) return slide.error();
  t.stages[*id].placement.slide = *slide;
  return t;
}

}  // namespace polyweft::schedules
