// Loops over rows that begin and end anywhere, several vectors each: the ends of a skewed sweep. One vector after the other, each behind tests of its own, such a row
// takes as long as their chains (118 cycles where a whole row of eight takes 65), and no value stays in a register from one row to the next. Where all lines around are
// memory of the buffer the loop has one straight block instead: all lanes are computed, side by side with those of the other rows, and stores leave lanes beside the row
// as they were.
#include <algorithm>

#include "targets/common/nest_code.h"

namespace polyweft::targets {
namespace {

constexpr int64_t kMostLanes = 64;
constexpr size_t kMostRows = 4;

NodeId only_child(const LoopNest& nest, NodeId id) {
  const auto* seq = id == kNoNode ? nullptr : std::get_if<Seq>(&nest.nodes[id]);
  return seq && seq->children.size() == 1 ? only_child(nest, seq->children[0]) : id;
}

template <class T>
const T* only(const LoopNest& nest, NodeId id) {
  const NodeId child = only_child(nest, id);
  return child == kNoNode ? nullptr : std::get_if<T>(&nest.nodes[child]);
}

}  // namespace

/// Loops and conditions around statements that move values to the cells in which they lie.
bool NestCode::does_nothing(NodeId id) {
  if (id == kNoNode) return true;
  if (idle_.empty()) idle_.assign(nest_.nodes.size(), -1);
  if (idle_[id] >= 0) return idle_[id] > 0;
  const Node& node = nest_.nodes[id];
  bool out = false;
  if (const auto* seq = std::get_if<Seq>(&node)) {
    out = std::all_of(seq->children.begin(), seq->children.end(), [&](NodeId child) { return does_nothing(child); });
  } else if (const auto* choice = std::get_if<If>(&node)) {
    out = does_nothing(choice->then) && does_nothing(choice->otherwise);
  } else if (const auto* loop = std::get_if<Loop>(&node)) {
    out = does_nothing(loop->body);
  } else if (const auto* compute = std::get_if<Compute>(&node); compute && compute->how == Write::store && compute->dst.size() == 1) {
    const Expr& value = compute->rhs[0];
    if (value->op == Op::read && value->access.id == compute->dst[0].id && !in_registers(value->access.id) && !is_symbolic(value->access.id) &&
        !has_data(value->access) && !has_data(compute->dst[0])) {
      std::vector<Affine> from, to;
      for (const Subscript& s : value->access.index) from.push_back(s.affine);
      for (const Subscript& s : compute->dst[0].index) to.push_back(s.affine);
      const Facts nothing;
      out = nothing.offset(nest_.buffers[value->access.id], from) == nothing.offset(nest_.buffers[value->access.id], to);
    } else if (value->op == Op::read) {
      out = ir::stays_in_place(nest_, *compute, value->access.id);
    }
  }
  idle_[id] = out;
  return out;
}

/// Arithmetic on floats, which does no harm to lanes whose operands are whatever memory holds.
bool NestCode::may_run_beside(const Expr& e, BufferId in_place) const {
  switch (e->op) {
    case Op::literal:
      return true;
    case Op::read:
      return e->access.id == in_place && !has_data(e->access);
    case Op::neg:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::fma:
    case Op::min:
    case Op::max:
      return is_float(e->type) && std::all_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return may_run_beside(arg, in_place); });
    default:
      return false;
  }
}

/// Runs `inside` with all lanes of a row's vector.
bool NestCode::at_vector(const CutRow& row, int64_t n, const std::function<bool()>& inside) {
  const unsigned outer = lanes_.width;
  substitution_[row.vectors->var] = row.first + Affine::of(n);
  lanes_.width = lanes_of(*row.lanes);
  facts_.set(kLane, VarFacts{0, row.lanes->mark.width - 1, 1});
  substitution_[row.lanes->var] = lane_0(*row.lanes) + Affine::variable(kLane);
  const bool out = inside();
  substitution_.erase(row.lanes->var);
  facts_.forget(kLane);
  lanes_.width = outer;
  substitution_.erase(row.vectors->var);
  return out;
}

