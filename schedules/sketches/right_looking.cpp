#include "schedules/sketches/right_looking.h"

#include <algorithm>

#include "schedules/bands.h"
#include "schedules/sketches/attached.h"
#include "schedules/sketches/band_forms.h"
#include "schedules/sketches/neighbours.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

using poly::BandProposal;

bool is_sum(const Program& program, const BandPlace& place) {
  return program.equations[place.equation].rhs->op == Op::reduce;
}

/// One index is folded over, and no member moves with it.
bool is_whole(const Program& program, const BandPlace& place) {
  const auto& ranges = program.equations[place.equation].rhs->reduction.ranges;
  return ranges.size() == 1 && std::all_of(place.members.begin(), place.members.end(),
                                           [&](const Affine& m) { return m.coefficient(ranges[0].var) == 0; });
}

/// The member along which the elements of all sums are neighbours.
std::optional<size_t> lane_of(const Program& program, const BandProposal& proposal) {
  for (size_t m = 0; m < proposal.names.size(); ++m) {
    const auto is_last = [&](const BandPlace& place) {
      const auto& slots = program.equations[place.equation].slots;
      return !is_sum(program, place) ||
             (!slots.empty() && slots.back().var != kNoVar && place.members[m] == Affine::variable(slots.back().var));
    };
    if (std::all_of(proposal.statements.begin(), proposal.statements.end(), is_last)) return m;
  }
  return std::nullopt;
}

/// Members outer.., k, x. An element that is no sum is made at k = x + `after`.
std::vector<Affine> members_with(const BandPlace& place, size_t lane, const Affine& k) {
  std::vector<Affine> out = place.members;
  const Affine along = out[lane];
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(lane));
  out.push_back(k);
  out.push_back(along);
  return out;
}

BandProposal in_folds(const Program& program, const BandProposal& proposal, size_t lane, int64_t after) {
  std::vector<BandPlace> firsts, others, folds;
  std::string folded;
  for (BandPlace place : proposal.statements) {
    const BandPlace as_proposed = place;
    if (!is_sum(program, place)) {
      place.members = members_with(as_proposed, lane, as_proposed.members[lane] + Affine::of(after));
      others.push_back(std::move(place));
      continue;
    }
    const Equation& equation = program.equations[place.equation];
    const IndexRange& range = equation.rhs->reduction.ranges[0];
    folded = equation.index_names[range.var - program.index_var(0)];
    place.part = SumPart::folds;
    place.members = members_with(as_proposed, lane, Affine::variable(range.var));
    folds.push_back(place);
    place.part = SumPart::first;
    place.piece.clear();
    place.members = members_with(as_proposed, lane, range.lo);
    firsts.push_back(std::move(place));
  }
  BandProposal out{std::move(firsts), proposal.names};
  out.statements.insert(out.statements.end(), others.begin(), others.end());
  out.statements.insert(out.statements.end(), folds.begin(), folds.end());
  const std::string along = proposal.names[lane];
  out.names.erase(out.names.begin() + static_cast<std::ptrdiff_t>(lane));
  while (std::count(proposal.names.begin(), proposal.names.end(), folded) > 0) folded += folded;
  out.names.push_back(folded);
  out.names.push_back(along);
  return out;
}

/// Folds and first values have lanes along x.
bool vectorize_sums(Sketcher& s, uint32_t number, const std::string& along) {
  bool all = true;
  for (const std::string& attached : names_of_attached(s.t_, number)) {
    const Stage stage = s.t_.stages[*stage_named(s.t_, attached)];
    if (stage.part == SumPart::whole) continue;
    const bool is_fold = stage.part == SumPart::folds;
    const uint32_t lane = *index_named(s.t_, stage, along);
    if (is_fold && stage.hi[lane] - stage.lo[lane] < s.lanes_of(stage))
      return false;  // single values are twice as fast
    all &= s.take(VectorizeStep{attached, along, Size{s.lanes_of(stage), ""}}) || !is_fold;
  }
  return all;
}

}  // namespace

bool add_right_looking(Sketcher& s, const Program& program, const BandProposal& proposal) {
  const auto& places = proposal.statements;
  if (std::none_of(places.begin(), places.end(), [&](const BandPlace& p) { return is_sum(program, p); })) return false;
  if (!std::all_of(places.begin(), places.end(),
                   [&](const BandPlace& p) { return !is_sum(program, p) || is_whole(program, p); }))
    return false;
  const auto lane = lane_of(program, proposal);
  if (!lane || proposal.names.size() < 2) return false;
  const auto number = static_cast<uint32_t>(s.t_.bands.size());
  for (const int64_t after : {0, 1, -1}) {
    Sketcher tried = s;
    const BandProposal folds = in_folds(program, proposal, *lane, after);
    const BandStep step = poly::band_step(program, folds, s.band_name());
    if (!tried.take(step)) continue;
    fold_storage(tried, number);
    if (!tried.take(DistributeStep{step.name, folds.names[folds.names.size() - 2]}) ||
        !vectorize_sums(tried, number, folds.names.back()))
      continue;
    s = std::move(tried);
    return true;
  }
  return false;
}

}  // namespace polyweft::schedules
