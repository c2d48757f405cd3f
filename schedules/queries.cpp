#include "schedules/queries.h"

#include <algorithm>
#include <functional>

#include "ir/nests/determined.h"
#include "schedules/hulls.h"

namespace polyweft::schedules {

const Equation& equation_of(const NestTemplate& t, const Stage& stage) {
  return t.program.equations[stage.equation];
}

int64_t lanes_of(const NestTemplate& t, const Stage& stage, const Machine& machine) {
  const auto& targets = equation_of(t, stage).targets;
  const int64_t bytes = targets.empty() ? 8 : size_bytes(t.program.tensors[targets[0]].type);
  return std::max<int64_t>(1, machine.vector_bytes() / std::max<int64_t>(bytes, 1));
}

std::string index_name(const NestTemplate& t, const Stage& stage, uint32_t index) {
  return equation_of(t, stage).index_names[index];
}

Result<uint32_t> stage_named(const NestTemplate& t, const std::string& name) {
  std::string known;
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    if (t.stages[k].name == name) return k;
    known += (known.empty() ? "" : " ") + t.stages[k].name;
  }
  return fail("PW0302", "trace: there is no statement '" + name + "'", {"statements are " + known});
}

Result<TensorId> tensor_named(const NestTemplate& t, const std::string& name, const std::string& subject) {
  for (TensorId id = 0; id < t.program.tensors.size(); ++id)
    if (t.program.tensors[id].name == name) return id;
  return fail("PW0302", subject + ": there is no tensor '" + name + "'");
}

std::optional<uint32_t> dimension_number(const std::string& name, uint32_t rank, char letter) {
  for (uint32_t d = 0; d < rank; ++d)
    if (name == letter + std::to_string(d)) return d;
  return std::nullopt;
}

Result<uint32_t> loop_named(const Stage& stage, const std::string& name) {
  for (uint32_t k = 0; k < stage.loops.size(); ++k)
    if (stage.loops[k].name == name) return k;
  for (uint32_t k = 0; k < stage.loops.size(); ++k)
    if (!stage.loops[k].step.decision.empty() && stage.loops[k].step.decision == name) return k;
  std::string known;
  for (const auto& loop : stage.loops) known += (known.empty() ? "" : " ") + loop.name;
  return fail("PW0303", "statement " + stage.name + " has no loop '" + name + "'", {"its loops are " + known});
}

Result<uint32_t> depth_of(const Stage& stage, const std::string& name) {
  if (name == "root") return uint32_t{0};
  auto loop = loop_named(stage, name);
  if (!loop) return loop.error();
  return *loop + 1;
}

Result<uint32_t> index_named(const NestTemplate& t, const Stage& stage, const std::string& name) {
  const auto& names = equation_of(t, stage).index_names;
  for (uint32_t k = 0; k < names.size(); ++k)
    if (names[k] == name) return k;
  std::string known;
  for (const auto& n : names) known += (known.empty() ? "" : " ") + n;
  return fail("PW0303", "statement " + stage.name + " has no index '" + name + "'", {"its indices are " + known});
}

bool is_point_loop(const TemplateLoop& loop) {
  return ir::is_point_loop(loop);
}

bool is_register_loop(const TemplateLoop& loop) {
  return loop.mark.kind == MarkKind::unroll || loop.mark.kind == MarkKind::vector || loop.mark.kind == MarkKind::tensor;
}

bool runs_once(const Stage& stage, const TemplateLoop& loop) {
  return loop.step.decision.empty() && loop.cuts.empty() &&
         loop.step.constant >= stage.hi[loop.index] - stage.lo[loop.index];
}

std::vector<int64_t> rounded_steps(const Stage& stage) {
  constexpr int64_t kOpen = INT64_MAX;
  std::vector<int64_t> out(stage.loops.size(), kOpen);
  std::vector<int64_t> inside(stage.lo.size(), 1);
  for (size_t k = stage.loops.size(); k-- > 0;) {
    const TemplateLoop& loop = stage.loops[k];
    int64_t& unit = inside[loop.index];
    if (unit != kOpen && loop.step.decision.empty()) out[k] = (loop.step.constant + unit - 1) / unit * unit;
    const bool has_lanes = loop.mark.kind == MarkKind::vector;
    unit = !has_lanes ? out[k] : loop.lanes.decision.empty() ? loop.lanes.constant : kOpen;
  }
  return out;
}

