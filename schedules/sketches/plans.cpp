#include "schedules/sketches/plans.h"

#include <algorithm>
#include <map>

#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

void Plan::append(const Plan& other) {
  steps.insert(steps.end(), other.steps.begin(), other.steps.end());
  decisions.insert(decisions.end(), other.decisions.begin(), other.decisions.end());
  constraints.insert(constraints.end(), other.constraints.begin(), other.constraints.end());
}

int64_t PlanContext::lanes() const {
  return lanes_of(t, stage, machine);
}

std::string PlanContext::name(uint32_t index) const {
  return index_name(t, stage, index);
}

std::string PlanContext::decision(const std::string& what) const {
  if (t.stages.size() == 1) return what;
  std::string out = what + "_" + stage.name;
  std::replace(out.begin(), out.end(), '.', '_');
  std::replace(out.begin(), out.end(), '@', '_');
  return out;
}

bool is_alive(const NestTemplate& t, uint32_t stage) {
  return t.stages[stage].placement.kind != Placement::Kind::inlined;
}

bool is_private(const NestTemplate& t, uint32_t stage) {
  const auto& made = equation_of(t, t.stages[stage]).targets;
  return made.size() == 1 && t.program.tensors[made[0]].kind == TensorKind::local &&
         definitions(t, made[0]).size() == 1;
}

std::optional<NestTemplate> with_steps(NestTemplate t, const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    auto next = apply(std::move(t), step);
    if (!next) return std::nullopt;
    t = std::move(*next);
  }
  return t;
}

PlanContext context_for(const NestTemplate& t, uint32_t stage, const Machine& machine) {
  return PlanContext{t, t.stages[stage], machine, table_of(t, t.stages[stage])};
}

double bytes_of(const NestTemplate& t, TensorId tensor) {
  double bytes = static_cast<double>(size_bytes(t.program.tensors[tensor].type));
  for (size_t d = 0; d < t.boxes[tensor].lo.size(); ++d)
    bytes *= static_cast<double>(t.boxes[tensor].hi[d] - t.boxes[tensor].lo[d]);
  return bytes;
}

double points_of(const Stage& stage) {
  double out = 1;
  for (size_t k = 0; k < stage.lo.size(); ++k)
    out *= static_cast<double>(std::max<int64_t>(stage.hi[k] - stage.lo[k], 0));
  return out;
}

Size add_size(Plan& plan, const PlanContext& c, const std::string& what, int64_t guess,
              std::vector<int64_t> candidates) {
  if (c.openness == Openness::settled || candidates.size() < 2) return Size{guess, ""};
  candidates.push_back(guess);
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  Decision decision{c.decision(what), guess, std::move(candidates)};
  plan.decisions.push_back(decision);
  return Size{0, decision.name};
}

std::vector<int64_t> equal_parts(int64_t extent, const std::vector<int64_t>& wanted, int64_t unit) {
  std::vector<int64_t> out;
  for (int64_t size : wanted) {
    int64_t parts = std::max<int64_t>((extent + size - 1) / std::max<int64_t>(size, 1), 1);
    int64_t part = (extent + parts - 1) / parts;
    out.push_back((part + unit - 1) / unit * unit);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::string> loop_order(const PlanContext& c, const std::vector<uint32_t>& outer,
                                    const std::vector<TileStep::Level>& levels, const std::vector<uint32_t>& points) {
  return loop_order(c, 0, outer, levels, points);
}

std::vector<std::string> loop_order(const PlanContext& c, size_t before, const std::vector<uint32_t>& outer,
                                    const std::vector<TileStep::Level>& levels, const std::vector<uint32_t>& points) {
  std::vector<std::string> out;
  std::map<std::string, int> count;
  for (const auto& level : levels) {
    if (out.size() == before)
      for (uint32_t index : outer) out.push_back(c.name(index));
    out.push_back(level.index + "." + std::to_string(++count[level.index]));
  }
  if (before >= levels.size())
    for (uint32_t index : outer) out.push_back(c.name(index));
  for (uint32_t index : points) out.push_back(c.name(index));
  return out;
}

Constraint block_in_registers(const std::string& rows, const std::string& columns, int64_t lanes, int64_t registers) {
  constexpr int64_t kBroadcast = 1, kFree = 1;
  const double part = 1.0 / static_cast<double>(lanes);
  return {
      "registers", {{part, {rows, columns}}, {part, {columns}}}, static_cast<double>(registers - kBroadcast - kFree)};
}

std::vector<LayoutDigit> layout_with_last(size_t rank, size_t last) {
  std::vector<LayoutDigit> out;
  for (size_t d = 0; d < rank; ++d)
    if (d != last) out.push_back({LayoutDigit::Part::whole, "d" + std::to_string(d), {}});
  out.push_back({LayoutDigit::Part::whole, "d" + std::to_string(last), {}});
  return out;
}

namespace {

bool reads_each_once(const NestTemplate& t, uint32_t reduction, uint32_t reader) {
  const Stage& r = t.stages[reduction];
  const Stage& z = t.stages[reader];
  TensorId tensor = equation_of(t, r).targets[0];
  if (equation_of(t, r).targets.size() != 1 || z.reduces || z.data_indices != r.data_indices ||
      z.lo != std::vector<int64_t>(r.lo.begin(), r.lo.begin() + r.data_indices) ||
      z.hi != std::vector<int64_t>(r.hi.begin(), r.hi.begin() + r.data_indices) || !z.guards.empty())
    return false;
  if (t.program.tensors[tensor].kind != TensorKind::local || definitions(t, tensor).size() != 1) return false;
  for (uint32_t k = 0; k < t.stages.size(); ++k)
    if (k != reader && reads(t, t.stages[k], tensor)) return false;
  auto accesses = reads_of(t, z, tensor);
  for (const Slot& slot : equation_of(t, z).slots)
    if (slot.var == kNoVar) return false;
  for (const Access& access : accesses)
    for (uint32_t d = 0; d < access.index.size(); ++d)
      if (access.index[d].data || !(access.index[d].affine == Affine::variable(t.program.index_var(d)))) return false;
  return !accesses.empty();
}

}  // namespace

bool is_epilogue_of(const NestTemplate& t, uint32_t reduction, uint32_t reader) {
  return t.stages[reader].inside.empty() && reads_each_once(t, reduction, reader);
}

bool reads_in_place(const NestTemplate& t, uint32_t reduction, uint32_t reader) {
  const auto& sums = t.stages[reduction].inside;
  const auto& values = t.stages[reader].inside;
  return std::all_of(values.begin(), values.end(),
                     [&](const Affine& e) { return std::count(sums.begin(), sums.end(), e) > 0; }) &&
         reads_each_once(t, reduction, reader);
}

Plan plan_stage(const PlanContext& c) {
  if (!c.stage.reduces) {
    const auto interleaved = c.site == Site::root ? plan_interleaved(c) : std::nullopt;
    return interleaved ? *interleaved : plan_pure(c);
  }
  if (equation_of(c.t, c.stage).targets.size() != 1) return plan_states(c);
  if (c.site == Site::attached && is_row_stencil(c)) return plan_row_stencil(c);
  if (auto shape = block_shape(c)) return is_tap_block(c, *shape) ? plan_tap_block(c, *shape) : plan_block(c, *shape);
  if (auto index = lane_index(c)) return plan_lanes(c, *index);
  return plan_pure(c);
}

}  // namespace polyweft::schedules
