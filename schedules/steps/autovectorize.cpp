// autovectorize: vectors, unrolling and registers are left to the compiler's own pipeline.
//
//   for i: for j: Y[i, j] = ..          autovectorize
//                                       for i: for j: Y[i, j] = ..
//
// Legal by structure: like a mark it changes how the loops are lowered. The compiler proves its own transformations on
// the code, and is given only facts that hold: buffers share no memory, and sums may be reassociated where the class
// allows it.
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

/// What the step cannot stand beside: explicit vectors and register blocks are lowered by our own rules.
Status leaves_vectors_open(const Stage& stage) {
  const std::string subject = "autovectorize: " + stage.name;
  for (const TemplateLoop& loop : stage.loops)
    if (loop.mark.kind == MarkKind::vector || loop.mark.kind == MarkKind::tensor || loop.mark.kind == MarkKind::axis)
      return fail("PW0304",
                  subject + " has a " + std::string(loop.mark.kind == MarkKind::axis ? "bound" : "vector") + " loop " +
                      loop.name,
                  {"take the steps vectorize, tensorize and bind out of the trace"});
  const auto is_register = [](Scope scope) { return scope == Scope::reg || scope == Scope::tile; };
  bool has_registers = stage.accumulator && is_register(stage.accumulator->scope);
  has_registers |= stage.placement.kind == Placement::Kind::compute_at && is_register(stage.placement.scope);
  for (const Promotion& promotion : stage.promotions) has_registers |= is_register(promotion.scope);
  if (has_registers)
    return fail("PW0304", subject + " keeps values in registers",
                {"keep them on the stack, or leave them to the compiler"});
  return Ok{};
}

}  // namespace

Result<NestTemplate> autovectorize(NestTemplate t, const AutovectorizeStep& step) {
  for (const Stage& stage : t.stages)
    if (auto open = leaves_vectors_open(stage); !open) return open.error();
  t.auto_vectorized = true;
  t.avoids_gathers = step.avoids_gathers;
  return t;
}

}  // namespace polyweft::schedules
