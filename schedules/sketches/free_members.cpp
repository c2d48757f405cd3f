#include "schedules/sketches/free_members.h"

#include <algorithm>
#include <map>
#include <set>

#include "schedules/bands.h"
#include "schedules/sketches/attached.h"
#include "schedules/sketches/neighbours.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

using poly::BandProposal;

constexpr size_t kNone = SIZE_MAX;

struct Extents {
  std::vector<int64_t> lo, hi;
  bool operator==(const Extents&) const = default;
};

/// A band as isl has it: which members are free, and how long each is.
struct Facts {
  std::vector<char> is_free;
  Extents extents;
};

struct Known {
  BandProposal proposal;
  Facts facts;
};

std::optional<Facts> facts_of_band(const Sketcher& begun, const Program& program, const BandProposal& proposal) {
  Sketcher s = begun;
  const auto number = static_cast<uint32_t>(s.t_.bands.size());
  if (!s.take(poly::band_step(program, proposal, s.band_name()))) return std::nullopt;
  const Band band = s.t_.bands[number];
  const Stage frame = s.t_.stages[band.frame];
  Facts out{std::vector<char>(frame.lo.size(), 1), {frame.lo, frame.hi}};
  for (const BandRelation& r : band.relations)
    for (size_t m = 0; m < out.is_free.size(); ++m) out.is_free[m] &= r.lo[m] == 0 && r.hi[m] == 0;
  return out;
}

bool has_sums(const Program& program, const BandProposal& proposal) {
  return std::any_of(proposal.statements.begin(), proposal.statements.end(),
                     [&](const BandPlace& place) { return program.equations[place.equation].rhs->op == Op::reduce; });
}

bool facts_have_free_member(const Facts& facts) {
  return facts.is_free.size() > 1 && std::count(facts.is_free.begin(), facts.is_free.end(), 1) > 0 &&
         std::count(facts.is_free.begin(), facts.is_free.end(), 0) > 0;
}

std::set<TensorId> inputs_of(const Program& program, const BandProposal& proposal) {
  std::set<TensorId> out;
  for (const BandPlace& place : proposal.statements)
    visit(program.equations[place.equation].rhs, [&](const ExprNode& e) {
      if (e.op == Op::read && program.tensors[e.access.id].kind == TensorKind::input) out.insert(e.access.id);
    });
  return out;
}

/// First values before, readers after, where the band stays legal.
void add_neighbours(const Sketcher& begun, const Program& program, const std::set<EquationId>& taken, Known& known) {
  BandProposal& proposal = known.proposal;
  std::set<TensorId> tensors;
  std::set<EquationId> own;
  for (const BandPlace& place : proposal.statements) {
    own.insert(place.equation);
    for (TensorId id : program.equations[place.equation].targets) tensors.insert(id);
  }
  for (EquationId q = 0; q < program.equations.size(); ++q) {
    const Equation& equation = program.equations[q];
    if (taken.count(q) || own.count(q) || equation.targets.size() != 1 || equation.rhs->op == Op::reduce) continue;
    const bool is_first = tensors.count(equation.targets[0]) > 0;
    std::optional<std::pair<TensorId, std::vector<Affine>>> element;
    if (is_first) {
      element = {equation.targets[0], {}};
      for (const Slot& slot : equation.slots) element->second.push_back(coordinate(slot));
    } else {
      element = element_read(equation, tensors);
    }
    const auto members = element ? members_at(program, proposal, element->first, element->second) : std::nullopt;
    if (!members) continue;
    BandProposal wider = proposal;
    BandPlace place;
    place.equation = q;
    place.members = *members;
    wider.statements.insert(is_first ? wider.statements.begin() : wider.statements.end(), std::move(place));
    if (auto facts = facts_of_band(begun, program, wider); facts && facts_have_free_member(*facts))
      known = {std::move(wider), std::move(*facts)};
  }
}

/// Proposals of the same shape that read the same inputs become one.
std::vector<Known> merged(const Sketcher& begun, const Program& program, const std::vector<BandProposal>& proposals) {
  std::vector<Known> out;
  for (const BandProposal& proposal : proposals) {
    auto facts = facts_of_band(begun, program, proposal);
    if (!facts || !facts_have_free_member(*facts) || has_sums(program, proposal)) continue;
    const auto takes = [&](Known& other) {
      if (!(other.facts.extents == facts->extents) || other.facts.is_free != facts->is_free ||
          inputs_of(program, other.proposal) != inputs_of(program, proposal))
        return false;
      BandProposal both = other.proposal;
      both.statements.insert(both.statements.end(), proposal.statements.begin(), proposal.statements.end());
      auto of_both = facts_of_band(begun, program, both);
      if (!of_both || of_both->is_free != facts->is_free) return false;
      other = {std::move(both), std::move(*of_both)};
      return true;
    };
    if (std::none_of(out.begin(), out.end(), takes)) out.push_back({proposal, std::move(*facts)});
  }
  return out;
}

/// The tensor's dimension that is this member, in all statements of the band that write it.
size_t dimension_of_member(const Program& program, const BandProposal& proposal, TensorId tensor, size_t member) {
  size_t out = kNone;
  for (const BandPlace& place : proposal.statements) {
    const Equation& equation = program.equations[place.equation];
    if (std::count(equation.targets.begin(), equation.targets.end(), tensor) == 0) continue;
    for (size_t d = 0; d < equation.slots.size(); ++d) {
      const Affine difference = place.members[member] - coordinate(equation.slots[d]);
      if (difference.is_constant() && (out == kNone || !coordinate(equation.slots[d]).is_constant())) out = d;
    }
  }
  return out;
}

