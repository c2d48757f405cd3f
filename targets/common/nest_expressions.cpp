#include <algorithm>
#include <bit>

#include "targets/common/nest_code.h"

namespace polyweft::targets {
namespace {

constexpr char kOfLanes = '\1';  ///< before all that a key begins with

}  // namespace

Affine NestCode::fold(const Affine& e) const {
  return context_.fold(e);
}

Guard NestCode::fold(const Guard& g) const {
  return context_.fold(g);
}

Access NestCode::folded(const Access& access) const {
  return context_.fold(access);
}

bool NestCode::depends_on_lane(const Affine& e) const {
  return lanes_.width > 1 && moves(e, kLane);
}

bool NestCode::depends_on_lane(const Guard& g) const {
  if (g.kind == Guard::Kind::ge0 || g.kind == Guard::Kind::eq0) return depends_on_lane(g.e);
  for (const auto& part : g.of)
    if (depends_on_lane(part)) return true;
  return false;
}

llvm::Value* NestCode::lane_numbers() {
  std::vector<llvm::Constant*> numbers;
  for (unsigned lane = 0; lane < lanes_.width; ++lane) numbers.push_back(b_.getInt64(lane));
  return llvm::ConstantVector::get(numbers);
}

// Compared in 32 bits: a mask is then one instruction.
llvm::Value* NestCode::lanes_below(llvm::Value* count) {
  llvm::Value* low = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, b_.getInt64(0));
  llvm::Value* inside =
      b_.CreateTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, low, b_.getInt64(lanes_.width)), b_.getInt32Ty());
  std::vector<llvm::Constant*> numbers;
  for (unsigned lane = 0; lane < lanes_.width; ++lane) numbers.push_back(b_.getInt32(lane));
  return b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), scalar_.splat(inside, lanes_.width));
}

llvm::Value* NestCode::first_lanes(int64_t count) {
  std::vector<llvm::Constant*> bits;
  for (int64_t lane = 0; lane < static_cast<int64_t>(lanes_.width); ++lane) bits.push_back(b_.getInt1(lane < count));
  return llvm::ConstantVector::get(bits);
}

// LLVM 22 splits a masked load, where the target has no masks of single lanes, in halves and, where one half of the
// mask is known to be false only in part of its uses, loads that half whole. So a constant mask that turns off half of
// the lanes is not a constant any more where it meets a condition.
llvm::Value* NestCode::both_masks(llvm::Value* outer, llvm::Value* condition) {
  if (!outer) return condition;
  auto* constant = llvm::dyn_cast<llvm::Constant>(outer);
  if (!constant || llvm::isa<llvm::Constant>(condition) || lanes_.width > 64) return b_.CreateAnd(outer, condition);
  uint64_t bits = 0;
  for (unsigned lane = 0; lane < lanes_.width; ++lane)
    if (constant->getAggregateElement(lane)->isOneValue()) bits |= uint64_t{1} << lane;
  const auto active = static_cast<unsigned>(std::popcount(bits));
  if (2 * active > lanes_.width) return b_.CreateAnd(outer, condition);
  llvm::Type* i64 = b_.getInt64Ty();
  auto* hidden = llvm::InlineAsm::get(llvm::FunctionType::get(i64, {i64}, false), "", "=r,0", false);
  const bool are_first = bits == (uint64_t{1} << active) - 1;
  llvm::Value* value = b_.CreateCall(hidden, {b_.getInt64(are_first ? active : bits)});
  llvm::Value* mask = are_first ? lanes_below(value)
                                : b_.CreateBitCast(b_.CreateTrunc(value, b_.getIntNTy(lanes_.width)), outer->getType());
  return b_.CreateAnd(mask, condition);
}

llvm::Value* NestCode::lane_condition(const Affine& e) {
  const int64_t coefficient = e.coefficient(kLane);
  const Affine rest = e - Affine::variable(kLane, coefficient);
  if (std::abs(coefficient) != 1 || depends_on_lane(rest)) return nullptr;
  if (coefficient < 0) return lanes_below(integer(rest + Affine::of(1)));
  return b_.CreateNot(lanes_below(integer(-1 * rest)));
}

llvm::Value* NestCode::full_mask() {
  if (lanes_.mask) return lanes_.mask;
  return llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(b_.getInt1Ty(), lanes_.width));
}

bool NestCode::fits_32_bits(const Affine& e) const {
  const Interval range = facts_.range(e);
  return range.lo >= INT32_MIN && range.hi <= INT32_MAX;
}

