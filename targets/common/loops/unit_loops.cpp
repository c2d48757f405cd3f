#include "targets/common/loops/unit_loops.h"

#include <algorithm>
#include <functional>

#include "ir/nests/axes.h"
#include "ir/nests/walk_nest.h"
#include "support/integer_division.h"

namespace polyweft::targets {

UnitLoops::UnitLoops(const Addresses& addresses, SerialLoops& serial_loops, CodeEmitter& further)
    : MemoryPart(addresses), unit_(hooks_.unit), serial_loops_(serial_loops), further_(further) {
  if (!unit_) return;
  const auto is_local = [&](BufferId id) { return is_of_unit(nest_.buffers[id].scope); };
  touches_ = ir::nodes_with(nest_, [&](const Node& node) {
    bool found = false;
    const auto look = [&](const Access& access) { found |= is_local(access.id); };
    if (const auto* sync = std::get_if<Sync>(&node)) found |= sync->is_of_copies();
    if (const auto* copy = std::get_if<Copy>(&node)) {
      look(copy->dst);
      if (copy->has_src) look(copy->src);
    }
    if (const auto* compute = std::get_if<Compute>(&node)) {
      for (const Access& dst : compute->dst) look(dst);
      for (const Expr& rhs : compute->rhs)
        visit(rhs, [&](const ExprNode& e) {
          if (e.op == Op::read) look(e.access);
        });
    }
    return found;
  });
  is_end_.assign(nest_.nodes.size(), false);
  for (const Node& node : nest_.nodes) {
    const auto* copy = std::get_if<Copy>(&node);
    if (copy && copy->has_src && is_local(copy->src.id) && !is_local(copy->dst.id)) copied_out_.insert(copy->dst.id);
    if (const auto* loop = std::get_if<Loop>(&node)) is_end_[loop->body] = true;
    if (const auto* choice = std::get_if<If>(&node)) {
      is_end_[choice->then] = true;
      if (choice->otherwise != kNoNode) is_end_[choice->otherwise] = true;
    }
  }
}

void UnitLoops::refuse(const std::string& what, const std::string& remedy) const {
  throw Refusal{fail("PW0528", what, {remedy})};
}

// ---- memory ----

bool UnitLoops::allocates(const Alloc& alloc) {
  const Buffer& buffer = nest_.buffers[alloc.buffer];
  if (!unit_ || !is_of_unit(buffer.scope)) return false;
  const UnitHooks::Memory memory = unit_->memory(buffer.scope);
  const int64_t own = allocated_elements(buffer) * size_bytes(buffer.type);
  const int64_t room = memory.row_bytes > 0 ? ceil_quotient(own, memory.row_bytes) * memory.row_bytes : own;
  int64_t& used = used_[buffer.scope];
  if (used + room > memory.bytes)
    throw Refusal{fail("PW0527",
                       "buffer " + buffer.name + ": " + std::to_string(room) + " bytes beside " + std::to_string(used) +
                           " in use are more than the " + name_of(buffer.scope) + " of " +
                           std::to_string(memory.bytes) + " bytes holds",
                       {"use smaller tiles, or fewer slots of copies made ahead"})};
  at_[alloc.buffer] = memory.first + used;
  used += room;
  further_.emit(alloc.body);
  used_[buffer.scope] -= room;
  return true;
}

// ---- what is whose ----

bool UnitLoops::takes(NodeId id) {
  if (!unit_ || on_cpu_) return false;
  const Node& node = nest_.nodes[id];
  if (!touches(id)) {
    bool reads_results = false;
    ir::visit_accesses(nest_, id,
                       [&](const Access& access, bool) { reads_results |= copied_out_.count(access.id) > 0; });
    if (reads_results) finish();
    on_cpu_ = true;
    further_.emit(id);
    on_cpu_ = false;
    return true;
  }
  const auto fill = chain_of(id);
  const bool is_inside_fill = fill && is_fill(nest_, *fill);  // waited for behind all of its loops
  if (is_end_[id] && !is_inside_fill && entered_.insert(id).second) {
    further_.emit(id);
    entered_.erase(id);
    wait_for_copies();
    return true;
  }
  const auto* loop = std::get_if<Loop>(&node);
  if (loop && loop->mark.kind == MarkKind::parallel)
    refuse("a loop of tasks around the unit's work: there is one unit", "leave the step parallel out");
  return takes_inside(id);
}

bool UnitLoops::takes_inside(NodeId id) {
  const Node& node = nest_.nodes[id];
  if (const auto* sync = std::get_if<Sync>(&node)) {
    if (sync->kind == Sync::Kind::async_commit) unit_->issue(b_, "commit", {});
    if (sync->kind == Sync::Kind::async_wait) unit_->issue(b_, "wait", {{"groups", bytes(sync->arg)}});
    return true;
  }
  if (std::holds_alternative<Seq>(node) || std::holds_alternative<Alloc>(node)) return false;
  const auto chain = chain_of(id);
  if (!chain || !is_fill(nest_, *chain)) wait_for_copies();
  const auto* loop = std::get_if<Loop>(&node);
  if (loop && loop->mark.kind == MarkKind::tensor) {
    const auto match = ir::match_tensor_loop(nest_, *loop);
    if (!match || !match->instruction->is_of_unit())
      refuse("an instruction that is none of the unit's works on its memory", "tensorize by one of the unit's");
    product(*loop);
    return true;
  }
  if (chain) {
    const bool is_outermost = merged_.empty();
    if (is_outermost) merge_rows(*chain);
    box_loops(*chain);
    if (is_outermost) merged_.clear();
    return true;
  }
  if (!loop) return false;
  serial_loops_.serial_loop(*loop);
  return true;
}

/// The loops of a chain, outermost first: those of the CPU, those that others have taken in, the box.
void UnitLoops::box_loops(const Chain& chain) {
  constexpr size_t kBoxLoops = 2;
  if (chain.loops.size() <= kBoxLoops) return command(chain);
  const Loop& loop = *chain.loops.front();
  if (!std::any_of(merged_.begin(), merged_.end(), [&](const auto& rows) { return rows.second.from == &loop; }))
    return serial_loops_.serial_loop(loop);
  at_first({&loop});
  further_.emit(loop.body);
  end_at_first({&loop});
}

/// Rows of a box go on in another loop where that moves on by all of them, in each access: one command has both.
void UnitLoops::merge_rows(const Chain& chain) {
  constexpr size_t kBoxLoops = 2;
  merged_[nullptr] = {};
  const size_t count = chain.loops.size();
  const auto fits = [&](const Loop& loop) {
    return loop.lo.of.size() == 1 && variables_.constant_length(loop).has_value();
  };
  if (count <= kBoxLoops ||
      !std::all_of(chain.loops.begin(), chain.loops.end(), [&](const Loop* l) { return fits(*l); }))
    return;
  std::vector<const Access*> accesses;
  if (const auto* copy = std::get_if<Copy>(chain.leaf)) {
    accesses.push_back(&copy->dst);
    if (copy->has_src) accesses.push_back(&copy->src);
  } else {
    for (const Access& dst : std::get<Compute>(*chain.leaf).dst) accesses.push_back(&dst);
  }
  for (const Access* access : accesses)
    if (has_data(*access)) return;
  const Loop& rows = *chain.loops[count - kBoxLoops];
  if (rows.step != 1) return;
  at_first(chain.loops);
  const int64_t trips = *variables_.constant_length(rows);
  for (size_t k = count - kBoxLoops; k-- > 0;) {
    const Loop& outer = *chain.loops[k];
    const int64_t more = *variables_.iterations(outer);
    const bool goes_on = std::all_of(accesses.begin(), accesses.end(), [&](const Access* access) {
      const auto one = even_step(*access, rows, trips), all = even_step(*access, outer, more);
      return one && all && *all == *one * trips;
    });
    if (!goes_on) continue;
    merged_[&rows] = {&outer, more};
    break;
  }
  end_at_first(chain.loops);
}

std::optional<UnitLoops::Chain> UnitLoops::chain_of(NodeId id) const {
  Chain out;
  const Node* node = &nest_.nodes[id];
  while (const auto* loop = std::get_if<Loop>(node)) {
    if (loop->mark.kind == MarkKind::tensor) return std::nullopt;
    out.loops.push_back(loop);
    node = &nest_.nodes[loop->body];
    if (const auto* seq = std::get_if<Seq>(node); seq && seq->children.size() == 1)
      node = &nest_.nodes[seq->children[0]];
  }
  out.leaf = node;
  const bool is_leaf = std::holds_alternative<Copy>(*node) || std::holds_alternative<Compute>(*node);
  return is_leaf ? std::optional(out) : std::nullopt;
}

bool UnitLoops::is_fill(const LoopNest& nest, const Chain& chain) {
  const auto* copy = std::get_if<Copy>(chain.leaf);
  return copy && copy->has_src && targets::is_of_unit(nest.buffers[copy->dst.id].scope);
}

void UnitLoops::wait_for_copies() {
  if (!std::exchange(unwaited_, false)) return;
  unit_->issue(b_, "commit", {});
  unit_->issue(b_, "wait", {{"groups", bytes(0)}});
}

void UnitLoops::finish() {
  if (!unit_ || copied_out_.empty()) return;
  unit_->issue(b_, "finish", {});
  loads_.clear();
}

// ---- boxes ----

UnitLoops::Along UnitLoops::along(const Loop& loop) {
  if (const auto merged = merged_.find(&loop); merged != merged_.end()) {
    const int64_t all = *variables_.constant_length(loop) * merged->second.trips;
    return {&loop, bytes(all), all, all / merged->second.trips};
  }
  if (loop.step != 1) refuse("a box whose innermost loops have steps", "tile it otherwise");
  if (const auto length = variables_.constant_length(loop); length && *length >= 0)
    return {&loop, bytes(*length), *length, *length};
  llvm::Value *lo = integers_.bound(loop.lo, true), *hi = integers_.bound(loop.hi, false);
  llvm::Value* trips = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(hi, lo), bytes(0));
  return {&loop, trips, variables_.most_trips(loop), variables_.most_trips(loop)};
}

