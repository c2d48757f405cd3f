// Recurrences: what carries them stays outside, the loops inside become rows of vectors; storage keeps the planes that
// are still read.
//
//   plain        band | loops that carry | each statement: the other loops, lanes along the one that is dense
//   panels       first values, finished values, folds of sums as statements | tiles of j, k, i | k | rows of vectors;
//   tiles of folds alone in registers time tiles   time_tiles.h diagonals    diagonals.h folds        right_looking.h
//   lanes, jams  free_members.h; rows_or_jams: rows of vectors where a band has them, several chains interleaved where
//   it has not
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

constexpr int64_t kPanels[] = {96, 48, 16, 8};  ///< widths of tiles of a factorization: multiples of the register
                                                ///< blocks' rows, so that the diagonal cuts few of them

/// Rows of a register block that is so many vectors wide: the sums, a row's value and a vector of each column fit the
/// registers, and whole blocks fill a panel. Eight at most. (Cholesky on 16 registers, of 1000 columns 0.83 of the time
/// of eight rows, which spill; of 200, in panels of eight, 0.96.)
int64_t rows_of_block(int registers, int64_t vectors, int64_t panel) {
  constexpr int64_t kMostRows = 8;
  int64_t rows = std::clamp<int64_t>((registers - vectors - 1) / vectors, 1, kMostRows);
  while (panel % rows != 0) --rows;
  return rows;
}

/// Sums as two statements each: first values, then what is no sum, then folds. The panel's member (the last one) leads,
/// that of the folds follows. Nothing where the first member of the proposal is not the folded index.
std::optional<BandStep> band_in_parts(const Program& program, const poly::BandProposal& proposal,
                                      const std::string& name) {
  if (proposal.names.size() < 3) return std::nullopt;
  std::vector<BandPlace> firsts, others, folds;
  for (BandPlace place : proposal.statements) {
    const size_t last = place.members.size() - 1;
    std::rotate(place.members.begin(), place.members.begin() + static_cast<std::ptrdiff_t>(last), place.members.end());
    const Expr& rhs = program.equations[place.equation].rhs;
    if (rhs->op != Op::reduce) {
      others.push_back(std::move(place));
      continue;
    }
    if (rhs->reduction.ranges.size() != 1) return std::nullopt;
    const IndexRange& range = rhs->reduction.ranges[0];
    if (!(place.members[1] == Affine::variable(range.var))) return std::nullopt;
    place.part = SumPart::folds;
    folds.push_back(place);
    place.part = SumPart::first;
    place.piece.clear();
    for (Affine& member : place.members) member = substitute(member, {{range.var, range.lo}});
    firsts.push_back(std::move(place));
  }
  if (folds.empty()) return std::nullopt;
  firsts.insert(firsts.end(), others.begin(), others.end());
  firsts.insert(firsts.end(), folds.begin(), folds.end());
  std::vector<std::string> names = proposal.names;
  std::rotate(names.begin(), names.end() - 1, names.end());
  return ir::band_step(program, firsts, names, name);
}

