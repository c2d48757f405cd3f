#include "schedules/sketches/time_tiles.h"

#include <algorithm>
#include <set>

#include "schedules/bands.h"
#include "schedules/sketches/attached.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kMostSkew = 8;
constexpr int64_t kRowsJammed = 8;
constexpr double kFewTilePoints = 16;  ///< statements with less than this part of all points have no lanes

/// A member m becomes sign * m + by * (the first member) + a shift of each statement.
struct TimeSkew {
  int64_t by = 0;
  std::vector<int64_t> shift;
};

/// Multiples of `unit` for the statements' shifts so that no distance is negative: a shortest path among the
/// differences. Nothing where there are none.
std::optional<std::vector<int64_t>> shifts_for(const Band& band, uint32_t m, int sign, int64_t by, int64_t unit) {
  std::vector<int64_t> shift(band.places.size(), 0);
  for (size_t round = 0; round <= shift.size(); ++round) {
    bool changed = false;
    for (const BandRelation& r : band.relations) {
      const int64_t distance = (sign > 0 ? r.lo[m] : -r.hi[m]) + by * r.lo[0] + shift[r.sink] - shift[r.source];
      if (distance >= 0) continue;
      if (r.source == r.sink) return std::nullopt;
      shift[r.sink] += (-distance + unit - 1) / unit * unit;
      changed = true;
    }
    if (!changed) return shift;
  }
  return std::nullopt;
}

std::optional<TimeSkew> least_time_skew(const Band& band, uint32_t m, int sign, int64_t unit, int64_t least = 0) {
  for (int64_t by = least; by <= kMostSkew * unit; by += unit)
    if (auto shift = shifts_for(band, m, sign, by, unit)) return TimeSkew{by, std::move(*shift)};
  return std::nullopt;
}

LinearText skewed_member(const NestTemplate& t, uint32_t number, const BandStep::Statement& statement, uint32_t m,
                         int sign, const TimeSkew& skew) {
  LinearText out;
  const LinearText& first = statement.members[0];
  for (const auto& [coeff, name] : statement.members[m].terms) out.terms.push_back({sign * coeff, name});
  for (const auto& [coeff, name] : first.terms)
    if (skew.by != 0) out.terms.push_back({skew.by * coeff, name});
  // Pieces of a statement move together: the greatest of their shifts.
  int64_t by = 0;
  const std::vector<uint32_t> attached_stages = stages_of(t, number);
  for (size_t k = 0; k < attached_stages.size(); ++k)
    if (const std::string& own = t.stages[attached_stages[k]].name;
        own == statement.name || own.starts_with(statement.name + ".p"))
      by = std::max(by, skew.shift[k]);
  out.constant = sign * statement.members[m].constant + skew.by * first.constant + by;
  return out;
}

bool goes_forward_in_time(const Band& band) {
  return std::none_of(band.relations.begin(), band.relations.end(), [](const BandRelation& r) { return r.lo[0] < 0; });
}

std::vector<std::string> index_names(const NestTemplate& t, const Stage& frame) {
  std::vector<std::string> out;
  for (uint32_t m = 0; m < frame.lo.size(); ++m) out.push_back(index_name(t, frame, m));
  return out;
}

}  // namespace

bool has_near_past(const Sketcher& s, uint32_t number) {
  const Band band = s.t_.bands[number];
  const Stage frame = s.t_.stages[band.frame];
  std::set<TensorId> tensors;
  for (const uint32_t attached : stages_of(s.t_, number)) {
    const Equation equation = equation_of(s.t_, s.t_.stages[attached]);
    tensors.insert(equation.targets.begin(), equation.targets.end());
  }
  double bytes = 0;
  for (const TensorId id : tensors) {
    const auto is_of = [&](const Step& step) {
      return std::holds_alternative<FoldStep>(step) && std::get<FoldStep>(step).tensor == s.t_.program.tensors[id].name;
    };
    if (std::any_of(s.t_.trace.steps.begin(), s.t_.trace.steps.end(), is_of)) return false;
    bytes += bytes_of(s.t_, id) / static_cast<double>(frame.hi[0] - frame.lo[0]);
  }
  int64_t back = 0;
  for (const BandRelation& r : band.relations) back = std::max(back, r.hi[0]);
  return s.machine_->caches() > 1 &&
         static_cast<double>(back + 1) * bytes <= static_cast<double>(s.machine_->cache_bytes(1));
}

