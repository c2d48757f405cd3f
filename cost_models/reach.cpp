#include "cost_models/reach.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace polyweft::cost {
namespace {

constexpr double kSkewed = 1;  ///< of a row: windows that move by more of it along the row are others

// Sets that granules at multiples of `stride` meet before they come round. Pages lie anywhere, so a stride of whole
// pages still meets all places that pages can begin at.
double round_trip(double stride, const Store& store) {
  const double period = store.sets * store.granule_bytes;
  const auto page = static_cast<int64_t>(std::min(period, store.page_bytes));
  const int64_t shared = std::gcd(static_cast<int64_t>(stride), page);
  return period / static_cast<double>(std::max(shared, static_cast<int64_t>(store.granule_bytes)));
}

double buffer_bytes(const Buffer& buffer) {
  double bytes = static_cast<double>(size_bytes(buffer.type));
  for (int64_t extent : folded_extents(buffer)) bytes *= static_cast<double>(extent);
  return bytes;
}

struct Move {
  double inside = 0;  ///< along the dimensions that are not folded
  double turn = 0;    ///< from one cell of a folded dimension to the next
  int64_t turns = 1;  ///< as many cells it has
  double bytes() const { return inside != 0 ? std::abs(inside) : std::abs(turn); }
};

/// What a loop moves an access by. A loop beyond a digit of the layout counts with the digit that it moves first.
Move move_of(const Buffer& buffer, const AccessUse& use, size_t loop, const std::vector<double>& unit) {
  const auto& pieces = buffer.layout.pieces;
  Move out;
  for (size_t d = 0; d < use.coeff[loop].size(); ++d) {
    if (use.coeff[loop][d] == 0) continue;
    int64_t rest = std::abs(use.coeff[loop][d]);
    const double sign = use.coeff[loop][d] < 0 ? -1 : 1;
    const auto fold = std::find_if(buffer.folds.begin(), buffer.folds.end(), [&](const Fold& f) { return f.dim == d; });
    for (size_t p = pieces.size(); p-- > 0 && rest != 0;) {
      if (pieces[p].dim != d) continue;
      const bool is_last = std::none_of(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(p),
                                        [&](const Piece& q) { return q.dim == d; });
      const int64_t digit = is_last ? rest : rest % pieces[p].factor;
      if (!is_last || fold == buffer.folds.end()) {
        out.inside += sign * static_cast<double>(digit) * unit[p];
      } else if (digit % fold->window != 0) {
        out.turn = static_cast<double>(digit % fold->window) * unit[p];
        out.turns = fold->window / std::gcd(fold->window, digit);
      }
      rest = is_last ? 0 : rest / pieces[p].factor;
    }
  }
  return out;
}

std::vector<double> unit_bytes(const Buffer& buffer) {
  const auto& pieces = buffer.layout.pieces;
  std::vector<double> unit(pieces.size());
  double bytes = static_cast<double>(size_bytes(buffer.type));
  for (size_t p = pieces.size(); p-- > 0;) {
    unit[p] = bytes;
    bytes *= static_cast<double>(pieces[p].factor + (p < buffer.layout.pad.size() ? buffer.layout.pad[p] : 0));
  }
  return unit;
}

}  // namespace

Windows::Windows(const Buffer& buffer, const AccessUse& use, const Leaf& leaf)
    : element_bytes_(static_cast<double>(size_bytes(buffer.type))), buffer_bytes_(buffer_bytes(buffer)) {
  const size_t depth = leaf.loops.size();
  const std::vector<double> unit = unit_bytes(buffer);
  std::vector<Step> moving;  // narrowest first; of equal ones the outer loop's first
  const auto move_in = [&](const Step& step) {
    moving.insert(std::lower_bound(moving.begin(), moving.end(), step,
                                   [](const Step& a, const Step& b) { return a.stride < b.stride; }),
                  step);
  };
  strides_.resize(depth);
  ranges_.resize(depth + 1);
  gathered_.assign(depth + 1, 1);
  steps_.reserve(3 * depth);
  moving.reserve(2 * depth);
  for (size_t l = depth; l-- > 0;) {
    const double trips = leaf.loops[l].trips;
    const Move move = move_of(buffer, use, l, unit);
    strides_[l] = move.bytes();
    const bool gathers = l < use.gathers_along.size() && use.gathers_along[l];
    gathered_[l] = gathered_[l + 1] * (gathers ? std::max(1.0, trips) : 1);
    if (gathers) strides_[l] = buffer_bytes_;  // anywhere
    if (strides_[l] == 0 || trips <= 1 || gathers) {
      ranges_[l] = ranges_[l + 1];
      continue;
    }
    // Planes in turn, and what moves in each of them.
    if (!buffer.folds.empty() && move.inside != 0 && move.turn != 0)
      move_in({move.turn, std::min(trips, static_cast<double>(move.turns))});
    move_in({strides_[l], trips});
    ranges_[l].begin = steps_.size();
    for (const Step& step : moving) add(ranges_[l].begin, steps_.size(), step);
    ranges_[l].end = steps_.size();
  }
}

// Adds a step to those with narrower strides, narrowest first. Windows that move by less than their own length (rows of
// a stencil, taps and columns, tiles skewed in time) share what lies in both: so many rows more, and what is left over
// moves the row itself.
void Windows::add(size_t first, size_t below, Step step) {
  for (size_t k = below; k-- > first;) {
    Step& inner = steps_[k];
    const double rows = std::round(step.stride / inner.stride), rest = std::abs(step.stride - rows * inner.stride);
    const bool is_aligned = rest == 0 || (k > first && rest * (step.trips - 1) <= kSkewed * inner.stride);
    if (rows < 1 || !is_aligned || step.stride > inner.stride * inner.trips) continue;
    inner.trips += rows * (step.trips - 1);
    if (rest > 0) add(first, k, {rest, step.trips});
    return;
  }
  const auto begin = steps_.begin() + static_cast<std::ptrdiff_t>(first);
  steps_.insert(
      std::upper_bound(begin, steps_.end(), step, [](const Step& a, const Step& b) { return a.stride < b.stride; }),
      step);
}

// Sets that `places` sets in a row meet when they are moved by each step; neighbours may overlap.
double Windows::places_of(const Step& step, double places, const Store& store) {
  const double period = store.sets * store.granule_bytes, rest = std::fmod(step.stride, period);
  const double moved = std::min(rest, period - rest) / store.granule_bytes;
  if (moved > 0 && moved < places) return places + moved * (step.trips - 1);
  return places * std::min(step.trips, round_trip(step.stride, store));
}

Reach Windows::reach(size_t from, const Store& store) const {
  Reach out;
  const double whole = std::max(1.0, std::ceil(buffer_bytes_ / store.granule_bytes));
  double run = element_bytes_, pieces = 1, places = 0;  // places: sets that are met
  for (size_t k = ranges_[from].begin; k < ranges_[from].end; ++k) {
    const Step& step = steps_[k];
    if (step.stride <= std::max(run, store.granule_bytes)) {
      run += step.stride * (step.trips - 1);
    } else {
      pieces *= step.trips;
      if (places == 0) places = std::ceil(run / store.granule_bytes);
      if (store.sets > 0) places = std::min(places_of(step, places, store), store.sets);
    }
  }
  const double lines = std::ceil(run / store.granule_bytes);
  out.run_bytes = run;
  out.granules = std::min(gathered_[from] * pieces * lines, whole);
  if (store.sets > 0 && gathered_[from] == 1) out.set_share = std::min(1.0, std::max(lines, places) / store.sets);
  return out;
}

}  // namespace polyweft::cost
