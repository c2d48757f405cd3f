#include "cost_models/leaf_cycles.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "cost_models/reach.h"
#include "ir/nests/instruction.h"

namespace polyweft::cost {
namespace {

// Of a tile unit whose tiles have 16 rows (its maker's optimization manual): a product of tiles every 16 cycles, done
// after 52; a tile from L1 in 8 cycles (two rows a cycle), to memory in 16; the 52 are a figure of the machine. The 16
// cycles are `issues` of the instruction files: multiply-adds of vectors in that time. bench_tile_rates measures the
// same, and that products which add to one tile follow each other every 16 cycles, and that loads from L1 hide behind
// them altogether.
constexpr double kTileRows = 16, kTiles = ir::kLiveTiles;
// Of the traffic and the instructions that run side by side. Without it schedules that are bound by arithmetic are
// equal whatever they bring in: on eight recorded spaces the best of the first 32 is then 12 % slower than the best of
// all instead of 9.5 (bench_recorded_ranks). With 0.05 that is 8 %, and first choices of two products in a row lose.
constexpr double kNotHidden = 0.02;
constexpr double kBesides = 0.1;  // of the loads that hide behind arithmetic, or of arithmetic behind loads (12 x 2 and
                                  // 14 x 2 vectors beside 9 x 3: 2 to 3 % slower)
constexpr double kShuffled = 2;   // lanes that are contiguous the other way round: a vector and a shuffle
constexpr double kCompilersGather =
    8;  // places in 64 bits: two gathers for a vector of 32-bit elements, and the arithmetic for them
constexpr int64_t kMostInterleaved =
    8;  // stride of a group of accesses that LLVM loads in whole vectors and takes apart by shuffles
constexpr double kFolded = 1;              // cycles more where what is forwarded is an operand of the sum
constexpr double kVectorEntryCycles = 16;  // of a loop that a compiler vectorized: its tests, sums across lanes, and a
                                           // branch to the rest that is guessed wrongly
constexpr double kShortDivision = 4, kDivisionOf64Bytes = 10;  // port cycles
constexpr double kWaiting = 0.25;            // of the instructions in flight: so many wait for operands at once
constexpr double kLoopOverheadCycles = 1.5;  // increment, compare, branch of a serial loop's iteration

bool is_block_loop(MarkKind mark) {
  return mark == MarkKind::unroll || mark == MarkKind::vector || mark == MarkKind::tensor;
}

// First loop of the register block: the unroll and vector loops below the last serial one.
size_t block_begin(const Leaf& leaf) {
  size_t begin = leaf.loops.size();
  while (begin > 0 && is_block_loop(leaf.loops[begin - 1].mark)) --begin;
  return begin;
}

// Element stride of the physically last dimension tells whether lanes are contiguous.
bool moves(const AccessUse& use, size_t loop) {
  return (loop < use.gathers_along.size() && use.gathers_along[loop]) ||
         std::any_of(use.coeff[loop].begin(), use.coeff[loop].end(), [](int64_t c) { return c != 0; });
}

bool has_cells(const Layout& layout, uint32_t dim) {
  return std::any_of(layout.pieces.begin(), layout.pieces.end(),
                     [&](const Piece& piece) { return piece.dim == dim && piece.factor > 1; });
}

// A table that a vector holds (targets: load_of_table).
bool is_one_vector(const Buffer& buffer, double lanes) {
  const auto bytes = static_cast<double>(size_bytes(buffer.type));
  return bytes >= 4 && bytes * lanes == 64 && static_cast<double>(allocated_elements(buffer)) <= lanes;
}

// Vector loads or stores for the lanes of one vector: one where they are contiguous, two where they are every second
// element, else one a lane.
double issues_of_lanes(const LoopNest& nest, const AccessUse& use, size_t loop, double lanes, double gather_slots) {
  const auto& layout = nest.buffers[use.buffer].layout;
  if (use.gathers_along[loop] && is_one_vector(nest.buffers[use.buffer], lanes)) return kShuffled;
  if (layout.pieces.empty() || use.gathers_along[loop])
    return (nest.auto_vectorized ? kCompilersGather : gather_slots) * lanes;
  // A dimension of one cell (a fold by 1) is no dimension of memory.
  auto dense =
      std::find_if(layout.pieces.rbegin(), layout.pieces.rend(), [](const Piece& piece) { return piece.factor > 1; });
  const uint32_t last = dense == layout.pieces.rend() ? layout.pieces.back().dim : dense->dim;
  for (size_t d = 0; d < use.coeff[loop].size(); ++d)
    if (d != last && use.coeff[loop][d] != 0 && has_cells(layout, static_cast<uint32_t>(d)))
      return gather_slots * lanes;
  const int64_t stride = std::abs(use.coeff[loop][last]);
  if (stride == 1 && use.coeff[loop][last] == 1) return 1;
  if (stride == 1 && !nest.auto_vectorized) return std::min(kShuffled, lanes);
  if (nest.auto_vectorized && stride <= kMostInterleaved)
    return std::min(1 + std::log2(std::max<double>(1, static_cast<double>(stride))),
                    gather_slots * lanes);  // a share of whole vectors, and shuffles
  return stride == 2 ? std::min(2.0, lanes) : gather_slots * lanes;
}

bool has_lanes_around(const LoopNest& nest) {
  return std::any_of(nest.nodes.begin(), nest.nodes.end(), [&](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    if (!loop || loop->mark.kind != MarkKind::vector) return false;
    const auto* seq = std::get_if<Seq>(&nest.nodes[loop->body]);
    return std::holds_alternative<Loop>(nest.nodes[loop->body]) || (seq && !seq->children.empty());
  });
}

// An iteration of a serial loop inside lanes, or inside an unrolled loop there, takes what it takes outside.
Leaf with_lanes_innermost(const Leaf& leaf) {
  const auto is_lanes = [](const LoopContext& loop) { return loop.mark == MarkKind::vector; };
  const auto lanes =
      static_cast<size_t>(std::find_if(leaf.loops.begin(), leaf.loops.end(), is_lanes) - leaf.loops.begin());
  std::vector<size_t> order(leaf.loops.size());
  for (size_t l = 0; l < order.size(); ++l) order[l] = l;
  if (lanes < order.size())
    std::stable_partition(order.begin() + static_cast<std::ptrdiff_t>(lanes), order.end(),
                          [&](size_t l) { return !is_block_loop(leaf.loops[l].mark); });
  Leaf out = leaf;
  for (size_t l = 0; l < order.size(); ++l) {
    out.loops[l] = leaf.loops[order[l]];
    for (size_t a = 0; a < leaf.accesses.size(); ++a) {
      out.accesses[a].coeff[l] = leaf.accesses[a].coeff[order[l]];
      if (order[l] < leaf.accesses[a].gathers_along.size())
        out.accesses[a].gathers_along[l] = leaf.accesses[a].gathers_along[order[l]];
    }
  }
  return out;
}

class Cycles {
 public:
  Cycles(const LoopNest& nest, const Machine& machine, bool lanes_are_around)
      : nest_(nest), machine_(machine), lanes_are_around_(lanes_are_around) {}

