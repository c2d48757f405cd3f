#include "poly/check/races.h"

#include <algorithm>
#include <tuple>

#include "ir/nests/axes.h"
#include "poly/check/views.h"

namespace polyweft::poly::checker {
namespace {

class Races {
 public:
  Races(Context& context, const LoopNest& nest, const Statements& statements, const Flow& flow,
        const std::vector<Use>& uses, const std::vector<Set>& when)
      : context_(context), nest_(nest), statements_(statements), flow_(flow), uses_(uses), when_(when) {}

  void prove() const {
    for (NodeId id = 0; id < nest_.nodes.size(); ++id) {
      const Loop* loop = std::get_if<Loop>(&nest_.nodes[id]);
      if (!loop) continue;
      bool concurrent = loop->mark.kind == MarkKind::parallel || loop->mark.kind == MarkKind::axis;
      if (concurrent || loop->mark.kind == MarkKind::vector) loop_is_free(id, concurrent);
    }
  }

 private:
  /// Dimension of the loop in the statement; nothing where the statement is not inside.
  std::optional<size_t> dimension_of(NodeId loop, size_t statement) const {
    const auto& loops = statements_.all[statement].loops;
    auto at = std::find(loops.begin(), loops.end(), loop);
    if (at == loops.end()) return std::nullopt;
    return static_cast<size_t>(at - loops.begin());
  }

  void loop_is_free(NodeId loop, bool concurrent) const {
    for (const Use& a : uses_) {
      auto d = dimension_of(loop, a.statement);
      if (!d || statements_.prefix[a.access->id] > *d) continue;
      for (const Use& b : uses_) {
        if (b.access->id != a.access->id || !(a.writes || b.writes) || !dimension_of(loop, b.statement)) continue;
        pair_is_free(a, b, *d, concurrent);
      }
    }
  }

  /// Some coordinate of the cells moves with the loop alone, alike in both: other iterations have other cells. Most
  /// pairs are so, and need no isl.
  bool has_own_cells(const Use& a, const Use& b, size_t d) const {
    const auto x = view_of(nest_, statements_, a.statement, *a.access),
               y = view_of(nest_, statements_, b.statement, *b.access);
    if (!x || !y) return false;
    const auto lane = static_cast<VarId>(d), far = static_cast<VarId>(std::max(x->dimensions(), y->dimensions()));
    std::map<VarId, Affine> other;  // what is outside the loop is the same
    for (VarId v = lane; v < far; ++v) other[v] = Affine::variable(far + v);
    const size_t prefix = statements_.prefix[a.access->id];
    for (size_t k = prefix; k < std::min(x->cell.size(), y->cell.size()); ++k) {
      const Affine apart = x->cell[k] - substitute(y->cell[k], other);
      if (!apart.is_linear() || apart.constant != 0 || apart.terms.size() != 2) continue;
      const int64_t stride = apart.coefficient(lane);
      if (stride == 0 || apart.coefficient(far + lane) != -stride) continue;
      int64_t window = INT64_MAX;
      for (const Fold& fold : nest_.buffers[a.access->id].folds)
        if (prefix + fold.dim == k) window = fold.window;
      const int64_t reach =
          std::max(x->box[d].greatest, y->box[d].greatest) - std::min(x->box[d].least, y->box[d].least);
      int64_t farthest = 0;
      if (!__builtin_mul_overflow(std::abs(stride), reach, &farthest) && farthest < window) return true;
    }
    return false;
  }

  /// { a -> b : same iteration outside, a's iteration of the loop before b's, one cell }
  Map meetings(const Use& a, const Use& b, size_t d, bool is_thread) const {
    const Statement &s = statements_.all[a.statement], &t = statements_.all[b.statement];
    Map from = restrict_domain(physical_cells(s, nest_, statements_, *a.access), s.domain);
    Map to = restrict_domain(physical_cells(t, nest_, statements_, *b.access), t.domain);
    Map both = compose(std::move(from), reverse(std::move(to)));
    // Most of what meets does so in other turns: what a barrier parts goes first, since it says little, and much of it
    // equalities.
    if (is_thread) both = intersect(std::move(both), near(s, t, d));
    for (int k = 0; k < static_cast<int>(d); ++k)
      both = Map(isl_map_equate(both.take(), isl_dim_in, k, isl_dim_out, k));
    return Map(isl_map_order_lt(both.take(), isl_dim_in, static_cast<int>(d), isl_dim_out, static_cast<int>(d)));
  }

  /// Where both reach their accesses.
  Map reached(const Use& a, const Use& b, Map pairs) const {
    const size_t first = static_cast<size_t>(&a - uses_.data()), second = static_cast<size_t>(&b - uses_.data());
    return Map(isl_map_intersect_range(restrict_domain(std::move(pairs), when_[first]).take(), when_[second].copy()));
  }

