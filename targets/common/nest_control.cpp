#include <algorithm>
#include <numeric>
#include <utility>

#include "targets/common/nest_code.h"
#include "targets/common/nest_walk.h"

namespace polyweft::targets {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr int64_t kUnrollLimit = 4096;

/// One straight block of computations: what it loads from a place and stores there again is known before and after each iteration.
bool may_keep_cells(const LoopNest& nest, NodeId body) {
  bool computes = is_straight(nest, body, false);
  walk_nodes(nest, body, [&](const Node& node) {
    computes &= !std::holds_alternative<Copy>(node) && !std::holds_alternative<Alloc>(node) && !std::holds_alternative<Sync>(node);
    return computes;
  });
  return computes;
}

}  // namespace

NestCode::NestCode(llvm::Module& module, const LoopNest& nest, llvm::Function* function, std::vector<llvm::Value*> bases, FloatUnits units)
    : module_(module),
      nest_(nest),
      function_(function),
      b_(module.getContext()),
      scalar_(b_, nest.cls, units),
      bases_(std::move(bases)),
      registers_(nest.buffers.size(), false),
      short_(nest.buffers.size(), false),
      aligned_(nest.buffers.size(), false),
      is_tested_(nest.buffers.size(), false),
      is_met_by_others_(nest.buffers.size(), false),
      sharers_(ir::sharers_of(nest)) {
  for (size_t p = 0; p < nest.params.size() && !nest.symbolic; ++p) substitution_[static_cast<VarId>(p)] = Affine::of(nest.params[p].value);
  scan_for_tiles();
}

void NestCode::bind_variable(VarId var, llvm::Value* value, VarFacts facts) {
  variables_[var] = value;
  facts_.set(var, facts);
}

int64_t NestCode::instructions() const {
  return static_cast<int64_t>(function_->getInstructionCount());
}

void NestCode::clear_caches() {
  loads_.clear();
  integers_.clear();
}

void NestCode::emit(NodeId id) {
  if (id == kNoNode) return;
  if (!tiles_on_ && !tile_nodes_.empty() && tile_nodes_[id]) return with_tiles(id);
  std::visit([this](const auto& node) { on(node); }, nest_.nodes[id]);
}

void NestCode::on(const Seq& seq) {
  for (NodeId child : seq.children) emit(child);
}

bool NestCode::touches(NodeId id, BufferId buffer) const {
  bool found = false;
  visit_accesses(id, [&](const Access& access, bool) { found |= access.id == buffer; });
  return found;
}

void NestCode::written_registers(NodeId id, std::vector<bool>& buffers) const {
  visit_accesses(id, [&](const Access& access, bool written) {
    if (written && registers_[access.id]) buffers[access.id] = true;
  });
}

// Every element exists since its Alloc (poison at first), so both sides know the same ones.
void NestCode::merge_registers(const RegFile& a, llvm::BasicBlock* from_a, const RegFile& b, llvm::BasicBlock* from_b) {
  RegFile merged;
  for (const auto& [key, value_a] : a) {
    llvm::Value* value_b = b.at(key);
    if (value_b == value_a) {
      merged[key] = value_a;
      continue;
    }
    llvm::PHINode* phi = b_.CreatePHI(value_a->getType(), 2);
    phi->addIncoming(value_a, from_a);
    phi->addIncoming(value_b, from_b);
    merged[key] = phi;
  }
  file_ = std::move(merged);
}

void NestCode::branch(llvm::Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  auto& context = module_.getContext();
  llvm::BasicBlock* yes = llvm::BasicBlock::Create(context, "then", function_);
  llvm::BasicBlock* no = llvm::BasicBlock::Create(context, "else", function_);
  llvm::BasicBlock* join = llvm::BasicBlock::Create(context, "join", function_);
  b_.CreateCondBr(condition, yes, no);
  const RegFile before = file_;
  const auto integers = integers_;
  const auto loads = loads_;
  b_.SetInsertPoint(yes);
  then();
  llvm::BasicBlock* yes_end = b_.GetInsertBlock();
  b_.CreateBr(join);
  const RegFile after_yes = file_;
  file_ = before;
  integers_ = integers;
  loads_ = loads;
  b_.SetInsertPoint(no);
  otherwise();
  llvm::BasicBlock* no_end = b_.GetInsertBlock();
  b_.CreateBr(join);
  const RegFile after_no = file_;
  b_.SetInsertPoint(join);
  merge_registers(after_yes, yes_end, after_no, no_end);
  integers_ = integers;
  loads_.clear();
}

