#include "targets/cpu/size_checks.h"

#include "ir/values/kernel_codes.h"
#include "targets/common/nest_code.h"
#include "targets/common/ranges.h"
#include "targets/cpu/argument_checks.h"
#include "targets/cpu/halide_abi.h"

namespace polyweft::targets {
namespace {

// Of halide_dimension_t, in bytes.
constexpr uint64_t kDimBytes = 16, kDimMinOffset = 0, kDimExtentOffset = 4, kDimStrideOffset = 8;
constexpr int64_t kMostBytes = int64_t{1} << 60;

uint16_t type_of(const Buffer& buffer) {
  if (buffer.is_packed) return 1 | 8 << 8;
  const int code = buffer.type == ElementType::bf16                                        ? 4
                   : is_float(buffer.type)                                                 ? 2
                   : buffer.type == ElementType::boolean || buffer.type == ElementType::u8 ? 1
                                                                                           : 0;
  const auto bits = buffer.type == ElementType::boolean ? 1 : 8 * size_bytes(buffer.type);
  return static_cast<uint16_t>(code | bits << 8);
}

std::vector<llvm::Value*> sizes_of(llvm::Function* f, size_t buffers) {
  std::vector<llvm::Value*> out;
  for (size_t k = buffers; k < f->arg_size(); ++k) out.push_back(f->getArg(static_cast<unsigned>(k)));
  return out;
}

/// Sizes are at most 2^31 - 1: refuses expressions over them that could leave 64 bits.
void expect_no_overflow(const LoopNest& nest, const Affine& e) {
  Facts facts;
  for (VarId p = 0; p < nest.params.size(); ++p) facts.set(p, {-kLargestSize, kLargestSize, 1});
  const Interval range = facts.range(e);
  if (range.lo <= INT64_MIN / 8 || range.hi >= INT64_MAX / 8)
    throw Refusal{fail("PW0520", nest.name + ": an expression over the sizes does not fit into 64 bits")};
}
void expect_no_overflow(const LoopNest& nest, const Guard& g) {
  expect_no_overflow(nest, g.e);
  for (const Guard& part : g.of) expect_no_overflow(nest, part);
}

}  // namespace

llvm::Value* SizeCode::value(const Affine& e) const {
  llvm::Value* sum = b_.getInt64(static_cast<uint64_t>(e.constant));
  for (const Term& term : e.terms) {
    llvm::Value* v = term.quasi ? quasi(*term.quasi) : sizes_[term.var];
    sum = b_.CreateAdd(sum, b_.CreateMul(v, b_.getInt64(static_cast<uint64_t>(term.coeff))));
  }
  return sum;
}

llvm::Value* SizeCode::quasi(const Quasi& q) const {
  llvm::Value* x = value(q.e);
  if (q.kind == Quasi::Kind::clamp)
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                    b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, value(q.lo)), value(q.hi));
  llvm::Value* den = b_.getInt64(static_cast<uint64_t>(q.den));
  llvm::Value* quotient = b_.CreateSDiv(x, den);
  llvm::Value* rest = b_.CreateSub(x, b_.CreateMul(quotient, den));
  return b_.CreateAdd(quotient, b_.CreateSExt(b_.CreateICmpSLT(rest, b_.getInt64(0)), b_.getInt64Ty()));
}

llvm::Value* SizeCode::condition(const Guard& g) const {
  if (g.kind == Guard::Kind::ge0) return b_.CreateICmpSGE(value(g.e), b_.getInt64(0));
  if (g.kind == Guard::Kind::eq0) return b_.CreateICmpEQ(value(g.e), b_.getInt64(0));
  if (g.kind == Guard::Kind::negation) return b_.CreateNot(condition(g.of[0]));
  llvm::Value* out = b_.getInt1(g.kind == Guard::Kind::all);
  for (const Guard& part : g.of)
    out = g.kind == Guard::Kind::all ? b_.CreateAnd(out, condition(part)) : b_.CreateOr(out, condition(part));
  return out;
}

llvm::Value* SizeCode::extent(const Buffer& buffer, size_t dim) const {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value(buffer.shape[dim]), b_.getInt64(0));
}