/// In vectors and along innermost loops that are left to the compiler, what 32 bits hold is computed in as many: there
/// are twice the lanes then, also of the gathers that take it. The compiler's own vectors without gathers worth the
/// name read along 64-bit subscripts better: pyramid with vectors of 256 bits, 189 against 270 us. What an innermost
/// loop does not move stays in 64 bits: LLVM writes equal rows of a ring in two ways once they are cut to 32, compares
/// them before the loop and takes them for two that overlap.
bool NestCode::is_short(const Quasi& q) const {
  const auto is_of = [&](VarId var) { return moves(q.e, var) || moves(q.lo, var) || moves(q.hi, var); };
  const bool is_of_lanes = lanes_.width > 1 && is_of(kLane);
  const bool is_clamp = q.kind == Quasi::Kind::clamp;
  const bool is_left = nest_.auto_vectorized && scalar_.can().gathers && !open_.empty() && is_of(open_.back().var);
  if ((!is_left && !is_of_lanes) || !fits_32_bits(q.e)) return false;
  return is_clamp ? fits_32_bits(q.lo) && fits_32_bits(q.hi) : q.den <= INT32_MAX;
}

llvm::Value* NestCode::quasi(const Quasi& q) {
  if (!is_short(q)) return quasi(q, 64);
  llvm::Value* value = quasi(q, 32);
  return b_.CreateSExt(value, value->getType()->getWithNewBitWidth(64));
}

