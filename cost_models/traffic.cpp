// What is reused stays: a granule (line or page) is still there when it is needed again if all that was touched in
// between fits, and if its own access does not crowd the few sets that a stride of a power of two reaches.
#include "cost_models/traffic.h"

#include <algorithm>
#include <cmath>

#include "cost_models/reach.h"

namespace polyweft::cost {
namespace {

// Fitted to measured ranks (bench_rank).
constexpr double kLongestStride =
    2;  // of pieces of a stream, in their lengths: 624 bytes apart in vectors of 512 and a rest
constexpr double kStreamExposed = 0.05;  // share of a stream's transfer that arithmetic does not hide
constexpr double kScatterExposed = 0.5;  // the same of lines that no prefetcher sees coming
// Of stored lines, which come and go, in runs as short as that; of longer runs less (blocks of f64 results added to in
// runs of 768, 1536, 3072 bytes: 9.2, 4.6, 2.5 cycles a line).
constexpr double kStoresExposed = 0.7, kShortRunBytes = 768;
constexpr double kTilesExposed = 0.8;  // of lines that tile loads wait for: sixteen each, few loads in flight
                                       // (bench_tile_rates: 17 to 30 cycles a product with one operand from L2)
constexpr double kCrowdedLine =
    0.75;                           // more for each line of a tile whose rows lie whole pages apart (12 cycles a tile)
constexpr double kTilesKept = 0.7;  // share of the first cache in which the tiles stay that the next block reads again
constexpr double kTilesCrowded = 1.5;  // a tile's rows that share sets with others lose some of their lines, not all
constexpr double kLostExposed = 0.18;  // of lines that were to stay and are gone (f64 products with blocks of 1.2
                                       // and 1.5 MB in 2 MB: 1.1 to 1.2 cycles each)
constexpr double kTlbExposed = 0.8;
// Lanes that read rows of one array in so few sets store rows of another in the same: 8 rows of X and 8 of Z, 64 KB
// apart, are 16 lines for 12 ways.
constexpr double kFewSets = 1 / 16.0, kWaysOfOne = 0.5;
constexpr double kLineWindows = 2;  // of instructions in flight: so many wait for a line while those behind go on
constexpr int64_t kNeighbours = 8;  // elements and rows between the points of one stencil

struct Level {
  Store store;
  double cycles = 0;     ///< a granule brought in from the next level
  double scattered = 0;  ///< the same where the next one lies pages away
  bool is_cache = true;
  bool is_last = false;  ///< cache: the next level is memory
  bool is_near = false;  ///< the next level is close enough for out-of-order execution to hide its latency
};

double line_bytes_of(const Machine& machine) {
  return static_cast<double>(machine.memories.front().line_bytes.value);
}

/// Bits of an address pick its set: there are a power of two of them, and as few ways as that leaves.
double sets_of(double lines, int64_t ways) {
  return ways > 0 ? std::exp2(std::ceil(std::log2(lines / static_cast<double>(ways)))) : 0;
}

std::vector<Level> levels_of(const Machine& machine) {
  std::vector<Level> out;
  const double line_bytes = line_bytes_of(machine), page_bytes = static_cast<double>(machine.page_bytes.value);
  for (size_t l = 0; l < machine.caches(); ++l) {
    const MemoryLevel &cache = machine.memories[l], &next = machine.memories[l + 1];
    const double lines = static_cast<double>(machine.cache_bytes(l)) / line_bytes;
    const double sets = sets_of(lines, cache.ways.value);
    const double cycles = line_bytes / next.bytes_per_cycle.value, scattered = next.scattered_line_cycles.value;
    out.push_back({{line_bytes, lines, sets, page_bytes},
                   cycles,
                   scattered > 0 ? scattered : cycles,
                   true,
                   l + 1 == machine.caches(),
                   l == 0});
  }
  for (const TlbLevel& tlb : machine.tlbs)
    out.push_back({{page_bytes, static_cast<double>(tlb.pages.value), 0, page_bytes},
                   tlb.miss_cycles.value,
                   tlb.miss_cycles.value,
                   false,
                   false,
                   false});
  return out;
}

class Traffic {
 public:
  Traffic(const LoopNest& nest, const Leaf& leaf, size_t block, const Machine& machine, double elsewhere_bytes)
      : nest_(nest),
        leaf_(leaf),
        block_(block),
        line_bytes_(line_bytes_of(machine)),
        page_bytes_(static_cast<double>(machine.page_bytes.value)),
        stream_bytes_(static_cast<double>(machine.prefetched_bytes.value)),
        line_window_(kLineWindows * machine.units.window_instructions.value),
        page_start_cycles_(machine.page_start_cycles.value),
        elsewhere_bytes_(elsewhere_bytes) {
    for (size_t a = 0; a < leaf.accesses.size(); ++a) {
      const AccessUse& use = leaf.accesses[a];
      const bool is_loaded_for_store = a == 1 && is_accumulation(leaf);
      if (nest.buffers[use.buffer].scope == Scope::reg || is_loaded_for_store || is_known(use)) continue;
      uses_.push_back(&use);
      windows_.emplace_back(nest.buffers[use.buffer], use, leaf);
    }
    const size_t depth = leaf.loops.size();
    for (size_t from = 0; from <= depth; ++from)
      for (size_t a = 0; a < uses_.size(); ++a) is_reached_.push_back(is_reached_by_another(a, from));
    reaches_.resize(is_reached_.size());
    sums_.resize(depth + 1);
  }
  TrafficCycles cycles(const Level& level) {
    measure(level);
    TrafficCycles out;
    for (size_t a = 0; a < uses_.size(); ++a) add(level, a, out);
    return out;
  }

