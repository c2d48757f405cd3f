// Buffers of the heap: halide_malloc and halide_free, outside all serial loops. A block that each iteration took and gave back would cost it two calls and, where
// the allocator returns large blocks to the system, the mapping of every page anew. Tasks of a parallel loop have blocks of their own.
#include <algorithm>

#include "targets/common/nest_code.h"
#include "targets/common/nest_walk.h"

namespace polyweft::targets {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr int kOutOfMemory = -11;  // halide_error_code_out_of_memory

uint64_t bytes_of(const Buffer& buffer) {
  return static_cast<uint64_t>(allocated_elements(buffer)) * static_cast<uint64_t>(size_bytes(buffer.type));
}

/// Large blocks begin at one place of a page each: the same element of two tensors would then share its low address bits, and a load that follows the store to
/// the other waits for it. Blocks that live together therefore begin a few lines apart.
uint64_t stagger(size_t live) {
  constexpr uint64_t kLines = 17, kPage = 4096;
  return live * kLines * kAlignment % kPage;
}

}  // namespace

// Aligned by hand; on failure everything live in this function is freed and the kernel returns Halide's code.
void NestCode::open_heap(BufferId id) {
  const Buffer& buffer = nest_.buffers[id];
  const uint64_t apart = !is_symbolic(id) && bytes_of(buffer) > kSmallHeapBytes ? stagger(heap_.size()) : 0;
  llvm::Value* bytes = is_symbolic(id) ? b_.CreateMul(strides_[id][0], b_.getInt64(static_cast<uint64_t>(size_bytes(buffer.type)))) : b_.getInt64(bytes_of(buffer));
  bytes = b_.CreateAdd(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, bytes, b_.getInt64(1)), b_.getInt64(2 * kAlignment + apart));
  auto& context = module_.getContext();
  auto malloc_function = module_.getOrInsertFunction("halide_malloc", b_.getPtrTy(), b_.getPtrTy(), b_.getInt64Ty());
  auto free_function = module_.getOrInsertFunction("halide_free", b_.getVoidTy(), b_.getPtrTy(), b_.getPtrTy());
  llvm::cast<llvm::Function>(malloc_function.getCallee())->setReturnDoesNotAlias();
  llvm::Value* null = llvm::ConstantPointerNull::get(b_.getPtrTy());
  llvm::Value* raw = b_.CreateCall(malloc_function, {null, bytes});
  llvm::BasicBlock* failed = llvm::BasicBlock::Create(context, "out_of_memory", function_);
  llvm::BasicBlock* good = llvm::BasicBlock::Create(context, "allocated", function_);
  b_.CreateCondBr(b_.CreateICmpEQ(raw, null), failed, good, llvm::MDBuilder(context).createBranchWeights(1, 1000));
  b_.SetInsertPoint(failed);
  for (llvm::Value* live : heap_) b_.CreateCall(free_function, {null, live});
  if (tiles_on_) release_tiles();
  b_.CreateRet(b_.getInt32(static_cast<uint32_t>(kOutOfMemory)));
  b_.SetInsertPoint(good);
  llvm::Value* address = b_.CreateAnd(b_.CreateAdd(b_.CreatePtrToInt(raw, b_.getInt64Ty()), b_.getInt64(kAlignment - 1)), b_.getInt64(~(kAlignment - 1)));
  llvm::Value* step = b_.CreateAdd(b_.CreateSub(address, b_.CreatePtrToInt(raw, b_.getInt64Ty())), b_.getInt64(apart));
  bases_[id] = b_.CreateInBoundsGEP(b_.getInt8Ty(), raw, step, buffer.name);
  heap_.push_back(raw);
}

// The last ones that were opened.
void NestCode::close_heap(const std::vector<BufferId>& opened) {
  auto free_function = module_.getOrInsertFunction("halide_free", b_.getVoidTy(), b_.getPtrTy(), b_.getPtrTy());
  for (size_t k = opened.size(); k-- > 0;) {
    b_.CreateCall(free_function, {llvm::ConstantPointerNull::get(b_.getPtrTy()), heap_.back()});
    heap_.pop_back();
    bases_[opened[k]] = nullptr;
  }
}

void NestCode::allocate_heap(BufferId id, NodeId body) {
  open_heap(id);
  emit(body);
  close_heap({id});
}

// Blocks that something in there, outside parallel loops, would allocate.
std::vector<BufferId> NestCode::open_heap_inside(NodeId id) {
  std::vector<BufferId> out;
  if (lanes_.width > 1) return out;
  walk_nodes(nest_, id, [&](const Node& node) {
    if (const auto* alloc = std::get_if<Alloc>(&node)) {
      const Buffer& buffer = nest_.buffers[alloc->buffer];
      if (buffer.scope == Scope::heap && (is_symbolic(alloc->buffer) || bytes_of(buffer) > kSmallHeapBytes) && !bases_[alloc->buffer]) {
        open_heap(alloc->buffer);
        out.push_back(alloc->buffer);
      }
    }
    const auto* loop = std::get_if<Loop>(&node);
    return !loop || loop->mark.kind != MarkKind::parallel;
  });
  return out;
}

}  // namespace polyweft::targets
