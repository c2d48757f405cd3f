// Functions around the nest: the halide_buffer_t ABI of the kernel and its pack functions.
#include "targets/cpu/lower.h"

#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <optional>

#include "ir/nests/walk_nest.h"
#include "ir/values/kernel_codes.h"
#include "ir/values/scalar.h"
#include "targets/common/code_layout.h"
#include "targets/common/constant_data.h"
#include "targets/common/nest_code.h"
#include "targets/cpu/argument_checks.h"
#include "targets/cpu/halide_abi.h"
#include "targets/cpu/halide_runtime.h"
#include "targets/cpu/pipeline.h"
#include "targets/cpu/size_checks.h"

namespace polyweft::targets {
namespace {

constexpr int kAddressIsNull = -12;  // halide_error_code_t

// Bodies up to this size (LLVM's instructions) become part of the function that checks the arguments: a jump, moves of
// addresses and a second vzeroupper count in a product of 4 x 4. Larger ones gained nothing from it, and apart the
// checks cannot cost them registers.
constexpr int64_t kInlinedInstructions = 200;

class ModuleCode {
 public:
  ModuleCode(llvm::LLVMContext& context, const LoopNest& nest, const InstructionHooks& instructions,
             const LowerOptions& options)
      : module_(std::make_unique<llvm::Module>(nest.name, context)),
        nest_(nest),
        hooks_{instructions, options.memory_of_c ? halide_tasks_alone() : halide_runtime(), nullptr, options.unit},
        options_(options),
        b_(context) {
    if (options.expected_threads > 0) frequencies_ = ir::frequencies_of(nest);
  }

  std::unique_ptr<llvm::Module> run() {
    add_constants();
    kernel(options_.symbol, nest_.arguments, nest_.root);
    if (nest_.symbolic)
      emit_message_function(
          *module_, b_, nest_,
          function(options_.symbol + "_message", llvm::FunctionType::get(b_.getPtrTy(), {b_.getInt32Ty()}, false)));
    for (const auto& pack : nest_.packs) {
      const std::string name = options_.symbol + "_pack_" + nest_.buffers[pack.source].name;
      kernel(name, {pack.source, pack.packed}, pack.root);
      pack_bytes(name + "_bytes", nest_.buffers[pack.packed]);
    }
    return std::move(module_);
  }

 private:
  llvm::Function* function(const std::string& name, llvm::FunctionType* type) {
    if (module_->getFunction(name))
      throw Refusal{fail("PW0505", "symbol " + name + " is taken", {"give the kernel another name with --name"})};
    auto* f = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, *module_);
    f->setAlignment(llvm::Align(kCodeLine));
    f->addFnAttr("target-cpu", options_.cpu);
    f->addFnAttr("target-features", options_.cpu_features);
    if (!options_.tuned_for.empty()) f->addFnAttr("tune-cpu", options_.tuned_for);
    set_vector_length(*f, options_.vector_bits, options_.scalable_units);
    f->addFnAttr("no-trapping-math", "true");
    f->addFnAttr(llvm::Attribute::NoUnwind);
    return f;
  }

  void add_constants() {
    bases_.assign(nest_.buffers.size(), nullptr);
    ScalarCode scalar(b_, nest_.cls, hooks_.instructions);
    for (BufferId id = 0; id < nest_.buffers.size(); ++id) {
      const Buffer& buffer = nest_.buffers[id];
      if (buffer.scope != Scope::constant) continue;
      bases_[id] = constant_data(*module_, buffer, scalar.memory_type(buffer.type), 0);
    }
  }
  void fail_if(llvm::Function* f, llvm::Value* bad, int code) {
    auto* failed = llvm::BasicBlock::Create(b_.getContext(), "refuse", f);
    auto* good = llvm::BasicBlock::Create(b_.getContext(), "go_on", f);
    b_.CreateCondBr(bad, failed, good, llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 1000));
    b_.SetInsertPoint(failed);
    b_.CreateRet(b_.getInt32(static_cast<uint32_t>(code)));
    b_.SetInsertPoint(good);
  }

