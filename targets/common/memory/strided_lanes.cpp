#include "targets/common/memory/strided_lanes.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace polyweft::targets {
namespace {

constexpr int64_t kPieceBytes = 16;
constexpr int64_t kMostPermuted =
    4;  // columns that permutations of two vectors take apart; more take fewer exchanges of pieces

std::vector<int> interleaved_lanes(int lanes, int part, int group, bool high) {
  std::vector<int> out;
  for (int at = 0; at < lanes; at += part)
    for (int p = 0; p < part; ++p) {
      const int q = p / group;
      out.push_back((q % 2) * lanes + at + (q / 2) * group + p % group + (high ? part / 2 : 0));
    }
  return out;
}

// Vector k of w has rows k, k + w, ..; column c of them all becomes vector c, rows in order. Its own inverse.
std::vector<llvm::Value*> transposed_groups(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& rows, int part,
                                            int group = 1) {
  if (rows.size() == 1) return rows;
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(rows[0]->getType())->getNumElements());
  std::vector<llvm::Value*> out;
  for (const bool high : {false, true}) {
    std::vector<llvm::Value*> half;
    for (size_t k = 0; k < rows.size(); k += 2)
      half.push_back(b.CreateShuffleVector(rows[k], rows[k + 1], interleaved_lanes(lanes, part, group, high)));
    half = transposed_groups(b, half, part, 2 * group);
    out.insert(out.end(), half.begin(), half.end());
  }
  return out;
}

llvm::Value* joined_pieces(llvm::IRBuilder<>& b, std::vector<llvm::Value*> pieces) {
  while (pieces.size() > 1) {
    const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(pieces[0]->getType())->getNumElements());
    std::vector<int> both;
    for (int k = 0; k < 2 * lanes; ++k) both.push_back(k);
    std::vector<llvm::Value*> next;
    for (size_t k = 0; k < pieces.size(); k += 2) next.push_back(b.CreateShuffleVector(pieces[k], pieces[k + 1], both));
    pieces = std::move(next);
  }
  return pieces[0];
}

// Element k is element from[k] of the vectors, one after the other; any where from[k] is negative.
llvm::Value* permuted(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& vectors, const std::vector<int>& from) {
  const int lanes = static_cast<int>(from.size());
  llvm::Value* out = nullptr;
  for (int v = 0; v < static_cast<int>(vectors.size()); ++v) {
    std::vector<int> mask(from.size(), -1);
    bool adds = false;
    for (int k = 0; k < lanes; ++k) {
      if (from[static_cast<size_t>(k)] < 0) continue;
      const int vector = from[static_cast<size_t>(k)] / lanes;
      if (vector == v) adds = true, mask[static_cast<size_t>(k)] = lanes + from[static_cast<size_t>(k)] % lanes;
      if (vector < v) mask[static_cast<size_t>(k)] = k;
    }
    if (!adds) continue;
    out = b.CreateShuffleVector(out ? out : llvm::PoisonValue::get(vectors[0]->getType()),
                                vectors[static_cast<size_t>(v)], mask);
  }
  return out;
}

}  // namespace

std::optional<StridedLanes::Rows> StridedLanes::strided_lanes(BufferId id, const Affine& offset) const {
  const int64_t stride = offset.coefficient(kLane);
  const Affine rest = offset - Affine::variable(kLane, stride);
  if (lanes_.width < 4 || !std::has_single_bit(lanes_.width) || stride < 2 || strides_.is_symbolic(id) ||
      uses(rest, kLane))
    return std::nullopt;
  const int64_t column = (rest.constant % stride + stride) % stride;
  return Rows{rest - Affine::of(column), stride, column};
}

bool StridedLanes::permutes_columns(ElementType type, int64_t stride) const {
  const int64_t bytes = size_bytes(type);
  return stride == 2 || (stride <= kMostPermuted && scalar_.can().line_permutes && bytes >= 4 &&
                         bytes * static_cast<int64_t>(lanes_.width) <= kLineBytes);
}

