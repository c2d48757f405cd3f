#include "cost_models/grid.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "cost_models/reach.h"
#include "cost_models/walk.h"
#include "ir/nests/axes.h"
#include "ir/nests/instruction.h"
#include "ir/nests/walk_nest.h"

namespace polyweft::cost {
namespace {

constexpr int kGridSamples = 4;
constexpr double kBehind = 0.25;          ///< of the lesser of arithmetic and accesses, that the greater does not hide
constexpr double kBehindCaches = 0.5;     ///< the same of arithmetic and what the second cache brings
constexpr double kOtherRegisters = 6;     ///< of a thread, beside sums: addresses, operands
constexpr double kOtherOfProducts = 32;   ///< the same beside sums that warps hold
constexpr double kWordBytes = 4;          ///< of a register, of a bank
constexpr double kMissedLaneCycles = 12;  ///< that a lane waits whose line is gone (transposes of 2048 rows: 15)
constexpr double kMaskedCycles = 6;       ///< of a condition that holds for some threads in lockstep
constexpr double kStartCycles = 150;      ///< between the starts of two blocks (an H200: 158)
constexpr int64_t kTurnedBytes = 2;       ///< of elements whose matrices lanes turn as they load them
constexpr double kFragmentRows = 8;       ///< lines of memory that a warp asks for with a word of each lane's fragment
constexpr double kOfWarps = 1.6;          ///< where the unit reads factors itself (H100: mma.sync to wgmma)
constexpr double kDrained = 700;          ///< of a round whose products have to end before the next ones begin
constexpr double kMostBlocks = 32;        ///< that a unit holds
constexpr double kWalkers = 8;            ///< groups that walk through the first cache at once
constexpr double kLoadsAhead = 6;         ///< iterations of a loop whose loads are on their way together
constexpr double kFewLoadsAhead = 2;      ///< the same where the number of iterations differs
constexpr double kTestsOfBlock = 8;       ///< instructions of a thread for its number and bounds

enum class Part : uint8_t { host, block, thread, serial, unrolled, wide, product };

/// A leaf's loops by what runs them.
struct Placed {
  std::vector<Part> parts;
  size_t first_of_kernel = 0;
  size_t first_inside = 0;  ///< the first loop that is neither the host's nor over blocks
  double launches = 1, blocks = 1, threads = 1, width = 1;
};

struct Kernel {
  double launches = 1, blocks = 1, threads = 1;
  double throughput = 0;  ///< cycles of groups in lockstep, of a block
  double of_unit = 0;     ///< the same of products that read shared memory themselves, beside all else
  /// Of both.
  double work() const { return std::max(throughput, of_unit) + kBehind * std::min(throughput, of_unit); }
  double latency = 0;         ///< cycles of a block's chains of sums, one group after the other
  double near_bytes = 0;      ///< that a block brings into the first cache
  double far_bytes = 0;       ///< that all of them touch
  double walked_bytes = 0;    ///< that a block's groups bring in, each for itself
  double asked_bytes = 0;     ///< that a block's statements ask for, one after the other
  bool has_products = false;  ///< of warps
  double registers = 0, shared_bytes = 0, barriers = 0;
  double waits = 0;         ///< for asynchronous copies
  double loaded_bytes = 0;  ///< that a thread has on their way at once, at most
  double far_read = 0;      ///< bytes of memory that all of them read
  double ahead = 0;         ///< iterations of work between such a copy and its use
  std::map<BufferId, double> near, far;
  std::map<BufferId, int> read_by;  ///< statements
  std::set<BufferId> buffers;
};

class GridTime {
 public:
  GridTime(const LoopNest& nest, const Machine& machine)
      : nest_(nest), machine_(machine), grid_(machine.grid), walk_(nest, machine.grid.lockstep_threads.value) {
    for (const Node& node : nest.nodes) {
      const auto* loop = std::get_if<Loop>(&node);
      if (!loop) continue;
      if (loop->mark.kind == MarkKind::axis) axis_of_[loop->var] = loop->mark.detail;
      if (loop->lo.of.size() > 1 || loop->hi.of.size() > 1) lengths_differ_.insert(loop->var);
    }
    for (const std::string& name : machine.units.instructions)
      if (const auto instruction = ir::instruction_named(name); instruction && (*instruction)->reads_shared())
        of_warps_ = kOfWarps;
  }