  LeafTime of(const Leaf& given, double elsewhere_bytes) const {
    const Leaf leaf = lanes_are_around_ ? with_lanes_innermost(given) : given;
    const size_t begin = block_begin(leaf);
    if (is_transposition(leaf, begin))
      return {transposition_cycles(leaf), traffic_of(nest_, by_squares(leaf), begin, machine_, elsewhere_bytes)};
    return {trips(leaf, 0, begin) * block_cycles(leaf, begin) + loop_overhead(leaf, begin),
            traffic_of(nest_, leaf, begin, machine_, elsewhere_bytes), leaf.is_tile};
  }

 private:
  static double trips(const Leaf& leaf, size_t from, size_t to) {
    double product = 1;
    for (size_t l = from; l < to; ++l) product *= leaf.loops[l].trips;
    return product;
  }
  // A copy that reads along one of its two innermost loops and writes along the other runs by squares in registers.
  bool is_transposition(const Leaf& leaf, size_t begin) const {
    const size_t depth = leaf.loops.size();
    if (!leaf.is_copy || leaf.accesses.size() != 2 || depth < 2 || begin != depth) return false;
    const auto is_dense = [&](size_t access, size_t loop) {
      const Buffer& buffer = nest_.buffers[leaf.accesses[access].buffer];
      return Windows(buffer, leaf.accesses[access], leaf).stride(loop) == static_cast<double>(size_bytes(buffer.type));
    };
    for (size_t loop : {depth - 1, depth - 2})
      if (leaf.loops[loop].mark != MarkKind::serial || leaf.loops[loop].trips < 4) return false;
    return (is_dense(0, depth - 2) && is_dense(1, depth - 1)) || (is_dense(0, depth - 1) && is_dense(1, depth - 2));
  }
  double square_lanes(const Leaf& leaf) const {
    return std::clamp(static_cast<double>(machine_.vector_bytes()) / static_cast<double>(size_bytes(leaf.type)), 2.0,
                      16.0);
  }
  // The two innermost loops of a transposition in squares of lanes.
  Leaf by_squares(const Leaf& leaf) const {
    const auto lanes = static_cast<int64_t>(square_lanes(leaf));
    Leaf out = leaf;
    for (size_t l = leaf.loops.size() - 2; l < leaf.loops.size(); ++l) {
      LoopContext inner = leaf.loops[l];
      inner.trips = std::min(inner.trips, static_cast<double>(lanes));
      out.loops[l].trips = std::ceil(leaf.loops[l].trips / static_cast<double>(lanes));
      out.loops.push_back(inner);
      for (AccessUse& use : out.accesses) {
        use.coeff.push_back(use.coeff[l]);
        for (int64_t& c : use.coeff[l]) c *= lanes;
        use.gathers_along.push_back(use.gathers_along[l]);
      }
    }
    return out;
  }
  // One round of shuffles for each bit of a lane's number.
  double transposition_cycles(const Leaf& leaf) const {
    const size_t depth = leaf.loops.size();
    const double lanes = square_lanes(leaf);
    const double squares =
        std::ceil(leaf.loops[depth - 1].trips / lanes) * std::ceil(leaf.loops[depth - 2].trips / lanes);
    return trips(leaf, 0, depth - 2) * squares * lanes * (std::log2(lanes) + 1);
  }
  // Lanes take one vector operation however many are active.
  static double issues(const LoopContext& loop) {
    if (loop.mark == MarkKind::tensor) return 1;  // one instruction
    return loop.mark == MarkKind::vector ? std::ceil(loop.trips / std::max(1, loop.width)) : loop.trips;
  }