/// The lines that the vector at hand reads and stores. False where one of its accesses has none.
bool NestCode::add_lines(const CutRow& row, std::vector<Affine>& lines) {
  const Affine lane = Affine::variable(kLane);
  const auto add = [&](const Access& access, bool may_turn) {
    if (const auto turned = turned_lines(access)) {
      lines.insert(lines.end(), {turned->low - lane, turned->high - lane});
      return may_turn;
    }
    const Affine offset = offset_of(access, nullptr);
    lines.push_back(offset - lane);
    return offset.coefficient(kLane) == 1 && !uses(offset - lane, kLane) && alignment_of(access.id, offset) >= kLineBytes;
  };
  const std::function<bool(const Expr&)> add_all = [&](const Expr& e) {
    return (e->op != Op::read || add(e->access, true)) && std::all_of(e->args.begin(), e->args.end(), add_all);
  };
  return add(row.compute->dst[0], false) && add_all(row.compute->rhs[0]);
}

std::optional<NestCode::CutRow> NestCode::cut_row(const Loop& vectors) {
  CutRow out;
  out.vectors = &vectors;
  out.lanes = only<Loop>(nest_, vectors.body);
  if (lanes_.width != 1 || vectors.mark.kind != MarkKind::unroll || vectors.step != 1 || vectors.lo.of.size() != 1 || !out.lanes) return std::nullopt;
  const Loop& loop = *out.lanes;
  out.first = fold(vectors.lo.of[0]);
  const auto count = constant_trips(vectors, out.first);
  out.compute = only<Compute>(nest_, loop.body);
  if (!count || *count < 2 || loop.mark.kind != MarkKind::vector || loop.mark.non_temporal || !first_lane(loop) || !out.compute || out.compute->how != Write::store ||
      out.compute->dst.size() != 1)
    return std::nullopt;
  out.buffer = out.compute->dst[0].id, out.count = *count;
  const Buffer& buffer = nest_.buffers[out.buffer];
  const int64_t width = loop.mark.width;
  const bool fits = width == static_cast<int64_t>(lanes_of(loop)) && width * size_bytes(buffer.type) == kLineBytes && width * out.count <= kMostLanes;
  if (!fits || !scalar_.units().scale || buffer.scope != Scope::heap || is_met_by_others_[out.buffer] || is_symbolic(out.buffer) || has_data(out.compute->dst[0]) ||
      !reads(out.compute->rhs[0], out.buffer) || !may_run_beside(out.compute->rhs[0], out.buffer))
    return std::nullopt;

  std::vector<Affine> lines;
  for (int64_t n = 0; n < out.count; ++n) {
    const bool is_next = at_vector(out, n, [&] {
      const Affine lane_0 = this->lane_0(loop);
      std::vector<Affine> late, lengths;
      for (const Affine& e : loop.hi.of) {
        const Affine length = fold(e) - lane_0;
        if (!length.is_constant()) lengths.push_back(length + Affine::of(n * width));
        if (length.is_constant() && length.constant < width) return false;
      }
      for (const Affine& e : loop.lo.of) {
        const Affine start = fold(e) - lane_0;
        if (!start.is_constant()) late.push_back(start + Affine::of(n * width));
        if (start.is_constant() && start.constant > 0) return false;
      }
      if (n == 0) out.late = late, out.lengths = lengths;
      return late == out.late && lengths == out.lengths && add_lines(out, lines);
    });
    if (!is_next) return std::nullopt;
  }
  if (out.late.empty() || out.lengths.empty()) return std::nullopt;
  out.line = lines[0];
  for (const Affine& line : lines) {
    const Affine apart = line - out.line;
    if (!apart.is_constant()) return std::nullopt;
    out.before = std::min(out.before, apart.constant), out.after = std::max(out.after, apart.constant);
  }
  return out;
}

bool NestCode::are_same(const Expr& a, const Expr& b) const {
  const auto same_access = [&](const Access& x, const Access& y) {
    if (x.id != y.id || x.index.size() != y.index.size() || has_data(x) || has_data(y)) return false;
    for (size_t d = 0; d < x.index.size(); ++d)
      if (!(fold(x.index[d].affine) == fold(y.index[d].affine))) return false;
    return true;
  };
  if (a->op != b->op || a->type != b->type || a->args.size() != b->args.size()) return false;
  if (a->op == Op::literal) return equal(a, b);
  if (a->op == Op::read && !same_access(a->access, b->access)) return false;
  for (size_t k = 0; k < a->args.size(); ++k)
    if (!are_same(a->args[k], b->args[k])) return false;
  return true;
}

