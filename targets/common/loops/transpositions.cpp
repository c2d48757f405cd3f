#include "targets/common/loops/transpositions.h"

namespace polyweft::targets {
namespace {

constexpr int64_t kLeastTrips = 4;  // fewer are copied one by one
constexpr unsigned kMostTransposedLanes = 16;
constexpr unsigned kShuffleBytes = 16;  // shuffles of elements stay inside such parts; parts are exchanged whole

bool mentions(const Affine& e, VarId var) {
  for (const auto& term : e.terms) {
    if (!term.quasi && term.var == var) return true;
    if (term.quasi && (mentions(term.quasi->e, var) || mentions(term.quasi->lo, var) || mentions(term.quasi->hi, var)))
      return true;
  }
  return false;
}

bool is_step_of(const Affine& e, VarId var) {
  Affine rest = e - Affine::variable(var, e.coefficient(var));
  return !mentions(rest, var);
}

template <class T>
const T* only_inside(const LoopNest& nest, NodeId id) {
  while (id != kNoNode) {
    if (const auto* node = std::get_if<T>(&nest.nodes[id])) return node;
    const auto* seq = std::get_if<Seq>(&nest.nodes[id]);
    if (!seq || seq->children.size() != 1) return nullptr;
    id = seq->children[0];
  }
  return nullptr;
}

/// An element that moves as it is.
struct Move {
  const Access *src = nullptr, *dst = nullptr;
  const Guard* valid = nullptr;  ///< null: always
};

std::optional<Move> only_move(const LoopNest& nest, NodeId id) {
  if (const auto* copy = only_inside<Copy>(nest, id); copy && copy->has_src)
    return Move{&copy->src, &copy->dst, &copy->valid};
  const auto* compute = only_inside<Compute>(nest, id);
  if (!compute || compute->how != Write::store || compute->dst.size() != 1 || compute->rhs.size() != 1 ||
      compute->rhs[0]->op != Op::read)
    return std::nullopt;
  return Move{&compute->rhs[0]->access, &compute->dst[0], nullptr};
}

bool is_counted(const Loop& loop) {
  return loop.mark.kind == MarkKind::serial && loop.step == 1 && loop.lo.of.size() == 1;
}

bool has_gathers(const Access& access) {
  for (const auto& s : access.index)
    if (s.data) return true;
  return false;
}

// Which elements of [a, b] one shuffle takes.
std::vector<int> interleaved(unsigned lanes, unsigned part, unsigned group, bool high) {
  std::vector<int> out;
  for (unsigned at = 0; at < lanes; at += part)
    for (unsigned p = 0; p < part; ++p) {
      const unsigned q = p / group, element = (q / 2) * group + p % group + (high ? part / 2 : 0);
      out.push_back(static_cast<int>((q % 2) * lanes + at + element));
    }
  return out;
}
std::vector<int> every_other_part(unsigned lanes, unsigned part, bool odd) {
  std::vector<int> out;
  for (unsigned at = odd ? part : 0; at < 2 * lanes; at += 2 * part)
    for (unsigned p = 0; p < part; ++p) out.push_back(static_cast<int>(at + p));
  return out;
}

/// A vector and, for each lane, row * lanes + column of the square that it holds.
struct Held {
  llvm::Value* value = nullptr;
  std::vector<unsigned> cell;
};

Held shuffled(llvm::IRBuilder<>& b, const Held& x, const Held& y, const std::vector<int>& mask) {
  Held out;
  out.value = b.CreateShuffleVector(x.value, y.value, mask);
  const auto lanes = static_cast<unsigned>(mask.size());
  for (int m : mask)
    out.cell.push_back(static_cast<unsigned>(m) < lanes ? x.cell[static_cast<unsigned>(m)]
                                                        : y.cell[static_cast<unsigned>(m) - lanes]);
  return out;
}

/// Where rounds of exchanges are emitted.
struct Emission {
  llvm::IRBuilder<>& b;
  const InstructionHooks& hooks;
};

// The rounds of a square: elements are exchanged inside parts, then parts among vectors. `done` is a distance whose
// exchange has happened already. Code generation tries to fold every shuffle into those before it, in a time that grows
// with all paths through the rounds: 25 of the 43 ms that a packed product's selection took. So rounds are opaque to
// each other.
std::vector<llvm::Value*> after_rounds(Emission in, std::vector<Held> held, unsigned element_bytes, unsigned done) {
  const auto lanes = static_cast<unsigned>(held.size()), part = std::min(lanes, kShuffleBytes / element_bytes);
  for (unsigned distance = 1; distance < lanes; distance *= 2) {
    if (distance == done) continue;
    if ((distance > 1 || done > 0) && lanes >= 8 &&
        element_bytes >= 4)  // full registers; smaller squares have few paths
      for (Held& h : held) h.value = in.hooks.opaque(in.b, h.value);
    for (unsigned r = 0; r < lanes; ++r) {
      if (r & distance) continue;
      const Held x = held[r], y = held[r + distance];
      const bool inside = distance < part;
      held[r] = shuffled(in.b, x, y,
                         inside ? interleaved(lanes, part, distance, false) : every_other_part(lanes, part, false));
      held[r + distance] =
          shuffled(in.b, x, y, inside ? interleaved(lanes, part, distance, true) : every_other_part(lanes, part, true));
    }
  }
  std::vector<llvm::Value*> columns(lanes);
  for (const Held& h : held) columns[h.cell[0] % lanes] = h.value;
  return columns;
}

// Rows to columns in log2(lanes) rounds.
std::vector<llvm::Value*> transposed(Emission in, const std::vector<llvm::Value*>& rows, unsigned element_bytes) {
  const auto lanes = static_cast<unsigned>(rows.size());
  std::vector<Held> held(lanes);
  for (unsigned r = 0; r < lanes; ++r) {
    held[r].value = rows[r];
    for (unsigned c = 0; c < lanes; ++c) held[r].cell.push_back(r * lanes + c);
  }
  return after_rounds(in, std::move(held), element_bytes, 0);
}

// The same of rows in memory. Where they fill registers of four parts, one round is made by loads: the second half of a
// register is filled from memory by any of the ports that add, while exchanges in registers share one port. Row r
// begins at at_row(r).
std::vector<llvm::Value*> transposed_rows(Emission in, llvm::FixedVectorType* row,
                                          const std::function<llvm::Value*(unsigned)>& at_row, llvm::Align align) {
  llvm::IRBuilder<>& b = in.b;
  const unsigned lanes = row->getNumElements(), bytes = row->getScalarSizeInBits() / 8, half = lanes / 2,
                 part = kShuffleBytes / bytes;
  if (lanes * bytes != kLineBytes) {
    std::vector<llvm::Value*> rows;
    for (unsigned r = 0; r < lanes; ++r) rows.push_back(b.CreateAlignedLoad(row, at_row(r), align));
    return transposed(in, rows, bytes);
  }
  auto* half_row = llvm::FixedVectorType::get(row->getElementType(), half);
  std::vector<int> both;
  for (unsigned k = 0; k < lanes; ++k) both.push_back(static_cast<int>(k));
  const auto halves = [&](unsigned r, unsigned first) {
    Held out;
    llvm::Value* loaded[2];
    for (unsigned k = 0; k < 2; ++k) {
      loaded[k] = b.CreateAlignedLoad(
          half_row, b.CreateInBoundsGEP(row->getElementType(), at_row(r + k * part), b.getInt64(first)), align);
      for (unsigned c = 0; c < half; ++c) out.cell.push_back((r + k * part) * lanes + first + c);
    }
    out.value = b.CreateShuffleVector(loaded[0], loaded[1], both);
    return out;
  };
  std::vector<Held> held(lanes);
  for (unsigned r = 0; r < lanes; ++r)
    if (!(r & part)) held[r] = halves(r, 0), held[r + part] = halves(r, half);
  return after_rounds(in, std::move(held), bytes, part);
}

}  // namespace

std::optional<Transpositions::Transposition> Transpositions::transposition_of(const Loop& outer) {
  if (lanes_.width > 1 || !is_counted(outer)) return std::nullopt;
  const Loop* inner = only_inside<Loop>(nest_, outer.body);
  if (!inner || !is_counted(*inner)) return std::nullopt;
  const auto move = only_move(nest_, inner->body);
  if (!move) return std::nullopt;
  const Access &src = *move->src, &dst = *move->dst;
  if (registers_.in_registers(dst.id) || registers_.in_registers(src.id) || dst.id == src.id) return std::nullopt;
  if (has_gathers(src) || has_gathers(dst) || nest_.buffers[src.id].type != nest_.buffers[dst.id].type)
    return std::nullopt;
  for (const Bound* bound : {&inner->lo, &inner->hi})
    for (const Affine& e : bound->of)
      if (mentions(fold(e), outer.var)) return std::nullopt;
  variables_.set_facts(outer.var, variables_.loop_facts(outer));
  variables_.set_facts(inner->var, variables_.loop_facts(*inner));
  const bool is_whole = !move->valid || facts_.decide(fold(*move->valid)) == true;
  if (strides_.is_symbolic(src.id) || strides_.is_symbolic(dst.id)) return std::nullopt;
  const Affine from = places_.offset_of(src, nullptr), to = places_.offset_of(dst, nullptr);
  variables_.forget_facts(outer.var);
  variables_.forget_facts(inner->var);
  for (VarId var : {outer.var, inner->var})
    if (!is_step_of(from, var) || !is_step_of(to, var)) return std::nullopt;
  if (!is_whole) return std::nullopt;
  const bool rows_outside = from.coefficient(inner->var) == 1 && to.coefficient(outer.var) == 1;
  if (!rows_outside && (from.coefficient(outer.var) != 1 || to.coefficient(inner->var) != 1)) return std::nullopt;
  Transposition turn;
  turn.rows = rows_outside ? &outer : inner;
  turn.columns = rows_outside ? inner : &outer;
  turn.src = &src;
  turn.dst = &dst;
  turn.non_temporal =
      (outer.mark.non_temporal || inner->mark.non_temporal) && nest_.buffers[dst.id].scope == Scope::argument;
  turn.from = from;
  turn.to = to;
  turn.most_rows = variables_.most_trips(*turn.rows);
  // Columns of the result must not overlap, or the order would matter.
  if (std::abs(to.coefficient(turn.columns->var)) < turn.most_rows || turn.most_rows < kLeastTrips ||
      variables_.most_trips(*turn.columns) < kLeastTrips)
    return std::nullopt;
  return turn;
}

// Bottom-tested, guarded; nothing in it touches registers.
void Transpositions::counted_loop(llvm::Value* lo, llvm::Value* hi, int64_t step,
                                  const std::function<void(llvm::Value*)>& body) {
  auto& context = module_.getContext();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = llvm::BasicBlock::Create(context, "transpose", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "transposed", function_);
  b_.CreateCondBr(b_.CreateICmpSLT(lo, hi), header, after);
  b_.SetInsertPoint(header);
  llvm::PHINode* at = b_.CreatePHI(b_.getInt64Ty(), 2);
  at->addIncoming(lo, before);
  body(at);
  llvm::Value* next = b_.CreateAdd(at, b_.getInt64(static_cast<uint64_t>(step)), "", false, true);
  at->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, hi), header, after);
  b_.SetInsertPoint(after);
}

