// Threads: the outermost loops of each nest in as many parts as there are threads.
//
// One part a thread, in one fork: who computes what is known before the call, and what one thread has in its caches
// stays its own. The index is the one whose parts are most equal when each is a whole number of register tiles; of
// several the one that has least to be read by all threads; of these the one whose blocks for a cache are outermost
// (what such a block holds is brought by one thread then, not by each); then the outermost dimension of what is
// written: parts that lie in one piece share no line and, for stencils, the shortest border.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "schedules/queries.h"
#include "schedules/sketches/plans.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

constexpr double kSureForks = 1000;  ///< work of so many forks pays for one whatever the operation: no sketch without
constexpr double kEven = 0.97;       ///< mean over largest part from which on parts count as equal

/// Points at one a cycle for as long as a fork and join take: below it a fork pays for no operation; above it the cost
/// model decides.
double points_of_fork(const Machine& machine) {
  return machine.fork_join_ns.value * machine.clock_ghz.value;
}

using Merit = std::tuple<double, double, bool, int64_t>;

struct Sharing {
  const NestTemplate& t;
  const std::map<std::string, int64_t>& decided;
  int threads;

  int64_t value(const Size& size) const { return size.decision.empty() ? size.constant : decided.at(size.decision); }
  /// With all that runs inside.
  double work(uint32_t id) const {
    double out = points_of(t.stages[id]);
    for (const Stage& attached : t.stages)
      if (is_inside(attached, id)) out += points_of(attached);
    return out;
  }
  static bool is_inside(const Stage& attached, uint32_t id) {
    const auto kind = attached.placement.kind;
    return (kind == Placement::Kind::compute_at || kind == Placement::Kind::fused) && attached.placement.host == id;
  }
  /// Loops that stand outside everything placed in the nest: others would repeat it.
  size_t free_loops(uint32_t id) const {
    size_t out = t.stages[id].loops.size();
    for (const Stage& attached : t.stages)
      if (is_inside(attached, id) && attached.placement.depth > 0)
        out = std::min<size_t>(out, attached.placement.depth);
    return out;
  }
  int64_t register_tile(const Stage& stage, uint32_t index) const {
    for (size_t k = stage.loops.size(); k-- > 0;)
      if (stage.loops[k].index == index && !is_register_loop(stage.loops[k]))
        return std::max<int64_t>(1, value(stage.loops[k].step));
    return 1;
  }
  /// Mean over largest part.
  double balance(const Stage& stage, uint32_t index) const {
    const int64_t extent = stage.hi[index] - stage.lo[index], tile = register_tile(stage, index);
    const int64_t part = ((extent + threads - 1) / threads + tile - 1) / tile * tile;
    return static_cast<double>(extent) / static_cast<double>(threads * std::min(part, extent));
  }
  /// Of all elements read, how many every thread reads: in eighths, so that a few taps do not outweigh parts that lie
  /// in one piece.
  double read_by_all(const Stage& stage, uint32_t index) const {
    double shared = 0, total = 0;
    visit(equation_of(t, stage).rhs, [&](const ExprNode& e) {
      if (e.op != Op::read) return;
      double elements = 1;
      bool moves = false;
      for (const Subscript& s : e.access.index) {
        double reach = 1;
        for (uint32_t k = 0; k < stage.lo.size(); ++k) {
          const int64_t coefficient = s.affine.coefficient(t.program.index_var(k));
          moves |= coefficient != 0 && k == index;
          if (coefficient != 0)
            reach += std::abs(static_cast<double>(coefficient)) * static_cast<double>(stage.hi[k] - stage.lo[k] - 1);
        }
        elements *= reach;
      }
      total += elements;
      if (!moves) shared += elements;
    });
    return total > 0 ? std::floor(8 * shared / total) : 0;
  }
  /// Are the outermost loops those over blocks of this index, with smaller tiles inside?
  bool has_outermost_blocks(const Stage& stage, uint32_t index) const {
    const auto tiles = std::count_if(stage.loops.begin(), stage.loops.end(), [&](const TemplateLoop& loop) {
      return loop.index == index && !is_register_loop(loop);
    });
    return tiles >= 2 && stage.loops.front().index == index &&
           value(stage.loops.front().step) < stage.hi[index] - stage.lo[index];
  }
  bool is_split(const Stage& stage, uint32_t index) const {
    return std::any_of(stage.loops.begin(), stage.loops.end(),
                       [&](const TemplateLoop& loop) { return loop.index == index && !loop.cuts.empty(); });
  }
  /// Does a condition cut parts of this index by a quarter or more of its range? The few taps of a padded stencil do
  /// not matter.
  bool is_ragged(const Stage& stage, uint32_t index) const {
    const double extent = static_cast<double>(stage.hi[index] - stage.lo[index]);
    return std::any_of(stage.inside.begin(), stage.inside.end(), [&](const Affine& e) {
      if (e.coefficient(t.program.index_var(index)) == 0) return false;
      double others = 0;
      for (uint32_t k = 0; k < stage.lo.size(); ++k)
        if (k != index)
          others += std::abs(static_cast<double>(e.coefficient(t.program.index_var(k)) * (stage.hi[k] - stage.lo[k])));
      return others >= extent / 4;
    });
  }

