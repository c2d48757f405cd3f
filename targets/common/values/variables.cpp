#include "targets/common/values/variables.h"

#include <algorithm>

#include "targets/common/function_code.h"

namespace polyweft::targets {
namespace {

constexpr int64_t kUnrollLimit = 4096;

}  // namespace

void Variables::start_as(const Variables& outside) {
  substituted_ = outside.substituted_;
  facts_ = outside.facts_;
}

void Variables::bind(VarId var, llvm::Value* value, VarFacts facts) {
  values_[var] = value;
  facts_.set(var, std::move(facts));
}

llvm::Value* Variables::value(VarId var) const {
  const auto it = values_.find(var);
  if (it == values_.end()) throw Refusal{fail("PW0501", "the nest uses a variable that no loop around binds")};
  return it->second;
}

std::optional<int64_t> Variables::constant_trips(const Loop& loop, const Affine& lo) const {
  if (loop.lo.of.size() != 1 || loop.hi.of.size() != 1) return std::nullopt;
  const Affine length = fold(loop.hi.of[0]) - lo;
  if (!length.is_constant() || length.constant > kUnrollLimit) return std::nullopt;
  return length.constant;
}

std::optional<int64_t> Variables::iterations(const Loop& loop) const {
  if (loop.lo.of.size() != 1 || loop.hi.of.size() != 1) return std::nullopt;
  const Affine length = fold(loop.hi.of[0]) - fold(loop.lo.of[0]);
  if (!length.is_constant()) return std::nullopt;
  return std::max<int64_t>((length.constant + loop.step - 1) / loop.step, 0);
}

int64_t Variables::most_trips(const Loop& loop) const {
  int64_t out = INT64_MAX;
  for (const Affine& e : loop.hi.of) out = std::min(out, facts_.range(fold(e) - fold(loop.lo.of[0])).hi);
  return out;
}

}  // namespace polyweft::targets
