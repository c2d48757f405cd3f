#include "schedules/mutations/mutations.h"

#include <algorithm>
#include <set>

#include "schedules/mutations/draws.h"
#include "schedules/mutations/kinds.h"
#include "schedules/queries.h"
#include "schedules/sketches/plans.h"
#include "schedules/trace_decisions.h"
#include "support/abilities.h"

namespace polyweft::schedules {
namespace {

constexpr Mutation kMutations[] = {
    {"mutation.sizes", "a size that the trace names, with those that are the same", 6, nullptr, resize},
    {"mutation.exchanged_loops", "two loops of a permute step", 2, nullptr, exchange_loops},
    {"mutation.moved_loop", "a loop moves to another place", 2, move_loop, nullptr},
    {"mutation.left_out", "a step, or one of its levels or loops, is left out", 2, nullptr, leave_out_a_step},
    {"mutation.compiler", "lanes and registers are left to the compiler's vectorizers, with gathers or without", 1,
     nullptr, leave_to_compiler},
    {"mutation.tile", "one more tile loop, at any place", 3, add_tile, nullptr},
    {"mutation.unroll", "a loop is unrolled", 2, add_unroll, nullptr},
    {"mutation.lanes", "lanes along an index, in tiles of some vectors or not", 2, add_lanes, nullptr},
    {"mutation.parts", "a reduction in parts", 0.5, add_parts, nullptr},
    {"mutation.copy", "an operand is copied at a loop", 2, add_copy, nullptr},
    {"mutation.changed_copy", "place, memory or layout of a copy", 2, nullptr, change_copy},
    {"mutation.accumulator", "partial results in registers or on the stack", 2, add_accumulator, nullptr},
    {"mutation.stream", "non-temporal stores", 1, add_stream, nullptr},
    {"mutation.prefetch", "software prefetches of what a statement reads", 1, add_prefetch_of_reads, nullptr},
    {"mutation.storage", "a tensor's cells in another order", 1, add_storage, nullptr},
    {"mutation.place", "a statement runs inside a loop of a reader", 2, place_in_reader, nullptr},
    {"mutation.changed_place", "loop, memory or layout of a statement that runs inside another", 2, nullptr,
     change_place},
    {"mutation.inline", "a statement is computed where it is read", 1, inline_in_readers, nullptr},
    {"mutation.fuse", "a statement runs at the end of a loop of one before it", 2, fuse_into_source, nullptr},
    {"mutation.skew", "a member of a band grows with one outside of it", 1, skew_member, nullptr},
    {"mutation.distribute", "the inner loops of a band are no longer shared", 1, distribute_band, nullptr},
};

const Mutation& drawn_mutation(Rng& rng) {
  double total = 0;
  for (const Mutation& m : kMutations) total += m.weight;
  double at = rng.uniform() * total;
  for (const Mutation& m : kMutations)
    if ((at -= m.weight) < 0) return m;
  return kMutations[0];
}

/// Half of the draws by points, half evenly: what takes most of the time is changed most, and nothing never.
std::string drawn_statement(const NestTemplate& t, Rng& rng) {
  std::vector<const Stage*> alive;
  double points = 0;
  for (const Stage& stage : t.stages)
    if (stage.placement.kind != Placement::Kind::inlined) alive.push_back(&stage), points += points_of(stage);
  if (alive.empty()) return "";
  if (rng.chance(0.5)) return one_of(alive, rng)->name;
  double at = rng.uniform() * points;
  for (const Stage* stage : alive)
    if ((at -= points_of(*stage)) < 0) return stage->name;
  return alive.back()->name;
}

/// Before or behind a step of this statement, or at the end.
size_t drawn_place(const Trace& trace, const std::string& statement, Rng& rng) {
  std::vector<size_t> places{trace.steps.size()};
  for (size_t k = 0; k < trace.steps.size(); ++k)
    if (owner_of(trace.steps[k]) == statement) places.insert(places.end(), {k, k + 1});
  return one_of(places, rng);
}

/// The names that are loops of the statement now.
std::vector<std::string> known_loops(const NestTemplate& t, const std::string& statement,
                                     const std::vector<std::string>& names) {
  std::vector<std::string> out;
  const auto id = stage_named(t, statement);
  for (const std::string& name : names)
    if (id && loop_named(t.stages[*id], name)) out.push_back(name);
  return out;
}

/// The step without loops that are gone; nothing where it names none of them, or nothing is left of it.
std::optional<Step> mended(const NestTemplate& t, Step step) {
  const auto mend = [&](const std::string& statement, std::vector<std::string>& loops, size_t least) {
    auto known = known_loops(t, statement, loops);
    const bool helps = known.size() < loops.size() && known.size() >= least;
    loops = std::move(known);
    return helps;
  };
  if (auto* permute = std::get_if<PermuteStep>(&step))
    return mend(permute->statement, permute->loops, 2) ? std::optional(step) : std::nullopt;
  if (auto* unroll = std::get_if<UnrollStep>(&step))
    return mend(unroll->statement, unroll->loops, 1) ? std::optional(step) : std::nullopt;
  return std::nullopt;
}

/// Decisions that no step names are left out, and constraints that name such.
void keep_used_decisions(Trace& trace) {
  const std::set<std::string> used = decisions_in(trace.steps);
  std::erase_if(trace.decisions, [&](const Decision& d) { return !used.contains(d.name); });
  std::erase_if(trace.constraints, [&](const Constraint& constraint) {
    return std::any_of(constraint.terms.begin(), constraint.terms.end(), [&](const Monomial& term) {
      return std::any_of(term.decisions.begin(), term.decisions.end(),
                         [&](const std::string& name) { return !used.contains(name); });
    });
  });
}

bool can_vary(const NestTemplate& t) {
  return !t.fixed && !t.batch;
}

}  // namespace

std::span<const Mutation> mutations() {
  return kMutations;
}

Mutator::Mutator(const Program& normalized, NumericsClass cls, const Machine& machine, Isl isl)
    : begun_(unscheduled_template(normalized, cls)), machine_(machine), isl_(std::move(isl)) {}

std::optional<NestTemplate> Mutator::replayed(Trace trace, const Insertion& insertion) const {
  constexpr int kMostLeftOut = 2;
  int left_out = 0;
  NestTemplate t = begun_;
  std::vector<Step> steps;
  const auto take = [&](const Step& step) {
    auto next = schedules::apply(t, step, isl_);
    if (next) t = std::move(*next), steps.push_back(step);
    return static_cast<bool>(next);
  };
  const auto put_in = [&] {
    const Change& c = *insertion.change;
    const auto made = insertion.steps({c.whole, t, c.machine, c.statement, c.rng});
    return !made.empty() && std::all_of(made.begin(), made.end(), take);
  };
  for (size_t k = 0; k <= trace.steps.size(); ++k) {
    if (insertion.steps && insertion.at == k && !put_in()) return std::nullopt;
    if (k == trace.steps.size() || take(trace.steps[k])) continue;
    if (const auto step = mended(t, trace.steps[k]); step && take(*step)) continue;
    if (std::holds_alternative<BandStep>(trace.steps[k]) || ++left_out > kMostLeftOut) return std::nullopt;
  }
  if (!has_bands(t)) return std::nullopt;
  trace.steps = std::move(steps);
  keep_used_decisions(trace);
  t.trace = std::move(trace);
  return t;
}

std::optional<NestTemplate> Mutator::mutated(const Individual& parent, Rng& rng) const {
  if (!can_vary(parent.t)) return std::nullopt;
  const Mutation& mutation = drawn_mutation(rng);
  if (!is_on(mutation.name)) return std::nullopt;
  const std::string statement = drawn_statement(parent.t, rng);
  const Change change{parent.t, parent.t, machine_, statement, rng};
  const Trace before = with_values(parent.t.trace, parent.decisions);
  Trace trace = before;
  if (mutation.edit && (!mutation.edit(trace, change) || trace == before)) return std::nullopt;
  return replayed(trace, {drawn_place(trace, statement, rng), mutation.insert, &change});
}

// Steps of the statement stand where the parent's first one did, in the other's order.
std::optional<NestTemplate> Mutator::crossed(const Individual& parent, const Individual& other, Rng& rng) const {
  if (!can_vary(parent.t) || !can_vary(other.t)) return std::nullopt;
  const std::string statement = drawn_statement(parent.t, rng);
  const auto is_own = [&](const Step& step) {
    return owner_of(step) == statement && !std::holds_alternative<BandStep>(step);
  };
  const Trace before = with_values(parent.t.trace, parent.decisions);
  const Trace from = with_values(other.t.trace, other.decisions);
  Trace trace = before;
  auto& steps = trace.steps;
  const auto first = std::find_if(steps.begin(), steps.end(), is_own);
  const auto place = first - steps.begin();
  std::erase_if(steps, is_own);
  std::vector<Step> taken;
  std::copy_if(from.steps.begin(), from.steps.end(), std::back_inserter(taken), is_own);
  steps.insert(steps.begin() + place, taken.begin(), taken.end());
  if (steps == before.steps) return std::nullopt;
  const std::set<std::string> used = decisions_in(taken);
  for (const Decision& d : from.decisions) {
    const auto same = std::find_if(trace.decisions.begin(), trace.decisions.end(),
                                   [&](const Decision& own) { return own.name == d.name; });
    if (!used.contains(d.name)) continue;
    if (same == trace.decisions.end())
      trace.decisions.push_back(d);
    else
      *same = d;
  }
  for (const Constraint& constraint : from.constraints)
    if (std::find(trace.constraints.begin(), trace.constraints.end(), constraint) == trace.constraints.end())
      trace.constraints.push_back(constraint);
  return replayed(std::move(trace), {});
}

}  // namespace polyweft::schedules