SizeChecks::SizeChecks(llvm::IRBuilder<>& builder, const LoopNest& nest, const std::vector<BufferId>& arguments,
                       llvm::Function* f, bool heap)
    : b_(builder),
      nest_(nest),
      arguments_(arguments),
      f_(f),
      heap_(heap),
      code_(builder, sizes_of(f, arguments.size())) {}

llvm::Value* SizeChecks::field(llvm::Value* base, uint64_t offset, llvm::Type* type) {
  return b_.CreateAlignedLoad(type, b_.CreateInBoundsGEP(b_.getInt8Ty(), base, b_.getInt64(offset)), llvm::Align(1));
}

void SizeChecks::leave_if(llvm::Value* bad, int code) {
  auto* failed = llvm::BasicBlock::Create(b_.getContext(), "refuse", f_);
  auto* good = llvm::BasicBlock::Create(b_.getContext(), "go_on", f_);
  b_.CreateCondBr(bad, failed, good, llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 1000));
  b_.SetInsertPoint(failed);
  b_.CreateRet(b_.getInt32(static_cast<uint32_t>(code)));
  b_.SetInsertPoint(good);
}

void SizeChecks::emit() {
  sizes();
  headers();
  query();
  for (size_t a = 0; a < arguments_.size(); ++a) dimensions(a);
}

void SizeChecks::emit_for_pointers() {
  sizes();
  for (size_t a = 0; a < arguments_.size(); ++a) {
    llvm::Value *address = f_->getArg(static_cast<unsigned>(a)),
                *has_elements = b_.CreateICmpNE(elements_[a], b_.getInt64(0));
    leave_if(b_.CreateAnd(b_.CreateIsNull(address), has_elements), kBufferIsNull);
    const uint64_t alignment = alignment_of_argument(nest_.buffers[arguments_[a]]);
    llvm::Value* rest = b_.CreateAnd(b_.CreatePtrToInt(address, b_.getInt64Ty()), b_.getInt64(alignment - 1));
    leave_if(b_.CreateAnd(b_.CreateICmpNE(rest, b_.getInt64(0)), has_elements), kUnaligned);
  }
}

/// Before anything is computed of them: their range; then what the program assumes, and that storage can be counted.
void SizeChecks::sizes() {
  for (size_t k = arguments_.size(); k < f_->arg_size(); ++k) {
    llvm::Value* size = f_->getArg(static_cast<unsigned>(k));
    leave_if(b_.CreateOr(b_.CreateICmpSGT(size, b_.getInt64(kLargestSize)),
                         b_.CreateICmpSLT(size, b_.getInt64(static_cast<uint64_t>(-kLargestSize)))),
             ir::kSizeTooLarge);
  }
  for (size_t k = 0; k < nest_.assumptions.size(); ++k) {
    expect_no_overflow(nest_, nest_.assumptions[k]);
    leave_if(b_.CreateNot(code_.condition(nest_.assumptions[k])), ir::kFirstAssumption + static_cast<int>(k));
  }
  for (BufferId id : arguments_) elements_.push_back(checked_elements(nest_.buffers[id]));
  for (const Buffer& buffer : nest_.buffers)
    if (heap_ && buffer.scope == Scope::heap) checked_elements(buffer);
}

llvm::Value* SizeChecks::checked_elements(const Buffer& buffer) {
  llvm::Value* product = b_.getInt64(1);
  llvm::Value* bytes = b_.getInt64(static_cast<uint64_t>(size_bytes(buffer.type)));
  llvm::Value* overflow = b_.getFalse();
  const std::vector<int64_t> folded = folded_extents(buffer);
  for (size_t d = 0; d < folded.size(); ++d) {
    expect_no_overflow(nest_, buffer.shape[d]);
    llvm::Value* extent =
        folded[d] == kSymbolicExtent ? code_.extent(buffer, d) : b_.getInt64(static_cast<uint64_t>(folded[d]));
    product = b_.CreateMul(product, extent);
    llvm::Value* counted = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, extent, b_.getInt64(1));
    llvm::Value* pair = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smul_with_overflow, bytes, counted);
    bytes = b_.CreateExtractValue(pair, 0);
    overflow = b_.CreateOr(overflow, b_.CreateExtractValue(pair, 1));
    overflow = b_.CreateOr(overflow, b_.CreateICmpSGT(bytes, b_.getInt64(kMostBytes)));
  }
  leave_if(overflow, kTooLarge);
  return product;
}