  double ns(int sample) {
    kernels_.clear();
    trips_.clear();
    for (const Leaf* leaf : walk_.at(sample)) add(*leaf);
    barriers(nest_.root, kNoVar, 1, false);
    double out = 0;
    for (auto& [root, kernel] : kernels_) out += time(kernel);
    return out;
  }

 private:
  bool is_block(const LoopContext& loop) const {
    const auto axis = axis_of_.find(loop.var);
    return axis == axis_of_.end() ? axis_of_.empty() && loop.mark == MarkKind::parallel
                                  : !ir::is_thread_axis(axis->second);
  }

  Placed placed(const Leaf& leaf) const {
    Placed out;
    out.parts.assign(leaf.loops.size(), Part::serial);
    size_t first = leaf.loops.size();  // of the kernel
    for (size_t l = 0; l < leaf.loops.size(); ++l) {
      const LoopContext& loop = leaf.loops[l];
      const auto axis = axis_of_.find(loop.var);
      if (is_block(loop)) {
        out.parts[l] = Part::block;
        out.blocks *= loop.trips;
        out.first_inside = l + 1;
      } else if (axis != axis_of_.end()) {
        out.parts[l] = Part::thread;
        out.threads *= loop.trips;
        if (axis->second == "thread_x") out.width = loop.trips;
      } else if (loop.mark == MarkKind::unroll) {
        out.parts[l] = Part::unrolled;
      } else if (loop.mark == MarkKind::vector) {
        out.parts[l] = Part::wide;
      } else if (loop.mark == MarkKind::tensor) {
        out.parts[l] = Part::product;
      }
      if (out.parts[l] == Part::block || out.parts[l] == Part::thread) first = std::min(first, l);
    }
    out.first_of_kernel = first < leaf.loops.size() ? first : 0;
    for (size_t l = 0; l < out.first_of_kernel; ++l) {
      out.parts[l] = Part::host;
      out.launches *= leaf.loops[l].trips;
    }
    out.first_inside = std::max(out.first_inside, std::min(first, leaf.loops.size()));
    if (first == leaf.loops.size()) out.first_inside = 0;
    return out;
  }

  /// Leaves of one kernel are inside the same loop over an axis.
  VarId root_of(const Leaf& leaf, const Placed& at) const {
    for (size_t l = 0; l < leaf.loops.size(); ++l)
      if (at.parts[l] == Part::block || at.parts[l] == Part::thread) return leaf.loops[l].var;
    return kNoVar;
  }

  double walkers() const { return grid_.shared_bytes_per_cycle.value > 0 ? kWalkers : 1; }
  double lockstep() const { return static_cast<double>(grid_.lockstep_threads.value); }
  double groups(double threads) const { return std::max(1.0, std::ceil(threads / lockstep())); }

  static bool is_reduced(const Leaf& leaf, size_t l) {
    return !leaf.accesses.empty() && std::all_of(leaf.accesses[0].coeff[l].begin(), leaf.accesses[0].coeff[l].end(),
                                                 [](int64_t c) { return c == 0; });
  }

