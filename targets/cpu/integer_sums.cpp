// With the constants in order, 0 < c1 < .. < cm, and gk the sum of all terms of ck, the whole is c1 (g1 + .. + gm) +
// (c2 - c1) (g2 + .. + gm) + .. : each partial sum is the one before and one addition, each difference a factor,
// often 1. A stencil's weights are such numbers: 1 2 3 4 5 takes 8 additions, not 4 and 6 operations that multiply. Of
// two rows side by side the second sum is the first one, without the sum of all its terms that was made on the way, and
// five times the new term.
#include "targets/cpu/integer_sums.h"

#include <llvm/ADT/APInt.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Pass.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace polyweft::targets {
namespace {

using namespace llvm::PatternMatch;

constexpr size_t kLeastTerms = 3, kMostTerms = 256;
constexpr unsigned kMostBits = 64;
constexpr size_t kMostKnown = 12;  ///< sums before a sum that are looked at

/// Operations that multiply a vector by a number: none, an addition or a shift, both, or a product.
int64_t operations(uint64_t factor, unsigned bits) {
  if (factor == 1) return 0;
  if (llvm::isPowerOf2_64(factor)) return 1;
  if (llvm::isPowerOf2_64(factor - 1) || llvm::isPowerOf2_64(factor + 1)) return 2;
  return bits == 16 ? 1 : bits == 32 ? 2 : 3;
}

using Factors =
    llvm::MapVector<llvm::Value*, uint64_t>;  ///< of terms, modulo 2^bits, in the order in which they were met

/// A value of the block, as numbers times terms.
struct Form {
  llvm::Value* value = nullptr;
  Factors factors;
};
/// A sum that stands before another one, and what was added up on the way to it.
struct Known {
  Form whole;
  std::vector<Form> partial;
};

/// One tree of additions and of products by constants whose inner nodes nothing else uses.
class Sum {
 public:
  explicit Sum(llvm::Instruction& root) : root_(root), bits_(root.getType()->getScalarSizeInBits()) {}

  /// Its terms, each vector once.
  bool read() {
    take(&root_, 1);
    size_t terms = 0;
    for (const auto& [term, factor] : factors_) terms += factor != 0;
    return terms >= kLeastTerms && terms <= kMostTerms;
  }

  /// Is another way to it shorter, from nothing or from a sum that is known?
  bool is_cheaper(const std::vector<Known>& known) {
    best_ = plan(factors_);
    const size_t first = known.size() > kMostKnown ? known.size() - kMostKnown : 0;
    for (size_t k = first; k < known.size(); ++k) {
      if (!may_start_from(known[k].whole)) continue;
      const Factors rest = less(factors_, known[k].whole.factors, false);
      consider(rest, {known[k].whole.value});
      for (const Form& partial : known[k].partial)
        for (const bool is_negative : {false, true})
          consider(less(rest, partial.factors, is_negative), {known[k].whole.value, partial.value, is_negative});
    }
    return best_.cost < operations_;
  }

  Known write() {
    llvm::IRBuilder<> b(&root_);
    Known out;
    llvm::Value *partial = nullptr, *whole = best_.start.sum;
    if (best_.start.partial) whole = joined(b, whole, {best_.start.partial, best_.start.is_negative});
    Factors terms;
    for (auto group = best_.groups.rbegin(); group != best_.groups.rend(); ++group) {
      const auto below = std::next(group);
      Signed own = sum_of(b, group->second);
      if (!best_.is_nested) {
        own.value = times(b, own.value, group->first);
        whole = joined(b, whole, own);
        continue;
      }
      partial = joined(b, partial, own);
      for (const Signed& term : group->second) terms[term.value] = cut(term.is_negative ? ~uint64_t{0} : 1);
      out.partial.push_back({partial, terms});
      whole = joined(b, whole,
                     {times(b, partial, group->first - (below == best_.groups.rend() ? 0 : below->first)), false});
    }
    root_.replaceAllUsesWith(whole);
    out.whole = {whole, factors_};
    return out;
  }
  Known as_it_is() const { return {{&root_, factors_}, {}}; }