void NestCode::on(const If& node) {
  if (does_nothing(node.then) && does_nothing(node.otherwise)) return;
  const Guard g = fold(node.condition);
  if (const auto known = facts_.decide(g)) return emit(*known ? node.then : node.otherwise);
  if (!depends_on_lane(g)) {
    const Facts before = facts_;
    const auto side = [&](bool holds) {
      facts_.assume(g, holds);
      emit(holds ? node.then : node.otherwise);
      facts_ = before;
    };
    return branch(
        condition(g), [&] { side(true); }, [&] { side(false); });
  }
  llvm::Value* chosen = scalar_.splat(condition(g), lanes_.width);  // what is known of some parts may leave nothing of the lanes in it
  const Lanes outer = lanes_;
  lanes_.guarded = true;
  lanes_.active = 0;
  lanes_.mask = both_masks(outer.mask, chosen);
  emit(node.then);
  llvm::Value* opposite = b_.CreateNot(chosen);
  lanes_.mask = both_masks(outer.mask, opposite);
  emit(node.otherwise);
  lanes_ = outer;
}

VarFacts NestCode::loop_facts(const Loop& loop) const {
  VarFacts out;
  out.lo = INT64_MIN / 4;
  out.hi = INT64_MAX / 4;
  for (const auto& e : loop.lo.of) out.lo = std::max(out.lo, facts_.range(fold(e)).lo);
  for (const auto& e : loop.hi.of) {
    const Affine end = fold(e);
    out.hi = std::min(out.hi, facts_.range(end).hi - 1);
    if (!end.is_constant()) out.at_most.push_back(end - Affine::of(1));
  }
  out.divisor = loop.step;
  for (const auto& e : loop.lo.of) out.divisor = std::gcd(out.divisor, facts_.divisor(fold(e)));
  // The last value taken: lo + step * floor((hi - lo) / step), where lo is a constant.
  if (loop.lo.of.size() == 1 && fold(loop.lo.of[0]).is_constant() && out.hi < INT64_MAX / 8 && out.hi >= out.lo)
    out.hi = out.lo + (out.hi - out.lo) / loop.step * loop.step;
  if (out.divisor > 1 && out.hi < INT64_MAX / 8) out.hi -= ((out.hi % out.divisor) + out.divisor) % out.divisor;
  return out;
}

void NestCode::on(const Loop& loop) {
  const VarFacts facts = loop_facts(loop);
  if (facts.hi < facts.lo || does_nothing(loop.body)) return;
  switch (loop.mark.kind) {
    case MarkKind::unroll:
      return with_streams(loop, [&] { unroll_loop(loop); });
    case MarkKind::vector:
      return with_streams(loop, [&] { vector_loop(loop); });
    case MarkKind::parallel:
      return parallel_loop(loop);
    case MarkKind::tensor:
      return tensor_loop(loop);
    default: {
      const std::vector<BufferId> opened = open_symbolic_inside(loop.body);
      if (!turning_copy(loop) && !turning_groups(loop) && !late_loop(loop) && !cut_rows_loop(loop)) with_streams(loop, [&] { serial_loop(loop); });
      for (size_t k = opened.size(); k-- > 0;) {
        free_last();
        bases_[opened[k]] = nullptr;
      }
    }
  }
}