bool is_order_free(NumericsClass cls, const Program& program, const Equation& equation) {
  if (!equation.rhs || equation.rhs->op != Op::reduce) return true;
  const Reduction& reduction = equation.rhs->reduction;
  switch (reduction.reducer) {
    case Reducer::sum:
    case Reducer::prod:
      return cls == NumericsClass::reassoc || !is_float(equation.rhs->args[0]->type);
    case Reducer::combiner: {
      const Combiner& combiner = program.combiners[reduction.combiner];
      return cls == NumericsClass::reassoc && combiner.associative && combiner.commutative;
    }
    default:  // argmax, argmin: the state holds the index, and of equal values the smaller index wins whatever the
              // order
      return true;
  }
}

std::string why_order_counts(NumericsClass cls, const Program& program, const Equation& equation) {
  const Reduction& reduction = equation.rhs->reduction;
  const bool is_combiner = reduction.reducer == Reducer::combiner;
  if (!is_combiner || cls != NumericsClass::reassoc)
    return "class " + std::string(name_of(cls)) + " keeps the order of this reduction";
  const Combiner& combiner = program.combiners[reduction.combiner];
  return "combiner " + combiner.name + " is not " + (combiner.associative ? "commutative" : "associative");
}

std::string instance_text(const NestTemplate& t, const Stage& stage, const std::vector<int64_t>& point) {
  std::string out;
  for (uint32_t k = 0; k < point.size(); ++k)
    out += (k ? ", " : "") + index_name(t, stage, k) + "=" + std::to_string(point[k]);
  return stage.name + "[" + out + "]";
}

bool contains(const NestTemplate& t, const Stage& stage, const std::vector<int64_t>& point) {
  std::vector<int64_t> values(t.program.parameters.size(), 0);
  values.insert(values.end(), point.begin(), point.end());
  for (size_t k = 0; k < point.size(); ++k)
    if (point[k] < stage.lo[k] || point[k] >= stage.hi[k]) return false;
  for (const auto& condition : stage.inside)
    if (evaluate(condition, values) < 0) return false;
  return std::all_of(stage.guards.begin(), stage.guards.end(), [&](const Guard& g) { return evaluate(g, values); });
}

namespace {

/// Calls f for points of the hull in lexicographic order until it returns true or the budget is spent.
bool search_points(const Stage& stage, int64_t budget, const std::function<bool(const std::vector<int64_t>&)>& f) {
  std::vector<int64_t> point = stage.lo;
  for (size_t k = 0; k < point.size(); ++k)
    if (stage.lo[k] >= stage.hi[k]) return false;
  while (budget-- > 0) {
    if (f(point)) return true;
    size_t k = point.size();
    while (k > 0 && ++point[k - 1] >= stage.hi[k - 1]) {
      point[k - 1] = stage.lo[k - 1];
      --k;
    }
    if (k == 0) return false;
  }
  return false;
}

constexpr int64_t kSearchBudget = 100'000;

}  // namespace

std::optional<std::vector<int64_t>> first_point(const NestTemplate& t, const Stage& stage) {
  std::optional<std::vector<int64_t>> found;
  search_points(stage, kSearchBudget, [&](const auto& point) {
    if (contains(t, stage, point)) found = point;
    return found.has_value();
  });
  return found;
}

std::optional<std::pair<std::vector<int64_t>, std::vector<int64_t>>> neighbours_along(const NestTemplate& t,
                                                                                      const Stage& stage,
                                                                                      uint32_t index) {
  std::optional<std::pair<std::vector<int64_t>, std::vector<int64_t>>> found;
  search_points(stage, kSearchBudget, [&](const auto& point) {
    auto next = point;
    ++next[index];
    if (contains(t, stage, point) && contains(t, stage, next)) found = {point, next};
    return found.has_value();
  });
  return found;
}

namespace {

/// Two points of one accumulator: first < second in lexicographic order, but second's `inner` index is smaller.
std::optional<std::pair<std::vector<int64_t>, std::vector<int64_t>>> reversed_pair(const NestTemplate& t,
                                                                                   const Stage& stage, uint32_t outer,
                                                                                   uint32_t inner) {
  std::optional<std::pair<std::vector<int64_t>, std::vector<int64_t>>> found;
  search_points(stage, kSearchBudget, [&](const auto& point) {
    auto next = point;
    ++next[outer];
    for (next[inner] = stage.lo[inner]; next[inner] < point[inner]; ++next[inner])
      if (contains(t, stage, point) && contains(t, stage, next)) {
        found = {point, next};
        return true;
      }
    return false;
  });
  return found;
}

}  // namespace

