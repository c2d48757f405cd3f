#include "targets/common/tiles/tile_operands.h"

#include <numeric>

#include "targets/common/nest_walk.h"

namespace polyweft::targets {

/// Brings an operand into a tile, where it is not in one already.
int TileOperands::tile_of(const TilePlace& place, int part, const std::vector<int>& pinned) {
  const std::string key = place.key(part);
  const std::optional<int> known = tile_registers_.number_of(key);
  const int number = known ? *known : tile_registers_.free_tile(pinned);
  if (!known) {
    const bool is_copied = place.is_staged || place.parts > 1;
    llvm::Value* pointer =
        place.parts > 1   ? b_.CreateInBoundsGEP(b_.getInt8Ty(), tile_parts_.in_parts(place),
                                                 b_.getInt64(static_cast<uint64_t>(part * kTileRows * kTileRowBytes)))
        : place.is_staged ? staged(place, number)
                          : places_.pointer_to(place.buffer, place.first);
    const TileUse use = !is_copied && passes_by(place) ? TileUse::once : TileUse::again;
    tile_instructions_.load_tile(number, {pointer, is_copied ? kTileRowBytes : place.distance}, use);
    if (!is_copied) prefetch_tile(place, pointer);
    tile_registers_.note(key, number);
    loads_.note(key, {pointer});
  }
  tile_registers_.use(number);
  return number;
}

/// Does each block of sums read tiles of its own that are gone from the first cache when they are read again? Then they
/// should not push out the other operand's, which the next block reads again (a product of 1024 x 1024 bytes takes 0.83
/// of the time).
bool TileOperands::passes_by(const TilePlace& place) const {
  constexpr int64_t kHalfOfFirstCache = 24 << 10;
  if (place.is_staged || around_ == 0) return false;
  const auto moves = [&](const OpenLoop& loop) { return place.first.coefficient(loop.var) != 0; };
  if (!moves(open_[around_ - 1])) return false;
  int64_t bytes = kTileRows * kTileRowBytes;
  for (size_t k = around_ - 1; k < open_.size(); ++k)
    if (moves(open_[k]) && bytes <= kHalfOfFirstCache) bytes *= open_[k].trips;
  return bytes > kHalfOfFirstCache;
}

/// Asks the second cache for the lines of a later tile. Blocks one after the other that read this tile again each ask
/// for their share of its rows.
void TileOperands::prefetch_tile(const TilePlace& place, llvm::Value* pointer) {
  constexpr uint32_t kRead = 0, kSecondCache = 2, kData = 1;
  if (!prefetch_) return;
  const Buffer& buffer = nest_.buffers[place.buffer];
  for (const Prefetch& ahead : *prefetch_) {
    if (ahead.buffer != place.buffer) continue;
    std::vector<Affine> by;
    for (int64_t distance : ahead.by) by.push_back(Affine::of(distance));
    const Affine offset = facts_.offset(buffer, by);
    if (!offset.is_constant()) continue;
    const auto& [first_row, rows] = rows_of_turn(place);
    const auto at = [&](llvm::Value* from, llvm::Value* bytes) { return b_.CreateGEP(b_.getInt8Ty(), from, bytes); };
    llvm::Value* first =
        first_row ? at(pointer, b_.CreateMul(first_row, b_.getInt64(static_cast<uint64_t>(place.distance)))) : pointer;
    for (int64_t row = 0; row < rows; ++row) {
      llvm::Value* line = at(
          first, b_.getInt64(static_cast<uint64_t>(offset.constant * size_bytes(buffer.type) + row * place.distance)));
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {line, b_.getInt32(kRead), b_.getInt32(kSecondCache), b_.getInt32(kData)});
    }
  }
}

