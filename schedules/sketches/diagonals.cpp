#include "schedules/sketches/diagonals.h"

#include <algorithm>
#include <map>

#include "schedules/bands.h"
#include "schedules/sketches/attached.h"
#include "schedules/sketches/band_forms.h"
#include "schedules/sketches/neighbours.h"
#include "schedules/sketches/plans.h"
#include "schedules/sketches/time_tiles.h"

namespace polyweft::schedules {
namespace {

using poly::BandProposal;

constexpr int64_t kMostSlope = 4;
constexpr int64_t kMoreDiagonals = 2;  ///< beyond those that the distances ask for: borders may need some
constexpr double kFewPoints = 16;      ///< statements with less than this part of all points have no lanes
constexpr double kLeastVectors =
    1.5;  ///< of the longest diagonal: seidel_2d of 11 x 11 and gauss_seidel of 9 x 9 lose 0.2 to 0.3 to single values
constexpr int64_t kStrip = 1024, kDeep = 64;  ///< columns and diagonals of a tile

/// d = slope * (member `outer`) + (the last member).
struct Skew {
  size_t outer = 0;
  int64_t slope = 0;
  bool along_last = false;  ///< lanes along the last member, not the one before it
  int64_t reach = 0;        ///< so many diagonals back is what an element needs
};

/// The distances that loops over the first `outer` members leave to those inside.
std::vector<const BandRelation*> left_inside(const Band& band, size_t outer) {
  std::vector<const BandRelation*> out;
  for (const BandRelation& r : band.relations)
    if (std::none_of(r.lo.begin(), r.lo.begin() + static_cast<std::ptrdiff_t>(outer),
                     [](int64_t lo) { return lo > 0; }))
      out.push_back(&r);
  return out;
}

/// At one point of the band a statement may need what an earlier one has made.
bool leads_on(const BandRelation& r, int64_t least) {
  return least > 0 || (least == 0 && r.source < r.sink);
}

/// Do the cells of a row need none of the same row?
bool has_free_rows(const std::vector<const BandRelation*>& relations, size_t outer) {
  return std::all_of(relations.begin(), relations.end(), [&](const BandRelation* r) {
    return r->lo[outer] > 0 || (r->lo[outer + 1] == 0 && r->hi[outer + 1] == 0);
  });
}

/// Is nothing carried along a member? Then its values are lanes as they are (free_members.h).
bool has_free_member(const std::vector<const BandRelation*>& relations, size_t outer) {
  const auto is_free = [&](size_t m) {
    return std::all_of(relations.begin(), relations.end(),
                       [&](const BandRelation* r) { return r->lo[m] == 0 && r->hi[m] == 0; });
  };
  return is_free(outer) || is_free(outer + 1);
}

std::optional<Skew> least_skew(const NestTemplate& t, uint32_t number) {
  const Band& band = t.bands[number];
  const Stage& frame = t.stages[band.frame];
  if (frame.lo.size() < 2) return std::nullopt;
  const size_t outer = frame.lo.size() - 2, last = outer + 1;
  const auto relations = left_inside(band, outer);
  if (relations.empty() || has_free_member(relations, outer) || has_free_rows(relations, outer)) return std::nullopt;
  for (int64_t slope = 0; slope <= kMostSlope; ++slope) {
    const auto is_later = [&](const BandRelation* r) { return leads_on(*r, slope * r->lo[outer] + r->lo[last]); };
    if (!std::all_of(relations.begin(), relations.end(), is_later)) continue;
    Skew out{outer, slope, slope == 1 && frame.hi[last] - frame.lo[last] <= frame.hi[outer] - frame.lo[outer], 1};
    for (const BandRelation* r : relations)
      out.reach = std::max(out.reach, std::min(slope * r->hi[outer] + r->hi[last], 2 * kMostSlope));
    return out;
  }
  return std::nullopt;
}

std::string free_name(const std::vector<std::string>& names, const std::string& wanted) {
  std::string name = wanted;
  while (std::count(names.begin(), names.end(), name) > 0) name += wanted;
  return name;
}

/// Members outer.., d, x.
BandProposal skewed(const BandProposal& proposal, const Skew& skew) {
  const size_t last = skew.outer + 1, lane = skew.along_last ? last : skew.outer;
  BandProposal out = proposal;
  out.names[skew.outer] = free_name(proposal.names, "d");
  out.names[last] = proposal.names[lane];
  for (BandPlace& place : out.statements) {
    const Affine diagonal = skew.slope * place.members[skew.outer] + place.members[last];
    place.members[last] = place.members[lane];
    place.members[skew.outer] = diagonal;
  }
  return out;
}

bool is_in(const BandProposal& proposal, EquationId equation) {
  return std::any_of(proposal.statements.begin(), proposal.statements.end(),
                     [&](const BandPlace& place) { return place.equation == equation; });
}

/// How many of the last two members are not the same for all instances?
size_t moving_members(const std::vector<Affine>& members) {
  return static_cast<size_t>(
      std::count_if(members.end() - 2, members.end(), [](const Affine& m) { return !m.is_constant(); }));
}

/// What the band's tensors begin with, where other equations make it.
void add_first_values(const Program& program, BandProposal& proposal) {
  const std::set<TensorId> tensors = tensors_of(program, proposal);
  for (EquationId q = 0; q < program.equations.size(); ++q) {
    const Equation& equation = program.equations[q];
    if (is_in(proposal, q) || equation.targets.size() != 1 || equation.rhs->op == Op::reduce ||
        tensors.count(equation.targets[0]) == 0)
      continue;
    std::vector<Affine> element;
    for (const Slot& slot : equation.slots) element.push_back(coordinate(slot));
    if (auto members = members_at(program, proposal, equation.targets[0], element))
      proposal.statements.insert(proposal.statements.begin(), BandPlace{q, {}, *std::move(members), SumPart::whole});
  }
}

/// A sum's first values: at the least values of what it runs over.
std::vector<Affine> at_first(const Equation& equation, std::vector<Affine> members) {
  std::map<VarId, Affine> least;
  for (const IndexRange& range : equation.rhs->reduction.ranges) least[range.var] = range.lo;
  for (Affine& member : members) member = substitute(member, least);
  return members;
}

/// What reads every element of a tensor of the band, folds over them too.
void add_readers(const Program& program, BandProposal& proposal) {
  const BandProposal own = proposal;
  const std::set<TensorId> tensors = tensors_of(program, proposal);
  for (EquationId q = 0; q < program.equations.size(); ++q) {
    const Equation& equation = program.equations[q];
    if (is_in(proposal, q) || equation.targets.size() != 1 || tensors.count(equation.targets[0]) > 0) continue;
    const auto element = element_read(equation, tensors);
    auto members = element ? members_at(program, own, element->first, element->second) : std::nullopt;
    if (!members || moving_members(*members) < 2) continue;
    if (equation.rhs->op == Op::reduce) {
      proposal.statements.insert(proposal.statements.begin(),
                                 BandPlace{q, {}, at_first(equation, *members), SumPart::first});
      proposal.statements.push_back(BandPlace{q, {}, *std::move(members), SumPart::folds});
    } else {
      proposal.statements.push_back(BandPlace{q, {}, *std::move(members), SumPart::whole});
    }
  }
}

/// A member over a tensor's dimensions.
LinearText over_dimensions(const Program& program, const Affine& member) {
  LinearText out;
  for (const Term& term : member.terms)
    if (term.var >= program.index_var(0))
      out.terms.emplace_back(term.coeff, "d" + std::to_string(term.var - program.index_var(0)));
  return out;
}

/// Cells of the band's locals have the members as coordinates (`bare`: x not moved). True where every one of them keeps
/// few diagonals.
bool arrange_cells(Sketcher& s, const Program& program, const BandProposal& bare, const Skew& skew) {
  bool all_folded = true;
  for (const TensorId id : tensors_of(program, bare)) {
    const Tensor& tensor = program.tensors[id];
    if (tensor.kind != TensorKind::local || tensor.rank != bare.names.size()) continue;
    std::vector<Affine> element;
    for (uint32_t d = 0; d < tensor.rank; ++d) element.push_back(Affine::variable(program.index_var(d)));
    const auto cell = members_at(program, bare, id, element);
    StoreStep store{tensor.name, {}};
    for (size_t m = 0; cell && m < cell->size(); ++m) store.cell.push_back(over_dimensions(program, (*cell)[m]));
    bool folded = false;
    if (cell && s.take(store) && skew.outer == 0)
      for (int64_t kept = skew.reach + 1; kept <= skew.reach + 1 + kMoreDiagonals && !folded; ++kept)
        folded = s.take(FoldStep{tensor.name, "c0", kept, true});
    all_folded &= folded;
  }
  return all_folded;
}

/// Lanes for what does most; False where that is less than half of the work.
bool vectorize_along(Sketcher& s, uint32_t number, const std::string& lane, const std::string& diagonal) {
  double all = 0, vectorized = 0;
  const std::vector<std::string> attached_stages = names_of_attached(s.t_, number);
  for (const std::string& attached : attached_stages)
    all += points_inside(s.t_, s.t_.stages[*stage_named(s.t_, attached)]);
  for (const std::string& attached : attached_stages) {
    const Stage stage = s.t_.stages[*stage_named(s.t_, attached)];
    const double points = points_inside(s.t_, stage);
    if (kFewPoints * points < all) continue;
    const VectorizeStep lanes{attached, lane, Size{s.lanes_of(stage), ""}};
    if (stage.reduces ? s.take_all({AccumulateStep{attached, diagonal, Scope::reg}, lanes}) : s.take(lanes))
      vectorized += points;
  }
  return 2 * vectorized > all;
}

/// The largest number of lanes among what the band makes.
int64_t widest_lanes(const Sketcher& s, const Program& program, const BandProposal& proposal) {
  int64_t out = 1;
  for (const TensorId id : tensors_of(program, proposal))
    out = std::max<int64_t>(out, s.machine_->vector_bytes() / size_bytes(program.tensors[id].type));
  return out;
}

/// Strips pay where the diagonals that are kept leave the first cache by far (needleman_wunsch: 0.7 at 72 KB, 1.2 at
/// 180, 1.4 at 720).
bool fits_near(const Sketcher& s, const Program& program, const BandProposal& proposal, const Skew& skew,
               int64_t length) {
  double bytes = 0;
  for (const TensorId id : tensors_of(program, proposal))
    bytes += static_cast<double>((skew.reach + 1) * length * size_bytes(program.tensors[id].type));
  return bytes <= 2 * static_cast<double>(s.machine_->cache_bytes(0));
}

/// Blocks of time pay where a plane leaves the second cache by far (seidel_2d: 0.9 at two of its sizes, 1.0 at
/// five, 1.8 at thirty).
bool has_near_planes(const Sketcher& s, const Program& program, const BandProposal& proposal, const Stage& frame) {
  if (s.machine_->caches() < 2) return true;
  double bytes = 0;
  for (const TensorId id : tensors_of(program, proposal))
    bytes += static_cast<double>(size_bytes(program.tensors[id].type));
  for (size_t m = frame.lo.size() - 2; m < frame.lo.size(); ++m)
    bytes *= static_cast<double>(frame.hi[m] - frame.lo[m]);
  return bytes <= 4 * static_cast<double>(s.machine_->cache_bytes(1));
}

/// The band with these statements in its form, before its loops are changed. False where it is refused.
bool take_band(Sketcher& s, const Program& program, const BandProposal& bare, const Skew& skew, Diagonals form) {
  const auto number = static_cast<uint32_t>(s.t_.bands.size());
  const int64_t lanes = widest_lanes(s, program, bare);
  BandProposal moved = bare;
  if (form == Diagonals::strips)
    for (BandPlace& place : moved.statements)
      place.members.back() = place.members.back() + lanes * place.members[skew.outer];
  const BandStep step = poly::band_step(program, moved, s.band_name());
  if (form == Diagonals::time) {
    Sketcher first = s;
    if (!first.take(step)) return false;
    fold_storage(first, number);
    const auto in_time = permutable(first.t_, number, step, lanes);
    if (!in_time || !s.take(*in_time)) return false;
  } else if (!s.take(step)) {
    return false;
  }
  if (skew.outer > 0) fold_storage(s, number);
  return true;
}

bool take_tiles(Sketcher& s, uint32_t number, const BandProposal& bare, Diagonals form) {
  const std::string name = s.t_.stages[s.t_.bands[number].frame].name;
  const std::string &d = bare.names[bare.names.size() - 2], &x = bare.names.back();
  if (form == Diagonals::strips)
    return s.take_all(
        {TileStep{name, {{d, Size{kDeep, ""}}, {x, Size{kStrip, ""}}}}, PermuteStep{name, {d + ".1", x + ".1", d, x}}});
  if (form == Diagonals::whole) return true;
  const std::string t = bare.names.front(), suffix = std::to_string(number + 1), steps = "tt" + suffix,
                    columns = "jj" + suffix, diagonals = "dd" + suffix;
  s.decide(steps, 16, {8, 16, 32});
  s.decide(columns, 128, {32, 64, 128, 256});
  s.decide(diagonals, 256, {64, 128, 256, 512});
  const TileStep tile{name, {{t, Size{0, steps}}, {x, Size{0, columns}}, {d, Size{0, diagonals}}}};
  const PermuteStep order{name, {t + ".1", x + ".1", d + ".1", t, d, x}};
  return s.take(tile) && s.take(order);
}

/// The band with these statements; what is made or read beside it as it is.
bool add_band(Sketcher& s, const Program& program, const BandProposal& bare, const Skew& skew, Diagonals form) {
  const auto number = static_cast<uint32_t>(s.t_.bands.size());
  if (!take_band(s, program, bare, skew, form)) return false;
  const bool folded = arrange_cells(s, program, bare, skew);
  if ((form == Diagonals::strips && !folded) || !take_tiles(s, number, bare, form)) return false;
  const DistributeStep apart{s.t_.stages[s.t_.bands[number].frame].name, bare.names[skew.outer]};
  return s.take(apart) && vectorize_along(s, number, bare.names.back(), bare.names[skew.outer]);
}

}  // namespace

bool add_diagonals(Sketcher& s, const Program& program, const BandProposal& proposal, Diagonals form) {
  Sketcher plain = s;
  const auto number = static_cast<uint32_t>(s.t_.bands.size());
  if (!plain.take(poly::band_step(program, proposal, s.band_name()))) return false;
  std::optional<Skew> skew = least_skew(plain.t_, number);
  if (!skew) return false;
  const Stage frame = plain.t_.stages[plain.t_.bands[number].frame];
  const size_t lane = skew->along_last ? skew->outer + 1 : skew->outer;
  const int64_t length = frame.hi[lane] - frame.lo[lane];
  if (form == Diagonals::strips && (skew->outer > 0 || fits_near(s, program, proposal, *skew, length))) return false;
  if (form == Diagonals::time && (skew->outer != 1 || has_near_planes(s, program, proposal, frame))) return false;
  if (form == Diagonals::time)
    skew->along_last = false;  // no distance along the member in front is negative at one time
  if (static_cast<double>(length) < kLeastVectors * static_cast<double>(widest_lanes(s, program, proposal)))
    return false;
  const BandProposal bare = skewed(proposal, *skew);
  std::vector<BandProposal> forms = {bare};
  if (skew->outer == 0) {
    BandProposal with_first = bare;
    add_first_values(program, with_first);
    BandProposal with_all = with_first;
    add_readers(program, with_all);
    forms = {std::move(with_all), std::move(with_first), bare};
  }
  for (const BandProposal& each : forms) {
    Sketcher tried = s;
    if (!add_band(tried, program, each, *skew, form)) continue;
    s = std::move(tried);
    return true;
  }
  return false;
}

}  // namespace polyweft::schedules
