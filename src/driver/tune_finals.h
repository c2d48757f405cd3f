// What happens between the last trial and the record: winners meet the base nest and the record they are to replace,
// the one that is left is timed with its peak.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "driver/tune_loop.h"
#include "driver/tune_session.h"

namespace polyweft {

/// What is left when the finals are over.
struct Finalist {
  Winner winner;
  Certificate certificate;
  int refuted = 0;                           ///< winners before it that the checker refuted
  double reference_ns = 0, peak_gflops = 0;  ///< in the clock of winner.measurement
  std::string peak_of;
};

/// What the base nest runs in turns with.
struct Incumbent {
  double ns = 0;            ///< of the runner's incumbent; 0: there is none
  double reference_ns = 0;  ///< of the base nest, once and cold, when the lab made the right answers; 0: not known
};
struct BaseTime {
  Timing timing;
  double ns = 0;  ///< in the clock of the incumbent; 0: it did not run
};
Result<BaseTime> base_beside(const SessionTask& session, const SessionServices& services, const Incumbent& incumbent);

/// The winners, fastest first, and the base nest behind those that it does not beat.
struct AfterBase {
  std::vector<Winner> winners;
  double base_ns = 0;
  Timing base = {};         ///< its ratio is to the kernel of `beside`
  std::string beside = {};  ///< nest hash; empty: it was timed alone, or not at all
  std::vector<std::string> warnings = {};
};
/// The kernel of `nest_hash` over the base nest: by the pairs that there are, else by new ones where neither takes
/// long. Changes the runner's incumbent.
Result<Timing> beside_base(const SessionTask& session, const SessionServices& services, const AfterBase& after,
                           const Winner& winner);
Result<AfterBase> race_base(const SessionTask& session, const SessionServices& services, const TuneLoop& loop);
/// The same where nothing is timed: by what is expected of the base nest.
AfterBase place_base(const SessionTask& session, const TuneLoop& loop, double expected_ns);
/// The reference where nothing else is right, by the one run that made the right answers.
Winner reference_winner(const SessionTask& session, double ns);
/// Where kernels of nests race.
struct Track {
  Runner& runner;
  std::function<Result<LoadableKernel>(const LoopNest&)> build;
  ElsewhereRunner elsewhere = nullptr;  ///< calls of a millisecond and more are raced in two of these, too
  std::function<bool()> has_time = [] { return true; };  ///< for one more of them
};
/// Is a call so long that its race goes on in other processes?
bool is_raced_elsewhere(const Track& track, double ns);
/// What a call takes in two other processes than the search's, with memory elsewhere, where that differs by more than a
/// tenth: in words, else empty. Races of the winner count where there were such.
Result<std::string> told_by_processes(const Track& track, const Winner& winner);
/// The first choice, which is served where nobody searched, keeps its place unless pairs say that a winner is faster:
/// of hundreds of candidates some are ahead of it by luck. It stays behind a winner that beats it, in case that one is
/// not proven.
Result<std::vector<Winner>> race_first(const Track& track, std::vector<Winner> winners, std::optional<Winner> first);
/// The time of a nest's kernel over that of the rival's, by pairs; 0 where either does not run. Changes the runner's
/// incumbent.
Result<Timing> pairs_of_nests(Runner& runner, const CompileService& compiler, const LoopNest& nest,
                              const LoopNest& rival, int threads);
/// The same beside the served record.
Result<Timing> against_served(const SessionTask& session, const SessionServices& services, const LoopNest& nest);
/// A winner of this search is taken over the record that is served only where pairs of both say so.
Result<std::vector<Winner>> race_served(const SessionTask& session, const SessionServices& services,
                                        std::vector<Winner> winners);
/// See settle(). PW0650 where none is left.
Result<Finalist> first_proven(const SessionTask& session, IslClient& isl, const std::vector<Winner>& winners,
                              int failed);
/// Times the finalist in turns with the peak, and tells it, base nest and peak in the clock of its record. `base_ns`:
/// in the clock of the last race.
Status time_finalist(const SessionTask& session, const SessionServices& services, double base_ns, Finalist& finalist);

/// best() compares times of one task that were measured in different hours: where pairs (`ratio`: timing over served)
/// say otherwise than the medians, `timing` is told in the clock of the record that is served.
Timing told_beside(const Timing& served, Timing timing, double ratio);

}  // namespace polyweft
