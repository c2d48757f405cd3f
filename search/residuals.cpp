#include "search/residuals.h"

#include <algorithm>
#include <utility>

namespace polyweft::search {

double Residuals::median(double otherwise) const {
  std::vector<std::pair<double, bool>> all;  // false, which sorts first: exact
  for (const double r : exact_) all.emplace_back(r, false);
  for (const double r : bounds_) all.emplace_back(r, true);
  if (all.empty()) return otherwise;
  std::sort(all.begin(), all.end());
  double above = 1;  // the share that lies above what was met so far
  for (size_t k = 0; k < all.size(); ++k) {
    if (all[k].second) continue;
    const auto at_risk = static_cast<double>(all.size() - k);
    above *= (at_risk - 1) / at_risk;
    if (above <= 0.5) return all[k].first;
  }
  return all.back().first;
}

double Residuals::success() const {
  if (failures_ == 0) return 1;
  const auto all = static_cast<double>(tries());
  return (all - static_cast<double>(failures_) + 1) / (all + 1);
}

}  // namespace polyweft::search