std::optional<BandStep> permutable(const NestTemplate& t, uint32_t number, const BandStep& step, int64_t lanes) {
  const Band& band = t.bands[number];
  if (step.members.size() < 2 || !goes_forward_in_time(band)) return std::nullopt;
  BandStep out = step;
  for (uint32_t m = 1; m < step.members.size(); ++m) {
    const auto skew = least_time_skew(band, m, 1, m + 1 == step.members.size() ? lanes : 1);
    if (!skew) return std::nullopt;
    for (size_t k = 0; k < out.statements.size(); ++k)
      out.statements[k].members[m] = skewed_member(t, number, step.statements[k], m, 1, *skew);
  }
  return out;
}

std::optional<BandStep> diamonds(const NestTemplate& t, uint32_t number, const BandStep& step, int64_t lanes) {
  const Band& band = t.bands[number];
  if (step.members.size() < 3 || !goes_forward_in_time(band)) return std::nullopt;
  const auto forward = least_time_skew(band, 1, 1, 1, 1), backward = least_time_skew(band, 1, -1, 1, 1);
  if (!forward || !backward) return std::nullopt;
  const auto free_name = [&](const std::string& wanted) {
    std::string name = wanted;
    while (std::count(step.members.begin(), step.members.end(), name) > 0) name += wanted;
    return name;
  };
  BandStep out{step.name, {free_name("p"), free_name("q"), step.members[0]}, step.statements};
  for (size_t k = 0; k < out.statements.size(); ++k)
    out.statements[k].members = {skewed_member(t, number, step.statements[k], 1, 1, *forward),
                                 skewed_member(t, number, step.statements[k], 1, -1, *backward),
                                 step.statements[k].members[0]};
  for (uint32_t m = 2; m < step.members.size(); ++m) {
    // Vectors of the last dimension move by whole vectors; rows of one in the middle as far as they must.
    const auto skew = least_time_skew(band, m, 1, m == 2 && step.members.size() == 3 ? lanes : 1);
    if (!skew) return std::nullopt;
    out.members.push_back(step.members[m]);
    const bool is_whole = m + 1 == step.members.size() && m > 2;  // rows from end to end: no tiles, no skew
    for (size_t k = 0; k < out.statements.size(); ++k)
      out.statements[k].members.push_back(is_whole ? step.statements[k].members[m]
                                                   : skewed_member(t, number, step.statements[k], m, 1, *skew));
  }
  return out;
}

