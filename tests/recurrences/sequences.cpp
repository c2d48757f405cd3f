// Alignments, walks, running sums and filters.
#include <algorithm>
#include <cmath>

#include "recurrences/oracles.h"

namespace polyweft::recurrences {
namespace {

using polybench::Arrays;
using polybench::Grid;

/// Waterman's cubic form: a gap of any length ends here. The three states of Gotoh's quadratic form say the same.
void needleman_wunsch(Arrays& a) {
  const int64_t m = a["M"], n = a["N"], letters = a["V"];
  const double open = a.scalar("open"), extend = a.scalar("extend");
  const auto &x = a.values.at("a"), &y = a.values.at("b");
  const Grid score = a.grid("score", letters, letters);
  std::vector<double> values(static_cast<size_t>((m + 1) * (n + 1)));
  const Grid best(values, n + 1, 1);
  for (int64_t i = 0; i <= m; ++i)
    for (int64_t j = 0; j <= n; ++j) {
      double value = i == 0 && j == 0 ? 0 : -1e9;
      if (i > 0 && j > 0)
        value = best(i - 1, j - 1) + score(static_cast<int64_t>(x[i - 1]), static_cast<int64_t>(y[j - 1]));
      for (int64_t gap = 1; gap <= i; ++gap)
        value = std::max(value, best(i - gap, j) - open - static_cast<double>(gap) * extend);
      for (int64_t gap = 1; gap <= j; ++gap)
        value = std::max(value, best(i, j - gap) - open - static_cast<double>(gap) * extend);
      best(i, j) = value;
    }
  a.values["best"] = {best(m, n)};
}

/// Opening a gap costs something, else two gaps would be one.
void make_gaps_cost(Arrays& a) {
  a.values["open"] = {17};
  a.values["extend"] = {3};
  for (double& s : a.values.at("score")) s = std::fmod(s, 20);
}

/// Tries every next state from the end: the best continuation of each state, then the walk forward. Ties do not occur
/// in random data.
void viterbi(Arrays& a) {
  const int64_t steps = a["T"], states = a["S"], symbols = a["O"];
  const Grid step = a.grid("step", states, states), emit = a.grid("emit", states, symbols);
  const auto& start = a.values.at("start");
  const auto& seen = a.values.at("seen");
  std::vector<double> values(static_cast<size_t>(steps * states));
  const Grid rest(values, states, 1);  // the best of what follows time t, from state s
  for (int64_t t = steps - 2; t >= 0; --t)
    for (int64_t s = 0; s < states; ++s) {
      rest(t, s) = -INFINITY;
      for (int64_t q = 0; q < states; ++q)
        rest(t, s) = std::max(rest(t, s), step(s, q) + emit(q, static_cast<int64_t>(seen[t + 1])) + rest(t + 1, q));
    }
  const Grid walk = a.grid("walk", steps);
  double best = -INFINITY;
  for (int64_t s = 0; s < states; ++s) {
    const double value = start[s] + emit(s, static_cast<int64_t>(seen[0])) + rest(0, s);
    if (value > best) best = value, walk(0) = static_cast<double>(s);
  }
  for (int64_t t = 1; t < steps; ++t) {
    const auto before = static_cast<int64_t>(walk(t - 1));
    double next = -INFINITY;
    for (int64_t s = 0; s < states; ++s) {
      const double value = step(before, s) + emit(s, static_cast<int64_t>(seen[t])) + rest(t, s);
      if (value > next) next = value, walk(t) = static_cast<double>(s);
    }
  }
  a.values["best"] = {best};
}

void prefix_sum(Arrays& a) {
  const int64_t rows = a["R"], n = a["N"];
  const Grid x = a.grid("X", rows, n), sums = a.grid("sums", rows, n), highest = a.grid("highest", rows, n);
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0, high = -INFINITY;
    for (int64_t i = 0; i < n; ++i) {
      sums(r, i) = sum += x(r, i);
      highest(r, i) = high = std::max(high, x(r, i));
    }
  }
}

/// Direct form II transposed: two numbers of memory a section, in place.
void biquads(Arrays& a) {
  const int64_t sections = a["K"], rows = a["R"], n = a["N"];
  const Grid c = a.grid("c", sections, 5), y = a.copy("X", "Y", rows, n);
  for (int64_t k = 0; k < sections; ++k)
    for (int64_t r = 0; r < rows; ++r) {
      double one = 0, two = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double in = y(r, i), out = c(k, 0) * in + one;
        one = c(k, 1) * in - c(k, 3) * out + two;
        two = c(k, 2) * in - c(k, 4) * out;
        y(r, i) = out;
      }
    }
}

/// Poles inside the unit circle.
void make_stable(Arrays& a) {
  auto& c = a.values.at("c");
  for (size_t k = 0; k < c.size(); ++k)
    if (k % 5 >= 3) c[k] *= 0.45;
}

}  // namespace

std::vector<polybench::Kernel> sequence_kernels() {
  const char* here = "recurrences";
  return {{"needleman_wunsch", needleman_wunsch, make_gaps_cost, nullptr, here},
          {"viterbi", viterbi, nullptr, nullptr, here},
          {"prefix_sum", prefix_sum, nullptr, nullptr, here},
          {"biquads", biquads, make_stable, nullptr, here}};
}

}  // namespace polyweft::recurrences
