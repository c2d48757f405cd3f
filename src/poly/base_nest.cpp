#include "poly/base_nest.h"

#include <algorithm>
#include <optional>

#include "poly/ast_loops.h"
#include "poly/boxes.h"
#include "poly/symbolic_boxes.h"

namespace polyweft::poly {
namespace {

/// Scanning a recurrence takes more of isl than a question about it.
constexpr unsigned long kLoopQuota = 20 * kQuota;

bool is_defined_by_recurrence(const Program& program, const std::vector<Timed>& times, TensorId id) {
  return std::any_of(times.begin(), times.end(), [&](const Timed& each) {
    const auto& targets = program.equations[each.equation].targets;
    return each.recursive && std::find(targets.begin(), targets.end(), id) != targets.end();
  });
}

std::vector<int64_t> numbers_of(const AffineBox& box) {
  std::vector<int64_t> out;
  for (const Affine& extent : box.extent) out.push_back(extent.is_constant() ? extent.constant : kUnfolded);
  return out;
}

using Windows = std::vector<std::vector<int64_t>>;

/// A window that saves less than half of a dimension costs more than it gives, where memory is no matter: a remainder
/// in each access, along which no compiler takes vectors.
Windows without_wide_windows(Windows windows, const std::vector<AffineBox>& boxes) {
  for (TensorId id = 0; id < windows.size(); ++id) {
    const std::vector<int64_t> extents = numbers_of(boxes[id]);
    for (size_t d = 0; d < windows[id].size(); ++d) {
      int64_t& window = windows[id][d];
      if (window != kUnfolded && extents[d] != kUnfolded && 2 * window > extents[d])
        window = std::max<int64_t>(1, extents[d]);
    }
  }
  return windows;
}

/// Windows of the locals that recurrences define; where isl gives up a tensor stays whole.
Windows all_windows(const Model& model, const std::vector<Timed>& times, const std::vector<AffineBox>& boxes,
                    Pieces pieces) {
  const Program& program = model.program();
  Windows out(program.tensors.size());
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    if (program.tensors[id].kind != TensorKind::local || !is_defined_by_recurrence(program, times, id)) continue;
    if (auto windows = fold_windows(model, times, id, numbers_of(boxes[id]), pieces)) out[id] = *std::move(windows);
  }
  return out;
}

Status check_workspace(const NestBuilder& builder, const Program& program, const BaseOptions& options) {
  int64_t bytes = builder.workspace_bytes();
  if (bytes <= options.workspace_limit_bytes) return Ok{};
  return fail("PW0820",
              program.name + ": the intermediate tensors take " + std::to_string(bytes) +
                  " bytes, more than the limit of " + std::to_string(options.workspace_limit_bytes),
              {"choose smaller sizes, or a larger workspace limit"});
}

int64_t heap_bytes(const LoopNest& nest) {
  int64_t bytes = 0;
  for (const Buffer& buffer : nest.buffers)
    if (buffer.scope == Scope::heap)
      bytes += allocated_elements(buffer) * size_bytes(buffer.type);  // below the limit of the workspace
  return bytes;
}

Result<NodeId> body_of(const Model& model, const std::vector<Ordered>& order, const std::vector<Timed>& times,
                       NestBuilder& builder) {
  std::vector<NodeId> children;
  for (uint32_t part = 0; part < order.size(); ++part) {
    if (!order[part].recursive && order[part].statements[0].name.find('/') == std::string::npos) {
      children.push_back(builder.loops(order[part].statements[0].equation));
      continue;
    }
    auto loops = scanning_loops(model, times, part, builder);
    if (!loops) return loops.error();
    children.push_back(*loops);
  }
  return builder.sequence(std::move(children));
}

Result<LoopNest> nest_in(const Model& model, const std::vector<Ordered>& order, NumericsClass cls,
                         const std::vector<AffineBox>& hulls, const BaseOptions& options) {
  const Program& program = model.program();
  auto times =
      answer(model.context(), kLoopQuota, program.name + ": base order", [&] { return timeline(model, order); });
  if (!times) return times.error();
  // Exact windows take isl seconds where conditions cut domains: they are asked where memory is short.
  const bool is_bound = model.sizes() == Sizes::bound;
  const auto builder_of = [&](Windows windows) {
    return NestBuilder(model.sizes(), program, cls, hulls, std::move(windows));
  };
  std::optional<NestBuilder> builder;
  if (is_bound && !options.leanest)
    builder.emplace(builder_of(without_wide_windows(all_windows(model, *times, hulls, Pieces::hulls), hulls)));
  if (!builder || !check_workspace(*builder, program, options)) {
    Windows smallest = all_windows(model, *times, hulls, Pieces::exact);
    if (!options.leanest && !is_bound) smallest = without_wide_windows(std::move(smallest), hulls);
    builder.emplace(builder_of(std::move(smallest)));
  }
  if (auto fits = check_workspace(*builder, program, options); is_bound && !fits) return fits.error();
  auto body = answer(model.context(), kLoopQuota, program.name + ": loops",
                     [&] { return body_of(model, order, *times, *builder); });
  if (!body) return body.error();
  if (!*body) return body->error();
  return builder->finish(**body);
}

}  // namespace

Result<LoopNest> base_nest(const Program& program, NumericsClass cls, const BaseOptions& options) {
  auto hulls = boxes(program);
  if (!hulls) return hulls.error();
  Context context;
  Model model(context, program, Sizes::bound);
  // A quota bounds no time: with ten times as many operations isl's scheduler spent minutes in one integer program, and
  // the order by elements is at hand.
  auto order = base_order(model, kQuota);
  if (!order) return order.error();
  auto nest = nest_in(model, *order, cls, affine_boxes(*hulls), options);
  const bool fits = nest.ok();
  if (fits ? !options.leanest : nest.error().code != "PW0820") return nest;
  auto leaner = order_by_bands(model);
  if (!leaner) return nest;
  auto second = nest_in(model, *leaner, cls, affine_boxes(*hulls), options);
  if (!second || (nest && heap_bytes(*nest) <= heap_bytes(*second))) return nest;
  return second;
}

Result<LoopNest> symbolic_nest(const Program& program, NumericsClass cls) {
  Context context;
  Model model(context, program, Sizes::symbolic);
  auto hulls =
      answer(context, kLoopQuota, program.name + ": boxes of the tensors", [&] { return symbolic_boxes(model); });
  if (!hulls) return hulls.error();
  if (!*hulls) return hulls->error();
  auto order = base_order(model, 4 * kQuota);
  if (!order) return order.error();
  return nest_in(model, *order, cls, **hulls, {});
}

}  // namespace polyweft::poly