Status keeps_reduction_order(const NestTemplate& t, const Stage& stage, const std::vector<TemplateLoop>& loops,
                             const std::string& subject) {
  if (!stage.reduces || is_order_free(t.cls, t.program, equation_of(t, stage))) return Ok{};
  std::vector<uint32_t> seen;
  for (const auto& loop : loops) {
    uint32_t index = loop.index;
    if (index < stage.data_indices || runs_once(stage, loop)) continue;
    for (uint32_t later : seen) {
      if (later <= index) continue;
      auto pair = reversed_pair(t, stage, index, later);
      if (!pair) continue;
      return fail("PW0305",
                  subject + ": " + why_order_counts(t.cls, t.program, equation_of(t, stage)) + ", and loop " +
                      loop.name + " inside a loop over " + index_name(t, stage, later) + " reverses it",
                  {instance_text(t, stage, pair->first) + " comes before " + instance_text(t, stage, pair->second) +
                       " and would come after it",
                   "use class reassoc and combiners that are associative and commutative, or keep the loops over "
                   "reduced indices in their order"});
    }
    seen.push_back(index);
  }
  return Ok{};
}

std::vector<Access> reads_of(const NestTemplate& t, const Stage& stage, TensorId tensor) {
  std::vector<Access> out;
  visit(equation_of(t, stage).rhs, [&](const ExprNode& e) {
    if (e.op == Op::read && e.access.id == tensor) out.push_back(e.access);
  });
  return out;
}

bool reads(const NestTemplate& t, const Stage& stage, TensorId tensor) {
  return !reads_of(t, stage, tensor).empty();
}

bool reads_any(const NestTemplate& t, const Stage& stage, const std::vector<TensorId>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [&](TensorId id) { return reads(t, stage, id); });
}

bool defines(const Equation& equation, TensorId tensor) {
  return std::find(equation.targets.begin(), equation.targets.end(), tensor) != equation.targets.end();
}

std::vector<uint32_t> definitions(const NestTemplate& t, TensorId tensor) {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    const auto& targets = equation_of(t, t.stages[k]).targets;
    if (std::find(targets.begin(), targets.end(), tensor) != targets.end()) out.push_back(k);
  }
  return out;
}

namespace {

bool is_attached_to(const Stage& attached, uint32_t host) {
  return (attached.placement.kind == Placement::Kind::compute_at ||
          attached.placement.kind == Placement::Kind::fused) &&
         attached.placement.host == host;
}

}  // namespace

bool runs_inside(const NestTemplate& t, uint32_t stage, uint32_t host, uint32_t depth) {
  for (const Stage* at = &t.stages[stage];
       at->placement.kind == Placement::Kind::compute_at || at->placement.kind == Placement::Kind::fused;
       at = &t.stages[at->placement.host])
    if (at->placement.host == host) return at->placement.depth >= depth;
  return false;
}

std::vector<uint32_t> used_depths(const NestTemplate& t, uint32_t stage) {
  std::vector<uint32_t> out;
  for (const auto& promotion : t.stages[stage].promotions) out.push_back(promotion.depth);
  if (t.stages[stage].accumulator) out.push_back(t.stages[stage].accumulator->depth);
  for (const Band& band : t.bands)
    if (band.frame == stage && band.overlap.depth > 0) out.insert(out.end(), {1, band.overlap.depth});
  for (const auto& attached : t.stages)
    if (is_attached_to(attached, stage)) {
      out.push_back(attached.placement.depth);
      if (attached.placement.slide) out.push_back(attached.placement.depth - 1);
    }
  return out;
}

void shift_depths(NestTemplate& t, uint32_t stage, uint32_t from, uint32_t by) {
  auto shift = [&](uint32_t& depth) {
    if (depth > from) depth += by;
  };
  for (auto& promotion : t.stages[stage].promotions) shift(promotion.depth);
  if (t.stages[stage].accumulator) shift(t.stages[stage].accumulator->depth);
  for (auto& attached : t.stages)
    if (is_attached_to(attached, stage)) shift(attached.placement.depth);
}

