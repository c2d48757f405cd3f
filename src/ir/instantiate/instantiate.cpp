// instantiate(): sizes into a template.
#include <algorithm>

#include "ir/instantiate/emitter.h"
#include "ir/nests/instruction.h"
#include "ir/passes/batch_lanes.h"
#include "ir/passes/forwarded_sums.h"
#include "ir/passes/lanes_as_threads.h"
#include "ir/passes/left_to_compiler.h"
#include "ir/passes/pipelined.h"

namespace polyweft {
namespace {

bool has_lanes_as_threads(const NestTemplate& t) {
  const auto is_bound = [](const TemplateLoop& loop) {
    if (loop.mark.kind == MarkKind::vector) return !loop.mark.detail.empty();
    const auto instruction = ir::instruction_named(loop.mark.detail);
    return loop.mark.kind == MarkKind::tensor && instruction && (*instruction)->is_of_warp();
  };
  return std::any_of(t.stages.begin(), t.stages.end(),
                     [&](const Stage& stage) { return std::any_of(stage.loops.begin(), stage.loops.end(), is_bound); });
}

/// The name of a tensor that is copied into memory that threads share; empty where there is none.
std::string shared_copy(const NestTemplate& t) {
  for (const Stage& stage : t.stages)
    for (const Promotion& promotion : stage.promotions)
      if (promotion.scope == Scope::shared) return t.program.tensors[promotion.tensor].name;
  return {};
}

}  // namespace

Result<LoopNest> instantiate(const NestTemplate& nest_template, const std::vector<int64_t>& decisions) {
  if (nest_template.fixed) {
    if (!nest_template.auto_vectorized && !nest_template.batch) return *nest_template.fixed;
    LoopNest nest = ir::with_fused_products(*nest_template.fixed, nest_template.fuses_products);
    if (nest_template.auto_vectorized) return ir::left_to_compiler(std::move(nest), nest_template.avoids_gathers);
    return ir::batch_lanes(nest, *nest_template.batch);
  }
  const size_t wanted = nest_template.trace.decisions.size();
  if (decisions.size() != wanted)
    return fail("PW0310", "instantiate: " + std::to_string(decisions.size()) + " values for " + std::to_string(wanted) +
                              " decisions");
  auto nest = ir::Emitter(nest_template, decisions).run();
  if (nest && has_lanes_as_threads(nest_template))
    nest = ir::lanes_as_threads(ir::forwarded_sums(std::move(nest).value()));
  else if (const std::string name = shared_copy(nest_template); nest && !name.empty())
    return fail("PW0311", "promote " + name + " shared: no lanes are bound to threads that could share it",
                {"bind lanes to thread_x, or promote on the heap"});
  if (nest) nest = ir::pipelined(std::move(nest).value());
  if (nest && nest_template.auto_vectorized)
    nest = ir::left_to_compiler(std::move(nest).value(), nest_template.avoids_gathers);
  if (nest && nest_template.batch) return ir::batch_lanes(*nest, *nest_template.batch);
  return nest;
}

}  // namespace polyweft
