#include "schedules/sketches/attached.h"

#include <algorithm>

#include "schedules/bands.h"
#include "schedules/sketches/band_forms.h"
#include "schedules/sketches/plans.h"
#include "schedules/sketches/table.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kSums = 4;  ///< vectors of partial sums at once

bool has_own_loop(const NestTemplate& t, uint32_t stage, uint32_t index) {
  const auto& loops = t.stages[stage].loops;
  return std::any_of(loops.begin(), loops.end(),
                     [&](const TemplateLoop& l) { return l.index == index && is_own_loop(t, stage, l, "").ok(); });
}

/// Is the index no member of the band?
bool is_untied(const Stage& stage, uint32_t index) {
  return std::none_of(stage.placement.ties.begin(), stage.placement.ties.end(),
                      [&](const auto& tie) { return tie.first == index; });
}

/// Elements and vectors of partial sums of each, in registers beside a value that they share and one from memory: two
/// indices have a square of elements, its outer side halved until it fits, one index a column, its sums halved.
struct SumBlock {
  int64_t outer = 4, inner = 4, column = 8, sums_of_column = 2;
};
SumBlock sum_block(const Machine& machine) {
  constexpr int64_t kBeside = 2;
  SumBlock out;
  const auto fits = [&](int64_t sums) { return sums + kBeside <= machine.units.vector_registers; };
  while (out.outer > 1 && !fits(out.outer * out.inner)) out.outer /= 2;
  while (out.sums_of_column > 1 && !fits(out.column * out.sums_of_column)) out.sums_of_column /= 2;
  return out;
}

/// Blocks of elements whose sums share operands, lanes along the sum, all in registers. False where no loop of the
/// statement's own has such neighbours.
bool block_sums(Sketcher& s, const std::string& name, uint32_t sum, int64_t lanes) {
  const SumBlock sizes = sum_block(*s.machine_);
  const uint32_t id = *stage_named(s.t_, name);
  const Stage stage = s.t_.stages[id];
  std::vector<std::string> own, block, order;
  for (const uint32_t k : shared_along(s.t_, stage))
    if (has_own_loop(s.t_, id, k) && stage.hi[k] - stage.lo[k] >= 2) block.push_back(index_name(s.t_, stage, k));
  if (block.empty()) return false;
  if (block.size() > 2) block.erase(block.begin(), block.end() - 2);
  for (uint32_t k = 0; k < stage.data_indices; ++k)
    if (has_own_loop(s.t_, id, k)) own.push_back(index_name(s.t_, stage, k));
  const std::string along = index_name(s.t_, stage, sum);
  TileStep tile{name, {}};
  for (const std::string& each : own)
    order.push_back(each + (std::count(block.begin(), block.end(), each) > 0 ? ".1" : ""));
  const std::string at = order.back();
  for (const std::string& each : block)
    tile.levels.push_back({each, Size{block.size() == 1       ? sizes.column
                                      : each == block.front() ? sizes.outer
                                                              : sizes.inner,
                                      ""}});
  tile.levels.push_back({along, Size{(block.size() == 1 ? sizes.sums_of_column : 1) * lanes, ""}});
  order.insert(order.end(), {along + ".1", along});
  order.insert(order.end(), block.begin(), block.end());
  return s.take_all({tile, PermuteStep{name, order}, AccumulateStep{name, at, Scope::reg}, UnrollStep{name, block},
                     VectorizeStep{name, along, Size{lanes, ""}}});
}

}  // namespace

std::vector<uint32_t> shared_along(const NestTemplate& t, const Stage& stage) {
  std::vector<uint32_t> out;
  if (!stage.reduces) return out;
  const StageTable table = table_of(t, stage);
  for (uint32_t k = 0; k < stage.data_indices; ++k)
    if (std::any_of(table.reads.begin(), table.reads.end(), [&](const ReadRow& row) { return !row.uses(k); }))
      out.push_back(k);
  return out;
}