  /// How often a thread loads or stores: not again what it has in a register.
  double accesses(const Leaf& leaf, const Placed& at, const Windows& windows, int64_t bytes, bool is_shared) const {
    double out = 1;
    size_t inner = leaf.loops.size();
    bool moves = false;
    double cells = 1;                                                  // of the product's operand
    for (; inner > 0 && at.parts[inner - 1] == Part::wide; --inner) {  // all of its elements at once
    }
    for (; inner > 0 && at.parts[inner - 1] == Part::product; --inner)
      if (windows.stride(inner - 1) != 0) cells *= leaf.loops[inner - 1].trips;
    while (inner > 0 && at.parts[inner - 1] == Part::unrolled) {
      --inner;
      if (windows.stride(inner) == 0) continue;
      out *= leaf.loops[inner].trips;
      moves = true;
    }
    for (; inner > 0 && at.parts[inner - 1] == Part::serial; --inner) {
      moves |= windows.stride(inner - 1) != 0;
      if (moves) out *= leaf.loops[inner - 1].trips;
    }
    for (; inner > 0; --inner)
      if (at.parts[inner - 1] == Part::serial || at.parts[inner - 1] == Part::unrolled)
        out *= leaf.loops[inner - 1].trips;
    if (!leaf.is_of_warp) return out;
    // Cells of a word are loaded together where they are neighbours in memory, or in rows of shared memory that lanes
    // turn.
    bool are_rows = false;
    for (size_t l = 0; l < leaf.loops.size(); ++l)
      are_rows |= at.parts[l] == Part::product && windows.stride(l) == static_cast<double>(bytes) &&
                  (is_reduced(leaf, l) || (is_shared && bytes == kTurnedBytes));
    const double loads = are_rows ? cells * static_cast<double>(bytes) / kWordBytes : cells;
    return out * (leaf.is_instruction ? loads : 1) / at.width;
  }

  /// Of one access by a thread.
  static double wide_bytes(const Leaf& leaf, const Placed& at, const Buffer& buffer) {
    auto out = static_cast<double>(size_bytes(buffer.type));
    for (size_t l = leaf.loops.size(); l-- > 0 && at.parts[l] == Part::wide;) out *= leaf.loops[l].trips;
    return out;
  }

