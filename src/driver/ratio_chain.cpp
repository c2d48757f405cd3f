#include "driver/ratio_chain.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

namespace polyweft {

void RatioChain::add(const std::string& nest, const std::string& beside, double ratio) {
  if (!(ratio > 0) || !std::isfinite(ratio) || nest == beside) return;
  if (const auto known = pairs_.find(nest); known != pairs_.end())
    if (std::any_of(known->second.begin(), known->second.end(), [&](const Pair& p) { return p.other == beside; }))
      return;  // the first pairs of two nests count
  for (const auto& name : {beside, nest})
    if (!pairs_.contains(name)) order_.push_back(name);
  pairs_[nest].push_back({beside, ratio});
  pairs_[beside].push_back({nest, 1 / ratio});
  const bool is_new = pairs_[nest].size() == 1 && ratios_.contains(beside);
  if (is_new)
    ratios_[nest] = ratio * ratios_[beside];
  else if (ratios_.contains(nest) != ratios_.contains(beside))
    ratios_ = reached_from(sentinel_);  // the one brings others with it
}

void RatioChain::begin_with(const std::string& sentinel) {
  sentinel_ = sentinel;
  ratios_ = reached_from(sentinel);
}

double RatioChain::ratio_of(const std::string& nest) const {
  const auto found = ratios_.find(nest);
  return found == ratios_.end() ? 0 : found->second;
}

std::map<std::string, double> RatioChain::reached_from(const std::string& nest) const {
  std::map<std::string, double> out{{nest, 1}};
  std::deque<std::string> next{nest};
  while (!next.empty()) {
    const std::string at = next.front();
    next.pop_front();
    const auto pairs = pairs_.find(at);
    if (pairs == pairs_.end()) continue;
    for (const Pair& pair : pairs->second)
      if (out.emplace(pair.other, out.at(at) / pair.ratio).second) next.push_back(pair.other);
  }
  return out;
}

std::string RatioChain::fastest() const {
  std::set<std::string> seen;
  size_t most = 0;
  std::string out;
  for (const std::string& first : order_) {
    if (seen.contains(first)) continue;
    const auto group = reached_from(first);
    std::string fastest = first;
    for (const auto& [nest, ratio] : group) {
      seen.insert(nest);
      if (ratio < group.at(fastest)) fastest = nest;
    }
    if (group.size() > most) {
      most = group.size();
      out = fastest;
    }
  }
  return out;
}

RatioChain ratios_of(const std::vector<std::pair<std::string, Measurement>>& rows) {
  RatioChain out;
  for (const auto& [trace, measurement] : rows)
    if (measurement.status == RunStatus::ok || measurement.status == RunStatus::slower)
      if (!measurement.beside.empty()) out.add(measurement.nest_hash, measurement.beside, measurement.timing.ratio);
  return out;
}

}  // namespace polyweft
