// Tile units (TileUnit): eight registers of 16 rows of 64 bytes, switched on once in a function.
//
// Registers are numbered here and not by LLVM: sums take the first numbers and stay in them over the loops that only
// add to them (nest_tile_sums.cpp), operands share the others and are loaded once for all that use them between two
// loops. A sum's home in memory is a stack buffer, which all other code sees. Tiles at edges are whole tiles: what lies
// beyond is in cells that nobody reads, or is made zero where it would be added up.
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "targets/common/nest_code.h"
#include "targets/common/nest_walk.h"

namespace polyweft::targets {
namespace {

constexpr int kTiles = static_cast<int>(ir::kLiveTiles);
constexpr int64_t kProductsAfterCuts =
    3;  ///< of an iteration: tiles are loaded from lines that no store holds any more

bool is_tile_operand(const ir::Instruction::Operand& operand) {
  return operand.register_element == "tile16" && operand.register_lanes == kTileRowBytes;
}

}  // namespace

// Which nodes hold tile instructions and no parallel loop: tasks configure for themselves, and may run on this thread
// as well.
void NestCode::scan_for_tiles() {
  if (!hooks_.instructions.tile_unit() || !has_tiles(nest_)) return;
  tile_nodes_.assign(nest_.nodes.size(), false);
  tile_order_.resize(kTiles);
  std::iota(tile_order_.begin(), tile_order_.end(), 0);
  tile_stages_.assign(kTiles, nullptr);
  bool has_parallel = false;
  scan_for_tiles(nest_.root, has_parallel);
}

bool NestCode::scan_for_tiles(NodeId id, bool& has_parallel) {
  if (id == kNoNode) return false;
  bool has_tiles = false, parallel_inside = false;
  const Node& node = nest_.nodes[id];
  const auto look = [&](NodeId child) { has_tiles |= scan_for_tiles(child, parallel_inside); };
  if (const auto* seq = std::get_if<Seq>(&node)) std::for_each(seq->children.begin(), seq->children.end(), look);
  if (const auto* choice = std::get_if<If>(&node)) look(choice->then), look(choice->otherwise);
  if (const auto* alloc = std::get_if<Alloc>(&node)) look(alloc->body);
  if (const auto* loop = std::get_if<Loop>(&node)) {
    look(loop->body);
    parallel_inside |= loop->mark.kind == MarkKind::parallel;
    has_tiles |= is_tile_loop(*loop);
  }
  tile_nodes_[id] = has_tiles && !parallel_inside;
  has_parallel |= parallel_inside;
  return has_tiles;
}

void NestCode::with_tiles(NodeId id) {
  const bool used_before = uses_tiles_;
  uses_tiles_ = false;
  tiles_on_ = true;
  tile_settings_ = {hooks_.instructions.tile_unit()->switch_on(b_)};
  emit(id);
  release_tiles();
  tiles_on_ = false;
  if (!uses_tiles_)
    for (llvm::Instruction* setting : tile_settings_) setting->eraseFromParent();
  tile_settings_.clear();
  uses_tiles_ |= used_before;
}

void NestCode::release_tiles() {
  tile_settings_.push_back(hooks_.instructions.tile_unit()->switch_off(b_));
}

/// Where an access moves by a constant distance along each of the loops, and by these alone: the distances.
std::optional<NestCode::Strided> NestCode::strided(const Access& access, const std::vector<const Loop*>& loops) {
  const auto axis = [](size_t n) { return kAxis + static_cast<VarId>(n); };
  bool fits = !registers_.in_registers(access.id);
  for (const Subscript& s : access.index) fits = fits && !s.data;
  std::vector<int64_t> trips;
  for (const Loop* loop : loops) {
    const auto count = loop->step == 1 ? variables_.constant_trips(*loop, fold(loop->lo.of[0])) : std::nullopt;
    if (!count || *count < 1) fits = false;
    trips.push_back(count.value_or(0));
  }
  if (!fits) return std::nullopt;
  for (size_t n = 0; n < loops.size(); ++n) {
    variables_.set_facts(axis(n), {0, trips[n] - 1, 1});
    variables_.substitute(loops[n]->var,
                          fold(loops[n]->lo.of[0]) + (trips[n] > 1 ? Affine::variable(axis(n)) : Affine::of(0)));
  }
  std::vector<Affine> index;
  for (const Subscript& s : access.index) index.push_back(fold(s.affine));
  Strided out{facts_.offset(nest_.buffers[access.id], index), {}};
  for (size_t n = 0; n < loops.size(); ++n) {
    out.strides.push_back(out.first.coefficient(axis(n)));
    out.first = out.first - Affine::variable(axis(n), out.strides.back());
  }
  std::vector<VarId> used;
  collect_variables(out.first, used);
  for (size_t n = 0; n < loops.size(); ++n) {
    fits = fits && std::find(used.begin(), used.end(), axis(n)) == used.end();
    variables_.forget_facts(axis(n));
    variables_.end_substitution(loops[n]->var);
  }
  if (!fits) return std::nullopt;
  return out;
}

std::string NestCode::TilePlace::key(int part) const {
  std::string out = "tile" + (part > 0 ? std::to_string(part) + "/" : "") + std::to_string(buffer) + ":" +
                    key_of(first) + ":" + std::to_string(distance);
  for (int64_t n : trips) out += "," + std::to_string(n);
  return out;
}

/// The operand as rows of equal distance, each without gaps.
std::optional<NestCode::TilePlace> NestCode::tile_place(const ir::TensorMatch& match, size_t number) {
  const auto& own = match.instruction->operands[number];
  if (!is_tile_operand(own) || (number > 0 && !match.binding.access[number - 1])) return std::nullopt;
  const Access& access = number == 0 ? match.compute->dst[0] : *match.binding.access[number - 1];
  const Buffer& buffer = nest_.buffers[access.id];
  std::vector<const Loop*> loops;
  for (uint32_t axis : own.loops) loops.push_back(match.loops[axis]);
  const auto steps = strided(access, loops);
  if (!steps) return std::nullopt;
  TilePlace out;
  out.buffer = access.id;
  out.first = steps->first;
  out.rows_are_reduced = match.instruction->axes[own.loops[0]].is_reduced;
  const int64_t element = size_bytes(own.type);
  bool is_short = false, lacks_terms = false, has_gaps = false;
  int64_t stride = 1, reach = 0;
  for (size_t d = own.loops.size(); d-- > 0;) {
    const auto& axis = match.instruction->axes[own.loops[d]];
    const int64_t trips = *variables_.constant_trips(*loops[d], fold(loops[d]->lo.of[0]));
    has_gaps |= d > 0 && trips > 1 && steps->strides[d] != stride;
    out.strides.insert(out.strides.begin(), steps->strides[d]);
    if (d == 0) out.distance = trips > 1 ? steps->strides[0] * element : kTileRowBytes;
    reach += (axis.extent - 1) * (d > 0 ? stride : out.distance / element);
    out.trips.insert(out.trips.begin(), trips);
    out.extents.insert(out.extents.begin(), axis.extent);
    is_short |= trips < axis.extent;
    lacks_terms |= trips < axis.extent && axis.is_reduced;
    stride *= axis.extent;
  }
  const Interval range = facts_.range(out.first);
  const bool is_inside = out.distance >= 0 && range.lo >= 0 && range.hi + reach < allocated_elements(buffer);
  // Groups that are short everywhere lie closer together; a row of them fits one vector.
  int64_t span = 1;
  for (size_t d = 1; d < out.trips.size(); ++d) {
    if (out.trips[d] > 1 && out.strides[d] < 1) return std::nullopt;
    span += (out.trips[d] - 1) * out.strides[d];
  }
  out.parts = own.parts;
  if (out.parts > 1 && has_gaps) return std::nullopt;
  if (has_gaps && (!lacks_terms || span * element > kTileRowBytes)) return std::nullopt;
  out.is_staged = lacks_terms || (is_short && !is_inside);
  // A whole tile may be stored over cells of a home only; those past the edge are nobody's there.
  if (number == 0 && (out.is_staged || (is_short && buffer.scope != Scope::tile))) return std::nullopt;
  return out;
}

std::optional<NestCode::TilePlan> NestCode::tile_plan(const ir::TensorMatch& match) {
  if (lanes_.width > 1 || match.instruction->operands.size() != 3) return std::nullopt;
  TilePlan out;
  for (size_t number = 0; number < 3; ++number) {
    auto place = tile_place(match, number);
    if (!place) return std::nullopt;
    out.push_back(std::move(*place));
  }
  return out;
}

void NestCode::load_tile(int number, TileRows from, TileUse use) {
  uses_tiles_ = true;
  hooks_.instructions.tile_unit()->load(b_, number, from, use);
}

void NestCode::store_tile(int number, TileRows to) {
  uses_tiles_ = true;
  hooks_.instructions.tile_unit()->store(b_, number, to);
}

/// The number that was not used for longest, of those that hold neither a sum nor a pinned operand.
int NestCode::free_tile(const std::vector<int>& pinned) {
  const auto is_taken = [&](int number) {
    return std::find(pinned.begin(), pinned.end(), number) != pinned.end() ||
           std::any_of(sums_.begin(), sums_.end(), [&](const auto& sum) { return sum.second.first == number; });
  };
  for (int number : tile_order_) {
    if (is_taken(number)) continue;
    std::erase_if(tile_numbers_, [&](const auto& known) {
      if (known.second == number) loads_.erase(known.first);
      return known.second == number;
    });
    return number;
  }
  throw Refusal{fail("PW0501", "more than " + std::to_string(kTiles) + " tiles would be live at once")};
}

/// Does each block of sums read tiles of its own that are gone from the first cache when they are read again? Then they
/// should not push out the other operand's, which the next block reads again (a product of 1024 x 1024 bytes takes 0.83
/// of the time).
bool NestCode::passes_by(const TilePlace& place) const {
  constexpr int64_t kHalfOfFirstCache = 24 << 10;
  if (place.is_staged || around_tiles_ == 0) return false;
  const auto moves = [&](const OpenLoop& loop) { return place.first.coefficient(loop.var) != 0; };
  if (!moves(open_[around_tiles_ - 1])) return false;
  int64_t bytes = kTileRows * kTileRowBytes;
  for (size_t k = around_tiles_ - 1; k < open_.size(); ++k)
    if (moves(open_[k]) && bytes <= kHalfOfFirstCache) bytes *= open_[k].trips;
  return bytes > kHalfOfFirstCache;
}

/// Brings an operand into a tile, where it is not in one already.
int NestCode::tile_of(const TilePlace& place, int part, const std::vector<int>& pinned) {
  const std::string key = place.key(part);
  const bool is_known = loads_.contains(key) && tile_numbers_.contains(key);
  const int number = is_known ? tile_numbers_.at(key) : free_tile(pinned);
  if (!is_known) {
    const bool is_copied = place.is_staged || place.parts > 1;
    llvm::Value* pointer =
        place.parts > 1   ? b_.CreateInBoundsGEP(b_.getInt8Ty(), in_parts(place),
                                                 b_.getInt64(static_cast<uint64_t>(part * kTileRows * kTileRowBytes)))
        : place.is_staged ? staged(place, number)
                          : places_.pointer_to(place.buffer, place.first);
    const TileUse use = !is_copied && passes_by(place) ? TileUse::once : TileUse::again;
    load_tile(number, {pointer, is_copied ? kTileRowBytes : place.distance}, use);
    if (!is_copied) prefetch_tile(place, pointer);
    tile_numbers_[key] = number;
    loads_.note(key, {pointer});
  }
  std::erase(tile_order_, number);
  tile_order_.push_back(number);
  return number;
}

/// Asks the second cache for the lines of a later tile. Blocks one after the other that read this tile again each ask
/// for their share of its rows.
void NestCode::prefetch_tile(const TilePlace& place, llvm::Value* pointer) {
  constexpr uint32_t kRead = 0, kSecondCache = 2, kData = 1;
  if (!tile_prefetch_) return;
  const Buffer& buffer = nest_.buffers[place.buffer];
  for (const Prefetch& ahead : *tile_prefetch_) {
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
std::pair<llvm::Value*, int64_t> NestCode::rows_of_turn(const TilePlace& place) {
  const int64_t rows = place.trips[0];
  int64_t turns = 1;
  llvm::Value* turn = nullptr;
  for (size_t k = around_tiles_; k-- > 0 && turns < rows && place.first.coefficient(open_[k].var) == 0;) {
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
llvm::Value* NestCode::staged(const TilePlace& place, int number) {
  llvm::Value*& stage = tile_stages_[static_cast<size_t>(number)];
  if (!stage) {
    llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    auto* slot = entry.CreateAlloca(b_.getInt8Ty(), entry.getInt64(kTileRows * kTileRowBytes), "edge");
    slot->setAlignment(llvm::Align(64));
    stage = slot;
  }
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

/// Where a unit has stored no tile for some 1,500 cycles, its next store takes 900 (measured on the chip at hand): long
/// sums store an operand now and then to a line that nobody reads. In the innermost loop, around so many products.
void NestCode::keep_stores_awake(const Loop& loop, llvm::Value* iv, int64_t products) {
  constexpr int64_t kLongSum = 96, kProductsBetween = 32;
  if (products == 0 || sums_.empty() || tile_order_.empty() || around_tiles_ >= open_.size()) return;
  int64_t all = products;
  for (size_t k = around_tiles_; k < open_.size(); ++k) all *= open_[k].trips;
  if (all < kLongSum) return;
  const int64_t most = std::max<int64_t>(std::min(kProductsBetween / products, open_.back().trips), 1);
  const auto every = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most)));
  if (!unread_) {
    llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    auto* line = entry.CreateAlloca(b_.getInt8Ty(), entry.getInt64(kTileRowBytes), "unread");
    line->setAlignment(llvm::Align(kTileRowBytes));
    unread_ = line;
  }
  llvm::Value* turn = b_.CreateAnd(b_.CreateUDiv(iv, b_.getInt64(static_cast<uint64_t>(loop.step))),
                                   b_.getInt64(static_cast<uint64_t>(every - 1)));
  const int operand = tile_order_.back();
  branches_.branch(
      b_.CreateICmpEQ(turn, b_.getInt64(static_cast<uint64_t>(every - 1))),
      [&] {
        store_tile(operand, {unread_, 0});
      },
      [] {});
}

// D += A * B on tiles. D is in a tile already, or comes from memory and goes back.
void NestCode::tile_loop(const Loop& loop, const ir::TensorMatch& match) {
  const BufferId sum = match.compute->dst[0].id;
  const bool must_be_held =
      std::any_of(sums_.begin(), sums_.end(), [&](const auto& one) { return one.first.first == sum; });
  const auto plan = tile_plan(match);
  const auto held =
      plan && plan->front().first.is_constant() ? sums_.find({sum, plan->front().first.constant}) : sums_.end();
  const bool is_held = held != sums_.end();
  if (must_be_held && !is_held) throw Refusal{fail("PW0501", "a sum that is in a tile would be added to in memory")};
  if (!plan || !tiles_on_) return serial_loop(loop);
  tile_prefetch_ = loop.mark.prefetch.empty() ? nullptr : &loop.mark.prefetch;
  const TilePlace& result = plan->front();
  std::vector<int> numbers = {is_held ? held->second.first : free_tile({})};
  llvm::Value* home = is_held ? nullptr : places_.pointer_to(result.buffer, result.first);
  if (!is_held) load_tile(numbers[0], {home, result.distance});
  llvm::Type* number_type = b_.getInt8Ty();
  auto function = module_.getOrInsertFunction(
      match.instruction->call, llvm::FunctionType::get(b_.getVoidTy(), {number_type, number_type, number_type}, false));
  const auto number = [&](int n) { return b_.getInt8(static_cast<uint8_t>(n)); };
  for (int part = 0; part < std::max((*plan)[1].parts, (*plan)[2].parts); ++part) {
    const auto part_of = [&](size_t k) { return (*plan)[k].parts > 1 ? part : 0; };
    numbers.resize(1);
    // What is there already is pinned first: the second operand must not take its place.
    for (size_t k = 1; k < 3; ++k)
      if (const auto known = tile_numbers_.find((*plan)[k].key(part_of(k)));
          known != tile_numbers_.end() && loads_.contains(known->first))
        numbers.push_back(known->second);
    std::vector<int> operands;
    for (size_t k = 1; k < 3; ++k) {
      operands.push_back(tile_of((*plan)[k], part_of(k), numbers));
      numbers.push_back(operands.back());
    }
    make_room(numbers[0]);
    b_.CreateCall(function, {number(numbers[0]), number(operands[0]), number(operands[1])});
    ++tile_products_;
    cut_ahead(std::max<int64_t>(products_to_come_-- - kProductsAfterCuts, 1));
    // Parts serve a row of products, so that what they were multiplied with makes room first.
    const size_t whole = (*plan)[1].parts > 1 ? 1 : 0;
    if ((*plan)[2 - whole].parts > 1 && part + 1 == (*plan)[2 - whole].parts) {
      std::erase(tile_order_, operands[whole]);
      tile_order_.insert(tile_order_.begin(), operands[whole]);
    }
  }
  uses_tiles_ = true;
  if (is_held) return;
  store_tile(numbers[0], {home, result.distance});
  loads_.clear();
}

}  // namespace polyweft::targets