llvm::Value* NestCode::quasi(const Quasi& q, unsigned bits) {
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
void NestCode::forget_lanes() {
  while (!integers_.empty() && integers_.begin()->first.front() == kOfLanes) integers_.erase(integers_.begin());
}

llvm::Value* NestCode::scalar_part(const Affine& e) {
  Affine bare;
  for (const auto& term : e.terms)
    if (term.quasi || term.var != kLane) bare.terms.push_back(term);
  if (bare.terms.empty()) return nullptr;
  const std::string key = (uses(bare, kLane) ? std::string(1, kOfLanes) : std::string()) + key_of(bare);
  if (const auto it = integers_.find(key); it != integers_.end()) return it->second;
  llvm::Value* sum = nullptr;
  for (const auto& term : bare.terms) {
    llvm::Value* v = nullptr;
    if (term.quasi) {
      v = quasi(*term.quasi);
    } else if (const Row* row = row_of(term.var)) {
      v = row_start(*row);
    } else {
      const auto it = variables_.find(term.var);
      if (it == variables_.end()) throw Refusal{fail("PW0501", "the nest uses a variable that no loop around binds")};
      v = it->second;
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
  integers_[key] = sum;
  return sum;
}

llvm::Value* NestCode::integer(const Affine& e) {
  llvm::Value* out = scalar_part(e);
  if (!out)
    out = b_.getInt64(static_cast<uint64_t>(e.constant));
  else if (e.constant != 0)
    out = b_.CreateAdd(out, llvm::ConstantInt::get(out->getType(), static_cast<uint64_t>(e.constant), true));
  const int64_t lane = e.coefficient(kLane);
  if (lane == 0 || lanes_.width == 1) return out;
  llvm::Value* steps =
      b_.CreateMul(lane_numbers(), llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes_.width),
                                                                  b_.getInt64(static_cast<uint64_t>(lane))));
  return b_.CreateAdd(scalar_.splat(out, lanes_.width), steps);
}

/// In 32 bits, which hold it.
llvm::Value* NestCode::short_integer(const Affine& e) {
  Affine fixed, moving;
  fixed.constant = e.constant;
  for (const auto& term : e.terms) {
    Affine one;
    one.terms = {term};
    (depends_on_lane(one) || (!term.quasi && variables_.count(term.var) && ScalarCode::lanes(variables_[term.var]) > 1)
         ? moving
         : fixed)
        .terms.push_back(term);
  }
  llvm::Value* sum = b_.CreateTrunc(integer(fixed), b_.getInt32Ty());
  for (const auto& term : moving.terms) {
    llvm::Value* value = term.quasi          ? (is_short(*term.quasi) ? quasi(*term.quasi, 32) : quasi(*term.quasi, 64))
                         : term.var == kLane ? lane_numbers()
                                             : variables_[term.var];
    value = b_.CreateTrunc(value, value->getType()->getWithNewBitWidth(32));
    value = b_.CreateMul(value, llvm::ConstantInt::get(value->getType(), static_cast<uint64_t>(term.coeff), true));
    std::vector<llvm::Value*> both = {sum, value};
    scalar_.unify(both);
    sum = b_.CreateAdd(both[0], both[1]);
  }
  return sum;
}

// Bounds that another one always beats are dropped.
llvm::Value* NestCode::bound(const Bound& b, bool is_lower) {
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

llvm::Value* NestCode::condition(const Guard& g) {
  if (const auto known = facts_.decide(g)) return b_.getInt1(*known);
  switch (g.kind) {
    case Guard::Kind::ge0: {
      if (lanes_.width > 1)
        if (llvm::Value* mask = lane_condition(g.e)) return mask;
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

llvm::Value* NestCode::expression(const Expr& e) {
  if (const auto it = known_.find(e.get()); it != known_.end()) return it->second;
  switch (e->op) {
    case Op::literal:
      return scalar_.constant(e->literal);
    case Op::variable: {
      if (const auto it = bound_values_.find(e->var); !bound_values_.empty() && it != bound_values_.end())
        return it->second;
      return integer(fold(Affine::variable(e->var)));
    }
    case Op::affine:
      return integer(fold(e->affine));
    case Op::read:
      return short_[e->access.id] ? long_index(load(e->access)) : load(e->access);
    case Op::guarded:
      return guarded(*e);
    default:
      break;
  }
  if (llvm::Value* running = scanned(*e)) return running;
  if ((e->op == Op::max || e->op == Op::min) && reads_carried(e)) return extreme_of_carried(*e);
  std::vector<llvm::Value*> args;
  for (const auto& arg : e->args) args.push_back(expression(arg));
  if (e->op == Op::div && divides_by_reciprocal(*e, args[0], args[1])) return quotient(e->type, args[0], args[1]);
  if (llvm::Value* turned = operation_before_rotation(*e, args)) return turned;
  return scalar_.apply(*e, std::move(args));
}

static void collect_operands(const ExprNode& node, std::vector<Expr>& out) {
  for (const Expr& arg : node.args)
    if (arg->op == node.op && arg->type == node.type)
      collect_operands(*arg, out);
    else
      out.push_back(arg);
}

/// Does it read a register that the innermost loop hands from iteration to iteration?
bool NestCode::reads_carried(const Expr& e) const {
  if (e->op == Op::read) return e->access.id < loop_registers_.size() && loop_registers_[e->access.id];
  return std::any_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return reads_carried(arg); });
}

/// The greatest or least of some values of which one comes from the last iteration. Extremes have any order in every
/// class: that value is met last, as the second operand, so that neither the others nor the test for a NaN, which is of
/// the first, lie on the chain from iteration to iteration.
llvm::Value* NestCode::extreme_of_carried(const ExprNode& node) {
  std::vector<Expr> operands;
  collect_operands(node, operands);
  std::stable_partition(operands.begin(), operands.end(), [&](const Expr& operand) { return !reads_carried(operand); });
  llvm::Value* out = nullptr;
  for (const Expr& operand : operands) {
    llvm::Value* value = expression(operand);
    const bool is_carried = out && lanes_.width == 1 && reads_carried(operand);
    out = !out                                                    ? value
          : is_carried && scalar_.has_chained_extremes(node.type) ? scalar_.chained_extreme(node, out, value)
                                                                  : scalar_.apply(node, {out, value});
  }
  return out;
}

// Of a condition the parts that hold for all lanes or for none, and those of conditions around.
llvm::Value* NestCode::condition_of_all_lanes(const Guard& g, llvm::Value* around) {
  if (g.kind != Guard::Kind::all) return around;
  std::vector<Guard> parts;
  for (const Guard& part : g.of)
    if (!depends_on_lane(part) && !facts_.decide(part)) parts.push_back(part);
  if (parts.empty()) return around;
  llvm::Value* own = condition(guard_all(std::move(parts)));
  return around ? b_.CreateAnd(around, own) : own;
}

// A guarded value is lazy: what the guard excludes is not read.
llvm::Value* NestCode::guarded(const ExprNode& node, const std::function<llvm::Value*(const Expr&)>& side) {
  const Guard g = fold(node.guard);
  if (const auto known = facts_.decide(g)) return side(node.args[*known ? 0 : 1]);
  if (!depends_on_lane(g)) {
    llvm::Value* values[2] = {};
    llvm::BasicBlock* ends[2] = {};
    const auto branch_of = [&](int i) {
      values[i] = scalar_.splat(side(node.args[static_cast<size_t>(i)]), lanes_.width);
      ends[i] = b_.GetInsertBlock();
    };
    branch(
        condition(g), [&] { branch_of(0); }, [&] { branch_of(1); }, weights(share_of(&node)));
    llvm::PHINode* phi = llvm::PHINode::Create(values[0]->getType(), 2, "", b_.GetInsertBlock()->begin());
    for (int i = 0; i < 2; ++i) phi->addIncoming(values[i], ends[i]);
    return phi;
  }
  llvm::Value* chosen =
      scalar_.splat(condition(g), lanes_.width);  // what is known of some parts may leave nothing of the lanes in it
  const Lanes outer = lanes_;
  const auto saved = loads_;
  lanes_.guarded = true;
  lanes_.active = 0;
  lanes_.mask = both_masks(outer.mask, chosen);
  lanes_.may_read = condition_of_all_lanes(g, outer.may_read);
  llvm::Value* yes = side(node.args[0]);
  lanes_.may_read = outer.may_read;
  loads_ = saved;
  llvm::Value* opposite = b_.CreateNot(chosen);
  lanes_.mask = both_masks(outer.mask, opposite);
  llvm::Value* no = side(node.args[1]);
  loads_ = saved;
  lanes_ = outer;
  return b_.CreateSelect(chosen, scalar_.splat(yes, lanes_.width), scalar_.splat(no, lanes_.width));
}

}  // namespace polyweft::targets
