// A false runner for tests of searches and of their last races.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "polyweft/runner.h"

namespace polyweft {

/// Every run takes a second; kernels are told apart by their id, the hash of their nest.
class FakeLab final : public Runner {
 public:
  Status begin(const RunnerTask&) override { return Ok{}; }
  Status set_incumbent(const LoadableKernel& kernel) override {
    incumbent = kernel.id;
    return Ok{};
  }
  Result<RunOutcome> run(const RunRequest& request) override {
    const bool is_again =
        hides_repetitions && request.pair_with_incumbent && !runs.empty() && runs.back() == request.candidate.id;
    if (is_again) ++repetitions;
    if (!is_again) now_s += 1;
    if (!is_again) runs.push_back(request.candidate.id);
    RunOutcome out;
    out.status = status_of.contains(request.candidate.id) ? status_of[request.candidate.id] : RunStatus::ok;
    out.reference_ns = 1e6;
    const double ns = ns_of(request.candidate.id) * luck_of(request.candidate.id);
    out.timing.median_ns = out.timing.min_ns = ns;
    out.timing.samples = is_exact ? 1 : 9;
    out.timing.is_exact = is_exact;
    if (request.pair_with_incumbent) {
      out.timing.ratio = ns / ns_of(incumbent);
      out.timing.ratio_lo = (1 - noise) * out.timing.ratio;
      out.timing.ratio_hi = (1 + noise) * out.timing.ratio;
      constexpr double kFewestPairs = 6;
      const double budget_ns = 1e6 * static_cast<double>(request.time_budget.count());
      if (budget_ns < kFewestPairs * (ns + ns_of(incumbent))) out.timing.ratio_lo = 0, out.timing.ratio_hi = 1e9;
      if (is_exact) out.timing.ratio_lo = out.timing.ratio_hi = out.timing.ratio;
    }
    return out;
  }
  /// A layout each run.
  double luck_of(const std::string& id) const {
    const auto found = luck.find(id);
    const auto run = static_cast<size_t>(std::count(runs.begin(), runs.end(), id)) - 1;
    return found != luck.end() && run < found->second.size() ? found->second[run] : 1;
  }
  double ns_of(const std::string& id) const {
    const auto known = fixed_ns.find(id);
    return place_of(id) * (known != fixed_ns.end()
                               ? known->second
                               : drift * (1000 + static_cast<double>(std::hash<std::string>()(id) % 1000)));
  }
  double place_of(const std::string& id) const {
    const auto found = in_process.find(id);
    return found != in_process.end() && process < found->second.size() ? found->second[process] : 1;
  }

  std::vector<std::string> runs;
  bool hides_repetitions = false;  ///< whoever is run twice, one run after the other, counts once
  int repetitions = 0;
  std::map<std::string, RunStatus> status_of;
  std::map<std::string, double> fixed_ns;
  std::map<std::string, std::vector<double>> luck;        ///< factors of a kernel's runs, one after the other
  std::map<std::string, std::vector<double>> in_process;  ///< factors of a kernel's times, by process
  size_t process = 0;
  std::string incumbent;
  bool is_exact = false;  ///< times are counts
  double noise = 0.001;   ///< half width of the interval of a ratio
  double now_s = 0;
  double drift = 1;  ///< the machine of this hour
};

}  // namespace polyweft