/// p.1, q.1, j.1, t: one loop of p and q is left to a statement, the other one follows from time. On one thread, too,
/// waves find near what the wave before left: columns of tiles, one after the other, go through all of time.
bool add_diamonds(Sketcher& s, uint32_t band) {
  constexpr int64_t kThin = 12, kWide = 64, kFewRows = 16, kManyColumns = 512;
  const Stage frame = s.t_.stages[s.t_.bands[band].frame];
  const std::vector<std::string> index = index_names(s.t_, frame);
  const std::string &p = index[0], &q = index[1], &time = index[2], &j = index[3], number = std::to_string(band + 1);
  const bool has_planes = index.size() > 4;
  const std::string width = "pp" + number, columns = "jj" + number;
  if (has_planes) {
    s.decide(width, kThin, {8, 12, 16, 24, 32});
    s.decide(columns, kFewRows, {8, 16, 32, 64});
  } else {
    s.decide(width, kWide, {32, 48, 64, 96, 128});
    s.decide(columns, kManyColumns, {256, 512, 1024});
  }
  std::vector<std::string> order = {p + ".1", q + ".1", j + ".1", time, p, q};
  order.insert(order.end(), index.begin() + 3, index.end());
  if (!s.take_all({TileStep{frame.name, {{p, Size{0, width}}, {q, Size{0, width}}, {j, Size{0, columns}}}},
                   PermuteStep{frame.name, order}, DistributeStep{frame.name, time}}))
    return false;
  const std::vector<std::string> attached_stages = names_of_attached(s.t_, band);
  double vectorized = 0, all = 0;
  for (const std::string& attached : attached_stages)
    all += points_inside(s.t_, s.t_.stages[*stage_named(s.t_, attached)]);
  for (const std::string& attached : attached_stages) {
    const double points = points_inside(s.t_, s.t_.stages[*stage_named(s.t_, attached)]);
    if (kFewTilePoints * points < all) continue;
    if (has_planes)
      s.take(PermuteStep{attached, {q, p, index.back(), j}});
    else
      s.take(PermuteStep{attached, {q, j, p}});
    if (vectorize_attached(s, attached)) vectorized += points;
  }
  return s.take(WavefrontStep{frame.name, {p + ".1", q + ".1"}}) && 2 * vectorized > all;
}

bool add_time_tiles(Sketcher& s, uint32_t band) {
  const Stage frame = s.t_.stages[s.t_.bands[band].frame];
  const std::string name = frame.name;
  const size_t members = frame.lo.size();
  const std::vector<std::string> index = index_names(s.t_, frame);
  const int64_t row = frame.hi.back() - frame.lo.back();
  const std::string time = "tt" + std::to_string(band + 1), row_tile = "jj" + std::to_string(band + 1);
  s.decide(time, 24, {8, 16, 24, 48});
  std::vector<TileStep::Level> levels = {{index[0], Size{0, time}}};
  std::vector<std::string> order = {index[0] + ".1"};
  if (members >= 3 && row > 1024) {
    s.decide(row_tile, 1024, {256, 512, 1024, 4096});
    levels.push_back({index[members - 1], Size{0, row_tile}});
    order.push_back(index[members - 1] + ".1");
  }
  const bool jams = members >= 3;
  const size_t rows = jams ? members - 2 : 1;
  levels.push_back({index[rows], Size{!jams ? 2048 : members > 3 ? 32 : kRowsJammed, ""}});
  order.push_back(index[rows] + ".1");
  order.insert(order.end(), index.begin() + 1,
               index.begin() + static_cast<std::ptrdiff_t>(rows));  // these only move with time
  order.push_back(index[0]);
  if (!s.take(TileStep{name, levels}) || !s.take(PermuteStep{name, order}) || !s.take(DistributeStep{name, index[0]}))
    return false;
  double vectorized = 0, all = 0;
  for (const std::string& attached : names_of_attached(s.t_, band)) {
    const double points = points_inside(s.t_, s.t_.stages[*stage_named(s.t_, attached)]);
    all += points;
    const bool is_large = kFewTilePoints * points > points_of(s.t_.stages[s.t_.bands[band].frame]);
    if (!is_large) continue;
    if (jams) {
      const std::string &jammed = index[rows], &lanes = index[members - 1];
      if (members > 3)
        s.take_all({TileStep{attached, {{jammed, Size{kRowsJammed, ""}}}},
                    PermuteStep{attached, {jammed + ".1", lanes, jammed}}});
      else
        s.take(PermuteStep{attached, {lanes, jammed}});
      if (!vectorize_attached(s, attached)) continue;
      s.take(UnrollStep{attached, {jammed}});
    } else if (!vectorize_attached(s, attached)) {
      continue;
    }
    vectorized += points;
  }
  return 2 * vectorized > all;
}

}  // namespace polyweft::schedules
