#include "targets/gpu/kernels.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <set>

#include "ir/nests/walk_nest.h"
#include "targets/common/constant_data.h"
#include "targets/common/nest_code.h"

namespace polyweft::targets {
namespace {

constexpr int64_t kMostKernelInstructions = 400'000;

/// All memory of a kernel is there before it starts, and nobody runs tasks for it.
class NoRuntime final : public RuntimeHooks {
 public:
  llvm::Value* allocate(llvm::IRBuilder<>&, llvm::Value*) const override { refuse(); }
  void release(llvm::IRBuilder<>&, llvm::Value*) const override { refuse(); }
  int out_of_memory() const override { return 0; }
  llvm::FunctionType* task_type(llvm::LLVMContext&) const override { refuse(); }
  llvm::Value* task_number(llvm::Function*) const override { refuse(); }
  llvm::Value* task_closure(llvm::Function*) const override { refuse(); }
  llvm::Value* run_tasks(llvm::IRBuilder<>&, llvm::Function*, llvm::Value*, llvm::Value*) const override { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    throw Refusal{fail("PW0523", "a kernel of a device has neither a heap nor tasks of its own")};
  }
};

class KernelModule {
 public:
  KernelModule(llvm::LLVMContext& context, const DeviceNest& nest, const InstructionHooks& instructions,
               const DeviceDialect& dialect, std::string symbol)
      : module_(std::make_unique<llvm::Module>(symbol, context)),
        device_(nest),
        nest_(nest.nest),
        dialect_(dialect),
        hooks_{instructions, runtime_, &dialect},
        symbol_(std::move(symbol)),
        b_(context) {}

  std::unique_ptr<llvm::Module> run() {
    module_->setDataLayout(dialect_.data_layout());
    for (BufferId id = 0; id < nest_.buffers.size(); ++id)
      constants_.push_back(device_.buffers[id].place == DevicePlace::constant
                               ? constant_data(*module_, nest_.buffers[id], memory_type(id), dialect_.constant_space())
                               : nullptr);
    for (size_t k = 0; k < device_.kernels.size(); ++k) kernel(k);
    return std::move(module_);
  }

 private:
  llvm::Type* memory_type(BufferId id) {
    return ScalarCode(b_, nest_.cls, hooks_.instructions).memory_type(nest_.buffers[id].type);
  }

  void kernel(size_t number) {
    const DeviceKernel& kernel = device_.kernels[number];
    const std::vector<BufferId> arguments = kernel_arguments(device_);
    std::vector<llvm::Type*> types(arguments.size(),
                                   llvm::PointerType::get(module_->getContext(), dialect_.global_space()));
    types.resize(arguments.size() + kernel.outer.size(), b_.getInt64Ty());
    auto* function =
        llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                               llvm::GlobalValue::ExternalLinkage, kernel_symbol(symbol_, number), *module_);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr("no-trapping-math", "true");
    dialect_.mark_kernel(*function, kernel);
    bases_ = constants_;
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", function));
    for (size_t a = 0; a < arguments.size(); ++a) {
      llvm::Argument* argument = function->getArg(static_cast<unsigned>(a));
      argument->setName(nest_.buffers[arguments[a]].name);
      argument->addAttr(llvm::Attribute::NoAlias);
      bases_[arguments[a]] = instance(arguments[a], argument, kernel);
    }
    for (BufferId id = 0; id < nest_.buffers.size(); ++id)
      if (const auto& within = nest_.buffers[id].within; within && bases_[within->host])
        bases_[id] = b_.CreateInBoundsGEP(b_.getInt8Ty(), bases_[within->host],
                                          b_.getInt64(static_cast<uint64_t>(within->at_bytes)));
    shared(kernel);
    llvm::BasicBlock* const entry = b_.GetInsertBlock();
    NestCode code({*module_, nest_, function, hooks_}, bases_);
    code.limit_instructions(kMostKernelInstructions);
    llvm::BasicBlock* const start = llvm::BasicBlock::Create(b_.getContext(), "start", function);
    code.builder().SetInsertPoint(start);
    for (size_t v = 0; v < kernel.outer.size(); ++v)
      code.variables().bind(kernel.outer[v], function->getArg(static_cast<unsigned>(arguments.size() + v)),
                            device_.outer_facts.at(kernel.outer[v]));
    code.emit_kernel(kernel.root);
    code.builder().CreateRetVoid();
    code.refuse_too_many();
    b_.SetInsertPoint(entry);
    b_.CreateBr(start);
    let_threads_write(*function, arguments, kernel.root);
  }

