#include "targets/common/values/exact_integers.h"

#include "targets/common/wide_division.h"

namespace polyweft::targets {
namespace {

using ir::ExactRange;

constexpr int64_t kLargestModulus = int64_t{1} << 31;  ///< products of two remainders fit 63 bits

llvm::Type* with_bits(llvm::Value* v, unsigned bits) {
  return v->getType()->getWithNewBitWidth(bits);
}

bool is_ring_operator(Op op) {
  return op == Op::add || op == Op::sub || op == Op::mul || op == Op::neg;
}

bool is_of_32_bits(const ExactRange& range) {
  return range.lo >= INT32_MIN && range.hi <= INT32_MAX;
}

}  // namespace

/// The value in the least of 32, 64 and 128 bits that hold its range.
struct ExactIntegers::Exact {
  llvm::Value* value = nullptr;
  std::optional<ExactRange> range;  ///< none: 128 bits may not hold what it stands for
  bool is_narrow() const { return range && ir::fits_64_bits(*range); }
  unsigned bits() const { return range && is_of_32_bits(*range) ? 32 : is_narrow() ? 64 : 128; }
};

ExactLeaves ExactIntegers::exact_leaves() const {
  return ExactLeaves(nest_, [this](const Affine& e) { return exact_bounds(facts_, fold(e)); });
}

llvm::Value* ExactIntegers::in_bits(const Exact& x, unsigned bits) {
  llvm::Type* type = with_bits(x.value, bits);
  return x.value->getType()->getScalarSizeInBits() < bits ? b_.CreateSExt(x.value, type)
                                                          : b_.CreateTrunc(x.value, type);
}

llvm::Value* ExactIntegers::exact_index(const Expr& data) {
  return in_bits(exact(data), 64);
}

ExactIntegers::Exact ExactIntegers::exact(const Expr& e) {
  Exact out = exact_in_any_bits(e);
  out.value = in_bits(out, out.bits());
  return out;
}

/// What exact() gives, in as many bits as were at hand.
ExactIntegers::Exact ExactIntegers::exact_in_any_bits(const Expr& e) {
  if (!ir::is_exact_operator(*e)) {
    const bool is_short = e->op == Op::affine && lanes_.width > 1 && integers_.fits_32_bits(fold(e->affine));
    return {is_short ? integers_.short_integer(fold(e->affine)) : further_.expression(e), exact_leaves().range(*e)};
  }
  if (e->op == Op::guarded) return exact_guarded(*e);
  if (e->op == Op::floor_mod)
    if (auto rest = exact_remainder(*e)) return *rest;
  std::vector<Exact> args;
  std::vector<ExactRange> ranges;
  llvm::Value* condition = e->op == Op::select ? exact_condition(e->args[0]) : nullptr;
  for (size_t k = condition ? 1 : 0; k < e->args.size(); ++k) {
    args.push_back(e->op == Op::clamp && k == 0 ? exact_saturated(e->args[0], *e) : exact(e->args[k]));
    if (args.back().range) ranges.push_back(*args.back().range);
  }
  Exact out;
  if (ranges.size() == args.size()) out.range = ir::exact_range_of(e->op, ranges);
  // A shift takes its count modulo the bits of an i64.
  unsigned bits = std::max(out.bits(), e->op == Op::shl || e->op == Op::shr ? 64U : 32U);
  for (const Exact& arg : args) bits = std::max(bits, arg.bits());
  std::vector<llvm::Value*> values;
  if (condition) values.push_back(condition);
  for (const Exact& arg : args) values.push_back(in_bits(arg, bits));
  out.value = exact_operation(*e, std::move(values), bits == 128);
  return out;
}

llvm::Value* ExactIntegers::exact_operation(const ExprNode& e, std::vector<llvm::Value*> values, bool is_wide) {
  if (!is_wide || (e.op != Op::floor_div && e.op != Op::floor_mod)) return scalar_.apply(e, std::move(values));
  scalar_.unify(values);
  return floor_division(b_, e.op == Op::floor_div ? WideDivision::quotient : WideDivision::remainder, values[0],
                        values[1]);
}

llvm::Value* ExactIntegers::exact_condition(const Expr& e) {
  if (!ir::is_exact_condition(*e)) return further_.expression(e);
  std::vector<llvm::Value*> values;
  if (e->args[0]->type == ElementType::boolean) {
    for (const Expr& arg : e->args) values.push_back(exact_condition(arg));
    return scalar_.apply(*e, std::move(values));
  }
  const Exact a = exact(e->args[0]), b = exact(e->args[1]);
  const unsigned bits = std::max(a.bits(), b.bits());
  return scalar_.apply(*e, {in_bits(a, bits), in_bits(b, bits)});
}

ExactIntegers::Exact ExactIntegers::exact_guarded(const ExprNode& e) {
  Exact out;
  out.range = ir::exact_range(e, exact_leaves());
  const unsigned bits = out.bits();
  out.value = branches_.guarded(e, [&](const Expr& side) { return in_bits(exact(side), bits); });
  return out;
}

/// The first operand of a clamp to 64 bits: a sum, difference or opposite of two numbers of 64 bits may end at the last
/// of them.
ExactIntegers::Exact ExactIntegers::exact_saturated(const Expr& e, const ExprNode& clamp) {
  const ExactLeaves leaf = exact_leaves();
  const auto fits = [&](const Expr& x) {
    const auto range = ir::exact_range(*x, leaf);
    return range && ir::fits_64_bits(*range);
  };
  const bool is_sum = e->type == ElementType::i64 && (e->op == Op::add || e->op == Op::sub || e->op == Op::neg);
  const bool helps =
      is_sum && ir::exact_range(*e, leaf) && !fits(e) && std::all_of(e->args.begin(), e->args.end(), fits);
  if (!helps || !fits(clamp.args[1]) || !fits(clamp.args[2])) return exact(e);
  std::vector<llvm::Value*> values;
  for (const Expr& arg : e->args) values.push_back(in_bits(exact(arg), 64));
  if (e->op == Op::neg) values.insert(values.begin(), b_.getInt64(0));
  scalar_.unify(values);
  const auto id = e->op == Op::add ? llvm::Intrinsic::sadd_sat : llvm::Intrinsic::ssub_sat;
  return {b_.CreateBinaryIntrinsic(id, values[0], values[1]), ir::range_of_type(ElementType::i64)};
}

/// e % n by remainders of the parts, where those need fewer bits than the whole.
std::optional<ExactIntegers::Exact> ExactIntegers::exact_remainder(const ExprNode& e) {
  const ExactLeaves leaf = exact_leaves();
  const auto n = ir::exact_range(*e.args[1], leaf), dividend = ir::exact_range(*e.args[0], leaf);
  const bool helps =
      dividend && !ir::fits_64_bits(*dividend) && is_ring_operator(e.args[0]->op) && ir::is_exact_operator(*e.args[0]);
  if (!helps || !n || n->lo < 1 || n->hi > kLargestModulus) return std::nullopt;
  llvm::Value* modulus = in_bits(exact(e.args[1]), 64);
  return Exact{residue(e.args[0], modulus), ExactRange{0, n->hi - 1}};
}

/// In [0, modulus).
llvm::Value* ExactIntegers::residue(const Expr& e, llvm::Value* modulus) {
  const Op op = ir::is_exact_operator(*e) ? e->op : Op::literal;
  if (!is_ring_operator(op)) return residue_of_value(exact(e), modulus);
  const auto range = ir::exact_range(*e, exact_leaves());
  if (range && ir::fits_64_bits(*range)) return residue_of_value(exact(e), modulus);
  std::vector<llvm::Value*> all = {modulus};
  for (const Expr& arg : e->args) all.push_back(residue(arg, modulus));
  scalar_.unify(all);
  llvm::Value *n = all[0], *zero = llvm::Constant::getNullValue(n->getType());
  if (op == Op::mul) return b_.CreateURem(b_.CreateMul(all[1], all[2]), n);
  if (op == Op::add) {
    llvm::Value* sum = b_.CreateAdd(all[1], all[2]);
    return b_.CreateSelect(b_.CreateICmpSGE(sum, n), b_.CreateSub(sum, n), sum);
  }
  llvm::Value* difference = op == Op::neg ? b_.CreateNeg(all[1]) : b_.CreateSub(all[1], all[2]);
  return b_.CreateSelect(b_.CreateICmpSLT(difference, zero), b_.CreateAdd(difference, n), difference);
}

llvm::Value* ExactIntegers::residue_of_value(const Exact& x, llvm::Value* modulus) {
  std::vector<llvm::Value*> both = {in_bits(x, std::max(x.bits(), 64U)), modulus};
  if (!x.is_narrow()) both[1] = b_.CreateSExt(modulus, with_bits(modulus, 128));
  scalar_.unify(both);
  if (!x.is_narrow())
    return b_.CreateTrunc(floor_division(b_, WideDivision::remainder, both[0], both[1]), with_bits(both[0], 64));
  llvm::Value* rest = b_.CreateSRem(both[0], both[1]);
  return b_.CreateSelect(b_.CreateICmpSLT(rest, llvm::Constant::getNullValue(rest->getType())),
                         b_.CreateAdd(rest, both[1]), rest);
}

}  // namespace polyweft::targets
