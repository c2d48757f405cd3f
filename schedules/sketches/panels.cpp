#include "schedules/sketches/panels.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/text/trace_names.h"
#include "schedules/bands.h"
#include "schedules/sketches/attached.h"
#include "schedules/sketches/band_forms.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kPanels[] = {96, 48, 16, 8};
constexpr PanelForm kPanelsInPanels[] = {{192, 24}, {96, 24}};
constexpr int64_t kInnerPanels[] = {8, 16, 24, 32, 48};

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

/// A copy of what each lane reads along `lane`: in blocks of that many, or as one row for each of the other
/// coordinates.
struct LaneCopy {
  std::string lane;
  Size block = {};  ///< constant 0: no blocks
  Scope scope = Scope::heap;
  bool dense_too = false;  ///< and where lanes are neighbours already, so that far rows come near each other
  bool has_blocks() const { return block.constant > 0 || !block.decision.empty(); }
};

/// Reads whose lanes would lie apart are copied, the lanes' coordinate innermost.
void copy_across(Sketcher& s, const std::string& name, const LaneCopy& copy) {
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
    for (uint32_t d = 0; d + (copy.dense_too ? 0 : 1) < rank; ++d) {
      bool moves = false;
      for (const Term& term : e.access.index[d].affine.terms)
        moves |= term.var != kNoVar && term.var >= s.t_.program.index_var(0) &&
                 index_name(s.t_, stage, term.var - s.t_.program.index_var(0)) == copy.lane;
      if (!moves) continue;
      PromoteStep step{s.t_.program.tensors[e.access.id].name, name, "root", copy.scope, {}, number};
      const std::string dim = "d" + std::to_string(d);
      if (copy.has_blocks()) step.layout.push_back({LayoutDigit::Part::quotient, dim, copy.block});
      for (uint32_t other = 0; other < rank; ++other)
        if (other != d) step.layout.push_back({LayoutDigit::Part::whole, "d" + std::to_string(other), {}});
      step.layout.push_back({copy.has_blocks() ? LayoutDigit::Part::remainder : LayoutDigit::Part::whole, dim,
                             copy.has_blocks() ? copy.block : Size{}});
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

/// Columns and rows of the register blocks of a band, the same for all of its statements.
struct RegisterBlock {
  Size columns, rows;
};
RegisterBlock register_block(Sketcher& s, int64_t lanes, int64_t panel, const std::string& level = "") {
  const int64_t registers = s.machine_->units.vector_registers, columns = std::min(2 * lanes, panel);
  const int64_t height = rows_of_block(static_cast<int>(registers), (columns + lanes - 1) / lanes, panel);
  const std::string number = (s.t_.bands.size() > 1 ? std::to_string(s.t_.bands.size()) : "") + level;
  const RegisterBlock out{{0, "columns" + number}, {0, "rows" + number}};
  const auto is_decided = [&](const Decision& d) { return d.name == out.columns.decision; };
  if (std::any_of(s.t_.trace.decisions.begin(), s.t_.trace.decisions.end(), is_decided)) return out;
  std::set<int64_t> widths{columns}, heights{height};
  for (const int64_t vectors : {1, 2, 3, 4})
    if (vectors * lanes <= panel) widths.insert(vectors * lanes);
  for (const int64_t rows : {2, 3, 4, 6, 8, 16})
    if (panel % rows == 0 && (rows <= 8 || !level.empty())) heights.insert(rows);
  s.decide(out.columns.decision, columns, {widths.begin(), widths.end()});
  s.decide(out.rows.decision, height, {heights.begin(), heights.end()});
  s.t_.trace.constraints.push_back(block_in_registers(out.rows.decision, out.columns.decision, lanes, registers));
  return out;
}

/// Blocks of both levels are one, or where rows stand outside each level has its own, which fit it.
RegisterBlock far_block(Sketcher& s, int64_t lanes, const PanelForm& form, bool is_inner) {
  if (!form.rows_outside) return register_block(s, lanes, form.inner > 0 ? form.inner : form.outer);
  if (!is_inner) return register_block(s, lanes, form.outer);
  const RegisterBlock out = register_block(s, lanes, form.outer, "_inner");
  for (Decision& d : s.t_.trace.decisions)
    if (d.name == out.columns.decision) {
      std::erase_if(d.candidates, [&](int64_t width) { return width > form.inner; });
      d.value = std::min(d.value, d.candidates.back());
    }
  return out;
}

/// First values of a column after the other, lanes across them; false for those of a diagonal, which have none.
bool put_lane_innermost(Sketcher& s, const std::string& name, const std::vector<std::string>& index) {
  if (equation_of(s.t_, s.t_.stages[*stage_named(s.t_, name)]).slots.size() < 2) return false;
  std::vector<std::string> order(index.begin() + 2, index.end());
  order.push_back(index[0]);
  s.take(PermuteStep{name, order});
  return true;
}

/// Lanes for the folds beside the diagonal, and blocks of registers for those in tiles of their own.
void vectorize_panels(Sketcher& s, uint32_t number, const std::vector<std::string>& index, const PanelForm& form) {
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
      if (form.rows_outside && part == SumPart::first && !put_lane_innermost(s, name, index)) continue;
      if (part != SumPart::whole || !is_one_column) vectorize_attached(s, name);
      continue;
    }
    const Stage stage = s.t_.stages[*stage_named(s.t_, name)];
    const int64_t lanes = s.lanes_of(stage);
    if (equation_of(s.t_, stage).slots.size() < 2) continue;
    if (k >= near.size()) {
      const std::string& rows = index.back();
      const bool is_inner = name.ends_with("2");
      const RegisterBlock block = far_block(s, lanes, form, is_inner);
      std::vector<std::string> order = {lane + ".1", rows + ".1", index[1], rows, lane};
      if (form.rows_outside) std::swap(order[0], order[1]);
      const std::string place = order[1];
      if (!s.take_all({TileStep{name, {{lane, block.columns}, {rows, block.rows}}}, PermuteStep{name, order}}))
        continue;
      const Size width = is_inner && form.rows_outside ? Size{} : block.columns;
      copy_across(s, name, {lane, width, is_inner ? Scope::stack : Scope::heap, form.inner > 0 && !is_inner});
      s.take_all({AccumulateStep{name, place, Scope::reg}, UnrollStep{name, {rows}},
                  VectorizeStep{name, lane, Size{lanes, ""}}});
      continue;
    }
    std::vector<std::string> order(index.begin() + 2, index.end());
    order.push_back(lane);
    if (!s.take(PermuteStep{name, order})) continue;
    copy_across(s, name, {lane, {}, Scope::stack});
    s.take(VectorizeStep{name, lane, Size{lanes, ""}});
  }
}

