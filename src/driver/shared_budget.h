// Which of several searches gets the next turn, where they share a budget of wall time.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace polyweft {

/// Each search gets a first turn. Then the next turn is for the one that is expected to save most time a second of
/// search: calls x time of one x what the last doubling of its effort gained, halved, as far as the roofline leaves
/// something to gain. Numbers only: no clock.
class SharedBudget {
 public:
  /// `calls`: how often each program runs, in any unit, above 0. `budget_s` is of all of them.
  SharedBudget(std::vector<double> calls, double budget_s);

  struct Turn {
    size_t program = 0;
    double until_s = 0;  ///< all turns of the program together
  };
  /// Nothing where no search goes on, or the budget is spent and each had a turn.
  std::optional<Turn> next() const;

  struct Progress {
    double spent_s = 0;  ///< all turns of the program together
    double best_ns = 0;  ///< one call; 0: not known
  };
  /// What a turn says while it runs; spent_s grows.
  void saw(size_t program, const Progress& progress);
  /// The turn has ended. `is_over`: the search ended by itself. `bound_ns`: no call takes less; 0: not known.
  void ended(size_t program, const Progress& progress, double bound_ns, bool is_over);

  /// What a turn took besides its search: final races, proof.
  void spend(double seconds) { budget_s_ -= seconds; }
  double spent_s() const;

 private:
  struct Search {
    double calls = 1, bound_ns = 0;
    bool is_over = false, had_turn = false;
    std::vector<Progress> seen;
    double spent_s() const { return seen.empty() ? 0 : seen.back().spent_s; }
  };
  static double gain_a_second(const Search& search);

  std::vector<Search> searches_;
  double budget_s_ = 0;
};

}  // namespace polyweft