/// Arguments that vector loops in there store past the caches.
std::vector<BufferId> NestCode::streamed_arguments(NodeId id) const {
  std::vector<BufferId> out;
  walk_nodes(nest_, id, [&](const Node& node) {
    if (const auto* loop = std::get_if<Loop>(&node)) add_streamed_by(*loop, out);
    return true;
  });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void NestCode::add_streamed_by(const Loop& loop, std::vector<BufferId>& out) const {
  if (!loop.mark.non_temporal) return;
  visit_accesses(loop.body, [&](const Access& access, bool written) {
    if (written && nest_.buffers[access.id].scope == Scope::argument) out.push_back(access.id);
  });
}

void NestCode::fence_after(NodeId id) {
  if (!streamed_arguments(id).empty()) b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
}

/// Stores past the caches want whole lines, and an argument's address is known at the call only: the code exists twice, an innermost loop or, where sums are stored
/// behind theirs, what is written out of the block.
void NestCode::with_streams(const Loop& loop, const std::function<void()>& code) {
  std::vector<BufferId> open;
  if (lanes_.width == 1 && is_straight(nest_, loop.body, false)) {
    std::vector<BufferId> streamed = streamed_arguments(loop.body);
    add_streamed_by(loop, streamed);
    for (BufferId id : streamed)
      if (!is_tested_[id] && std::find(open.begin(), open.end(), id) == open.end()) open.push_back(id);
  }
  if (open.empty()) return code();
  llvm::Value* together = b_.getInt64(0);
  for (BufferId id : open) together = b_.CreateOr(together, b_.CreatePtrToInt(base_of(id), b_.getInt64Ty()));
  llvm::Value* is_aligned = b_.CreateICmpEQ(b_.CreateAnd(together, b_.getInt64(kAlignment - 1)), b_.getInt64(0));
  const auto with = [&](bool aligned) {
    for (BufferId id : open) aligned_[id] = aligned, is_tested_[id] = true;
    code();
    for (BufferId id : open) aligned_[id] = is_tested_[id] = false;
  };
  branch(
      is_aligned, [&] { with(true); }, [&] { with(false); });
}

std::optional<int64_t> NestCode::constant_trips(const Loop& loop, const Affine& lo) const {
  if (loop.lo.of.size() != 1 || loop.hi.of.size() != 1) return std::nullopt;
  const Affine length = fold(loop.hi.of[0]) - lo;
  if (!length.is_constant() || length.constant > kUnrollLimit) return std::nullopt;
  return length.constant;
}

void NestCode::unroll_loop(const Loop& loop) {
  const Affine lo = fold(loop.lo.of[0]);
  const auto trips = constant_trips(loop, lo);
  if (!trips) return serial_loop(loop);
  if (loop.step == 1 && interleaved_copy(loop, lo, *trips)) return;
  ++unrolled_;
  for (int64_t n = 0; n < *trips; n += loop.step) {
    substitution_[loop.var] = lo + Affine::of(n);
    emit(loop.body);
  }
  --unrolled_;
  substitution_.erase(loop.var);
}

void NestCode::vector_loop(const Loop& loop) {
  if (lanes_.width > 1 || !first_lane(loop)) return serial_loop(loop);
  over_lanes(loop, [&] { emit(loop.body); });
}

Affine NestCode::lane_0(const Loop& loop) const {
  return fold(*first_lane(loop));
}

/// What of a vector loop's bounds is not known here.
NestCode::OpenLanes NestCode::open_lanes(const Loop& loop) const {
  const Affine first = lane_0(loop);
  OpenLanes out;
  out.fixed = loop.mark.width;
  for (const auto& e : loop.hi.of)
    if (const Affine length = fold(e) - first; length.is_constant()) out.fixed = std::min(out.fixed, length.constant);
  for (const auto& e : loop.hi.of)
    if (const Affine length = fold(e) - first; !length.is_constant() && facts_.range(length).lo < out.fixed) out.lengths.push_back(length);
  for (const auto& e : loop.lo.of)
    if (const Affine late = fold(e) - first; facts_.range(late).hi > 0) out.late.push_back(late);
  return out;
}

void NestCode::one_lane(const Loop& loop, const OpenLanes& open, const std::function<void()>& inside) {
  const Affine first = lane_0(loop);
  substitution_[loop.var] = first;
  if (open.lengths.empty() && open.late.empty())
    inside();
  else
    branch(
        b_.CreateICmpSGT(bound(loop.hi, false), bound(loop.lo, true)), [&] { inside(); }, [] {});
  substitution_.erase(loop.var);
}

// Substitutes start + lane for the variable, with a mask where not all lanes are active.
void NestCode::over_lanes(const Loop& loop, const std::function<void()>& inside) {
  const OpenLanes open = open_lanes(loop);
  if (open.fixed <= 0) return;
  if (loop.mark.width == 1) return one_lane(loop, open, inside);
  const auto body = [&](llvm::Value* count, llvm::Value* start) {
    const Lanes outer = lanes_;
    lanes_.width = lanes_of(loop);
    lanes_.active = count || start ? 0 : open.fixed;
    lanes_.non_temporal = loop.mark.non_temporal;
    lanes_.prefetch = loop.mark.prefetch.empty() ? nullptr : &loop.mark.prefetch;
    if (count) lanes_.mask = lanes_below(count);
    if (!count && open.fixed < static_cast<int64_t>(lanes_.width)) lanes_.mask = first_lanes(open.fixed);
    if (start) lanes_.mask = both_masks(lanes_.mask, b_.CreateNot(lanes_below(start)));
    lanes_.start = start ? start : b_.getInt64(0);
    lanes_.count = count ? count : b_.getInt64(static_cast<uint64_t>(open.fixed));
    VarFacts lanes{0, open.fixed - 1, 1};  // of those that run; cut lanes touch nothing
    for (const Affine& length : open.lengths) lanes.at_most.push_back(length - Affine::of(1));
    facts_.set(kLane, std::move(lanes));
    substitution_[loop.var] = lane_0(loop) + Affine::variable(kLane);
    inside();
    substitution_.erase(loop.var);
    facts_.forget(kLane);
    lanes_ = outer;
    forget_lanes();
  };
  if (open.lengths.empty() && open.late.empty()) return body(nullptr, nullptr);
  llvm::Value* count = b_.getInt64(static_cast<uint64_t>(open.fixed));
  for (const auto& length : open.lengths) count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, integer(length));
  llvm::Value* start = b_.getInt64(0);
  for (const auto& late : open.late) start = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, start, integer(late));
  const auto cut = [&] { body(open.lengths.empty() ? nullptr : count, open.late.empty() ? nullptr : start); };
  const auto some = [&] { branch(b_.CreateICmpSGT(count, start), cut, [] {}); };
  // Of several vectors of a row that begins and ends anywhere at most two are cut. Each masked load of a whole vector costs an operation beside the load.
  const bool is_often_whole = unrolled_ > 0 && !open.lengths.empty() && !open.late.empty() && open.fixed == static_cast<int64_t>(lanes_of(loop));
  if (!is_often_whole) return some();
  llvm::Value* is_whole = b_.CreateAnd(b_.CreateICmpSGE(count, b_.getInt64(static_cast<uint64_t>(open.fixed))), b_.CreateICmpSLE(start, b_.getInt64(0)));
  branch(
      is_whole, [&] { body(nullptr, nullptr); }, some);
}