/// Conditions of tiles in which nothing but folds runs: members that are beyond the folded one. Each statement that is
/// no part of a sum has one of them equal to it.
std::vector<uint32_t> beyond_folds(const NestTemplate& t, uint32_t number) {
  std::vector<std::vector<uint32_t>> choices;
  for (const BandPlace& place : t.bands[number].places) {
    if (place.part != SumPart::whole) continue;
    choices.emplace_back();
    for (uint32_t m = 0; m < place.members.size(); ++m)
      if (m != 1 && place.members[m] == place.members[1]) choices.back().push_back(m);
    if (choices.back().empty()) return {};
  }
  std::stable_sort(choices.begin(), choices.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::vector<uint32_t> out;
  for (const auto& each : choices)
    if (std::none_of(each.begin(), each.end(), [&](uint32_t m) { return std::count(out.begin(), out.end(), m) > 0; }))
      out.push_back(each[0]);
  std::sort(out.begin(), out.end());
  return out;
}

/// Reads whose lanes would lie apart are copied, the lanes' coordinate innermost.
void copy_across(Sketcher& s, const std::string& name, const std::string& lane, int64_t block, Scope scope) {
  const auto id = stage_named(s.t_, name);
  if (!id) return;
  const Stage stage = s.t_.stages[*id];
  const Expr rhs = equation_of(s.t_, stage).rhs;
  std::map<TensorId, uint32_t> seen;
  std::vector<PromoteStep> steps;
  visit(rhs, [&](const ExprNode& e) {
    if (e.op != Op::read) return;
    const uint32_t number = ++seen[e.access.id];
    const size_t rank = e.access.index.size();
    for (uint32_t d = 0; d + 1 < rank; ++d) {
      bool moves = false;
      for (const Term& term : e.access.index[d].affine.terms)
        moves |= term.var != kNoVar && term.var >= s.t_.program.index_var(0) &&
                 index_name(s.t_, stage, term.var - s.t_.program.index_var(0)) == lane;
      if (!moves) continue;
      PromoteStep step{s.t_.program.tensors[e.access.id].name, name, "root", scope, {}, number};
      const std::string dim = "d" + std::to_string(d);
      if (block > 0) step.layout.push_back({LayoutDigit::Part::quotient, dim, Size{block, ""}});
      for (uint32_t other = 0; other < rank; ++other)
        if (other != d) step.layout.push_back({LayoutDigit::Part::whole, "d" + std::to_string(other), {}});
      step.layout.push_back({block > 0 ? LayoutDigit::Part::remainder : LayoutDigit::Part::whole, dim,
                             block > 0 ? Size{block, ""} : Size{}});
      steps.push_back(std::move(step));
    }
  });
  for (const PromoteStep& step : steps) s.take(step);
}

/// Sums of a panel keep cells for one panel only.
void fold_panels(Sketcher& s, uint32_t number, int64_t width) {
  for (uint32_t attached : stages_of(s.t_, number)) {
    const Stage stage = s.t_.stages[attached];
    if (stage.part != SumPart::folds) continue;
    const Equation equation = equation_of(s.t_, stage);
    const Tensor& tensor = s.t_.program.tensors[equation.targets[0]];
    if (tensor.kind != TensorKind::local) continue;
    for (uint32_t d = 0; d < equation.slots.size(); ++d)
      if (equation.slots.size() > 1 && equation.slots[d].var != kNoVar &&
          index_name(s.t_, stage, equation.slots[d].var - s.t_.program.index_var(0)) ==
              index_name(s.t_, s.t_.stages[s.t_.bands[number].frame], 0)) {
        const std::string name = tensor.name;
        s.take(FoldStep{name, "d" + std::to_string(d), width, true});
        break;
      }
  }
}

/// Lanes for the folds beside the diagonal, and blocks of registers for those in tiles of their own.
void vectorize_panels(Sketcher& s, uint32_t number, const std::vector<std::string>& index, int64_t panel) {
  const std::string& lane = index[0];
  const std::vector<uint32_t> near = stages_of(s.t_, number), far = alone_in(s.t_, number);
  std::vector<std::pair<std::string, SumPart>> names;
  for (const auto* stages : {&near, &far})
    for (uint32_t attached : *stages) names.emplace_back(s.t_.stages[attached].name, s.t_.stages[attached].part);
  for (size_t k = 0; k < names.size(); ++k) {
    const auto& [name, part] = names[k];
    if (part != SumPart::folds) {
      const bool is_one_column =
          k < near.size() && s.t_.bands[number].places[k].members[0] == s.t_.bands[number].places[k].members[1];
      if (part != SumPart::whole || !is_one_column) vectorize_attached(s, name);
      continue;
    }
    const Stage stage = s.t_.stages[*stage_named(s.t_, name)];
    const int64_t lanes = s.lanes_of(stage);
    if (equation_of(s.t_, stage).slots.size() < 2) continue;
    if (k >= near.size()) {
      const std::string& rows = index.back();
      const int64_t columns = std::min(2 * lanes, panel);
      const int64_t height = rows_of_block(s.machine_->units.vector_registers, (columns + lanes - 1) / lanes, panel);
      if (!s.take_all({TileStep{name, {{lane, Size{columns, ""}}, {rows, Size{height, ""}}}},
                       PermuteStep{name, {lane + ".1", rows + ".1", index[1], rows, lane}}}))
        continue;
      copy_across(s, name, lane, columns, Scope::heap);
      s.take_all({AccumulateStep{name, rows + ".1", Scope::reg}, UnrollStep{name, {rows}},
                  VectorizeStep{name, lane, Size{lanes, ""}}});
      continue;
    }
    std::vector<std::string> order(index.begin() + 2, index.end());
    order.push_back(lane);
    if (!s.take(PermuteStep{name, order})) continue;
    copy_across(s, name, lane, 0, Scope::stack);
    s.take(VectorizeStep{name, lane, Size{lanes, ""}});
  }
}

/// j.1, k.1, i.1, k: each statement has rows of a tile; tiles in which only folds run have blocks of registers.
bool add_panels(Sketcher& s, uint32_t number, int64_t panel) {
  const std::string name = s.t_.stages[s.t_.bands[number].frame].name;
  std::vector<std::string> index;
  for (uint32_t m = 0; m < s.t_.stages[s.t_.bands[number].frame].lo.size(); ++m)
    index.push_back(index_name(s.t_, s.t_.stages[s.t_.bands[number].frame], m));
  fold_panels(s, number, panel);
  std::vector<TileStep::Level> levels;
  std::vector<std::string> order;
  for (const std::string& each : index) {
    levels.push_back({each, Size{panel, ""}});
    order.push_back(each + ".1");
  }
  order.push_back(index[1]);
  for (uint32_t m = 0; m < index.size(); ++m)
    if (m != 1) order.push_back(index[m]);
  if (!s.take(TileStep{name, levels}) || !s.take(PermuteStep{name, order})) return false;
  const std::vector<uint32_t> beyond = beyond_folds(s.t_, number);
  if (!beyond.empty()) {
    IsolateStep apart{{}, name, (beyond.back() > 1 ? index[beyond.back()] : index[1]) + ".1", {}};
    for (uint32_t attached : stages_of(s.t_, number))
      if (s.t_.stages[attached].part != SumPart::whole) apart.statements.push_back(s.t_.stages[attached].name);
    for (uint32_t m : beyond) apart.where.push_back({{{1, index[m]}, {-1, index[1]}}, -1});
    s.take(apart);
  }
  if (!s.take(DistributeStep{name, index[1]})) return false;
  vectorize_panels(s, number, index, panel);
  return true;
}

/// Wide panels pay where many tiles lie beyond them, narrow ones where there are few: an eighth of the longest index at
/// most, and not much below a fortieth.
std::vector<int64_t> panels_for(const Program& program, const std::vector<poly::BandProposal>& proposals) {
  constexpr int64_t kFewestPanels = 8, kMostPanels = 48;
  int64_t extent = 0;
  for (const auto& proposal : proposals)
    for (const BandPlace& place : proposal.statements)
      for (const int64_t values : slot_extents(program, program.equations[place.equation]))
        extent = std::max(extent, values);
  std::vector<int64_t> out;
  for (const int64_t panel : kPanels)
    if (panel * kFewestPanels <= extent && panel * kMostPanels >= extent) out.push_back(panel);
  if (out.empty()) out.push_back(extent > kPanels[0] * kMostPanels ? kPanels[0] : *std::rbegin(kPanels));
  return out;
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

bool add_as_panels(Sketcher& s, const Program& program, const poly::BandProposal& proposal, int64_t panel) {
  const auto parts = band_in_parts(program, proposal, s.band_name());
  if (!parts) return false;
  const auto number = static_cast<uint32_t>(s.t_.bands.size());
  Sketcher panels = s;
  if (!panels.take(*parts) || !add_panels(panels, number, panel)) return false;
  s = std::move(panels);
  return true;
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
  for (const int64_t panel : panels_for(c.program, c.proposals))
    c.keep(sketch_as(c, [&](Sketcher& s, const poly::BandProposal& proposal) {
      return add_as_panels(s, c.program, proposal, panel);
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

std::vector<NestTemplate> recurrence_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                              const Isl& isl) {
  if (!isl.propose_bands || !isl.band_facts) return {};
  auto proposals = isl.propose_bands();
  if (!proposals || proposals->empty()) return {};
  BandCase c{{normalized, cls, machine, isl}, *std::move(proposals)};
  propose(c);
  return std::move(c.out);
}

}  // namespace polyweft::schedules
