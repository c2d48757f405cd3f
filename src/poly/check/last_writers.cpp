#include "poly/check/last_writers.h"

#include <algorithm>

#include "poly/check/views.h"
#include "poly/coalesced.h"
#include "support/integer_division.h"

namespace polyweft::poly::checker {
namespace {
constexpr size_t kMostBounds = 4;

enum class LastWriter { equal, previous, last, solved };
struct Guess {
  std::vector<Affine> at;  ///< of the writer's dimensions, over the reader's
  std::vector<LastWriter> how;
  std::vector<Affine> zero = {};  ///< readers for which one of these is not 0 read another cell
  bool is_linear() const {
    return std::all_of(at.begin(), at.end(), [](const Affine& e) { return e.is_linear(); });
  }
};

/// Solves cell(w) = wanted(r) for w, one coordinate after the other.
class Solver {
 public:
  Solver(const LoopNest& nest, const View& writer, const View& reader, Class c, size_t bound)
      : nest_(nest),
        w_(writer),
        r_(reader),
        class_(c),
        bound_(bound),
        at_(writer.dimensions()),
        how_(writer.dimensions(), LastWriter::solved) {}

  std::optional<Guess> solve() {
    for (size_t m = 0; m < class_.equal; ++m) fix(m, Affine::variable(static_cast<VarId>(m)), LastWriter::equal);
    for (const auto& [m, value] : w_.single_values())
      if (m >= class_.equal) fix(m, value, LastWriter::solved);
    for (bool progress = true; progress;) {
      progress = false;
      for (size_t x = 0; x < w_.cell.size(); ++x)
        for (const Affine& theirs : w_.forms[x])
          for (const Affine& own : r_.forms[x]) progress |= coordinate(theirs, own);
    }
    if (class_.is_carried && !at_[class_.equal])
      fix(class_.equal, Affine::variable(static_cast<VarId>(class_.equal)) - Affine::of(1), LastWriter::previous);
    Guess out;
    for (size_t m = 0; m < at_.size(); ++m) {
      if (!at_[m] && !last_iteration(m)) return std::nullopt;
      out.at.push_back(*at_[m]);
    }
    out.how = how_;
    if (!compare(out)) return std::nullopt;
    return out;
  }

 private:
  void fix(size_t m, Affine value, LastWriter how) {
    at_[m] = std::move(value);
    how_[m] = how;
  }

  /// True where some dimension became known.
  bool coordinate(const Affine& theirs, const Affine& own) {
    std::vector<std::pair<int64_t, size_t>> open;  // coefficient, dimension
    Affine rest = own - Affine::of(theirs.constant);
    for (const Term& t : theirs.terms) {
      if (t.quasi) return false;
      if (at_[t.var])
        rest = rest - t.coeff * *at_[t.var];
      else
        open.push_back({t.coeff, t.var});
    }
    if (open.empty()) return false;
    if (open.size() == 1) {  // where it does not divide, cells differ: `compare` sees it
      const int64_t coefficient = open[0].first;
      fix(open[0].second, quotient(coefficient < 0 ? Affine::of(0) - rest : rest, std::abs(coefficient)),
          LastWriter::solved);
      return true;
    }
    return by_terms(open, rest) || by_digits(open, rest);
  }

  /// Each open dimension has its coefficient in the wanted subscript.
  bool by_terms(const std::vector<std::pair<int64_t, size_t>>& open, const Affine& rest) {
    std::vector<Term> left = rest.terms;
    std::vector<VarId> matched;
    for (auto [coefficient, m] : open) {
      auto same = std::find_if(left.begin(), left.end(),
                               [&, c = coefficient](const Term& t) { return !t.quasi && t.coeff == c; });
      if (same == left.end()) return false;
      matched.push_back(same->var);
      left.erase(same);
    }
    if (!left.empty() || rest.constant != 0) return false;
    for (size_t k = 0; k < open.size(); ++k) fix(open[k].second, Affine::variable(matched[k]), LastWriter::solved);
    return true;
  }