/// Does the loop compute what the row does, in all lanes?
bool NestCode::is_whole_row_of(const Loop& vectors, const CutRow& row) {
  const auto* loop = only<Loop>(nest_, vectors.body);
  if (vectors.mark.kind != MarkKind::unroll || vectors.step != 1 || vectors.lo.of.size() != 1 || !loop || loop->mark.kind != MarkKind::vector ||
      loop->mark.width != row.lanes->mark.width || loop->mark.non_temporal || !first_lane(*loop))
    return false;
  const auto* compute = only<Compute>(nest_, loop->body);
  const Affine first = fold(vectors.lo.of[0]);
  if (!compute || compute->how != Write::store || compute->dst.size() != 1 || constant_trips(vectors, first) != row.count) return false;
  for (int64_t n = 0; n < row.count; ++n) {
    substitution_[vectors.var] = first + Affine::of(n);
    const Affine lane_0 = this->lane_0(*loop);
    const auto is_at = [&](const Bound& bound, int64_t by) {
      return std::all_of(bound.of.begin(), bound.of.end(), [&](const Affine& e) { return fold(e) - lane_0 == Affine::of(by); });
    };
    substitution_[loop->var] = lane_0 + Affine::variable(kLane);
    const bool is_same = is_at(loop->lo, 0) && is_at(loop->hi, loop->mark.width) && at_vector(row, n, [&] {
                           return are_same(make_read(row.compute->rhs[0]->type, compute->dst[0]), make_read(row.compute->rhs[0]->type, row.compute->dst[0])) &&
                                  are_same(compute->rhs[0], row.compute->rhs[0]);
                         });
    substitution_.erase(loop->var);
    substitution_.erase(vectors.var);
    if (!is_same) return false;
  }
  return true;
}

/// The rows of one iteration, all there is in it, and the conditions under which this is so. False where there is something else.
bool NestCode::gather_rows(NodeId id, VarId along, std::vector<Guard>& around, std::vector<CutRow>& rows) {
  if (does_nothing(id)) return true;
  const Node& node = nest_.nodes[id];
  if (const auto* seq = std::get_if<Seq>(&node))
    return std::all_of(seq->children.begin(), seq->children.end(), [&](NodeId child) { return gather_rows(child, along, around, rows); });
  const auto add = [&](const Loop& loop, std::optional<Guard> whole) {
    auto row = cut_row(loop);
    if (!row || rows.size() == kMostRows) return false;
    row->whole = std::move(whole);
    row->at = substitution_;
    rows.push_back(std::move(*row));
    return true;
  };
  if (const auto* choice = std::get_if<If>(&node)) {
    const Guard condition = fold(choice->condition);
    const auto known = facts_.decide(condition);
    if (known) return gather_rows(*known ? choice->then : choice->otherwise, along, around, rows);
    const std::function<bool(const Guard&)> is_moved = [&](const Guard& g) {
      const bool is_test = g.kind == Guard::Kind::ge0 || g.kind == Guard::Kind::eq0;
      return is_test ? moves(g.e, along) : std::any_of(g.of.begin(), g.of.end(), is_moved);
    };
    if (!is_moved(condition)) {
      around.push_back(condition);
      return gather_rows(choice->then, along, around, rows);
    }
    const auto *whole = only<Loop>(nest_, choice->then), *cut = only<Loop>(nest_, choice->otherwise);
    return whole && cut && add(*cut, condition) && is_whole_row_of(*whole, rows.back());
  }
  const auto* loop = std::get_if<Loop>(&node);
  if (!loop || loop->mark.kind != MarkKind::unroll) return false;
  const auto* inner = only<Loop>(nest_, loop->body);
  if (inner && inner->mark.kind == MarkKind::vector) return add(*loop, std::nullopt);
  if (loop->lo.of.size() != 1 || loop->step != 1) return false;
  const Affine lo = fold(loop->lo.of[0]);
  const auto trips = constant_trips(*loop, lo);
  bool out = trips.has_value() && *trips <= static_cast<int64_t>(kMostRows);
  for (int64_t n = 0; out && n < *trips; ++n) {
    substitution_[loop->var] = lo + Affine::of(n);
    out = gather_rows(loop->body, along, around, rows);
  }
  substitution_.erase(loop->var);
  return out;
}

