#include "targets/common/tiles/tile_sums.h"

#include <algorithm>
#include <utility>

#include "targets/common/nest_walk.h"

namespace polyweft::targets {
namespace {

bool touches(const LoopNest& nest, NodeId id, BufferId buffer) {
  bool found = false;
  visit_accesses(nest, id, [&](const Access& access, bool) { found |= access.id == buffer; });
  return found;
}

constexpr int kSumTiles = static_cast<int>(ir::kLiveTiles);

}  // namespace

/// True where a subtree does nothing to the buffer but add to whole tiles of it: these, with numbers in order of
/// appearance.
bool TileSums::gather_tiles(NodeId id, BufferId buffer, Tiles& tiles) {
  if (id == kNoNode) return true;
  const Node& node = nest_.nodes[id];
  if (!touches(nest_, id, buffer)) return true;
  if (const auto* seq = std::get_if<Seq>(&node))
    return std::all_of(seq->children.begin(), seq->children.end(),
                       [&](NodeId child) { return gather_tiles(child, buffer, tiles); });
  if (const auto* choice = std::get_if<If>(&node))
    return gather_tiles(choice->then, buffer, tiles) && gather_tiles(choice->otherwise, buffer, tiles);
  if (const auto* alloc = std::get_if<Alloc>(&node)) return gather_tiles(alloc->body, buffer, tiles);
  if (const auto* loop = std::get_if<Loop>(&node)) return gather_tiles_of_loop(*loop, buffer, tiles);
  return false;
}

bool TileSums::gather_tiles_of_loop(const Loop& loop, BufferId buffer, Tiles& tiles) {
  if (loop.mark.kind == MarkKind::tensor) {
    const auto match = ir::match_tensor_loop(nest_, loop);
    if (!match || match->loops.size() < 3 || match->compute->dst[0].id != buffer) return false;
    const auto plan = tile_places_.tile_plan(*match);
    if (!plan || !plan->front().first.is_constant()) return false;
    const auto number = static_cast<int>(tile_registers_.sums().size() + tiles.size());
    tiles.emplace(Registers::Key{buffer, plan->front().first.constant}, std::pair{number, plan->front()});
    return tile_registers_.sums().size() + tiles.size() + 2 <= kSumTiles;
  }
  if (loop.mark.kind == MarkKind::unroll) {
    const Affine lo = fold(loop.lo.of[0]);
    const auto trips = variables_.constant_trips(loop, lo);
    bool fits = trips.has_value();
    for (int64_t n = 0; fits && n < *trips; n += loop.step) {
      variables_.substitute(loop.var, lo + Affine::of(n));
      fits = gather_tiles(loop.body, buffer, tiles);
    }
    variables_.end_substitution(loop.var);
    return fits;
  }
  if (loop.mark.kind == MarkKind::vector || loop.mark.kind == MarkKind::parallel) return false;
  variables_.set_facts(loop.var, variables_.loop_facts(loop));
  const bool fits = gather_tiles(loop.body, buffer, tiles);
  variables_.forget_facts(loop.var);
  return fits;
}

/// Loops that set cells of the buffer to the beginning of a sum, and nothing else.
bool TileSums::is_zero_init(NodeId id, BufferId buffer) const {
  const Node& node = nest_.nodes[id];
  if (const auto* loop = std::get_if<Loop>(&node))
    return loop->mark.kind != MarkKind::parallel && is_zero_init(loop->body, buffer);
  const auto* compute = std::get_if<Compute>(&node);
  return compute && compute->how == Write::init && compute->reducer == Reducer::sum && compute->dst.size() == 1 &&
         compute->dst[0].id == buffer;
}

/// Loops that copy whole tiles of sums to rows in memory, or back: the tiles go there without a way through their home.
/// Says whether that is so.
bool TileSums::copy_tiles(NodeId id, BufferId buffer, const Tiles& tiles, TileCopy how, std::vector<int>& moved) {
  if (const auto* seq = std::get_if<Seq>(&nest_.nodes[id]))
    return std::all_of(seq->children.begin(), seq->children.end(),
                       [&](NodeId child) { return copy_tiles(child, buffer, tiles, how, moved); });
  const auto* loop = std::get_if<Loop>(&nest_.nodes[id]);
  if (!loop) return false;
  if (loop->mark.kind == MarkKind::unroll) {
    const Affine lo = fold(loop->lo.of[0]);
    const auto trips = variables_.constant_trips(*loop, lo);
    bool fits = trips.has_value();
    for (int64_t n = 0; fits && n < *trips; n += loop->step) {
      variables_.substitute(loop->var, lo + Affine::of(n));
      fits = copy_tiles(loop->body, buffer, tiles, how, moved);
    }
    variables_.end_substitution(loop->var);
    return fits;
  }
  const auto* columns = std::get_if<Loop>(&nest_.nodes[loop->body]);
  const auto* copy = columns ? std::get_if<Copy>(&nest_.nodes[columns->body]) : nullptr;
  if (!copy || !copy->has_src || !copy->valid.is_true() || loop->mark.non_temporal || columns->mark.non_temporal)
    return false;
  const bool is_load = how.is_load;
  const Access &held = is_load ? copy->dst : copy->src, &other = is_load ? copy->src : copy->dst;
  const auto is_whole = [&](const Loop& each) {
    return (each.mark.kind == MarkKind::serial || each.mark.kind == MarkKind::vector) &&
           variables_.constant_trips(each, fold(each.lo.of[0])) == kTileRows;
  };
  if (held.id != buffer || other.id == buffer || !is_whole(*loop) || !is_whole(*columns)) return false;
  const auto own = tile_places_.strided(held, {loop, columns}), far = tile_places_.strided(other, {loop, columns});
  if (!own || !far || !own->first.is_constant() || own->strides[1] != 1 || far->strides[1] != 1) return false;
  const auto sum = tiles.find({buffer, own->first.constant});
  const int64_t element = size_bytes(nest_.buffers[buffer].type);
  if (sum == tiles.end() || sum->second.second.distance != own->strides[0] * element) return false;
  moved.push_back(sum->second.first);
  if (how.into)
    how.into->emplace(sum->second.first, TileRows{places_.pointer_to(other.id, far->first), far->strides[0] * element});
  if (!how.emits) return true;
  const TileRows rows{places_.pointer_to(other.id, far->first), far->strides[0] * element};
  is_load ? tile_instructions_.load_tile(sum->second.first, rows)
          : tile_instructions_.store_tile(sum->second.first, rows);
  return true;
}

/// What comes before the sums: zeros, or what was stored of them, or one of both by a condition. Says whether all tiles
/// can begin so.
bool TileSums::start_tiles(const std::vector<NodeId>& parts, BufferId buffer, const Tiles& tiles, bool emits) {
  if (parts.empty()) return false;
  if (const auto* choice = std::get_if<If>(&nest_.nodes[parts[0]]); choice && parts.size() == 1) {
    const Guard test = fold(choice->condition);
    if (choice->otherwise == kNoNode || facts_.decide(test) || integers_.depends_on_lane(test)) return false;
    const auto start = [&](NodeId part, bool now) { return start_tiles(flattened(part), buffer, tiles, now); };
    if (!start(choice->then, false) || !start(choice->otherwise, false)) return false;
    if (emits)
      branches_.branch(
          integers_.condition(test), [&] { start(choice->then, true); }, [&] { start(choice->otherwise, true); });
    return true;
  }
  if (std::all_of(parts.begin(), parts.end(), [&](NodeId part) { return is_zero_init(part, buffer); })) {
    const int64_t cells = kTileRows * (kTileRowBytes / size_bytes(nest_.buffers[buffer].type));
    if (static_cast<int64_t>(tiles.size()) * cells != allocated_elements(nest_.buffers[buffer])) return false;
    for (const auto& [key, sum] : tiles)
      if (emits) tile_instructions_.unit().clear(b_, sum.first);
    return true;
  }
  std::vector<int> moved;
  return std::all_of(parts.begin(), parts.end(),
                     [&](NodeId part) {
                       return copy_tiles(part, buffer, tiles, {true, emits}, moved);
                     }) &&
         moved.size() == tiles.size();
}

std::vector<NodeId> TileSums::flattened(NodeId id) const {
  if (id == kNoNode) return {};
  const auto* seq = std::get_if<Seq>(&nest_.nodes[id]);
  if (!seq) return {id};
  std::vector<NodeId> out;
  for (NodeId child : seq->children)
    for (NodeId part : flattened(child)) out.push_back(part);
  return out;
}

// Nodes with the sums in tiles, then the sums go home, or to where the last nodes would copy them. Gives the first node
// that is left.
size_t TileSums::hold_tiles(const std::vector<NodeId>& parts, size_t begin, size_t end, BufferId id,
                            const Tiles& tiles) {
  tile_instructions_.note_use();
  tile_registers_.hold(tiles);
  for (size_t k = begin; k < end; ++k) further_.emit(parts[k]);
  std::vector<int> moved;
  const std::vector<NodeId> rest(parts.begin() + static_cast<std::ptrdiff_t>(end), parts.end());
  const auto copies = [&](bool emits) {
    return std::all_of(rest.begin(), rest.end(), [&](NodeId part) {
      return copy_tiles(part, id, tiles, {false, emits}, moved);
    });
  };
  const bool goes_on = !rest.empty() && copies(false);
  if (goes_on) copies(true);
  for (const auto& [key, sum] : tiles)
    if (!goes_on)
      tile_instructions_.store_tile(sum.first, {places_.pointer_to(id, sum.second.first), sum.second.distance});
  tile_registers_.release(id);
  loads_.clear();
  return goes_on ? parts.size() : end;
}

void TileSums::allocate_tiles(BufferId id, NodeId body) {
  const Buffer& buffer = nest_.buffers[id];
  const std::vector<NodeId> parts = flattened(body);
  buffers_.place(id, on_stack(scalar_.memory_type(buffer.type), allocated_elements(buffer), buffer.name));
  const size_t around_before = tile_operands_.exchange_around(open_.size());
  size_t next = 0;
  while (next < parts.size()) {
    size_t begin = next, end = next;
    Tiles tiles;
    for (; begin < parts.size() && tiles.empty(); ++begin) {
      Tiles found;
      if (tile_instructions_.is_on() && gather_tiles(parts[begin], id, found)) tiles = found;
    }
    if (!tiles.empty()) --begin;
    end = begin;
    for (Tiles more; end < parts.size() && gather_tiles(parts[end], id, more); ++end) tiles = more;
    const std::vector<NodeId> before(parts.begin() + static_cast<std::ptrdiff_t>(next),
                                     parts.begin() + static_cast<std::ptrdiff_t>(begin));
    const bool starts_in_tiles = !tiles.empty() && start_tiles(before, id, tiles, false);
    for (NodeId part : before)
      if (!starts_in_tiles) further_.emit(part);
    loads_.clear();
    if (starts_in_tiles) start_tiles(before, id, tiles, true);
    for (const auto& [key, sum] : tiles)
      if (!starts_in_tiles)
        tile_instructions_.load_tile(sum.first, {places_.pointer_to(id, sum.second.first), sum.second.distance});
    next = tiles.empty() ? parts.size() : hold_tiles(parts, begin, end, id, tiles);
  }
  tile_operands_.exchange_around(around_before);
  buffers_.remove(id);
}

}  // namespace polyweft::targets
