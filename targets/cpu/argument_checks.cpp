#include "targets/cpu/argument_checks.h"

#include <algorithm>
#include <map>

#include "targets/cpu/halide_abi.h"

namespace polyweft::targets {
namespace {

// Of halide_dimension_t, in words of 32 bits.
constexpr unsigned kDimWords = 4;
constexpr unsigned kDimMin = 0, kDimExtent = 1, kDimStride = 2;
constexpr uint64_t kPackedAlignment = 64;

}  // namespace

uint64_t alignment_of_argument(const Buffer& buffer) {
  return buffer.is_packed ? kPackedAlignment : static_cast<uint64_t>(size_bytes(buffer.type));
}

ArgumentChecks::Shape ArgumentChecks::shape_of(const Buffer& buffer) {
  const bool has_elements = std::find(buffer.extents.begin(), buffer.extents.end(), 0) == buffer.extents.end();
  const uint64_t alignment = alignment_of_argument(buffer);
  if (buffer.is_packed) return {1, 8, has_elements, alignment, {allocated_elements(buffer) * size_bytes(buffer.type)}};
  Shape out;
  out.has_elements = has_elements;
  out.alignment = alignment;
  out.bits = static_cast<uint8_t>(8 * size_bytes(buffer.type));
  out.code = buffer.type == ElementType::bf16                                        ? 4
             : is_float(buffer.type)                                                 ? 2
             : buffer.type == ElementType::boolean || buffer.type == ElementType::u8 ? 1
                                                                                     : 0;
  if (buffer.type == ElementType::boolean) out.bits = 1;
  out.extents = {buffer.extents.rbegin(), buffer.extents.rend()};
  return out;
}

ArgumentChecks::ArgumentChecks(llvm::Module& module, llvm::IRBuilder<>& builder, const LoopNest& nest,
                               const std::vector<BufferId>& arguments, const std::string& name,
                               const llvm::AttributeList& attributes, bool explains)
    : b_(builder) {
  for (BufferId id : arguments) shapes_.push_back(shape_of(nest.buffers[id]));
  if (!explains) return;
  auto* type =
      llvm::FunctionType::get(b_.getInt32Ty(), std::vector<llvm::Type*>(arguments.size(), b_.getPtrTy()), false);
  refusal_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name + "_refuse", module);
  refusal_->setAttributes(attributes);
  refusal_->addFnAttr(llvm::Attribute::NoInline);
  refusal_->addFnAttr(llvm::Attribute::OptimizeNone);
  refusal_->addFnAttr(llvm::Attribute::Cold);
  write_refusal(module);
}

llvm::Value* ArgumentChecks::field(llvm::Value* base, uint64_t offset, llvm::Type* type) {
  return b_.CreateAlignedLoad(type, b_.CreateInBoundsGEP(b_.getInt8Ty(), base, b_.getInt64(offset)), llvm::Align(1));
}

// One branch for all headers and one for the dimensions of all arguments of equal rank, where all is well: comparing
// field by field took longer than a small kernel. Dimensions are read only behind the headers' branch: it says how many
// there are. A branch for each address is one micro-operation; gathering them in registers first took three.
void ArgumentChecks::emit(llvm::Function* f) {
  leave_ = llvm::BasicBlock::Create(b_.getContext(), "refuse", f);
  std::vector<llvm::Value*> arguments;
  for (auto& argument : f->args()) arguments.push_back(&argument);
  for (auto* argument : arguments) leave_if(f, b_.CreateIsNull(argument));
  for (size_t a = 0; a < shapes_.size(); ++a)
    if (!shapes_[a].has_elements && !shapes_[a].extents.empty()) fill_if_null(f, arguments[a], shapes_[a]);
  std::vector<llvm::Value*> hosts;
  for (size_t a = 0; a < shapes_.size(); ++a) {
    hosts.push_back(field(arguments[a], kHostOffset, b_.getPtrTy()));
    if (shapes_[a].has_elements) leave_if(f, b_.CreateIsNull(hosts[a]));
  }
  llvm::Value* wrong = misaligned_bits(hosts);
  for (size_t a = 0; a < shapes_.size(); ++a) wrong = b_.CreateOr(wrong, header_difference(arguments[a], shapes_[a]));
  leave_if(f, b_.CreateICmpNE(wrong, b_.getInt64(0)));
  std::map<size_t, llvm::Value*> differences;  // by rank
  for (size_t a = 0; a < shapes_.size(); ++a) {
    if (shapes_[a].extents.empty()) continue;
    leave_if(f, b_.CreateIsNull(field(arguments[a], kDim, b_.getPtrTy())));
    llvm::Value*& all = differences[shapes_[a].extents.size()];
    llvm::Value* difference = dimensions_difference(arguments[a], shapes_[a]);
    all = all ? b_.CreateOr(all, difference) : difference;
  }
  for (const auto& [rank, difference] : differences) leave_if(f, differ(difference, rank));
  auto* good = b_.GetInsertBlock();
  b_.SetInsertPoint(leave_);
  if (refusal_) {
    llvm::CallInst* call = b_.CreateCall(refusal_, arguments);
    call->setTailCall();
    b_.CreateRet(call);
  } else {
    b_.CreateRet(b_.getInt32(static_cast<uint32_t>(kConstraintViolated)));
  }
  b_.SetInsertPoint(good);
}