  /// floor(e / by) for readers: without the division where what by does not divide lies inside one multiple.
  Affine quotient(const Affine& e, int64_t by) const {
    Affine whole = Affine::of(0), rest = Affine::of(e.constant);
    for (const Term& t : e.terms) {
      if (t.coeff % by == 0)
        whole = whole + Affine{{{t.var, t.coeff / by, t.quasi}}, 0};
      else
        rest = rest + Affine{{t}, 0};
    }
    const Bounds range = bounds_of(rest, r_.box);
    const bool is_inside = range && floor_quotient(range->least, by) == floor_quotient(range->greatest, by);
    return is_inside ? whole + Affine::of(floor_quotient(range->least, by)) : floor_div(e, by);
  }

  /// Digits of a mixed radix, the greatest coefficient first.
  bool by_digits(std::vector<std::pair<int64_t, size_t>> open, Affine rest) {
    std::sort(open.rbegin(), open.rend());
    if (open.back().first != 1) return false;
    for (auto [coefficient, m] : open) rest = rest - Affine::of(coefficient * w_.box[m].least);
    for (auto [coefficient, m] : open) {
      Affine digit = quotient(rest, coefficient);
      rest = rest - coefficient * digit;
      fix(m, digit + Affine::of(w_.box[m].least), LastWriter::solved);
    }
    return true;
  }

  bool last_iteration(size_t m) {
    if (m >= w_.s->loops.size() || w_.s->loops[m] == kNoNode) return false;
    const Loop& loop = std::get<Loop>(nest_.nodes[w_.s->loops[m]]);
    const Affine& hi = loop.hi.of[std::min(bound_, loop.hi.of.size() - 1)];
    auto dimension = static_cast<VarId>(m);
    const Affine& var = w_.s->dims.at(loop.var);
    int64_t step = var.coefficient(dimension);
    Affine start = var - step * Affine::variable(dimension);
    if (step <= 0 || bends_beyond(start, dimension)) return false;
    std::map<VarId, Affine> known;
    for (size_t k = 0; k < m; ++k) known[static_cast<VarId>(k)] = *at_[k];
    fix(m, floor_div(substitute(w_.s->over_dims(hi) - start - Affine::of(1), known), step), LastWriter::last);
    return true;
  }

  /// Where the cells are equal: everywhere, for some readers (one tap of a window is the newest row), or nowhere.
  bool compare(Guess& guess) const {
    std::map<VarId, Affine> at;
    for (size_t m = 0; m < guess.at.size(); ++m) at[static_cast<VarId>(m)] = guess.at[m];
    for (size_t x = 0; x < w_.cell.size(); ++x) {
      std::optional<Affine> apart;  // the least is said by the forms that agree best
      for (const Affine& theirs : w_.forms[x])
        for (const Affine& own : r_.forms[x]) {
          Affine by_these = substitute(theirs, at) - own;
          if (by_these.is_constant() && by_these.constant != 0) return false;
          if (!apart || by_these.is_constant()) apart = std::move(by_these);
        }
      if (!apart->is_constant()) guess.zero.push_back(*std::move(apart));
    }
    return true;
  }

  const LoopNest& nest_;
  const View &w_, &r_;
  Class class_;
  size_t bound_;  ///< of several upper bounds, which is taken for the least
  std::vector<std::optional<Affine>> at_;
  std::vector<LastWriter> how_;
};

class Search {
 public:
  Search(const LoopNest& nest, const Statements& statements, const ReadQuestion& question, WindowFacts& facts)
      : nest_(nest), statements_(statements), question_(question), facts_(facts), rest_(*question.when) {}

  std::optional<FoundWriters> run() {
    if (!look() || !keeps_cells_apart()) return std::nullopt;
    for (size_t depth = reader_.dimensions() + 1; depth-- > 0;) {
      if (is_empty(rest_)) break;
      if (!settle({depth, false})) return std::nullopt;
      if (depth > 0 && !settle({depth - 1, true})) return std::nullopt;
    }
    if (!folds_.empty() && !is_empty(rest_)) return std::nullopt;  // never written, or another element's cell
    return FoundWriters{std::move(found_), std::move(rest_), false};
  }

