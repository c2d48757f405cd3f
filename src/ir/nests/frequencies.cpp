#include "ir/nests/frequencies.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "ir/nests/sample_points.h"

namespace polyweft::ir {
namespace {

constexpr int kSamples = 100;

/// Weighted means: a sample stands for all iterations of the loops around that it was drawn from.
struct Share {
  double of = 0, all = 0;
  void add(double value, double weight) { of += weight * value, all += weight; }
  double mean() const { return all > 0 ? of / all : 0; }
};
struct Loops {
  Share entered, trips;
};
struct Tested {
  Share holds;
  const Guard* condition = nullptr;
};

void add_loops(const Affine& e, std::set<VarId>& loops) {
  for (const auto& term : e.terms) term.quasi ? add_loops(term.quasi->e, loops) : void(loops.insert(term.var));
}
void add_loops(const Guard& guard, std::set<VarId>& loops) {
  add_loops(guard.e, loops);
  for (const Guard& part : guard.of) add_loops(part, loops);
}

class Sampler {
 public:
  explicit Sampler(const LoopNest& nest) : nest_(nest), values_(nest.params.size() + nest.loop_names.size(), 0) {
    for (size_t p = 0; p < nest.params.size(); ++p) values_[p] = nest.params[p].value;
  }
  Frequencies all() {
    for (sample_ = 0; sample_ < kSamples; ++sample_) {
      visit(nest_.root, 1);
      for (const Pack& pack : nest_.packs) visit(pack.root, 1);
    }
    Frequencies out;
    for (const auto& [var, loop] : loops_)
      out.loops[var] = {loop.entered.all / kSamples, loop.entered.mean(), std::max(1.0, loop.trips.mean())};
    for (const auto& [condition, tested] : conditions_) out.holds[condition] = once_at_least(tested);
    return out;
  }

 private:
  /// What every sample meets, or none, may be otherwise in one iteration of the loops it depends on: compilers make of
  /// such a condition the end of a loop, which would never come.
  double once_at_least(const Tested& tested) const {
    std::set<VarId> of;
    add_loops(*tested.condition, of);
    double iterations = 1;
    for (VarId loop : of)
      if (const auto found = loops_.find(loop); found != loops_.end())
        iterations *= std::max(1.0, found->second.trips.mean());
    const double once = 1 / (1 + iterations);
    return std::clamp(tested.holds.mean(), once, 1 - once);
  }
  void visit(NodeId id, double weight) {
    if (id != kNoNode) std::visit([&](const auto& node) { on(node, weight); }, nest_.nodes[id]);
  }
  void on(const Seq& seq, double weight) {
    for (NodeId child : seq.children) visit(child, weight);
  }
  void on(const Alloc& alloc, double weight) { visit(alloc.body, weight); }
  void on(const Sync&, double) {}
  void on(const Copy&, double) {}
  void on(const If& node, double weight) {
    visit(holds(&node, node.condition, weight) ? node.then : node.otherwise, weight);
  }
  void on(const Compute& compute, double weight) {
    for (const Expr& e : compute.rhs) look_into(e, weight);
  }
  void on(const Loop& loop, double weight) {
    const int64_t lo = value_of(loop.lo, true, values_), hi = value_of(loop.hi, false, values_);
    Loops& seen = loops_[loop.var];
    seen.entered.add(hi > lo ? 1 : 0, weight);
    if (hi <= lo) return;
    const int64_t trips = (hi - lo + loop.step - 1) / loop.step;
    seen.trips.add(static_cast<double>(trips), weight);
    values_[loop.var] = lo + loop.step * sample_point(sample_, depth_, trips);
    ++depth_;
    visit(loop.body, weight * static_cast<double>(trips));
    --depth_;
  }
  void look_into(const Expr& e, double weight) {
    if (e->op == Op::guarded) return look_into(e->args[holds(e.get(), e->guard, weight) ? 0 : 1], weight);
    for (const Expr& arg : e->args) look_into(arg, weight);
  }
  bool holds(const void* condition, const Guard& guard, double weight) {
    const bool out = evaluate(guard, values_);
    Tested& tested = conditions_[condition];
    tested.condition = &guard;
    tested.holds.add(out ? 1 : 0, weight);
    return out;
  }

  const LoopNest& nest_;
  std::vector<int64_t> values_;
  int sample_ = 0;
  size_t depth_ = 0;
  std::map<VarId, Loops> loops_;
  std::map<const void*, Tested> conditions_;
};

}  // namespace

Frequencies frequencies_of(const LoopNest& nest) {
  return Sampler(nest).all();
}

}  // namespace polyweft::ir
