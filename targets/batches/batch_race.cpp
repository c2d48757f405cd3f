#include "targets/batches/batch_race.h"

#include <algorithm>

namespace polyweft::targets {
namespace {

/// A final costs some ten calls of both: longer kernels meet once.
constexpr double kLongCallNs = 250e6;
constexpr int kLayouts = 3;

}  // namespace

BatchRace::BatchRace(const Batch& batch, bool is_emulated)
    : batch_(batch), is_emulated_(is_emulated), told_(batch.candidates.size()) {}

std::optional<BatchStep> BatchRace::next() const {
  const uint32_t best = best_ ? *best_ : BatchRow::kAlone;
  if (meets_again_) return BatchStep{BatchEvent::again, at_, best, best_ns_, started_};
  if (at_ < batch_.candidates.size())
    return BatchStep{BatchEvent::trial, at_, is_emulated_ ? BatchRow::kAlone : best, is_emulated_ ? 0 : best_ns_,
                     started_};
  if (rivals_.empty()) return std::nullopt;
  return BatchStep{BatchEvent::race, *best_, rivals_.front(), ns_of(rivals_.front()), started_};
}

void BatchRace::tell(const BatchRow& row) {
  const auto step = next();
  if (!step || row.candidate != step->candidate) return;
  if (row.event == BatchEvent::started) {
    ++started_;
    return;
  }
  if (row.event != step->event) return;
  started_ = 0;
  if (row.event == BatchEvent::trial) trial(row);
  if (row.event == BatchEvent::again) again(row);
  if (row.event == BatchEvent::race) race(row);
}

bool BatchRace::wins(const RunOutcome& outcome) const {
  return outcome.status == RunStatus::ok && outcome.timing.ratio > 0 && outcome.timing.ratio_hi < 1;
}

void BatchRace::take(const BatchRow& row) {
  best_ = row.candidate;
  best_ns_ = row.outcome.timing.median_ns;
}

void BatchRace::trial(const BatchRow& row) {
  told_[at_] = row;
  const bool is_right = row.outcome.status == RunStatus::ok;
  const bool is_less = is_emulated_ && best_ && row.outcome.timing.median_ns < best_ns_;
  if (is_right && (!best_ || is_less)) {
    take(row);
  } else if (!is_emulated_ && wins(row.outcome)) {
    meets_again_ = true;
    return;
  }
  ++at_;
  begin_races();
}

// The second ratio is told: that of a race which was chosen because it was won tells too little.
void BatchRace::again(const BatchRow& row) {
  meets_again_ = false;
  told_[at_] = row;
  if (wins(row.outcome)) take(row);
  ++at_;
  begin_races();
}

void BatchRace::begin_races() {
  if (at_ < batch_.candidates.size() || is_emulated_ || !best_) return;
  for (const BatchRole role : {BatchRole::first_choice, BatchRole::served})
    for (uint32_t k = 0; k < batch_.candidates.size(); ++k) {
      const auto& told = told_[k];
      const bool is_timed =
          told && (told->outcome.status == RunStatus::ok || told->outcome.status == RunStatus::slower);
      if (batch_.candidates[k].role == role && k != *best_ && is_timed) rivals_.push_back(k);
    }
}

double BatchRace::ns_of(uint32_t candidate) const {
  return told_[candidate] ? told_[candidate]->outcome.timing.median_ns : 0;
}

int BatchRace::races_needed() const {
  return std::max(best_ns_, ns_of(rivals_.front())) > kLongCallNs ? 1 : kLayouts;
}

// What the winner is to replace keeps its place unless each race says otherwise; then it is what others have to beat.
void BatchRace::race(const BatchRow& row) {
  if (races_ > 0) finals_.pop_back();
  finals_.push_back(row);
  const bool is_won = wins(row.outcome);
  if (is_won && ++races_ < races_needed()) return;
  if (!is_won) {
    best_ = rivals_.front();
    best_ns_ = ns_of(rivals_.front());
  }
  races_ = 0;
  rivals_.erase(rivals_.begin());
}

std::optional<uint32_t> BatchRace::best() const {
  return best_;
}

}  // namespace polyweft::targets
