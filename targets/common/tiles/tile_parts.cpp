#include "targets/common/tiles/tile_parts.h"

#include <algorithm>

#include "targets/common/nest_walk.h"

namespace polyweft::targets {
namespace {

constexpr int kPartTiles = 3;

}  // namespace

/// Rows of a tile of f32 on the stack as three of bf16 (TileUnit::in_bf16_parts). Cells of even and of odd numbers are
/// taken apart once, so that each part is put together by a shift and an OR and not by a permutation of halves of
/// words, which takes three operations.
void TileParts::cut_in_parts(const TilePlace& place, llvm::Value* first, llvm::Value* stage, int64_t begin,
                             int64_t end) {
  constexpr int kLanes = 16;
  const TileUnit& unit = tile_instructions_.unit();
  auto* floats = llvm::FixedVectorType::get(b_.getFloatTy(), kLanes);
  std::vector<int> turns[2];
  for (int k = 0; k < kLanes; ++k) turns[0].push_back(2 * k), turns[1].push_back(2 * k + 1);
  const int64_t cells = place.trips[1] * (place.trips.size() > 2 ? place.trips[2] : 1);
  llvm::Value* zero = llvm::Constant::getNullValue(floats);
  for (int64_t row = begin; row < std::min(end, place.trips[0]); ++row) {
    llvm::Value* loaded[2];
    for (int half = 0; half < 2; ++half) {
      llvm::Value* pointer = b_.CreateInBoundsGEP(
          b_.getInt8Ty(), first, b_.getInt64(static_cast<uint64_t>(row * place.distance + half * kTileRowBytes)));
      const int64_t here = std::clamp<int64_t>(cells - half * kLanes, 0, kLanes);
      std::vector<llvm::Constant*> exists;
      for (int64_t lane = 0; lane < kLanes; ++lane) exists.push_back(b_.getInt1(lane < here));
      loaded[half] = zero;
      if (here == kLanes) loaded[half] = b_.CreateAlignedLoad(floats, pointer, llvm::Align(4));
      if (here > 0 && here < kLanes)
        loaded[half] = b_.CreateMaskedLoad(floats, pointer, llvm::Align(4), llvm::ConstantVector::get(exists), zero);
    }
    std::array<std::array<llvm::Value*, kPartTiles>, 2> parts;
    for (size_t turn = 0; turn < 2; ++turn)
      parts[turn] = unit.in_bf16_parts(b_, b_.CreateShuffleVector(loaded[0], loaded[1], turns[turn]));
    for (size_t part = 0; part < kPartTiles; ++part) {
      const int64_t at = (static_cast<int64_t>(part) * kTileRows + row) * kTileRowBytes;
      llvm::Value* to = b_.CreateInBoundsGEP(b_.getInt8Ty(), stage, b_.getInt64(static_cast<uint64_t>(at)));
      b_.CreateAlignedStore(unit.joined_halves(b_, parts[0][part], parts[1][part]), to, llvm::Align(64));
    }
  }
}

/// An operand in parts, one tile after the other on the stack. Where a loop moves it evenly, the next iteration's is
/// cut while this one's products run: stores that have just been made would keep the loads of tiles waiting.
llvm::Value* TileParts::in_parts(const TilePlace& place) {
  constexpr int64_t kBytes = kPartTiles * kTileRows * kTileRowBytes;
  const std::string key = place.key() + ":parts";
  if (llvm::Value* known = loads_.value(key)) return known;
  const auto slot = static_cast<size_t>(std::count_if(loads_.all().begin(), loads_.all().end(),
                                                      [](const auto& one) { return one.first.ends_with(":parts"); }));
  if (slot == stages_.size()) {
    stages_.push_back(on_stack(b_.getInt8Ty(), 2 * kBytes, "parts"));
  }
  llvm::Value* stage = stages_[slot];
  llvm::Value* here = places_.pointer_to(place.buffer, place.first);
  const int64_t moved = streams_ ? place.first.coefficient(streams_->var) : 0;
  const Affine still = moved != 0 ? place.first - Affine::variable(streams_->var, moved) : Affine{};
  if (moved == 0 || !streams_->is_entered || streams_->stored[place.buffer] ||
      streams_->bases[place.buffer] != bases_[place.buffer] || strides_.moves(still, streams_->var)) {
    cut_in_parts(place, here, stage, 0, kTileRows);
    loads_.note(key, {stage});
    return stage;
  }
  llvm::Type* type = scalar_.memory_type(nest_.buffers[place.buffer].type);
  llvm::PHINode *now = llvm::PHINode::Create(b_.getPtrTy(), 2, "", streams_->header->begin()),
                *next = llvm::PHINode::Create(b_.getPtrTy(), 2, "", streams_->header->begin());
  {
    const llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(streams_->before->getTerminator());
    integers_.exchange(streams_->integers);
    llvm::Value* first = b_.CreateInBoundsGEP(type, places_.pointer_to(place.buffer, still),
                                              b_.CreateMul(streams_->lo, b_.getInt64(static_cast<uint64_t>(moved))));
    integers_.exchange(streams_->integers);
    cut_in_parts(place, first, stage, 0, kTileRows);
    now->addIncoming(stage, streams_->before);
    next->addIncoming(b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), stage, kBytes), streams_->before);
  }
  streams_->exchanged.emplace_back(now, next);
  llvm::Value* is_last = b_.CreateICmpSGE(
      b_.CreateAdd(variables_.value(streams_->var), b_.getInt64(static_cast<uint64_t>(streams_->step))), streams_->hi);
  llvm::Value* then = b_.CreateSelect(
      is_last, here, b_.CreateConstInBoundsGEP1_64(type, here, static_cast<uint64_t>(moved * streams_->step)));
  uncut_.push_back({place, then, next, 0});
  loads_.note(key, {now});
  return now;
}

/// The next iteration's operands, in so many turns of like size: the rows that are left in this one.
void TileParts::cut_ahead(int64_t turns) {
  int64_t rows = 0;
  for (const Uncut& one : uncut_) rows += kTileRows - one.row;
  rows = (rows + turns - 1) / turns;
  for (Uncut& one : uncut_) {
    const int64_t here = std::min(rows, kTileRows - one.row);
    cut_in_parts(one.place, one.first, one.stage, one.row, one.row + here);
    one.row += here;
    rows -= here;
  }
  std::erase_if(uncut_, [](const Uncut& one) { return one.row >= kTileRows; });
}

}  // namespace polyweft::targets