/// Tiles of all members, and inside these of the members that the folds' tiles are told by.
void tile_panels(const std::vector<std::string>& index, size_t last_inside, const PanelForm& form, const Size& inner,
                 TileStep& tile, PermuteStep& permute) {
  for (const std::string& each : index) {
    tile.levels.push_back({each, Size{form.outer, ""}});
    permute.loops.push_back(each + ".1");
  }
  for (size_t m = 0; m < index.size() && form.inner > 0; ++m) {
    if (m > last_inside) continue;
    tile.levels.push_back({index[m], inner});
    permute.loops.push_back(index[m] + ".2");
  }
  permute.loops.push_back(index[1]);
  for (uint32_t m = 0; m < index.size(); ++m)
    if (m != 1) permute.loops.push_back(index[m]);
}

/// The width of tiles in tiles: those that divide the outer one.
Size inner_panel(Sketcher& s, uint32_t number, const PanelForm& form) {
  const Size inner{0, "inner" + (number > 0 ? std::to_string(number + 1) : "")};
  std::vector<int64_t> widths;
  for (const int64_t width : kInnerPanels)
    if (form.outer % width == 0 && width < form.outer) widths.push_back(width);
  s.decide(inner.decision, form.inner, widths);
  return inner;
}

/// j.1, k.1, i.1, (j.2, k.2, i.2,) k: each statement has rows of a tile; tiles in which only folds run have blocks of
/// registers.
bool add_panels(Sketcher& s, uint32_t number, const PanelForm& form) {
  const std::string name = s.t_.stages[s.t_.bands[number].frame].name;
  std::vector<std::string> index;
  for (uint32_t m = 0; m < s.t_.stages[s.t_.bands[number].frame].lo.size(); ++m)
    index.push_back(index_name(s.t_, s.t_.stages[s.t_.bands[number].frame], m));
  fold_panels(s, number, form.outer);
  const std::vector<uint32_t> beyond = beyond_folds(s.t_, number);
  if (form.inner > 0 && beyond.empty()) return false;
  const size_t last = !beyond.empty() && beyond.back() > 1 ? beyond.back() : 1;
  const Size inner = form.rows_outside ? Size{form.inner, ""} : form.inner > 0 ? inner_panel(s, number, form) : Size{};
  TileStep tile{name, {}};
  PermuteStep permute{name, {}};
  tile_panels(index, last, form, inner, tile, permute);
  if (!s.take(tile) || !s.take(permute)) return false;
  for (const char* level : {".1", ".2"}) {
    if (beyond.empty() || (form.inner == 0 && level[1] == '2')) break;
    IsolateStep apart{{}, name, index[last] + level, {}};
    for (uint32_t attached : stages_of(s.t_, number))
      if (s.t_.stages[attached].part != SumPart::whole) apart.statements.push_back(s.t_.stages[attached].name);
    for (uint32_t m : beyond) apart.where.push_back({{{1, index[m]}, {-1, index[1]}}, -1});
    if (!s.take(apart) && form.inner > 0) return false;
  }
  if (!s.take(DistributeStep{name, index[1]})) return false;
  vectorize_panels(s, number, index, form);
  return true;
}

}  // namespace