/// Does the first iteration always run?
bool NestCode::is_entered(const Loop& loop) const {
  const auto is_below = [&](const Affine& lo, const Affine& hi) { return facts_.range(fold(hi) - fold(lo)).lo > 0; };
  return std::all_of(loop.lo.of.begin(), loop.lo.of.end(),
                     [&](const Affine& lo) { return std::all_of(loop.hi.of.begin(), loop.hi.of.end(), [&](const Affine& hi) { return is_below(lo, hi); }); });
}

// Guarded where no iteration may run, then bottom-tested: one compare and branch an iteration.
void NestCode::serial_loop(const Loop& loop, const LoopBody& special) {
  auto& context = module_.getContext();
  llvm::Value* lo = bound(loop.lo, true);
  llvm::Value* hi = bound(loop.hi, false);
  if (ScalarCode::lanes(lo) > 1 || ScalarCode::lanes(hi) > 1) throw Refusal{fail("PW0504", "a loop inside a vector loop has bounds that differ from lane to lane")};
  const VarFacts facts = loop_facts(loop);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = llvm::BasicBlock::Create(context, "loop", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "after", function_);
  std::vector<bool> written(nest_.buffers.size(), false);
  written_registers(loop.body, written);
  // Register blocks then need no values for the case that no iteration runs. Elsewhere the guard is left to the back end: without it loads are shared
  // between loops, which costs a depthwise convolution 3 % in spilled registers.
  const bool always = std::find(written.begin(), written.end(), true) != written.end() && is_entered(loop);
  always ? b_.CreateBr(header) : b_.CreateCondBr(b_.CreateICmpSLT(lo, hi), header, after);
  before = b_.GetInsertBlock();

  const RegFile entry = file_;
  const auto integers = integers_;
  b_.SetInsertPoint(header);
  llvm::PHINode* iv = b_.CreatePHI(b_.getInt64Ty(), 2, loop.var - nest_.params.size() < nest_.loop_names.size() ? nest_.loop_names[loop.var - nest_.params.size()] : "");
  iv->addIncoming(lo, before);
  std::map<RegKey, llvm::PHINode*> phis;
  for (const auto& [key, value] : entry) {
    if (!written[key.first]) continue;
    llvm::PHINode* phi = b_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    file_[key] = phi;
    phis[key] = phi;
  }
  const Facts outside = facts_;
  bind_variable(loop.var, iv, facts);
  for (const Affine& first : loop.lo.of)  // an iteration runs
    for (const Affine& end : loop.hi.of) facts_.assume(fold(end) - fold(first) - Affine::of(1));
  loads_.clear();
  quotients_ = 0;
  std::vector<bool> stored(nest_.buffers.size(), false);
  visit_accesses(loop.body, [&](const Access& access, bool is_write) { stored[access.id] = stored[access.id] || is_write; });
  Streams streams{loop.var, loop.step,
                  lo,       before,
                  header,   bases_,
                  integers, {},
                  {},       std::move(stored),
                  false,    may_keep_cells(nest_, loop.body),
                  {},       std::vector<bool>(nest_.buffers.size(), false),
                  hi,       is_entered(loop)};
  Streams* const outer = std::exchange(streams_, special.is_straight || is_straight(nest_, loop.body, true) ? &streams : nullptr);
  Streams* const outer_tiles = std::exchange(tile_streams_, is_straight_block_of_tiles(nest_, loop.body) ? &streams : nullptr);
  open_.push_back({loop.var, special.trips > 0 ? special.trips : (facts.hi - facts.lo) / loop.step + 1});
  const int64_t products_before = tile_products_;
  products_to_come_ = tile_streams_ ? tile_products_of(loop.body) : 0;
  special.emit ? special.emit(iv) : emit(loop.body);
  while (tile_streams_ && !uncut_.empty()) cut_ahead(1);
  if (tile_streams_) keep_stores_awake(loop, iv, tile_products_ - products_before);
  tile_streams_ = outer_tiles;
  open_.pop_back();
  streams_ = outer;
  // A loop from -18 to 0 wraps as an unsigned number.
  llvm::Value* next = b_.CreateAdd(iv, b_.getInt64(static_cast<uint64_t>(loop.step)), "", facts.lo >= 0, true);
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  if (streams.has_neighbours && latch == header) rotate_neighbours(streams);
  const std::vector<Cell> kept = latch == header ? cells_to_keep(streams) : std::vector<Cell>{};
  llvm::BasicBlock* left = kept.empty() ? latch : keep_cells(streams, kept, after);
  b_.SetInsertPoint(latch);
  move_streams(streams, latch);
  b_.CreateCondBr(b_.CreateICmpSLT(next, hi), header, kept.empty() ? after : left);
  iv->addIncoming(next, latch);
  RegFile leaving = entry;
  for (const auto& [key, phi] : phis) {
    phi->addIncoming(file_.at(key), latch);
    leaving[key] = file_.at(key);
  }
  b_.SetInsertPoint(after);
  if (always)
    file_ = std::move(leaving);
  else
    merge_registers(entry, before, leaving, left);
  variables_.erase(loop.var);
  facts_ = outside;
  integers_ = std::move(streams.integers);  // what was computed before the loop stands before what follows it
  loads_.clear();
}

