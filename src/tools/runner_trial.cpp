#include "runner_trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/values/measured_times.h"
#include "runner_clock.h"
#include "runner_compare.h"
#include "runner_device.h"

namespace polyweft::runner {
namespace {

constexpr double kPauseNs = 20e3;   // of a process that is switched away between two calls
constexpr double kSteadyNs = 10e6;  // of a call: interruptions are little of it
constexpr double kMuchSlower[] = {2.5,
                                  1.6};  // than the incumbent was a while ago, when it was first called once, twice
constexpr double kVerySlowNs = 1e9;      // of a call: one is timed, and nothing is asked twice
constexpr double kNoUpperEnd = 1e9;      // written for "too few pairs for an interval"
constexpr const char* kImpossibleTimes = "the kernel's process reported impossible times";
constexpr double kAdversarialSlowdown = 50;  // denormal operands take microcode

/// A clock that the candidate's process was honest about: positive, and not longer than we waited (infinite: as long as
/// anything may take).
bool believable(const double* samples, uint32_t count, uint32_t repeat, double waited_ns) {
  double sum = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (!(samples[i] >= 0 && samples[i] <= kLongestNs)) return false;
    sum += samples[i] * repeat;
  }
  return sum <= waited_ns + 1e5;
}

}  // namespace

std::variant<std::unique_ptr<KernelProcess>, Failure> Trial::start() {
  std::vector<Module> modules{{&request_.candidate, task_.arguments()}};
  if (paired()) modules.push_back({&*task_.incumbent, task_.arguments()});
  if (request_.candidate.kind == kDeviceKernels) return setting_.device->start(std::move(modules));
  auto started = CandidateProcess::start(setting_, std::move(modules), task_.regions, task_.task.threads);
  if (auto* failure = std::get_if<Failure>(&started)) return std::move(*failure);
  return std::make_unique<CandidateProcess>(std::get<CandidateProcess>(std::move(started)));
}

RunOutcome Trial::outcome() {
  out_.reference_ns = sets_.front().data->reference_ns;
  auto started = start();
  if (auto* failure = std::get_if<Failure>(&started)) return finished(*failure);
  process_ = std::get<std::unique_ptr<KernelProcess>>(started).get();
  if (auto failure = compare_all()) return finished(*failure);
  if (out_.status == RunStatus::slower) return out_;
  out_.status = RunStatus::ok;
  if (request_.time_budget.count() == 0) return out_;
  if (auto failure = time()) return finished(*failure);
  if (!is_time(out_.timing.median_ns)) return finished({RunStatus::crash, kImpossibleTimes, Slot::candidate});
  if (out_.status == RunStatus::slower || expected_ns_ > kVerySlowNs) return out_;
  // A kernel may behave while it is watched and cheat from its hundredth call on, so it is compared again, on other
  // data than it was timed on.
  if (auto failure = compare(sets_.front(), Placement::at_start)) return finished(*failure);
  return out_;
}

RunOutcome Trial::finished(const Failure& failure) {
  out_.status = failure.slot == Slot::candidate ? failure.status : RunStatus::not_run;
  out_.detail = failure.slot == Slot::candidate ? failure.detail : "the incumbent failed: " + failure.detail;
  out_.timing = {};
  if (out_.status == RunStatus::slower && has_times_of_its_own())
    out_.status = RunStatus::timed_out;
  else if (out_.status == RunStatus::slower && is_time(failure.ran_ns))
    out_.timing.median_ns = out_.timing.min_ns = failure.ran_ns;
  return out_;
}

bool Trial::has_times_of_its_own() const {
  return setting_.is_emulated || (process_ && process_->clock().is_exact);
}

Trial::Verdict Trial::compare_all() {
  for (size_t i = 0; i < sets_.size(); ++i)
    if (auto failure = compare(sets_[i], i % 2 == 0 ? Placement::at_start : Placement::at_end)) {
      return failure;
    } else if (is_much_slower(i)) {
      out_.status = RunStatus::slower;
      out_.timing.median_ns = out_.timing.min_ns = fastest_call_ns_;
      return std::nullopt;
    }
  if (sets_.size() == 1) return compare(sets_.front(), Placement::at_end);
  return std::nullopt;
}

Trial::Verdict Trial::pack(Slot slot, const ComparedSet& set, Placement placement) {
  auto reply = process_->order({Order::pack, slot, placement, 1, 1}, launch_limit_ns(set));
  if (auto* failure = std::get_if<Failure>(&reply)) return *failure;
  if (slot == Slot::candidate) out_.pack_ns = std::get<Reply>(reply).elapsed_ns;
  return std::nullopt;
}

