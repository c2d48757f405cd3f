// A row y of a stage with scale c runs at t = c * y + shift: two rows of the finest image for one of the next. Shifts
// follow from how far ahead a row reads; isl says whether they do (a band). Rings: as many rows as lie between a row's
// making and its last reading.
//
//   for t.1: { rows of R1 | rows of G1 | rows of R2 | .. | rows of D0 }      R1, G1, R2, ..: rings of 8 or 16 rows; X
//   is read, D0 written once
#include "schedules/sketches/resolutions.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "schedules/queries.h"
#include "schedules/sketches/plans.h"
#include "schedules/sketches/sketcher.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kRowsOfTile = 4;         ///< of the finest image
constexpr int64_t kMostUnrolledTaps = 32;  ///< written out
constexpr int64_t kMostScale = 64;         ///< between the finest and the coarsest
constexpr int64_t kVectorsOfRow = 4;

struct Ratio {
  int64_t num = 1, den = 1;
  bool operator==(const Ratio&) const = default;
};
Ratio product(int64_t num, int64_t den) {
  const int64_t common = std::gcd(num, den);
  return {num / common, den / common};
}

/// A subscript lies in rate * row + [lo, hi].
struct Moving {
  Ratio rate{0, 1};
  double lo = 0, hi = 0;
};

std::optional<Moving> moving(const NestTemplate& t, const Stage& reader, const Affine& e) {
  Moving out{{0, 1}, static_cast<double>(e.constant), static_cast<double>(e.constant)};
  for (const Term& term : e.terms) {
    Moving one;
    if (!term.quasi) {
      const uint32_t k = term.var - t.program.index_var(0);
      if (term.var < t.program.index_var(0) || (k > 0 && k < reader.data_indices)) return std::nullopt;
      if (k == 0)
        one.rate = {1, 1};
      else
        one.lo = static_cast<double>(reader.lo[k]), one.hi = static_cast<double>(reader.hi[k] - 1);
    } else {
      const Quasi& q = *term.quasi;
      const auto inner = moving(t, reader, q.e);
      if (!inner) return std::nullopt;
      one = *inner;
      if (q.kind == Quasi::Kind::floor_div) {
        const auto den = static_cast<double>(q.den);
        one = {product(one.rate.num, one.rate.den * q.den), (one.lo - den + 1) / den, one.hi / den};
      } else {
        if (!q.lo.is_constant() || !q.hi.is_constant()) return std::nullopt;
        const double rate = static_cast<double>(one.rate.num) / static_cast<double>(one.rate.den);
        one.hi = std::max(one.hi, static_cast<double>(q.lo.constant) - rate * static_cast<double>(reader.lo[0]));
        one.lo = std::min(one.lo, static_cast<double>(q.hi.constant) - rate * static_cast<double>(reader.hi[0] - 1));
      }
    }
    if (term.coeff < 0) std::swap(one.lo, one.hi);
    const auto coeff = static_cast<double>(term.coeff);
    out.rate =
        product(out.rate.num * one.rate.den + term.coeff * one.rate.num * out.rate.den, out.rate.den * one.rate.den);
    out.lo += coeff * one.lo;
    out.hi += coeff * one.hi;
  }
  return out;
}

/// One stage's reads of what another makes, along rows.
struct Link {
  uint32_t producer = 0, reader = 0;
  Moving rows;
};

/// Rows and columns of one tensor, rows dense in memory, all taps few; nothing else.
bool has_rows(const NestTemplate& t, const Machine& machine, uint32_t k) {
  const Stage& s = t.stages[k];
  const Equation& equation = equation_of(t, s);
  if (s.placement.kind != Placement::Kind::at_root || s.is_frame || s.data_indices != 2 || !s.inside.empty() ||
      !s.guards.empty() || equation.targets.size() != 1 || definitions(t, equation.targets[0]).size() != 1 ||
      equation.slots.size() != 2)
    return false;
  for (uint32_t d = 0; d < 2; ++d)
    if (equation.slots[d].var != t.program.index_var(d)) return false;
  int64_t taps = 1;
  for (size_t r = 2; r < s.lo.size(); ++r) taps *= std::max<int64_t>(s.hi[r] - s.lo[r], 1);
  const PlanContext c = context_for(t, k, machine);
  return taps <= kMostUnrolledTaps && c.table.unit == 1U && s.hi[0] - s.lo[0] > 1 && s.hi[1] - s.lo[1] >= c.lanes();
}

std::optional<std::vector<Link>> links_of(const NestTemplate& t) {
  std::vector<Link> out;
  for (uint32_t p = 0; p < t.stages.size(); ++p)
    for (uint32_t r = 0; r < t.stages.size(); ++r)
      for (const Access& access : reads_of(t, t.stages[r], equation_of(t, t.stages[p]).targets[0])) {
        const auto rows = access.index[0].data ? std::nullopt : moving(t, t.stages[r], access.index[0].affine);
        if (!rows || rows->rate.num <= 0 || p == r) return std::nullopt;
        out.push_back({p, r, *rows});
      }
  return out;
}

