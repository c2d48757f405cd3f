#include "ir/passes/block_copies.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ir/nests/row_walk.h"
#include "ir/nests/walk_nest.h"

namespace polyweft::ir {
namespace {

std::optional<BlockCopy> block_copy_by(const Copy& copy) {
  if (!copy.has_src || !copy.valid.is_true() || copy.dst.index.size() != copy.src.index.size()) return std::nullopt;
  BlockCopy out{copy.dst.id, copy.src.id, {}};
  for (size_t d = 0; d < copy.dst.index.size(); ++d) {
    if (copy.src.index[d].data) return std::nullopt;
    out.offset.push_back(copy.src.index[d].affine - copy.dst.index[d].affine);
  }
  return out;
}

/// Writes one copy.
class Divider {
 public:
  Divider(const LoopNest& in, LoopNest& out, const BlockMemory& memory, const BlockCopy& copy,
          const CopyingThreads& threads, VariableValues values)
      : in_(in),
        out_(out),
        memory_(memory),
        copy_(copy),
        threads_(threads),
        values_(std::move(values)),
        to_(memory.hoisted(copy.to)) {}

  NodeId run() {
    measure();
    choose_vectors();
    divide();
    return write();
  }

 private:
  /// Numbers of threads, and how many.
  struct Rows {
    Affine number = Affine::of(0);
    int64_t count = 1;
  };

  /// The box, with what rows of threads have of their own.
  void measure() {
    extents_ = in_.buffers[copy_.to].extents;
    for (size_t t = 0; t < threads_.rows.size(); ++t) {
      const ThreadLoop& row = threads_.rows[t];
      rows_.push_back({row.number, row.threads});
      if (!to_.is_told_apart[t]) continue;
      const Extremes range = memory_.range_of(row.var);
      for (size_t d = 0; d < extents_.size(); ++d) {
        const int64_t by = to_.shift[d].coefficient(row.var);
        if (by < 0) refuse_threads("rows of threads whose copies run backwards");
        extents_[d] += by * (range.most - range.least);
      }
      const Affine& least = threads_.least.at(row.var);
      values_[row.var] = least;
      if (least == Affine::of(range.least)) first_rows_[row.var] = least;
    }
    last_ = extents_.size() - 1;
    for (const Affine& offset : copy_.offset) {
      reach_.push_back(memory_.range_of(substitute(offset, first_rows_)));
      from_.push_back(substitute(offset, values_));
    }
  }

  bool leaves_tensor(size_t d) const {
    return reach_[d].least < 0 || reach_[d].most + extents_[d] > in_.buffers[copy_.from].extents[d];
  }

  void choose_vectors() {
    const Buffer& to = out_.buffers[copy_.to];
    const auto is_row = [&](const Buffer& buffer) {
      return !buffer.layout.pieces.empty() && buffer.layout.pieces.back().dim + 1 == buffer.extents.size();
    };
    vectors_ = is_row(to) && is_row(in_.buffers[copy_.from]) ? copy_.vectors : 1;
    const auto fits = [&](int64_t v) {
      return extents_[last_] % v == 0 && memory_.divisor_of(to_.shift[last_]) % v == 0 &&
             to.layout.pieces.back().factor % v == 0 &&
             (!leaves_tensor(last_) ||
              (memory_.divisor_of(copy_.offset[last_]) % v == 0 && in_.buffers[copy_.from].extents[last_] % v == 0));
    };
    while (vectors_ > 1 && !fits(vectors_)) vectors_ /= 2;
  }

  /// Threads along x take what is contiguous; those beyond, and rows of threads, another dimension: one that they fill
  /// evenly, else the longest.
  void divide() {
    by_.assign(extents_.size(), {});
    units_ = extents_;
    units_[last_] /= vectors_;
    Rows x{threads_.x, threads_.width};
    if (const int64_t row = units_[last_]; extents_.size() > 1 && row < x.count && x.count % row == 0) {
      rows_.insert(rows_.begin(), {floor_div(x.number, row), x.count / row});
      x = {modulo(x.number, row), row};
    }
    by_[last_] = x;
    for (const Rows& rows : rows_) {
      size_t best = last_;
      for (size_t d = last_; d-- > 0;) {
        if (by_[d].count > 1 || extents_[d] == 1) continue;
        const bool is_even = extents_[d] % rows.count == 0;
        if (is_even || best == last_ || extents_[d] > extents_[best]) best = d;
        if (is_even) break;
      }
      for (size_t d = last_; best == last_ && d-- > 0;)  // beside others along the same one
        if (extents_[d] % (by_[d].count * rows.count) == 0) best = d;
      if (best == last_)
        guards_.push_back(guard_ge0(Affine::of(0) - rows.number));
      else
        by_[best] = {rows.count * by_[best].number + rows.number, rows.count * by_[best].count};
    }
  }