 private:
  // --- what is asked ---
  bool look() {
    for (const Fold& fold : nest_.buffers[question_.access->id].folds)
      if (nest_.buffers[question_.access->id].extents[fold.dim] > fold.window) folds_.push_back(fold);
    auto reader = view_of(nest_, statements_, question_.reader, *question_.access);
    if (!reader) return false;
    reader_ = *std::move(reader);
    for (const auto& [number, dst] : *question_.writes) {
      auto writer = view_of(nest_, statements_, number, *dst);
      if (!writer || (!writers_.empty() && writers_.back().s->number == number)) return false;
      auto parting = part(*writer->s, *reader_.s);
      if (!parting) return false;
      writer->parting = *parting;
      writers_.push_back(*std::move(writer));
    }
    return true;
  }

  // --- folded dimensions ---
  /// Nobody overwrites what the reader finds: let w write the cell of coordinate e, r read it, and w' lie between them
  /// and write coordinate j, e + k * window for some k other than 0. If of two events the first is nowhere `window` or
  /// more above the second, for events w', r then j - e < window, and for w, w' then e - j < window; so there is no
  /// such w', and the coordinates may be looked at as if nothing were folded.
  bool keeps_cells_apart() {
    for (const Fold& fold : folds_) {
      const size_t x = statements_.prefix[question_.access->id] + fold.dim;
      auto [known, is_new] = facts_.try_emplace({question_.access->id, x});
      if (is_new) known->second = writers_stay_below(x, fold.window);
      if (!known->second) return false;
      for (const View& w : writers_)
        if (!stays_below(w, reader_, x, fold.window)) return false;
    }
    return true;
  }

  bool writers_stay_below(size_t x, int64_t window) const {
    for (const View& w : writers_)
      for (const View& other : writers_)
        if (!stays_below(w, other, x, window)) return false;
    return true;
  }

  /// Where a comes before b, in one lifetime of the buffer: a's coordinate is less than b's plus the window.
  bool stays_below(const View& a, const View& b, size_t x, int64_t window) const {
    const auto parting = part(*a.s, *b.s);
    if (!parting) return false;
    const std::vector<NodeId>& around = statements_.around[question_.access->id];
    for (size_t level = 0; level < parting->shared; ++level)
      if (std::count(around.begin(), around.end(), a.s->loops[level]) == 0 && !is_below(a, b, x, window, level, true))
        return false;
    return parting->is_same || !parting->first_is_before || is_below(a, b, x, window, parting->shared, false);
  }

  /// In the same iteration of the outer `equal` loops; carried: a in an earlier one of the next.
  bool is_below(const View& a, const View& b, size_t x, int64_t window, size_t equal, bool is_carried) const {
    return is_below_in_boxes(a, b, x, window, {equal, is_carried}) ||
           is_below_on_domains(a, b, x, window, equal, is_carried);
  }

  /// isl: domains know what boxes do not, such as a tile that only meets the diagonal.
  bool is_below_on_domains(const View& a, const View& b, size_t x, int64_t window, size_t equal,
                           bool is_carried) const {
    const std::map<VarId, Affine> shifted = dimensions_after(a, b);
    std::vector<Guard> more{guard_ge0(a.cell[x] - substitute(b.cell[x], shifted) - Affine::of(window))};
    add_class(more, shifted, {equal, is_carried});
    const Space flat(isl_space_wrap(isl_space_map_from_domain_and_range(a.s->space.copy(), b.s->space.copy())));
    const Map pairs(isl_set_unwrap(holds(guard_all(std::move(more)), flat).take()));
    return is_empty(restrict_range(restrict_domain(pairs, a.s->domain), b.s->domain));
  }

  /// Plain arithmetic, which settles most.
  static bool is_below_in_boxes(const View& a, const View& b, size_t x, int64_t window, Class c) {
    const Differences apart(a, b, c);
    if (apart.is_never()) return true;
    const Bounds above = apart.of(x);
    return above && above->greatest < window;
  }

  static bool belongs(const View& w, Class c) {
    if (c.is_carried) return w.parting.shared > c.equal;
    return w.parting.shared == c.equal && w.parting.first_is_before && !w.parting.is_same;
  }

  // --- one class ---
  struct Hit {
    const View* writer;
    Guess guess;
    Set readers;
    std::optional<Map> pairs = {};  ///< { writer -> reader } as isl found it, instead of the guess
  };

