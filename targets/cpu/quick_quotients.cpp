// With rh = 1/d cut after its last bit and rl = 1/d - rh rounded, both of d's sign, fma(a, rh, a rl) is a/d rounded to nearest (after Brisebarre, Muller and Raina,
// 2004): what is rounded differs from a/d by at most 2^-104 of it in f64, 2^-46 in f32 (half an ulp each of rl and of a rl), and an odd d < 2^20 keeps a/d at least 1/(2
// d) ulps, 2^-74 or 2^-45 of it, from the middle of two numbers. Infinities, NaN and zeros come out right since both products have one sign. Only a rl may lose bits to
// the subnormal range, by half of the least number: less than what is left where |a| >= 2^-959 (f64) or 2^-63 (f32), and nothing where a rl is no subnormal number.
// All of a block's a rl have exponents if they have a bit of it in common, as numbers below 2 have that differ by less than 2^511 (2^63): two products are joined by one
// operation, and one test with a mask is left. Where they have none, each a has its test. The four operations of nest_division.cpp have one comparison each, on the port
// that turns want.
#include "targets/cpu/quick_quotients.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/MemoryLocation.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Pass.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "targets/cpu/llvm_queries.h"

namespace polyweft::targets {
namespace {

using namespace llvm::PatternMatch;

constexpr size_t kLeastQuotients = 4;
constexpr unsigned kQuotientVectorBits = 512;
constexpr double kMostDivisor = 1 << 20;

/// select(remainder one 0, fma(remainder, r, q), q) with q = a r, remainder = fma(q, -d, a).
struct Quotient {
  llvm::Value* a = nullptr;
  double divisor = 0;
  llvm::Instruction *q = nullptr, *remainder = nullptr, *better = nullptr, *is_one = nullptr, *chosen = nullptr;
};

std::optional<double> splat(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  const auto* number = constant ? llvm::dyn_cast_or_null<llvm::ConstantFP>(constant->getSplatValue()) : nullptr;
  if (!number) return std::nullopt;
  return number->getType()->isFloatTy() ? static_cast<double>(number->getValueAPF().convertToFloat()) : number->getValueAPF().convertToDouble();
}

std::optional<Quotient> quotient_of(llvm::Instruction& i) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(i.getType());
  if (!type || (!type->getElementType()->isDoubleTy() && !type->getElementType()->isFloatTy()) || type->getPrimitiveSizeInBits().getFixedValue() != kQuotientVectorBits)
    return std::nullopt;
  llvm::Value *compared = nullptr, *q = nullptr, *better = nullptr, *remainder = nullptr, *a = nullptr, *reciprocal = nullptr, *minus = nullptr;
  llvm::CmpPredicate predicate;
  if (!match(&i, m_Select(m_Value(compared), m_Value(better), m_Value(q)))) return std::nullopt;
  if (!match(compared, m_FCmp(predicate, m_Value(remainder), m_AnyZeroFP())) || predicate != llvm::CmpInst::FCMP_ONE) return std::nullopt;
  if (!match(q, m_FMul(m_Value(a), m_Value(reciprocal)))) return std::nullopt;
  if (!match(better, m_Intrinsic<llvm::Intrinsic::fma>(m_Specific(remainder), m_Specific(reciprocal), m_Specific(q)))) return std::nullopt;
  if (!match(remainder, m_Intrinsic<llvm::Intrinsic::fma>(m_Specific(q), m_Value(minus), m_Specific(a)))) return std::nullopt;
  const auto r = splat(reciprocal), d = splat(minus);
  if (!r || !d || std::fabs(*d) < 3 || std::fabs(*d) >= kMostDivisor || std::fmod(std::fabs(*d), 2) != 1) return std::nullopt;
  const bool is_float = type->getElementType()->isFloatTy();
  if (*r != (is_float ? static_cast<double>(1.0F / static_cast<float>(-*d)) : 1.0 / -*d)) return std::nullopt;
  Quotient out{a, -*d};
  llvm::Instruction** parts[] = {&out.q, &out.remainder, &out.better, &out.is_one, &out.chosen};
  llvm::Value* values[] = {q, remainder, better, compared, &i};
  for (size_t k = 0; k < 5; ++k) {
    *parts[k] = llvm::dyn_cast<llvm::Instruction>(values[k]);
    if (!*parts[k] || (*parts[k])->getParent() != i.getParent()) return std::nullopt;
  }
  return out;
}

template <class T>
std::pair<T, T> reciprocal_in_two(T d) {
  T high = 1 / d;
  if (std::fma(-d, high, T{1}) < 0) high = std::nextafter(high, T{0});
  return {high, std::fma(-d, high, T{1}) / d};
}

class QuotientBlock {
 public:
  QuotientBlock(llvm::BasicBlock& block, llvm::AAResults& aliases) : block_(block), aliases_(aliases) {}

