// The initial state: every equation as a nest of its own. Legal by construction: single assignment, and a topological
// order of the equations executes every source before its sinks.
#include <algorithm>
#include <functional>
#include <map>

#include "ir/text/trace_names.h"
#include "schedules/bands.h"
#include "schedules/hulls.h"
#include "schedules/queries.h"
#include "schedules/slides.h"
#include "schedules/sources.h"
#include "schedules/step_table.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

/// Equations, sources first; nothing where there is a cycle. Among those that are ready the first of the text comes
/// first.
std::optional<std::vector<uint32_t>> topological_order(const Program& program) {
  auto sources = sources_of(program);
  std::vector<uint32_t> order;
  std::vector<char> placed(sources.size(), 0);
  while (order.size() < sources.size()) {
    bool moved = false;
    for (uint32_t q = 0; q < sources.size() && !moved; ++q) {
      bool ready =
          !placed[q] && std::all_of(sources[q].begin(), sources[q].end(), [&](uint32_t r) { return placed[r]; });
      if (!ready) continue;
      placed[q] = 1;
      order.push_back(q);
      moved = true;
    }
    if (!moved) return std::nullopt;
  }
  return order;
}

}  // namespace

bool has_recurrence(const Program& normalized) {
  return !topological_order(normalized);
}

Result<NestTemplate> base_template(const Program& normalized, NumericsClass cls,
                                   std::shared_ptr<const LoopNest> recurrence_nest) {
  NestTemplate t;
  t.program = normalized;
  t.cls = cls;
  t.boxes = tensor_boxes(normalized);
  auto order = topological_order(normalized);
  if (!order) {
    if (!recurrence_nest)
      return fail("PW0320", "program " + normalized.name +
                                " has a recurrence: its base order comes from isl and is missing here");
    t.fixed = std::move(recurrence_nest);
    return t;
  }
  for (EquationId q : *order) {
    t.stages.push_back(fresh_stage(t, q));
    t.stages.back().name = ir::name_in_traces(t.program, q);
  }
  return t;
}

namespace {

/// Statements that need themselves, over others or at once.
std::vector<char> in_cycles(const Program& program) {
  const auto sources = sources_of(program);
  const size_t count = sources.size();
  std::vector<char> out(count, 0);
  for (uint32_t q = 0; q < count; ++q) {
    std::vector<char> seen(count, 0);
    std::vector<uint32_t> open(sources[q].begin(), sources[q].end());
    while (!open.empty()) {
      const uint32_t r = open.back();
      open.pop_back();
      if (seen[r]) continue;
      seen[r] = 1;
      open.insert(open.end(), sources[r].begin(), sources[r].end());
    }
    out[q] = seen[q];
  }
  return out;
}

}  // namespace

NestTemplate unscheduled_template(const Program& normalized, NumericsClass cls) {
  NestTemplate t;
  t.program = normalized;
  t.cls = cls;
  t.boxes = tensor_boxes(normalized);
  const auto order = topological_order(normalized);
  const std::vector<char> is_cyclic = in_cycles(normalized);
  for (uint32_t k = 0; k < normalized.equations.size(); ++k) {
    const EquationId q = order ? (*order)[k] : k;
    t.stages.push_back(fresh_stage(t, q));
    t.stages.back().name = ir::name_in_traces(t.program, q);
    t.stages.back().needs_band = is_cyclic[q] != 0;
  }
  return t;
}

bool runs_base_order(const Trace& trace) {
  return std::all_of(trace.steps.begin(), trace.steps.end(), [](const Step& step) {
    return std::holds_alternative<AutovectorizeStep>(step) || std::holds_alternative<BatchStep>(step);
  });
}

Result<NestTemplate> replay(const Program& normalized, NumericsClass cls, const Trace& trace,
                            std::shared_ptr<const LoopNest> recurrence_nest) {
  return replay(normalized, cls, trace, Isl{std::move(recurrence_nest)});
}

Result<NestTemplate> replay(const Program& normalized, NumericsClass cls, const Trace& trace, const Isl& isl) {
  auto t = runs_base_order(trace) ? base_template(normalized, cls, isl.recurrence_nest)
                                  : unscheduled_template(normalized, cls);
  if (!t) return t;
  return replay_rest(std::move(*t), trace, isl);
}

Result<NestTemplate> replay_rest(NestTemplate begun, const Trace& trace, const Isl& isl) {
  const size_t done = begun.trace.steps.size();
  begun.trace = trace;
  for (size_t k = done; k < trace.steps.size(); ++k) {
    auto next = schedules::apply(std::move(begun), trace.steps[k], isl);
    if (!next) {
      Error error = next.error();
      error.notes.push_back("in step: " + print(trace.steps[k]));
      return error;
    }
    begun = std::move(*next);
  }
  if (auto status = has_bands(begun); !status) return status.error();
  return begun;
}