/// What has no elements needs no address. Then the call is no query for its sake, for everything else is to be
/// computed; but whoever asks for shapes gets this one too.
void ArgumentChecks::fill_if_null(llvm::Function* f, llvm::Value* argument, const Shape& shape) {
  auto *fill = llvm::BasicBlock::Create(b_.getContext(), "fill", f),
       *filled = llvm::BasicBlock::Create(b_.getContext(), "filled", f);
  llvm::Value* dims = field(argument, kDim, b_.getPtrTy());
  llvm::Value* is_null = b_.CreateIsNull(field(argument, kHostOffset, b_.getPtrTy()));
  llvm::Value* same_rank = b_.CreateICmpEQ(field(argument, kDimensions, b_.getInt32Ty()),
                                           b_.getInt32(static_cast<uint32_t>(shape.extents.size())));
  b_.CreateCondBr(b_.CreateAnd(b_.CreateAnd(is_null, same_rank), b_.CreateIsNotNull(dims)), fill, filled);
  b_.SetInsertPoint(fill);
  int64_t stride = 1;
  for (size_t d = 0; d < shape.extents.size(); ++d) {
    const auto set = [&](unsigned at, int64_t value) {
      b_.CreateAlignedStore(b_.getInt32(static_cast<uint32_t>(value)),
                            b_.CreateInBoundsGEP(b_.getInt32Ty(), dims, b_.getInt64(d * kDimWords + at)),
                            llvm::Align(1));
    };
    set(kDimMin, 0), set(kDimExtent, shape.extents[d]), set(kDimStride, stride);
    stride *= shape.extents[d];
  }
  b_.CreateBr(filled);
  b_.SetInsertPoint(filled);
}

/// A branch to the refusal that is hardly ever taken.
void ArgumentChecks::leave_if(llvm::Function* f, llvm::Value* condition) {
  auto* good = llvm::BasicBlock::Create(b_.getContext(), "go_on", f);
  b_.CreateCondBr(condition, leave_, good, llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 1000));
  b_.SetInsertPoint(good);
}

/// 0 where each address is a multiple of what it must be: addresses of equal alignment are looked at together.
llvm::Value* ArgumentChecks::misaligned_bits(const std::vector<llvm::Value*>& hosts) {
  std::map<uint64_t, llvm::Value*> together;  // by alignment
  for (size_t a = 0; a < shapes_.size(); ++a) {
    if (!shapes_[a].has_elements || shapes_[a].alignment == 1) continue;
    llvm::Value* address = b_.CreatePtrToInt(hosts[a], b_.getInt64Ty());
    llvm::Value*& all = together[shapes_[a].alignment];
    all = all ? b_.CreateOr(all, address) : address;
  }
  llvm::Value* out = b_.getInt64(0);
  for (const auto& [alignment, addresses] : together)
    out = b_.CreateOr(out, b_.CreateAnd(addresses, b_.getInt64(alignment - 1)));
  return out;
}