  double vector_width_factor(const Leaf& leaf, size_t begin) const {
    for (size_t l = begin; l < leaf.loops.size(); ++l)
      if (leaf.loops[l].mark == MarkKind::vector)
        return std::max(1.0, leaf.loops[l].width * static_cast<double>(size_bytes(leaf.type)) /
                                 static_cast<double>(machine_.vector_bytes()));
    return 1;
  }
  // The unit that divides takes as long as it has bytes, but for short vectors: 3 to 5 cycles for one number, 5 for 32
  // bytes, 10 for 64 of floats.
  double division_cycles(const Leaf& leaf, size_t begin) const {
    double lanes = 1;
    for (size_t l = begin; l < leaf.loops.size(); ++l)
      if (leaf.loops[l].mark == MarkKind::vector) lanes = std::max(1, leaf.loops[l].width);
    const double bytes =
        std::min(lanes * static_cast<double>(size_bytes(leaf.type)), static_cast<double>(machine_.vector_bytes()));
    return std::max(kShortDivision, kDivisionOf64Bytes * bytes / 64);
  }
  double block_issues(const Leaf& leaf, size_t begin) const {
    double product = vector_width_factor(leaf, begin);
    for (size_t l = begin; l < leaf.loops.size(); ++l) product *= issues(leaf.loops[l]);
    return product;
  }
  // Distinct values an access touches in one block: loops it does not move with are served by one load.
  double access_issues(const Leaf& leaf, const AccessUse& use, size_t begin) const {
    double product = 1;
    std::vector<std::pair<std::vector<int64_t>, double>> windows;
    for (size_t l = begin; l < leaf.loops.size(); ++l) {
      if (!moves(use, l)) continue;
      // Unrolled loops that move it alike (taps and columns) read the same elements again.
      const auto same = std::find_if(windows.begin(), windows.end(),
                                     [&](const auto& window) { return window.first == use.coeff[l]; });
      if (leaf.loops[l].mark == MarkKind::unroll && same != windows.end()) {
        product *= (same->second + leaf.loops[l].trips - 1) / same->second;
        same->second += leaf.loops[l].trips - 1;
        continue;
      }
      if (leaf.loops[l].mark == MarkKind::unroll) windows.emplace_back(use.coeff[l], leaf.loops[l].trips);
      const double vectors = issues(leaf.loops[l]), lanes = leaf.loops[l].trips / std::max(vectors, 1.0);
      product *= leaf.loops[l].mark == MarkKind::vector && !leaf.is_instruction
                     ? vectors * issues_of_vector(leaf, use, l, lanes)
                     : vectors;
    }
    return product;
  }
  // Does a loop choose among what lies between two lanes?
  static bool moves_within_row(const AccessUse& use, size_t loop, size_t lanes) {
    const auto& of_lanes = use.coeff[lanes];
    const auto row = static_cast<size_t>(
        std::find_if(of_lanes.begin(), of_lanes.end(), [](int64_t c) { return c != 0; }) - of_lanes.begin());
    for (size_t d = row + 1; d < use.coeff[loop].size(); ++d)
      if (use.coeff[loop][d] != 0) return true;
    return false;
  }
  static bool is_walked_inside(const Leaf& leaf, const AccessUse& use, size_t lanes) {
    for (size_t l = lanes; l-- > 0 && leaf.loops[l].step != leaf.loops[lanes].width;)  // serial loops inside the lanes
      if (moves_within_row(use, l, lanes)) return true;
    return false;
  }
  // Columns of a piece over those of them that the statement has a use for.
  double share_unused(const Leaf& leaf, const AccessUse& use, size_t lanes) const {
    constexpr double kPiece = 4;
    double unrolled = 1;
    for (size_t l = lanes + 1; l < leaf.loops.size(); ++l)
      if (moves_within_row(use, l, lanes)) unrolled *= leaf.loops[l].trips;
    std::set<std::vector<int64_t>> columns;
    for (const AccessUse& other : leaf.accesses)
      if (other.buffer == use.buffer && other.is_store == use.is_store) columns.insert(other.at);
    const Buffer& buffer = nest_.buffers[use.buffer];
    const auto row = static_cast<size_t>(
        std::find_if(use.coeff[lanes].begin(), use.coeff[lanes].end(), [](int64_t c) { return c != 0; }) -
        use.coeff[lanes].begin());
    double length = 1;
    for (size_t d = row + 1; d < buffer.extents.size(); ++d) length *= static_cast<double>(buffer.extents[d]);
    return std::max(1.0, std::min(kPiece, length) / std::max(unrolled, static_cast<double>(columns.size())));
  }
  double issues_of_vector(const Leaf& leaf, const AccessUse& use, size_t loop, double lanes) const {
    const double apart = issues_of_lanes(nest_, use, loop, lanes, machine_.units.gather_lane_slots.value);
    const bool is_gathered = use.has_gather || (loop < use.gathers_along.size() && use.gathers_along[loop]);
    if (!lanes_are_around_ || apart <= 2 || is_gathered || lanes < 4) return apart;
    if (is_walked_inside(leaf, use, loop)) return apart;
    return std::min(
        apart,
        std::log2(lanes) *
            share_unused(
                leaf, use,
                loop));  // pieces of rows, and a round of exchanges for each bit of a lane's number, on two ports
  }
  double chains(const Leaf& leaf, size_t begin) const {
    double product = 1;
    if (nest_.auto_vectorized && leaf.accumulates_in_register)
      return begin < leaf.loops.size() ? issues(leaf.loops[begin]) : 1;  // compiler_view: vectors interleaved
    for (const auto& use : leaf.accesses)
      if (use.is_store) {
        product = 1;
        for (size_t l = begin; l < leaf.loops.size(); ++l)
          if (moves(use, l)) product *= issues(leaf.loops[l]);
      }
    return product;
  }
  // Additions of a block that wait for one another: of those to one sum, or of its only one the share that is left
  // where the serial loops around it first go through other sums.
  double additions_in_a_row(const Leaf& leaf, size_t begin) const {
    const double in_block = block_issues(leaf, begin) / chains(leaf, begin);
    double between = 1;
    for (size_t l = begin; l-- > 0 && moves(leaf.accesses.front(), l);) between *= leaf.loops[l].trips;
    return in_block > 1 ? in_block : in_block / between;
  }
  // A half that all lanes share is spread by the multiply-add itself where it has one reader; else by a shuffle, on a
  // port of the multiply-adds (words of 32 bits and more are spread by the load).
  double shuffles(const Leaf& leaf, size_t begin) const {
    double total = 0;
    for (const auto& use : leaf.accesses) {
      if (use.is_store || nest_.buffers[use.buffer].scope == Scope::reg ||
          nest_.buffers[use.buffer].type != ElementType::f16 || leaf.is_instruction)
        continue;
      bool is_spread = false;
      double readers = 1;
      for (size_t l = begin; l < leaf.loops.size(); ++l) {
        if (moves(use, l)) continue;
        is_spread |= leaf.loops[l].mark == MarkKind::vector;
        readers *= issues(leaf.loops[l]);
      }
      if (is_spread && readers > 1) total += access_issues(leaf, use, begin);
    }
    return total;
  }
  // A sum in an argument that the loop around its block does not move: LLVM sees that arguments do not overlap, loads
  // it before that loop and stores it behind.
  bool is_promoted(const Leaf& leaf, size_t begin) const {
    if (nest_.auto_vectorized || leaf.accumulates_in_register || begin == 0 || !is_accumulation(leaf)) return false;
    const AccessUse& sum = leaf.accesses.front();
    return leaf.loops[begin - 1].mark == MarkKind::serial && leaf.loops[begin - 1].trips > 1 && !sum.has_gather &&
           !moves(sum, begin - 1) && nest_.buffers[sum.buffer].scope == Scope::argument;
  }
  // The same element twice in one point, as in a square.
  static bool is_loaded_already(const Leaf& leaf, size_t a) {
    const AccessUse& use = leaf.accesses[a];
    return !use.is_store && std::any_of(leaf.accesses.begin(), leaf.accesses.begin() + static_cast<std::ptrdiff_t>(a),
                                        [&](const AccessUse& other) {
                                          return !other.is_store && other.buffer == use.buffer &&
                                                 other.coeff == use.coeff && other.at == use.at && !use.has_gather;
                                        });
  }
  // Products one after the other, sums in tiles. What moves with the innermost unrolled loop stays for its next round
  // only where tiles are left for it.
  double tile_cycles(const Leaf& leaf, size_t begin) const {
    size_t inner = leaf.loops.size();
    for (size_t l = begin; l < leaf.loops.size(); ++l)
      if (leaf.loops[l].mark == MarkKind::unroll && leaf.loops[l].trips > 1) inner = l;
    double held = 0, tiles_loaded = 0, tiles_stored = 0;
    for (const auto& use : leaf.accesses)
      if (use.is_store && nest_.buffers[use.buffer].scope == Scope::tile) held = access_issues(leaf, use, begin);
    const double products = block_issues(leaf, begin);
    for (const auto& use : leaf.accesses) {
      if (nest_.buffers[use.buffer].scope == Scope::tile) continue;
      const double tiles = access_issues(leaf, use, begin);
      const bool is_pushed_out =
          !use.is_store && inner < leaf.loops.size() && moves(use, inner) && tiles + 1 > kTiles - held;
      (use.is_store ? tiles_stored : tiles_loaded) += is_pushed_out ? products : tiles;
    }
    const double loading = kTileRows * tiles_loaded / machine_.units.loads_per_cycle.value,
                 storing = kTileRows * tiles_stored / machine_.units.stores_per_cycle.value;
    const double latency = products / chains(leaf, begin) * chain_latency(leaf, begin);
    return std::max(
        {products * leaf.operations / machine_.units.multiply_adds_per_cycle.value, loading, storing, latency});
  }
  double block_cycles(const Leaf& leaf, size_t begin) const {
    if (leaf.is_tile) return tile_cycles(leaf, begin);
    double loads = 0, stores = 0;
    for (size_t a = 0; a < leaf.accesses.size(); ++a) {
      const AccessUse& use = leaf.accesses[a];
      const bool is_kept_by_compiler = nest_.auto_vectorized && leaf.accumulates_in_register && a < 2;
      if (nest_.buffers[use.buffer].scope == Scope::reg || is_kept_by_compiler || is_loaded_already(leaf, a)) continue;
      const double runs = a < 2 && is_promoted(leaf, begin) ? leaf.loops[begin - 1].trips : 1;
      (use.is_store ? stores : loads) += access_issues(leaf, use, begin) / runs;
    }
    const double issued = block_issues(leaf, begin);
    const double arithmetic =
        (leaf.operations * issued + shuffles(leaf, begin)) / machine_.units.multiply_adds_per_cycle.value +
        (leaf.slow_operations + leaf.divisions * division_cycles(leaf, begin)) * issued;
    double latency = 0;
    latency = carried_cycles(leaf, begin);
    if (is_accumulation(leaf))
      latency =
          additions_in_a_row(leaf, begin) * chain_latency(leaf, begin) * share_exposed(leaf, begin, issued + loads);
    const double loading = loads / machine_.units.loads_per_cycle.value;
    return std::max({arithmetic, loading, stores / machine_.units.stores_per_cycle.value, latency, 0.5}) +
           kBesides * std::min(arithmetic, loading) + spill_cycles(leaf, begin);
  }
  // A chain that begins and ends in the block waits for nothing of the block before: as many blocks run at once as
  // instructions fit into the core's window. One that ends behind a few loops leaves the next one as much of the window
  // as has a place to wait in.
  double share_exposed(const Leaf& leaf, size_t begin, double instructions) const {
    const size_t first = first_loop_of_chain(leaf, begin);
    const double window = machine_.units.window_instructions.value;
    if (first >= begin) return std::min(1.0, instructions / window);
    const double of_chain = trips(leaf, first, begin) * instructions;
    return first == 0 ? 1 : of_chain / (of_chain + kWaiting * window);
  }
  // The outermost loop whose iterations a sum is carried through; 0: nothing begins it anew.
  size_t first_loop_of_chain(const Leaf& leaf, size_t begin) const {
    const auto alloc = std::find_if(leaf.allocs.begin(), leaf.allocs.end(),
                                    [&](const auto& at) { return at.first == leaf.accesses.front().buffer; });
    if (alloc != leaf.allocs.end()) return alloc->second;
    return is_promoted(leaf, begin) ? begin - 1 : 0;
  }
  // Of plain loops: what an iteration of the innermost one computes from a value that an earlier one stored waits for
  // it.
  double carried_cycles(const Leaf& leaf, size_t begin) const {
    const auto* compute = std::get_if<Compute>(&nest_.nodes[leaf.node]);
    if (!compute || compute->how != Write::store || begin != leaf.loops.size() || leaf.loops.empty()) return 0;
    const AccessUse& store = leaf.accesses.front();
    double most = 0;
    size_t read = compute->dst.size();  // Walk lists what is written, then reads in the order of a visit
    for (const Expr& rhs : compute->rhs)
      visit(rhs, [&](const ExprNode& node) {
        if (node.op != Op::read) return;
        const AccessUse& use = leaf.accesses[read++];
        if (use.buffer != store.buffer || use.coeff.back() != store.coeff.back()) return;
        if (const double distance = iterations_apart(store, use); distance > 0)
          most = std::max(most, (forwarding(distance) + latency_to(rhs, &node)) / distance);
      });
    return most;
  }
  // What the next iteration reads stays in a register; a compiler keeps what a few later ones read, too.
  double forwarding(double distance) const {
    return nest_.auto_vectorized || distance <= 1 ? 0 : machine_.units.forwarding_cycles.value;
  }
  /// How many iterations of the innermost loop after the store the read meets its value; 0: never.
  static double iterations_apart(const AccessUse& store, const AccessUse& read) {
    double out = 0;
    for (size_t d = 0; d < store.at.size(); ++d) {
      const int64_t step = store.coeff.back()[d], apart = store.at[d] - read.at[d];
      if (step == 0 && apart != 0) return 0;
      if (step != 0 && apart % step != 0) return 0;
      if (step != 0) out = static_cast<double>(apart / step);
    }
    return std::max(0.0, out);
  }
  /// Cycles of the operations between a read and the root of its expression.
  double latency_to(const Expr& e, const ExprNode* read) const {
    if (e.get() == read) return 0;
    for (const Expr& arg : e->args) {
      if (!holds(arg, read)) continue;
      const double own = e->op == Op::div || e->op == Op::sqrt ? machine_.units.division_latency_cycles.value
                         : e->op == Op::guarded                ? 0
                         : is_float(e->type)                   ? machine_.units.multiply_add_latency_cycles.value
                                                               : 1;
      return own + latency_to(arg, read);
    }
    return 0;
  }
  static bool holds(const Expr& e, const ExprNode* read) {
    return e.get() == read ||
           std::any_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return holds(arg, read); });
  }
  double chain_latency(const Leaf& leaf, size_t begin) const {
    const bool is_in_register = leaf.accumulates_in_register || is_promoted(leaf, begin);
    const double through_memory = is_in_register ? 0 : machine_.units.forwarding_cycles.value + kFolded;
    if (leaf.is_tile)
      return leaf.accumulates_in_register ? kTileRows
                                          : machine_.units.tile_latency_cycles.value + 2 * kTileRows + through_memory;
    return machine_.units.multiply_add_latency_cycles.value + through_memory;
  }
  double vectors_of(const Buffer& buffer) const {
    if (buffer.extents.empty()) return 1;
    const double lanes = std::max(1.0, static_cast<double>(machine_.vector_bytes() / size_bytes(buffer.type)));
    double out = std::ceil(static_cast<double>(buffer.extents.back()) / lanes);
    for (size_t d = 0; d + 1 < buffer.extents.size(); ++d) out *= static_cast<double>(buffer.extents[d]);
    return out;
  }
  // Accumulators and operands beyond the register file are stored and loaded again every run of the block. Where
  // arithmetic takes none from memory, LLVM has all that the block loads in registers at once: 9 x 3 vectors of a
  // product are 27 sums and 12 operands, of which a machine with 32 registers spills 7.
  double spill_cycles(const Leaf& leaf, size_t begin) const {
    double live = 0, loaded = 0;
    std::set<BufferId> own, others;  // in registers: stored to; read alone
    for (const auto& use : leaf.accesses) {
      const bool is_register = nest_.buffers[use.buffer].scope == Scope::reg ||
                               (use.buffer == leaf.accesses.front().buffer && is_promoted(leaf, begin));
      if (is_register == use.is_store) (is_register ? live : loaded) += access_issues(leaf, use, begin);
      if (is_register) (use.is_store ? own : others).insert(use.buffer);
    }
    // What another statement has left in registers and this one reads is held beside its sums: of two stencils, one
    // behind the other, rows of 5 and of 4 vectors.
    for (const BufferId id : live > 0 ? others : std::set<BufferId>())
      if (own.count(id) == 0) live += vectors_of(nest_.buffers[id]);
    constexpr double kInFlight = 2;
    const double over = live + (machine_.units.has_memory_operands ? kInFlight : std::max(kInFlight, loaded)) -
                        machine_.units.vector_registers;
    return live > 0 && over > 0 ? over * 4 : 0;
  }