 private:
  // Another read of the same rows, a few elements on (the points of a stencil): its lines are there.
  bool is_known(const AccessUse& use) const {
    return std::any_of(uses_.begin(), uses_.end(), [&](const AccessUse* other) {
      if (use.is_store || use.has_gather || other->is_store || other->buffer != use.buffer || other->coeff != use.coeff)
        return false;
      for (size_t d = 0; d < use.at.size(); ++d)
        if (std::abs(use.at[d] - other->at[d]) > kNeighbours) return false;
      return true;
    });
  }
  // Do the loops from there on take another access to all that this one touches, a few elements and steps aside? (What
  // a step of time writes the next one reads.)
  bool is_reached_by_another(size_t a, size_t from) const {
    const AccessUse& use = *uses_[a];
    return std::any_of(uses_.begin(), uses_.begin() + static_cast<std::ptrdiff_t>(a), [&](const AccessUse* other) {
      if (use.has_gather || other->has_gather || other->buffer != use.buffer || other->coeff != use.coeff) return false;
      for (size_t d = 0; d < use.at.size(); ++d) {
        int64_t reached = 0;
        for (size_t l = from; l < leaf_.loops.size(); ++l)
          reached = std::max(reached, std::abs(use.coeff[l][d]) * static_cast<int64_t>(leaf_.loops[l].trips - 1));
        if (std::abs(use.at[d] - other->at[d]) > std::min(reached, kNeighbours)) return false;
      }
      return true;
    });
  }
  // What each access reaches from each loop on, and their sums.
  void measure(const Level& level) {
    const Store& store = level.store;
    for (size_t from = 0; from < sums_.size(); ++from) {
      sums_[from] = 0;
      for (size_t a = 0; a < uses_.size(); ++a) {
        const size_t k = from * uses_.size() + a;
        reaches_[k] = windows_[a].reach(from, store);
        if (!is_reached_[k]) sums_[from] += reaches_[k].granules;
      }
    }
  }
  const Reach& reach(size_t from, size_t a) const { return reaches_[from * uses_.size() + a]; }
  double between(const Level& level, size_t a, size_t from) const {
    return (from == 0 && level.is_cache ? elsewhere_bytes_ : other_rings(a, from)) / level.store.granule_bytes;
  }
  // From one call to the next the other statements' data come in between.
  bool stays(const Level& level, size_t a, size_t from) const {
    const Store& store = level.store;
    // Tiles that pass by leave the first cache alone (targets: tileloaddt1).
    if (leaf_.is_tile && level.is_near && from > 0 && windows_[a].stride(from - 1) == 0)
      return reach(from, a).granules <= kTilesKept * store.granules &&
             reach(from, a).crowded() <= kTilesCrowded * store.granules;
    const Reach& own = reach(from, a);
    const double share = own.set_share < kFewSets && has_lanes_on_pages(a) ? kWaysOfOne : 1;
    return sums_[from] + between(level, a, from) <= store.granules && own.crowded() <= share * store.granules;
  }
  bool has_lanes_on_pages(size_t a) const {
    for (size_t l = block_; l < leaf_.loops.size(); ++l)
      if (leaf_.loops[l].mark == MarkKind::vector && leaf_.loops[l].trips > 1 && windows_[a].stride(l) >= page_bytes_)
        return true;
    return false;
  }
  // Pages lie anywhere in a cache whose ways are larger than a page: places that get more pages than there are ways
  // lose all of them. The share of pages in such places, where what is touched from loop `from` on is to stay.
  // A tensor's own rows count as whole pages where they use the same few sets of each.
  double share_lost(const Level& level, size_t a, size_t from) const {
    const Store& store = level.store;
    const double places = store.sets * line_bytes_ / page_bytes_;
    if (places <= 1 || !level.is_cache) return 0;
    const double touched = std::max(sums_[from], reach(from, a).crowded());
    const double others = touched * line_bytes_ / page_bytes_ / places, ways = store.granules / store.sets;
    double share = 1, term = std::exp(-others);  // of Poisson: as many others as ways, or more
    for (double pages = 0; pages < ways; term *= others / ++pages) share -= term;
    return std::clamp(share, 0.0, 1.0);
  }
  // From one iteration of the loop along which a ring moves to the next, all other rings are gone through.
  double other_rings(size_t a, size_t from) const {
    const BufferId own = uses_[a]->buffer;
    if (nest_.buffers[own].folds.empty()) return 0;
    const auto alloc =
        std::find_if(leaf_.allocs.begin(), leaf_.allocs.end(), [&](const auto& at) { return at.first == own; });
    if (alloc == leaf_.allocs.end() || from > alloc->second + 1) return 0;
    double bytes = 0;
    for (const auto& [buffer, depth] : leaf_.allocs)
      if (buffer != own && depth == alloc->second && !nest_.buffers[buffer].folds.empty())
        bytes += static_cast<double>(allocated_elements(nest_.buffers[buffer])) *
                 static_cast<double>(size_bytes(nest_.buffers[buffer].type));
    return bytes;
  }
  double trips_outside(size_t from) const {
    double out = 1;
    for (size_t l = 0; l < from; ++l) out *= leaf_.loops[l].trips;
    return out;
  }
  size_t without_single(size_t from) const {
    while (from > 0 && leaf_.loops[from - 1].trips <= 1) --from;
    return from;
  }
  /// Granules brought in where what is touched from loop `from` on stays and no more does.
  double brought_in(const Level& level, size_t a, size_t from) const {
    // Loops that it does not move with find again what one of their iterations touched; only the innermost of them,
    // else more was touched.
    from = without_single(from);
    if (from > 0 && windows_[a].stride(from - 1) == 0 && stays(level, a, from)) --from;
    from = without_single(from);
    const double granules = reach(from, a).granules * trips_outside(from);
    // Neighbouring iterations of the next loop that touch the same granules (or rows of one window) bring them in once.
    if (from == 0 || windows_[a].stride(from - 1) <= 0 || !stays(level, a, from)) return granules;
    return std::min(granules, std::max(reach(from - 1, a).granules, reach(from, a).granules) * trips_outside(from - 1));
  }
  /// Share of what is touched from loop `from` on that is gone when it is touched again. The last cache, of all cores,
  /// keeps a part of what is a little too much for it, others go by age and keep none: random replacement leaves m =
  /// 1 - exp(-m r) of r times the capacity, which is 1 - 1/r^2 within 0.06.
  double share_gone(const Level& level, size_t a, size_t from) const {
    if (!level.is_last) return 1;
    const double wanted = std::max(sums_[from] + between(level, a, from), reach(from, a).crowded()),
                 ratio = std::max(1.0, wanted / level.store.granules);
    return 1 - 1 / (ratio * ratio);
  }
  /// Granules brought in where what is touched from loop `from` on stays, and of what the loops around it touch a part.
  double expected(const Level& level, size_t a, size_t from) const {
    double out = 0, share = 1;
    for (; from > 0 && share > 0; --from) {
      const double gone = share_gone(level, a, from - 1);
      out += share * gone * brought_in(level, a, from);
      share *= 1 - gone;
    }
    return out;
  }
  void add(const Level& level, size_t a, TrafficCycles& out) const {
    size_t from = leaf_.loops.size();
    while (from > 0 && stays(level, a, from - 1)) --from;
    const size_t kept = from;
    double granules = 0;  // all of it stays from one call to the next
    if (from > 0) {
      granules = expected(level, a, from);
      charge(level, a, granules, kept, out);
    }
    double lost_cycles = 0;
    for (size_t inner = kept; inner <= leaf_.loops.size(); ++inner) {
      const double found_gone =
          share_lost(level, a, inner) * (reach(inner, a).granules * trips_outside(inner) - granules);
      const bool is_alone = reach(inner, a).crowded() > sums_[inner] && moves_by_pages(a, inner);
      lost_cycles = std::max(lost_cycles, found_gone * (is_alone ? level.scattered : level.cycles));
    }
    out.exposed += kLostExposed * lost_cycles;
    out.hidden += lost_cycles;
  }
  /// Rows on pages of their own: no prefetcher sees their lines come.
  bool moves_by_pages(size_t a, size_t from) const {
    for (size_t l = from; l < leaf_.loops.size(); ++l)
      if (windows_[a].stride(l) >= page_bytes_ && leaf_.loops[l].trips > 1) return true;
    return false;
  }
  /// What is gone through one iteration after the other without long holes: rows that follow one another are one piece.
  /// Their ends may be another leaf's (the rest of a loop in vectors).
  double stream_bytes(size_t a) const {
    double bytes = reach(block_ > 0 ? block_ - 1 : 0, a).run_bytes;
    for (size_t l = block_; l-- > 0;) {
      const double stride = windows_[a].stride(l), trips = leaf_.loops[l].trips;
      if (trips <= 1 || stride == 0) continue;
      if (stride > std::max(kLongestStride * bytes, line_bytes_)) break;
      bytes = std::max(stride * (trips - 1) + bytes, reach(l, a).run_bytes);
    }
    return bytes;
  }
  /// Do the lanes and rows of one block lie pages apart and drive each other out of their sets? No prefetcher sees
  /// their lines come.
  bool is_scattered(size_t a, size_t kept) const {
    if (leaf_.is_tile || kept <= block_) return false;
    for (size_t l = block_; l < leaf_.loops.size(); ++l)
      if (windows_[a].stride(l) >= page_bytes_ && leaf_.loops[l].trips > 1) return true;
    return false;
  }
  void charge(const Level& level, size_t a, double granules, size_t kept, TrafficCycles& out) const {
    if (level.is_cache && uses_[a]->is_streamed) return;
    const double run_bytes = stream_bytes(a);
    const bool is_stream = run_bytes >= stream_bytes_ || level.is_near;
    const double store_share = kStoresExposed * std::min(1.0, kShortRunBytes / run_bytes);
    const bool is_short_store = uses_[a]->is_store && !leaf_.is_tile && !level.is_near && store_share > kStreamExposed;
    const double line = level.is_cache && is_scattered(a, kept) ? level.scattered : level.cycles;
    const double cycles =
        granules * line * (level.is_cache && !level.is_near && (is_short_store || is_only_written(a)) ? 2 : 1);
    if (!level.is_cache) {
      out.exposed += kTlbExposed * cycles / pages_at_once(a);
      out.hidden += cycles / pages_at_once(a);
      return;
    }
    const double share = is_short_store                   ? store_share
                         : leaf_.is_tile && level.is_near ? kTilesExposed
                         : is_stream                      ? kStreamExposed
                                                          : kScatterExposed;
    out.exposed += share * cycles;
    out.hidden += cycles;
    if (leaf_.is_tile && level.is_near && rows_share_a_set(a)) out.exposed += kCrowdedLine * granules;
    if (!is_stream || level.is_near || uses_[a]->is_store || uses_[a]->is_asked_for) return;
    // Sixteen lines asked for at once cross from page to page without a pause, but not from piece to piece.
    out.exposed += leaf_.is_tile ? granules * line_bytes_ / run_bytes * page_start_cycles_ : page_starts(a, granules);
  }
  /// Lanes that lie apart ask for their pages together: a vector waits for as many of them as for one.
  double pages_at_once(size_t a) const {
    double out = 1;
    for (size_t l = block_; l < leaf_.loops.size(); ++l)
      if (leaf_.loops[l].mark == MarkKind::vector)
        out = std::max(out, std::min(1.0, windows_[a].stride(l) / page_bytes_) *
                                std::min<double>(leaf_.loops[l].trips, leaf_.loops[l].width));
    return out;
  }
  /// Do all rows of a tile lie in one set of the first cache?
  bool rows_share_a_set(size_t a) const {
    for (size_t l = 0; l < leaf_.loops.size(); ++l)
      if (leaf_.loops[l].mark == MarkKind::tensor && windows_[a].stride(l) >= page_bytes_ &&
          std::fmod(windows_[a].stride(l), page_bytes_) == 0)
        return true;
    return false;
  }
  // What the first line of each page of a stream makes the arithmetic wait: nothing where the next pages' loads are
  // already among the instructions in flight. Streams of one block (rows in registers) wait together: the lines of one
  // block's pages come at once.
  double page_starts(size_t a, double lines) const {
    double points = 1, lanes = 1;
    for (const LoopContext& loop : leaf_.loops) {
      points *= loop.trips;
      if (loop.mark == MarkKind::vector) lanes = std::max(lanes, static_cast<double>(loop.width));
    }
    const double lines_in_flight = line_window_ * lines / std::max(points / lanes, 1.0),
                 lines_of_a_page = page_bytes_ / line_bytes_;
    return std::max(0.0, 1 - lines_in_flight / lines_of_a_page) * lines / lines_of_a_page * page_start_cycles_ /
           streams_of_block(a);
  }
  double streams_of_block(size_t a) const {
    double out = 1;
    for (size_t l = block_; l < leaf_.loops.size(); ++l)
      if (leaf_.loops[l].mark == MarkKind::unroll && windows_[a].stride(l) >= stream_bytes_)
        out *= leaf_.loops[l].trips;
    return out;
  }