  const std::vector<llvm::Instruction*>& inner() const { return inner_; }

 private:
  struct Signed {
    llvm::Value* value = nullptr;
    bool is_negative = false;
  };
  /// A known sum and one of its partial sums, on the way to this one.
  struct Start {
    llvm::Value *sum = nullptr, *partial = nullptr;
    bool is_negative = false;
  };
  struct Plan {
    Start start;
    std::map<uint64_t, std::vector<Signed>> groups;
    bool is_nested = false;
    int64_t cost = 0;
  };

  Plan plan(const Factors& factors) const {
    Plan out;
    for (const auto& [term, factor] : factors)
      if (factor != 0) out.groups[magnitude(factor)].push_back({term, is_negative(factor)});
    if (out.groups.empty()) return out;
    int64_t within = 0, apart = -1, nested = -1;
    uint64_t below = 0;
    for (const auto& [factor, terms] : out.groups) {
      within += static_cast<int64_t>(terms.size()) - 1;
      apart += 1 + operations(factor, bits_);
      nested += (below == 0 ? 1 : 2) + operations(factor - below, bits_);
      below = factor;
    }
    out.is_nested = nested < apart;
    out.cost = within + std::min(nested, apart);
    return out;
  }

  /// Some terms are the same, and what else the known sum has are loads: lanes of other vectors may hold nothing that
  /// is the same wherever it is used.
  bool may_start_from(const Form& whole) const {
    const auto is_own = [&](const auto& term) { return factors_.contains(term.first); };
    return std::any_of(whole.factors.begin(), whole.factors.end(), is_own) &&
           std::all_of(whole.factors.begin(), whole.factors.end(),
                       [&](const auto& term) { return is_own(term) || llvm::isa<llvm::LoadInst>(term.first); });
  }

  void consider(const Factors& rest, const Start& start) {
    Plan other = plan(rest);
    other.start = start;
    other.cost += (start.partial ? 1 : 0) + (other.groups.empty() ? 0 : 1);
    if (other.cost < best_.cost) best_ = std::move(other);
  }

  Factors less(Factors from, const Factors& what, bool is_negative) const {
    for (const auto& [term, factor] : what) {
      uint64_t& left = from[term];
      left = cut(is_negative ? left + factor : left - factor);
    }
    return from;
  }

  uint64_t cut(uint64_t factor) const { return bits_ == 64 ? factor : factor & ((uint64_t{1} << bits_) - 1); }
  bool is_negative(uint64_t factor) const { return llvm::SignExtend64(factor, bits_) < 0; }
  uint64_t magnitude(uint64_t factor) const { return is_negative(factor) ? cut(0 - factor) : factor; }