size_t SizeChecks::rank(size_t argument) const {
  const Buffer& buffer = nest_.buffers[arguments_[argument]];
  return buffer.is_packed ? 1 : buffer.extents.size();
}

llvm::Value* SizeChecks::wanted_extent(size_t argument, size_t dim) const {
  const Buffer& buffer = nest_.buffers[arguments_[argument]];
  if (buffer.is_packed)
    return b_.CreateMul(elements_[argument], b_.getInt64(static_cast<uint64_t>(size_bytes(buffer.type))));
  return code_.extent(buffer, buffer.extents.size() - 1 - dim);
}

void SizeChecks::headers() {
  for (size_t a = 0; a < arguments_.size(); ++a)
    leave_if(b_.CreateIsNull(f_->getArg(static_cast<unsigned>(a))), kBufferIsNull);
}

/// An argument without an address for its elements asks for the shapes of all such arguments. One that has no elements
/// at these sizes needs no address: its shape is filled in, and the call goes on for the others.
void SizeChecks::query() {
  llvm::Value* asks = b_.getFalse();
  for (size_t a = 0; a < arguments_.size(); ++a) {
    llvm::Value* is_null = b_.CreateIsNull(field(f_->getArg(static_cast<unsigned>(a)), kHostOffset, b_.getPtrTy()));
    fill(a, is_null);
    asks = b_.CreateOr(asks, b_.CreateAnd(is_null, b_.CreateICmpNE(elements_[a], b_.getInt64(0))));
  }
  auto* answers = llvm::BasicBlock::Create(b_.getContext(), "query", f_);
  auto* call = llvm::BasicBlock::Create(b_.getContext(), "call", f_);
  b_.CreateCondBr(asks, answers, call, llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 1000));
  b_.SetInsertPoint(answers);
  b_.CreateRet(b_.getInt32(0));
  b_.SetInsertPoint(call);
}

