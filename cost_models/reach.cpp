#include "cost_models/reach.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace polyweft::cost {
namespace {

constexpr double kPageBytes = 4096;

struct Step {
  double stride = 0, trips = 1;
};

// Sets that granules at multiples of `stride` meet before they come round. Pages lie anywhere, so a stride of whole pages still meets all
// places that pages can begin at.
double round_trip(double stride, const Store& store) {
  const double period = store.sets * store.granule_bytes;
  const auto page = static_cast<int64_t>(std::min(period, kPageBytes));
  const int64_t shared = std::gcd(static_cast<int64_t>(stride), page);
  return period / static_cast<double>(std::max(shared, static_cast<int64_t>(store.granule_bytes)));
}

// Sets that `places` sets in a row meet when they are moved by each step; neighbours may overlap.
double places_of(const Step& step, double places, const Store& store) {
  const double period = store.sets * store.granule_bytes, rest = std::fmod(step.stride, period);
  const double moved = std::min(rest, period - rest) / store.granule_bytes;
  if (moved > 0 && moved < places) return places + moved * (step.trips - 1);
  return places * std::min(step.trips, round_trip(step.stride, store));
}

// Windows that move by less than their own length (rows of a stencil, taps and columns) share what lies in both.
std::vector<Step> without_overlap(const std::vector<Step>& sorted) {
  std::vector<Step> out;
  for (const Step& step : sorted) {
    const auto narrower = std::find_if(out.rbegin(), out.rend(), [&](const Step& inner) { return std::fmod(step.stride, inner.stride) == 0; });
    if (narrower != out.rend() && step.stride <= narrower->stride * narrower->trips)
      narrower->trips += step.stride / narrower->stride * (step.trips - 1);
    else
      out.push_back(step);
  }
  return out;
}

double buffer_bytes(const Buffer& buffer) {
  double bytes = static_cast<double>(size_bytes(buffer.type));
  for (int64_t extent : folded_extents(buffer)) bytes *= static_cast<double>(extent);
  return bytes;
}

}  // namespace

std::vector<double> strides_bytes(const Buffer& buffer, const AccessUse& use) {
  const auto& pieces = buffer.layout.pieces;
  std::vector<double> unit(pieces.size());
  double bytes = static_cast<double>(size_bytes(buffer.type));
  for (size_t p = pieces.size(); p-- > 0;) {
    unit[p] = bytes;
    bytes *= static_cast<double>(pieces[p].factor + (p < buffer.layout.pad.size() ? buffer.layout.pad[p] : 0));
  }
  std::vector<double> out(use.coeff.size(), 0);
  for (size_t l = 0; l < use.coeff.size(); ++l)
    for (size_t d = 0; d < use.coeff[l].size(); ++d) {
      int64_t rest = std::abs(use.coeff[l][d]);
      const double sign = use.coeff[l][d] < 0 ? -1 : 1;
      for (size_t p = pieces.size(); p-- > 0 && rest != 0;) {
        if (pieces[p].dim != d) continue;
        const bool is_last = std::none_of(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(p), [&](const Piece& q) { return q.dim == d; });
        const int64_t digit = is_last ? rest : rest % pieces[p].factor;
        out[l] += sign * static_cast<double>(digit) * unit[p];
        rest = is_last ? 0 : rest / pieces[p].factor;
      }
    }
  for (double& stride : out) stride = std::abs(stride);
  return out;
}

Reach reach_of(const Buffer& buffer, const AccessUse& use, const std::vector<double>& strides, const Leaf& leaf, size_t from, const Store& store) {
  Reach out;
  const double whole = std::max(1.0, std::ceil(buffer_bytes(buffer) / store.granule_bytes));
  if (use.has_gather) {
    out.granules = whole;
    out.run_bytes = store.granule_bytes;
    return out;
  }
  std::vector<Step> steps;
  for (size_t l = from; l < leaf.loops.size(); ++l)
    if (strides[l] > 0 && leaf.loops[l].trips > 1) steps.push_back({strides[l], leaf.loops[l].trips});
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.stride < b.stride; });
  double run = static_cast<double>(size_bytes(buffer.type)), pieces = 1, places = 0;  // places: sets that are met
  for (const Step& step : without_overlap(steps)) {
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
  out.granules = std::min(pieces * lines, whole);
  if (store.sets > 0) out.set_share = std::min(1.0, std::max(lines, places) / store.sets);
  return out;
}

}  // namespace polyweft::cost
