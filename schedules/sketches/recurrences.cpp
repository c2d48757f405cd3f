// Recurrences: what carries them stays outside, the loops inside become rows of vectors; storage keeps the planes that
// are still read.
//
//   plain        band | loops that carry | each statement: the other loops, lanes along the one that is dense
//   panels       panels.h
//   time tiles   time_tiles.h
//   diagonals    diagonals.h
//   folds        right_looking.h
//   lanes, jams  free_members.h; rows_or_jams: rows of vectors where a band has them, several chains interleaved where
//                it has not
//
// A step that its relations refuse is left out; a trace is kept if something was gained.
#include "schedules/sketches/recurrences.h"

#include <algorithm>
#include <functional>
#include <set>

#include "ir/text/trace_names.h"
#include "ir/values/scalar_math.h"
#include "schedules/bands.h"
#include "schedules/sketches/attached.h"
#include "schedules/sketches/band_forms.h"
#include "schedules/sketches/diagonals.h"
#include "schedules/sketches/free_members.h"
#include "schedules/sketches/panels.h"
#include "schedules/sketches/plans.h"
#include "schedules/sketches/right_looking.h"
#include "schedules/sketches/sketcher.h"
#include "schedules/sketches/time_tiles.h"

namespace polyweft::schedules {
namespace {

Sketcher sketcher(const BandCase& c) {
  return {c.program, c.cls, c.machine, c.isl};
}

/// Operations at each point; functions are some twenty.
double work_at_point(const Equation& equation) {
  constexpr double kFunction = 20;
  double out = 0;
  visit(equation.rhs, [&](const ExprNode& node) {
    out += ir::is_function(node.op) ? kFunction : node.args.empty() ? 0 : 1;
  });
  return std::max(out, 1.0);
}

// How many single values' work a statement does at once: lanes; blocks of sums load less for each, in two directions
// half.
constexpr double kGatheredLanes = 2, kLanes = 8;
constexpr double kBlocks[] = {kLanes, 10, 20};

double speed_of(const NestTemplate& t, const Stage& stage) {
  const auto has_lanes = [](const TemplateLoop& l) { return l.mark.kind == MarkKind::vector; };
  const auto is_block = [&](const TemplateLoop& l) {
    return l.mark.kind == MarkKind::unroll && l.index < stage.data_indices;
  };
  if (std::none_of(stage.loops.begin(), stage.loops.end(), has_lanes)) return 1;
  return gathers(t, stage)
             ? kGatheredLanes
             : kBlocks[std::min<size_t>(std::count_if(stage.loops.begin(), stage.loops.end(), is_block), 2)];
}

/// With loops of its own.
double best_speed_of(const NestTemplate& t, const Stage& stage) {
  return kBlocks[std::min<size_t>(shared_along(t, stage).size(), 2)];
}

/// The innermost place that gives the statements loops that vectors can have, or one further outside where clearly less
/// is left to single values.
bool add_rows(Sketcher& s, uint32_t band) {
  constexpr double kClearly = 1.25;
  const std::string frame = s.t_.stages[s.t_.bands[band].frame].name;
  const size_t members = s.t_.stages[s.t_.bands[band].frame].lo.size();
  std::optional<Sketcher> best;
  double least = 0;
  for (size_t depth = members + 1; depth-- > 0;) {
    Sketcher tried = s;
    const std::string at = depth == 0 ? "root" : tried.t_.stages[tried.t_.bands[band].frame].loops[depth - 1].name;
    if (depth < members && !tried.take(DistributeStep{frame, at})) continue;
    double vectorized = 0, all = 0, work = 0;
    bool is_best = true;
    for (const std::string& name : names_of_attached(tried.t_, band)) {
      const Stage stage = tried.t_.stages[*stage_named(tried.t_, name)];
      const double points = points_inside(tried.t_, stage),
                   operations = points * work_at_point(equation_of(tried.t_, stage));
      const bool has_lanes = vectorize_attached(tried, name);
      all += points;
      const Stage made = tried.t_.stages[*stage_named(tried.t_, name)];
      const double speed = speed_of(tried.t_, made);
      is_best &= speed >= best_speed_of(tried.t_, made);
      vectorized += has_lanes ? points : 0;
      work += operations / speed;
    }
    if (vectorized < all / 2 || (best && kClearly * work > least)) continue;
    best = std::move(tried);
    least = work;
    if (is_best) break;
  }
  if (!best) return false;
  s = *std::move(best);
  return true;
}

/// The band as proposed, or in another sequence of statements, or without the members that sums move along: rows of
/// vectors where some form has them, else single values. Nothing where the band is refused, else whether there are
/// rows.
std::optional<bool> add_plain(Sketcher& s, const Program& program, const poly::BandProposal& proposal) {
  const BandStep plain = poly::band_step(program, proposal, s.band_name());
  const auto number = static_cast<uint32_t>(s.t_.bands.size());
  Sketcher first = s;
  if (!first.take(plain)) return std::nullopt;
  fold_storage(first, number);
  bool has_rows = add_rows(first, number);
  for (size_t depth = 1; depth < plain.members.size() && !has_rows; ++depth)
    if (const auto ordered = in_running_order(first.t_, number, plain, depth)) {
      Sketcher other = s;
      if (!other.take(*ordered)) continue;
      fold_storage(other, number);
      has_rows = add_rows(other, number);
      if (has_rows) first = std::move(other);
    }
  if (const auto sums = has_rows ? std::nullopt : whole_sums(program, proposal, s.band_name())) {
    Sketcher whole = s;
    has_rows = whole.take(*sums) && add_rows(whole, number);
    if (has_rows) first = std::move(whole);
  }
  s = std::move(first);
  return has_rows;
}

/// The sketch with a plan for each stage that is in no band.
std::optional<NestTemplate> finished(Sketcher s) {
  s.plan_others();
  return std::move(s.t_);
}

/// Bands with a free member in one form, the others as they are.
std::optional<NestTemplate> sketch_free_bands(const BandCase& c, const std::vector<FreeBand>& wide, FreeForm form) {
  Sketcher s = sketcher(c);
  std::set<EquationId> done;
  for (const FreeBand& band : wide) {
    if (!add_free_band(s, c.program, band, form)) return std::nullopt;
    for (const BandPlace& place : band.proposal.statements) done.insert(place.equation);
  }
  for (const poly::BandProposal& proposal : c.proposals)
    if (!done.count(proposal.statements.front().equation) && !add_plain(s, c.program, proposal)) return std::nullopt;
  return finished(std::move(s));
}

/// Each band by itself: rows of vectors, or where it has none but a free member, several of its chains interleaved.
/// Nothing where no band takes the latter: a filter along the rows of an image, then along its columns.
std::optional<NestTemplate> sketch_rows_or_jams(const BandCase& c) {
  Sketcher s = sketcher(c);
  bool has_jam = false;
  for (const poly::BandProposal& proposal : c.proposals) {
    Sketcher rows = s;
    const auto has_rows = add_plain(rows, c.program, proposal);
    const auto free = has_rows == true ? std::nullopt : free_band(s, c.program, proposal);
    if (free && add_free_band(s, c.program, *free, FreeForm::jammed)) {
      has_jam = true;
      continue;
    }
    if (!has_rows) return std::nullopt;
    s = std::move(rows);
  }
  if (!has_jam) return std::nullopt;
  return finished(std::move(s));
}

/// Rows of vectors in each band; nothing where none has any.
std::optional<NestTemplate> sketch_rows(const BandCase& c) {
  Sketcher s = sketcher(c);
  bool has_rows = false;
  for (const poly::BandProposal& proposal : c.proposals) {
    const auto own = add_plain(s, c.program, proposal);
    if (!own) return std::nullopt;
    has_rows |= *own;
  }
  if (!has_rows) return std::nullopt;
  return finished(std::move(s));
}

/// Appends the band in a form of its own, or leaves the sketch as it is.
using BandForm = std::function<bool(Sketcher&, const poly::BandProposal&)>;

/// This form for each band that takes it, rows of vectors for the others; nothing where none takes it.
std::optional<NestTemplate> sketch_as(const BandCase& c, const BandForm& add) {
  Sketcher s = sketcher(c);
  bool any = false;
  for (const poly::BandProposal& proposal : c.proposals) {
    if (add(s, proposal)) {
      any = true;
      continue;
    }
    const bool is_last = &proposal == &c.proposals.back();
    if ((is_last && !any) || !add_plain(s, c.program, proposal)) return std::nullopt;
  }
  return finished(std::move(s));
}

enum class TimeTiles : uint8_t { parallelograms, diamonds };

bool add_in_time(Sketcher& s, const Program& program, const poly::BandProposal& proposal, TimeTiles form) {
  const BandStep plain = poly::band_step(program, proposal, s.band_name());
  const auto number = static_cast<uint32_t>(s.t_.bands.size());
  Sketcher first = s;
  if (!first.take(plain)) return false;
  fold_storage(first, number);
  if (stages_of(first.t_, number).size() > kMostInTiles || has_near_past(first, number)) return false;
  const int64_t lanes = s.machine_->vector_bytes() / 8;
  const auto skewed = (form == TimeTiles::parallelograms ? permutable : diamonds)(first.t_, number, plain, lanes);
  Sketcher tiled = s;
  if (!skewed || !tiled.take(*skewed)) return false;
  fold_storage(tiled, number);
  if (!(form == TimeTiles::parallelograms ? add_time_tiles : add_diamonds)(tiled, number)) return false;
  s = std::move(tiled);
  return true;
}

}  // namespace

void BandCase::keep(std::optional<NestTemplate> sketch) {
  if (!sketch || !has_bands(*sketch)) return;
  const auto stands = [](const NestTemplate& t) { return instantiate(t, values_of(t.trace)).ok(); };
  if (const auto longer = in_outputs(unscheduled_template(program, cls), sketch->trace))
    if (auto in_place = replay_rest(*sketch, *longer, isl); in_place && stands(*in_place)) {
      out.push_back(*std::move(in_place));
      return;
    }
  if (stands(*sketch)) out.push_back(*std::move(sketch));
}

void propose_panels(BandCase& c) {
  for (const PanelForm& form : panels_for(c.program, c.proposals))
    c.keep(sketch_as(c, [&](Sketcher& s, const poly::BandProposal& proposal) {
      return add_as_panels(s, c.program, proposal, form);
    }));
}

void propose_panels_by_rows(BandCase& c) {
  for (const PanelForm& form : panels_for_search(c.program, c.proposals, c.machine))
    c.keep(sketch_as(c, [&](Sketcher& s, const poly::BandProposal& proposal) {
      return add_as_panels(s, c.program, proposal, form);
    }));
}

void propose_time_tiles(BandCase& c) {
  c.keep(sketch_as(c, [&](Sketcher& s, const poly::BandProposal& proposal) {
    return add_in_time(s, c.program, proposal, TimeTiles::parallelograms);
  }));
}

void propose_diamonds(BandCase& c) {
  c.keep(sketch_as(c, [&](Sketcher& s, const poly::BandProposal& proposal) {
    return add_in_time(s, c.program, proposal, TimeTiles::diamonds);
  }));
}

void propose_diagonals(BandCase& c) {
  for (const Diagonals form : {Diagonals::whole, Diagonals::strips, Diagonals::time})
    c.keep(sketch_as(c, [&](Sketcher& s, const poly::BandProposal& proposal) {
      return add_diagonals(s, c.program, proposal, form);
    }));
}

void propose_right_looking(BandCase& c) {
  c.keep(sketch_as(
      c, [&](Sketcher& s, const poly::BandProposal& proposal) { return add_right_looking(s, c.program, proposal); }));
}

void propose_rows(BandCase& c) {
  c.keep(sketch_rows(c));
}

void propose_jams(BandCase& c) {
  c.keep(sketch_rows_or_jams(c));
}

void propose_free_members(BandCase& c) {
  const auto wide = free_members(c.program, c.cls, c.machine, c.isl, c.proposals);
  if (wide.empty()) return;
  for (const FreeForm form : {FreeForm::lanes, FreeForm::jammed}) c.keep(sketch_free_bands(c, wide, form));
}

namespace {

std::vector<NestTemplate> made_of_bands(const Program& normalized, NumericsClass cls, const Machine& machine,
                                        const Isl& isl, bool is_for_search) {
  if (!isl.propose_bands || !isl.band_facts) return {};
  auto proposals = isl.propose_bands();
  if (!proposals || proposals->empty()) return {};
  BandCase c{{normalized, cls, machine, isl}, *std::move(proposals)};
  c.is_for_search = is_for_search;
  propose(c);
  return std::move(c.out);
}

}  // namespace

std::vector<NestTemplate> recurrence_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                              const Isl& isl) {
  return made_of_bands(normalized, cls, machine, isl, false);
}

std::vector<NestTemplate> searched_recurrence_sketches(const Program& normalized, NumericsClass cls,
                                                       const Machine& machine, const Isl& isl) {
  return made_of_bands(normalized, cls, machine, isl, true);
}

}  // namespace polyweft::schedules