  bool settle(Class c) {
    std::vector<Hit> hits;
    for (const View& w : writers_) {
      if (!belongs(w, c) || never_meets(w, c)) continue;
      if (!ask(w, c, hits)) return false;
    }
    std::sort(hits.begin(), hits.end(),
              [](const Hit& a, const Hit& b) { return a.writer->s->number > b.writer->s->number; });
    for (size_t a = 0; a < hits.size(); ++a)
      for (size_t b = a + 1; b < hits.size(); ++b)
        if (!in_order(hits[b], hits[a], c) && !keep_later(hits[b], hits[a])) return false;

    if (are_apart(hits)) {
      take_each(hits);
      return true;
    }
    for (Hit& hit : hits) {
      Set readers = intersect(std::move(hit.readers), rest_);
      if (is_empty(readers)) continue;
      rest_ = coalesced(subtract(std::move(rest_), readers));
      found(hit, readers);
    }
    return true;
  }

  static bool are_apart(const std::vector<Hit>& hits) {
    for (size_t a = 0; a < hits.size(); ++a)
      for (size_t b = a + 1; b < hits.size(); ++b)
        if (!is_empty(intersect(hits[a].readers, hits[b].readers))) return false;
    return true;
  }

  /// Readers that no two hits share may be taken in any order, and lie in what is left. In that of the text what is
  /// left after a branch of an If is what comes to the other one, and stays in few pieces; and nothing is left where
  /// all of it is among the last hit's.
  void take_each(std::vector<Hit>& hits) {
    for (size_t k = hits.size(); k-- > 0;) {
      const Set& readers = hits[k].readers;
      if (is_empty(readers)) continue;  // `keep_later` has left none
      const bool is_all = k == 0 && is_subset(rest_, readers);
      rest_ = is_all ? Set(isl_set_empty(reader_.s->space.copy())) : coalesced(subtract(std::move(rest_), readers));
      found(hits[k], readers);
    }
  }

  /// False: not settled. Else hits may have been added. Of several upper bounds of a loop each in turn is taken for the
  /// least.
  bool ask(const View& w, Class c, std::vector<Hit>& hits) {
    Set left = rest_;
    for (size_t bound = 0; bound < most_bounds(w); ++bound) {
      auto guess = Solver(nest_, w, reader_, c, bound).solve();
      if (!guess || !is_last(w, *guess, c)) break;
      auto readers = instances(w, *guess);
      if (!readers) break;
      Set here = intersect(*std::move(readers), left);
      for (const Affine& e : guess->zero) here = intersect(std::move(here), holds(guard_eq0(e), reader_.s->space));
      if (c.is_carried) {
        Affine distance = Affine::variable(static_cast<VarId>(c.equal)) - guess->at[c.equal] - Affine::of(1);
        if (!distance.is_constant() || distance.constant < 0)
          here = intersect(std::move(here), holds(guard_ge0(distance), reader_.s->space));
      }
      bool is_only = std::find(guess->how.begin(), guess->how.end(), LastWriter::last) == guess->how.end();
      left = subtract(std::move(left), here);
      if (!is_empty(here)) hits.push_back({&w, *std::move(guess), std::move(here)});
      if (is_empty(left)) return true;
      if (is_only) break;
    }

    left = coalesced(std::move(left));
    Map sources = sources_of(w, c, left);
    if (is_empty(sources)) return true;

    Map last(isl_map_lexmax(reverse(std::move(sources)).take()));
    Set readers = domain_of(last);
    hits.push_back({&w, {}, std::move(readers), reverse(std::move(last))});
    return true;
  }

  size_t most_bounds(const View& w) const {
    size_t most = 1;
    for (NodeId loop : w.s->loops)
      if (loop != kNoNode) most = std::max(most, std::get<Loop>(nest_.nodes[loop]).hi.of.size());
    return std::min(most, kMostBounds);
  }