/// Rows of the finest image that one row of each stage stands for; empty where stages do not hang together, or
/// disagree.
std::vector<int64_t> scales_of(size_t stages, const std::vector<Link>& links) {
  std::vector<Ratio> known(stages, {0, 1});
  known[0] = {1, 1};
  for (size_t round = 0; round < stages; ++round)
    for (const Link& link : links) {
      Ratio &producer = known[link.producer], &reader = known[link.reader];
      const Ratio& rate = link.rows.rate;
      if (producer.num > 0) {
        const Ratio wanted = product(producer.num * rate.num, producer.den * rate.den);
        if (reader.num > 0 && !(reader == wanted)) return {};
        reader = wanted;
      } else if (reader.num > 0) {
        producer = product(reader.num * rate.den, reader.den * rate.num);
      }
    }
  int64_t common = 1, shared = 0;
  for (const Ratio& r : known) common = std::lcm(common, r.den);
  std::vector<int64_t> out;
  for (const Ratio& r : known) out.push_back(r.num * (common / r.den)), shared = std::gcd(shared, out.back());
  for (int64_t& scale : out) scale /= std::max<int64_t>(shared, 1);
  const auto [least, most] = std::minmax_element(out.begin(), out.end());
  return *least < 1 || *most > kMostScale ? std::vector<int64_t>{} : out;
}

/// When rows run: one step of t after the last that they read.
std::vector<int64_t> shifts_of(const std::vector<int64_t>& scales, const std::vector<Link>& links) {
  std::vector<int64_t> out(scales.size(), 0);
  for (size_t k = 0; k < scales.size(); ++k)
    for (const Link& link : links)
      if (link.reader == k)
        out[k] = std::max(
            out[k], out[link.producer] +
                        static_cast<int64_t>(std::floor(static_cast<double>(scales[link.producer]) * link.rows.hi)) +
                        1);
  return out;
}

/// Rows of a tensor from the oldest that is still read in a tile to the newest, as a power of two.
int64_t ring_of(uint32_t producer, const std::vector<int64_t>& scales, const std::vector<int64_t>& shifts,
                const std::vector<Link>& links) {
  double rows = 1;
  for (const Link& link : links)
    if (link.producer == producer)
      rows = std::max(rows, static_cast<double>(kRowsOfTile - 1 - shifts[producer] + shifts[link.reader]) /
                                    static_cast<double>(scales[producer]) -
                                link.rows.lo + 2);
  int64_t out = 2;
  while (static_cast<double>(out) < rows) out *= 2;
  return out;
}

/// Parts of a row: borders where clamps act, and between them whole blocks, whole vectors and what is left, so that no
/// vector of the one is masked for the other.
std::vector<int64_t> parts_of_row(const PlanContext& c) {
  const auto cuts = cuts_at_clamps(c.table, c.stage, 1);
  if (!cuts || cuts->empty()) return {};
  const int64_t lanes = c.lanes(), tile = kVectorsOfRow * lanes, lo = c.stage.lo[1], hi = c.stage.hi[1];
  const bool cuts_left = cuts->front() - lo < hi - cuts->front();
  const int64_t begin = cuts_left ? cuts->front() : lo, end = cuts->size() > 1 || !cuts_left ? cuts->back() : hi;
  std::set<int64_t> out;
  for (int64_t at : {begin, begin + (end - begin) / tile * tile, begin + (end - begin) / lanes * lanes}) out.insert(at);
  if (cuts_left || (end - begin) % lanes != 0) out.insert(end);
  if (!cuts_left && hi - (begin + (end - begin) / lanes * lanes) <= lanes)
    out.erase(end);  // the last vector has the border in it
  out.erase(lo);
  out.erase(hi);
  return {out.begin(), out.end()};
}

struct ResolutionWriter {
  Sketcher& s;
  std::vector<int64_t> scales, shifts;
  std::vector<Link> links;
  std::string t = "t", y = "y", x = "x";