Trial::Verdict Trial::compare(const ComparedSet& set, Placement placement) {
  lay_out(task_, *set.data, placement);
  if (auto failure = pack(Slot::candidate, set, placement)) return failure;
  auto reply = process_->order({Order::call, Slot::candidate, placement, 1, 1}, launch_limit_ns(set));
  if (auto* failure = std::get_if<Failure>(&reply)) return *failure;
  const double elapsed_ns = std::get<Reply>(reply).elapsed_ns;
  fastest_call_ns_ = fastest_call_ns_ > 0 ? std::min(fastest_call_ns_, elapsed_ns) : elapsed_ns;
  return judge_outputs(set, placement);
}

// Cold calls of a long kernel tell as much as timed ones where the difference is that large.
bool Trial::is_much_slower(size_t set) const {
  if (request_.time_budget.count() == 0 || request_.pair_to_the_end || request_.incumbent_ns < kSteadyNs) return false;
  return fastest_call_ns_ > kMuchSlower[std::min<size_t>(set, 1)] * request_.incumbent_ns;
}

Trial::Verdict Trial::judge_outputs(const ComparedSet& set, Placement placement) const {
  const size_t inputs = task_.inputs();
  for (size_t a = inputs; a < task_.task.arguments.size(); ++a) {
    const Region& region = task_.regions[a];
    if (const auto side = region.damaged_canary(placement))
      return Failure{RunStatus::out_of_bounds, std::string("the kernel writes ") + *side + " " + region.name(),
                     Slot::candidate};
  }
  for (size_t a = inputs; a < task_.task.arguments.size(); ++a) {
    const InputSet of_inputs = task_.has_given_data() ? InputSet::random : set.set;
    CompareRule rule{of_inputs, task_.task.bit_exact, nullptr, task_.task.relative_bound};
    if (!set.data->bounds.empty()) rule.bound = reinterpret_cast<const double*>(set.data->bounds[a - inputs].data());
    if (auto difference = first_difference(task_.task.arguments[a], rule, task_.regions[a].data(placement),
                                           set.data->outputs[a - inputs].data()))
      return Failure{RunStatus::wrong_result, *difference, Slot::candidate};
  }
  return std::nullopt;
}

double Trial::launch_limit_ns(const ComparedSet& set) const {
  const double least = has_times_of_its_own() ? setting_.model_limit_ns : 0;
  if (request_.deadline.count() > 0) return static_cast<double>(request_.deadline.count()) * 1e6;  // long enough
  const double slowdown = set.set == InputSet::adversarial ? kAdversarialSlowdown : 1;
  return std::max(least,
                  3 * slowdown * std::max({out_.reference_ns, set.data->reference_ns, request_.incumbent_ns}) + 1e9);
}

double Trial::budget_left_ns() const {
  return static_cast<double>(request_.time_budget.count()) * 1e6 - (now_ns() - clock_started_ns_);
}

/// The candidate's process as a clock that the order of turns asks.
class Trial::Calls final : public TimedCalls {
 public:
  explicit Calls(Trial& trial) : trial_(trial) {}
  ClockFacts clock() const override { return trial_.process_->clock(); }
  double budget_left_ns() const override { return trial_.budget_left_ns(); }

  std::optional<Samples> take(const Wanted& wanted) override {
    const uint32_t first = wanted.pairs ? wanted.first : 0;
    const Command command{wanted.pairs ? Order::time_pairs : Order::time,
                          static_cast<Slot>(first),
                          Placement::inside,
                          wanted.samples,
                          wanted.repeat[first],
                          wanted.untimed,
                          wanted.repeat[1 - first]};
    trial_.failed_clock_ = trial_.take(command);
    if (trial_.failed_clock_) return std::nullopt;
    Samples out;
    for (uint32_t slot = 0; slot < (wanted.pairs ? 2u : 1u); ++slot) {
      const double* const taken = trial_.process_->samples_ns(static_cast<Slot>(slot));
      out[slot].assign(taken, taken + wanted.samples);
    }
    return out;
  }

 private:
  Trial& trial_;
};