  /// Readers r for which g(r) is an instance of the writer.
  std::optional<Set> instances(const View& w, const Guess& guess) const {
    isl_space* both = isl_space_map_from_domain_and_range(reader_.s->space.copy(), w.s->space.copy());
    Handle<isl_multi_aff> g(isl_multi_aff_zero(both));
    for (size_t m = 0; m < guess.at.size(); ++m) {
      auto value = single_value_of(guess.at[m], reader_.s->space);
      if (!value) return std::nullopt;
      g = Handle<isl_multi_aff>(isl_multi_aff_set_aff(g.take(), static_cast<int>(m), value->take()));
    }
    return Set(isl_set_preimage_multi_aff(w.s->domain.copy(), g.take()));
  }

  /// Where both have a source, b's is the later one: in the same iteration of the loops around the place where they
  /// part, or in a later one.
  bool in_order(const Hit& a, const Hit& b, Class c) const {
    auto parting = part(*a.writer->s, *b.writer->s);
    bool is_before = parting && parting->first_is_before && !a.pairs && !b.pairs;
    Box box = reader_.box;
    if (c.is_carried) box[c.equal].least = std::max(box[c.equal].least, a.writer->box[c.equal].least + 1);
    for (size_t m = 0; is_before && m < parting->shared; ++m) {
      const Bounds later = bounds_of(b.guess.at[m] - a.guess.at[m], box);
      is_before = later && later->least >= 0;
      if (is_before && later->least > 0) break;
    }
    return is_before || is_empty(intersect(a.readers, b.readers));
  }

  /// Of readers that have a source in both, each stays with the later one only. False where the text does not tell
  /// their times.
  bool keep_later(Hit& a, Hit& b) const {
    const auto parting = part(*a.writer->s, *b.writer->s);
    if (!parting || parting->is_same) return false;
    const Set both = intersect(a.readers, b.readers);
    Map open(isl_map_flat_range_product(reverse(pairs_of(a, both)).take(), reverse(pairs_of(b, both)).take()));
    Set a_is_later = subtract(both, both), b_is_later = a_is_later;
    const int first_of_b = static_cast<int>(a.writer->dimensions());
    for (int level = 0; level < static_cast<int>(parting->shared); ++level) {
      const auto ordered = [&](isl_map* m, int less, int greater) {
        return domain_of(Map(isl_map_order_lt(m, isl_dim_out, less, isl_dim_out, greater)));
      };
      b_is_later = unite(std::move(b_is_later), ordered(open.copy(), level, first_of_b + level));
      a_is_later = unite(std::move(a_is_later), ordered(open.copy(), first_of_b + level, level));
      open = Map(isl_map_equate(open.take(), isl_dim_out, level, isl_dim_out, first_of_b + level));
    }
    Set& last = parting->first_is_before ? b_is_later : a_is_later;
    last = unite(std::move(last), domain_of(std::move(open)));
    a.readers = subtract(std::move(a.readers), std::move(b_is_later));
    b.readers = subtract(std::move(b.readers), std::move(a_is_later));
    return true;
  }

  /// Intervals alone: some coordinate is never equal for an instance of the class.
  bool never_meets(const View& w, Class c) const {
    const Differences apart(w, reader_, c);
    if (apart.is_never()) return true;
    for (size_t x = 0; x < w.cell.size(); ++x)
      if (const Bounds range = apart.of(x); range && !range->has_zero()) return true;
    return false;
  }

  /// No instance of the class after g(r) writes the cell; and where a dimension is `solved`, no other value of it does.
  bool is_last(const View& w, const Guess& guess, Class c) const {
    for (size_t m = c.equal; m < w.dimensions(); ++m)
      if (guess.how[m] == LastWriter::solved && !moves_away(w, m)) return false;
    return true;
  }

  bool moves_away(const View& w, size_t m) const {
    const int64_t range = w.box[m].greatest - w.box[m].least;
    if (range == 0) return true;
    const auto moves = [&](const Affine& e) {
      if (bends_beyond(e, static_cast<VarId>(m))) return false;
      if (e.coefficient(static_cast<VarId>(m)) == 0) return false;
      Affine moved = Affine::variable(0, e.coefficient(static_cast<VarId>(m)));
      Box by{Interval{1, range}};
      for (size_t inner = m + 1; inner < w.dimensions(); ++inner) {
        if (e.coefficient(static_cast<VarId>(inner)) == 0) continue;
        const int64_t free = w.box[inner].greatest - w.box[inner].least;
        moved = moved + Affine::variable(static_cast<VarId>(by.size()), e.coefficient(static_cast<VarId>(inner)));
        by.push_back({-free, free});
      }
      const std::vector<Affine> parts = digits(moved, by);
      return std::any_of(parts.begin(), parts.end(), [&](const Affine& part) {
        const Bounds values = bounds_of(part, by);
        return values && !values->has_zero();
      });
    };
    return std::any_of(w.forms.begin(), w.forms.end(),
                       [&](const auto& forms) { return std::any_of(forms.begin(), forms.end(), moves); });
  }

