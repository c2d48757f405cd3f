#include "targets/gpu/emulator/host_code.h"

#include <algorithm>
#include <map>

#include "targets/cpu/halide_runtime.h"
#include "targets/cpu/size_checks.h"
#include "targets/gpu/kernels.h"

namespace polyweft::targets {
namespace {

/// Of one function.
class HostBody {
 public:
  HostBody(const HostCode& code, llvm::Function& function, NodeId root)
      : code_(code),
        device_(code.nest),
        nest_(code.nest.nest),
        function_(function),
        root_(root),
        b_(function.getContext()) {}

  int64_t write(const std::vector<BufferId>& arguments) {
    values_.resize(nest_.params.size() + nest_.loop_names.size());
    for (size_t p = 0; p < nest_.params.size(); ++p)
      values_[p] = b_.getInt64(static_cast<uint64_t>(nest_.params[p].value));
    b_.SetInsertPoint(block("entry"));
    end_ = block("end");
    for (size_t a = 0; a < arguments.size(); ++a) {
      function_.getArg(static_cast<unsigned>(a))->setName(nest_.buffers[arguments[a]].name);
      bases_[arguments[a]] = function_.getArg(static_cast<unsigned>(a));
    }
    launch_ = b_.CreateAlloca(launch_type(), nullptr, "launch");
    words_ = b_.CreateAlloca(b_.getInt64Ty(), b_.getInt64(most_words()), "words");
    llvm::Value* const memory = take_workspaces();
    node(root_);
    returned_.emplace_back(b_.getInt32(0), b_.GetInsertBlock());
    b_.CreateBr(end_);
    b_.SetInsertPoint(end_);
    auto* code = b_.CreatePHI(b_.getInt32Ty(), static_cast<unsigned>(returned_.size()));
    for (const auto& [value, from] : returned_) code->addIncoming(value, from);
    if (memory) halide_runtime().release(b_, memory);
    b_.CreateRet(code);
    return static_cast<int64_t>(function_.getInstructionCount());
  }

 private:
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, &function_); }

  /// As emulator::Launch has it.
  llvm::StructType* launch_type() {
    llvm::Type *i64 = b_.getInt64Ty(), *i32 = b_.getInt32Ty(), *pointer = b_.getPtrTy();
    auto* three = llvm::ArrayType::get(i64, 3);
    return llvm::StructType::get(b_.getContext(), {pointer, pointer, three, three, i64, i64, i32, i32, i32});
  }
  uint64_t most_words() const {
    size_t outer = 0;
    for (const DeviceKernel& kernel : device_.kernels) outer = std::max(outer, kernel.outer.size());
    return kernel_arguments(device_).size() + outer + 1;
  }

  /// One block of memory for those of the nest; null where there are none.
  llvm::Value* take_workspaces() {
    constexpr int64_t kAlignment = 256;
    int64_t bytes = 0;
    std::map<BufferId, int64_t> at;
    for (BufferId id = 0; id < device_.buffers.size(); ++id) {
      if (device_.buffers[id].place != DevicePlace::workspace) continue;
      at[id] = bytes;
      bytes += device_.buffers[id].bytes * device_.buffers[id].instances;
    }
    if (at.empty()) return nullptr;
    llvm::Value* const memory = halide_runtime().allocate(b_, b_.getInt64(static_cast<uint64_t>(bytes + kAlignment)));
    auto *none = block("no_memory"), *go_on = block("start");
    b_.CreateCondBr(b_.CreateIsNull(memory), none, go_on);
    b_.SetInsertPoint(none);
    b_.CreateRet(b_.getInt32(static_cast<uint32_t>(halide_runtime().out_of_memory())));
    b_.SetInsertPoint(go_on);
    llvm::Value* const address = b_.CreatePtrToInt(memory, b_.getInt64Ty());
    llvm::Value* const skipped = b_.CreateAnd(b_.CreateNeg(address), b_.getInt64(kAlignment - 1));
    llvm::Value* const first = b_.CreateInBoundsGEP(b_.getInt8Ty(), memory, skipped);
    for (const auto& [id, offset] : at)
      bases_[id] = b_.CreateInBoundsGEP(b_.getInt8Ty(), first, b_.getInt64(static_cast<uint64_t>(offset)));
    return memory;
  }

  SizeCode sizes() { return SizeCode(b_, values_); }