void NestCode::emit_row(const CutRow& row) {
  const auto outer_substitution = substitution_;
  substitution_ = row.at;
  const int64_t width = row.lanes->mark.width;
  llvm::Value *start = b_.getInt64(0), *end = b_.getInt64(static_cast<uint64_t>(row.count * width)), *all = b_.getInt64(~uint64_t{0});
  for (const Affine& late : row.late) start = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, start, integer(late));
  for (const Affine& length : row.lengths) end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, integer(length));
  llvm::Value* count = b_.CreateSub(end, start);
  llvm::Value* active = b_.CreateShl(b_.CreateLShr(all, b_.CreateSub(b_.getInt64(kMostLanes), count)), start);
  active = b_.CreateSelect(b_.CreateICmpSGT(count, b_.getInt64(0)), active, b_.getInt64(0));
  if (row.whole) active = b_.CreateSelect(condition(*row.whole), all, active);
  const Lanes outer = lanes_;
  lanes_.active = width;
  lanes_.prefetch = row.lanes->mark.prefetch.empty() ? nullptr : &row.lanes->mark.prefetch;
  for (int64_t n = 0; n < row.count; ++n)
    at_vector(row, n, [&] {
      llvm::Value* bits = b_.CreateTrunc(b_.CreateLShr(active, b_.getInt64(static_cast<uint64_t>(n * width))), b_.getIntNTy(lanes_.width));
      lanes_.stored = b_.CreateBitCast(bits, llvm::FixedVectorType::get(b_.getInt1Ty(), lanes_.width));
      emit(row.lanes->body);
      return true;
    });
  lanes_ = outer;
  integers_.clear();
  substitution_ = outer_substitution;
}

bool NestCode::cut_rows_loop(const Loop& loop) {
  if (loop.step != 1) return false;
  std::vector<Guard> around;
  std::vector<CutRow> rows;
  facts_.set(loop.var, loop_facts(loop));
  const bool are_all = gather_rows(loop.body, loop.var, around, rows);
  facts_.forget(loop.var);
  const bool move = std::all_of(rows.begin(), rows.end(), [&](const CutRow& row) {
    const int64_t by = row.line.coefficient(loop.var);
    return by != 0 && !moves(row.line - Affine::variable(loop.var, by), loop.var);
  });
  if (!are_all || rows.empty() || !move) return false;

  llvm::Value* lo = bound(loop.lo, true);
  llvm::Value* last = b_.CreateSub(bound(loop.hi, false), b_.getInt64(1));
  llvm::Value* may = b_.CreateICmpSLE(lo, last);
  for (const Guard& guard : around) may = b_.CreateAnd(may, condition(guard));
  for (const CutRow& row : rows) {
    const int64_t by = row.line.coefficient(loop.var), most = allocated_elements(nest_.buffers[row.buffer]) - row.lanes->mark.width - row.after;
    llvm::Value* still = integer(row.line - Affine::variable(loop.var, by));
    for (llvm::Value* at : {lo, last}) {
      llvm::Value* line = b_.CreateAdd(still, b_.CreateMul(at, b_.getInt64(static_cast<uint64_t>(by))));
      may = b_.CreateAnd(may, b_.CreateICmpSGE(line, b_.getInt64(static_cast<uint64_t>(-row.before))));
      may = b_.CreateAnd(may, b_.CreateICmpSLE(line, b_.getInt64(static_cast<uint64_t>(most))));
    }
  }
  const auto straight = [&] {
    serial_loop(loop, LoopBody{[&](llvm::Value*) {
                                 for (const CutRow& row : rows) emit_row(row);
                               },
                               0, true});
  };
  branch(may, straight, [&] { serial_loop(loop); });
  return true;
}

}  // namespace polyweft::targets