  /// Requests that one access of a group in lockstep makes: lines of memory that its threads touch; in shared memory
  /// those that meet in one bank.
  double requests(const Leaf& leaf, const Placed& at, const AccessUse& use, const Windows& windows,
                  bool is_shared) const {
    if (leaf.is_of_warp) return is_shared ? 1 : kFragmentRows;
    if (!use.of_threads.empty()) return counted_requests(leaf, at, use, is_shared);
    for (size_t l = 0; l < leaf.loops.size(); ++l) {
      const auto axis = axis_of_.find(leaf.loops[l].var);
      if (at.parts[l] != Part::thread || axis->second != "thread_x") continue;
      const double stride = windows.stride(l), lanes = std::min(leaf.loops[l].trips, lockstep());
      if (stride == 0) return 1;
      if (!is_shared || grid_.shared_bytes_per_cycle.value == 0) {
        const double lines = std::ceil(stride * lanes / static_cast<double>(grid_.coalesced_bytes.value));
        return lines < lanes ? std::max(1.0, lines) : lanes * std::max(1.0, machine_.units.gather_lane_slots.value);
      }
      const auto banks = static_cast<double>(grid_.shared_banks.value);
      const double words = std::max(1.0, stride / kWordBytes);
      const double distinct = banks / std::max(1.0, gcd(words, banks));
      return std::max(1.0, std::ceil(lanes / distinct));
    }
    return 1;
  }
  /// The same, of places that are known. Accesses of more than a word are made by as many threads at a time as touch
  /// each bank once.
  double counted_requests(const Leaf& leaf, const Placed& at, const AccessUse& use, bool is_shared) const {
    const Buffer& buffer = nest_.buffers[use.buffer];
    const auto bytes = static_cast<int64_t>(wide_bytes(leaf, at, buffer));
    const bool has_banks = is_shared && grid_.shared_bytes_per_cycle.value > 0;
    const auto unit = has_banks ? static_cast<int64_t>(kWordBytes) : grid_.coalesced_bytes.value;
    const int64_t banks = std::max<int64_t>(1, grid_.shared_banks.value);
    const auto threads = static_cast<int64_t>(use.of_threads.size());
    const int64_t at_once = has_banks ? std::clamp<int64_t>(banks * unit / bytes, 1, threads) : threads;
    double out = 0;
    for (int64_t first = 0; first < threads; first += at_once) {
      std::set<int64_t> units;
      for (int64_t t = first; t < std::min(first + at_once, threads); ++t) {
        const int64_t place = physical_offset(buffer, use.of_threads[t]) * size_bytes(buffer.type);
        for (int64_t u = place / unit; u <= (place + bytes - 1) / unit; ++u) units.insert(u);
      }
      if (!has_banks) {
        out += static_cast<double>(units.size());
        continue;
      }
      std::map<int64_t, double> of_bank;
      double most = 1;
      for (const int64_t u : units) most = std::max(most, ++of_bank[u % banks]);
      out += most;
    }
    const bool is_alone = !has_banks && out >= static_cast<double>(threads);
    return out * (is_alone ? std::max(1.0, machine_.units.gather_lane_slots.value) : 1);
  }
  /// Does what loops from `l` on touch lie in so few sets of the first cache that its lines drive each other out?
  bool is_crowded(const Windows& windows, size_t l) const {
    const MemoryLevel& near = machine_.memories.front();
    const auto line = static_cast<double>(near.line_bytes.value), ways = static_cast<double>(near.ways.value);
    if (windows.stride(l) < line || ways == 0) return false;
    const double lines = static_cast<double>(machine_.cache_bytes(0)) / line;
    const Store store{line, lines, std::exp2(std::ceil(std::log2(lines / ways))),
                      static_cast<double>(machine_.page_bytes.value)};
    return windows.reach(l, store).crowded() > lines;
  }
  /// Lanes of one access that find their lines gone: rows that lie whole pages apart.
  double missed_lanes(const Leaf& leaf, const Placed& at, const Windows& windows) const {
    for (size_t l = 0; l < leaf.loops.size(); ++l) {
      const auto axis = axis_of_.find(leaf.loops[l].var);
      if (at.parts[l] == Part::thread && axis->second == "thread_x")
        return is_crowded(windows, l) ? std::min(leaf.loops[l].trips, lockstep()) : 0;
    }
    return 0;
  }
  /// Do the rows that one thread has in registers do so?
  bool has_crowded_rows(const Leaf& leaf, const Placed& at, const Windows& windows) const {
    for (size_t l = 0; l < leaf.loops.size(); ++l)
      if (at.parts[l] == Part::unrolled && is_crowded(windows, l)) return true;
    return false;
  }
  /// Share of a line that each access along the innermost moving loop takes anew: what stands still along x moves on by
  /// elements of one line.
  static double touched_share(const Leaf& leaf, const Placed& at, const Windows& windows, double line) {
    for (size_t l = leaf.loops.size(); l-- > 0;)
      if (at.parts[l] == Part::serial && windows.stride(l) > 0) return std::min(1.0, windows.stride(l) / line);
    return 1;
  }
  /// Does each iteration of the innermost loop that one thread runs load from another place?
  static bool moves_innermost(const Leaf& leaf, const Placed& at, const Windows& windows) {
    for (size_t l = leaf.loops.size(); l-- > 0;)
      if (at.parts[l] == Part::serial) return windows.stride(l) != 0;
    return false;
  }
  static double gcd(double a, double b) { return b < 1 ? a : gcd(b, std::fmod(a, b)); }