  bool change() {
    for (llvm::Instruction& i : block_)
      if (const auto quotient = quotient_of(i)) quotients_.push_back(*quotient);
    if (quotients_.size() < kLeastQuotients || !gather() || stores_.empty()) return false;
    split();
    return true;
  }

 private:
  bool may_meet(llvm::StoreInst& store, llvm::Instruction& other) { return !aliases_.isNoAlias(llvm::MemoryLocation::get(&store), llvm::MemoryLocation::get(&other)); }

  /// Finds what depends on the quotients, and its stores. False where they cannot wait for the test.
  bool gather() {
    std::set<const llvm::Instruction*> parts, depends;
    for (const Quotient& quotient : quotients_) {
      parts.insert({quotient.q, quotient.remainder, quotient.better, quotient.is_one});
      depends.insert(quotient.chosen);
    }
    for (llvm::Instruction& i : block_) {
      if (llvm::isa<llvm::PHINode>(i)) continue;
      bool follows = depends.count(&i) > 0;
      for (const llvm::Value* operand : i.operands())
        if (const auto* made = llvm::dyn_cast<llvm::Instruction>(operand); made && made->getParent() == &block_) follows |= depends.count(made) > 0;
      if (follows) {
        depends.insert(&i);
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
          const auto* address = llvm::dyn_cast<llvm::Instruction>(store->getPointerOperand());
          if (!store->isSimple() || (address && depends.count(address) > 0)) return false;
          stores_.push_back(store);
          continue;
        }
        if (i.isTerminator() || i.mayReadOrWriteMemory() || i.mayHaveSideEffects()) return false;
        again_.push_back(&i);
        continue;
      }
      if (parts.count(&i) > 0) again_.push_back(&i);
      if (!i.mayReadOrWriteMemory() || is_prefetch(i)) continue;
      const bool is_plain =
          (llvm::isa<llvm::LoadInst>(i) && llvm::cast<llvm::LoadInst>(i).isSimple()) || (llvm::isa<llvm::StoreInst>(i) && llvm::cast<llvm::StoreInst>(i).isSimple());
      for (llvm::StoreInst* before : stores_)
        if (!is_plain || may_meet(*before, i)) return false;
    }
    return true;
  }

  static llvm::Value* bits_of(llvm::IRBuilder<>& b, llvm::Value* a) {
    return b.CreateBitCast(a, llvm::VectorType::getInteger(llvm::cast<llvm::VectorType>(a->getType())));
  }

  /// Lanes whose exponent is not among the least.
  static llvm::Value* are_large(llvm::IRBuilder<>& b, llvm::Value* a) {
    const bool is_float = a->getType()->getScalarType()->isFloatTy();
    return have_bits(b, bits_of(b, a), is_float ? uint64_t{0x60000000} : uint64_t{0x7c00000000000000});
  }

  static llvm::Value* have_bits(llvm::IRBuilder<>& b, llvm::Value* bits, uint64_t mask) {
    return b.CreateICmpNE(b.CreateAnd(bits, llvm::ConstantInt::get(bits->getType(), mask)), llvm::Constant::getNullValue(bits->getType()));
  }

  static llvm::Value* any(llvm::IRBuilder<>& b, llvm::Value* lanes) {
    llvm::Type* number = b.getIntNTy(llvm::cast<llvm::FixedVectorType>(lanes->getType())->getNumElements());
    return b.CreateICmpNE(b.CreateBitCast(lanes, number), llvm::Constant::getNullValue(number));
  }