/// rows, columns: how many there are; null: `most_rows` (at most the lanes) and all lanes.
void Transpositions::transpose_square(const Transposition& turn, unsigned lanes, llvm::Value* rows,
                                      llvm::Value* columns) {
  const ElementType type = nest_.buffers[turn.dst->id].type;
  const auto bytes = static_cast<unsigned>(size_bytes(type));
  llvm::Type* element = b_.getIntNTy(8 * bytes);
  auto* vector = llvm::FixedVectorType::get(element, lanes);
  const auto fixed_rows = static_cast<unsigned>(std::min<int64_t>(turn.most_rows, lanes));
  const auto below = [&](llvm::Value* count) {
    std::vector<llvm::Constant*> numbers;
    for (unsigned n = 0; n < lanes; ++n) numbers.push_back(b_.getInt64(n));
    return b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), b_.CreateVectorSplat(lanes, count));
  };
  const auto base = [&](BufferId id, const Affine& offset) {
    llvm::Value* pointer = buffers_.base_of(id);
    if (llvm::Value* variable = integers_.scalar_part(offset))
      pointer = b_.CreateInBoundsGEP(element, pointer, variable);
    return b_.CreateInBoundsGEP(element, pointer, b_.getInt64(static_cast<uint64_t>(offset.constant)));
  };
  const auto step_from = [&](llvm::Value* pointer, int64_t stride, unsigned n) {
    return b_.CreateGEP(element, pointer, b_.getInt64(static_cast<uint64_t>(stride * static_cast<int64_t>(n))));
  };
  const llvm::Align align(bytes);
  llvm::Constant* zero = llvm::Constant::getNullValue(vector);
  llvm::Value* none = llvm::Constant::getNullValue(llvm::FixedVectorType::get(b_.getInt1Ty(), lanes));
  llvm::Value* from = base(turn.src->id, turn.from);
  llvm::Value* to = base(turn.dst->id, turn.to);
  llvm::Value* column_mask = columns ? below(columns) : nullptr;
  const auto row_at = [&](unsigned r) { return step_from(from, turn.from.coefficient(turn.rows->var), r); };
  const auto masked_rows = [&] {
    std::vector<llvm::Value*> in(lanes, zero);
    for (unsigned r = 0; r < fixed_rows; ++r)
      in[r] = columns ? static_cast<llvm::Value*>(b_.CreateMaskedLoad(
                            vector, row_at(r), align,
                            b_.CreateSelect(b_.CreateICmpSGT(rows, b_.getInt64(r)), column_mask, none), zero))
                      : b_.CreateAlignedLoad(vector, row_at(r), align);
    return transposed({b_, scalar_.hooks()}, in, bytes);
  };
  const auto out =
      !columns && fixed_rows == lanes ? transposed_rows({b_, scalar_.hooks()}, vector, row_at, align) : masked_rows();
  llvm::Value* row_mask = rows ? below(rows) : below(b_.getInt64(fixed_rows));
  for (unsigned c = 0; c < lanes; ++c) {
    llvm::Value* at = step_from(to, turn.to.coefficient(turn.columns->var), c);
    if (!columns && fixed_rows == lanes && turn.non_temporal)
      b_.CreateAlignedStore(out[c], at, llvm::Align(kLineBytes))
          ->setMetadata(llvm::LLVMContext::MD_nontemporal,
                        llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    else if (!columns && fixed_rows == lanes)
      b_.CreateAlignedStore(out[c], at, align);
    else
      b_.CreateMaskedStore(
          out[c], at, align,
          columns ? b_.CreateSelect(b_.CreateICmpSGT(columns, b_.getInt64(c)), row_mask, none) : row_mask);
  }
}