/// Their variables stand for the first iteration.
void UnitLoops::at_first(const std::vector<const Loop*>& loops) {
  for (const Loop* loop : loops) {
    if (loop->lo.of.size() != 1) refuse("a box with several first rows", "tile it otherwise");
    variables_.substitute(loop->var, fold(loop->lo.of[0]));
  }
}
void UnitLoops::end_at_first(const std::vector<const Loop*>& loops) {
  for (const Loop* loop : loops) variables_.end_substitution(loop->var);
}

/// In bytes.
Affine UnitLoops::offset_of(const Access& access) {
  std::vector<Affine> index;
  for (const Subscript& s : access.index) {
    if (s.data) refuse("the unit does not gather", "leave the buffer in memory");
    index.push_back(fold(s.affine));
  }
  const Buffer& buffer = nest_.buffers[access.id];
  return size_bytes(buffer.type) * facts_.offset(buffer, index);
}

/// Bytes from one iteration of the loop to the next, where they are the same in all of them; others' variables stand
/// for their first ones.
std::optional<int64_t> UnitLoops::even_step(const Access& access, const Loop& loop, int64_t iterations) {
  const Affine lo = fold(loop.lo.of[0]), first = offset_of(access);
  int64_t step = 0;
  bool is_even = true;
  for (int64_t n = 1; n < iterations && is_even; ++n) {
    variables_.substitute(loop.var, lo + Affine::of(n * loop.step));
    const Affine moved = offset_of(access) - first;
    if (n == 1 && moved.is_constant()) step = moved.constant;
    is_even = moved == Affine::of(n * step);
  }
  variables_.substitute(loop.var, lo);
  return is_even ? std::optional(step) : std::nullopt;
}