/// Type code, bits and number of dimensions are one word; 0 where they are as they must be. Lanes are not looked at.
llvm::Value* ArgumentChecks::header_difference(llvm::Value* argument, const Shape& shape) {
  static_assert(kTypeBits == kTypeCode + 1 && kDimensions == kTypeCode + 4);
  const uint64_t expected =
      shape.code | static_cast<uint64_t>(shape.bits) << 8 | static_cast<uint64_t>(shape.extents.size()) << 32;
  llvm::Value* difference = b_.CreateXor(field(argument, kTypeCode, b_.getInt64Ty()), b_.getInt64(expected));
  return b_.CreateAnd(difference, b_.getInt64(0xffffffff0000ffff));
}

/// All dimensions are compared at once: 0 where they are as they must be, and anything where the flags are. Strides of
/// single elements may be anything, and all strides where there are none.
llvm::Value* ArgumentChecks::dimensions_difference(llvm::Value* argument, const Shape& shape) {
  std::vector<uint32_t> expected, counts;
  int64_t stride = 1;
  for (int64_t extent : shape.extents) {
    expected.insert(expected.end(), {0, static_cast<uint32_t>(extent), static_cast<uint32_t>(stride), 0});
    counts.insert(counts.end(), {~0u, ~0u, extent > 1 && shape.has_elements ? ~0u : 0, ~0u});
    stride *= extent;
  }
  auto* type = llvm::FixedVectorType::get(b_.getInt32Ty(), static_cast<unsigned>(expected.size()));
  llvm::Value* seen = b_.CreateAlignedLoad(type, field(argument, kDim, b_.getPtrTy()), llvm::Align(4));
  llvm::Value* difference = b_.CreateXor(seen, llvm::ConstantDataVector::get(b_.getContext(), expected));
  return b_.CreateAnd(difference, llvm::ConstantDataVector::get(b_.getContext(), counts));
}

/// One bit a word, so that the flags are left out by a constant in the test: to clear them in the vector takes two
/// instructions more.
llvm::Value* ArgumentChecks::differ(llvm::Value* difference, size_t rank) {
  const auto words = kDimWords * static_cast<unsigned>(rank);
  llvm::Value* bits = b_.CreateBitCast(b_.CreateICmpNE(difference, llvm::Constant::getNullValue(difference->getType())),
                                       b_.getIntNTy(words));
  llvm::Constant* without_flags =
      llvm::ConstantInt::get(b_.getContext(), llvm::APInt::getSplat(words, llvm::APInt(4, 7)));
  return b_.CreateICmpNE(b_.CreateAnd(bits, without_flags), llvm::ConstantInt::get(bits->getType(), 0));
}

namespace {

// Rows of words, one an argument: type code and bits, number of dimensions, 1 where it has elements, bits that its
// address has not; then extent and stride of each dimension.
constexpr uint64_t kRowType = 0, kRowRank = 1, kRowHasElements = 2, kRowAddress = 3, kRowDims = 4;

/// Loops over such a table: this code is a part of each kernel and hardly ever runs, so it is as small as it can be
/// made.
class RefusalCode {
 public:
  RefusalCode(llvm::IRBuilder<>& builder, llvm::Function* f, llvm::Value* table, uint64_t row_words)
      : b_(builder), f_(f), table_(table), row_words_(row_words) {}

  void write() {
    b_.SetInsertPoint(block("entry"));
    leave_ = block("leave");
    code_ = llvm::PHINode::Create(b_.getInt32Ty(), 4, "", leave_);
    const auto count = static_cast<uint64_t>(f_->arg_size());
    pointers_ = b_.CreateAlloca(b_.getPtrTy(), b_.getInt64(count));
    for (unsigned a = 0; a < count; ++a)
      b_.CreateAlignedStore(f_->getArg(a), at(b_.getPtrTy(), pointers_, b_.getInt64(a)), llvm::Align(8));
    llvm::Value* is_query = each(b_.getInt64(count), b_.getFalse(),
                                 [&](llvm::Value* a, llvm::Value* so_far) { return b_.CreateOr(so_far, asks(a)); });
    each(b_.getInt64(count), b_.getFalse(), [&](llvm::Value* a, llvm::Value* none) {
      argument(a, is_query);
      return none;
    });
    code_->addIncoming(b_.CreateSelect(is_query, b_.getInt32(0), number(kConstraintViolated)), b_.GetInsertBlock());
    b_.CreateBr(leave_);
    b_.SetInsertPoint(leave_);
    b_.CreateRet(code_);
  }