void NestCode::on(const Alloc& alloc) {
  const Buffer& buffer = nest_.buffers[alloc.buffer];
  if (buffer.scope == Scope::reg && registers_fit(alloc.buffer, alloc.body)) {
    registers_[alloc.buffer] = true;
    short_[alloc.buffer] = holds_small_indices(alloc.buffer, alloc.body);
    declared_.clear();
    declare_registers(alloc.buffer, alloc.body);
    leave_out_spans(declared_);
    note_lanes_in_use(declared_, in_use_);
    const bool holds = are_apart_or_parts(declared_);
    if (holds) emit(alloc.body);
    registers_[alloc.buffer] = false;
    short_[alloc.buffer] = false;
    std::erase_if(file_, [&](const auto& cell) { return cell.first.first == alloc.buffer; });
    if (holds) return;
  }
  if (buffer.scope == Scope::tile) return allocate_tiles(alloc.buffer, alloc.body);
  if (is_symbolic(alloc.buffer)) return bases_[alloc.buffer] ? emit(alloc.body) : allocate_symbolic(alloc.buffer, alloc.body);
  if (bases_[alloc.buffer]) return emit(alloc.body);  // in the region's block
  if (buffer.within) {
    bases_[alloc.buffer] = b_.CreateInBoundsGEP(b_.getInt8Ty(), base_of(buffer.within->host), b_.getInt64(static_cast<uint64_t>(buffer.within->at_bytes)), buffer.name);
    emit(alloc.body);
    bases_[alloc.buffer] = nullptr;
    return;
  }
  allocate_stack(alloc.buffer, alloc.body);
}