llvm::Value* StridedLanes::load_strided(const Access& access) {
  const ElementType type = nest_.buffers[access.id].type;
  if (registers_.is_short(access.id) || has_data(access)) return nullptr;
  const Affine offset = places_.offset_of(access, nullptr);
  const auto strided = strided_lanes(access.id, offset);
  if (!strided || strided->stride < 3) return nullptr;
  Place place;
  places_.name_place(place, access.id, offset);
  if (llvm::Value* known = loads_.value(place.key)) return known;
  const auto width = static_cast<int64_t>(lanes_.width);
  const int64_t piece =
      std::bit_floor(static_cast<uint64_t>(std::min({strided->stride, kPieceBytes / size_bytes(type), width})));
  const int64_t active = masks_.lanes_that_may_be_active();
  const auto note = [&](int64_t column, llvm::Value* value) {
    const Affine at = strided->row + Affine::of(column) + Affine::variable(kLane, strided->stride);
    Place own;
    places_.name_place(own, access.id, at);
    value = scalar_.from_memory(value, type);
    loads_.note(own.key, {masks_.with_zeros(value), KnownLoads::Span{access.id, at, lanes_.width}});
  };
  if (permutes_columns(type, strided->stride) &&
      places_.lies_inside(access.id, strided->row, active * strided->stride)) {
    columns_of_vectors(access.id, *strided, note);
  } else {
    const int64_t first = std::min(strided->column / piece * piece, strided->stride - piece);
    const Affine low = strided->row + Affine::of(first);
    if (piece < 2 || !places_.lies_inside(access.id, low, (active - 1) * strided->stride + piece)) return nullptr;
    columns_of_pieces(access.id, low, {strided->row, strided->stride, piece},
                      [&](int64_t c, llvm::Value* value) { note(first + c, value); });
  }
  return loads_.value(place.key);
}

void StridedLanes::columns_of_vectors(BufferId id, const Rows& rows,
                                      const std::function<void(int64_t, llvm::Value*)>& note) {
  const auto width = static_cast<int64_t>(lanes_.width), active = masks_.lanes_that_may_be_active();
  llvm::Type* memory = scalar_.memory_type(nest_.buffers[id].type);
  auto* vector = llvm::FixedVectorType::get(memory, lanes_.width);
  const llvm::Align align(static_cast<uint64_t>(size_bytes(nest_.buffers[id].type)));
  const Place first = places_.place_at(id, rows.row);
  std::vector<llvm::Value*> all;
  for (int64_t v = 0; v * width < active * rows.stride; ++v) {
    llvm::Value* pointer = b_.CreateInBoundsGEP(memory, first.pointer, b_.getInt64(static_cast<uint64_t>(v * width)));
    const int64_t count = std::min(active * rows.stride - v * width, width);
    const bool is_whole = count == width || places_.lies_inside(id, rows.row, (v + 1) * width);
    all.push_back(is_whole ? static_cast<llvm::Value*>(b_.CreateAlignedLoad(vector, pointer, align))
                           : b_.CreateMaskedLoad(vector, pointer, align, masks_.first_lanes(count),
                                                 llvm::Constant::getNullValue(vector)));
  }
  for (int64_t c = 0; c < rows.stride; ++c) {
    std::vector<int> from;
    for (int64_t lane = 0; lane < width; ++lane)
      from.push_back(lane < active ? static_cast<int>(lane * rows.stride + c) : llvm::PoisonMaskElem);
    note(c, permuted(b_, all, from));
  }
}

/// `piece.column` elements of each row, from `low` in lane 0's; of rows whose lanes are known to be off none.
void StridedLanes::columns_of_pieces(BufferId id, const Affine& low, const Rows& piece,
                                     const std::function<void(int64_t, llvm::Value*)>& note) {
  const int64_t w = piece.column, width = static_cast<int64_t>(lanes_.width),
                active = masks_.lanes_that_may_be_active();
  llvm::Type* memory = scalar_.memory_type(nest_.buffers[id].type);
  auto* part = llvm::FixedVectorType::get(memory, static_cast<unsigned>(w));
  const llvm::Align align(static_cast<uint64_t>(size_bytes(nest_.buffers[id].type)));
  const Place first = places_.place_at(id, low);
  std::vector<llvm::Value*> rows;
  for (int64_t k = 0; k < w; ++k) {
    std::vector<llvm::Value*> pieces;
    for (int64_t row = k; row < width; row += w)
      pieces.push_back(row < active ? static_cast<llvm::Value*>(b_.CreateAlignedLoad(
                                          part,
                                          b_.CreateInBoundsGEP(memory, first.pointer,
                                                               b_.getInt64(static_cast<uint64_t>(row * piece.stride))),
                                          align))
                                    : llvm::PoisonValue::get(part));
    rows.push_back(joined_pieces(b_, std::move(pieces)));
  }
  const auto columns = transposed_groups(b_, rows, static_cast<int>(w));
  for (int64_t c = 0; c < w; ++c) note(c, columns[static_cast<size_t>(c)]);
}

bool StridedLanes::store_later(const Access& access, llvm::Value* value) {
  if (has_data(access) || lanes_.mask || lanes_.guarded || lanes_.non_temporal) return false;
  const Affine offset = places_.offset_of(access, nullptr);
  const auto strided = strided_lanes(access.id, offset);
  if (!strided) return false;
  const std::string key =
      std::to_string(access.id) + ":" + key_of(strided->row) + "/" + std::to_string(strided->stride);
  for (auto at = waiting_.begin(); at != waiting_.end();)  // others of the buffer keep their order
    at = at->first != key && may_share(at->second.buffer, access.id) ? write_waiting(at) : std::next(at);
  Waiting& group = waiting_[key];
  group.buffer = access.id;
  group.rows = *strided;
  group.columns[strided->column] = scalar_.to_memory(scalar_.splat(value, lanes_.width), nest_.buffers[access.id].type);
  Place place;
  places_.name_place(place, access.id, offset);
  loads_.forget_loads(access.id, place);
  if (static_cast<int64_t>(group.columns.size()) == strided->stride) write_waiting(waiting_.find(key));
  return true;
}

