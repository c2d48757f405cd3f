#include "runner_trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runner_clock.h"
#include "runner_compare.h"
#include "runner_device.h"

namespace polyweft::runner {
namespace {

constexpr double kShortestSampleNs = 20e3;  // shorter calls are repeated: the clock's own cost is some 40 ns
constexpr double kDropRatio = 1.25;
constexpr double kLongNs = 4e6;     // of a pair: what a call finds in the caches is little of what it takes then
constexpr double kSteadyNs = 10e6;  // of a call: interruptions are little of it
constexpr double kMuchSlower[] = {2.5,
                                  1.6};  // than the incumbent was a while ago, when it was first called once, twice
constexpr double kVerySlowNs = 1e9;      // of a call: one is timed, and nothing is asked twice
constexpr size_t kFirstSamples = 3;
constexpr size_t kMostSamples = 200;
constexpr double kGoodEnough = 0.005;        // relative half width of the interval at which sampling alone stops
constexpr double kNoUpperEnd = 1e9;          // written for "too few pairs for an interval"
constexpr double kAdversarialSlowdown = 50;  // denormal operands take microcode

/// Half of the 95 % interval of the median, relative to it; half of the range where the samples are too few.
double relative_half_width(const std::vector<double>& samples) {
  const Interval interval = median_interval(samples, 0.95);
  if (std::isfinite(interval.hi)) return (interval.hi - interval.lo) / 2 / interval.estimate;
  const auto [lo, hi] = std::minmax_element(samples.begin(), samples.end());
  return (*hi - *lo) / 2 / interval.estimate;
}

/// A clock that the candidate's process was honest about: positive, and not longer than we waited (infinite: whatever).
bool believable(const double* samples, uint32_t count, uint32_t repeat, double waited_ns) {
  double sum = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (!(samples[i] >= 0)) return false;
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
  if (out_.status == RunStatus::slower) out_.timing.median_ns = out_.timing.min_ns = failure.ran_ns;
  return out_;
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
    CompareRule rule{set.set, task_.task.bit_exact, nullptr, task_.task.relative_bound};
    if (!set.data->bounds.empty()) rule.bound = reinterpret_cast<const double*>(set.data->bounds[a - inputs].data());
    if (auto difference = first_difference(task_.task.arguments[a], rule, task_.regions[a].data(placement),
                                           set.data->outputs[a - inputs].data()))
      return Failure{RunStatus::wrong_result, *difference, Slot::candidate};
  }
  return std::nullopt;
}

double Trial::launch_limit_ns(const ComparedSet& set) const {
  if (request_.deadline.count() > 0) return static_cast<double>(request_.deadline.count()) * 1e6;
  const double slowdown = set.set == InputSet::adversarial ? kAdversarialSlowdown : 1;
  return 3 * slowdown * std::max({out_.reference_ns, set.data->reference_ns, request_.incumbent_ns}) + 1e9;
}

double Trial::budget_left_ns() const {
  return static_cast<double>(request_.time_budget.count()) * 1e6 - (now_ns() - clock_started_ns_);
}

uint32_t Trial::affordable(size_t wanted, double each_ns) const {
  const double fits = budget_left_ns() / std::max(each_ns, 1.0);
  return static_cast<uint32_t>(std::clamp(fits, 1.0, static_cast<double>(std::clamp<size_t>(wanted, 1, kMaxSamples))));
}

Trial::Verdict Trial::time() {
  const ComparedSet& set = sets_.back();
  lay_out(task_, *set.data, Placement::inside);
  for (const Slot slot : {Slot::candidate, Slot::incumbent})
    if (slot == Slot::candidate || paired())
      if (auto failure = pack(slot, set, Placement::inside)) return failure;
  clock_started_ns_ = now_ns();
  if (auto failure = prepare_clock()) return failure;
  const double clock_mhz = request_.with_cold_calls ? process_->clock_mhz() : 0;
  if (auto failure = paired() ? time_against_incumbent() : time_alone()) return failure;
  if (request_.with_cold_calls) note_device(clock_mhz);
  return std::nullopt;
}

/// A first call of each kernel, untimed in the result: it touches the memory and says how long a call takes.
Trial::Verdict Trial::prepare_clock() {
  if (auto failure = take({paired() ? Order::time_pairs : Order::time, Slot::candidate, Placement::inside, 1, 1}))
    return failure;
  expected_ns_ = process_->samples_ns(Slot::candidate)[0];
  expected_incumbent_ns_ = paired() ? process_->samples_ns(Slot::incumbent)[0] : 0;
  const double shortest = paired() ? std::min(expected_ns_, expected_incumbent_ns_) : expected_ns_;
  repeat_ = static_cast<uint32_t>(std::clamp(std::ceil(kShortestSampleNs / std::max(shortest, 1.0)), 1.0, 1000.0));
  return std::nullopt;
}

Trial::Verdict Trial::take(const Command& command) {
  const double asked = now_ns();
  const double limit = launch_limit_ns(sets_.back()) + kShortestSampleNs;
  auto reply = process_->order(command, limit);
  if (auto* failure = std::get_if<Failure>(&reply)) {
    failure->ran_ns /= command.repeat;
    return *failure;
  }
  const double waited = process_->times_pass_here() ? now_ns() - asked : std::numeric_limits<double>::infinity();
  const bool pairs = command.order == Order::time_pairs;
  for (const Slot slot : {Slot::candidate, Slot::incumbent})
    if ((pairs || slot == Slot::candidate) &&
        !believable(process_->samples_ns(slot), command.count, command.repeat, waited))
      return Failure{RunStatus::crash, "the kernel's process reported impossible times", Slot::candidate};
  return std::nullopt;
}

void Trial::keep_timing(const std::vector<double>& samples) {
  Timing& timing = out_.timing;
  timing.median_ns = median(samples);
  timing.min_ns = *std::min_element(samples.begin(), samples.end());
  timing.ci_rel = timing.median_ns > 0 ? relative_half_width(samples) : 0;
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

Trial::Verdict Trial::time_alone() {
  std::vector<double> samples;
  size_t wanted = kFirstSamples;
  if (expected_ns_ > kVerySlowNs && budget_left_ns() <= 0) {
    keep_timing({expected_ns_});
    return std::nullopt;
  }
  do {
    const uint32_t count = affordable(wanted, expected_ns_ * repeat_);
    if (auto failure = take({Order::time, Slot::candidate, Placement::inside, count, repeat_})) return failure;
    const double* const taken = process_->samples_ns(Slot::candidate);
    samples.insert(samples.end(), taken, taken + count);
    keep_timing(samples);
    if (request_.incumbent_ns > 0 && out_.timing.min_ns > kDropRatio * request_.incumbent_ns) {
      out_.status = RunStatus::slower;
      return std::nullopt;
    }
    wanted = std::max<size_t>(6, samples.size() / 2);
  } while (budget_left_ns() > 0 && samples.size() < kMostSamples &&
           (samples.size() < 9 || out_.timing.ci_rel > kGoodEnough));
  return std::nullopt;
}

Trial::Verdict Trial::time_against_incumbent() {
  const bool is_steady = !request_.pair_to_the_end && std::min(expected_ns_, expected_incumbent_ns_) > kSteadyNs;
  RaceOptions options{.drop_ratio = kDropRatio, .max_pairs = kMostSamples, .is_steady = is_steady};
  if (is_steady) options.confidence = 0.95, options.first_look = 6;
  PairRace race(options);
  const auto most_pairs = static_cast<size_t>(request_.most_pairs);
  const auto decided = [&] {
    return request_.pair_to_the_end ? race.pairs() >= most_pairs : race.look() != RaceVerdict::undecided;
  };
  const auto next = [&] {
    if (is_steady && race.pairs() <= kFirstSamples) return size_t{1};
    return request_.pair_to_the_end ? std::min(std::max<size_t>(6, race.pairs() / 2), most_pairs - race.pairs())
                                    : race.wanted();
  };
  // What passes by the caches leaves the other without its data: beside it a kernel of 39 us took 97, and 91 won.
  const double both_ns = expected_ns_ + expected_incumbent_ns_;
  const uint32_t untimed = both_ns < kLongNs ? 1 : 0;
  Slot first = Slot::candidate;
  size_t wanted = request_.pair_to_the_end ? std::min(kFirstSamples, most_pairs) : kFirstSamples;
  if (is_steady) {  // the first calls are as good as any
    race.add(expected_ns_, expected_incumbent_ns_);
    wanted = 1;
    if (race.hopeless()) out_.status = RunStatus::slower;
  }
  while (out_.status != RunStatus::slower) {
    const uint32_t count = affordable(wanted, both_ns * (repeat_ + untimed));
    if (auto failure = take({Order::time_pairs, first, Placement::inside, count, repeat_, untimed})) return failure;
    first = first == Slot::candidate ? Slot::incumbent
                                     : Slot::candidate;  // so that neither profits from being next after the pause
    const double *const own = process_->samples_ns(Slot::candidate), *const its = process_->samples_ns(Slot::incumbent);
    for (uint32_t i = 0; i < count; ++i) race.add(std::max(own[i], 1e-3), std::max(its[i], 1e-3));
    if (!request_.pair_to_the_end && race.hopeless()) out_.status = RunStatus::slower;
    wanted = next();
    if (decided() || race.is_about_even() || budget_left_ns() <= 0) break;
  }
  keep_timing(race.candidate_samples());
  out_.timing.beside_ns.assign(race.incumbent_samples().begin(), race.incumbent_samples().end());
  const Interval ratio = race.ratio();
  out_.timing.ratio = ratio.estimate;
  out_.timing.ratio_lo = ratio.lo;
  out_.timing.ratio_hi = std::isfinite(ratio.hi) ? ratio.hi : kNoUpperEnd;
  return std::nullopt;
}

}  // namespace polyweft::runner