namespace {

constexpr int64_t kFewestOfTwoLevels = 4;

int64_t longest_index(const Program& program, const std::vector<poly::BandProposal>& proposals) {
  int64_t extent = 0;
  for (const auto& proposal : proposals)
    for (const BandPlace& place : proposal.statements)
      for (const int64_t values : slot_extents(program, program.equations[place.equation]))
        extent = std::max(extent, values);
  return extent;
}

}  // namespace

std::vector<PanelForm> panels_for_search(const Program& program, const std::vector<poly::BandProposal>& proposals,
                                         const Machine& machine) {
  constexpr int64_t kSquares = 6;  // of the second cache: the tile, what it reads, and copies of these
  int64_t bytes = 1;
  for (const auto& proposal : proposals)
    for (const BandPlace& place : proposal.statements)
      for (const TensorId made : program.equations[place.equation].targets)
        bytes = std::max(bytes, size_bytes(program.tensors[made].type));
  const int64_t lanes = std::max<int64_t>(machine.vector_bytes() / bytes, 1), inner = 3 * lanes;
  if (machine.caches() < 2) return {};
  int64_t outer = 0;
  for (int64_t wider = 2 * inner; wider * wider * bytes * kSquares <= machine.cache_bytes(1); wider += 2 * inner)
    outer = wider;
  std::vector<PanelForm> out;
  for (const PanelForm& form : {PanelForm{outer, inner, true}, {outer / 2, inner, true}, {outer / 2, lanes, true}})
    if (form.outer > form.inner && form.outer * kFewestOfTwoLevels <= longest_index(program, proposals))
      out.push_back(form);
  return out;
}

std::vector<PanelForm> panels_for(const Program& program, const std::vector<poly::BandProposal>& proposals) {
  constexpr int64_t kFewestPanels = 8, kMostPanels = 48;
  const int64_t extent = longest_index(program, proposals);
  std::vector<PanelForm> out;
  for (const PanelForm& form : kPanelsInPanels)
    if (form.outer * kFewestOfTwoLevels <= extent) out.push_back(form);
  for (const int64_t panel : kPanels)
    if (panel * kFewestPanels <= extent && panel * kMostPanels >= extent) out.push_back({panel, 0});
  if (out.empty()) out.push_back({extent > kPanels[0] * kMostPanels ? kPanels[0] : *std::rbegin(kPanels), 0});
  return out;
}

bool add_as_panels(Sketcher& s, const Program& program, const poly::BandProposal& proposal, const PanelForm& form) {
  const auto parts = band_in_parts(program, proposal, s.band_name());
  if (!parts) return false;
  const auto number = static_cast<uint32_t>(s.t_.bands.size());
  Sketcher panels = s;
  if (!panels.take(*parts) || !add_panels(panels, number, form)) return false;
  s = std::move(panels);
  return true;
}

}  // namespace polyweft::schedules