int64_t UnitLoops::step_of(const Access& access, const Loop& loop, int64_t most) {
  if (const auto step = even_step(access, loop, most)) return *step;
  refuse("rows of " + nest_.buffers[access.id].name + " do not lie equal distances apart",
         "choose tiles that its layout's digits divide");
}

llvm::Value* UnitLoops::local_address(const Access& access, const Affine& offset) {
  return integers_.integer(fold(offset + Affine::of(at_.at(access.id))));
}

void UnitLoops::command(const Chain& chain) {
  at_first(chain.loops);
  if (const auto* moved = std::get_if<Copy>(chain.leaf))
    copy(*moved, chain);
  else if (const auto& compute = std::get<Compute>(*chain.leaf); compute.how == Write::init)
    zero(compute, chain);
  else
    refuse("equation " + std::to_string(compute.equation) + " is computed by the CPU, and " +
               nest_.buffers[compute.dst[0].id].name + " or what it reads lies in the unit's memory",
           "copy it to memory first: fuse at a loop outside of the accumulator");
  end_at_first(chain.loops);
}

/// Sets what the command does not say itself, where the machine has a command for that.
void UnitLoops::strided(const std::string& name, UnitHooks::Operands operands, llvm::Value* stride,
                        llvm::Value* apart) {
  const UnitHooks::Operands more = {{"stride", stride}, {"apart", apart}};
  if (unit_->has("stride")) unit_->issue(b_, "stride", more);
  operands.insert(operands.end(), more.begin(), more.end());
  unit_->issue(b_, name, operands);
}