  /// The loop over parts of its reduction, where there are too few elements for the threads.
  std::optional<std::string> parts_of_sum(const Stage& stage) const {
    double elements = 1;
    for (uint32_t k = 0; k < stage.data_indices; ++k) elements *= static_cast<double>(stage.hi[k] - stage.lo[k]);
    if (!stage.parted || elements >= 2 * threads) return std::nullopt;
    return index_name(t, stage, *stage.parted) + ".p";
  }

  std::optional<uint32_t> best_index(uint32_t id) const {
    const Stage& stage = t.stages[id];
    std::optional<uint32_t> best;
    Merit most;
    const size_t outside = free_loops(id);
    for (size_t k = 0; k < outside; ++k) {
      const uint32_t index = stage.loops[k].index;
      if (index >= stage.data_indices || is_split(stage, index) || stage.hi[index] - stage.lo[index] < 2) continue;
      const Merit merit = {std::floor(std::min(balance(stage, index), kEven) * 50), -read_by_all(stage, index),
                           has_outermost_blocks(stage, index), -static_cast<int64_t>(index)};
      if (!best || merit > most) best = index, most = merit;
    }
    return best;
  }
};

}  // namespace

bool may_not_pay(const NestTemplate& base, const Machine& machine) {
  double points = 0;
  for (const Stage& stage : base.stages) points += points_of(stage);
  return points < kSureForks * points_of_fork(machine);
}

std::optional<NestTemplate> in_parts(const NestTemplate& sketch, const Machine& machine) {
  const int threads = machine.cores();
  Trace trace = sketch.trace;
  std::map<std::string, int64_t> decided;
  for (const Decision& decision : trace.decisions) decided[decision.name] = decision.value;
  const Sharing sharing{sketch, decided, threads};
  for (uint32_t id = 0; id < sketch.stages.size(); ++id) {
    const Stage& stage = sketch.stages[id];
    if (stage.placement.kind != Placement::Kind::at_root || sharing.work(id) < points_of_fork(machine)) continue;
    if (const auto loop = sharing.parts_of_sum(stage)) {
      trace.steps.push_back(ParallelStep{stage.name, *loop, 0});
      continue;
    }
    const auto index = sharing.best_index(id);
    // Triangles: several parts a thread, taken as threads become free.
    if (index)
      trace.steps.push_back(ParallelStep{stage.name, index_name(sketch, stage, *index),
                                         sharing.is_ragged(stage, *index) ? 4 * threads : threads});
  }
  auto made = replay_rest(sketch, trace);
  return made ? std::optional(*std::move(made)) : std::nullopt;
}

}  // namespace polyweft::schedules