  void add(const Leaf& leaf) {
    const Placed at = placed(leaf);
    Kernel& kernel = kernels_[root_of(leaf, at)];
    for (const LoopContext& loop : leaf.loops) trips_[loop.var] = loop.trips;
    kernel.launches = std::max(kernel.launches, at.launches);
    kernel.blocks = std::max(kernel.blocks, at.blocks);
    kernel.threads = std::max(kernel.threads, at.threads);
    double points = 1, sums = 1, chain = 1, serial = 1;
    bool differs = false;  // the innermost loop's length, from block to block
    for (size_t l = 0; l < leaf.loops.size(); ++l) {
      if (at.parts[l] != Part::serial && at.parts[l] != Part::unrolled) continue;
      points *= leaf.loops[l].trips;
      if (at.parts[l] == Part::serial) {
        serial *= leaf.loops[l].trips;
        differs = lengths_differ_.contains(leaf.loops[l].var);
      }
      const bool moves =
          !leaf.accesses.empty() && std::any_of(leaf.accesses[0].coeff[l].begin(), leaf.accesses[0].coeff[l].end(),
                                                [](int64_t c) { return c != 0; });
      (moves ? sums : chain) *= leaf.loops[l].trips;
    }
    if (leaf.is_of_warp && !leaf.is_instruction) points /= at.width;
    const double together = groups(at.threads);
    double issued = 0;
    bool waits_for_loads = false;
    double loaded = 0;  // bytes
    for (const AccessUse& use : leaf.accesses) {
      const Buffer& buffer = nest_.buffers[use.buffer];
      if (buffer.scope == Scope::reg || buffer.scope == Scope::tile) {
        count_registers(kernel, use.buffer, at.width);
        continue;
      }
      const Windows windows(buffer, use, leaf);
      const bool is_shared = buffer.scope == Scope::shared;
      kernel.has_products |= leaf.is_instruction;
      if (is_shared && leaf.reads_shared) {
        count_shared(kernel, use.buffer);
        continue;
      }
      const double count = accesses(leaf, at, windows, size_bytes(buffer.type), is_shared);
      const double rate = use.is_store ? machine_.units.stores_per_cycle.value : machine_.units.loads_per_cycle.value;
      const double asks = count * requests(leaf, at, use, windows, is_shared);
      double cycles = asks / rate;
      if (is_shared && grid_.shared_bytes_per_cycle.value > 0)
        cycles = std::max(cycles, count * lockstep() * kWordBytes / grid_.shared_bytes_per_cycle.value);
      if (!is_shared) cycles += count * missed_lanes(leaf, at, windows) * kMissedLaneCycles;
      if (!is_shared && has_crowded_rows(leaf, at, windows))
        cycles += count * static_cast<double>(machine_.memories.front().line_bytes.value) /
                  machine_.memories[1].bytes_per_cycle.value;
      issued += cycles;
      if (is_shared) {
        count_shared(kernel, use.buffer);
        continue;
      }
      if (!use.is_store && !leaf.is_of_warp)
        loaded += count / std::max(1.0, serial) * (serial > 1 ? kLoadsAhead : 1) * wide_bytes(leaf, at, buffer);
      waits_for_loads |= !use.is_store && !leaf.is_of_warp && moves_innermost(leaf, at, windows);
      const auto line = static_cast<double>(grid_.coalesced_bytes.value);
      const Store lines{line, 0, 0, static_cast<double>(machine_.page_bytes.value)};
      double& near = kernel.near[use.buffer];
      double& far = kernel.far[use.buffer];
      const double asked = together * asks * line;  // of a block, in bytes
      const double touched = std::min(asked, windows.reach(at.first_inside, lines).granules * line);
      near = std::max(near, touched);
      kernel.asked_bytes += touched;
      kernel.read_by[use.buffer] += !use.is_store;
      // What one group walks over between two visits of a line is more than the first cache holds.
      size_t walked = at.first_inside;
      while (walked < at.parts.size() && at.parts[walked] == Part::thread) ++walked;
      if (windows.reach(walked, lines).granules * line * 2 * walkers() > static_cast<double>(machine_.cache_bytes(0)))
        kernel.walked_bytes += asked * touched_share(leaf, at, windows, line);
      const double all = windows.reach(at.first_of_kernel, lines).granules * line;
      if (!use.is_store && kernel.read_by[use.buffer] == 1) kernel.far_read += all;
      far = std::max(far, all);
    }
    kernel.loaded_bytes = std::max(kernel.loaded_bytes, loaded);
    const double arithmetic =
        (leaf.is_instruction && leaf.is_of_warp && !leaf.reads_shared ? of_warps_ : 1) * points *
        (leaf.operations + leaf.slow_operations + leaf.divisions * machine_.units.division_latency_cycles.value / 4) /
        machine_.units.multiply_adds_per_cycle.value;
    const double spilled =
        std::max(0.0, kernel.registers + kOtherRegisters - static_cast<double>(grid_.thread_registers.value));
    if (leaf.accumulates_in_register && kernel.registers > 0)
      issued += points * 2 * std::min(1.0, spilled / kernel.registers) / machine_.units.stores_per_cycle.value;
    (leaf.reads_shared ? kernel.of_unit : kernel.throughput) +=
        together * (std::max(arithmetic, issued) + kBehind * std::min(arithmetic, issued));
    const bool goes_to_shared = leaf.is_copy && nest_.buffers[leaf.accesses.front().buffer].scope == Scope::shared;
    if (waits_for_loads && !goes_to_shared && grid_.shared_bytes_per_cycle.value > 0)
      kernel.latency += together * serial * machine_.memories.back().scattered_line_cycles.value /
                        (differs ? kFewLoadsAhead : kLoadsAhead);
    if (leaf.accumulates_in_register && !leaf.reads_shared)
      kernel.latency +=
          together * chain *
          (leaf.is_instruction ? machine_.units.tile_latency_cycles : machine_.units.multiply_add_latency_cycles).value;
    else
      kernel.latency += together * std::max(arithmetic, issued);
  }