/// Cells with the free dimension innermost (lanes only), few of them along the outermost member that carries.
void arrange_storage(Sketcher& s, const Program& program, const BandProposal& proposal, size_t free, size_t longest,
                     FreeForm form) {
  constexpr int64_t kMostSteps = 4;
  std::set<TensorId> tensors;
  for (const BandPlace& place : proposal.statements)
    for (TensorId id : program.equations[place.equation].targets)
      if (program.tensors[id].kind == TensorKind::local && program.tensors[id].rank > 1) tensors.insert(id);
  for (TensorId id : tensors) {
    const Tensor& tensor = program.tensors[id];
    const size_t lane = dimension_of_member(program, proposal, id, free),
                 along = dimension_of_member(program, proposal, id, longest);
    if (lane == kNone || along == kNone || lane == along) continue;
    std::string coordinate = "d" + std::to_string(along);
    if (form == FreeForm::lanes && lane + 1 != tensor.rank) {
      StoreStep store{tensor.name, {}};
      for (size_t d = 0; d < tensor.rank; ++d)
        if (d != lane) store.cell.push_back({{{1, "d" + std::to_string(d)}}, 0});
      store.cell.push_back({{{1, "d" + std::to_string(lane)}}, 0});
      if (s.take(store)) coordinate = "c" + std::to_string(along - (along > lane ? 1 : 0));
    }
    for (int64_t steps = 1; steps <= kMostSteps; ++steps)
      if (s.take(FoldStep{tensor.name, coordinate, steps, true})) break;
  }
}

FreeBand in_order_of_loops(const Known& known) {
  const auto extent = [&](size_t m) { return known.facts.extents.hi[m] - known.facts.extents.lo[m]; };
  std::vector<size_t> free, order;
  for (size_t m = 0; m < known.facts.is_free.size(); ++m) (known.facts.is_free[m] ? free : order).push_back(m);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return extent(a) > extent(b); });
  std::stable_sort(free.begin(), free.end(), [&](size_t a, size_t b) { return extent(a) < extent(b); });
  order.insert(order.begin(), free.begin(), free.end() - 1);
  order.push_back(free.back());
  FreeBand out{known.proposal, free.size() - 1};
  for (size_t m = 0; m < order.size(); ++m) {
    out.proposal.names[m] = known.proposal.names[order[m]];
    for (size_t k = 0; k < out.proposal.statements.size(); ++k)
      out.proposal.statements[k].members[m] = known.proposal.statements[k].members[order[m]];
  }
  return out;
}

}  // namespace

std::vector<FreeBand> free_members(const Program& program, NumericsClass cls, const Machine& machine, const Isl& isl,
                                   const std::vector<BandProposal>& proposals) {
  const Sketcher begun(program, cls, machine, isl);
  std::set<EquationId> taken;
  for (const BandProposal& proposal : proposals)
    for (const BandPlace& place : proposal.statements) taken.insert(place.equation);
  std::vector<FreeBand> out;
  for (Known& known : merged(begun, program, proposals)) {
    add_neighbours(begun, program, taken, known);
    out.push_back(in_order_of_loops(known));
  }
  return out;
}

std::optional<FreeBand> free_band(const Sketcher& begun, const Program& program, const BandProposal& proposal) {
  auto facts = facts_of_band(begun, program, proposal);
  if (!facts || !facts_have_free_member(*facts) || has_sums(program, proposal)) return std::nullopt;
  return in_order_of_loops({proposal, std::move(*facts)});
}

bool add_free_band(Sketcher& s, const Program& program, const FreeBand& band, FreeForm form) {
  constexpr int64_t kJammed = 4, kVectors = 8;
  const BandProposal& proposal = band.proposal;
  Sketcher tried = s;
  const auto number = static_cast<uint32_t>(tried.t_.bands.size());
  const std::string name = tried.band_name();
  if (!tried.take(poly::band_step(program, proposal, name))) return false;
  const size_t free = proposal.names.size() - 1;
  const Stage frame = tried.t_.stages[tried.t_.bands[number].frame];
  const int64_t extent = frame.hi[free] - frame.lo[free], lanes = s.machine_->vector_bytes() / 8;
  if (extent < (form == FreeForm::lanes ? lanes : 2)) return false;
  arrange_storage(tried, program, proposal, free, band.outer, form);
  const std::string lane = proposal.names[free],
                    width = (form == FreeForm::lanes ? "rr" : "ru") + std::to_string(number + 1);
  if (form == FreeForm::lanes) {
    std::vector<int64_t> widths;
    for (int64_t vectors = 1; vectors <= kVectors && vectors * lanes < extent + lanes; vectors *= 2)
      widths.push_back(vectors * lanes);
    tried.decide(width, widths[widths.size() / 2], widths);
  } else {
    tried.decide(width, std::min(kJammed, extent), {1, 2, kJammed, 2 * kJammed});
  }
  std::vector<std::string> order = proposal.names;
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(band.outer), lane + ".1");
  if (!tried.take_all({TileStep{name, {{lane, Size{0, width}}}}, PermuteStep{name, order}})) return false;
  if (form == FreeForm::jammed) {
    if (!tried.take(UnrollStep{name, {lane}})) return false;
  } else {
    if (!tried.take(DistributeStep{name, proposal.names[free - 1]})) return false;
    for (const std::string& attached : names_of_attached(tried.t_, number)) {
      const int64_t own = tried.lanes_of(tried.t_.stages[*stage_named(tried.t_, attached)]);
      if (!tried.take(VectorizeStep{attached, lane, Size{own, ""}})) return false;
    }
  }
  s = std::move(tried);
  return true;
}

}  // namespace polyweft::schedules