void NestCode::allocate_stack(BufferId id, NodeId body) {
  const Buffer& buffer = nest_.buffers[id];
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  auto* slot = entry.CreateAlloca(scalar_.memory_type(buffer.type), entry.getInt64(static_cast<uint64_t>(allocated_elements(buffer))), buffer.name);
  slot->setAlignment(llvm::Align(kAlignment));
  bases_[id] = slot;
  emit(body);
  bases_[id] = nullptr;
}

// i32 task(context, number, closure): loads what the closure holds and calls `work` with begin + number * step at the end.
void NestCode::unpack_closure(llvm::Function* task, llvm::Function* work, int64_t step) {
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module_.getContext(), "entry", task));
  std::vector<llvm::Value*> values;
  for (unsigned k = 0; k < work->arg_size(); ++k)
    values.push_back(builder.CreateLoad(work->getArg(k)->getType(), builder.CreateInBoundsGEP(builder.getInt64Ty(), task->getArg(2), builder.getInt64(k))));
  llvm::Value* number = builder.CreateMul(builder.CreateSExt(task->getArg(1), builder.getInt64Ty()), builder.getInt64(static_cast<uint64_t>(step)));
  values.back() = builder.CreateAdd(values.back(), number);
  builder.CreateRet(builder.CreateCall(work, values));
}

