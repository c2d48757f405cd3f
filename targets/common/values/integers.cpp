#include "targets/common/values/integers.h"

#include <algorithm>

namespace polyweft::targets {
namespace {

constexpr char kOfLanes = '\1';  ///< before all that a key begins with

}  // namespace

bool Integers::fits_32_bits(const Affine& e) const {
  const Interval range = facts_.range(e);
  return range.lo >= INT32_MIN && range.hi <= INT32_MAX;
}

/// In vectors and along innermost loops that are left to the compiler, what 32 bits hold is computed in as many: there
/// are twice the lanes then, also of the gathers that take it. The compiler's own vectors without gathers worth the
/// name read along 64-bit subscripts better: pyramid with vectors of 256 bits, 189 against 270 us. What an innermost
/// loop does not move stays in 64 bits: LLVM writes equal rows of a ring in two ways once they are cut to 32, compares
/// them before the loop and takes them for two that overlap.
bool Integers::is_short(const Quasi& q) const {
  const auto is_of = [&](VarId var) {
    return strides_.moves(q.e, var) || strides_.moves(q.lo, var) || strides_.moves(q.hi, var);
  };
  const bool is_of_lanes = lanes_.width > 1 && is_of(kLane);
  const bool is_clamp = q.kind == Quasi::Kind::clamp;
  const bool is_left = nest_.auto_vectorized && scalar_.can().gathers && !variables_.open().empty() &&
                       is_of(variables_.open().back().var);
  if ((!is_left && !is_of_lanes) || !fits_32_bits(q.e)) return false;
  return is_clamp ? fits_32_bits(q.lo) && fits_32_bits(q.hi) : q.den <= INT32_MAX;
}

llvm::Value* Integers::quasi(const Quasi& q) {
  if (!is_short(q)) return quasi(q, 64);
  llvm::Value* value = quasi(q, 32);
  return b_.CreateSExt(value, value->getType()->getWithNewBitWidth(64));
}

llvm::Value* Integers::quasi(const Quasi& q, unsigned bits) {
  const auto value = [&](const Affine& e) { return bits == 32 ? short_integer(e) : integer(e); };
  llvm::Value* x = value(q.e);
  if (q.kind == Quasi::Kind::clamp) {
    std::vector<llvm::Value*> v = {x, value(q.lo), value(q.hi)};
    scalar_.unify(v);
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v[0], v[1]),
                                    v[2]);
  }
  const auto power = static_cast<uint64_t>(q.den);
  if ((power & (power - 1)) == 0)
    return b_.CreateAShr(x, llvm::ConstantInt::get(x->getType(), static_cast<uint64_t>(__builtin_ctzll(power))));
  llvm::Constant* den = llvm::ConstantInt::get(x->getType(), power);
  if (facts_.range(q.e).lo >= 0) return b_.CreateUDiv(x, den);
  llvm::Value* quotient = b_.CreateSDiv(x, den);
  llvm::Value* rest = b_.CreateSub(x, b_.CreateMul(quotient, den));
  return b_.CreateAdd(quotient,
                      b_.CreateSExt(b_.CreateICmpSLT(rest, llvm::Constant::getNullValue(x->getType())), x->getType()));
}

/// What depends on the lane is of these lanes alone.
void Integers::forget_lanes() {
  while (!known_.empty() && known_.begin()->first.front() == kOfLanes) known_.erase(known_.begin());
}

llvm::Value* Integers::scalar_part(const Affine& e) {
  Affine bare;
  for (const auto& term : e.terms)
    if (term.quasi || term.var != kLane) bare.terms.push_back(term);
  if (bare.terms.empty()) return nullptr;
  const std::string key = (uses(bare, kLane) ? std::string(1, kOfLanes) : std::string()) + key_of(bare);
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  llvm::Value* sum = nullptr;
  for (const auto& term : bare.terms) {
    llvm::Value* v = nullptr;
    if (term.quasi) {
      v = quasi(*term.quasi);
    } else if (const Strides::Row* row = strides_.row_of(term.var)) {
      v = row_start(*row);
    } else {
      v = variables_.value(term.var);
    }
    if (term.coeff != 1)
      v = b_.CreateMul(v, llvm::ConstantInt::get(v->getType(), static_cast<uint64_t>(term.coeff), true));
    if (!sum) {
      sum = v;
    } else {
      std::vector<llvm::Value*> both = {sum, v};
      scalar_.unify(both);
      sum = b_.CreateAdd(both[0], both[1]);
    }
  }
  known_[key] = sum;
  return sum;
}

