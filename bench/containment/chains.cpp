#include "bench/containment/chains.h"

#include <algorithm>
#include <set>

#include "schedules/mutations/draws.h"
#include "schedules/mutations/mutations.h"
#include "support/abilities.h"

namespace polyweft::containment {
namespace {

constexpr size_t kDraws = 2'000;  // of one mutation at one place: some layouts of copies are drawn once in 600
constexpr size_t kEdits = 400;
constexpr size_t kTries = 20;  // before a mutation whose kind of step is not asked for is given up
constexpr size_t kBeam = 6;

struct State {
  Trace trace;
  NestTemplate made;
  std::vector<std::string> chain;
  Difference left;
};

/// How often each part of the goal is missing in a trace.
std::map<std::vector<std::string>, int> missing_parts(const Trace& trace, const Trace& goal) {
  std::map<std::vector<std::string>, int> out;
  for (const auto& [owner, parts] : parts_of(goal))
    for (const auto& part : parts) ++out[part];
  for (const auto& [owner, parts] : parts_of(trace))
    for (const auto& part : parts) --out[part];
  std::erase_if(out, [](const auto& entry) { return entry.second <= 0; });
  return out;
}

/// Where a step of the statement may be put in (mutations.cpp): before or behind one of its own, or at the end.
std::set<size_t> places_of(const Trace& trace, const std::string& statement) {
  std::set<size_t> out{trace.steps.size()};
  for (size_t k = 0; k < trace.steps.size(); ++k)
    if (schedules::owner_of(trace.steps[k]) == statement) out.insert({k, k + 1});
  return out;
}

class Chains {
 public:
  Chains(const Case& c, const Machine& machine, const Goal& goal)
      : c_(c), machine_(machine), goal_(goal), parts_(parts_of(goal.spelled)) {}

  std::optional<std::vector<std::string>> find(const Trace& from, size_t most) {
    std::vector<State> states;
    take(from, {}, states);
    for (size_t left = most; left > 0 && !states.empty(); --left) {
      std::vector<State> next;
      for (const State& state : states) {
        if (state.left.changes > 2 * left) continue;  // a mutation puts in two parts at most
        for (const auto& mutation : schedules::mutations())
          for (const auto& [statement, changes] : state.left.of) {
            if (!is_on(mutation.name) || statement.empty()) continue;
            mutation.edit ? edit(state, mutation, statement, next) : insert(state, mutation, statement, next);
            if (found_) return found_;
          }
      }
      std::stable_sort(next.begin(), next.end(),
                       [](const State& a, const State& b) { return a.left.weight < b.left.weight; });
      if (next.size() > kBeam) next.erase(next.begin() + kBeam, next.end());
      states = std::move(next);
    }
    return std::nullopt;
  }

 private:
  /// Keeps the trace where it replays; notes the chain where its nest is the goal's.
  void take(Trace trace, std::vector<std::string> chain, std::vector<State>& out) {
    if (!seen_.insert(trace.text()).second) return;
    auto made = schedules::replay(c_.program, c_.cls, trace, c_.isl);
    if (!made) return;
    if (const auto nest = instantiate(*made, {}); nest && hash(*nest) == goal_.hash) found_ = chain;
    Difference left = difference(parts_of(trace), parts_);
    out.push_back({std::move(trace), std::move(*made), std::move(chain), std::move(left)});
  }
  void take_if_nearer(const State& state, const schedules::Mutation& mutation, const std::string& statement,
                      Trace trace, std::vector<State>& out) {
    if (difference(parts_of(trace), parts_).weight >= state.left.weight) return;
    std::vector<std::string> longer = state.chain;
    longer.push_back(std::string(mutation.name) + " " + statement);
    take(std::move(trace), std::move(longer), out);
  }

  void edit(const State& state, const schedules::Mutation& mutation, const std::string& statement,
            std::vector<State>& out) {
    Rng rng(1);
    const schedules::Change change{state.made, state.made, machine_, statement, rng};
    std::set<std::string> drawn;
    for (size_t k = 0; k < kEdits && !found_; ++k) {
      Trace trace = state.trace;
      if (!mutation.edit(trace, change)) continue;
      if (drawn.insert(trace.text()).second) take_if_nearer(state, mutation, statement, std::move(trace), out);
    }
  }

  void insert(const State& state, const schedules::Mutation& mutation, const std::string& statement,
              std::vector<State>& out) {
    const auto missing = missing_parts(state.trace, goal_.spelled);
    for (const size_t place : places_of(state.trace, statement)) {
      if (found_) return;
      Trace before = state.trace;
      before.steps.resize(place);
      const auto at = schedules::replay_rest(schedules::unscheduled_template(c_.program, c_.cls), before, c_.isl);
      if (!at) continue;
      insert_at(state, *at, place, mutation, statement, missing, out);
    }
  }
  void insert_at(const State& state, const NestTemplate& at, size_t place, const schedules::Mutation& mutation,
                 const std::string& statement, const std::map<std::vector<std::string>, int>& missing,
                 std::vector<State>& out) {
    Rng rng(1);
    const schedules::Change change{state.made, at, machine_, statement, rng};
    bool is_asked_for = false;
    std::set<std::string> drawn;
    for (size_t k = 0; k < kDraws && (k < kTries || is_asked_for) && !found_; ++k) {
      Trace steps;
      steps.steps = mutation.insert(change);
      if (steps.steps.empty()) continue;
      bool are_missing = true;
      for (const auto& [owner, parts] : parts_of(steps))
        for (const auto& part : parts) {
          is_asked_for |= std::any_of(missing.begin(), missing.end(),
                                      [&](const auto& entry) { return entry.first.front() == part.front(); });
          are_missing &= missing.contains(part);
        }
      if (!are_missing || !drawn.insert(steps.text()).second) continue;
      Trace trace = state.trace;
      trace.steps.insert(trace.steps.begin() + static_cast<std::ptrdiff_t>(place), steps.steps.begin(),
                         steps.steps.end());
      take_if_nearer(state, mutation, statement, std::move(trace), out);
    }
  }

  const Case& c_;
  const Machine& machine_;
  const Goal& goal_;
  Parts parts_;
  std::set<std::string> seen_;
  std::optional<std::vector<std::string>> found_;
};

}  // namespace

std::vector<int64_t> nearest_values(const Trace& offered, const Trace& goal) {
  constexpr int kPasses = 2;
  const Parts wanted = parts_of(goal);
  std::vector<int64_t> out = values_of(offered);
  double least = difference(parts_of(in_numbers(offered, out)), wanted).weight;
  for (int pass = 0; pass < kPasses; ++pass)
    for (size_t d = 0; d < out.size(); ++d)
      for (const int64_t value : offered.decisions[d].candidates) {
        auto tried = out;
        tried[d] = value;
        if (violated(offered, tried)) continue;
        const double weight = difference(parts_of(in_numbers(offered, tried)), wanted).weight;
        if (weight < least) least = weight, out = tried;
      }
  return out;
}

std::optional<std::vector<std::string>> chain(const Case& c, const Machine& machine, const Trace& from,
                                              const Goal& goal, size_t most) {
  return Chains(c, machine, goal).find(from, most);
}

}  // namespace polyweft::containment