  static std::optional<uint64_t> constant_of(llvm::Value* value) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
    const auto* number = constant ? llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getSplatValue()) : nullptr;
    if (!number) return std::nullopt;
    return number->getValue().getZExtValue();
  }

  void take(llvm::Value* value, uint64_t factor) {
    auto* i = llvm::dyn_cast<llvm::Instruction>(value);
    if (i && (i == &root_ || (i->hasOneUse() && i->getParent() == root_.getParent())) && factors_.size() < kMostTerms) {
      llvm::Value *a = nullptr, *b = nullptr;
      if (match(i, m_Add(m_Value(a), m_Value(b)))) return inside(*i, 1), take(a, factor), take(b, factor);
      if (match(i, m_Sub(m_Value(a), m_Value(b)))) return inside(*i, 1), take(a, factor), take(b, cut(0 - factor));
      if (match(i, m_Shl(m_Value(a), m_Value(b))))
        if (const auto by = constant_of(b); by && *by < bits_) return inside(*i, 1), take(a, cut(factor << *by));
      if (match(i, m_Mul(m_Value(a), m_Value(b)))) {
        if (constant_of(a)) std::swap(a, b);
        if (const auto by = constant_of(b))
          return inside(*i, operations(magnitude(*by), bits_) + (is_negative(*by) ? 1 : 0)), take(a, cut(factor * *by));
      }
    }
    if (llvm::isa<llvm::ConstantAggregateZero>(value)) return;
    uint64_t& sum = factors_[value];
    sum = cut(sum + factor);
  }

  void inside(llvm::Instruction& i, int64_t cost) {
    inner_.push_back(&i);
    operations_ += cost;
  }

  /// Terms of one factor: negative as a whole where all of them are.
  static Signed sum_of(llvm::IRBuilder<>& b, const std::vector<Signed>& terms) {
    const bool is_negative =
        std::all_of(terms.begin(), terms.end(), [](const Signed& term) { return term.is_negative; });
    const auto first =
        std::find_if(terms.begin(), terms.end(), [&](const Signed& term) { return term.is_negative == is_negative; });
    llvm::Value* sum = first->value;
    for (auto term = terms.begin(); term != terms.end(); ++term) {
      if (term == first) continue;
      sum = term->is_negative == is_negative ? b.CreateAdd(sum, term->value) : b.CreateSub(sum, term->value);
    }
    return {sum, is_negative};
  }

  static llvm::Value* joined(llvm::IRBuilder<>& b, llvm::Value* sum, const Signed& more) {
    if (!sum) return more.is_negative ? b.CreateNeg(more.value) : more.value;
    return more.is_negative ? b.CreateSub(sum, more.value) : b.CreateAdd(sum, more.value);
  }

  llvm::Value* times(llvm::IRBuilder<>& b, llvm::Value* value, uint64_t factor) const {
    if (factor == 1) return value;
    if (llvm::isPowerOf2_64(factor))
      return b.CreateShl(value, llvm::ConstantInt::get(value->getType(), llvm::Log2_64(factor)));
    return b.CreateMul(value, llvm::ConstantInt::get(value->getType(), factor));
  }

  llvm::Instruction& root_;
  unsigned bits_;
  int64_t operations_ = 0;
  Factors factors_;
  Plan best_;
  std::vector<llvm::Instruction*> inner_;
};

class IntegerSums final : public llvm::FunctionPass {
 public:
  static char ID;
  IntegerSums() : FunctionPass(ID) {}
  bool runOnFunction(llvm::Function& function) override {
    bool changed = false;
    for (llvm::BasicBlock& block : function) changed |= change(block);
    return changed;
  }

 private:
  static bool change(llvm::BasicBlock& block) {
    std::set<llvm::Instruction*> taken;
    std::vector<llvm::Instruction*> roots, dead, backwards;
    for (auto i = block.rbegin(); i != block.rend(); ++i) backwards.push_back(&*i);
    for (llvm::Instruction* i : backwards) {
      const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(i->getType());
      const bool is_sum = i->getOpcode() == llvm::Instruction::Add || i->getOpcode() == llvm::Instruction::Sub;
      if (!is_sum || !type || type->getScalarSizeInBits() < 16 || type->getScalarSizeInBits() > kMostBits ||
          taken.contains(i))
        continue;
      Sum sum(*i);
      if (sum.read()) roots.push_back(i);
      taken.insert(sum.inner().begin(), sum.inner().end());
    }
    std::vector<Known> known;
    for (auto root = roots.rbegin(); root != roots.rend(); ++root) {
      Sum sum(**root);
      if (!sum.read()) continue;
      if (!sum.is_cheaper(known)) {
        known.push_back(sum.as_it_is());
        continue;
      }
      known.push_back(sum.write());
      dead.insert(dead.end(), sum.inner().begin(), sum.inner().end());
    }
    for (llvm::Instruction* i : dead)
      if (i->use_empty()) i->eraseFromParent();
    return !dead.empty();
  }
};
char IntegerSums::ID = 0;

}  // namespace

llvm::FunctionPass* integer_sums() {
  return new IntegerSums;
}

}  // namespace polyweft::targets