// Iterations become tasks of halide_do_par_for: a function of its own over a closure of base addresses and loop variables.
void NestCode::parallel_loop(const Loop& loop) {
  auto& context = module_.getContext();
  llvm::Value* lo = bound(loop.lo, true);
  llvm::Value* hi = bound(loop.hi, false);
  const VarFacts facts = loop_facts(loop);
  llvm::Type* i64 = b_.getInt64Ty();
  llvm::Type* i32 = b_.getInt32Ty();
  llvm::Type* pointer = b_.getPtrTy();
  std::vector<BufferId> buffers;
  for (BufferId id = 0; id < bases_.size(); ++id)
    if (bases_[id] && !llvm::isa<llvm::GlobalVariable>(bases_[id])) buffers.push_back(id);
  std::vector<std::pair<VarId, llvm::Value*>> variables(variables_.begin(), variables_.end());
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  const uint64_t slots = buffers.size() + variables.size() + 1;
  llvm::Value* closure = entry.CreateAlloca(i64, entry.getInt64(slots));
  const auto slot = [&](llvm::IRBuilder<>& builder, llvm::Value* base, uint64_t n) { return builder.CreateInBoundsGEP(i64, base, builder.getInt64(n)); };
  uint64_t n = 0;
  for (BufferId id : buffers) b_.CreateStore(bases_[id], slot(b_, closure, n++));
  for (const auto& [var, value] : variables) b_.CreateStore(value, slot(b_, closure, n++));
  b_.CreateStore(lo, slot(b_, closure, n));

  // The task unpacks the closure and calls the work, whose pointers are then known to be distinct memory.
  const llvm::AttributeList attributes =
      llvm::AttributeList::get(context, llvm::AttributeList::FunctionIndex, llvm::AttrBuilder(context, function_->getAttributes().getFnAttrs()));
  std::vector<llvm::Type*> unpacked(buffers.size(), pointer);
  unpacked.resize(buffers.size() + variables.size() + 1, i64);
  auto* work = llvm::Function::Create(llvm::FunctionType::get(i32, unpacked, false), llvm::GlobalValue::InternalLinkage, function_->getName() + "_work", module_);
  auto* task =
      llvm::Function::Create(llvm::FunctionType::get(i32, {pointer, i32, pointer}, false), llvm::GlobalValue::InternalLinkage, function_->getName() + "_task", module_);
  work->setAttributes(attributes);
  task->setAttributes(attributes);
  for (unsigned k = 0; k < buffers.size(); ++k)
    if (!is_shared(buffers[k])) work->getArg(k)->addAttr(llvm::Attribute::NoAlias);
  unpack_closure(task, work, loop.step);
  {
    std::vector<llvm::Value*> bases(bases_.size(), nullptr);
    for (BufferId id = 0; id < bases_.size(); ++id)
      if (bases_[id] && llvm::isa<llvm::GlobalVariable>(bases_[id])) bases[id] = bases_[id];
    unsigned m = 0;
    for (BufferId id : buffers) bases[id] = work->getArg(m++);
    NestCode inner(module_, nest_, work, bases, scalar_.units());
    auto& ib = inner.builder();
    llvm::BasicBlock* first = llvm::BasicBlock::Create(context, "entry", work);
    llvm::BasicBlock* start = llvm::BasicBlock::Create(context, "start", work);
    ib.SetInsertPoint(start);
    inner.substitution_ = substitution_;
    inner.aligned_ = aligned_;
    inner.is_tested_ = is_tested_;
    for (BufferId id = 0; id < bases_.size(); ++id) inner.is_met_by_others_[id] = bases_[id] != nullptr;
    inner.facts_ = facts_;
    for (const auto& [var, value] : variables) inner.variables_[var] = work->getArg(m++);
    inner.bind_variable(loop.var, work->getArg(m), facts);
    if (nest_.symbolic) inner.compute_strides();
    inner.emit_region(loop.body);
    inner.fence_after(loop.body);
    uses_tiles_ |= inner.uses_tiles();
    ib.CreateRet(ib.getInt32(0));
    ib.SetInsertPoint(first);
    ib.CreateBr(start);
  }
  llvm::Value* span = b_.CreateAdd(b_.CreateSub(hi, lo), b_.getInt64(static_cast<uint64_t>(loop.step - 1)));
  llvm::Value* tasks =
      b_.CreateTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSDiv(span, b_.getInt64(static_cast<uint64_t>(loop.step))), b_.getInt64(0)), i32);
  auto do_par_for = module_.getOrInsertFunction("halide_do_par_for", i32, pointer, pointer, i32, i32, pointer);
  llvm::Value* null = llvm::ConstantPointerNull::get(b_.getPtrTy());
  llvm::Value* code = b_.CreateCall(do_par_for, {null, task, b_.getInt32(0), tasks, closure});
  llvm::BasicBlock* failed = llvm::BasicBlock::Create(context, "task_failed", function_);
  llvm::BasicBlock* good = llvm::BasicBlock::Create(context, "tasks_done", function_);
  b_.CreateCondBr(b_.CreateICmpNE(code, b_.getInt32(0)), failed, good);
  b_.SetInsertPoint(failed);
  auto free_function = module_.getOrInsertFunction("halide_free", b_.getVoidTy(), pointer, pointer);
  for (llvm::Value* live : heap_) b_.CreateCall(free_function, {null, live});
  b_.CreateRet(code);
  b_.SetInsertPoint(good);
  loads_.clear();
}

}  // namespace polyweft::targets
