#include "targets/common/memory/heap_blocks.h"

#include "ir/nests/workspace.h"
#include "targets/common/nest_walk.h"

namespace polyweft::targets {
namespace {

constexpr uint64_t kAlignment = ir::kBlockAlignment;

llvm::Value* address_in(llvm::Instruction& i) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) return load->getPointerOperand();
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) return store->getPointerOperand();
  auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
  if (!call) return nullptr;
  if (call->getIntrinsicID() == llvm::Intrinsic::masked_load) return call->getArgOperand(0);
  return call->getIntrinsicID() == llvm::Intrinsic::masked_store ? call->getArgOperand(1) : nullptr;
}

/// The buffer in whose memory an address lies: steps and pointers that move with a loop, back to a base.
class BufferOf {
 public:
  explicit BufferOf(const std::map<llvm::Value*, BufferId>& bases) : known_(bases.begin(), bases.end()) {}
  std::optional<BufferId> operator()(llvm::Value* address) {
    const auto [at, is_new] = known_.emplace(address, std::nullopt);
    if (!is_new) return at->second;
    std::optional<BufferId> found;
    if (auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(address)) found = (*this)(step->getPointerOperand());
    if (auto* joined = llvm::dyn_cast<llvm::PHINode>(address))
      for (llvm::Value* from : joined->incoming_values())
        if (!found) found = (*this)(from);
    return known_[address] = found;
  }

 private:
  std::map<llvm::Value*, std::optional<BufferId>> known_;
};

}  // namespace

// Aligned by hand; on failure everything live in this function is freed and the kernel returns its code.
llvm::Value* HeapBlocks::allocate(llvm::Value* bytes) {
  auto& context = module_.getContext();
  llvm::Value* null = llvm::ConstantPointerNull::get(b_.getPtrTy());
  llvm::Value* raw = hooks_.runtime.allocate(b_, b_.CreateAdd(bytes, b_.getInt64(2 * kAlignment)));
  llvm::BasicBlock* failed = llvm::BasicBlock::Create(context, "out_of_memory", function_);
  llvm::BasicBlock* good = llvm::BasicBlock::Create(context, "allocated", function_);
  b_.CreateCondBr(b_.CreateICmpEQ(raw, null), failed, good, llvm::MDBuilder(context).createBranchWeights(1, 1000));
  b_.SetInsertPoint(failed);
  release_all();
  if (tile_instructions_.is_on()) tile_instructions_.release_tiles();
  b_.CreateRet(b_.getInt32(static_cast<uint32_t>(hooks_.runtime.out_of_memory())));
  b_.SetInsertPoint(good);
  llvm::Value* address =
      b_.CreateAnd(b_.CreateAdd(b_.CreatePtrToInt(raw, b_.getInt64Ty()), b_.getInt64(kAlignment - 1)),
                   b_.getInt64(~(kAlignment - 1)));
  heap_.push_back(raw);
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), raw, b_.CreateSub(address, b_.CreatePtrToInt(raw, b_.getInt64Ty())));
}

void HeapBlocks::free_last() {
  hooks_.runtime.release(b_, heap_.back());
  heap_.pop_back();
}

void HeapBlocks::open_block(const ir::Block& block) {
  llvm::Value* start = allocate(b_.getInt64(static_cast<uint64_t>(block.bytes)));
  for (const ir::Placed& placed : block.buffers)
    buffers_.place(placed.buffer,
                   b_.CreateInBoundsGEP(b_.getInt8Ty(), start, b_.getInt64(static_cast<uint64_t>(placed.at)),
                                        nest_.buffers[placed.buffer].name));
}

void HeapBlocks::open_symbolic(BufferId id) {
  llvm::Value* bytes =
      b_.CreateMul(strides_.elements(id), b_.getInt64(static_cast<uint64_t>(size_bytes(nest_.buffers[id].type))));
  buffers_.place(id, allocate(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, bytes, b_.getInt64(1))));
}

std::vector<BufferId> HeapBlocks::open_symbolic_inside(NodeId id) {
  std::vector<BufferId> out;
  if (lanes_.width > 1 || !nest_.symbolic) return out;
  walk_nodes(nest_, id, [&](const Node& node) {
    const auto* alloc = std::get_if<Alloc>(&node);
    if (alloc && nest_.buffers[alloc->buffer].scope == Scope::heap && strides_.is_symbolic(alloc->buffer) &&
        !bases_[alloc->buffer]) {
      open_symbolic(alloc->buffer);
      out.push_back(alloc->buffer);
    }
    const auto* loop = std::get_if<Loop>(&node);
    return !loop || loop->mark.kind != MarkKind::parallel;
  });
  return out;
}

void HeapBlocks::close_block(const ir::Block& block) {
  free_last();
  for (const ir::Placed& placed : block.buffers) buffers_.remove(placed.buffer);
}

// Buffers of one block are distinct memory, which nobody could see: they all come from one address.
void HeapBlocks::tell_apart(const ir::Block& block) {
  if (block.buffers.size() < 2) return;
  llvm::MDBuilder md(module_.getContext());
  llvm::MDNode* domain = md.createAnonymousAliasScopeDomain("workspace");
  std::map<llvm::Value*, BufferId> bases;
  std::map<BufferId, llvm::MDNode*> scopes;
  for (const ir::Placed& placed : block.buffers) {
    bases[bases_[placed.buffer]] = placed.buffer;
    scopes[placed.buffer] = md.createAnonymousAliasScope(domain, nest_.buffers[placed.buffer].name);
  }
  BufferOf buffer_of(bases);
  for (llvm::BasicBlock& some : *function_)
    for (llvm::Instruction& i : some) {
      llvm::Value* address = address_in(i);
      const auto id = address ? buffer_of(address) : std::nullopt;
      if (!id) continue;
      std::vector<llvm::Metadata*> others;
      for (const auto& [other, scope] : scopes)
        if (other != *id) others.push_back(scope);
      i.setMetadata(llvm::LLVMContext::MD_alias_scope, llvm::MDNode::get(module_.getContext(), {scopes[*id]}));
      i.setMetadata(llvm::LLVMContext::MD_noalias, llvm::MDNode::get(module_.getContext(), others));
    }
}

}  // namespace polyweft::targets