  void split() {
    llvm::LLVMContext& context = block_.getContext();
    llvm::Function* function = block_.getParent();
    llvm::BasicBlock* after = block_.splitBasicBlock(block_.getTerminator(), "stored");
    llvm::BasicBlock* quick = llvm::BasicBlock::Create(context, "quick", function, after);
    llvm::BasicBlock* suspect = llvm::BasicBlock::Create(context, "suspect", function);
    llvm::BasicBlock* slow = llvm::BasicBlock::Create(context, "slow", function);

    // The longer form once more, with all that depends on it.
    std::map<llvm::Value*, llvm::Value*> copies;
    const auto copy = [&](llvm::Instruction* i) {
      llvm::Instruction* out = i->clone();
      for (llvm::Use& use : out->operands())
        if (const auto it = copies.find(use.get()); it != copies.end()) use.set(it->second);
      out->insertInto(slow, slow->end());
      copies[i] = out;
    };
    for (llvm::Instruction* i : again_) copy(i);
    for (llvm::StoreInst* store : stores_) copy(store);
    llvm::BranchInst::Create(after, slow);

    // What others see of it.
    for (llvm::Instruction* i : again_) {
      std::vector<llvm::Use*> outside;
      for (llvm::Use& use : i->uses()) {
        const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        if (user->getParent() == slow || (user->getParent() == &block_ && !llvm::isa<llvm::PHINode>(user))) continue;
        outside.push_back(&use);
      }
      if (outside.empty()) continue;
      auto* phi = llvm::PHINode::Create(i->getType(), 2, "", after->begin());
      phi->addIncoming(i, quick);
      phi->addIncoming(copies.at(i), slow);
      for (llvm::Use* use : outside) use->set(phi);
    }
    for (llvm::StoreInst* store : stores_) store->moveBefore(*quick, quick->end());
    llvm::BranchInst::Create(after, quick);

    llvm::IRBuilder<> in_suspect(suspect);
    llvm::Value* tiny = nullptr;
    for (const Quotient& quotient : quotients_) {
      llvm::Value* is_tiny = in_suspect.CreateAnd(in_suspect.CreateNot(are_large(in_suspect, quotient.a)),
                                                  in_suspect.CreateFCmpUNE(quotient.a, llvm::Constant::getNullValue(quotient.a->getType())));
      llvm::Value* is_any = any(in_suspect, is_tiny);
      tiny = tiny ? in_suspect.CreateOr(tiny, is_any) : is_any;
    }
    llvm::MDNode* rarely = llvm::MDBuilder(context).createBranchWeights(1, 1000);
    in_suspect.CreateCondBr(tiny, slow, quick, rarely);

    std::map<llvm::Type*, llvm::Value*> common;  // bits of all products of vectors of one type
    std::vector<llvm::Instruction*> products;
    for (const Quotient& quotient : quotients_) products.push_back(shorten(quotient));
    std::sort(products.begin(), products.end(), [](const llvm::Instruction* x, const llvm::Instruction* y) { return x->comesBefore(y); });
    for (llvm::Instruction* product : products) {
      llvm::IRBuilder<> behind(product->getNextNode());  // no register for it until the test
      llvm::Value* bits = bits_of(behind, product);
      llvm::Value*& all = common[product->getType()];
      all = all ? behind.CreateAnd(all, bits) : bits;
    }
    block_.getTerminator()->eraseFromParent();
    llvm::IRBuilder<> b(&block_);
    llvm::Value* suspicious = nullptr;
    for (const auto& [type, bits] : common) {
      const bool is_float = type->getScalarType()->isFloatTy();
      llvm::Value* some = any(b, b.CreateNot(have_bits(b, bits, is_float ? uint64_t{0x7f800000} : uint64_t{0x7ff0000000000000})));
      suspicious = suspicious ? b.CreateOr(suspicious, some) : some;
    }
    b.CreateCondBr(suspicious, suspect, quick, rarely);
  }

  /// Returns a rl.
  llvm::Instruction* shorten(const Quotient& quotient) {
    llvm::IRBuilder<> b(quotient.q);
    llvm::Type* type = quotient.a->getType();
    llvm::Value *high = nullptr, *low = nullptr;
    if (type->getScalarType()->isFloatTy()) {
      const auto [h, l] = reciprocal_in_two(static_cast<float>(quotient.divisor));
      high = llvm::ConstantFP::get(type, static_cast<double>(h)), low = llvm::ConstantFP::get(type, static_cast<double>(l));
    } else {
      const auto [h, l] = reciprocal_in_two(quotient.divisor);
      high = llvm::ConstantFP::get(type, h), low = llvm::ConstantFP::get(type, l);
    }
    auto* product = llvm::cast<llvm::Instruction>(b.CreateFMul(quotient.a, low));
    llvm::Value* quick = b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {quotient.a, high, product});
    // An asm with no text: else LLVM moves both operations behind the test, whose masks wait for each other.
    auto* same = llvm::FunctionType::get(type, {type}, false);
    quick = b.CreateCall(same, llvm::InlineAsm::get(same, "", "=v,0", true), {quick});
    quotient.chosen->replaceAllUsesWith(quick);
    for (llvm::Instruction* part : {quotient.chosen, quotient.is_one, quotient.better, quotient.remainder, quotient.q})
      if (part->use_empty()) part->eraseFromParent();
    return product;
  }

  llvm::BasicBlock& block_;
  llvm::AAResults& aliases_;
  std::vector<Quotient> quotients_;
  std::vector<llvm::Instruction*> again_;  // the quotients' parts and what depends on them, but for stores
  std::vector<llvm::StoreInst*> stores_;
};

class QuickQuotients final : public llvm::FunctionPass {
 public:
  static char ID;
  QuickQuotients() : FunctionPass(ID) {}
  bool runOnFunction(llvm::Function& function) override {
    if (!function.getFnAttribute("target-features").getValueAsString().contains("+avx512f")) return false;
    auto& aliases = getAnalysis<llvm::AAResultsWrapperPass>().getAAResults();
    bool changed = false;
    std::vector<llvm::BasicBlock*> blocks;
    for (llvm::BasicBlock& block : function) blocks.push_back(&block);
    for (llvm::BasicBlock* block : blocks) changed |= QuotientBlock(*block, aliases).change();
    return changed;
  }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override { usage.addRequired<llvm::AAResultsWrapperPass>(); }
};
char QuickQuotients::ID = 0;

}  // namespace

llvm::FunctionPass* quick_quotients() {
  return new QuickQuotients;
}

}  // namespace polyweft::targets
