// The analytic model: for each register block the greatest of its port bounds, exposed latency of accumulation chains,
// plus the traffic of each cache level from footprints (Section 3 of the schedules page; Roller and BLIS show that this
// much ranks well).
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "cost_models/compiler_view.h"
#include "cost_models/grid.h"
#include "cost_models/leaf_cycles.h"
#include "cost_models/unit.h"
#include "polyweft/cost_model.h"

namespace polyweft {
namespace cost {
namespace {

constexpr int kSamples = 6, kManySamples = 96;
constexpr double kApart =
    0.1;  // samples that differ by more of their mean: bounds that depend on one another, as waves' and triangles' do
constexpr double kBesideCode = 0.5;  // of the traffic that arithmetic could hide, where instructions are known: real
                                     // code hides about half (bench_rank)

// ceil(tasks / threads) rounds of the parallel loop instead of all of them.
double parallel_factor(const Leaf& leaf, int threads) {
  for (const auto& loop : leaf.loops)
    if (loop.mark == MarkKind::parallel) return std::ceil(loop.trips / threads) / loop.trips;
  return 1;
}

// How often the nest forks: parallel loops, each as often as the loops around it run.
double forks(const std::vector<const Leaf*>& leaves, int threads) {
  std::set<VarId> counted;
  double out = 0;
  for (const Leaf* leaf : leaves) {
    double around = 1;
    for (const LoopContext& loop : leaf->loops) {
      if (loop.mark == MarkKind::parallel) {
        if (std::ceil(loop.trips / threads) < loop.trips && counted.insert(loop.var).second) out += around;
        break;
      }
      around *= loop.trips;
    }
  }
  return out;
}

// What halide_malloc takes from the system and gives back at the end of the call is mapped page by page when it is
// first touched: in the peers' harness attention over 1.5 MB of scores took 890 us, and 415 us where the allocator had
// kept its memory.
double first_touch_ns(const LoopNest& nest, const Machine& machine) {
  constexpr double kLeastBytes = 128 << 10;
  double out = 0;
  for (const Node& node : nest.nodes) {
    const auto* alloc = std::get_if<Alloc>(&node);
    if (!alloc || nest.buffers[alloc->buffer].scope != Scope::heap) continue;
    double bytes = static_cast<double>(size_bytes(nest.buffers[alloc->buffer].type));
    for (int64_t extent : folded_extents(nest.buffers[alloc->buffer])) bytes *= static_cast<double>(extent);
    if (bytes >= kLeastBytes)
      out += bytes / static_cast<double>(machine.page_bytes.value) * machine.page_fault_ns.value;
  }
  return out;
}

/// Leaves around one set of registers (sums that are loaded, added to and stored) follow each other so closely that
/// what one waits for the others' instructions hide.
class Together {
 public:
  void add(std::optional<BufferId> registers, const LeafTime& time) {
    if (!registers || time.is_tile) {
      alone_ += time.cycles();
      return;
    }
    LeafTime& all = by_registers_[*registers];
    all.work += time.work;
    all.traffic.hidden += time.traffic.hidden;
    all.traffic.exposed += time.traffic.exposed;
  }
  double cycles() const {
    double out = alone_;
    for (const auto& [registers, time] : by_registers_) out += time.cycles();
    return out;
  }

 private:
  std::map<BufferId, LeafTime> by_registers_;
  double alone_ = 0;
};

/// What a nest takes by its samples. A leaf that a sample meets as another one did takes as long.
class Samples {
 public:
  Samples(const LoopNest& nest, const Machine& machine)
      : nest_(nest), machine_(machine), walk_(nest), touched_(nest), leaf_cycles_(nest, machine) {}
  double ns(int sample) {
    const std::vector<const Leaf*>& leaves = walk_.at(sample);
    touched_.set(leaves);
    Together together;
    std::map<VarId, std::set<BufferId>> read;
    set_summed(leaves);
    for (const Leaf* leaf : leaves)
      together.add(registers_of(*leaf), leaf_cycles_.lanes_are_around()
                                            ? time_of(without_known_reads(*leaf, read), touched_.elsewhere(*leaf))
                                            : time_of(*leaf, touched_.elsewhere(*leaf)));
    return together.cycles() / machine_.clock_ghz.value + forks(leaves, machine_.cores()) * machine_.fork_join_ns.value;
  }
  /// With `instruction_cycles` for all leaves together.
  double ns(int sample, double instruction_cycles) {
    const std::vector<const Leaf*>& leaves = walk_.at(sample);
    touched_.set(leaves);
    TrafficCycles all;
    std::map<VarId, std::set<BufferId>> read;
    for (const Leaf* leaf : leaves) {
      const TrafficCycles own = leaf_cycles_.traffic(
          leaf_cycles_.lanes_are_around() ? without_known_reads(*leaf, read) : *leaf, touched_.elsewhere(*leaf));
      const double factor = parallel_factor(*leaf, machine_.cores());
      all.hidden += factor * own.hidden;
      all.exposed += factor * own.exposed;
    }
    return (instruction_cycles + kBesideCode * all.hidden + all.exposed) / machine_.clock_ghz.value +
           forks(leaves, machine_.cores()) * machine_.fork_join_ns.value;
  }

