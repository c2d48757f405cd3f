// Scans in registers: a running maximum, minimum or integer sum along a row, a vector at a time. The lanes of a vector are folded in log steps (each takes in what lies
// 1, 2, 4 .. lanes below), then with all that came before, and only that last step waits for the vector before.
//
//   for i: M[i] = max(M[i - 1], X[i]); D[i] = M[i] - X[i]
//     ->  c = M[lo - 1] in all lanes;  for vectors of i: p = prefix maxima of X's lanes; M = max(p, c); c = max(c, last lane of p); D = M - X
//
// Legal in every class: these operations are exact, so their order is free (sums of floats are not, and keep their chain). Everything else in the loop must go along as
// lanes: no other value comes from an earlier iteration. Maxima of floats are those of integers in the order of numbers, NaN at the end that wins.
#include <algorithm>
#include <utility>

#include "targets/common/nest_code.h"

namespace polyweft::targets {
namespace {

constexpr int64_t kFewestLanes = 4, kFewestVectors = 2;

bool is_scanned(Op op, ElementType type) {
  if (type == ElementType::f16 || type == ElementType::bf16 || type == ElementType::boolean) return false;
  if (op == Op::max || op == Op::min) return true;
  return is_integer(type) && (op == Op::add || op == Op::mul || op == Op::bit_and || op == Op::bit_or || op == Op::bit_xor);
}

/// Operands of one operation, parentheses aside.
void collect_terms(const Expr& e, Op op, std::vector<Expr>& out) {
  if (e->op != op) {
    out.push_back(e);
    return;
  }
  for (const Expr& arg : e->args) collect_terms(arg, op, out);
}

Access with(const Access& access, VarId var, const Affine& value) {
  Access out = access;
  for (Subscript& s : out.index) s.affine = substitute(s.affine, {{var, value}});
  return out;
}

/// In different rows, wherever along them.
bool are_other_rows(const Access& a, const Access& b, VarId var) {
  for (size_t d = 0; d < a.index.size() && d < b.index.size(); ++d) {
    if (uses(a.index[d].affine, var) || uses(b.index[d].affine, var)) continue;
    if (const Affine difference = a.index[d].affine - b.index[d].affine; difference.is_constant() && difference.constant != 0) return true;
  }
  return false;
}

}  // namespace

/// The value without conditions that are decided.
Expr NestCode::bare(const Expr& e) const {
  const auto known = e->op == Op::guarded ? facts_.decide(fold(e->guard)) : std::nullopt;
  return known ? bare(e->args[*known ? 0 : 1]) : e;
}

/// Elements between one value of the variable and the next; nothing where that is not one number.
std::optional<int64_t> NestCode::step_along(const Access& access, VarId var) const {
  const Buffer& buffer = nest_.buffers[access.id];
  if (has_data(access) || short_[access.id] || in_registers(access.id) || is_symbolic(access.id) || buffer.scope == Scope::tile) return std::nullopt;
  std::vector<Affine> index;
  for (const Subscript& s : access.index) index.push_back(s.affine);
  const Affine offset = facts_.offset(buffer, index);
  const int64_t step = offset.coefficient(var);
  return uses(offset - Affine::variable(var, step), var) ? std::nullopt : std::optional(step);
}

/// Does the statement take one operand of a scanned operation, and nothing else, from the iteration before?
bool NestCode::is_chain(const Instance& instance, const Access& before) {
  const auto outside = std::exchange(substitution_, instance.at);
  const Expr value = bare(instance.compute->rhs[0]);
  std::vector<Expr> terms;
  if (is_scanned(value->op, value->type) && value->type == nest_.buffers[before.id].type) collect_terms(value, value->op, terms);
  const bool out = std::any_of(terms.begin(), terms.end(), [&](const Expr& term) { return term->op == Op::read && same_element(folded(term->access), before); });
  substitution_ = outside;
  return out && std::count_if(instance.reads.begin(), instance.reads.end(), [&](const Access& read) { return same_element(read, before); }) == 1;
}

/// May the iterations be lanes, but for chains? Those are added to `chains`.
bool NestCode::goes_along(const std::vector<Instance>& instances, size_t k, VarId var, std::vector<Access>& chains) {
  const Instance& instance = instances[k];
  if (instance.compute->how != Write::store || instance.stores.size() != 1) return false;
  const Access& dst = instance.stores[0];
  if (step_along(dst, var) != 1 || !sharers_[dst.id].empty()) return false;
  const bool is_linear = std::all_of(dst.index.begin(), dst.index.end(), [](const Subscript& s) { return s.affine.is_linear(); });
  if (!is_linear) return false;
  const Access before = with(dst, var, Affine::variable(var) - Affine::of(1));
  const bool has_chain = is_chain(instance, before);
  if (has_chain) chains.push_back(dst);
  for (size_t other = 0; other < instances.size(); ++other) {
    for (const Access& read : instances[other].reads) {
      const bool is_own = other == k && has_chain && same_element(read, before);
      if (read.id == dst.id && !is_own && !same_element(read, dst) && !are_other_rows(read, dst, var)) return false;
    }
    for (const Access& store : instances[other].stores)
      if (store.id == dst.id && !same_element(store, dst) && !are_other_rows(store, dst, var)) return false;
  }
  return std::all_of(instance.reads.begin(), instance.reads.end(), [&](const Access& read) {
    const auto step = step_along(read, var);
    return step && (*step == 0 || *step == 1);
  });
}

/// Stores of running values, and how many lanes there may be; nothing where the loop has none or has more than these.
std::optional<NestCode::Scan> NestCode::scan_along(const Loop& loop) {
  const auto length = constant_length(loop);
  if (nest_.symbolic || loop.step != 1 || lanes_.width > 1 || loop.mark.kind != MarkKind::serial || !length) return std::nullopt;
  const Facts outside = facts_;
  facts_.set(loop.var, loop_facts(loop));
  std::vector<Instance> instances;
  Scan out;
  bool fits = collect_instances(loop.body, instances);
  int64_t bytes = 1;
  for (size_t k = 0; k < instances.size() && fits; ++k) {
    fits = goes_along(instances, k, loop.var, out.chains);
    for (const auto* accesses : {&instances[k].reads, &instances[k].stores})
      for (const Access& access : *accesses) bytes = std::max(bytes, size_bytes(nest_.buffers[access.id].type));
  }
  facts_ = outside;
  out.lanes = scalar_.can().vector_bits / 8 / bytes;
  out.vectors = *length / std::max<int64_t>(out.lanes, 1);
  if (!fits || out.chains.empty() || out.lanes < kFewestLanes || out.vectors < kFewestVectors) return std::nullopt;
  return out;
}

/// Whole vectors, then what is left one by one. False: nothing was emitted.
bool NestCode::scan_loop(const Loop& loop) {
  const auto scan = scan_along(loop);
  if (!scan) return false;
  const Affine lo = fold(loop.lo.of[0]), end = lo + Affine::of(scan->vectors * scan->lanes), first = Affine::variable(kFirstOfScan);
  Loop vectors = loop, lanes = loop, rest = loop;
  vectors.var = kFirstOfScan;
  vectors.hi.of = {end};
  vectors.step = scan->lanes;
  lanes.lo.of = {first};
  lanes.hi.of = {first + Affine::of(scan->lanes)};
  lanes.mark.kind = MarkKind::vector;
  lanes.mark.width = scan->lanes;
  LoopBody body{[&](llvm::Value*) { over_lanes(lanes, [&] { emit(loop.body); }); }, scan->vectors, true};
  for (const Access& stored : scan->chains) {
    const Access before = with(stored, loop.var, first - Affine::of(1));
    body.carried.push_back(
        {with(stored, loop.var, first + Affine::variable(kLane)), before, nullptr, nullptr, false, false, static_cast<unsigned>(scan->lanes), nullptr, nullptr});
  }
  serial_loop(vectors, body);
  rest.lo.of = {end};
  const auto left = constant_length(rest);
  if (left && *left > 0) serial_loop(rest);
  return true;
}

/// The bits of numbers, in whose order those of negative ones are turned; its own inverse.
llvm::Value* NestCode::turned_negatives(llvm::Value* bits) {
  const unsigned count = bits->getType()->getScalarSizeInBits();
  llvm::Constant* magnitude = llvm::ConstantInt::get(bits->getType(), llvm::APInt::getSignedMaxValue(count));
  return b_.CreateXor(bits, b_.CreateAnd(b_.CreateAShr(bits, count - 1), magnitude));
}

/// Numbers as integers in the same order, a NaN at the end that wins; integers as they are.
llvm::Value* NestCode::scanned_key(const ExprNode& node, llvm::Value* value) {
  if (!is_float(node.type)) return value;
  llvm::Value* wins = llvm::ConstantFP::getNaN(value->getType(), node.op == Op::min);
  llvm::Value* number = b_.CreateSelect(b_.CreateFCmpUNO(value, value), wins, value);
  llvm::Type* bits = b_.getIntNTy(value->getType()->getScalarSizeInBits());
  return turned_negatives(b_.CreateBitCast(number, value->getType()->isVectorTy() ? llvm::FixedVectorType::get(bits, ScalarCode::lanes(value)) : bits));
}

llvm::Value* NestCode::fold_keys(const ExprNode& node, llvm::Value* a, llvm::Value* b) {
  if (!is_float(node.type)) return scalar_.apply(node, {a, b});
  return b_.CreateBinaryIntrinsic(node.op == Op::max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, a, b);
}

/// A running value over the lanes at hand; null where the operation is none.
llvm::Value* NestCode::scanned(const ExprNode& node) {
  if (lanes_.width == 1 || carried_.empty() || !is_scanned(node.op, node.type)) return nullptr;
  std::vector<Expr> terms;
  for (const Expr& arg : node.args) collect_terms(arg, node.op, terms);
  for (Carried& each : carried_) {
    if (each.lanes != lanes_.width) continue;
    const Access before = with(each.stored, kLane, Affine::variable(kLane) - Affine::of(1));
    const auto chain = std::find_if(terms.begin(), terms.end(), [&](const Expr& term) { return term->op == Op::read && same_element(folded(term->access), before); });
    if (chain == terms.end()) continue;
    terms.erase(chain);
    return scanned(node, terms, each);
  }
  return nullptr;
}

/// A key that changes no other.
llvm::Constant* NestCode::neutral_keys(const ExprNode& node, llvm::Type* type) const {
  const unsigned bits = type->getScalarSizeInBits();
  const bool has_sign = node.type != ElementType::u8;
  switch (node.op) {
    case Op::max:
      return llvm::ConstantInt::get(type, has_sign ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getZero(bits));
    case Op::min:
      return llvm::ConstantInt::get(type, has_sign ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getAllOnes(bits));
    case Op::mul:
      return llvm::ConstantInt::get(type, 1);
    case Op::bit_and:
      return llvm::Constant::getAllOnesValue(type);
    default:
      return llvm::Constant::getNullValue(type);
  }
}

/// What the loop begins with, in all lanes.
void NestCode::begin_scan(const ExprNode& node, Carried& chain) {
  const llvm::IRBuilder<>::InsertPointGuard here(b_);
  b_.SetInsertPoint(chain.entry->getTerminator());
  llvm::Value* first = b_.CreateVectorSplat(lanes_.width, scanned_key(node, chain.last));
  chain.phi = llvm::PHINode::Create(first->getType(), 2, "", chain.header->begin());
  chain.phi->addIncoming(first, chain.entry);
}

llvm::Value* NestCode::scanned(const ExprNode& node, const std::vector<Expr>& terms, Carried& chain) {
  llvm::Value* value = nullptr;
  for (const Expr& term : terms) {
    llvm::Value* next = scanned_key(node, scalar_.splat(expression(term), lanes_.width));
    value = value ? fold_keys(node, value, next) : next;
  }
  begin_scan(node, chain);
  llvm::Value* none = neutral_keys(node, value->getType());
  for (unsigned apart = 1; apart < lanes_.width; apart *= 2) {
    std::vector<int> from;
    for (unsigned lane = 0; lane < lanes_.width; ++lane) from.push_back(static_cast<int>(lane < apart ? lanes_.width + lane : lane - apart));
    value = fold_keys(node, value, b_.CreateShuffleVector(value, none, from));
  }
  llvm::Value* last = b_.CreateShuffleVector(value, std::vector<int>(lanes_.width, static_cast<int>(lanes_.width) - 1));
  llvm::Value* out = fold_keys(node, value, chain.phi);
  chain.last = fold_keys(node, chain.phi, last);
  chain.is_made = true;
  if (!is_float(node.type)) return out;
  llvm::Type* numbers = llvm::FixedVectorType::get(scalar_.register_type(node.type), lanes_.width);
  return b_.CreateBitCast(turned_negatives(out), numbers);
}

}  // namespace polyweft::targets
