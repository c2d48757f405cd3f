// Conditions on one index each hold in whole ranges of it: a statement of a border becomes one of rows and columns,
// without any condition.
//
//   for i, j: if i == 0 or j == N-1: Y[i, j] = X[i, j]        for j: Y[0, j] = X[0, j] ;  for i >= 1: Y[i, N-1] = X[i,
//   N-1]
#include "schedules/sketches/borders.h"

#include <algorithm>
#include <set>

#include "schedules/queries.h"

namespace polyweft::schedules {
namespace {

constexpr size_t kMostCuts = 4;          ///< of one index
constexpr size_t kMostBorderParts = 16;  ///< more statements than the program has

/// The index that alone decides the condition, and where it begins and ceases to hold; null where there is no such.
struct Cuts {
  uint32_t index = 0;
  std::vector<int64_t> at;
};
std::optional<Cuts> cuts_of(const NestTemplate& t, const Guard& leaf) {
  if (leaf.e.terms.size() != 1 || leaf.e.terms[0].quasi || std::abs(leaf.e.terms[0].coeff) != 1) return std::nullopt;
  const VarId first = t.program.index_var(0);
  const auto [var, sign] = std::pair(leaf.e.terms[0].var, leaf.e.terms[0].coeff);
  if (var < first) return std::nullopt;
  const int64_t value = -sign * leaf.e.constant;
  if (leaf.kind == Guard::Kind::eq0) return Cuts{var - first, {value, value + 1}};
  return Cuts{var - first, {sign > 0 ? value : value + 1}};
}

/// All leaves' cuts by index; false where a leaf has none.
bool gather(const NestTemplate& t, const Guard& g, std::vector<std::set<int64_t>>& cuts) {
  if (g.kind == Guard::Kind::ge0 || g.kind == Guard::Kind::eq0) {
    const auto own = cuts_of(t, g);
    if (!own || own->index >= cuts.size()) return false;
    cuts[own->index].insert(own->at.begin(), own->at.end());
    return true;
  }
  return std::all_of(g.of.begin(), g.of.end(), [&](const Guard& inner) { return gather(t, inner, cuts); });
}

std::optional<IndexSetSplitStep> border_split(const NestTemplate& t, const Stage& stage) {
  std::vector<std::set<int64_t>> cuts(stage.data_indices);
  if (stage.guards.empty() ||
      !std::all_of(stage.guards.begin(), stage.guards.end(), [&](const Guard& g) { return gather(t, g, cuts); }))
    return std::nullopt;
  for (uint32_t k = 0; k < stage.data_indices; ++k) {
    IndexSetSplitStep step{stage.name, {index_name(t, stage, k)}, 0, {}};
    for (int64_t at : cuts[k])
      if (at > stage.lo[k] && at < stage.hi[k]) step.at.push_back(at);
    if (step.at.size() > kMostCuts) return std::nullopt;
    if (!step.at.empty()) return step;
  }
  return std::nullopt;
}

}  // namespace

NestTemplate with_borders(NestTemplate t, std::vector<Step>& steps) {
  const size_t most = t.stages.size() + kMostBorderParts;
  for (uint32_t k = 0; k < t.stages.size(); ++k)
    while (t.stages[k].placement.kind == Placement::Kind::at_root && t.stages.size() + kMostCuts <= most) {
      const auto step = border_split(t, t.stages[k]);
      auto next = step ? index_set_split(t, *step) : Result<NestTemplate>(t);
      if (!step || !next) break;
      t = std::move(*next);
      steps.push_back(*step);
    }
  return t;
}

}  // namespace polyweft::schedules