  // --- relations ---
  /// { w -> r : one cell, w in the class } with what else `more` says over [w.., r..].
  Map meetings(const View& w, std::vector<Guard> more) const {
    Space pairs(isl_space_map_from_domain_and_range(w.s->space.copy(), reader_.s->space.copy()));
    Space flat(isl_space_wrap(pairs.copy()));
    std::map<VarId, Affine> shifted = dimensions_after(w, reader_);
    const Box box = box_of_pair(w, reader_);
    for (size_t x = 0; x < w.cell.size(); ++x)
      for (Affine& digit : digits(w.cell[x] - substitute(reader_.cell[x], shifted), box))
        more.push_back(guard_eq0(std::move(digit)));
    return Map(isl_set_unwrap(holds(guard_all(std::move(more)), flat).take()));
  }

  /// That the pair belongs to the class, over the dimensions of both.
  static void add_class(std::vector<Guard>& more, const std::map<VarId, Affine>& shifted, Class c) {
    for (size_t m = 0; m < c.equal; ++m)
      more.push_back(guard_eq0(Affine::variable(static_cast<VarId>(m)) - shifted.at(static_cast<VarId>(m))));
    const auto level = static_cast<VarId>(c.equal);
    if (c.is_carried) more.push_back(guard_ge0(shifted.at(level) - Affine::variable(level) - Affine::of(1)));
  }

  /// { w -> r : one cell, w in the class } of these readers.
  Map sources_of(const View& w, Class c, const Set& readers) const {
    std::vector<Guard> more;
    add_class(more, dimensions_after(w, reader_), c);
    return restrict_range(restrict_domain(meetings(w, std::move(more)), w.s->domain), readers);
  }

  /// { writer -> reader } of these readers.
  Map pairs_of(const Hit& hit, const Set& readers) const {
    if (hit.pairs) return restrict_range(*hit.pairs, readers);
    return restrict_range(hit.guess.is_linear()
                              ? reverse(map_of(reader_.s->space, hit.guess.at, hit.writer->s->tuple()))
                              : solved_pairs(hit),
                          readers);
  }

  void found(const Hit& hit, const Set& readers) {
    Map pairs = pairs_of(hit, readers);
    auto known = found_.find(hit.writer->s->number);
    if (known == found_.end())
      found_.emplace(hit.writer->s->number, std::move(pairs));
    else
      known->second = unite(known->second, std::move(pairs));
  }

  /// Without the divisions that the digits need: the subscripts are equal and the other loops stand where they were
  /// guessed.
  Map solved_pairs(const Hit& hit) const {
    const View& w = *hit.writer;
    std::vector<Guard> more;
    std::map<VarId, Affine> shifted = dimensions_after(w, reader_);
    for (size_t m = 0; m < w.dimensions(); ++m)
      if (hit.guess.how[m] != LastWriter::solved)
        more.push_back(guard_eq0(Affine::variable(static_cast<VarId>(m)) - substitute(hit.guess.at[m], shifted)));
    return restrict_domain(meetings(w, std::move(more)), w.s->domain);
  }

  const LoopNest& nest_;
  const Statements& statements_;
  const ReadQuestion& question_;
  WindowFacts& facts_;
  Set rest_;
  View reader_;
  std::vector<View> writers_;
  std::vector<Fold> folds_;  ///< those that act
  Writers found_;
};

}  // namespace

std::optional<FoundWriters> find_last_writers(const LoopNest& nest, const Statements& statements,
                                              const ReadQuestion& question, WindowFacts& facts) {
  return Search(nest, statements, question, facts).run();
}

}  // namespace polyweft::poly::checker
