#include "schedules/seeds/seed_template.h"

#include <algorithm>
#include <set>

#include "schedules/trace_decisions.h"

namespace polyweft::schedules {
namespace {

bool only_helps(const Step& step) {
  return std::holds_alternative<PrefetchStep>(step) || std::holds_alternative<StreamStep>(step) ||
         std::holds_alternative<UnrollStep>(step) || std::holds_alternative<PromoteStep>(step) ||
         std::holds_alternative<SplitStep>(step);
}

/// The decisions that steps use, and of `chosen` their values.
void keep_used(Trace& trace, std::vector<std::vector<int64_t>>& chosen) {
  const std::set<std::string> used = decisions_in(trace.steps);
  for (size_t d = trace.decisions.size(); d-- > 0;) {
    if (used.count(trace.decisions[d].name)) continue;
    trace.decisions.erase(trace.decisions.begin() + static_cast<std::ptrdiff_t>(d));
    for (auto& values : chosen) values.erase(values.begin() + static_cast<std::ptrdiff_t>(d));
  }
}

}  // namespace

std::optional<OpenTrace> open_trace(const Trace& trace, const Counterparts& counterparts, const SizeChange& change) {
  const auto open = with_open_sizes(trace, counterparts, change);
  auto named = open ? renamed(*open, counterparts) : std::nullopt;
  if (!named) return std::nullopt;
  OpenTrace out{std::move(*named), {}};
  out.chosen.push_back(values_of(out.trace));
  return out;
}

std::vector<OpenTrace> merged(std::vector<OpenTrace> traces) {
  std::vector<OpenTrace> out;
  for (OpenTrace& trace : traces) {
    const auto has_same_decisions = [&](const OpenTrace& o) {
      return std::equal(o.trace.decisions.begin(), o.trace.decisions.end(), trace.trace.decisions.begin(),
                        trace.trace.decisions.end(), [](const auto& a, const auto& b) { return a.name == b.name; });
    };
    const auto same = std::find_if(out.begin(), out.end(), [&](const OpenTrace& o) {
      return o.trace.steps == trace.trace.steps && has_same_decisions(o);
    });
    if (same == out.end()) {
      out.push_back(std::move(trace));
      continue;
    }
    for (size_t d = 0; d < trace.trace.decisions.size(); ++d) {
      auto& all = same->trace.decisions[d].candidates;
      const auto& more = trace.trace.decisions[d].candidates;
      all.insert(all.end(), more.begin(), more.end());
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
    }
    for (size_t c = 0; c < trace.chosen.size(); ++c) {
      if (std::count(same->chosen.begin(), same->chosen.end(), trace.chosen[c])) continue;
      same->chosen.push_back(trace.chosen[c]);
      if (c < trace.names.size()) same->names.push_back(trace.names[c]);
    }
  }
  return out;
}

namespace {

Result<SeedTemplate> replayed(const Program& normalized, NumericsClass cls, const OpenTrace& trace, const Isl& isl) {
  auto begun = runs_base_order(trace.trace) ? base_template(normalized, cls, isl.recurrence_nest)
                                            : unscheduled_template(normalized, cls);
  if (!begun) return begun.error();
  SeedTemplate out{std::move(*begun), trace.chosen, trace.names};
  out.made.trace = trace.trace;
  std::vector<Step> kept;
  for (const Step& step : trace.trace.steps) {
    auto next = schedules::apply(only_helps(step) ? out.made : std::move(out.made), step, isl);
    if (!next && !only_helps(step)) return next.error();
    if (!next) {
      out.left_out.push_back(print(step));
      continue;
    }
    out.made = std::move(*next);
    kept.push_back(step);
  }
  if (auto ok = has_bands(out.made); !ok) return ok.error();
  out.made.trace.steps = std::move(kept);
  keep_used(out.made.trace, out.chosen);
  return out;
}

/// Some orders are legal for a band's tiles of one size alone: blocks of as many cells as are kept, or of all there
/// are.
std::optional<OpenTrace> with_tiles_of_bands_kept(const OpenTrace& trace) {
  OpenTrace out = trace;
  std::set<std::string> bands;
  bool is_changed = false;
  for (Step& step : out.trace.steps) {
    if (const auto* band = std::get_if<BandStep>(&step)) bands.insert(band->name);
    auto* tile = std::get_if<TileStep>(&step);
    if (!tile || !bands.count(tile->statement)) continue;
    for (auto& level : tile->levels)
      for (size_t d = 0; d < out.trace.decisions.size(); ++d)
        if (out.trace.decisions[d].name == level.size.decision) {
          level.size = Size{out.chosen.front()[d], ""};
          is_changed = true;
        }
  }
  return is_changed ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

Result<SeedTemplate> seed_template(const Program& normalized, NumericsClass cls, const OpenTrace& trace,
                                   const Isl& isl) {
  auto open = replayed(normalized, cls, trace, isl);
  if (open) return open;
  const auto kept = with_tiles_of_bands_kept(trace);
  return kept ? replayed(normalized, cls, *kept, isl) : std::move(open);
}

NestTemplate in_parallel(NestTemplate made) {
  for (const Step& step : made.trace.steps)
    if (std::holds_alternative<ParallelStep>(step) || std::holds_alternative<WavefrontStep>(step)) return made;
  std::vector<Step> steps;
  for (const Stage& stage : made.stages) {
    const bool is_nest = stage.placement.kind == Placement::Kind::at_root && !stage.is_frame && !stage.loops.empty();
    if (is_nest && stage.loops[0].index < stage.data_indices)
      steps.push_back(ParallelStep{stage.name, stage.loops[0].name, 0});
  }
  for (const Step& step : steps)
    if (auto next = schedules::apply(made, step)) {
      made = std::move(*next);
      made.trace.steps.push_back(step);
    }
  return made;
}

std::optional<std::vector<int64_t>> instantiable(const NestTemplate& made, const std::vector<int64_t>& values) {
  if (instantiate(made, values)) return values;
  for (size_t d = 0; d < values.size(); ++d)
    for (const int64_t other : made.trace.decisions[d].candidates) {
      std::vector<int64_t> changed = values;
      changed[d] = other;
      if (other != values[d] && instantiate(made, changed)) return changed;
    }
  return std::nullopt;
}

}  // namespace polyweft::schedules