  double loop_overhead(const Leaf& leaf, size_t begin) const {
    double total = 0;
    for (size_t l = 0; l < begin; ++l) total += trips(leaf, 0, l + 1) * kLoopOverheadCycles;
    if (nest_.auto_vectorized && begin > 0) total += trips(leaf, 0, begin - 1) * kVectorEntryCycles;
    return total;
  }

  const LoopNest& nest_;
  const Machine& machine_;
  bool lanes_are_around_;
};

}  // namespace

LeafCycles::LeafCycles(const LoopNest& nest, const Machine& machine)
    : nest_(nest), machine_(machine), lanes_are_around_(has_lanes_around(nest)) {}

double LeafTime::cycles() const {
  // Products of tiles wait for their operands' lines; what they wait for is not brought in once more meanwhile.
  if (is_tile) return std::max(work + traffic.exposed, traffic.hidden);
  return std::max(work, traffic.hidden) + kNotHidden * std::min(work, traffic.hidden) + traffic.exposed;
}

LeafTime LeafCycles::time(const Leaf& leaf, double elsewhere_bytes) const {
  return Cycles(nest_, machine_, lanes_are_around_).of(leaf, elsewhere_bytes);
}

TrafficCycles LeafCycles::traffic(const Leaf& leaf, double elsewhere_bytes) const {
  return traffic_of(nest_, leaf, block_begin(leaf), machine_, elsewhere_bytes);
}

}  // namespace polyweft::cost
