#include "poly/check/time_order.h"

#include <algorithm>
#include <set>

#include "poly/coalesced.h"

namespace polyweft::poly::checker {
namespace {

void note_quotients(const Affine& e, std::set<std::pair<VarId, int64_t>>& out, bool& is_plain) {
  for (const Term& term : e.terms) {
    if (!term.quasi) continue;
    const Quasi& q = *term.quasi;
    const bool is_digit = q.kind == Quasi::Kind::floor_div && q.e.constant == 0 && q.e.terms.size() == 1 &&
                          !q.e.terms[0].quasi && q.e.terms[0].coeff == 1;
    is_plain &= is_digit;
    if (is_digit) out.insert({q.e.terms[0].var, q.den});
  }
}

bool is_known_by(const Affine& e, size_t dimensions) {
  std::vector<VarId> used;
  collect_variables(e, used);
  return std::all_of(used.begin(), used.end(), [&](VarId v) { return v < dimensions; });
}

}  // namespace

TimeOrder::TimeOrder(Context& context, const LoopNest& nest, const Statements& statements)
    : context_(context), nest_(nest), timed_(statements), original_(statements.all.size()) {
  for (Statement& s : timed_.all) reorder(s);
}

/// A dimension of which the subscripts of a copy have one quotient and what it leaves.
std::optional<TimeOrder::Digits> TimeOrder::digits_of(const Statement& s) const {
  if (!s.copy) return std::nullopt;
  std::set<std::pair<VarId, int64_t>> quotients;
  bool is_plain = true;
  for (const Subscript& sub : s.copy->dst.index) note_quotients(s.over_dims(sub.affine), quotients, is_plain);
  if (!is_plain || quotients.size() != 1) return std::nullopt;
  const auto [dimension, radix] = *quotients.begin();
  const Loop& loop = std::get<Loop>(nest_.nodes[s.loops[dimension]]);
  const bool is_counted = loop.lo.of.size() == 1 && loop.lo.of[0] == Affine::of(0) && loop.hi.of.size() == 1 &&
                          loop.hi.of[0].is_constant() && loop.step == 1 &&
                          s.dims.at(loop.var) == Affine::variable(dimension);
  if (!is_counted) return std::nullopt;
  return Digits{dimension, radix, loop.hi.of[0].constant};
}

void TimeOrder::reorder(Statement& s) {
  std::vector<size_t> order;  // of the dimensions, by time
  for (const Affine& when : s.time)
    for (const Term& term : when.terms)
      if (!term.quasi && when == Affine::variable(term.var)) order.push_back(term.var);
  const auto dimensions = static_cast<size_t>(size(isl_set_dim(s.domain.get(), isl_dim_set)));
  if (s.loops.empty()) {  // nothing to order, or the results
    original_[s.number] = Map(isl_set_identity(s.domain.copy()));
    return;
  }
  if (order.size() != s.loops.size() || order.size() != dimensions) return;
  const auto digits = digits_of(s);
  const bool is_same = std::is_sorted(order.begin(), order.end()) && !digits;
  differs_ |= !is_same;
  std::map<VarId, Affine> moved;
  std::vector<Affine> back(order.size());  // of the statement's dimensions, over the new ones
  std::vector<NodeId> loops;
  std::vector<Guard> within;
  for (const size_t d : order) {
    const auto next = static_cast<VarId>(loops.size());
    back[d] = Affine::variable(next);
    loops.push_back(s.loops[d]);
    if (digits && digits->dimension == d) {
      const Affine low = Affine::variable(next + 1);
      back[d] = digits->radix * back[d] + low;
      loops.back() = kNoNode;
      loops.push_back(kNoNode);
      s.ranges[next] = {0, (digits->extent - 1) / digits->radix};
      s.ranges[next + 1] = {0, digits->radix - 1};
      within.push_back(guard_ge0(low));
      within.push_back(guard_ge0(Affine::of(digits->radix - 1) - low));
    }
    moved[static_cast<VarId>(d)] = back[d];
  }
  for (auto& [var, value] : s.dims) value = substitute(value, moved);
  for (std::vector<Affine>* each : {&s.zero, &s.not_negative})
    for (Affine& e : *each) e = substitute(e, moved);
  std::vector<Affine> time;
  for (const Affine& when : s.time) {
    const Affine now = substitute(when, moved);
    if (now.terms.size() < 2) {
      time.push_back(now);
      continue;
    }
    for (const Term& term : now.terms) {  // r, g
      time.push_back(Affine::variable(term.var));
      if (term.var == now.terms.front().var) time.push_back(Affine::of(0));
    }
  }
  s.time = std::move(time);
  s.loops = std::move(loops);
  // Bounds may ask for outer dimensions only, in this order too.
  for (size_t m = 0; m < s.loops.size(); ++m) {
    if (s.loops[m] == kNoNode) continue;
    const Loop& loop = std::get<Loop>(nest_.nodes[s.loops[m]]);
    for (const Bound* bound : {&loop.lo, &loop.hi})
      for (const Affine& e : bound->of)
        if (!is_known_by(s.over_dims(e), m)) return;
  }
  s.space = named_space(context_, s.tuple(), s.loops.size());
  const Map original = map_of(s.space, back, s.tuple());
  Set domain = domain_of(restrict_range(original, s.domain));
  if (!within.empty()) domain = intersect(std::move(domain), holds(guard_all(std::move(within)), s.space));
  s.domain = std::move(domain);
  original_[s.number] = restrict_domain(original, s.domain);
}

std::optional<FoundWriters> TimeOrder::find(const ReadQuestion& question) {
  if (question.reader >= original_.size()) return std::nullopt;
  const auto& reader = original_[question.reader];
  if (!reader) return std::nullopt;
  for (const auto& [writer, dst] : *question.writes)
    if (!original_[writer]) return std::nullopt;
  const Set when = domain_of(restrict_range(*reader, *question.when));
  const ReadQuestion here{question.reader, question.access, &when, question.writes};
  auto found = find_last_writers(nest_, timed_, here, windows_);
  if (!found) return std::nullopt;
  for (auto& [writer, pairs] : found->writers)
    pairs = compose(compose(reverse(*original_[writer]), std::move(pairs)), *reader);
  found->missing = apply(std::move(found->missing), *reader);
  return found;
}

}  // namespace polyweft::poly::checker