// Past the caches go whole lines only: all columns of the result must lie on lines, which the call's addresses decide.
void Transpositions::emit_transposition(const Transposition& turn, unsigned lanes) {
  Transposition cached = turn;
  cached.non_temporal = false;
  const int64_t bytes = size_bytes(nest_.buffers[turn.dst->id].type);
  if (!turn.non_temporal || lanes * bytes != kLineBytes ||
      turn.to.coefficient(turn.columns->var) * bytes % kLineBytes != 0)
    return transpose_all(cached, lanes);
  variables_.bind(turn.rows->var, integers_.bound(turn.rows->lo, true), variables_.loop_facts(*turn.rows));
  variables_.bind(turn.columns->var, integers_.bound(turn.columns->lo, true), variables_.loop_facts(*turn.columns));
  llvm::Value* first =
      b_.CreateAdd(b_.CreatePtrToInt(buffers_.base_of(turn.dst->id), b_.getInt64Ty()),
                   b_.CreateMul(integers_.integer(turn.to), b_.getInt64(static_cast<uint64_t>(bytes))));
  for (const Loop* loop : {turn.rows, turn.columns}) {
    variables_.unbind(loop->var);
    variables_.forget_facts(loop->var);
  }
  forget_values();
  branches_.branch(
      b_.CreateICmpEQ(b_.CreateAnd(first, b_.getInt64(kLineBytes - 1)), b_.getInt64(0)),
      [&] { transpose_all(turn, lanes); }, [&] { transpose_all(cached, lanes); });
}