  /// `lanes`: that hold tiles of sums together.
  void count_registers(Kernel& kernel, BufferId id, double lanes) const {
    if (!kernel.buffers.insert(id).second) return;
    const Buffer& buffer = nest_.buffers[id];
    const double holders = buffer.scope == Scope::tile ? lanes : 1;
    kernel.registers += static_cast<double>(allocated_elements(buffer)) / holders *
                        std::max(1.0, static_cast<double>(size_bytes(buffer.type)) / kWordBytes);
  }
  void count_shared(Kernel& kernel, BufferId id) const {
    if (!kernel.buffers.insert(id).second) return;
    const Buffer& buffer = nest_.buffers[id];
    kernel.shared_bytes += static_cast<double>(allocated_elements(buffer) * size_bytes(buffer.type));
  }

  bool differs_by_thread(const Guard& g) const {
    std::vector<VarId> used;
    collect_variables(g, used);
    return std::any_of(used.begin(), used.end(), [&](VarId v) {
      const auto axis = axis_of_.find(v);
      return axis != axis_of_.end() && ir::is_thread_axis(axis->second);
    });
  }

  /// Barriers of a block, and conditions that differ from thread to thread, as often as the loops around them run.
  /// `root`: of the kernel; `inside`: of such loops.
  void barriers(NodeId id, VarId root, double times, bool inside) {
    if (id == kNoNode) return;
    const Node& node = nest_.nodes[id];
    if (const auto* sync = std::get_if<Sync>(&node)) {
      const auto kernel = kernels_.find(root);
      if (kernel == kernels_.end()) return;
      if (sync->kind == Sync::Kind::block) kernel->second.barriers += times;
      if (sync->kind != Sync::Kind::async_wait) return;
      kernel->second.waits += times;
      kernel->second.ahead = std::max(kernel->second.ahead, static_cast<double>(sync->arg + 1));
    } else if (const auto* seq = std::get_if<Seq>(&node)) {
      for (NodeId child : seq->children) barriers(child, root, times, inside);
    } else if (const auto* choice = std::get_if<If>(&node)) {
      const auto kernel = kernels_.find(root);
      if (inside && kernel != kernels_.end() && differs_by_thread(choice->condition))
        kernel->second.throughput += times * groups(kernel->second.threads) * kMaskedCycles;
      barriers(choice->then, root, times, inside);
    } else if (const auto* alloc = std::get_if<Alloc>(&node)) {
      barriers(alloc->body, root, times, inside);
    } else if (const auto* loop = std::get_if<Loop>(&node)) {
      const bool is_axis = loop->mark.kind == MarkKind::axis;
      if (is_axis && root == kNoVar) root = loop->var;
      const auto trips = trips_.find(loop->var);
      const bool repeats = root != kNoVar && !is_axis && trips != trips_.end();
      barriers(loop->body, root, repeats ? times * trips->second : times, inside || (repeats && trips->second > 1));
    }
  }

