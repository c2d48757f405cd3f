#include "targets/common/loops/parallel_loops.h"

#include <cmath>

#include "targets/common/code_layout.h"
#include "targets/common/nest_code.h"

namespace polyweft::targets {

// A task loads what the closure holds and calls `work` with begin + number * step at the end.
void ParallelLoops::unpack_closure(llvm::Function* task, llvm::Function* work, int64_t step) {
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module_.getContext(), "entry", task));
  std::vector<llvm::Value*> values;
  for (unsigned k = 0; k < work->arg_size(); ++k)
    values.push_back(builder.CreateLoad(
        work->getArg(k)->getType(),
        builder.CreateInBoundsGEP(builder.getInt64Ty(), hooks_.runtime.task_closure(task), builder.getInt64(k))));
  llvm::Value* number = builder.CreateMul(builder.CreateSExt(hooks_.runtime.task_number(task), builder.getInt64Ty()),
                                          builder.getInt64(static_cast<uint64_t>(step)));
  values.back() = builder.CreateAdd(values.back(), number);
  builder.CreateRet(builder.CreateCall(work, values));
}

// Iterations become tasks: a function of its own over a closure of base addresses and loop variables.
void ParallelLoops::parallel_loop(const Loop& loop) {
  auto& context = module_.getContext();
  llvm::Value* lo = integers_.bound(loop.lo, true);
  llvm::Value* hi = integers_.bound(loop.hi, false);
  const VarFacts facts = variables_.loop_facts(loop);
  llvm::Type* i64 = b_.getInt64Ty();
  llvm::Type* i32 = b_.getInt32Ty();
  llvm::Type* pointer = b_.getPtrTy();
  std::vector<BufferId> buffers;
  for (BufferId id = 0; id < bases_.size(); ++id)
    if (bases_[id] && !llvm::isa<llvm::GlobalVariable>(bases_[id])) buffers.push_back(id);
  std::vector<std::pair<VarId, llvm::Value*>> variables(variables_.values().begin(), variables_.values().end());
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  const uint64_t slots = buffers.size() + variables.size() + 1;
  llvm::Value* closure = entry.CreateAlloca(i64, entry.getInt64(slots));
  const auto slot = [&](llvm::IRBuilder<>& builder, llvm::Value* base, uint64_t n) {
    return builder.CreateInBoundsGEP(i64, base, builder.getInt64(n));
  };
  uint64_t n = 0;
  for (BufferId id : buffers) b_.CreateStore(bases_[id], slot(b_, closure, n++));
  for (const auto& [var, value] : variables) b_.CreateStore(value, slot(b_, closure, n++));
  b_.CreateStore(lo, slot(b_, closure, n));

  // The task unpacks the closure and calls the work, whose pointers are then known to be distinct memory.
  const llvm::AttributeList attributes = llvm::AttributeList::get(
      context, llvm::AttributeList::FunctionIndex, llvm::AttrBuilder(context, function_->getAttributes().getFnAttrs()));
  std::vector<llvm::Type*> unpacked(buffers.size(), pointer);
  unpacked.resize(buffers.size() + variables.size() + 1, i64);
  auto* work = llvm::Function::Create(llvm::FunctionType::get(i32, unpacked, false), llvm::GlobalValue::InternalLinkage,
                                      function_->getName() + "_work", module_);
  auto* task = llvm::Function::Create(hooks_.runtime.task_type(context), llvm::GlobalValue::InternalLinkage,
                                      function_->getName() + "_task", module_);
  work->setAlignment(llvm::Align(kCodeLine));
  work->setAttributes(attributes);
  task->setAttributes(attributes);
  if (branches_.frequencies()) {
    const ir::LoopFrequency often = branches_.frequency_of(loop);
    for (llvm::Function* f : {work, task})
      f->addFnAttr(kRunsAttribute,
                   std::to_string(often.met * often.entered * std::ceil(often.trips / branches_.expected_threads())));
  }
  for (unsigned k = 0; k < buffers.size(); ++k)
    if (!buffers_.is_shared(buffers[k])) work->getArg(k)->addAttr(llvm::Attribute::NoAlias);
  unpack_closure(task, work, loop.step);
  {
    std::vector<llvm::Value*> bases(bases_.size(), nullptr);
    for (BufferId id = 0; id < bases_.size(); ++id)
      if (bases_[id] && llvm::isa<llvm::GlobalVariable>(bases_[id])) bases[id] = bases_[id];
    unsigned m = 0;
    for (BufferId id : buffers) bases[id] = work->getArg(m++);
    NestCode inner({module_, nest_, work, hooks_}, bases);
    auto& ib = inner.builder();
    llvm::BasicBlock* first = llvm::BasicBlock::Create(context, "entry", work);
    llvm::BasicBlock* start = llvm::BasicBlock::Create(context, "start", work);
    ib.SetInsertPoint(start);
    if (branches_.frequencies()) inner.expect(*branches_.frequencies(), branches_.expected_threads());
    inner.start_as_task(variables_, buffers_);
    for (const auto& [var, value] : variables) inner.variables().set_value(var, work->getArg(m++));
    inner.variables().bind(loop.var, work->getArg(m), facts);
    inner.open_strides();
    inner.emit_region(loop.body);
    inner.fence_after(loop.body);
    tile_instructions_.note_use(inner.uses_tiles());
    ib.CreateRet(ib.getInt32(0));
    ib.SetInsertPoint(first);
    ib.CreateBr(start);
  }
  llvm::Value* span = b_.CreateAdd(b_.CreateSub(hi, lo), b_.getInt64(static_cast<uint64_t>(loop.step - 1)));
  llvm::Value* tasks = b_.CreateTrunc(
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax,
                               b_.CreateSDiv(span, b_.getInt64(static_cast<uint64_t>(loop.step))), b_.getInt64(0)),
      i32);
  llvm::Value* code = hooks_.runtime.run_tasks(b_, task, tasks, closure);
  llvm::BasicBlock* failed = llvm::BasicBlock::Create(context, "task_failed", function_);
  llvm::BasicBlock* good = llvm::BasicBlock::Create(context, "tasks_done", function_);
  b_.CreateCondBr(b_.CreateICmpNE(code, b_.getInt32(0)), failed, good);
  b_.SetInsertPoint(failed);
  heap_blocks_.release_all();
  b_.CreateRet(code);
  b_.SetInsertPoint(good);
  loads_.clear();
}

}  // namespace polyweft::targets