void Transpositions::transpose_all(const Transposition& turn, unsigned lanes) {
  const auto n = static_cast<int64_t>(lanes);
  llvm::Value *row_lo = integers_.bound(turn.rows->lo, true), *row_hi = integers_.bound(turn.rows->hi, false);
  llvm::Value *column_lo = integers_.bound(turn.columns->lo, true),
              *column_hi = integers_.bound(turn.columns->hi, false);
  const VarFacts row_facts = variables_.loop_facts(*turn.rows), column_facts = variables_.loop_facts(*turn.columns);
  llvm::Value* length =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(column_hi, column_lo), b_.getInt64(0));
  llvm::Value* whole_end = b_.CreateAdd(column_lo, b_.CreateAnd(length, b_.getInt64(~static_cast<uint64_t>(n - 1))));
  const auto square = [&](llvm::Value* row, llvm::Value* column, llvm::Value* rows, llvm::Value* columns) {
    forget_values();
    variables_.bind(turn.rows->var, row, {row_facts.lo, row_facts.hi, 1});
    variables_.bind(turn.columns->var, column, {column_facts.lo, column_facts.hi, 1});
    transpose_square(turn, lanes, rows, columns);
    forget_values();
  };
  counted_loop(row_lo, row_hi, n, [&](llvm::Value* row) {
    llvm::Value* rows = b_.CreateSub(row_hi, row);
    llvm::Value* is_full = b_.CreateICmpSGE(rows, b_.getInt64(static_cast<uint64_t>(std::min(turn.most_rows, n))));
    llvm::Value* masked_from = b_.CreateSelect(is_full, whole_end, column_lo);
    counted_loop(column_lo, masked_from, n, [&](llvm::Value* column) { square(row, column, nullptr, nullptr); });
    counted_loop(masked_from, column_hi, n,
                 [&](llvm::Value* column) { square(row, column, rows, b_.CreateSub(column_hi, column)); });
  });
  for (VarId var : {turn.rows->var, turn.columns->var}) {
    variables_.unbind(var);
    variables_.forget_facts(var);
  }
}