  /// Groups in lockstep that one unit has under way.
  double resident_groups(const Kernel& kernel) const {
    const double of_block = groups(kernel.threads);
    const double registers = std::min(kernel.registers + (kernel.has_products ? kOtherOfProducts : kOtherRegisters),
                                      static_cast<double>(grid_.thread_registers.value));
    double threads = static_cast<double>(grid_.unit_threads.value);
    threads = std::min(threads, static_cast<double>(grid_.unit_registers.value) / registers);
    double out = std::max(1.0, std::floor(threads / lockstep()));
    if (out > of_block) out = std::floor(out / of_block) * of_block;
    if (kernel.shared_bytes > 0)
      out = std::min(out, of_block * std::max(1.0, std::floor(static_cast<double>(grid_.unit_shared_bytes.value) /
                                                              kernel.shared_bytes)));
    const double blocks = std::ceil(kernel.blocks / static_cast<double>(machine_.block_units()));
    return std::max(1.0, std::min(out, of_block * blocks));
  }

  /// Cycles that a block waits for its copies into shared memory: a barrier behind each round of them and one behind
  /// the work on them, but for copies that were begun so many iterations of work before. A round of `near` cycles of
  /// the second cache takes that and the way there and back. (128 x 256 x 64 on an H200: 2,450 cycles a round with two
  /// slots, 1,700 with four.)
  double copies_waited_for(const Kernel& kernel, double near) const {
    const double rounds = kernel.waits > 0 ? kernel.waits : kernel.shared_bytes > 0 ? kernel.barriers / 2 : 0;
    if (rounds < 1) return 0;
    const double blocks = resident_groups(kernel) / groups(kernel.threads);
    const double latency = machine_.memories[1].scattered_line_cycles.value + (kernel.waits > 0 ? near / rounds : 0);
    const double drained = kernel.of_unit > 0 && kernel.ahead < 2 ? kDrained / blocks : 0;
    return rounds * (drained + std::max(0.0, latency - kernel.ahead * blocks * kernel.work() / rounds));
  }

  /// Does the first cache hold what a block reads until it reads it again, with all that run beside it? What they share
  /// takes a part of that memory.
  bool fits_beside(const Kernel& kernel) const {
    if (grid_.shared_bytes_per_cycle.value == 0) return true;
    double bytes = kernel.shared_bytes;
    for (const auto& [buffer, times] : kernel.read_by)
      if (times > 1) bytes += kernel.near.at(buffer);
    const double blocks = std::min(resident_groups(kernel) / groups(kernel.threads), kMostBlocks);
    return blocks * bytes <= static_cast<double>(machine_.cache_bytes(0));
  }

  /// Of the lesser of work and what the second cache brings, the share that the greater does not hide: a block that
  /// waits for its copies does nothing else, and others may work meanwhile.
  double behind_caches(const Kernel& kernel) const {
    const bool copies = kernel.shared_bytes > 0 && kernel.barriers > 1 && grid_.shared_bytes_per_cycle.value > 0;
    if (!copies) return kBehindCaches;
    if (kernel.ahead > 0) return kBehind;
    return std::clamp(groups(kernel.threads) / resident_groups(kernel), kBehindCaches, 1.0);
  }