  /// Names of members that no reduced index has.
  void name_members() {
    std::set<std::string> taken;
    for (const Stage& stage : s.t_.stages)
      for (uint32_t k = stage.data_indices; k < stage.lo.size(); ++k) taken.insert(index_name(s.t_, stage, k));
    for (std::string* name : {&t, &y, &x})
      while (taken.count(*name)) *name += "_";
  }
  BandStep band(const std::string& name) const {
    BandStep out{name, {t, y, x}, {}};
    for (uint32_t k = 0; k < s.t_.stages.size(); ++k) {
      const Stage stage = s.t_.stages[k];
      const LinearText row{{{1, index_name(s.t_, stage, 0)}}, 0}, column{{{1, index_name(s.t_, stage, 1)}}, 0};
      out.statements.push_back({stage.name, {LinearText{{{scales[k], row.terms[0].second}}, shifts[k]}, row, column}});
    }
    return out;
  }
  /// The row of one statement in vectors: a sum's taps written out around four of them.
  std::vector<Step> rows_of(uint32_t k) const {
    const PlanContext c = context_for(s.t_, k, *s.machine_);
    const std::string& name = c.stage.name;
    const bool is_output = s.t_.program.tensors[equation_of(s.t_, c.stage).targets[0]].kind == TensorKind::output;
    const bool shares_rows =
        !c.stage.reduces && scales[k] == 1;  // neighbours among the rows of a tile read the same coarse ones
    std::vector<std::string> order = shares_rows ? std::vector<std::string>{y, x + ".1", t}
                                                 : std::vector<std::string>{t, y, x + ".1"},
                             taps;
    for (uint32_t r = 2; r < c.stage.lo.size(); ++r) taps.push_back(index_name(s.t_, c.stage, r));
    order.insert(order.end(), taps.begin(), taps.end());
    order.push_back(x);
    std::vector<Step> out = {TileStep{name, {{x, Size{kVectorsOfRow * c.lanes(), ""}}}}, PermuteStep{name, order}};
    if (c.stage.reduces) out.push_back(AccumulateStep{name, x + ".1", Scope::reg});
    if (const auto parts = parts_of_row(c); !parts.empty()) out.push_back(SplitStep{name, x + ".1", parts});
    if (c.stage.reduces) out.push_back(UnrollStep{name, taps});
    out.push_back(VectorizeStep{name, x, Size{c.lanes(), ""}});
    if (shares_rows) out.push_back(UnrollStep{name, {t}});
    if (is_output && !c.stage.reduces) out.push_back(StreamStep{name});
    return out;
  }
  /// Inputs that several statements read come from memory for the first of them: the last one, in its rows of a tile,
  /// asks for those of the next tile.
  std::vector<PrefetchStep> prefetches() const {
    std::vector<PrefetchStep> out;
    for (TensorId id : s.t_.program.inputs()) {
      std::vector<uint32_t> readers;
      for (uint32_t k = 0; k < s.t_.stages.size(); ++k)
        if (reads(s.t_, s.t_.stages[k], id)) readers.push_back(k);
      if (readers.size() < 2) continue;
      const auto [first, last] = std::minmax_element(readers.begin(), readers.end(), [&](uint32_t a, uint32_t b) {
        return std::pair(shifts[a], a) < std::pair(shifts[b], b);
      });
      if (scales[*last] == 1)
        out.push_back({s.t_.program.tensors[id].name, s.t_.stages[*last].name, t,
                       Size{shifts[*last] - shifts[*first] + kRowsOfTile, ""}});
    }
    return out;
  }
  bool write() {
    name_members();
    const std::string name = s.band_name();
    std::vector<std::vector<Step>> rows;
    std::vector<FoldStep> folds;
    for (uint32_t k = 0; k < s.t_.stages.size(); ++k) {
      rows.push_back(rows_of(k));
      const Tensor& tensor = s.t_.program.tensors[equation_of(s.t_, s.t_.stages[k]).targets[0]];
      const int64_t ring = ring_of(k, scales, shifts, links), all = s.t_.stages[k].hi[0] - s.t_.stages[k].lo[0];
      if (tensor.kind == TensorKind::local && ring < all) folds.push_back({tensor.name, "d0", ring, true});
    }
    const std::vector<PrefetchStep> ahead = prefetches();
    if (!s.take(band(name))) return false;
    for (const FoldStep& fold : folds) s.take(fold);
    if (!s.take_all({TileStep{name, {{t, Size{kRowsOfTile, ""}}}}, PermuteStep{name, {t + ".1", t, y, x}},
                     DistributeStep{name, t + ".1"}}))
      return false;
    for (const auto& steps : rows)
      if (!s.take_all(steps)) return false;
    for (const PrefetchStep& step : ahead) s.take(step);
    return true;
  }
};

}  // namespace

std::vector<NestTemplate> resolution_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                              const Isl& isl) {
  constexpr size_t kMostStages = 32;
  if (!isl.band_facts || machine.cores() > 1) return {};
  Sketcher s(normalized, cls, machine, isl);
  if (s.t_.stages.size() < 2 || s.t_.stages.size() > kMostStages) return {};
  double bytes = 0;
  for (TensorId id = 0; id < normalized.tensors.size(); ++id)
    bytes += normalized.tensors[id].kind == TensorKind::constant ? 0 : bytes_of(s.t_, id);
  if (machine.caches() < 2 || bytes <= static_cast<double>(machine.cache_bytes(1))) return {};
  for (uint32_t k = 0; k < s.t_.stages.size(); ++k)
    if (!has_rows(s.t_, machine, k)) return {};
  const auto links = links_of(s.t_);
  if (!links) return {};
  const std::vector<int64_t> scales = scales_of(s.t_.stages.size(), *links);
  if (scales.empty() || std::all_of(scales.begin(), scales.end(), [](int64_t scale) { return scale == 1; })) return {};
  ResolutionWriter writer{s, scales, shifts_of(scales, *links), *links};
  if (!writer.write()) return {};
  if (!instantiate(s.t_, {})) return {};
  return {std::move(s.t_)};
}

}  // namespace polyweft::schedules
