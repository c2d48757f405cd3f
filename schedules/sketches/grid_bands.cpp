// Recurrences on machines that run blocks of threads: loops that carry stay outside, of the host or of a thread; loops
// inside that carry nothing are blocks and threads.
//
//   for t                                          for t (of the host: a launch a step and statement)
//     for i, j: B; for i, j: A           -->         for i.1, j.1 blocks, for i, j threads: B
//                                                    for i.1, j.1 blocks, for i, j threads: A
//
// Where no member inside is free the first one becomes a sum of members: what lies on one of its values runs at once.
#include <algorithm>

#include "schedules/bands.h"
#include "schedules/queries.h"
#include "schedules/sketches/attached.h"
#include "schedules/sketches/band_forms.h"
#include "schedules/sketches/grid.h"
#include "schedules/sketches/grid_plan.h"
#include "schedules/sketches/sketcher.h"

namespace polyweft::schedules {
namespace {

constexpr double kEnough = 0.5;  ///< share of a band's points that run at once
constexpr int64_t kRowThreads = 64, kRowsOfThreads = 4;

/// Threads along a loop: a power of two, no more than it needs.
Size threads_for(Sketcher& s, const char* name, int64_t extent, int64_t most) {
  Decision d{name + std::to_string(s.t_.trace.decisions.size() + 1), 1, {}};
  while (d.value < most && d.value < extent) d.value *= 2;
  for (int64_t size = std::max<int64_t>(1, d.value / 4); size <= 4 * d.value; size *= 2)
    if (size < 2 * extent) d.candidates.push_back(size);
  s.decide(d.name, d.value, d.candidates);
  return Size{0, d.name};
}

/// These loops of a statement (or of a band's frame) as blocks and threads, x last; the others inside, in their order.
bool bind_loops(Sketcher& s, const std::string& name, const std::vector<std::string>& loops) {
  const auto id = stage_named(s.t_, name);
  if (!id) return false;
  const Stage stage = s.t_.stages[*id];
  Sketcher tried = s;
  const std::string& x = loops.back();
  std::vector<TileStep::Level> levels;
  std::vector<std::string> order;
  std::vector<Step> binds;
  if (loops.size() > 2) {
    order.push_back(loops[0]);
    binds.push_back(BindStep{name, loops[0], "block_z"});
  }
  if (loops.size() > 1) {
    const std::string& y = loops[loops.size() - 2];
    levels.push_back({y, threads_for(tried, "ty", extent_of_loop(stage, y), kRowsOfThreads)});
    order.push_back(y + ".1");
    binds.push_back(BindStep{name, y + ".1", "block_y"});
  }
  levels.push_back({x, threads_for(tried, "tx", extent_of_loop(stage, x), kRowThreads)});
  order.push_back(x + ".1");
  binds.push_back(BindStep{name, x + ".1", "block_x"});
  if (loops.size() > 1) {
    order.push_back(loops[loops.size() - 2]);
    binds.push_back(BindStep{name, loops[loops.size() - 2], "thread_y"});
  }
  order.push_back(x);
  binds.push_back(BindStep{name, x, "thread_x"});
  for (const TemplateLoop& loop : stage.loops)
    if (std::count(loops.begin(), loops.end(), loop.name) == 0) order.push_back(loop.name);
  Monomial threads{1, {}};
  for (const TileStep::Level& level : levels) threads.decisions.push_back(level.size.decision);
  tried.t_.trace.constraints.push_back({"threads" + std::to_string(tried.t_.trace.constraints.size() + 1),
                                        {threads},
                                        static_cast<double>(s.machine_->grid.block_threads.value)});
  std::vector<Step> steps = {TileStep{name, levels}, PermuteStep{name, order}};
  steps.insert(steps.end(), binds.begin(), binds.end());
  if (!tried.take_all(steps)) return false;
  s = std::move(tried);
  return true;
}

/// The loops that a statement has for itself, as many as carry nothing; how many iterations run at once.
double bind_statement(Sketcher& s, const std::string& name) {
  const uint32_t id = *stage_named(s.t_, name);
  const Stage stage = s.t_.stages[id];
  const StageTable table = table_of(s.t_, stage);
  std::vector<std::string> data;
  for (const TemplateLoop& loop : stage.loops)
    if (loop.index < stage.data_indices && is_point_loop(loop) && loop.mark.kind == MarkKind::serial &&
        stage.hi[loop.index] - stage.lo[loop.index] > 1 && is_own_loop(s.t_, id, loop, name).ok())
      data.push_back(loop.name);
  const auto is_unit = [&](const std::string& name_of_loop) {
    return std::any_of(stage.loops.begin(), stage.loops.end(),
                       [&](const TemplateLoop& loop) { return loop.name == name_of_loop && table.unit == loop.index; });
  };
  std::stable_partition(data.begin(), data.end(), [&](const std::string& loop) { return !is_unit(loop); });
  std::vector<std::vector<std::string>> tries;
  for (size_t count = std::min<size_t>(3, data.size()); count > 0; --count)
    tries.emplace_back(data.end() - static_cast<std::ptrdiff_t>(count), data.end());
  for (size_t k = data.size(); k-- > 0;) {
    for (size_t y = k; y-- > 0;) tries.push_back({data[y], data[k]});
    tries.push_back({data[k]});
  }
  for (const auto& loops : tries)
    if (bind_loops(s, name, loops)) {
      double at_once = 1;
      for (const std::string& loop : loops) at_once *= static_cast<double>(extent_of_loop(stage, loop));
      return at_once;
    }
  return 1;
}

/// Statements in loops of their own inside as few loops of the band as it allows; false where too little runs at once.
bool bind_inside(Sketcher& s, uint32_t band) {
  const std::string frame = s.t_.stages[s.t_.bands[band].frame].name;
  const size_t members = s.t_.stages[s.t_.bands[band].frame].lo.size();
  for (size_t depth = 0; depth < members; ++depth) {
    Sketcher tried = s;
    const std::string at = depth == 0 ? "root" : tried.t_.stages[tried.t_.bands[band].frame].loops[depth - 1].name;
    if (!tried.take(DistributeStep{frame, at})) continue;
    double bound = 0, all = 0;
    for (const std::string& name : names_of_attached(tried.t_, band)) {
      const double points = points_inside(tried.t_, tried.t_.stages[*stage_named(tried.t_, name)]);
      all += points;
      if (bind_statement(tried, name) > 1) bound += points;
    }
    if (bound < kEnough * all) continue;
    s = std::move(tried);
    return true;
  }
  return false;
}

/// A member along which nothing is carried is outermost, its values are threads.
bool bind_frame(Sketcher& s, uint32_t band) {
  const Stage frame = s.t_.stages[s.t_.bands[band].frame];
  for (const TemplateLoop& loop : frame.loops)
    if (bind_loops(s, frame.name, {loop.name})) return true;
  return false;
}

/// The band with a sum of multiples of its members in front, and all members but the one that it gives back.
std::optional<BandStep> with_wave(const BandStep& plain, const std::vector<int64_t>& weights) {
  if (plain.members.size() != weights.size()) return std::nullopt;
  BandStep out = plain;
  const auto given_back = static_cast<size_t>(std::find(weights.begin(), weights.end(), 1) - weights.begin());
  if (given_back == weights.size()) return std::nullopt;
  std::string wave;
  for (size_t m = 0; m < weights.size(); ++m) wave += plain.members[m];
  out.members = {wave + "w"};
  for (size_t m = 0; m < weights.size(); ++m)
    if (m != given_back) out.members.push_back(plain.members[m]);
  for (BandStep::Statement& statement : out.statements) {
    LinearText sum;
    std::vector<LinearText> members;
    for (size_t m = 0; m < weights.size(); ++m) {
      for (const auto& [coeff, name] : statement.members[m].terms) {
        const auto known =
            std::find_if(sum.terms.begin(), sum.terms.end(), [&](const auto& t) { return t.second == name; });
        if (known == sum.terms.end())
          sum.terms.emplace_back(weights[m] * coeff, name);
        else
          known->first += weights[m] * coeff;
      }
      sum.constant += weights[m] * statement.members[m].constant;
      if (m != given_back) members.push_back(statement.members[m]);
    }
    std::erase_if(sum.terms, [](const auto& term) { return term.first == 0; });
    members.insert(members.begin(), std::move(sum));
    statement.members = std::move(members);
  }
  return out;
}

/// The band in the first form in which enough of it runs at once; as it is where there is none. False: no band.
bool add_to_grid(Sketcher& s, const Program& program, const poly::BandProposal& proposal) {
  const BandStep plain = poly::band_step(program, proposal, s.band_name());
  const auto number = static_cast<uint32_t>(s.t_.bands.size());
  std::vector<BandStep> forms = {plain};
  if (const auto whole = whole_sums(program, proposal, s.band_name())) forms.push_back(*whole);
  for (const std::vector<int64_t>& weights :
       std::vector<std::vector<int64_t>>{{1, 1}, {2, 1}, {1, 1, 1}, {2, 1, 1}, {4, 2, 1}})
    if (const auto wave = with_wave(plain, weights)) forms.push_back(*wave);
  for (const BandStep& form : forms)
    for (const bool folded : {true, false}) {
      Sketcher tried = s;
      if (!tried.take(form)) break;
      if (folded) fold_storage(tried, number);
      Sketcher framed = tried;
      if (bind_inside(tried, number)) {
        s = std::move(tried);
        return true;
      }
      if (bind_frame(framed, number)) {
        s = std::move(framed);
        return true;
      }
    }
  return s.take(plain);
}

}  // namespace

std::vector<NestTemplate> grid_band_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                             const Isl& isl) {
  if (!has_recurrence(normalized) || !isl.propose_bands || !isl.band_facts) return {};
  const auto proposals = isl.propose_bands();
  if (!proposals || proposals->empty()) return {};
  Sketcher s(normalized, cls, machine, isl);
  for (const poly::BandProposal& proposal : *proposals)
    if (!add_to_grid(s, normalized, proposal)) return {};
  if (!has_bands(s.t_)) return {};
  GridPlan plan(s.t_, machine, static_cast<int>(s.t_.trace.decisions.size()));
  for (uint32_t id = 0; id < s.t_.stages.size(); ++id)
    if (!band_of(s.t_, id)) plan_statement(plan, id, false);
  if (!instantiate(plan.made(), values_of(plan.made().trace))) return {};
  return {plan.made()};
}

}  // namespace polyweft::schedules