bool Transpositions::transposing_copy(const Loop& outer) {
  if (!scalar_.can().square_shuffles) return false;
  const auto turn = transposition_of(outer);
  if (!turn) return false;
  unsigned bits = 0;
  if (function_->getFnAttribute("prefer-vector-width").getValueAsString().getAsInteger(10, bits)) return false;
  const unsigned lanes =
      std::min(kMostTransposedLanes, bits / 8 / static_cast<unsigned>(size_bytes(nest_.buffers[turn->dst->id].type)));
  if (lanes < 4) return false;
  emit_transposition(*turn, lanes);
  return true;
}

/// for c step 2 { for r { for q in 0 .. 2 { copy P[.. c * s + 2 * r + q] <- A[.. r * t + c + q] } } }: groups of
/// elements that fill 4 bytes turn as one, as tensor instructions want the transposed operand. Whole squares only.
bool Transpositions::transposing_groups(const Loop& outer) {
  if (!scalar_.can().square_shuffles) return false;
  constexpr int64_t kGroupBytes = 4, kSide = kLineBytes / kGroupBytes;
  const auto is_simple = [](const Loop& loop) { return loop.lo.of.size() == 1 && loop.hi.of.size() == 1; };
  if (lanes_.width > 1 || outer.mark.kind != MarkKind::serial || !is_simple(outer) || outer.step < 2) return false;
  unsigned bits = 0;
  if (function_->getFnAttribute("prefer-vector-width").getValueAsString().getAsInteger(10, bits) ||
      bits < 8 * kLineBytes)
    return false;
  const Loop* rows = only_inside<Loop>(nest_, outer.body);
  const Loop* group = rows && is_counted(*rows) && is_simple(*rows) ? only_inside<Loop>(nest_, rows->body) : nullptr;
  if (!group || group->step != 1 || !is_simple(*group)) return false;
  const auto move = only_move(nest_, group->body);
  if (!move || has_gathers(*move->src) || has_gathers(*move->dst) || strides_.is_symbolic(move->src->id) ||
      strides_.is_symbolic(move->dst->id))
    return false;
  const Access &src = *move->src, &dst = *move->dst;
  const Affine lo = fold(group->lo.of[0]), columns = fold(outer.hi.of[0]) - fold(outer.lo.of[0]);
  const auto trips = variables_.constant_trips(*rows, fold(rows->lo.of[0]));
  const int64_t bytes = size_bytes(nest_.buffers[src.id].type);
  if (registers_.in_registers(dst.id) || registers_.in_registers(src.id) || dst.id == src.id ||
      nest_.buffers[src.id].type != nest_.buffers[dst.id].type)
    return false;
  if (!lo.is_constant() || variables_.constant_trips(*group, lo) != outer.step || outer.step * bytes != kGroupBytes ||
      !trips || *trips % kSide != 0 || !columns.is_constant() || columns.constant % (outer.step * kSide) != 0)
    return false;
  const std::vector<const Loop*> loops = {&outer, rows, group};
  for (const Loop* loop : loops) variables_.set_facts(loop->var, variables_.loop_facts(*loop));
  const bool is_whole = !move->valid || facts_.decide(fold(*move->valid)) == true;
  Affine from = places_.offset_of(src, nullptr), to = places_.offset_of(dst, nullptr);
  for (const Loop* loop : loops) variables_.forget_facts(loop->var);
  bool fits = is_whole;
  for (const Loop* loop : loops) fits = fits && is_step_of(from, loop->var) && is_step_of(to, loop->var);
  const int64_t from_row = from.coefficient(rows->var), to_column = to.coefficient(outer.var) * outer.step;
  fits = fits && from.coefficient(group->var) == 1 && from.coefficient(outer.var) == 1 &&
         to.coefficient(group->var) == 1 && to.coefficient(rows->var) == outer.step &&
         std::abs(to_column) >= *trips * outer.step;
  if (!fits) return false;
  from = from - Affine::variable(group->var) + lo;
  to = to - Affine::variable(group->var) + lo;
  llvm::Type* element = scalar_.memory_type(nest_.buffers[src.id].type);
  auto* vector = llvm::FixedVectorType::get(b_.getInt32Ty(), kSide);
  const auto at = [&](const Access& access, const Affine& offset, int64_t step, int64_t n) {
    llvm::Value* pointer = buffers_.base_of(access.id);
    if (llvm::Value* variable = integers_.scalar_part(offset)) pointer = b_.CreateGEP(element, pointer, variable);
    return b_.CreateGEP(element, pointer, b_.getInt64(static_cast<uint64_t>(offset.constant + n * step)));
  };
  const VarFacts row_facts = variables_.loop_facts(*rows), column_facts = variables_.loop_facts(outer);
  llvm::Value *row_lo = integers_.bound(rows->lo, true), *row_hi = integers_.bound(rows->hi, false),
              *column_lo = integers_.bound(outer.lo, true), *column_hi = integers_.bound(outer.hi, false);
  counted_loop(row_lo, row_hi, kSide, [&](llvm::Value* row) {
    counted_loop(column_lo, column_hi, kSide * outer.step, [&](llvm::Value* column) {
      forget_values();
      variables_.bind(rows->var, row, row_facts);
      variables_.bind(outer.var, column, column_facts);
      const llvm::Align align(static_cast<uint64_t>(bytes));
      const auto out = transposed_rows(
          {b_, scalar_.hooks()}, vector, [&](unsigned r) { return at(src, from, from_row, r); }, align);
      for (int64_t c = 0; c < kSide; ++c)
        b_.CreateAlignedStore(out[static_cast<size_t>(c)], at(dst, to, to_column, c), align);
      forget_values();
    });
  });
  for (VarId var : {rows->var, outer.var}) {
    variables_.unbind(var);
    variables_.forget_facts(var);
  }
  return true;
}

}  // namespace polyweft::targets
