// Innermost loops in pieces: between two values of the variable at which a condition inside changes, all conditions are decided, and the hot piece has none.
//
//   for i: if i == 0: S[0] = X[0]; if i >= 1: S[i] = S[i - 1] + X[i]     ->     S[0] = X[0]; for i from 1: S[i] = S[i - 1] + X[i]
//
// A piece then is one straight block, which values carried in registers want (nest_carried.cpp).
#include <algorithm>

#include "support/abilities.h"
#include "support/integer_division.h"
#include "targets/common/nest_code.h"
#include "targets/common/nest_walk.h"

namespace polyweft::targets {
namespace {

constexpr size_t kMostCuts = 4;
constexpr size_t kMostStatements = 64;  ///< of one iteration, written out

/// Bounded by a number inside the range as well, which takes the place of another number.
void narrow(Bound& bound, int64_t at) {
  std::erase_if(bound.of, [](const Affine& e) { return e.is_constant(); });
  bound.of.push_back(Affine::of(at));
}

}  // namespace

/// The first values of the variable for which a condition is another one than before.
void NestCode::collect_cuts(const Guard& guard, VarId var, std::set<int64_t>& out) const {
  for (const Guard& part : guard.of) collect_cuts(part, var, out);
  if (guard.kind != Guard::Kind::ge0 && guard.kind != Guard::Kind::eq0) return;
  const Affine e = fold(guard.e);
  const int64_t times = e.coefficient(var);
  const Affine rest = e - Affine::variable(var, times);
  if (times == 0 || !rest.is_constant()) return;
  if (guard.kind == Guard::Kind::eq0) {
    if (rest.constant % times == 0) out.insert({-rest.constant / times, -rest.constant / times + 1});
  } else {
    out.insert(times > 0 ? ceil_quotient(-rest.constant, times) : floor_quotient(rest.constant, -times) + 1);
  }
}

void NestCode::collect_cuts(const Expr& e, VarId var, std::set<int64_t>& out) const {
  if (e->op == Op::guarded) collect_cuts(e->guard, var, out);
  for (const Expr& arg : e->args) collect_cuts(arg, var, out);
}

/// Of an iteration's statements, unrolled loops written out. Counts them; false where something else is in there or they are too many.
bool NestCode::collect_cuts(NodeId id, VarId var, std::set<int64_t>& out, size_t& statements) {
  if (id == kNoNode) return true;
  const Node& node = nest_.nodes[id];
  if (const auto* seq = std::get_if<Seq>(&node))
    return std::all_of(seq->children.begin(), seq->children.end(), [&](NodeId child) { return collect_cuts(child, var, out, statements); });
  if (const auto* choice = std::get_if<If>(&node)) {
    collect_cuts(choice->condition, var, out);
    return collect_cuts(choice->then, var, out, statements) && collect_cuts(choice->otherwise, var, out, statements);
  }
  if (const auto* loop = std::get_if<Loop>(&node)) {
    const auto trips = loop->mark.kind == MarkKind::unroll ? constant_trips(*loop, fold(loop->lo.of[0])) : std::nullopt;
    if (!trips || *trips > static_cast<int64_t>(kMostStatements)) return false;
    const Affine lo = fold(loop->lo.of[0]);
    bool all = true;
    for (int64_t n = 0; n < *trips && all; n += loop->step) {
      substitution_[loop->var] = lo + Affine::of(n);
      all = collect_cuts(loop->body, var, out, statements);
    }
    substitution_.erase(loop->var);
    return all;
  }
  const auto* compute = std::get_if<Compute>(&node);
  if (!compute || ++statements > kMostStatements) return false;
  for (const Expr& rhs : compute->rhs) collect_cuts(rhs, var, out);
  return true;
}

/// In order, no condition in any but such as others' variables decide; the loop alone where it needs no cut.
std::vector<Loop> NestCode::pieces_of(const Loop& loop) {
  if (!is_on("code.pieces") || nest_.symbolic || loop.step != 1 || lanes_.width > 1 || loop.mark.kind != MarkKind::serial) return {loop};
  const VarFacts facts = loop_facts(loop);
  std::set<int64_t> cuts;
  size_t statements = 0;
  if (!collect_cuts(loop.body, loop.var, cuts, statements)) return {loop};
  std::erase_if(cuts, [&](int64_t at) { return at <= facts.lo || at > facts.hi; });
  if (cuts.size() > kMostCuts) return {loop};
  std::vector<Loop> out = {loop};
  for (const int64_t at : cuts) {
    Loop later = out.back();
    narrow(out.back().hi, at);
    narrow(later.lo, at);
    out.push_back(std::move(later));
  }
  return out;
}

void NestCode::plain_loop(const Loop& loop) {
  if (!is_on("code.scans") || !scan_loop(loop)) serial_loop(loop);
}

void NestCode::in_pieces(const Loop& loop) {
  const std::vector<Loop> pieces = pieces_of(loop);
  if (pieces.size() == 1) return plain_loop(loop);
  for (const Loop& piece : pieces) {
    const auto trips = constant_length(piece);
    if (trips && *trips <= 0) continue;
    if (trips != 1) {
      plain_loop(piece);
      continue;
    }
    substitution_[loop.var] = fold(piece.lo.of[0]);
    emit(loop.body);
    substitution_.erase(loop.var);
  }
}

}  // namespace polyweft::targets