void SizeChecks::fill(size_t argument, llvm::Value* wanted) {
  llvm::Value* buffer = f_->getArg(static_cast<unsigned>(argument));
  auto* inside = llvm::BasicBlock::Create(b_.getContext(), "fill", f_);
  auto* after = llvm::BasicBlock::Create(b_.getContext(), "filled", f_);
  llvm::Value* same =
      b_.CreateICmpEQ(field(buffer, kDimensions, b_.getInt32Ty()), b_.getInt32(static_cast<uint32_t>(rank(argument))));
  b_.CreateCondBr(b_.CreateAnd(wanted, same), inside, after);
  b_.SetInsertPoint(inside);
  llvm::Value* dims = field(buffer, kDim, b_.getPtrTy());
  if (rank(argument) > 0) leave_if(b_.CreateIsNull(dims), kBadDimensions);
  llvm::Value* stride = b_.getInt64(1);
  for (size_t d = 0; d < rank(argument); ++d) {
    llvm::Value* extent = wanted_extent(argument, d);
    const auto set = [&](uint64_t at, llvm::Value* value) {
      b_.CreateAlignedStore(b_.CreateTrunc(value, b_.getInt32Ty()),
                            b_.CreateInBoundsGEP(b_.getInt8Ty(), dims, b_.getInt64(d * kDimBytes + at)),
                            llvm::Align(1));
    };
    set(kDimMinOffset, b_.getInt64(0)), set(kDimExtentOffset, extent), set(kDimStrideOffset, stride);
    stride = b_.CreateMul(stride, extent);
  }
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void SizeChecks::dimensions(size_t argument) {
  llvm::Value* buffer = f_->getArg(static_cast<unsigned>(argument));
  const uint16_t type = type_of(nest_.buffers[arguments_[argument]]);
  leave_if(b_.CreateICmpNE(field(buffer, kTypeCode, b_.getInt16Ty()), b_.getInt16(type)), kBadType);
  leave_if(
      b_.CreateICmpNE(field(buffer, kDimensions, b_.getInt32Ty()), b_.getInt32(static_cast<uint32_t>(rank(argument)))),
      kBadDimensions);
  if (const uint64_t alignment = alignment_of_argument(nest_.buffers[arguments_[argument]]); alignment > 1) {
    llvm::Value* address = b_.CreatePtrToInt(field(buffer, kHostOffset, b_.getPtrTy()), b_.getInt64Ty());
    llvm::Value* is_off = b_.CreateICmpNE(b_.CreateAnd(address, b_.getInt64(alignment - 1)), b_.getInt64(0));
    leave_if(b_.CreateAnd(is_off, b_.CreateICmpNE(elements_[argument], b_.getInt64(0))), kUnaligned);
  }
  if (rank(argument) == 0) return;
  llvm::Value* dims = field(buffer, kDim, b_.getPtrTy());
  leave_if(b_.CreateIsNull(dims), kBadDimensions);
  llvm::Value* wrong = b_.getFalse();
  llvm::Value* stride = b_.getInt64(1);
  for (size_t d = 0; d < rank(argument); ++d) {
    const auto seen = [&](uint64_t at) {
      return b_.CreateSExt(field(dims, d * kDimBytes + at, b_.getInt32Ty()), b_.getInt64Ty());
    };
    llvm::Value* extent = wanted_extent(argument, d);
    wrong = b_.CreateOr(wrong, b_.CreateICmpNE(seen(kDimMinOffset), b_.getInt64(0)));
    wrong = b_.CreateOr(wrong, b_.CreateICmpNE(seen(kDimExtentOffset), extent));
    llvm::Value* counts =
        b_.CreateAnd(b_.CreateICmpSGT(extent, b_.getInt64(1)), b_.CreateICmpNE(elements_[argument], b_.getInt64(0)));
    wrong = b_.CreateOr(wrong, b_.CreateAnd(counts, b_.CreateICmpNE(seen(kDimStrideOffset), stride)));
    stride = b_.CreateMul(stride, extent);
  }
  leave_if(wrong, kConstraintViolated);
}

void emit_message_function(llvm::Module& module, llvm::IRBuilder<>& b, const LoopNest& nest, llvm::Function* f) {
  std::vector<std::string> names;
  for (const Parameter& p : nest.params) names.push_back(p.name);
  std::vector<std::pair<int, std::string>> messages = {
      {0, "done"},
      {kBadType, "an argument has the wrong element type"},
      {kTooLarge, "a buffer would have more than 2^60 bytes at these sizes"},
      {kConstraintViolated, "the extents or strides of an argument are not those of its shape at these sizes"},
      {kOutOfMemory, "there is no memory for the workspace"},
      {kBufferIsNull, "an argument is null"},
      {kUnaligned, "the address of an argument is not aligned"},
      {kBadDimensions, "an argument has the wrong number of dimensions, or none are given"},
      {ir::kValueOutOfRange, "an input holds a value outside its promise"},
      {ir::kSizeTooLarge, "a size is larger than 2^31 - 1"}};
  for (size_t k = 0; k < nest.assumptions.size(); ++k)
    messages.emplace_back(ir::kFirstAssumption + static_cast<int>(k),
                          "the assumption " + print(nest.assumptions[k], names) + " does not hold");
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", f));
  auto* unknown = llvm::BasicBlock::Create(b.getContext(), "unknown", f);
  auto* choice = b.CreateSwitch(f->getArg(0), unknown, static_cast<unsigned>(messages.size()));
  for (const auto& [code, text] : messages) {
    auto* block = llvm::BasicBlock::Create(b.getContext(), "known", f);
    choice->addCase(b.getInt32(static_cast<uint32_t>(code)), block);
    b.SetInsertPoint(block);
    b.CreateRet(b.CreateGlobalString(nest.name + ": " + text, "message", 0, &module));
  }
  b.SetInsertPoint(unknown);
  b.CreateRet(llvm::ConstantPointerNull::get(b.getPtrTy()));
}

}  // namespace polyweft::targets
