#include "targets/common/values/running_values.h"

#include <algorithm>
#include <utility>

namespace polyweft::targets {

/// What the first iteration reads. Where a guard keeps it from reading, the element may lie outside, and any value will
/// do.
llvm::Value* RunningValues::first_running(const Access& read) {
  const Buffer& buffer = nest_.buffers[read.id];
  const Guard inside = fold(ir::is_within(read, buffer));
  llvm::Value* none = llvm::Constant::getNullValue(scalar_.register_type(buffer.type));
  const auto known = facts_.decide(inside);
  if (known) return *known ? accesses_.load_place(places_.place_of(read), buffer.type) : none;
  llvm::BasicBlock *loaded = nullptr, *skipped = nullptr;
  llvm::Value* value = nullptr;
  branches_.branch(
      integers_.condition(inside),
      [&] { value = accesses_.load_place(places_.place_of(read), buffer.type), loaded = b_.GetInsertBlock(); },
      [&] { skipped = b_.GetInsertBlock(); });
  llvm::PHINode* phi = llvm::PHINode::Create(value->getType(), 2, "", b_.GetInsertBlock()->begin());
  phi->addIncoming(value, loaded);
  phi->addIncoming(none, skipped);
  return phi;
}

void RunningValues::load_running(const Loop& loop, llvm::Value* lo, const VarFacts& facts,
                                 std::vector<RunningValue>& values) {
  const auto integers = integers_.known();
  const Facts outside = facts_;
  variables_.bind(loop.var, lo, facts);
  for (RunningValue& each : values) each.last = first_running(each.read);
  variables_.unbind(loop.var);
  variables_.restore(outside);
  integers_.restore(integers);
  loads_.clear();
}

/// The bits of numbers, in whose order those of negative ones are turned; its own inverse.
llvm::Value* RunningValues::flipped_negatives(llvm::Value* bits) {
  const unsigned count = bits->getType()->getScalarSizeInBits();
  llvm::Constant* magnitude = llvm::ConstantInt::get(bits->getType(), llvm::APInt::getSignedMaxValue(count));
  return b_.CreateXor(bits, b_.CreateAnd(b_.CreateAShr(bits, count - 1), magnitude));
}

/// Numbers as integers in the same order, a NaN at the end that wins; integers as they are.
llvm::Value* RunningValues::scanned_key(const ExprNode& node, llvm::Value* value) {
  if (!is_float(node.type)) return value;
  llvm::Value* wins = llvm::ConstantFP::getNaN(value->getType(), node.op == Op::min);
  llvm::Value* number = b_.CreateSelect(b_.CreateFCmpUNO(value, value), wins, value);
  llvm::Type* bits = b_.getIntNTy(value->getType()->getScalarSizeInBits());
  return flipped_negatives(b_.CreateBitCast(
      number, value->getType()->isVectorTy() ? llvm::FixedVectorType::get(bits, ScalarCode::lanes(value)) : bits));
}

llvm::Value* RunningValues::fold_keys(const ExprNode& node, llvm::Value* a, llvm::Value* b) {
  if (!is_float(node.type)) return scalar_.apply(node, {a, b});
  return b_.CreateBinaryIntrinsic(node.op == Op::max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, a, b);
}

llvm::Value* RunningValues::scanned(const ExprNode& node) {
  if (lanes_.width == 1 || running_.empty() || !ir::is_scanned(node.op, node.type)) return nullptr;
  std::vector<Expr> terms;
  for (const Expr& arg : node.args) ir::collect_scan_terms(arg, node.op, terms);
  for (RunningValue& each : running_) {
    if (each.lanes != lanes_.width) continue;
    const Access before = ir::with(each.stored, kLane, Affine::variable(kLane) - Affine::of(1));
    const auto chain = std::find_if(terms.begin(), terms.end(), [&](const Expr& term) {
      return term->op == Op::read && ir::is_same_element(variables_.fold(term->access), before);
    });
    if (chain == terms.end()) continue;
    terms.erase(chain);
    return scanned(node, terms, each);
  }
  return nullptr;
}

/// A key that changes no other.
llvm::Constant* RunningValues::neutral_keys(const ExprNode& node, llvm::Type* type) const {
  const unsigned bits = type->getScalarSizeInBits();
  const bool has_sign = node.type != ElementType::u8;
  switch (node.op) {
    case Op::max:
      return llvm::ConstantInt::get(type, has_sign ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getZero(bits));
    case Op::min:
      return llvm::ConstantInt::get(type,
                                    has_sign ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getAllOnes(bits));
    case Op::mul:
      return llvm::ConstantInt::get(type, 1);
    case Op::bit_and:
      return llvm::Constant::getAllOnesValue(type);
    default:
      return llvm::Constant::getNullValue(type);
  }
}

/// What the loop begins with, in all lanes.
void RunningValues::begin_scan(const ExprNode& node, RunningValue& chain) {
  const llvm::IRBuilder<>::InsertPointGuard here(b_);
  b_.SetInsertPoint(chain.entry->getTerminator());
  llvm::Value* first = b_.CreateVectorSplat(lanes_.width, scanned_key(node, chain.last));
  chain.phi = llvm::PHINode::Create(first->getType(), 2, "", chain.header->begin());
  chain.phi->addIncoming(first, chain.entry);
}

llvm::Value* RunningValues::scanned(const ExprNode& node, const std::vector<Expr>& terms, RunningValue& chain) {
  llvm::Value* value = nullptr;
  for (const Expr& term : terms) {
    llvm::Value* next = scanned_key(node, scalar_.splat(further_.expression(term), lanes_.width));
    value = value ? fold_keys(node, value, next) : next;
  }
  begin_scan(node, chain);
  llvm::Value* none = neutral_keys(node, value->getType());
  for (unsigned apart = 1; apart < lanes_.width; apart *= 2) {
    std::vector<int> from;
    for (unsigned lane = 0; lane < lanes_.width; ++lane)
      from.push_back(static_cast<int>(lane < apart ? lanes_.width + lane : lane - apart));
    value = fold_keys(node, value, b_.CreateShuffleVector(value, none, from));
  }
  llvm::Value* last = b_.CreateShuffleVector(value, std::vector<int>(lanes_.width, static_cast<int>(lanes_.width) - 1));
  llvm::Value* out = fold_keys(node, value, chain.phi);
  chain.last = fold_keys(node, chain.phi, last);
  chain.is_made = true;
  if (!is_float(node.type)) return out;
  llvm::Type* numbers = llvm::FixedVectorType::get(scalar_.register_type(node.type), lanes_.width);
  return b_.CreateBitCast(flipped_negatives(out), numbers);
}

}  // namespace polyweft::targets
