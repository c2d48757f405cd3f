#include "driver/shared_budget.h"

#include <algorithm>
#include <cmath>

namespace polyweft {
namespace {

/// Of the budget, all first turns together. A turn begins with what a search costs before its first trial, so that
/// many short ones waste it.
constexpr double kFirstTurns = 0.4;
/// A later turn adds so much to what its search has had.
constexpr double kGrowth = 0.6;
/// A search that gained nothing in the last doubling may have been unlucky.
constexpr double kLeastGain = 0.01;
/// What was found late goes on: of the last doubling's gain this much is expected of the next.
constexpr double kDecay = 0.5;

}  // namespace

SharedBudget::SharedBudget(std::vector<double> calls, double budget_s) : budget_s_(budget_s) {
  for (const double each : calls) {
    Search search;
    search.calls = each;
    searches_.push_back(std::move(search));
  }
}

double SharedBudget::spent_s() const {
  double out = 0;
  for (const Search& search : searches_) out += search.spent_s();
  return out;
}

double SharedBudget::gain_a_second(const Search& search) {
  const double best = search.seen.back().best_ns, now = search.spent_s();
  if (best <= 0 || now <= 0) return 0;
  double half = 0;  // the best at half of the effort, else the first one that there was
  for (const Progress& progress : search.seen)
    if (progress.best_ns > 0 && (half == 0 || progress.spent_s <= now / 2)) half = progress.best_ns;
  const double gained = half > best ? std::log(half / best) : 0;
  const double left = std::max(0.0, 1 - search.bound_ns / best);
  return search.calls * best * std::min(left, std::max(kLeastGain, kDecay * gained)) / now;
}

std::optional<SharedBudget::Turn> SharedBudget::next() const {
  const double left = budget_s_ - spent_s();
  const double first = kFirstTurns * budget_s_ / static_cast<double>(std::max<size_t>(searches_.size(), 1));
  for (size_t k = 0; k < searches_.size(); ++k)
    if (!searches_[k].had_turn) return Turn{k, std::max(searches_[k].spent_s(), first)};
  if (left <= 0) return std::nullopt;
  std::optional<Turn> out;
  double most = 0;
  for (size_t k = 0; k < searches_.size(); ++k) {
    const Search& search = searches_[k];
    const double gain = search.is_over ? 0 : gain_a_second(search);
    if (gain <= most) continue;
    most = gain;
    out = Turn{k, search.spent_s() + std::min(left, std::max(first / 2, kGrowth * search.spent_s()))};
  }
  return out;
}

void SharedBudget::saw(size_t program, const Progress& progress) {
  std::vector<Progress>& seen = searches_[program].seen;
  if (seen.empty() || progress.spent_s >= seen.back().spent_s) seen.push_back(progress);
}

void SharedBudget::ended(size_t program, const Progress& progress, double bound_ns, bool is_over) {
  saw(program, progress);
  searches_[program].had_turn = true;
  searches_[program].bound_ns = bound_ns;
  searches_[program].is_over = is_over;
}

}  // namespace polyweft
