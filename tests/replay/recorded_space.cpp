#include "replay/recorded_space.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace polyweft::replay {
namespace {

std::string key_of(uint32_t structure, const std::vector<int64_t>& decisions) {
  std::string key(reinterpret_cast<const char*>(&structure), sizeof structure);
  key.append(reinterpret_cast<const char*>(decisions.data()), decisions.size() * sizeof(int64_t));
  return key;
}

double place_of(const Choice& choice, int64_t value) {
  return static_cast<double>(std::lower_bound(choice.values.begin(), choice.values.end(), value) -
                             choice.values.begin());
}

double distance(const std::vector<Choice>& choices, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  double sum = 0;
  for (size_t c = 0; c < choices.size(); ++c)
    if (a[c] != b[c])
      sum += std::abs(place_of(choices[c], a[c]) - place_of(choices[c], b[c])) /
             static_cast<double>(choices[c].values.size());
  return sum;
}

}  // namespace

RecordedSpace::RecordedSpace(std::string name, std::vector<Structure> structures,
                             std::vector<RecordedCandidate> candidates, const std::vector<Edge>& edges)
    : name_(std::move(name)),
      structures_(std::move(structures)),
      candidates_(std::move(candidates)),
      members_(structures_.size()) {
  for (uint32_t k = 0; k < candidates_.size(); ++k) {
    members_[candidates_[k].structure].push_back(k);
    known_.emplace(key_of(candidates_[k].structure, candidates_[k].decisions), k);
  }
  add_edges(edges, EdgeKind::mutated, mutated_);
  add_edges(edges, EdgeKind::crossed, crossed_);
}

void RecordedSpace::add_edges(const std::vector<Edge>& edges, EdgeKind kind, Neighbours& out) const {
  out.resize(candidates_.size());
  for (const Edge& edge : edges)
    if (edge.kind == kind && candidates_[edge.parent].structure != candidates_[edge.child].structure) {
      out[edge.parent].push_back(edge.child);
      if (kind == EdgeKind::mutated) out[edge.child].push_back(edge.parent);
    }
  Neighbours of_relatives(candidates_.size());
  for (uint32_t k = 0; k < candidates_.size(); ++k)
    if (out[k].empty())
      for (const uint32_t relative : members_[candidates_[k].structure])
        of_relatives[k].insert(of_relatives[k].end(), out[relative].begin(), out[relative].end());
  for (uint32_t k = 0; k < candidates_.size(); ++k)
    if (out[k].empty()) out[k] = std::move(of_relatives[k]);
}

std::optional<uint32_t> RecordedSpace::nearest(uint32_t structure, const std::vector<int64_t>& decisions) const {
  if (members_[structure].empty()) return std::nullopt;
  const auto [at, is_new] = known_.try_emplace(key_of(structure, decisions), 0);
  if (is_new) at->second = nearest_unknown(structure, decisions);
  return at->second;
}

uint32_t RecordedSpace::nearest_unknown(uint32_t structure, const std::vector<int64_t>& decisions) const {
  uint32_t best = members_[structure].front();
  double least = std::numeric_limits<double>::infinity();
  for (const uint32_t k : members_[structure]) {
    const double far = distance(structures_[structure].choices, decisions, candidates_[k].decisions);
    if (far < least) least = far, best = k;
  }
  return best;
}

const std::vector<uint32_t>& RecordedSpace::derived_of(uint32_t candidate, EdgeKind kind) const {
  return (kind == EdgeKind::crossed ? crossed_ : mutated_)[candidate];
}

double RecordedSpace::best_ratio() const {
  double best = std::numeric_limits<double>::infinity();
  for (const RecordedCandidate& c : candidates_)
    if (c.status == RunStatus::ok && c.ratio > 0) best = std::min(best, c.ratio);
  return best;
}

std::vector<uint32_t> RecordedSpace::first_choices() const {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < candidates_.size(); ++k)
    if (candidates_[k].first_choice) out.push_back(k);
  std::sort(out.begin(), out.end(),
            [&](uint32_t a, uint32_t b) { return *candidates_[a].first_choice < *candidates_[b].first_choice; });
  return out;
}

}  // namespace polyweft::replay