/// Refuses rows that lie otherwise than in their memory, where no command says how far apart they are.
void UnitLoops::has_rows(const Buffer& buffer, int64_t apart, const std::string& command, const std::string& what) {
  const int64_t row = unit_->memory(buffer.scope).row_bytes;
  if (apart == row || unit_->takes("stride", "apart") || unit_->takes(command, "apart")) return;
  refuse("rows of " + buffer.name + " lie " + std::to_string(apart) + " bytes apart: the unit's " + what +
             " have them " + std::to_string(row) + " apart",
         "promote it with a layout that ends in rows of the unit's memory");
}

/// At most so many rows at a time.
void UnitLoops::by_rows(llvm::Value* rows, int64_t most,
                        const std::function<void(llvm::Value* first, llvm::Value* rows)>& emit) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(rows);
  if (constant && constant->getSExtValue() <= most) return emit(bytes(0), rows);
  auto& context = module_.getContext();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto *loop = llvm::BasicBlock::Create(context, "rows", function_),
       *after = llvm::BasicBlock::Create(context, "after_rows", function_);
  b_.CreateCondBr(b_.CreateICmpSGT(rows, bytes(0)), loop, after);
  b_.SetInsertPoint(loop);
  llvm::PHINode* first = b_.CreatePHI(b_.getInt64Ty(), 2);
  first->addIncoming(bytes(0), before);
  emit(first, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(rows, first), bytes(most)));
  llvm::Value* next = b_.CreateAdd(first, bytes(most));
  first->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, rows), loop, after);
  b_.SetInsertPoint(after);
}

void UnitLoops::copy(const Copy& copy, const Chain& chain) {
  if (!copy.has_src || !copy.valid.is_true())
    refuse("a copy with conditions into or out of the unit's memory", "leave the buffer in memory");
  const bool is_in = targets::is_of_unit(nest_.buffers[copy.dst.id].scope);
  const Access &local = is_in ? copy.dst : copy.src, &far = is_in ? copy.src : copy.dst;
  if (targets::is_of_unit(nest_.buffers[far.id].scope))
    refuse("a copy from one memory of the unit to another", "copy by way of memory");
  const int64_t unit = size_bytes(nest_.buffers[local.id].type);
  std::vector<Along> loops;
  for (const Loop* loop : chain.loops) loops.push_back(along(*loop));
  const auto is_dense = [&](const Along& a) {
    return (a.most < 2 || (step_of(local, *a.loop, a.own) == unit && step_of(far, *a.loop, a.own) == unit));
  };
  if (loops.size() == 2 && !is_dense(loops[1]) && is_dense(loops[0])) std::swap(loops[0], loops[1]);
  const Along* columns = !loops.empty() && is_dense(loops.back()) ? &loops.back() : nullptr;
  const Along* lines = loops.size() == 2 ? &loops[0] : loops.size() == 1 && !columns ? &loops[0] : nullptr;
  if (loops.size() == 2 && !columns)
    refuse("a copy of " + nest_.buffers[local.id].name + " whose elements are neighbours nowhere",
           "promote it with a layout that ends as the tensor's rows do");
  const int64_t stride = lines ? step_of(far, *lines->loop, lines->own) : 0,
                apart = lines ? step_of(local, *lines->loop, lines->own) : 0;
  if (columns && columns->most * unit > unit_->copy_row_bytes())
    refuse("rows of " + std::to_string(columns->most * unit) + " bytes in a copy of " + nest_.buffers[local.id].name +
               ": the unit's copies take " + std::to_string(unit_->copy_row_bytes()),
           "promote it with a layout of shorter rows");
  if (lines) has_rows(nest_.buffers[local.id], apart, is_in ? "copy_in" : "copy_out", "copies");
  llvm::Value* first_far =
      b_.CreatePtrToInt(places_.pointer_to(far.id, places_.offset_of(far, nullptr)), b_.getInt64Ty());
  llvm::Value* first_local = local_address(local, offset_of(local));
  llvm::Value* width = columns ? b_.CreateMul(columns->trips, bytes(unit)) : bytes(unit);
  by_rows(lines ? lines->trips : bytes(1), unit_->copy_rows(), [&](llvm::Value* first, llvm::Value* rows) {
    strided(is_in ? "copy_in" : "copy_out",
            {{"memory", b_.CreateAdd(first_far, b_.CreateMul(first, bytes(stride)))},
             {"local", b_.CreateAdd(first_local, b_.CreateMul(first, bytes(apart)))},
             {"rows", rows},
             {"bytes", width}},
            bytes(stride), bytes(apart));
  });
  if (is_in && !copy.is_async) unwaited_ = true;
}