/// Of a tile that several blocks read: the first row (null: the tile's) and the number of those that are this block's
/// to ask for.
std::pair<llvm::Value*, int64_t> TileOperands::rows_of_turn(const TilePlace& place) {
  const int64_t rows = place.trips[0];
  int64_t turns = 1;
  llvm::Value* turn = nullptr;
  for (size_t k = around_; k-- > 0 && turns < rows && place.first.coefficient(open_[k].var) == 0;) {
    const auto [var, trips, step] = open_[k];
    llvm::Value* begin = b_.getInt64(static_cast<uint64_t>(facts_.range(Affine::variable(var)).lo));
    llvm::Value* at =
        b_.CreateUDiv(b_.CreateSub(variables_.value(var), begin), b_.getInt64(static_cast<uint64_t>(step)));
    turn = turn ? b_.CreateAdd(turn, b_.CreateMul(at, b_.getInt64(static_cast<uint64_t>(turns)))) : at;
    turns *= trips;
  }
  if (turns == 1) return {nullptr, rows};
  llvm::Value* first = b_.CreateUDiv(b_.CreateMul(turn, b_.getInt64(static_cast<uint64_t>(rows))),
                                     b_.getInt64(static_cast<uint64_t>(turns)));
  return {first, (rows + turns - 1) / turns};
}

/// A tile at an edge, copied row by row to the stack: only its own cells are read, and terms of the sum that do not
/// exist are zero.
llvm::Value* TileOperands::staged(const TilePlace& place, int number) {
  llvm::Value*& stage = stages_[static_cast<size_t>(number)];
  if (!stage) stage = on_stack(b_.getInt8Ty(), kTileRows * kTileRowBytes, "edge");
  const int64_t cells =
      std::accumulate(place.extents.begin() + 1, place.extents.end(), int64_t{1}, std::multiplies<>());
  const int64_t element = kTileRowBytes / cells;
  std::vector<bool> is_read(kTileRowBytes, false);
  std::vector<int> from(
      kTileRowBytes, static_cast<int>(kTileRowBytes));  // of each byte of the tile's row, in memory; past the end: zero
  bool moves = false;
  for (int64_t byte = 0; byte < kTileRowBytes; ++byte) {
    int64_t cell = byte / element, at = byte % element;
    bool is_own = true;
    for (size_t d = place.extents.size(); d-- > 1; cell /= place.extents[d]) {
      is_own = is_own && cell % place.extents[d] < place.trips[d];
      at += cell % place.extents[d] * (place.trips[d] > 1 ? place.strides[d] * element : 0);
    }
    if (!is_own) continue;
    is_read[static_cast<size_t>(at)] = true;
    from[static_cast<size_t>(byte)] = static_cast<int>(at);
    moves |= at != byte;
  }
  std::vector<llvm::Constant*> bits;
  for (bool one : is_read) bits.push_back(b_.getInt1(one));
  auto* row_type = llvm::FixedVectorType::get(b_.getInt8Ty(), kTileRowBytes);
  llvm::Constant* zero = llvm::Constant::getNullValue(row_type);
  llvm::Constant* mask = llvm::ConstantVector::get(bits);
  llvm::Value* first = places_.pointer_to(place.buffer, place.first);
  for (int64_t row = 0; row < kTileRows; ++row) {
    const bool exists = row < place.trips[0];
    if (!exists && !place.rows_are_reduced) break;
    llvm::Value* cells_of_row = zero;
    if (exists) {
      llvm::Value* pointer =
          b_.CreateInBoundsGEP(b_.getInt8Ty(), first, b_.getInt64(static_cast<uint64_t>(row * place.distance)));
      cells_of_row = mask->isAllOnesValue()
                         ? static_cast<llvm::Value*>(b_.CreateAlignedLoad(row_type, pointer, llvm::Align(1)))
                         : b_.CreateMaskedLoad(row_type, pointer, llvm::Align(1), mask, zero);
      if (moves) cells_of_row = b_.CreateShuffleVector(cells_of_row, zero, from);
    }
    b_.CreateAlignedStore(
        cells_of_row,
        b_.CreateInBoundsGEP(b_.getInt8Ty(), stage, b_.getInt64(static_cast<uint64_t>(row * kTileRowBytes))),
        llvm::Align(64));
  }
  return stage;
}

}  // namespace polyweft::targets