  NodeId write() {
    std::vector<Loop> loops;
    std::vector<Affine> cell;
    for (size_t d = 0; d < units_.size(); ++d) {
      const auto& [number, count] = by_[d];
      Affine at = number;
      if (units_[d] > count) {
        loops.push_back(loop_to(units_[d], "c" + std::to_string(d)));
        loops.back().step = count;
        at = at + Affine::variable(loops.back().var);
      }
      if (units_[d] % count != 0) guards_.push_back(guard_ge0(Affine::of(units_[d] - 1) - at));
      cell.push_back(d == last_ ? vectors_ * at : at);
    }
    std::optional<Loop> lanes;
    if (vectors_ > 1) {
      lanes = loop_to(vectors_, "c.v");
      lanes->mark = {MarkKind::vector, static_cast<int32_t>(vectors_), ""};
    }
    Copy copy;
    copy.dst.id = copy_.to, copy.src.id = copy_.from;
    copy.fill.type = in_.buffers[copy_.to].type;
    for (size_t d = 0; d < units_.size(); ++d) {
      Subscript to_cell, from;
      to_cell.affine = cell[d];
      from.affine = cell[d] + from_[d];
      if (reach_[d].least < 0) guards_.push_back(guard_ge0(from.affine));
      const int64_t end = in_.buffers[copy_.from].extents[d];
      if (reach_[d].most + extents_[d] > end)
        guards_.push_back(guard_ge0(Affine::of(end - (d == last_ ? vectors_ : 1)) - from.affine));
      if (d == last_ && lanes)
        for (Affine* e : {&to_cell.affine, &from.affine}) *e = *e + Affine::variable(lanes->var);
      copy.dst.index.push_back(std::move(to_cell));
      copy.src.index.push_back(std::move(from));
    }
    copy.dst = memory_.moved(copy.dst, values_, threads_.x);
    NodeId made = out_.add(std::move(copy));
    const auto around = [&](Loop loop) {
      loop.body = made;
      made = out_.add(std::move(loop));
    };
    if (lanes) around(*lanes);
    if (!guards_.empty())
      made = out_.add(If{guards_.size() == 1 ? guards_[0] : guard_all(std::move(guards_)), made, kNoNode});
    for (size_t k = loops.size(); k-- > 0;) around(loops[k]);
    return made;
  }

  Loop loop_to(int64_t end, const std::string& name) {
    Loop out;
    out.var = out_.new_loop_var(name);
    out.lo.of = {Affine::of(0)}, out.hi.of = {Affine::of(end)};
    return out;
  }

  const LoopNest& in_;
  LoopNest& out_;
  const BlockMemory& memory_;
  const BlockCopy& copy_;
  const CopyingThreads& threads_;
  VariableValues values_;
  const HoistedCells& to_;
  size_t last_ = 0;
  std::vector<int64_t> extents_, units_;  ///< of the box; in vectors along the last dimension
  std::vector<Affine> from_;              ///< of elements from cells
  std::vector<Extremes> reach_;           ///< of that
  VariableValues first_rows_;             ///< the same box, in the variables of the nest that is read
  int64_t vectors_ = 1;
  std::vector<Rows> rows_, by_;  ///< of threads: all but those along x; who takes a dimension
  std::vector<Guard> guards_;
};

}  // namespace

std::optional<BlockCopy> block_copy_of(const LoopNest& in, const BlockMemory& memory, NodeId id) {
  std::optional<BlockCopy> out;
  std::set<VarId> own;
  bool is_copy = true;
  int64_t vectors = 1;
  walk_nodes(in, id, [&](const Node& node) {
    if (const auto* loop = std::get_if<Loop>(&node)) {
      own.insert(loop->var);
      if (loop->mark.kind == MarkKind::vector) vectors = std::max<int64_t>(vectors, loop->mark.width);
    }
    const auto* copy = std::get_if<Copy>(&node);
    is_copy &= !std::holds_alternative<Compute>(node) && !std::holds_alternative<Alloc>(node);
    if (!copy) return is_copy;
    const auto found = block_copy_by(*copy);
    is_copy &= found && (!out || (out->to == found->to && out->from == found->from && out->offset == found->offset));
    out = found;
    return is_copy;
  });
  if (!is_copy || !out || !memory.is_hoisted(out->to) || memory.is_hoisted(out->from) || memory.is_private(out->from) ||
      !in.buffers[out->from].folds.empty() || !in.buffers[out->to].folds.empty())
    return std::nullopt;
  for (const Affine& e : out->offset)
    for (VarId var : own)
      if (mentions(e, var)) return std::nullopt;
  out->vectors = vectors;
  return out;
}

NodeId divided_copy(const LoopNest& in, LoopNest& out, const BlockMemory& memory, const BlockCopy& copy,
                    const CopyingThreads& threads, VariableValues values) {
  return Divider(in, out, memory, copy, threads, std::move(values)).run();
}

}  // namespace polyweft::ir