  static int64_t elements_of(const Buffer& buffer) {
    int64_t out = 1;
    for (int64_t e : buffer.extents) out *= e;
    return out;
  }
  /// Buffers, then the sizes of a symbolic nest.
  llvm::FunctionType* type_of(const std::vector<BufferId>& arguments) {
    std::vector<llvm::Type*> types(arguments.size(), b_.getPtrTy());
    if (nest_.symbolic) types.insert(types.end(), nest_.params.size(), b_.getInt64Ty());
    return llvm::FunctionType::get(b_.getInt32Ty(), types, false);
  }
  static std::vector<llvm::Value*> sizes_of(llvm::Function* f, size_t buffers) {
    std::vector<llvm::Value*> out;
    for (size_t k = buffers; k < f->arg_size(); ++k) out.push_back(f->getArg(static_cast<unsigned>(k)));
    return out;
  }

  void kernel(const std::string& name, const std::vector<BufferId>& arguments, NodeId root) {
    auto* type = type_of(arguments);
    auto* body = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name + "_body", *module_);
    body->setAlignment(llvm::Align(kCodeLine));
    llvm::Function* f = function(name, type);
    if (nest_.symbolic) return symbolic_kernel(f, body, arguments, root);
    if (options_.expected_threads > 0 && root != nest_.root) f->addFnAttr(kRunsAttribute, "0");
    std::optional<ArgumentChecks> checks;
    if (!options_.plain_pointers)
      checks.emplace(*module_, b_, nest_, arguments, name, f->getAttributes(), options_.explains);
    entry(f, body, arguments, checks, true);
    if (has_promises(nest_, arguments)) entry(function(name + "_unchecked", type), body, arguments, checks, false);
    body->setAttributes(f->getAttributes());
    const int64_t instructions = emit_body(body, arguments, root);
    const bool has_one_caller = !has_promises(nest_, arguments);
    body->addFnAttr(has_one_caller && instructions <= kInlinedInstructions ? llvm::Attribute::AlwaysInline
                                                                           : llvm::Attribute::NoInline);
  }

  void symbolic_kernel(llvm::Function* f, llvm::Function* body, const std::vector<BufferId>& arguments, NodeId root) {
    const bool is_kernel = root == nest_.root;
    symbolic_entry(f, body, arguments, is_kernel, true);
    if (has_promises(nest_, arguments))
      symbolic_entry(function(f->getName().str() + "_unchecked", body->getFunctionType()), body, arguments, is_kernel,
                     false);
    body->setAttributes(f->getAttributes());
    emit_body(body, arguments, root);
    body->addFnAttr(llvm::Attribute::NoInline);
  }

  void symbolic_entry(llvm::Function* f, llvm::Function* body, const std::vector<BufferId>& arguments, bool is_kernel,
                      bool scans) {
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", f));
    SizeChecks checks(b_, nest_, arguments, f, is_kernel);
    options_.plain_pointers ? checks.emit_for_pointers() : checks.emit();
    std::vector<llvm::Value*> passed = addresses(f, arguments);
    for (size_t a = 0; a < arguments.size() && scans; ++a) {
      const Buffer& buffer = nest_.buffers[arguments[a]];
      if (!is_read(arguments[a])) continue;
      if (buffer.values)
        scan_sized(f, buffer, passed[a], checks.elements(a), b_.getInt64(static_cast<uint64_t>(buffer.values->lo)),
                   b_.getInt64(static_cast<uint64_t>(buffer.values->hi)));
      if (!buffer.promise.empty())
        scan_sized(f, buffer, passed[a], checks.elements(a), checks.code().value(buffer.promise[0]),
                   checks.code().value(buffer.promise[1]));
    }
    for (llvm::Value* size : sizes_of(f, arguments.size())) passed.push_back(size);
    llvm::CallInst* call = b_.CreateCall(body, passed);
    call->setTailCall();
    b_.CreateRet(call);
  }

  /// Leaves the function if one of `elements` values is below lo or not below hi.
  void scan_sized(llvm::Function* f, const Buffer& buffer, llvm::Value* host, llvm::Value* elements, llvm::Value* lo,
                  llvm::Value* hi) {
    auto& context = b_.getContext();
    auto *before = b_.GetInsertBlock(), *loop = llvm::BasicBlock::Create(context, "scan", f),
         *after = llvm::BasicBlock::Create(context, "scanned", f);
    llvm::Type* type = b_.getIntNTy(static_cast<unsigned>(8 * size_bytes(buffer.type)));
    b_.CreateCondBr(b_.CreateICmpSGT(elements, b_.getInt64(0)), loop, after);
    b_.SetInsertPoint(loop);
    auto *at = b_.CreatePHI(b_.getInt64Ty(), 2), *wrong = b_.CreatePHI(b_.getInt1Ty(), 2);
    llvm::Value* narrow = b_.CreateAlignedLoad(type, b_.CreateInBoundsGEP(type, host, at),
                                               llvm::Align(static_cast<uint64_t>(size_bytes(buffer.type))));
    if (is_float(buffer.type)) narrow = in_order_of_values(narrow);
    llvm::Value* value = buffer.type == ElementType::u8 ? b_.CreateZExt(narrow, b_.getInt64Ty())
                                                        : b_.CreateSExt(narrow, b_.getInt64Ty());
    llvm::Value* now = b_.CreateOr(wrong, b_.CreateOr(b_.CreateICmpSLT(value, lo), b_.CreateICmpSGE(value, hi)));
    llvm::Value* next = b_.CreateAdd(at, b_.getInt64(1));
    b_.CreateCondBr(b_.CreateICmpSLT(next, elements), loop, after);
    at->addIncoming(b_.getInt64(0), before), at->addIncoming(next, loop);
    wrong->addIncoming(b_.getFalse(), before), wrong->addIncoming(now, loop);
    b_.SetInsertPoint(after);
    auto* any = b_.CreatePHI(b_.getInt1Ty(), 2);
    any->addIncoming(b_.getFalse(), before), any->addIncoming(now, loop);
    fail_if(f, any, ir::kValueOutOfRange);
  }

  /// Of the elements of all arguments; packed ones begin where a cache line does.
  std::vector<llvm::Value*> addresses(llvm::Function* f, const std::vector<BufferId>& arguments) {
    std::vector<llvm::Value*> out;
    for (size_t a = 0; a < arguments.size(); ++a) {
      llvm::Value* argument = f->getArg(static_cast<unsigned>(a));
      llvm::Value* field =
          options_.plain_pointers ? nullptr : b_.CreateInBoundsGEP(b_.getInt8Ty(), argument, b_.getInt64(kHostOffset));
      out.push_back(field ? b_.CreateAlignedLoad(b_.getPtrTy(), field, llvm::Align(1)) : argument);
    }
    return out;
  }
  void refuse_pointers(llvm::Function* f, const std::vector<BufferId>& arguments) {
    for (size_t a = 0; a < arguments.size(); ++a) {
      const Buffer& buffer = nest_.buffers[arguments[a]];
      llvm::Value* argument = f->getArg(static_cast<unsigned>(a));
      if (elements_of(buffer) == 0) continue;
      fail_if(f, b_.CreateIsNull(argument), kAddressIsNull);
      const uint64_t alignment =
          std::max(alignment_of_argument(buffer), static_cast<uint64_t>(hooks_.instructions.can().argument_alignment));
      llvm::Value* rest = b_.CreateAnd(b_.CreatePtrToInt(argument, b_.getInt64Ty()), b_.getInt64(alignment - 1));
      if (alignment > 1) fail_if(f, b_.CreateICmpNE(rest, b_.getInt64(0)), kUnaligned);
    }
  }

  /// What the caller calls: checks the arguments, then hands their addresses to the body.
  void entry(llvm::Function* f, llvm::Function* body, const std::vector<BufferId>& arguments,
             std::optional<ArgumentChecks>& checks, bool scans) {
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", f));
    checks ? checks->emit(f) : refuse_pointers(f, arguments);
    const std::vector<llvm::Value*> hosts = addresses(f, arguments);
    for (size_t a = 0; a < arguments.size(); ++a)
      if (scans && nest_.buffers[arguments[a]].values && is_read(arguments[a]))
        scan_values(f, nest_.buffers[arguments[a]], hosts[a]);
    llvm::CallInst* call = b_.CreateCall(body, hosts);
    call->setTailCall();
    b_.CreateRet(call);
  }
  /// What was promised of values that nobody reads says nothing about the results. Of all nodes: each function of the
  /// nest asks.
  bool is_read(BufferId id) const {
    bool out = false;
    const auto look = [&](const Access& access) { out = out || access.id == id; };
    for (NodeId node = 0; node < nest_.nodes.size(); ++node) {
      if (!std::holds_alternative<Compute>(nest_.nodes[node]) && !std::holds_alternative<Copy>(nest_.nodes[node]))
        continue;
      ir::visit_accesses(nest_, node, [&](const Access& access, bool is_write) {
        if (!is_write) look(access);
        for (const Subscript& s : access.index)
          visit(s.data, [&](const ExprNode& e) {
            if (e.op == Op::read) look(e.access);
          });
      });
    }
    return out;
  }
  static bool has_promises(const LoopNest& nest, const std::vector<BufferId>& arguments) {
    return std::any_of(arguments.begin(), arguments.end(), [&](BufferId id) {
      return nest.buffers[id].values.has_value() || !nest.buffers[id].promise.empty();
    });
  }

  /// The places of floats, of their bits (ir/values/float_places.h).
  llvm::Value* in_order_of_values(llvm::Value* bits) {
    llvm::Value* is_negative = b_.CreateAShr(bits, bits->getType()->getScalarSizeInBits() - 1);
    return b_.CreateXor(bits, b_.CreateLShr(is_negative, 1));
  }

  // Leaves the function if an element lies outside lo .. hi. The greatest of value - lo as an unsigned number says it
  // for all of them.
  void scan_values(llvm::Function* f, const Buffer& buffer, llvm::Value* host) {
    const int64_t elements = elements_of(buffer);
    if (elements == 0) return;
    const bool is_of_floats = is_float(buffer.type);
    const int64_t unused_bits = 64 - 8 * size_bytes(buffer.type);
    const int64_t least = is_of_floats ? INT64_MIN >> unused_bits : ir::least_of(buffer.type);
    const int64_t greatest_value = is_of_floats ? INT64_MAX >> unused_bits : ir::greatest_of(buffer.type);
    const int64_t lo = std::max(buffer.values->lo, least);
    const int64_t last = buffer.values->hi > greatest_value ? greatest_value : buffer.values->hi - 1;
    if (last < lo) return fail_if(f, b_.getTrue(), ir::kValueOutOfRange);
    llvm::IntegerType* type = b_.getIntNTy(static_cast<unsigned>(8 * size_bytes(buffer.type)));
    const int64_t width = std::min<int64_t>(options_.vector_bits / 8 / size_bytes(buffer.type), elements);
    llvm::Value* greatest = greatest_distance(f, host, {type, lo, width, elements / width, 0, is_of_floats});
    if (elements % width != 0) {
      llvm::Value* rest =
          greatest_distance(f, host, {type, lo, 1, elements % width, elements - elements % width, is_of_floats});
      greatest = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, greatest, rest);
    }
    fail_if(f,
            b_.CreateICmpUGT(greatest,
                             llvm::ConstantInt::get(type, static_cast<uint64_t>(last) - static_cast<uint64_t>(lo))),
            ir::kValueOutOfRange);
  }
  struct Scan {
    llvm::IntegerType* type;
    int64_t lo, width, steps, first;
    bool is_of_floats;
  };
  llvm::Value* greatest_distance(llvm::Function* f, llvm::Value* host, const Scan& scan) {
    llvm::Type* shape = llvm::FixedVectorType::get(scan.type, static_cast<unsigned>(scan.width));
    auto* before = b_.GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(b_.getContext(), "scan", f);
    auto* after = llvm::BasicBlock::Create(b_.getContext(), "scanned", f);
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    llvm::PHINode* at = b_.CreatePHI(b_.getInt64Ty(), 2);
    llvm::PHINode* greatest = b_.CreatePHI(shape, 2);
    llvm::Value* element = b_.CreateAdd(b_.CreateMul(at, b_.getInt64(static_cast<uint64_t>(scan.width))),
                                        b_.getInt64(static_cast<uint64_t>(scan.first)));
    const llvm::Align alignment(scan.type->getBitWidth() / 8);
    llvm::Value* values = b_.CreateAlignedLoad(shape, b_.CreateInBoundsGEP(scan.type, host, element), alignment);
    if (scan.is_of_floats) values = in_order_of_values(values);
    llvm::Value* distance = b_.CreateSub(values, llvm::ConstantInt::get(shape, static_cast<uint64_t>(scan.lo), true));
    llvm::Value* larger = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, greatest, distance);
    llvm::Value* next = b_.CreateAdd(at, b_.getInt64(1));
    b_.CreateCondBr(b_.CreateICmpULT(next, b_.getInt64(static_cast<uint64_t>(scan.steps))), loop, after);
    at->addIncoming(b_.getInt64(0), before);
    at->addIncoming(next, loop);
    greatest->addIncoming(llvm::Constant::getNullValue(shape), before);
    greatest->addIncoming(larger, loop);
    b_.SetInsertPoint(after);
    return b_.CreateIntMaxReduce(larger, false);
  }

  // Arguments are distinct memory: the caller may not alias an output with anything.
  /// How many instructions the body has.
  int64_t emit_body(llvm::Function* body, const std::vector<BufferId>& arguments, NodeId root) {
    if (options_.write_body) return options_.write_body(*body, arguments, root);
    std::vector<llvm::Value*> bases = bases_;
    for (size_t a = 0; a < arguments.size(); ++a) {
      llvm::Argument* argument = body->getArg(static_cast<unsigned>(a));
      argument->addAttr(llvm::Attribute::NoAlias);
      argument->setName(nest_.buffers[arguments[a]].name);
      bases[arguments[a]] = argument;
    }
    NestCode code({*module_, nest_, body, hooks_}, bases);
    code.limit_instructions(options_.instruction_limit);
    if (frequencies_) code.expect(*frequencies_, options_.expected_threads);
    code.builder().SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", body));
    llvm::BasicBlock* entry = code.builder().GetInsertBlock();
    llvm::BasicBlock* start = llvm::BasicBlock::Create(b_.getContext(), "start", body);
    code.builder().SetInsertPoint(start);
    if (nest_.symbolic) code.open_sizes(sizes_of(body, arguments.size()));
    code.emit_region(root);
    code.fence_after(root);
    code.builder().CreateRet(code.builder().getInt32(0));
    code.builder().SetInsertPoint(entry);
    if (llvm::Function* permission = code.uses_tiles() ? tile_permission() : nullptr) {
      auto* refused = llvm::BasicBlock::Create(b_.getContext(), "no_tiles", body);
      code.builder().CreateCondBr(code.builder().CreateCall(permission), start, refused,
                                  llvm::MDBuilder(b_.getContext()).createBranchWeights(1000, 1));
      code.builder().SetInsertPoint(refused);
      code.builder().CreateRet(code.builder().getInt32(ir::kNoTileUnit));
    } else {
      code.builder().CreateBr(start);
    }
    code.refuse_too_many();
    return code.instructions();
  }

  /// Null where no process needs one.
  llvm::Function* tile_permission() {
    return hooks_.instructions.tile_unit()->permission(*module_,
                                                       module_->getFunction(options_.symbol)->getAttributes());
  }

  void pack_bytes(const std::string& name, const Buffer& packed) {
    const std::vector<llvm::Type*> sizes(nest_.symbolic ? nest_.params.size() : 0, b_.getInt64Ty());
    llvm::Function* f = function(name, llvm::FunctionType::get(b_.getInt64Ty(), sizes, false));
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", f));
    if (nest_.symbolic) {
      llvm::Value* bytes = b_.getInt64(static_cast<uint64_t>(size_bytes(packed.type)));
      const SizeCode code(b_, sizes_of(f, 0));
      for (size_t d = 0; d < packed.shape.size(); ++d) bytes = b_.CreateMul(bytes, code.extent(packed, d));
      b_.CreateRet(bytes);
      return;
    }
    b_.CreateRet(b_.getInt64(static_cast<uint64_t>(allocated_elements(packed) * size_bytes(packed.type))));
  }

  std::unique_ptr<llvm::Module> module_;
  const LoopNest& nest_;
  const TargetHooks hooks_;
  const LowerOptions& options_;
  std::optional<ir::Frequencies> frequencies_;
  llvm::IRBuilder<> b_;
  std::vector<llvm::Value*> bases_;
};

}  // namespace

ir::PassOptions pass_options(const InstructionCapabilities& can) {
  return {{can.vector_bits, can.carried_values, can.promoted_cells}};
}

Result<std::unique_ptr<llvm::Module>> lower(llvm::LLVMContext& context, const LoopNest& nest,
                                            const InstructionHooks& instructions, const LowerOptions& options) {
  try {
    const LoopNest behind_passes = options.write_body ? nest : ir::run_passes(nest, pass_options(instructions.can()));
    auto module = ModuleCode(context, behind_passes, instructions, options).run();
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
