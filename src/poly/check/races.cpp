#include "poly/check/races.h"

#include <algorithm>

namespace polyweft::poly::check {
namespace {

class Races {
 public:
  Races(Context& context, const LoopNest& nest, const Statements& statements, const Flow& flow, const std::vector<Use>& uses)
      : context_(context), nest_(nest), statements_(statements), flow_(flow), uses_(uses) {}

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

  /// { a -> b : same iteration outside, a's iteration of the loop before b's, one cell }
  Map meetings(const Use& a, const Use& b, size_t d) const {
    const Statement &s = statements_.all[a.statement], &t = statements_.all[b.statement];
    Map from = restrict_domain(physical_cells(s, nest_, statements_, *a.access), s.domain);
    Map to = restrict_domain(physical_cells(t, nest_, statements_, *b.access), t.domain);
    Map both = compose(std::move(from), reverse(std::move(to)));
    for (int k = 0; k < static_cast<int>(d); ++k) both = Map(isl_map_equate(both.take(), isl_dim_in, k, isl_dim_out, k));
    return Map(isl_map_order_lt(both.take(), isl_dim_in, static_cast<int>(d), isl_dim_out, static_cast<int>(d)));
  }

  void pair_is_free(const Use& a, const Use& b, size_t d, bool concurrent) const {
    Map both = meetings(a, b, d);
    if (is_empty(both)) return;
    if (!concurrent) {
      both = intersect(std::move(both),
                       Map(isl_map_lex_ge_map(inner_time(a.statement, b.statement, d, true).take(), inner_time(a.statement, b.statement, d, false).take())));
      if (is_empty(both)) return;
    }
    auto [x, y] = sample(both);
    const char* how = concurrent ? " at the same time as " : " in lock step with ";
    throw Refuted{"PW0405", flow_.describe(a.statement, x) + (a.writes ? " writes" : " reads") + " a cell of " + nest_.buffers[a.access->id].name + how +
                                flow_.describe(b.statement, y) + (b.writes ? " writes it" : " reads it")};
  }

  /// Time inside one lane: positions and loops after the vector loop. Time entry 2d + 1 belongs to dimension d where no loop of one
  /// iteration stands around; so the entry is found by its variable.
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
};

}  // namespace

void prove_no_races(Context& context, const LoopNest& nest, const Statements& statements, const Flow& flow, const std::vector<Use>& uses) {
  Races(context, nest, statements, flow, uses).prove();
}

}  // namespace polyweft::poly::check