 private:
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, f_); }
  llvm::ConstantInt* number(int code) { return b_.getInt32(static_cast<uint32_t>(code)); }
  llvm::Value* at(llvm::Type* type, llvm::Value* base, llvm::Value* index) {
    return b_.CreateInBoundsGEP(type, base, index);
  }
  llvm::Value* pointer(llvm::Value* a) {
    return b_.CreateAlignedLoad(b_.getPtrTy(), at(b_.getPtrTy(), pointers_, a), llvm::Align(8));
  }
  llvm::Value* field(llvm::Value* base, uint64_t offset, llvm::Type* type) {
    return b_.CreateAlignedLoad(type, at(b_.getInt8Ty(), base, b_.getInt64(offset)), llvm::Align(1));
  }
  llvm::Value* row(llvm::Value* a) { return at(b_.getInt32Ty(), table_, b_.CreateMul(a, b_.getInt64(row_words_))); }
  llvm::Value* word(llvm::Value* base, uint64_t index) { return field(base, 4 * index, b_.getInt32Ty()); }

  void return_if(llvm::Value* condition, int code) {
    auto* good = block("go_on");
    code_->addIncoming(number(code), b_.GetInsertBlock());
    b_.CreateCondBr(condition, leave_, good);
    b_.SetInsertPoint(good);
  }

  /// Calls `body(index, state)` for index = 0, 1, .. count - 1; the state of the last one.
  template <class F>
  llvm::Value* each(llvm::Value* count, llvm::Value* state, const F& body) {
    auto *before = b_.GetInsertBlock(), *test = block("each"), *inside = block("inside"), *after = block("after");
    b_.CreateBr(test);
    b_.SetInsertPoint(test);
    auto* index = b_.CreatePHI(b_.getInt64Ty(), 2);
    auto* carried = b_.CreatePHI(state->getType(), 2);
    index->addIncoming(b_.getInt64(0), before);
    carried->addIncoming(state, before);
    b_.CreateCondBr(b_.CreateICmpULT(index, count), inside, after);
    b_.SetInsertPoint(inside);
    llvm::Value* next = body(index, carried);
    carried->addIncoming(next, b_.GetInsertBlock());
    index->addIncoming(b_.CreateAdd(index, b_.getInt64(1)), b_.GetInsertBlock());
    b_.CreateBr(test);
    b_.SetInsertPoint(after);
    return carried;
  }

  /// Is the address of elements null where there are some? That makes the call a bounds query.
  llvm::Value* asks(llvm::Value* a) {
    llvm::Value* p = pointer(a);
    return_if(b_.CreateIsNull(p), kBufferIsNull);
    llvm::Value* has_elements = b_.CreateICmpNE(word(row(a), kRowHasElements), b_.getInt32(0));
    return b_.CreateAnd(b_.CreateIsNull(field(p, kHostOffset, b_.getPtrTy())), has_elements);
  }

  /// A query fills in the dimensions of an argument without elements; else the first thing wrong is returned.
  void argument(llvm::Value* a, llvm::Value* is_query) {
    llvm::Value *p = pointer(a), *expected = row(a);
    llvm::Value* rank = word(expected, kRowRank);
    llvm::Value* has_elements = b_.CreateICmpNE(word(expected, kRowHasElements), b_.getInt32(0));
    llvm::Value* same_rank = b_.CreateICmpEQ(field(p, kDimensions, b_.getInt32Ty()), rank);
    auto *query = block("query"), *check = block("check"), *dims = block("dims"), *next = block("next");
    b_.CreateCondBr(is_query, query, check);
    b_.SetInsertPoint(check);
    return_if(
        b_.CreateICmpNE(b_.CreateZExt(field(p, kTypeCode, b_.getInt16Ty()), b_.getInt32Ty()), word(expected, kRowType)),
        kBadType);
    return_if(b_.CreateNot(same_rank), kBadDimensions);
    llvm::Value* address =
        b_.CreateTrunc(b_.CreatePtrToInt(field(p, kHostOffset, b_.getPtrTy()), b_.getInt64Ty()), b_.getInt32Ty());
    return_if(b_.CreateICmpNE(b_.CreateAnd(address, word(expected, kRowAddress)), b_.getInt32(0)), kUnaligned);
    b_.CreateBr(dims);
    b_.SetInsertPoint(query);
    b_.CreateCondBr(b_.CreateAnd(b_.CreateIsNull(field(p, kHostOffset, b_.getPtrTy())), same_rank), dims, next);
    b_.SetInsertPoint(dims);
    llvm::Value* seen = field(p, kDim, b_.getPtrTy());
    return_if(b_.CreateAnd(b_.CreateIsNull(seen), b_.CreateICmpNE(rank, b_.getInt32(0))), kBadDimensions);
    each(b_.CreateZExt(rank, b_.getInt64Ty()), b_.getFalse(), [&](llvm::Value* d, llvm::Value* none) {
      dimension(at(b_.getInt32Ty(), seen, b_.CreateMul(d, b_.getInt64(kDimWords))),
                at(b_.getInt32Ty(), expected, b_.CreateMul(d, b_.getInt64(2))), is_query, has_elements);
      return none;
    });
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
  }

  void dimension(llvm::Value* seen, llvm::Value* expected, llvm::Value* is_query, llvm::Value* has_elements) {
    llvm::Value *extent = word(expected, kRowDims), *stride = word(expected, kRowDims + 1);
    auto *fill = block("fill"), *compare = block("compare"), *done = block("done");
    b_.CreateCondBr(is_query, fill, compare);
    b_.SetInsertPoint(fill);
    const auto set = [&](unsigned number, llvm::Value* value) {
      b_.CreateAlignedStore(value, at(b_.getInt32Ty(), seen, b_.getInt64(number)), llvm::Align(1));
    };
    set(kDimMin, b_.getInt32(0)), set(kDimExtent, extent), set(kDimStride, stride);
    b_.CreateBr(done);
    b_.SetInsertPoint(compare);
    llvm::Value* wrong = b_.CreateOr(b_.CreateICmpNE(word(seen, kDimMin), b_.getInt32(0)),
                                     b_.CreateICmpNE(word(seen, kDimExtent), extent));
    llvm::Value* counts = b_.CreateAnd(b_.CreateICmpSGT(extent, b_.getInt32(1)), has_elements);
    llvm::Value* wrong_stride = b_.CreateAnd(counts, b_.CreateICmpNE(word(seen, kDimStride), stride));
    return_if(b_.CreateOr(wrong, wrong_stride), kConstraintViolated);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }

  llvm::IRBuilder<>& b_;
  llvm::Function* f_;
  llvm::Value* table_;
  uint64_t row_words_;
  llvm::Value* pointers_ = nullptr;
  llvm::BasicBlock* leave_ = nullptr;
  llvm::PHINode* code_ = nullptr;
};

}  // namespace