DeltaBox order_of_folds(const Stage& stage) {
  DeltaBox out;
  out.relation = "order of reduction";
  out.lo.assign(stage.lo.size(), 0);
  out.hi.assign(stage.lo.size(), 0);
  bool outer = false;
  for (uint32_t k = stage.data_indices; k < stage.lo.size(); ++k) {
    int64_t extent = stage.hi[k] - stage.lo[k];
    if (extent <= 1) continue;
    out.lo[k] = outer ? 1 - extent : 0;
    out.hi[k] = 1;
    outer = true;
  }
  return out;
}

std::vector<TemplateLoop> point_loops(const NestTemplate& t, const Stage& stage, const std::vector<uint32_t>& order) {
  std::vector<TemplateLoop> out;
  auto add = [&](uint32_t index) {
    TemplateLoop loop;
    loop.index = index;
    loop.step = Size{1, ""};
    loop.name = index_name(t, stage, index);
    out.push_back(std::move(loop));
  };
  for (uint32_t index : order) add(index);
  for (uint32_t index = 0; index < stage.lo.size(); ++index)
    if (std::find(order.begin(), order.end(), index) == order.end()) add(index);
  return out;
}

Stage fresh_stage(const NestTemplate& t, EquationId q) {
  const Program& program = t.program;
  const Equation& equation = program.equations[q];
  Domain domain = domain_of(program, equation);
  Stage stage;
  stage.equation = q;
  for (const Slot& slot : equation.slots) stage.data_indices += slot.var != kNoVar;
  stage.reduces = equation.rhs->op == Op::reduce;
  for (uint32_t k = 0; k < equation.index_names.size(); ++k) {
    const Interval& values = domain.values[program.index_var(k)];
    stage.lo.push_back(values.lo);
    stage.hi.push_back(std::max(values.hi + 1, values.lo));
  }
  stage.loops = point_loops(t, stage, {});
  stage.inside = std::move(domain.inside);
  stage.guards = std::move(domain.guards);
  if (stage.reduces && !is_order_free(t.cls, program, equation)) stage.relations.push_back(order_of_folds(stage));
  return stage;
}

void renumber_stages(NestTemplate& t, uint32_t last, int64_t by) {
  const auto moved = [&](uint32_t stage) { return stage > last ? static_cast<uint32_t>(stage + by) : stage; };
  for (Stage& stage : t.stages) stage.placement.host = moved(stage.placement.host);
  for (Band& band : t.bands) band.frame = moved(band.frame);
}

std::vector<uint32_t> parts_named(const NestTemplate& t, const std::string& name) {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    const std::string& own = t.stages[k].name;
    if (own == name || (t.stages[k].origin && own.compare(0, name.size() + 2, name + ".p") == 0)) out.push_back(k);
  }
  return out;
}

Status may_run_at_once_along(const NestTemplate& t, uint32_t id, uint32_t index, const std::string& subject) {
  const Stage& stage = t.stages[id];
  if (index >= stage.data_indices && stage.hi[index] - stage.lo[index] > 1) {
    Error error = fail("PW0306", subject + ": iterations fold into the same element");
    if (auto pair = neighbours_along(t, stage, index))
      error.notes.push_back(instance_text(t, stage, pair->first) + " and " + instance_text(t, stage, pair->second) +
                            " update one accumulator");
    error.notes.push_back("choose a loop over a data index");
    return error;
  }
  const bool is_attached = stage.placement.kind == Placement::Kind::fused &&
                           t.stages[stage.placement.host].is_frame;  // the band's relations are asked after the step
  if (stage.placement.kind != Placement::Kind::at_root && !is_attached)
    return fail("PW0304", subject + ": the statement runs inside another nest");
  return Ok{};
}

Status may_run_at_once(const NestTemplate& t, uint32_t id, uint32_t loop, const std::string& subject) {
  const Stage& stage = t.stages[id];
  if (stage.loops[loop].kind !=
      TemplateLoop::Kind::reduction_part) {  // parts of a reduction write results of their own
    if (auto status = may_run_at_once_along(t, id, stage.loops[loop].index, subject); !status) return status.error();
  } else if (stage.placement.kind != Placement::Kind::at_root) {
    return fail("PW0304", subject + ": the statement runs inside another nest");
  }
  if (is_register_loop(stage.loops[loop])) return fail("PW0304", subject + ": the loop is unrolled or vectorized");
  if (stage.accumulator && stage.accumulator->depth <= loop)
    return fail("PW0306", subject + ": the accumulator outside would be shared", {"accumulate inside this loop"});
  return Ok{};
}

}  // namespace polyweft::schedules