llvm::Value* Integers::integer(const Affine& e) {
  llvm::Value* out = scalar_part(e);
  if (!out)
    out = b_.getInt64(static_cast<uint64_t>(e.constant));
  else if (e.constant != 0)
    out = b_.CreateAdd(out, llvm::ConstantInt::get(out->getType(), static_cast<uint64_t>(e.constant), true));
  const int64_t lane = e.coefficient(kLane);
  if (lane == 0 || lanes_.width == 1) return out;
  llvm::Value* steps =
      b_.CreateMul(masks_.lane_numbers(), llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes_.width),
                                                                         b_.getInt64(static_cast<uint64_t>(lane))));
  return b_.CreateAdd(scalar_.splat(out, lanes_.width), steps);
}

llvm::Value* Integers::short_integer(const Affine& e) {
  Affine fixed, moving;
  fixed.constant = e.constant;
  for (const auto& term : e.terms) {
    Affine one;
    one.terms = {term};
    (depends_on_lane(one) ||
             (!term.quasi && variables_.is_bound(term.var) && ScalarCode::lanes(variables_.value(term.var)) > 1)
         ? moving
         : fixed)
        .terms.push_back(term);
  }
  llvm::Value* sum = b_.CreateTrunc(integer(fixed), b_.getInt32Ty());
  for (const auto& term : moving.terms) {
    llvm::Value* value = term.quasi          ? (is_short(*term.quasi) ? quasi(*term.quasi, 32) : quasi(*term.quasi, 64))
                         : term.var == kLane ? masks_.lane_numbers()
                                             : variables_.value(term.var);
    value = b_.CreateTrunc(value, value->getType()->getWithNewBitWidth(32));
    value = b_.CreateMul(value, llvm::ConstantInt::get(value->getType(), static_cast<uint64_t>(term.coeff), true));
    std::vector<llvm::Value*> both = {sum, value};
    scalar_.unify(both);
    sum = b_.CreateAdd(both[0], both[1]);
  }
  return sum;
}

// Bounds that another one always beats are dropped.
llvm::Value* Integers::bound(const Bound& b, bool is_lower) {
  std::vector<Affine> all;
  for (const auto& e : b.of) all.push_back(fold(e));
  std::vector<Affine> kept;
  for (size_t i = 0; i < all.size(); ++i) {
    bool beaten = false;
    for (size_t j = 0; j < all.size(); ++j) {
      if (i == j) continue;
      const Interval d = facts_.range(all[j] - all[i]);
      const bool j_wins = is_lower ? d.lo >= 0 : d.hi <= 0;
      const bool tie = d.lo == 0 && d.hi == 0;
      beaten |= j_wins && (!tie || j < i);
    }
    if (!beaten) kept.push_back(all[i]);
  }
  llvm::Value* out = nullptr;
  for (const auto& e : kept) {
    llvm::Value* v = integer(e);
    out = out ? b_.CreateBinaryIntrinsic(is_lower ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, out, v) : v;
  }
  return out;
}

/// e >= 0 with what is subtracted on the other side: a compiler of device kernels (docs/gpu.md) lets threads run for
/// which 2 - thread >= 0 does not hold, and understands thread <= 2.
llvm::Value* Integers::comparison(const Affine& e) {
  Affine greater, less;
  for (const Term& term : e.terms) (term.coeff > 0 ? greater : less).terms.push_back(term);
  less = -1 * less;
  if (less.is_constant()) return b_.CreateICmpSGE(integer(greater), b_.getInt64(static_cast<uint64_t>(-e.constant)));
  greater.constant = e.constant;
  return b_.CreateICmpSLE(integer(less), integer(greater));
}

