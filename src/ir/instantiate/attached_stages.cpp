#include "ir/instantiate/attached_stages.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "ir/instantiate/branches.h"
#include "ir/instantiate/conditions.h"
#include "ir/instantiate/tensor_buffers.h"

namespace polyweft::ir {

/// Rows of a window in memory: the vectors that begin where the producer's greatest part does lie on cache lines.
void AttachedStages::line_up(const Stage& producer, View& view) {
  Buffer& buffer = nest_.buffer(view.buffer);
  const std::vector<Slot>& slots = schedule_.equation_of(producer).slots;
  const bool is_free = buffer.scope == Scope::heap && producer.placement.layout.empty() && buffer.folds.empty();
  if (!is_free || !has_long_rows(buffer) || slots.back().var == kNoVar) return;
  const uint32_t along = slots.back().var - schedule_.program().index_var(0);
  const auto& loops = producer.loops;
  const auto tile = std::find_if(loops.begin(), loops.end(),
                                 [&](const TemplateLoop& loop) { return loop.index == along && !loop.cuts.empty(); });
  const auto lanes = std::find_if(loops.begin(), loops.end(), [&](const TemplateLoop& loop) {
    return loop.index == along && loop.mark.kind == MarkKind::vector;
  });
  if (tile == loops.end() || lanes == loops.end()) return;
  const Affine from_cut = view.origin.back() - Affine::of(tile->cuts.front());
  const auto past = nest_.variables().residue(from_cut, kLineBytes / size_bytes(buffer.type));
  if (past && *past != 0) put_on_line(buffer, view, -*past);
}

NodeId AttachedStages::compute_at(uint32_t producer, NestPlace at) {
  const Stage& stage = schedule_.stage(producer);
  const auto& targets = schedule_.targets_of(producer);
  const auto window = windows_.window_of_all(at.body, at.depth, targets);
  if (!window) return inner_.emit_rest(std::move(at));
  const auto produced = [&](const Window& part) {
    return is_empty(part) ? kNoNode : inner_.emit(windows_.body_in(producer, part), 0);
  };
  if (const auto& sliding = slides_.of_stage[producer]) {
    const NodeId made = produced(only_new(*sliding, *window, at.body.ranges[sliding->index].origin));
    const NodeId rest = inner_.emit_rest(std::move(at));
    return nest_.seq({made, rest});
  }
  std::vector<BufferId> buffers;
  for (TensorId tensor : targets) {
    buffers.push_back(storage_.make_window(*window, tensor, stage.placement.scope, ".w"));
    nest_.buffer(buffers.back()).layout = schedule_.layout_of(stage.placement.layout, window->extent);
    View view{buffers.back(), window->origin, std::nullopt};
    line_up(stage, view);
    storage_.push(tensor, std::move(view));
  }
  const NodeId made = produced(*window);
  const NodeId rest = inner_.emit_rest(std::move(at));
  for (TensorId tensor : targets) storage_.pop(tensor);
  return nest_.within(buffers, nest_.seq({made, rest}));
}

NodeId AttachedStages::alone(const std::vector<uint32_t>& statements, const NestPlace& at) {
  const std::vector<Affine>& conditions = schedule_.stage(statements[0]).placement.alone;
  LoopVariables& variables = nest_.variables();
  std::vector<Guard> tests;
  bool is_never_so = false;
  for (const Affine& condition : conditions) {
    const Affine least = least_value(at.body, condition);
    const auto [from, to] = variables.numeric_bounds(least);
    is_never_so |= to < 0;
    if (from < 0) tests.push_back(guard_ge0(least));
  }
  if (is_never_so) return inner_.emit_rest(at);
  std::vector<NodeId> nests;
  const std::vector<LoopVariables::Values> outside = variables.all();
  for (const Guard& test : tests) variables.narrow(test.e);
  for (uint32_t statement : statements) {
    Body own = windows_.body_tied(statement, at.body);
    mark_implied(own, conditions.size());
    nests.push_back(emit_fixed(nest_, inner_, std::move(own), 0));
  }
  variables.restore(outside);
  const NodeId then = nest_.seq(std::move(nests));
  if (tests.empty()) return then;
  const NodeId rest = inner_.emit_rest(at);
  return nest_.add(If{guard_all(std::move(tests)), then, rest});
}

/// Where the statements that follow are the only readers: buffers for what one iteration here makes.
std::vector<BufferId> AttachedStages::open_private_results(const NestPlace& at) {
  constexpr int64_t kMostStackBytes = 32 << 10;
  std::vector<BufferId> out;
  if (private_results(schedule_, at.body.id) != at.depth) return out;
  const Window window = slot_window(at.body);
  const auto& extent = window.extent;
  for (TensorId tensor : at.body.equation->targets) {
    const int64_t cells = std::accumulate(extent.begin(), extent.end(), int64_t{1}, std::multiplies<>());
    const bool is_small = cells * size_bytes(schedule_.tensor(tensor).type) <= kMostStackBytes;
    out.push_back(storage_.make_window(window, tensor, is_small ? Scope::stack : Scope::heap, ".l"));
    storage_.push(tensor, View{out.back(), window.origin, std::nullopt});
  }
  return out;
}

NodeId AttachedStages::fused(const std::vector<uint32_t>& statements, const NestPlace& at) {
  const std::vector<BufferId> own = open_private_results(at);
  std::vector<NodeId> children = {inner_.emit_rest(at)};
  for (uint32_t statement : statements) {
    Body tied = windows_.body_tied(statement, at.body);
    if (has_no_elements(tied)) continue;
    const bool is_in_frame = at.body.stage->is_frame;
    children.push_back(is_in_frame ? emit_fixed(nest_, inner_, std::move(tied), 0) : inner_.emit(std::move(tied), 0));
  }
  for (size_t k = 0; k < own.size(); ++k) storage_.pop(at.body.equation->targets[k]);
  return nest_.within(own, nest_.seq(std::move(children)));
}

}  // namespace polyweft::ir