  static Map timed(const Statement& s, size_t length) {
    std::vector<Affine> time = s.time;
    time.resize(length, Affine::of(0));
    return map_of(s.space, time, "T");
  }
  /// { a -> b : a before b }, where one of them is a barrier, whose place in the text is the last entry of its time.
  /// Every pair of statements asks for it.
  const Map& earlier(const Statement& s, const Statement& t, size_t length) const {
    std::optional<Map>& known = earlier_[{&s, &t}];
    if (known) return *known;
    Map order(isl_map_lex_lt_map(timed(s, length).take(), timed(t, length).take()));
    order = Map(isl_map_intersect_range(restrict_domain(std::move(order), s.domain).take(), t.domain.copy()));
    known = Map(isl_map_coalesce(order.take()));
    return *known;
  }

  /// { a -> b : a barrier comes after one and before the other }. Two that meet agree in all loops around the threads,
  /// and time counts these first, so it is a barrier of their own block.
  Map apart(const Statement& s, const Statement& t) const {
    Map out(isl_map_empty(isl_space_map_from_domain_and_range(s.space.copy(), t.space.copy())));
    const auto between = [&](const Statement& first, const Statement& barrier, const Statement& second) {
      const size_t length = barrier.time.size();
      const Map &before = earlier(first, barrier, length), &after = earlier(barrier, second, length);
      return is_empty(before) || is_empty(after) ? std::nullopt : std::optional(compose(before, after));
    };
    for (const Statement& barrier : statements_.barriers) {
      if (auto pairs = between(s, barrier, t)) out = unite(std::move(out), std::move(*pairs));
      if (auto pairs = between(t, barrier, s)) out = unite(std::move(out), reverse(std::move(*pairs)));
    }
    return out;
  }

  /// Pairs in one iteration of the loops outside that no barrier parts.
  const Map& near(const Statement& s, const Statement& t, size_t d) const {
    std::optional<Map>& known = near_[{s.number, t.number, d}];
    if (known) return *known;
    Map all(isl_map_universe(isl_space_map_from_domain_and_range(s.space.copy(), t.space.copy())));
    all = Map(isl_map_intersect_range(restrict_domain(std::move(all), s.domain).take(), t.domain.copy()));
    for (int k = 0; k < static_cast<int>(d); ++k) all = Map(isl_map_equate(all.take(), isl_dim_in, k, isl_dim_out, k));
    known = Map(isl_map_coalesce(isl_map_subtract(all.take(), apart(s, t).take())));
    return *known;
  }

  void pair_is_free(const Use& a, const Use& b, size_t d, bool concurrent) const {
    if (has_own_cells(a, b, d)) return;
    const bool is_thread = ir::is_thread_axis(std::get<Loop>(nest_.nodes[statements_.all[a.statement].loops[d]])) &&
                           !statements_.barriers.empty();
    Map both = meetings(a, b, d, is_thread);
    if (is_empty(both)) return;
    both = reached(a, b, std::move(both));
    if (is_empty(both)) return;
    if (!concurrent) {
      // All lanes of a statement have read before the first one writes.
      const bool may_meet = !a.writes && b.writes;
      Map before = inner_time(a.statement, b.statement, d, true),
          after = inner_time(a.statement, b.statement, d, false);
      both = intersect(std::move(both), Map(may_meet ? isl_map_lex_gt_map(before.take(), after.take())
                                                     : isl_map_lex_ge_map(before.take(), after.take())));
      if (is_empty(both)) return;
    }
    auto [x, y] = sample(both);
    const char* how = concurrent ? " at the same time as " : " in lock step with ";
    throw Refuted{"PW0405", flow_.describe(a.statement, x) + (a.writes ? " writes" : " reads") + " a cell of " +
                                nest_.buffers[a.access->id].name + how + flow_.describe(b.statement, y) +
                                (b.writes ? " writes it" : " reads it")};
  }

  /// Time inside one lane: positions and loops after the vector loop. Time entry 2d + 1 belongs to dimension d where no
  /// loop of one iteration stands around; so the entry is found by its variable.
  Map inner_time(size_t first, size_t second, size_t d, bool of_first) const {
    const Statement &s = statements_.all[first], &t = statements_.all[second];
    auto after = [&](const Statement& x) {
      Affine lane = Affine::variable(static_cast<VarId>(d));
      size_t at = static_cast<size_t>(std::find(x.time.begin(), x.time.end(), lane) - x.time.begin());
      return std::vector<Affine>(x.time.begin() + static_cast<std::ptrdiff_t>(at) + 1, x.time.end());
    };
    std::vector<Affine> mine = after(of_first ? s : t);
    mine.resize(std::max(after(s).size(), after(t).size()), Affine::of(0));
    return map_of((of_first ? s : t).space, mine, "L");
  }

  Context& context_;
  const LoopNest& nest_;
  const Statements& statements_;
  const Flow& flow_;
  const std::vector<Use>& uses_;
  const std::vector<Set>& when_;
  mutable std::map<std::tuple<size_t, size_t, size_t>, std::optional<Map>> near_ = {};
  mutable std::map<std::pair<const Statement*, const Statement*>, std::optional<Map>> earlier_ = {};
};

}  // namespace

void prove_no_races(Context& context, const LoopNest& nest, const Statements& statements, const Flow& flow,
                    const std::vector<Use>& uses, const std::vector<Set>& when) {
  Races(context, nest, statements, flow, uses, when).prove();
}

}  // namespace polyweft::poly::checker