bool StridedLanes::may_share(BufferId a, BufferId b) const {
  return a == b || std::find(variables_.context().sharers(a).begin(), variables_.context().sharers(a).end(), b) !=
                       variables_.context().sharers(a).end();
}

void StridedLanes::write_waiting_of(BufferId id) {
  for (auto at = waiting_.begin(); at != waiting_.end();)
    at = may_share(at->second.buffer, id) ? write_waiting(at) : std::next(at);
}

void StridedLanes::write_all_waiting() {
  while (!waiting_.empty()) write_waiting(waiting_.begin());
}

std::map<std::string, StridedLanes::Waiting>::iterator StridedLanes::write_waiting(
    std::map<std::string, Waiting>::iterator at) {
  const Waiting group = std::move(at->second);
  const auto next = waiting_.erase(at);
  const ElementType type = nest_.buffers[group.buffer].type;
  if (static_cast<int64_t>(group.columns.size()) == group.rows.stride && permutes_columns(type, group.rows.stride)) {
    store_vectors(group);
    return next;
  }
  for (auto first = group.columns.begin(); first != group.columns.end();) {
    std::vector<llvm::Value*> run;
    auto column = first;
    for (; column != group.columns.end() && column->first == first->first + static_cast<int64_t>(run.size()); ++column)
      run.push_back(column->second);
    store_run(group, first->first, run);
    first = column;
  }
  return next;
}

void StridedLanes::store_vectors(const Waiting& group) {
  const int64_t width = static_cast<int64_t>(lanes_.width), stride = group.rows.stride;
  llvm::Type* memory = scalar_.memory_type(nest_.buffers[group.buffer].type);
  const Place place = places_.place_at(group.buffer, group.rows.row);
  std::vector<llvm::Value*> columns;
  for (const auto& [column, value] : group.columns) columns.push_back(value);
  for (int64_t v = 0; v < stride; ++v) {
    std::vector<int> from;
    for (int64_t e = v * width; e < (v + 1) * width; ++e)
      from.push_back(static_cast<int>(e % stride * width + e / stride));
    b_.CreateAlignedStore(permuted(b_, columns, from),
                          b_.CreateInBoundsGEP(memory, place.pointer, b_.getInt64(static_cast<uint64_t>(v * width))),
                          llvm::Align(static_cast<uint64_t>(size_bytes(nest_.buffers[group.buffer].type))));
  }
}

/// Columns side by side, in pieces; the last piece may write what the one before it wrote, again.
void StridedLanes::store_run(const Waiting& group, int64_t first, const std::vector<llvm::Value*>& columns) {
  const ElementType type = nest_.buffers[group.buffer].type;
  const auto count = static_cast<int64_t>(columns.size()), width = static_cast<int64_t>(lanes_.width);
  const auto w = static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::min({count, kPieceBytes / size_bytes(type), width}))));
  if (w == 1) {
    for (int64_t c = 0; c < count; ++c) {
      const Affine offset = group.rows.row + Affine::of(first + c) + Affine::variable(kLane, group.rows.stride);
      llvm::Value* const mask = lanes_.mask;
      masks_.set_mask(nullptr);  // all lanes were stored, whatever condition holds now
      accesses_.store_place(places_.place_at(group.buffer, offset), type,
                            scalar_.from_memory(columns[static_cast<size_t>(c)], type));
      masks_.set_mask(mask);
    }
    return;
  }
  llvm::Type* memory = scalar_.memory_type(type);
  const llvm::Align align(static_cast<uint64_t>(size_bytes(type)));
  const Place place = places_.place_at(group.buffer, group.rows.row);
  for (int64_t begin = 0; begin < count; begin += w) {
    const int64_t c = std::min(begin, count - w);
    const auto rows = transposed_groups(b_, {columns.begin() + c, columns.begin() + c + w}, static_cast<int>(w));
    for (int64_t row = 0; row < width; ++row) {
      std::vector<int> part;
      for (int64_t e = 0; e < w; ++e) part.push_back(static_cast<int>(row / w * w + e));
      llvm::Value* at = b_.CreateInBoundsGEP(memory, place.pointer,
                                             b_.getInt64(static_cast<uint64_t>(row * group.rows.stride + first + c)));
      b_.CreateAlignedStore(b_.CreateShuffleVector(rows[static_cast<size_t>(row % w)], part), at, align);
    }
  }
}

}  // namespace polyweft::targets
