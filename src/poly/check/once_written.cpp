#include "poly/check/once_written.h"

#include <algorithm>

#include "poly/check/bodies.h"
#include "poly/check/images.h"
#include "poly/coalesced.h"

namespace polyweft::poly::checker {
namespace {
/// Whether in some pair { a -> b } a comes before b (or is the same instance, where `or_same`). True where that is not
/// known. `outer`: what is known of the outer loops.
template <class Pairs>
bool some_before(const Pairs& pairs_of, const View& a, const View& b, bool or_same, const OuterOrder& outer = {}) {
  const auto parting = part(*a.s, *b.s);
  if (!parting) return true;
  const bool is_before = parting->is_same ? or_same : parting->first_is_before;
  const size_t known = std::min(outer.before.size(), parting->shared);
  const bool is_in_outer = outer.may_be_before(),
             may_be_inside = outer.may_be_equal && (parting->shared > known || is_before);
  if (!is_in_outer && !may_be_inside) return false;
  Map pairs = pairs_of();
  for (size_t m = 0; m < parting->shared; ++m) {
    const int level = static_cast<int>(m);
    if ((m >= known || outer.before[m]) &&
        !is_empty(Map(isl_map_order_lt(pairs.copy(), isl_dim_in, level, isl_dim_out, level))))
      return true;
    pairs = Map(isl_map_equate(pairs.take(), isl_dim_in, level, isl_dim_out, level));
    const bool is_asked_later = m + 1 < known && !is_in_outer;  // of all outer loops at once
    if (!is_asked_later && is_empty(pairs)) return false;
  }
  return is_before && (parting->shared > 0 || !is_empty(pairs));
}

/// e == 0 or e >= 0 for a linear e.
isl_basic_set* with_row(isl_basic_set* set, const Affine& e, bool is_equality) {
  isl_local_space* space = isl_local_space_from_space(isl_basic_set_get_space(set));
  isl_constraint* row = is_equality ? isl_constraint_alloc_equality(space) : isl_constraint_alloc_inequality(space);
  isl_ctx* context = isl_basic_set_get_ctx(set);
  row = isl_constraint_set_constant_val(row, isl_val_int_from_si(context, e.constant));
  for (const Term& t : e.terms)
    row = isl_constraint_set_coefficient_val(row, isl_dim_set, static_cast<int>(t.var),
                                             isl_val_int_from_si(context, t.coeff));
  return isl_basic_set_add_constraint(set, row);
}

}  // namespace

bool OnceWritten::look(BufferId buffer, const Writes& writes, Cells& out) const {
  for (const Fold& fold : nest_.buffers[buffer].folds) {
    if (nest_.buffers[buffer].extents[fold.dim] <= fold.window) continue;
    if (out.folded) return false;
    out.folded = statements_.prefix[buffer] + fold.dim;
    out.window = fold.window;
  }
  for (const auto& [number, dst] : writes) {
    const Compute* compute = statements_.all[number].compute;
    if (compute && compute->how != Write::store) return false;
    auto writer = view_of(nest_, statements_, number, *dst);
    if (!writer || (!out.writers.empty() && out.writers.back().s->number == number)) return false;
    out.writers.push_back(*std::move(writer));
  }
  return true;
}

/// By intervals.
bool OnceWritten::can_meet(const View& a, const View& b, const Cells& cells, Meet meet) const {
  const Box box = box_of_pair(a, b);
  const std::map<VarId, Affine> shifted = dimensions_after(a, b);
  for (size_t x = 0; x < a.cell.size(); ++x) {
    for (const Affine& first : a.forms[x])
      for (const Affine& second : b.forms[x]) {
        const Bounds apart = bounds_of(first - substitute(second, shifted), box);
        if (!apart) continue;
        if (meet == Meet::later_cell && x == cells.folded) {
          if (apart->greatest < cells.window) return false;
        } else if (!apart->has_zero()) {
          return false;
        }
      }
  }
  return true;
}

/// By intervals, class by class: whether an instance of a that meets one of b can come before it, or be the same one
/// where `or_same`.
bool OnceWritten::can_be_before(const View& a, const View& b, const Cells& cells, Meet meet, bool or_same) const {
  const auto parting = part(*a.s, *b.s);
  if (!parting) return true;
  std::vector<Class> classes;
  for (size_t level = 0; level < parting->shared; ++level) classes.push_back({level, true});
  if (parting->is_same ? or_same : parting->first_is_before) classes.push_back({parting->shared, false});
  return std::any_of(classes.begin(), classes.end(), [&](Class c) {
    const Differences apart(a, b, c);
    if (apart.is_never()) return false;
    for (size_t x = 0; x < a.cell.size(); ++x) {
      const Bounds range = apart.of(x);
      if (!range) continue;
      const bool is_later = meet == Meet::later_cell && x == cells.folded;
      if (is_later ? range->greatest < cells.window : !range->has_zero()) return false;
    }
    return true;
  });
}

/// { a -> b : one logical cell }, or a's cell lies in the memory of b's and is a later one.
Map OnceWritten::meetings(const View& a, const View& b, const Cells& cells, Meet meet) const {
  Space pairs(isl_space_map_from_domain_and_range(a.s->space.copy(), b.s->space.copy()));
  Space flat(isl_space_wrap(pairs.copy()));
  isl_basic_set* rows = isl_basic_set_universe(flat.copy());
  std::vector<Guard> more;
  const std::map<VarId, Affine> shifted = dimensions_after(a, b);
  const auto add = [&](const Affine& e, bool is_equality) {
    if (e.is_linear())
      rows = with_row(rows, e, is_equality);
    else
      more.push_back(is_equality ? guard_eq0(e) : guard_ge0(e));
  };
  const Box box = box_of_pair(a, b);
  for (size_t x = 0; x < a.cell.size(); ++x) {
    const Affine apart = a.cell[x] - substitute(b.cell[x], shifted);
    if (meet != Meet::later_cell || x != cells.folded) {
      for (const Affine& digit : digits(apart, box)) add(digit, true);
      continue;
    }
    add(apart - Affine::of(cells.window), false);
    if (cells.window > 1) more.push_back(guard_eq0(modulo(apart, cells.window)));
  }
  Set both(isl_set_from_basic_set(rows));
  if (!more.empty()) both = intersect(std::move(both), holds(guard_all(std::move(more)), flat));
  return restrict_range(restrict_domain(Map(isl_set_unwrap(both.take())), a.s->domain), b.s->domain);
}

bool OnceWritten::are_in_order(const Cells& cells) const {
  for (const View& a : cells.writers)
    for (const View& b : cells.writers) {
      const bool is_same = a.s == b.s;
      const bool may_meet =
          is_same ? can_be_before(a, b, cells, Meet::one_cell, false) : can_meet(a, b, cells, Meet::one_cell);
      if (a.s->number <= b.s->number && may_meet) {
        const auto twice = [&] { return meetings(a, b, cells, Meet::one_cell); };
        if (is_same ? some_before(twice, a, b, false) : !is_empty(twice())) return false;
      }
      const auto later = [&] { return meetings(a, b, cells, Meet::later_cell); };
      if (cells.folded && can_be_before(a, b, cells, Meet::later_cell, false) && some_before(later, a, b, false))
        return false;
    }
  return true;
}

/// Cells of the elements that an equation defines, in the iterations that the loops around the buffer have at most.
std::optional<Set> OnceWritten::element_cells(BufferId id, const Equation& equation, const Cells& cells,
                                              const Space& space) const {
  const Buffer& buffer = nest_.buffers[id];
  const std::vector<View>& writers = cells.writers;
  const auto prefix = static_cast<VarId>(statements_.prefix[id]);
  if (buffer.element.size() != equation.slots.size()) return std::nullopt;
  std::map<VarId, Affine> cell =
      writers.front().s->dims;  // loops around the buffer are the outer ones of whoever writes it
  for (VarId x = 0; x < buffer.extents.size(); ++x) cell[kCellVar + x] = Affine::variable(prefix + x);
  Indices indices;
  for (VarId p = 0; p < program_.parameters.size(); ++p) indices[p] = Affine::of(program_.parameters[p].value);
  std::vector<Guard> same;
  const auto add_range = [&](VarId x, int64_t least, int64_t greatest) {
    same.push_back(guard_ge0(Affine::variable(x) - Affine::of(least)));
    same.push_back(guard_ge0(Affine::of(greatest) - Affine::variable(x)));
  };
  for (VarId d = 0; d < prefix; ++d) {
    Interval range = writers.front().box[d];
    for (const View& w : writers)
      range = {std::min(range.least, w.box[d].least), std::max(range.greatest, w.box[d].greatest)};
    add_range(d, range.least, range.greatest);
  }
  for (VarId x = 0; x < buffer.extents.size(); ++x) add_range(prefix + x, 0, buffer.extents[x] - 1);
  for (uint32_t d = 0; d < equation.slots.size(); ++d) {
    const Slot& slot = equation.slots[d];
    const Affine element = substitute(buffer.element[d], cell);
    std::vector<VarId> used;
    collect_variables(element, used);
    if (std::any_of(used.begin(), used.end(), [&](VarId v) { return v >= prefix + buffer.extents.size(); }))
      return std::nullopt;
    if (slot.var != kNoVar)
      indices[slot.var] = element;
    else
      same.push_back(guard_eq0(element - substitute(slot.position, indices)));
  }
  same.push_back(domain_guard(equation, indices, false));
  return holds(guard_all(std::move(same)), space);
}

/// Whole equations, whose points are few pieces, are asked about before all that statements write.
void OnceWritten::find_written_cells(BufferId id, Cells& cells) const {
  Space space = named_space(context_, "B", cells.writers.front().cell.size());
  std::vector<const View*> copies;
  std::map<EquationId, std::vector<const View*>> computed;
  for (const View& w : cells.writers) (w.s->compute ? computed[w.s->compute->equation] : copies).push_back(&w);
  Set whole(isl_set_empty(space.copy()));
  cells.others = copies;
  for (EquationId q = 0; q < program_.equations.size(); ++q) {
    const auto& targets = program_.equations[q].targets;
    std::vector<const View*> writers = computed[q];
    const bool is_copied = !copies.empty() && std::ranges::count(targets, nest_.buffers[id].tensor) > 0;
    if (writers.empty() && !is_copied) continue;
    auto points = element_cells(id, program_.equations[q], cells, space);
    bool is_whole = points && !writers.empty() && are_reached(*points, writers, space);
    if (!is_whole) cells.others.insert(cells.others.end(), writers.begin(), writers.end());
    if (points && !is_whole && is_copied) {
      writers.insert(writers.end(), copies.begin(), copies.end());
      is_whole = are_reached(*points, writers, space);
    }
    if (is_whole) whole = unite(std::move(whole), *std::move(points));
  }
  cells.whole = coalesced(std::move(whole));
}

const Set& OnceWritten::reached(Cells& cells) {
  if (cells.reached) return *cells.reached;
  const Space space(isl_set_get_space(cells.whole->get()));
  Set all = *cells.whole;
  for (const View* w : cells.others) all = unite(std::move(all), cells_reached(*w, space));
  return cells.reached.emplace(coalesced(std::move(all)));
}

OnceWritten::Cells& OnceWritten::cells_of(BufferId buffer, const Writes& writes) {
  if (cells_[buffer]) return *cells_[buffer];
  Cells out;
  out.is_once = !writes.empty() && look(buffer, writes, out) && are_in_order(out);
  if (out.is_once) find_written_cells(buffer, out);
  if (out.is_once) out.groups = groups_of(out.writers);
  cells_[buffer] = std::move(out);
  return *cells_[buffer];
}

std::vector<OnceWritten::Outer> OnceWritten::outer_orders(const Cells& cells, const View& reader) {
  std::vector<Outer> out(cells.writers.size());
  for (const WriterGroup& group : cells.groups) {
    const size_t depth = shared_loops(group, *reader.s);
    if (depth == 0) continue;
    const Set shadow = shadow_of(reader, depth);
    Outer here;
    here.of_reader = outer_order(group, shadow, depth, {}, First::reader);
    if (cells.folded) here.of_later = outer_order(group, shadow, depth, {cells.folded, cells.window}, First::writer);
    for (size_t k : group.writers) out[k] = here;
  }
  return out;
}

std::optional<FoundWriters> OnceWritten::find(const ReadQuestion& question) {
  Cells& cells = cells_of(question.access->id, *question.writes);
  if (!cells.is_once) return std::nullopt;
  auto reader = view_of(nest_, statements_, question.reader, *question.access);
  if (!reader) return std::nullopt;
  FoundWriters out{{}, Set(isl_set_empty(reader->s->space.copy())), true};
  const Map readers_of = reverse(map_of(reader->s->space, reader->cell, "B"));
  const auto is_among = [&](const Set& some) { return is_subset(*question.when, apply(some, readers_of)); };
  if (!is_among(*cells.whole) && (cells.others.empty() || !is_among(reached(cells)))) return std::nullopt;
  const std::vector<Outer> outer = outer_orders(cells, *reader);
  for (size_t k = 0; k < cells.writers.size(); ++k) {
    const View& w = cells.writers[k];
    if (can_meet(w, *reader, cells, Meet::one_cell)) {
      Map pairs = restrict_range(meetings(w, *reader, cells, Meet::one_cell), *question.when);
      if (!is_empty(pairs)) {
        const auto reversed = [&] { return reverse(pairs); };
        if (can_be_before(*reader, w, cells, Meet::one_cell, true) &&
            some_before(reversed, *reader, w, true, outer[k].of_reader))
          return std::nullopt;
        out.writers.emplace(w.s->number, std::move(pairs));
      }
    }
    if (!cells.folded || !can_be_before(w, *reader, cells, Meet::later_cell, false)) continue;
    const auto later = [&] { return restrict_range(meetings(w, *reader, cells, Meet::later_cell), *question.when); };
    if (some_before(later, w, *reader, false, outer[k].of_later)) return std::nullopt;
  }
  return out;
}

}  // namespace polyweft::poly::checker
