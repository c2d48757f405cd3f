#include "targets/common/tiles/tile_products.h"

#include <algorithm>
#include <bit>

#include "targets/common/nest_walk.h"

namespace polyweft::targets {
namespace {

constexpr int64_t kProductsAfterCuts =
    3;  ///< of an iteration: tiles are loaded from lines that no store holds any more

}  // namespace

// D is in a tile already, or comes from memory and goes back.
bool TileProducts::tile_loop(const Loop& loop, const ir::TensorMatch& match) {
  const BufferId sum = match.compute->dst[0].id;
  const Tiles& sums = tile_registers_.sums();
  const bool must_be_held =
      std::any_of(sums.begin(), sums.end(), [&](const auto& one) { return one.first.first == sum; });
  const auto plan = tile_places_.tile_plan(match);
  const auto held =
      plan && plan->front().first.is_constant() ? sums.find({sum, plan->front().first.constant}) : sums.end();
  const bool is_held = held != sums.end();
  if (must_be_held && !is_held) throw Refusal{fail("PW0501", "a sum that is in a tile would be added to in memory")};
  if (!plan || !tile_instructions_.is_on()) return false;
  tile_operands_.prefetch(loop.mark.prefetch.empty() ? nullptr : &loop.mark.prefetch);
  const TilePlace& result = plan->front();
  std::vector<int> numbers = {is_held ? held->second.first : tile_registers_.free_tile({})};
  llvm::Value* home = is_held ? nullptr : places_.pointer_to(result.buffer, result.first);
  if (!is_held) tile_instructions_.load_tile(numbers[0], {home, result.distance});
  llvm::Type* number_type = b_.getInt8Ty();
  auto function = module_.getOrInsertFunction(
      match.instruction->call, llvm::FunctionType::get(b_.getVoidTy(), {number_type, number_type, number_type}, false));
  const auto number = [&](int n) { return b_.getInt8(static_cast<uint8_t>(n)); };
  for (int part = 0; part < std::max((*plan)[1].parts, (*plan)[2].parts); ++part) {
    const auto part_of = [&](size_t k) { return (*plan)[k].parts > 1 ? part : 0; };
    numbers.resize(1);
    // What is there already is pinned first: the second operand must not take its place.
    for (size_t k = 1; k < 3; ++k)
      if (const auto known = tile_registers_.number_of((*plan)[k].key(part_of(k)))) numbers.push_back(*known);
    std::vector<int> operands;
    for (size_t k = 1; k < 3; ++k) {
      operands.push_back(tile_operands_.tile_of((*plan)[k], part_of(k), numbers));
      numbers.push_back(operands.back());
    }
    make_room(numbers[0]);
    b_.CreateCall(function, {number(numbers[0]), number(operands[0]), number(operands[1])});
    ++products_;
    tile_parts_.cut_ahead(std::max<int64_t>(to_come_-- - kProductsAfterCuts, 1));
    // Parts serve a row of products, so that what they were multiplied with makes room first.
    const size_t whole = (*plan)[1].parts > 1 ? 1 : 0;
    if ((*plan)[2 - whole].parts > 1 && part + 1 == (*plan)[2 - whole].parts) {
      tile_registers_.give_up(operands[whole]);
    }
  }
  tile_instructions_.note_use();
  if (is_held) return true;
  tile_instructions_.store_tile(numbers[0], {home, result.distance});
  loads_.clear();
  return true;
}

/// Where a unit has stored no tile for some 1,500 cycles, its next store takes 900 (measured on the chip at hand): long
/// sums store an operand now and then to a line that nobody reads. In the innermost loop, around so many products.
void TileProducts::keep_stores_awake(const Loop& loop, llvm::Value* iv, int64_t products) {
  constexpr int64_t kLongSum = 96, kProductsBetween = 32;
  if (products == 0 || tile_registers_.sums().empty() || tile_operands_.around() >= open_.size()) return;
  int64_t all = products;
  for (size_t k = tile_operands_.around(); k < open_.size(); ++k) all *= open_[k].trips;
  if (all < kLongSum) return;
  const int64_t most = std::max<int64_t>(std::min(kProductsBetween / products, open_.back().trips), 1);
  const auto every = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most)));
  if (!unread_) unread_ = on_stack(b_.getInt8Ty(), kTileRowBytes, "unread");
  llvm::Value* turn = b_.CreateAnd(b_.CreateUDiv(iv, b_.getInt64(static_cast<uint64_t>(loop.step))),
                                   b_.getInt64(static_cast<uint64_t>(every - 1)));
  const int operand = tile_registers_.last_used();
  branches_.branch(
      b_.CreateICmpEQ(turn, b_.getInt64(static_cast<uint64_t>(every - 1))),
      [&] {
        tile_instructions_.store_tile(operand, {unread_, 0});
      },
      [] {});
}

/// Products in a straight block of tiles.
int64_t TileProducts::tile_products_of(NodeId id) const {
  if (id == kNoNode) return 0;
  const Node& node = nest_.nodes[id];
  int64_t out = 0;
  if (const auto* seq = std::get_if<Seq>(&node))
    for (NodeId child : seq->children) out += tile_products_of(child);
  if (const auto* loop = std::get_if<Loop>(&node)) {
    if (!is_tile_loop(*loop))
      return tile_products_of(loop->body) * variables_.constant_trips(*loop, fold(loop->lo.of[0])).value_or(1) /
             loop->step;
    const auto instruction = ir::instruction_named(loop->mark.detail);
    out = 1;
    for (const auto& operand : (*instruction)->operands) out = std::max<int64_t>(out, operand.parts);
  }
  return out;
}

/// Before a product: the sum that its tile still holds goes to memory, then the tile begins at zero.
void TileProducts::make_room(int number) {
  if (!late_ || !late_->waiting.contains(number)) return;
  late_->waiting.erase(number);
  const auto known = loads_.all();  // tiles of operands: nothing that is stored here is one
  const auto [first, last] = late_->moves.equal_range(number);
  branches_.branch(
      late_->is_later,
      [&] {
        for (auto move = first; move != last; ++move) tile_instructions_.store_tile(number, move->second);
      },
      [] {});
  loads_.restore(known);
  tile_instructions_.unit().clear(b_, number);
}

TileProducts::Block TileProducts::begin_block(const Loop& loop, Streams* streams) {
  const Block out{tile_parts_.exchange(streams), products_};
  to_come_ = streams ? tile_products_of(loop.body) : 0;
  return out;
}

void TileProducts::end_block(const Loop& loop, llvm::Value* iv, const Block& block) {
  while (tile_parts_.streams() && tile_parts_.has_uncut()) tile_parts_.cut_ahead(1);
  if (tile_parts_.streams()) keep_stores_awake(loop, iv, products_ - block.products);
  tile_parts_.exchange(block.outside);
}

}  // namespace polyweft::targets