llvm::Value* Integers::condition(const Guard& g) {
  if (const auto known = facts_.decide(g)) return b_.getInt1(*known);
  switch (g.kind) {
    case Guard::Kind::ge0: {
      if (lanes_.width > 1)
        if (llvm::Value* mask = lane_condition(g.e)) return mask;
      if (hooks_.grid && lanes_.width == 1) return comparison(g.e);
      llvm::Value* v = integer(g.e);
      return b_.CreateICmpSGE(v, llvm::Constant::getNullValue(v->getType()));
    }
    case Guard::Kind::eq0: {
      llvm::Value* v = integer(g.e);
      return b_.CreateICmpEQ(v, llvm::Constant::getNullValue(v->getType()));
    }
    case Guard::Kind::negation:
      return b_.CreateNot(condition(g.of[0]));
    case Guard::Kind::all:
    case Guard::Kind::any: {
      llvm::Value* out = b_.getInt1(g.kind == Guard::Kind::all);
      for (const auto& part : g.of) {
        std::vector<llvm::Value*> both = {out, condition(part)};
        scalar_.unify(both);
        out = g.kind == Guard::Kind::all ? b_.CreateAnd(both[0], both[1]) : b_.CreateOr(both[0], both[1]);
      }
      return out;
    }
  }
  return b_.getTrue();
}

llvm::Value* Integers::lane_condition(const Affine& e) {
  const int64_t coefficient = e.coefficient(kLane);
  const Affine rest = e - Affine::variable(kLane, coefficient);
  if (std::abs(coefficient) != 1 || depends_on_lane(rest)) return nullptr;
  if (coefficient < 0) return masks_.lanes_below(integer(rest + Affine::of(1)));
  return b_.CreateNot(masks_.lanes_below(integer(-1 * rest)));
}

bool Integers::depends_on_lane(const Affine& e) const {
  return lanes_.width > 1 && strides_.moves(e, kLane);
}

bool Integers::depends_on_lane(const Guard& g) const {
  if (g.kind == Guard::Kind::ge0 || g.kind == Guard::Kind::eq0) return depends_on_lane(g.e);
  for (const auto& part : g.of)
    if (depends_on_lane(part)) return true;
  return false;
}

llvm::Value* Integers::condition_of_all_lanes(const Guard& g, llvm::Value* around) {
  if (g.kind != Guard::Kind::all) return around;
  std::vector<Guard> parts;
  for (const Guard& part : g.of)
    if (!depends_on_lane(part) && !facts_.decide(part)) parts.push_back(part);
  if (parts.empty()) return around;
  llvm::Value* own = condition(guard_all(std::move(parts)));
  return around ? b_.CreateAnd(around, own) : own;
}

llvm::Value* Integers::row_start(const Strides::Row& row) {
  llvm::Value* sum = nullptr;
  for (const auto& [dim, index] : row.terms) {
    std::vector<llvm::Value*> factors = {integer(index), strides_.stride(row.buffer, dim)};
    scalar_.unify(factors);
    llvm::Value* product = b_.CreateMul(factors[0], factors[1]);
    if (!sum) {
      sum = product;
      continue;
    }
    std::vector<llvm::Value*> both = {sum, product};
    scalar_.unify(both);
    sum = b_.CreateAdd(both[0], both[1]);
  }
  return sum;
}

std::vector<std::vector<llvm::Value*>> Integers::strides() {
  std::vector<std::vector<llvm::Value*>> out(nest_.buffers.size());
  for (BufferId id = 0; id < nest_.buffers.size(); ++id) {
    const Buffer& buffer = nest_.buffers[id];
    const std::vector<int64_t> extents = folded_extents(buffer);
    llvm::Value* stride = b_.getInt64(1);
    out[id].resize(extents.size() + 1);
    for (size_t d = extents.size(); d-- > 0;) {
      out[id][d + 1] = stride;
      llvm::Value* extent = b_.getInt64(static_cast<uint64_t>(extents[d]));
      if (extents[d] == kSymbolicExtent)
        extent = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, integer(fold(buffer.shape[d])), b_.getInt64(0));
      stride = b_.CreateMul(stride, extent);
    }
    out[id][0] = stride;  // all elements
  }
  return out;
}

}  // namespace polyweft::targets
