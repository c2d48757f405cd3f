#include "targets/common/tiles/late_blocks.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "targets/common/nest_walk.h"

namespace polyweft::targets {
namespace {

/// Steps of products in a block: in fewer, what is read has just been stored (attention's scores over 64 values of bf16
/// took 1.03 of the time).
constexpr int64_t kLeastSteps = 4;
/// Lines that only leave go by way of the stack in so many steps and more: in fewer they come too many at once (bytes
/// over 256 values: 1.02 in blocks of 2 x 2, 1.18 of 4 x 1), and the tiles are stored where they belong (attention's
/// scores over 128 values: 0.97 of the time, bytes over 256: the same time).
constexpr int64_t kLeastStepsByHome = 8;
constexpr int64_t kMostJammedRows = 4;  ///< of a reader between two steps of products; more run in a loop

/// What may not be moved: code that uses tiles, forks, or turns copies round.
bool may_move(const LoopNest& nest, NodeId id) {
  bool fits = true;
  walk_nodes(nest, id, [&](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    fits &= !(loop && (loop->mark.kind == MarkKind::parallel || is_tile_loop(*loop)));
    fits &= !std::holds_alternative<Copy>(node) && !std::holds_alternative<Alloc>(node) &&
            !std::holds_alternative<Sync>(node);
    return fits;
  });
  return fits;
}

}  // namespace

/// Is each iteration of the loop a block of sums in tiles, one loop of products, copies of the sums to memory and at
/// most one loop over rows that reads them, so that products of the next iteration need nothing of what the last two
/// do?
std::optional<LateBlocks::LateBlock> LateBlocks::late_block(const Loop& loop) {
  LateBlock out;
  out.around = &loop;
  if (!tile_instructions_.is_on() || lanes_.width > 1 || loop.mark.kind != MarkKind::serial ||
      variables_.iterations(loop).value_or(0) < 2)
    return std::nullopt;
  NodeId inside = loop.body;
  for (const auto* alloc = std::get_if<Alloc>(&nest_.nodes[inside]);
       alloc && nest_.buffers[alloc->buffer].scope == Scope::stack; alloc = std::get_if<Alloc>(&nest_.nodes[inside])) {
    if (buffers_.is_shared(alloc->buffer) || bases_[alloc->buffer]) return std::nullopt;
    out.homes.push_back(alloc->buffer);
    inside = alloc->body;
  }
  const std::vector<NodeId> parts = tile_sums_.flattened(inside);
  const auto* held = parts.empty() ? nullptr : std::get_if<Alloc>(&nest_.nodes[parts[0]]);
  if (!held || nest_.buffers[held->buffer].scope != Scope::tile || parts.size() > 2) return std::nullopt;
  out.sums = held->buffer;
  out.homes.push_back(held->buffer);
  std::vector<NodeId> starts;
  for (NodeId part : tile_sums_.flattened(held->body)) {
    const auto* each = std::get_if<Loop>(&nest_.nodes[part]);
    if (!out.products && tile_sums_.is_zero_init(part, out.sums))
      starts.push_back(part);
    else if (!out.products && each && each->mark.kind == MarkKind::serial &&
             is_straight_block_of_tiles(nest_, each->body))
      out.products = each;
    else
      out.copies.push_back(part);
  }
  if (starts.empty() || !out.products || out.copies.empty() ||
      variables_.iterations(*out.products).value_or(0) < kLeastSteps)
    return std::nullopt;
  if (parts.size() == 2) {
    out.reader = std::get_if<Loop>(&nest_.nodes[parts[1]]);
    if (!out.reader || out.reader->mark.kind != MarkKind::serial || out.reader->step != 1 ||
        variables_.iterations(*out.reader).value_or(0) < 1 || !may_move(nest_, parts[1]))
      return std::nullopt;
    out.reader_node = parts[1];
  }
  if (!are_products_apart(out)) return std::nullopt;
  variables_.set_facts(loop.var, variables_.loop_facts(loop));
  std::vector<int> moved;
  const bool fits = tile_sums_.gather_tiles_of_loop(*out.products, out.sums, out.tiles) &&
                    tile_sums_.start_tiles(starts, out.sums, out.tiles, false) &&
                    std::all_of(out.copies.begin(), out.copies.end(), [&](NodeId part) {
                      return tile_sums_.copy_tiles(part, out.sums, out.tiles, {}, moved);
                    });
  variables_.forget_facts(loop.var);
  if (!fits) return std::nullopt;
  return out;
}

/// Do the products read nothing that the copies and the reader write, and hold no operand in parts, which are cut in
/// the loop of products?
bool LateBlocks::are_products_apart(const LateBlock& block) const {
  std::vector<BufferId> used, written;
  bool fits = true;
  walk_nodes(nest_, block.products->body, [&](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    if (!loop || !is_tile_loop(*loop)) return true;
    const auto instruction = ir::instruction_named(loop->mark.detail);
    for (const auto& operand : (*instruction)->operands) fits &= operand.parts <= 1;
    return false;
  });
  visit_accesses(nest_, block.products->body, [&](const Access& access, bool) { used.push_back(access.id); });
  const auto note = [&](const Access& access, bool is_write) {
    if (is_write) written.push_back(access.id);
    fits &= !registers_.in_registers(access.id);
  };
  for (NodeId part : block.copies) visit_accesses(nest_, part, note);
  if (block.reader) visit_accesses(nest_, block.reader->body, note);
  for (BufferId a : used)
    for (BufferId b : written)
      fits &= a != b && std::find(variables_.context().sharers(a).begin(), variables_.context().sharers(a).end(), b) ==
                            variables_.context().sharers(a).end();
  return fits;
}

/// The sums to where the copies put them, by tile; addresses are computed here.
std::multimap<int, TileRows> LateBlocks::moves_of(const LateBlock& block) {
  std::multimap<int, TileRows> out;
  std::vector<int> moved;
  TileCopy how;
  how.into = &out;
  for (NodeId part : block.copies) tile_sums_.copy_tiles(part, block.sums, block.tiles, how, moved);
  return out;
}

/// The sums to their homes on the stack.
std::multimap<int, TileRows> LateBlocks::moves_home(const LateBlock& block) {
  std::multimap<int, TileRows> out;
  for (const auto& [key, sum] : block.tiles)
    out.emplace(sum.first, TileRows{places_.pointer_to(block.sums, sum.second.first), sum.second.distance});
  return out;
}

/// Products of one block, and among them what is left of the block before.
void LateBlocks::late_block_body(const LateBlock& block, llvm::Value* is_later) {
  const Loop &around = *block.around, &products = *block.products;
  const auto in_block_before = [&](const std::function<void()>& body) {
    variables_.substitute(around.var, Affine::variable(around.var) - Affine::of(around.step));
    body();
    variables_.end_substitution(around.var);
  };
  const size_t around_before = tile_operands_.exchange_around(open_.size());
  tile_instructions_.note_use();
  loads_.clear();
  LateSums late{is_later, {}, {}};
  std::multimap<int, TileRows> far;
  in_block_before([&] { far = moves_of(block); });
  const int64_t steps = *variables_.iterations(products);
  const bool leaves_at_once = !block.reader && steps < kLeastStepsByHome;
  late.moves = block.reader || leaves_at_once ? far : moves_home(block);
  for (const auto& [key, sum] : block.tiles) late.waiting.insert(sum.first);
  tile_registers_.hold(block.tiles);
  tile_products_.exchange_late(&late);
  const int64_t rows = block.reader ? *variables_.iterations(*block.reader) : leaves_at_once ? 0 : kTileRows;
  int64_t jammed = std::max<int64_t>((rows + steps - 2) / (steps - 1), 1);
  while (rows % jammed != 0) ++jammed;
  const Affine lo = fold(products.lo.of[0]);
  const auto section = [&](int64_t begin, int64_t end, const std::function<void(llvm::Value*)>& body) {
    if (begin >= end) return;
    Loop part = products;
    part.lo.of = {lo + Affine::of(begin * products.step)};
    if (end < steps) part.hi.of = {lo + Affine::of(end * products.step)};
    serial_loops_.serial_loop(part, {body, steps});
  };
  section(0, 1, [&](llvm::Value*) { further_.emit(products.body); });
  tile_products_.exchange_late(nullptr);
  section(1, 1 + rows / jammed, [&](llvm::Value* k) {
    further_.emit(products.body);
    Streams *const streams = pointers_.exchange(nullptr), *const tile_streams = tile_parts_.exchange(nullptr);
    llvm::Value* step = b_.CreateUDiv(b_.CreateSub(k, integers_.integer(lo + Affine::of(products.step))),
                                      b_.getInt64(static_cast<uint64_t>(products.step)));
    llvm::Value* row = b_.CreateMul(step, b_.getInt64(static_cast<uint64_t>(jammed)));
    const auto what_is_left = [&] {
      if (block.reader) return rows_of_reader(*block.reader, row, jammed);
      for (const auto& [number, home] : late.moves)
        for (auto [to, end] = far.equal_range(number); to != end; ++to) copy_rows(home, to->second, row, jammed);
    };
    branches_.branch(
        is_later, [&] { in_block_before(what_is_left); }, [] {});
    pointers_.exchange(streams);
    tile_parts_.exchange(tile_streams);
  });
  section(1 + rows / jammed, steps, [&](llvm::Value*) { further_.emit(products.body); });
  tile_registers_.release(block.sums);
  loads_.clear();
  tile_operands_.exchange_around(around_before);
}

/// So many rows of the reader from its row `first` on.
void LateBlocks::rows_of_reader(const Loop& reader, llvm::Value* first, int64_t count) {
  const int64_t rows = *variables_.iterations(reader);
  const Affine lo = fold(reader.lo.of[0]);
  loads_.clear();
  variables_.bind(kLateRow, first, {0, rows - count, count});
  const Affine row = lo + Affine::variable(kLateRow);
  if (count <= kMostJammedRows) {
    for (int64_t n = 0; n < count; ++n) {
      variables_.substitute(reader.var, row + Affine::of(n));
      further_.emit(reader.body);
    }
    variables_.end_substitution(reader.var);
  } else {
    Loop part = reader;
    part.lo.of = {row};
    part.hi.of = {row + Affine::of(count)};
    serial_loops_.serial_loop(part);
  }
  variables_.unbind(kLateRow);
  variables_.forget_facts(kLateRow);
}

/// So many rows of a tile from one place in memory to another.
void LateBlocks::copy_rows(const TileRows& from, const TileRows& to, llvm::Value* first, int64_t count) {
  auto* row_type = llvm::FixedVectorType::get(b_.getInt8Ty(), kTileRowBytes);
  for (int64_t n = 0; n < count; ++n) {
    llvm::Value* row = b_.CreateAdd(first, b_.getInt64(static_cast<uint64_t>(n)));
    const auto at = [&](const TileRows& place) {
      return b_.CreateInBoundsGEP(b_.getInt8Ty(), place.pointer,
                                  b_.CreateMul(row, b_.getInt64(static_cast<uint64_t>(place.distance))));
    };
    b_.CreateAlignedStore(b_.CreateAlignedLoad(row_type, at(from), llvm::Align(kTileRowBytes)), at(to), llvm::Align(1));
  }
}

bool LateBlocks::late_loop(const Loop& loop) {
  const auto block = late_block(loop);
  if (!block) return false;
  for (BufferId home : block->homes) {
    const Buffer& buffer = nest_.buffers[home];
    buffers_.place(home, on_stack(scalar_.memory_type(buffer.type), allocated_elements(buffer), buffer.name));
  }
  const Affine lo = fold(loop.lo.of[0]);
  llvm::Value* first = integers_.integer(lo);
  serial_loops_.serial_loop(loop, {[&](llvm::Value* iv) { late_block_body(*block, b_.CreateICmpNE(iv, first)); }, 0});
  variables_.substitute(loop.var, lo + Affine::of((*variables_.iterations(loop) - 1) * loop.step));
  for (const auto& [number, move] : moves_of(*block)) tile_instructions_.store_tile(number, move);
  loads_.clear();
  if (block->reader) further_.emit(block->reader_node);
  variables_.end_substitution(loop.var);
  loads_.clear();
  for (BufferId home : block->homes) buffers_.remove(home);
  return true;
}

}  // namespace polyweft::targets