Status has_bands(const NestTemplate& t) {
  for (const Stage& stage : t.stages)
    if (stage.needs_band)
      return fail("PW0321", "program " + t.program.name + ": " + stage.name + " is part of a recurrence and in no band",
                  {"begin the trace with a step such as: band NAME [t, i] of " + stage.name +
                   ": [t, i]; an empty trace runs the base order"});
  return Ok{};
}

namespace {

/// The statement whose loops the step changes; null for steps that place one statement in another's nest.
std::string* statement_of(Step& step) {
  return std::visit(
      [](auto& s) -> std::string* {
        if constexpr (
            requires { s.statement; } && !requires { s.into; })
          return &s.statement;
        else
          return nullptr;
      },
      step);
}

/// The step for one part. A range that a cut does not meet is left as it is; false where nothing is left of the step.
bool fit(Step& step, const Stage& part) {
  auto* split = std::get_if<SplitStep>(&step);
  auto at = split ? loop_named(part, split->loop) : fail("PW0303", "");
  if (!at) return true;
  const uint32_t index = part.loops[*at].index;
  std::erase_if(split->at, [&](int64_t value) { return value <= part.lo[index] || value >= part.hi[index]; });
  return !split->at.empty();
}

Result<NestTemplate> apply_to_parts(NestTemplate t, const Step& step, const std::vector<uint32_t>& parts,
                                    const Isl& isl) {
  std::vector<std::string> names;
  for (uint32_t part : parts) names.push_back(t.stages[part].name);
  for (const std::string& name : names) {
    Step own = step;
    *statement_of(own) = name;
    if (!fit(own, t.stages[*stage_named(t, name)])) continue;
    auto next = schedules::apply(std::move(t), own, isl);
    if (!next) return next;
    t = std::move(*next);
  }
  return t;
}

/// What is fused into a frame runs in its innermost loop, however many there are now.
Status settle_bands(NestTemplate& t, const Step& step) {
  for (uint32_t b = 0; b < t.bands.size(); ++b) {
    for (uint32_t attached : stages_of(t, b))
      t.stages[attached].placement.depth = static_cast<uint32_t>(t.stages[t.bands[b].frame].loops.size());
    if (auto status = keeps_relations(t, b, print(step)); !status) return status;
  }
  return Ok{};
}

/// The loops of each wavefront, by name.
std::vector<std::vector<std::string>> waves_of(const NestTemplate& t) {
  std::vector<std::vector<std::string>> out;
  for (const Stage& stage : t.stages)
    for (size_t k = 0; k < stage.loops.size(); ++k) {
      if (stage.loops[k].wave == 0) continue;
      out.emplace_back();
      for (size_t m = k; m < std::min(stage.loops.size(), k + stage.loops[k].wave); ++m)
        out.back().push_back(stage.loops[m].name);
    }
  return out;
}

}  // namespace

Result<NestTemplate> apply(NestTemplate t, const Step& step, const Isl& isl) {
  if (t.auto_vectorized)
    return fail("PW0304", print(step) + ": it follows the step autovectorize", {"make autovectorize the last step"});
  if (t.batch) return fail("PW0304", print(step) + ": it follows the step batch", {"make batch the only step"});
  Step named = step;
  if (const std::string* statement = statement_of(named);
      statement && !statement->empty() && !stage_named(t, *statement))
    if (auto parts = parts_named(t, *statement); !parts.empty()) return apply_to_parts(std::move(t), step, parts, isl);
  const auto waves = waves_of(t);
  auto next = kind_of(step).apply(std::move(t), step, isl);
  if (!next) return next;
  const auto waves_now = waves_of(*next);
  for (const auto& wave : waves)
    if (std::find(waves_now.begin(), waves_now.end(), wave) == waves_now.end())
      return fail("PW0304", print(step) + ": the loops of a wavefront keep their places, " + wave.front() + " first",
                  {"wavefront after it"});
  if (auto status = settle_bands(*next, step); !status) return status.error();
  const bool has_new_readers = !statement_of(named) || std::holds_alternative<InlineStep>(step) ||
                               std::holds_alternative<DistributeStep>(step) ||
                               std::holds_alternative<IndexSetSplitStep>(step);
  if (auto status = windows_slide(*next, has_new_readers); !status) return status.error();
  return next;
}

}  // namespace polyweft::schedules