  /// LLVM takes it that a call, as a barrier is one, leaves the memory of a noalias argument as it was. Other threads
  /// do not.
  void let_threads_write(llvm::Function& function, const std::vector<BufferId>& arguments, NodeId root) {
    const auto is_barrier = [](const llvm::Instruction& instruction) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      return call && call->isConvergent();
    };
    if (std::none_of(llvm::inst_begin(function), llvm::inst_end(function), is_barrier)) return;
    std::set<BufferId> written;
    ir::walk_nodes(nest_, root, [&](const Node& node) {
      const auto id = static_cast<NodeId>(&node - nest_.nodes.data());
      if (std::holds_alternative<Compute>(node) || std::holds_alternative<Copy>(node))
        ir::visit_accesses(nest_, id, [&](const Access& access, bool is_write) {
          if (is_write) written.insert(allocation_of(access.id));
        });
      return true;
    });
    for (size_t a = 0; a < arguments.size(); ++a)
      if (written.contains(arguments[a])) function.removeParamAttr(static_cast<unsigned>(a), llvm::Attribute::NoAlias);
  }
  BufferId allocation_of(BufferId id) const {
    while (nest_.buffers[id].within) id = nest_.buffers[id].within->host;
    return id;
  }

  /// Where the cells begin that this thread has to do with.
  llvm::Value* instance(BufferId id, llvm::Value* base, const DeviceKernel& kernel) {
    const DeviceBuffer& at = device_.buffers[id];
    llvm::Value* number = nullptr;
    for (const std::string& axis : at.axes) {
      if (number) number = b_.CreateMul(number, b_.getInt64(static_cast<uint64_t>(kernel.extent(axis))));
      llvm::Value* const index = dialect_.index(b_, axis);
      number = number ? b_.CreateAdd(number, index) : index;
    }
    if (!number) return base;
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), base,
                                b_.CreateMul(number, b_.getInt64(static_cast<uint64_t>(at.bytes))));
  }

  /// Of a kernel whose launch says how much there is.
  llvm::GlobalVariable* dynamic_memory() {
    if (!dynamic_memory_) {
      auto* type = llvm::ArrayType::get(b_.getInt8Ty(), 0);
      dynamic_memory_ = new llvm::GlobalVariable(*module_, type, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                                 symbol_ + "_shared", nullptr, llvm::GlobalValue::NotThreadLocal,
                                                 dialect_.shared_space());
      dynamic_memory_->setAlignment(llvm::Align(kXorBytes));
    }
    return dynamic_memory_;
  }
  llvm::Value* shared_memory(BufferId id) {
    const Buffer& buffer = nest_.buffers[id];
    const DeviceBuffer& at = device_.buffers[id];
    auto* type =
        llvm::ArrayType::get(memory_type(id), static_cast<uint64_t>(at.bytes * at.instances / size_bytes(buffer.type)));
    auto* global =
        new llvm::GlobalVariable(*module_, type, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type),
                                 buffer.name, nullptr, llvm::GlobalValue::NotThreadLocal, dialect_.shared_space());
    global->setAlignment(llvm::Align(buffer.layout.by_xor ? kXorBytes : 64));
    return global;
  }

  void shared(const DeviceKernel& kernel) {
    int64_t place = 0;
    for (const bool by_xor : {true, false}) shared(kernel, by_xor, place);
  }
  /// Memory in whole units of a layout by xor comes first.
  void shared(const DeviceKernel& kernel, bool by_xor, int64_t& place) {
    ir::walk_nodes(nest_, kernel.root, [&](const Node& node) {
      const auto* alloc = std::get_if<Alloc>(&node);
      if (!alloc || device_.buffers[alloc->buffer].place != DevicePlace::shared ||
          nest_.buffers[alloc->buffer].layout.by_xor != by_xor)
        return true;
      const DeviceBuffer& at = device_.buffers[alloc->buffer];
      llvm::Value* const memory =
          kernel.dynamic_shared_bytes > 0
              ? b_.CreateInBoundsGEP(b_.getInt8Ty(), dynamic_memory(), b_.getInt64(static_cast<uint64_t>(place)))
              : shared_memory(alloc->buffer);
      place += at.bytes * at.instances;
      bases_[alloc->buffer] = instance(alloc->buffer, memory, kernel);
      return true;
    });
  }

  std::unique_ptr<llvm::Module> module_;
  const DeviceNest& device_;
  const LoopNest& nest_;
  const DeviceDialect& dialect_;
  const NoRuntime runtime_;
  const TargetHooks hooks_;
  const std::string symbol_;
  llvm::IRBuilder<> b_;
  std::vector<llvm::Value*> constants_, bases_;
  llvm::GlobalVariable* dynamic_memory_ = nullptr;
};

}  // namespace

std::vector<BufferId> kernel_arguments(const DeviceNest& nest) {
  std::vector<BufferId> out;
  for (BufferId id = 0; id < nest.buffers.size(); ++id)
    if (nest.buffers[id].place == DevicePlace::argument || nest.buffers[id].place == DevicePlace::workspace)
      out.push_back(id);
  return out;
}

Result<std::unique_ptr<llvm::Module>> lower_kernels(llvm::LLVMContext& context, const DeviceNest& nest,
                                                    const InstructionHooks& instructions, const DeviceDialect& dialect,
                                                    const std::string& symbol) {
  try {
    auto module = KernelModule(context, nest, instructions, dialect, symbol).run();
    std::string problems;
    llvm::raw_string_ostream stream(problems);
    if (llvm::verifyModule(*module, &stream))
      return fail("PW0599", "internal: the lowered module is malformed: " + stream.str().substr(0, 2000));
    return module;
  } catch (const Refusal& refusal) {
    return refusal.error;
  }
}

}  // namespace polyweft::targets