bool gathers(const NestTemplate& t, const Stage& stage) {
  const StageTable table = table_of(t, stage);
  for (const TemplateLoop& loop : stage.loops)
    if (loop.mark.kind == MarkKind::vector &&
        std::any_of(table.reads.begin(), table.reads.end(),
                    [&](const ReadRow& row) { return !is_near_along(row, loop.index); }))
      return true;
  return false;
}

std::vector<std::string> names_of_attached(const NestTemplate& t, uint32_t band) {
  std::vector<std::string> out;
  for (uint32_t attached : stages_of(t, band)) out.push_back(t.stages[attached].name);
  return out;
}

double points_inside(const NestTemplate& t, const Stage& stage) {
  double out = points_of(stage);
  for (size_t k = 0; k < stage.inside.size(); ++k)
    for (size_t other = 0; other < k; ++other) {
      if (!(stage.inside[k] + stage.inside[other] == Affine::of(0))) continue;
      int64_t extent = 1;
      for (const Term& term : stage.inside[k].terms) {
        const uint32_t index = term.var - t.program.index_var(0);
        extent = std::max(extent, stage.hi[index] - stage.lo[index]);
      }
      out /= static_cast<double>(extent);
    }
  return out;
}

bool vectorize_attached(Sketcher& s, const std::string& name) {
  auto id = stage_named(s.t_, name);
  if (!id) return false;
  const Stage stage = s.t_.stages[*id];
  const Equation equation = equation_of(s.t_, stage);
  const int64_t lanes = s.lanes_of(stage);
  bool sums_along = false;  // lanes along the sum find neighbours in memory
  for (uint32_t k = stage.data_indices; stage.reduces && k < stage.lo.size(); ++k)
    sums_along |= stage.hi[k] - stage.lo[k] >= 2 * lanes && reads_along(equation, s.t_.program.index_var(k));
  if (!equation.slots.empty()) {
    const Slot& last = equation.slots.back();
    const Affine position = last.var == kNoVar ? last.position : Affine::variable(last.var);
    for (uint32_t k = 0; k < stage.data_indices; ++k) {
      const int64_t coeff = position.coefficient(s.t_.program.index_var(k));
      if (coeff != 1 || stage.hi[k] - stage.lo[k] < lanes / 2) continue;
      const std::string index = index_name(s.t_, stage, k);
      if (sums_along && !reads_along(equation, s.t_.program.index_var(k))) continue;
      if (stage.reduces) {
        bool has_own_sum = false;
        for (uint32_t r = stage.data_indices; r < stage.lo.size(); ++r) has_own_sum |= is_untied(stage, r);
        if (has_own_sum &&
            s.take_all({TileStep{name, {{index, Size{4 * lanes, ""}}}}, VectorizeStep{name, index, Size{lanes, ""}},
                        AccumulateStep{name, index + ".1", Scope::reg}}))
          return true;
      }
      if (s.take(VectorizeStep{name, index, Size{lanes, ""}})) return true;
    }
  }
  if (!stage.reduces || equation.targets.size() != 1) return false;
  for (uint32_t k = stage.data_indices; k < stage.lo.size(); ++k) {  // lanes are partial sums
    const std::string index = index_name(s.t_, stage, k);
    if (stage.hi[k] - stage.lo[k] < 2 * lanes || !reads_along(equation, s.t_.program.index_var(k))) continue;
    if (block_sums(s, name, k, lanes)) return true;
    std::vector<std::string> order;
    for (uint32_t d = 0; d < stage.data_indices; ++d) order.push_back(index_name(s.t_, stage, d));
    const std::string at = order.empty() ? "root" : order.back();
    order.insert(order.end(), {index + ".1", index});
    if (s.take_all({TileStep{name, {{index, Size{kSums * lanes, ""}}}}, PermuteStep{name, order},
                    AccumulateStep{name, at, Scope::reg}, VectorizeStep{name, index, Size{lanes, ""}}}))
      return true;
  }
  return false;
}

}  // namespace polyweft::schedules