void ArgumentChecks::write_refusal(llvm::Module& module) {
  size_t rank = 0;
  for (const Shape& shape : shapes_) rank = std::max(rank, shape.extents.size());
  const size_t row_words = kRowDims + 2 * rank;
  std::vector<uint32_t> words;
  for (const Shape& shape : shapes_) {
    words.insert(words.end(),
                 {static_cast<uint32_t>(shape.code | shape.bits << 8), static_cast<uint32_t>(shape.extents.size()),
                  shape.has_elements, shape.has_elements ? static_cast<uint32_t>(shape.alignment - 1) : 0});
    int64_t stride = 1;
    for (int64_t extent : shape.extents) {
      words.insert(words.end(), {static_cast<uint32_t>(extent), static_cast<uint32_t>(stride)});
      stride *= extent;
    }
    words.resize((words.size() + row_words - 1) / row_words * row_words);
  }
  auto* rows = llvm::ConstantDataArray::get(b_.getContext(), words);
  auto* table = new llvm::GlobalVariable(module, rows->getType(), true, llvm::GlobalValue::PrivateLinkage, rows,
                                         refusal_->getName() + "_table");
  table->setAlignment(llvm::Align(4));
  RefusalCode(b_, refusal_, table, row_words).write();
}

}  // namespace polyweft::targets