 private:
  // What a statement inside lanes reads of an argument the statements after it have in registers, or in the nearest
  // cache.
  Leaf without_known_reads(const Leaf& leaf, std::map<VarId, std::set<BufferId>>& read) const {
    Leaf out = leaf;
    for (const LoopContext& loop : leaf.loops) {
      if (loop.mark != MarkKind::vector) continue;
      std::set<BufferId>& known = read[loop.var];
      std::erase_if(out.accesses, [&](const AccessUse& use) { return !use.is_store && known.count(use.buffer) > 0; });
      const auto inside = leaf.loops.begin() + (&loop - leaf.loops.data());
      if (std::any_of(inside, leaf.loops.end(), [](const LoopContext& l) { return l.mark == MarkKind::serial; }))
        continue;  // too many to be kept
      for (const AccessUse& use : leaf.accesses)
        if (!use.is_store && nest_.buffers[use.buffer].scope == Scope::argument) known.insert(use.buffer);
    }
    return out;
  }
  // All that LeafCycles sees of a leaf and that differs between samples: trips, and how far accesses of one buffer
  // lie apart.
  using Key = std::vector<int64_t>;
  void set_key(const Leaf& leaf, double elsewhere_bytes) {
    key_.assign({static_cast<int64_t>(elsewhere_bytes)});
    for (const LoopContext& loop : leaf.loops) key_.push_back(static_cast<int64_t>(loop.trips));
    for (size_t a = 1; a < leaf.accesses.size(); ++a) {
      const AccessUse& use = leaf.accesses[a];
      const auto first = std::find_if(leaf.accesses.begin(), leaf.accesses.end(),
                                      [&](const AccessUse& other) { return other.buffer == use.buffer; });
      for (size_t d = 0; d < use.at.size() && &*first != &use; ++d) key_.push_back(use.at[d] - first->at[d]);
    }
  }
  LeafTime time_of(const Leaf& leaf, double elsewhere_bytes) {
    set_key(leaf, elsewhere_bytes);
    auto& known = known_[leaf.node];
    const auto found = known.find(key_);
    if (found != known.end()) return found->second;
    LeafTime time = leaf_cycles_.time(leaf, elsewhere_bytes);
    const double factor = parallel_factor(leaf, machine_.cores());
    time.work *= factor, time.traffic.hidden *= factor, time.traffic.exposed *= factor;
    known.emplace(key_, time);
    return time;
  }
  /// Registers inside of which a loop runs.
  void set_summed(const std::vector<const Leaf*>& leaves) {
    summed_.clear();
    for (const Leaf* leaf : leaves)
      for (const auto& [buffer, depth] : leaf->allocs) {
        const auto inside = leaf->loops.begin() + static_cast<std::ptrdiff_t>(depth);
        if (nest_.buffers[buffer].scope == Scope::reg && std::any_of(inside, leaf->loops.end(), [](const auto& loop) {
              return loop.mark == MarkKind::serial && loop.trips > 1;
            }))
          summed_.insert(buffer);
      }
  }
  /// The outermost of those that are allocated around a leaf.
  std::optional<BufferId> registers_of(const Leaf& leaf) const {
    for (const auto& [buffer, depth] : leaf.allocs)
      if (summed_.count(buffer) > 0) return buffer;
    return std::nullopt;
  }

  const LoopNest& nest_;
  const Machine& machine_;
  Walk walk_;
  Touched touched_;
  LeafCycles leaf_cycles_;
  std::map<NodeId, std::map<Key, LeafTime>> known_;
  Key key_;  ///< of the leaf at hand
  std::set<BufferId> summed_;
};

class AnalyticModel final : public CostModel {
 public:
  explicit AnalyticModel(Machine machine) : machine_(std::move(machine)) {}
  std::string name() const override { return "analytic/3"; }
  double predict_ns(const LoopNest& nest) const override {
    return predicted_as_compiled(nest, [](Samples& all, int sample) { return all.ns(sample); });
  }
  double predict_ns(const LoopNest& nest, double instruction_cycles) const override {
    const auto ns = [&](Samples& all, int sample) { return all.ns(sample, instruction_cycles); };
    return predicted_as_compiled(nest, ns);
  }

 private:
  // A compiler leaves loops as they are where vectors do not pay.
  template <class Ns>
  double predicted_as_compiled(const LoopNest& nest, const Ns& ns_of) const {
    if (!nest.auto_vectorized || !machine_.units.has_compiler_vectors) return predicted(nest, ns_of);
    return std::min(predicted(nest, ns_of),
                    predicted(compiler_view(nest, static_cast<int>(machine_.vector_bytes())), ns_of));
  }
  template <class Ns>
  double predicted(const LoopNest& nest, const Ns& ns_of) const {
    Samples all(nest, machine_);
    double sum = 0, least = 0, most = 0;
    int samples = 0;
    for (int wanted : {kSamples, kManySamples}) {
      for (; samples < wanted; ++samples) {
        const double ns = ns_of(all, samples);
        sum += ns;
        least = samples == 0 ? ns : std::min(least, ns);
        most = std::max(most, ns);
      }
      if (most - least <= kApart * sum / samples) break;
    }
    return sum / samples + first_touch_ns(nest, machine_);
  }

  Machine machine_;
};

}  // namespace
}  // namespace cost

std::unique_ptr<CostModel> analytic_model(const Machine& machine) {
  if (machine.has_grid()) return cost::grid_model(machine);
  auto of_cpu = std::make_unique<cost::AnalyticModel>(machine);
  if (machine.has_unit()) return cost::unit_model(machine, std::move(of_cpu));
  return of_cpu;
}

}  // namespace polyweft