  void node(NodeId id) {
    if (id == kNoNode) return;
    if (const auto at = device_.kernel_at.find(id); at != device_.kernel_at.end()) return launch(at->second);
    const Node& here = nest_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&here))
      for (NodeId child : seq->children) node(child);
    if (const auto* alloc = std::get_if<Alloc>(&here)) node(alloc->body);
    if (const auto* choice = std::get_if<If>(&here)) branch(*choice);
    if (const auto* loop = std::get_if<Loop>(&here)) serial(*loop);
  }

  void branch(const If& choice) {
    auto *then = block("then"), *otherwise = block("otherwise"), *joined = block("joined");
    b_.CreateCondBr(sizes().condition(choice.condition), then, otherwise);
    b_.SetInsertPoint(then);
    node(choice.then);
    b_.CreateBr(joined);
    b_.SetInsertPoint(otherwise);
    node(choice.otherwise);
    b_.CreateBr(joined);
    b_.SetInsertPoint(joined);
  }

  void serial(const Loop& loop) {
    llvm::Value *first = bound(loop.lo, llvm::Intrinsic::smax), *last = bound(loop.hi, llvm::Intrinsic::smin);
    auto *before = b_.GetInsertBlock(), *head = block("loop"), *body = block("body"), *after = block("after");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    auto* value = b_.CreatePHI(b_.getInt64Ty(), 2, nest_.loop_names[loop.var - nest_.params.size()]);
    value->addIncoming(first, before);
    b_.CreateCondBr(b_.CreateICmpSLT(value, last), body, after);
    b_.SetInsertPoint(body);
    values_[loop.var] = value;
    node(loop.body);
    value->addIncoming(b_.CreateAdd(value, b_.getInt64(static_cast<uint64_t>(loop.step))), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
  }
  llvm::Value* bound(const Bound& of, llvm::Intrinsic::ID extreme) {
    llvm::Value* out = nullptr;
    for (const Affine& e : of.of) {
      llvm::Value* value = sizes().value(e);
      out = out ? b_.CreateBinaryIntrinsic(extreme, out, value) : value;
    }
    return out;
  }

  void set(unsigned field, llvm::Value* value) {
    b_.CreateStore(value, b_.CreateStructGEP(launch_type(), launch_, field));
  }
  llvm::Constant* three(const GridSize& of) {
    std::vector<uint64_t> words(of.begin(), of.end());
    return llvm::ConstantDataArray::get(b_.getContext(), words);
  }
  void set_word(uint64_t number, llvm::Value* value) {
    b_.CreateStore(value, b_.CreateInBoundsGEP(b_.getInt64Ty(), words_, b_.getInt64(number)));
  }

  void launch(uint32_t number) {
    llvm::Module& module = *function_.getParent();
    const DeviceKernel& kernel = device_.kernels[number];
    uint64_t word = 0;
    for (BufferId id : kernel_arguments(device_)) {
      const auto base = bases_.find(id);
      set_word(word++, base != bases_.end() ? base->second : llvm::ConstantPointerNull::get(b_.getPtrTy()));
    }
    for (VarId var : kernel.outer) set_word(word++, values_[var]);
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
    set(0, module.getOrInsertFunction(launched_symbol(code_.symbol, number), type).getCallee());
    set(1, words_);
    set(2, three(kernel.blocks));
    set(3, three(kernel.threads));
    set(4, b_.getInt64(static_cast<uint64_t>(kernel.shared_bytes)));
    set(5, b_.getInt64(static_cast<uint64_t>(code_.stack_bytes[number])));
    set(6, b_.getInt32(static_cast<uint32_t>(code_.order)));
    set(7, b_.getInt32(code_.waits[number]));
    set(8, b_.getInt32(static_cast<uint32_t>(code_.lanes)));
    llvm::Value* const result =
        b_.CreateCall(module.getOrInsertFunction("polyweft_emulator_run", b_.getInt32Ty(), b_.getPtrTy()), {launch_});
    returned_.emplace_back(result, b_.GetInsertBlock());
    auto* go_on = block("launched");
    b_.CreateCondBr(b_.CreateICmpEQ(result, b_.getInt32(0)), go_on, end_);
    b_.SetInsertPoint(go_on);
  }

  const HostCode& code_;
  const DeviceNest& device_;
  const LoopNest& nest_;
  llvm::Function& function_;
  const NodeId root_;
  llvm::IRBuilder<> b_;
  llvm::BasicBlock* end_ = nullptr;
  llvm::Value *launch_ = nullptr, *words_ = nullptr;
  std::map<BufferId, llvm::Value*> bases_;
  std::vector<llvm::Value*> values_;                                  ///< of variables
  std::vector<std::pair<llvm::Value*, llvm::BasicBlock*>> returned_;  ///< what the function returns, and from where
};

}  // namespace

int64_t HostCode::write(llvm::Function& body, const std::vector<BufferId>& arguments, NodeId root) const {
  return HostBody(*this, body, root).write(arguments);
}

std::string launched_symbol(const std::string& symbol, size_t kernel) {
  return kernel_symbol(symbol, kernel) + "_launched";
}

void add_launched_function(llvm::Function& kernel, const std::string& name) {
  llvm::IRBuilder<> b(kernel.getContext());
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy()}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, *kernel.getParent());
  function->setAttributes(
      llvm::AttributeList::get(kernel.getContext(), llvm::AttributeList::FunctionIndex,
                               llvm::AttrBuilder(kernel.getContext(), kernel.getAttributes().getFnAttrs())));
  b.SetInsertPoint(llvm::BasicBlock::Create(kernel.getContext(), "entry", function));
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& argument : kernel.args()) {
    if (argument.getArgNo() + 1 == kernel.arg_size()) break;
    llvm::Value* at = b.CreateInBoundsGEP(b.getInt64Ty(), function->getArg(0), b.getInt64(argument.getArgNo()));
    arguments.push_back(b.CreateLoad(argument.getType(), at));
  }
  arguments.push_back(function->getArg(1));
  b.CreateCall(&kernel, arguments);
  b.CreateRetVoid();
}

}  // namespace polyweft::targets