  /// Cycles that memory does nothing, since all threads of a unit have asked for what they may have on its way.
  double waited_for_memory(const Kernel& kernel) const {
    if (kernel.loaded_bytes == 0 || kernel.waits > 0 || grid_.shared_bytes_per_cycle.value == 0) return 0;
    const double on_its_way = resident_groups(kernel) * lockstep() * kernel.loaded_bytes;
    const double units = std::min(kernel.blocks, static_cast<double>(machine_.block_units()));
    return kernel.far_read / units * machine_.memories.back().scattered_line_cycles.value / on_its_way;
  }

  double time(const Kernel& kernel) const {
    const double of_unit = std::ceil(kernel.blocks / static_cast<double>(machine_.block_units()));
    const double together = groups(kernel.threads);
    double barrier = grid_.barrier_cycles.value;
    if (grid_.shared_bytes_per_cycle.value == 0)  // threads take turns: what they have in registers goes to memory
      barrier += together * 2 * (kernel.registers + kOtherRegisters) / machine_.units.loads_per_cycle.value;
    const double tests = together * kTestsOfBlock;
    double near_bytes = 0, far_bytes = 0;
    for (const auto& [buffer, bytes] : kernel.near) near_bytes += bytes;
    if (!fits_beside(kernel)) near_bytes = std::max(near_bytes, kernel.asked_bytes);
    near_bytes = std::max(near_bytes, kernel.walked_bytes);
    for (const auto& [buffer, bytes] : kernel.far) far_bytes += bytes;
    const double near = near_bytes / machine_.memories[1].bytes_per_cycle.value;
    const double resident = resident_groups(kernel), waited = copies_waited_for(kernel, near);
    const double latency = kernel.latency + (kernel.of_unit > 0 ? 0 : together * waited);
    const double work = std::max(kernel.work(), latency / resident) + (kernel.of_unit > 0 ? waited : 0);
    const double far = far_bytes / (machine_.memories.back().bytes_per_cycle.value *
                                    std::min(kernel.blocks, static_cast<double>(machine_.block_units())));
    const double last = static_cast<double>(machine_.memories[machine_.caches() - 1].bytes.value);
    // Blocks start one after the other, while those before them work.
    const double of_block =
        std::max(work, near) + behind_caches(kernel) * std::min(work, near) + tests + kernel.barriers * barrier;
    const double units = of_unit * std::max(of_block, kStartCycles) + kStartCycles;
    const double memory = far_bytes > last ? far + waited_for_memory(kernel) : 0;
    const double cycles = std::max(units, memory) + kBehind * std::min(units, memory);
    return kernel.launches * (cycles / machine_.clock_ghz.value + grid_.launch_ns.value);
  }

  const LoopNest& nest_;
  const Machine& machine_;
  const GridFigures& grid_;
  Walk walk_;
  std::map<VarId, std::string> axis_of_;
  std::set<VarId> lengths_differ_;
  std::map<VarId, Kernel> kernels_;  ///< by the variable of the outermost loop over an axis
  std::map<VarId, double> trips_;
  double of_warps_ = 1;  ///< times as long as at the unit's rate: products whose factors lanes load
};

class GridModel final : public CostModel {
 public:
  explicit GridModel(Machine machine) : machine_(std::move(machine)) {}
  std::string name() const override { return "grid/1"; }
  double predict_ns(const LoopNest& nest) const override {
    GridTime time(nest, machine_);
    double sum = 0;
    for (int sample = 0; sample < kGridSamples; ++sample) sum += time.ns(sample);
    return sum / kGridSamples;
  }
  double predict_ns(const LoopNest& nest, double) const override { return predict_ns(nest); }

 private:
  const Machine machine_;
};

}  // namespace

std::unique_ptr<CostModel> grid_model(const Machine& machine) {
  return std::make_unique<GridModel>(machine);
}

}  // namespace polyweft::cost