void UnitLoops::zero(const Compute& init, const Chain& chain) {
  const Access& cell = init.dst[0];
  const Buffer& buffer = nest_.buffers[cell.id];
  if (init.dst.size() != 1 || init.reducer != Reducer::sum || !is_integer(buffer.type))
    refuse("the unit adds up integers, and begins with zeros", "accumulate other reductions in memory");
  const int64_t unit = size_bytes(buffer.type);
  std::vector<Along> loops;
  for (const Loop* loop : chain.loops) loops.push_back(along(*loop));
  const auto is_dense = [&](const Along& a) { return a.most < 2 || step_of(cell, *a.loop, a.own) == unit; };
  if (loops.size() == 2 && !is_dense(loops[1])) std::swap(loops[0], loops[1]);
  const Along* columns = !loops.empty() && is_dense(loops.back()) ? &loops.back() : nullptr;
  const Along* lines = loops.size() == 2 ? &loops[0] : loops.size() == 1 && !columns ? &loops[0] : nullptr;
  if (loops.size() == 2 && !columns) refuse("sums of " + buffer.name + " are neighbours nowhere", "tile it otherwise");
  const int64_t apart = lines ? step_of(cell, *lines->loop, lines->own) : 0;
  if (lines) has_rows(buffer, apart, "zero", "first values");
  llvm::Value* first_local = local_address(cell, offset_of(cell));
  llvm::Value* width = columns ? b_.CreateMul(columns->trips, bytes(unit)) : bytes(unit);
  by_rows(lines ? lines->trips : bytes(1), unit_->copy_rows(), [&](llvm::Value* first, llvm::Value* rows) {
    strided("zero",
            {{"local", b_.CreateAdd(first_local, b_.CreateMul(first, bytes(apart)))}, {"rows", rows}, {"bytes", width}},
            bytes(0), bytes(apart));
  });
}

// ---- products ----

void UnitLoops::product(const Loop& outermost) {
  const auto match = ir::match_tensor_loop(nest_, outermost);
  if (!match) throw Refusal{match.error()};
  const ir::Instruction& instruction = *match->instruction;
  at_first(match->loops);
  UnitHooks::Operands operands;
  const char* names[] = {"c", "a", "b"};
  for (size_t k = 0; k < instruction.operands.size(); ++k) {
    const auto& own = instruction.operands[k];
    const Access* access = k == 0                         ? &match->compute->dst[0]
                           : match->binding.access[k - 1] ? &*match->binding.access[k - 1]
                                                          : nullptr;
    if (!access || !targets::is_of_unit(nest_.buffers[access->id].scope))
      refuse("operand " + instruction.nest.buffers[own.buffer].name + " of " + instruction.name +
                 " does not lie in the unit's memory",
             "promote it to the scratchpad, and accumulate in the unit's memory");
    const Buffer& buffer = nest_.buffers[access->id];
    const Loop &rows = *match->loops[own.loops[0]], &columns = *match->loops[own.loops[1]];
    const int64_t unit = size_bytes(buffer.type), row = unit_->memory(buffer.scope).row_bytes;
    const int64_t most_rows = variables_.most_trips(rows), most_columns = variables_.most_trips(columns);
    const int64_t apart = step_of(*access, rows, most_rows);
    const std::string name = names[k];
    if (most_columns > 1 && step_of(*access, columns, most_columns) != unit)
      refuse("rows of " + buffer.name + " are not contiguous", "promote it with a layout that ends in them");
    if (most_rows > 1 && apart != row && !unit_->takes("product", name + "_apart"))
      refuse("rows of " + buffer.name + " lie " + std::to_string(apart) + " bytes apart: the unit has them " +
                 std::to_string(row) + " apart",
             "promote it with a layout that ends in rows of the unit's memory");
    operands.emplace_back(name, local_address(*access, offset_of(*access)));
    operands.emplace_back(name + "_apart", bytes(apart));
  }
  const char* sizes[] = {"rows", "columns", "depth"};
  const size_t axes[] = {instruction.operands[0].loops[0], instruction.operands[0].loops[1],
                         instruction.operands[1].loops[1]};
  for (size_t k = 0; k < std::size(axes); ++k) operands.emplace_back(sizes[k], along(*match->loops[axes[k]]).trips);
  unit_->issue(b_, "product", operands);
  end_at_first(match->loops);
}

}  // namespace polyweft::targets