Trial::Verdict Trial::time() {
  const ComparedSet& set = sets_.back();
  lay_out(task_, *set.data, Placement::inside);
  for (const Slot slot : {Slot::candidate, Slot::incumbent})
    if (slot == Slot::candidate || paired())
      if (auto failure = pack(slot, set, Placement::inside)) return failure;
  clock_started_ns_ = now_ns();
  Calls calls(*this);
  const auto first = first_calls(calls, paired());
  if (!first) return failed_clock_;
  expected_ns_ = first->ns[0];
  const double clock_mhz = request_.with_cold_calls ? process_->clock_mhz() : 0;
  if (auto failure = paired() ? time_against_incumbent(*first) : time_alone(*first)) return failure;
  if (request_.with_cold_calls) note_device(clock_mhz);
  return std::nullopt;
}

Trial::Verdict Trial::take(const Command& command) {
  const double asked = now_ns();
  const double limit = launch_limit_ns(sets_.back()) + kPauseNs;
  auto reply = process_->order(command, limit);
  if (auto* failure = std::get_if<Failure>(&reply)) {
    failure->ran_ns /= command.repeat;
    return *failure;
  }
  const double waited = process_->times_pass_here() ? now_ns() - asked : std::numeric_limits<double>::infinity();
  const bool pairs = command.order == Order::time_pairs;
  const auto repeat_of = [&](Slot slot) { return slot == command.slot ? command.repeat : command.other_repeat; };
  for (const Slot slot : {Slot::candidate, Slot::incumbent})
    if ((pairs || slot == Slot::candidate) &&
        !believable(process_->samples_ns(slot), command.count, repeat_of(slot), waited))
      return Failure{RunStatus::crash, kImpossibleTimes, Slot::candidate};
  return std::nullopt;
}

void Trial::keep_timing(const std::vector<double>& samples, double step) {
  Timing& timing = out_.timing;
  timing.median_ns = median(samples);
  timing.min_ns = *std::min_element(samples.begin(), samples.end());
  timing.is_exact = process_->clock().is_exact;
  timing.ci_rel = timing.is_exact ? 0 : relative_half_width(samples, step);
  timing.samples = static_cast<int>(samples.size());
  timing.samples_ns.assign(samples.begin(), samples.end());
}

void Trial::note_device(double clock_mhz) {
  constexpr uint32_t kColdCalls = 9;
  Timing& timing = out_.timing;
  const double now_mhz = process_->clock_mhz();
  if (clock_mhz > 0 && now_mhz > 0) {
    timing.clock_mhz_lo = std::min(clock_mhz, now_mhz);
    timing.clock_mhz_hi = std::max(clock_mhz, now_mhz);
  }
  if (expected_ns_ > kVerySlowNs) return;
  const std::vector<double> cold = process_->cold_samples_ns(kColdCalls, launch_limit_ns(sets_.back()));
  if (!cold.empty()) timing.cold_ns = median(cold);
}

TurnsOptions Trial::turns() const {
  TurnsOptions out;
  out.incumbent_ns = request_.incumbent_ns;
  out.to_the_end = request_.pair_to_the_end;
  if (out.to_the_end) out.most_samples = static_cast<size_t>(request_.most_pairs);
  return out;
}

Trial::Verdict Trial::time_alone(const FirstCalls& first) {
  if (expected_ns_ > kVerySlowNs && budget_left_ns() <= 0) {
    keep_timing({expected_ns_}, first.step[0]);
    return std::nullopt;
  }
  Calls calls(*this);
  const auto timed = polyweft::time_alone(calls, first, turns());
  if (!timed) return failed_clock_;
  if (timed->is_slower) out_.status = RunStatus::slower;
  keep_timing(timed->samples, first.step[0]);
  return std::nullopt;
}

Trial::Verdict Trial::time_against_incumbent(const FirstCalls& first) {
  Calls calls(*this);
  const auto timed = time_pairs(calls, first, turns());
  if (!timed) return failed_clock_;
  if (timed->is_slower) out_.status = RunStatus::slower;
  const PairRace& race = timed->race;
  keep_timing(race.candidate_samples(), first.step[0]);
  out_.timing.beside_ns.assign(race.incumbent_samples().begin(), race.incumbent_samples().end());
  const Interval ratio = race.ratio();
  out_.timing.ratio = ratio.estimate;
  out_.timing.ratio_lo = timed->is_slower ? std::max(ratio.lo, race.least_when_slower()) : ratio.lo;
  out_.timing.ratio_hi = std::isfinite(ratio.hi) ? ratio.hi : kNoUpperEnd;
  return std::nullopt;
}

}  // namespace polyweft::runner