  // A line that is only written comes in first and goes out later.
  bool is_only_written(size_t a) const {
    return uses_[a]->is_store && !is_accumulation(leaf_) && nest_.buffers[uses_[a]->buffer].scope == Scope::argument;
  }

  const LoopNest& nest_;
  const Leaf& leaf_;
  size_t block_;
  double line_bytes_, page_bytes_, stream_bytes_, line_window_, page_start_cycles_, elsewhere_bytes_;
  std::vector<const AccessUse*> uses_;
  std::vector<Windows> windows_;
  // By loop and access, loops outside.
  std::vector<char> is_reached_;  ///< by another access
  std::vector<Reach> reaches_;
  // By loop, of the level at hand.
  std::vector<double> sums_;
};

/// Stores past the caches all go to memory, at a better rate than reads come from there.
TrafficCycles streams_of(const LoopNest& nest, const Leaf& leaf, const Machine& machine) {
  const double line_bytes = line_bytes_of(machine);
  double bytes = 0;
  for (const AccessUse& use : leaf.accesses)
    if (use.is_streamed)
      bytes += Windows(nest.buffers[use.buffer], use, leaf).reach(0, {line_bytes, 0, 0}).granules * line_bytes;
  const double cycles = bytes / (machine.streaming_store_gain.value * machine.memories.back().bytes_per_cycle.value);
  return {cycles, kStreamExposed * cycles};
}

}  // namespace

Touched::Touched(const LoopNest& nest) {
  for (const Buffer& buffer : nest.buffers)
    bytes_.push_back(buffer.scope == Scope::reg ? 0
                                                : static_cast<double>(allocated_elements(buffer)) *
                                                      static_cast<double>(size_bytes(buffer.type)));
}

void Touched::set(const std::vector<const Leaf*>& leaves) {
  is_touched_.assign(bytes_.size(), 0);
  total_ = 0;
  for (const Leaf* leaf : leaves)
    for (const AccessUse& use : leaf->accesses) {
      if (is_touched_[use.buffer] || use.is_streamed) continue;
      is_touched_[use.buffer] = 1;
      total_ += bytes_[use.buffer];
    }
}

double Touched::elsewhere(const Leaf& leaf) const {
  double own = 0;
  for (size_t a = 0; a < leaf.accesses.size(); ++a) {
    const BufferId buffer = leaf.accesses[a].buffer;
    const bool is_counted = std::any_of(leaf.accesses.begin(), leaf.accesses.begin() + static_cast<std::ptrdiff_t>(a),
                                        [&](const AccessUse& use) { return use.buffer == buffer; });
    if (is_touched_[buffer] && !is_counted) own += bytes_[buffer];
  }
  return total_ - own;
}

bool is_accumulation(const Leaf& leaf) {
  return leaf.accesses.size() > 1 && leaf.accesses[0].is_store && !leaf.accesses[1].is_store &&
         leaf.accesses[0].buffer == leaf.accesses[1].buffer;
}

TrafficCycles traffic_of(const LoopNest& nest, const Leaf& leaf, size_t block, const Machine& machine,
                         double elsewhere_bytes) {
  TrafficCycles out = streams_of(nest, leaf, machine);
  Traffic traffic(nest, leaf, block, machine, elsewhere_bytes);
  for (const Level& level : levels_of(machine)) {
    const TrafficCycles part = traffic.cycles(level);
    out.hidden += part.hidden;
    out.exposed += part.exposed;
  }
  return out;
}

}  // namespace polyweft::cost
