#include "poly/check/images.h"

#include <algorithm>
#include <cstdlib>

namespace polyweft::poly::checker {
namespace {

class Inversion {
 public:
  explicit Inversion(const View& view) : view_(view), found_(view.dimensions()) {
    for (size_t d = 0; d < view.dimensions(); ++d)
      if (view.box[d].least == view.box[d].greatest) found_[d] = Affine::of(view.box[d].least);
  }

  std::optional<std::vector<Affine>> run() {
    std::vector<std::pair<Affine, Affine>> equal;
    for (size_t x = 0; x < view_.cell.size(); ++x)
      equal.emplace_back(view_.cell[x], Affine::variable(static_cast<VarId>(x)));
    for (const Affine& zero : view_.s->zero) equal.emplace_back(zero, Affine::of(0));
    // What says most comes first: a tile's number is then taken from the coordinate that holds all of the tile's
    // digits, in all statements alike.
    for (bool goes_on = true; goes_on;) {
      std::stable_sort(equal.begin(), equal.end(),
                       [&](const auto& a, const auto& b) { return open_in(a.first) > open_in(b.first); });
      goes_on =
          std::any_of(equal.begin(), equal.end(), [&](const auto& pair) { return solve(pair.first, pair.second); });
    }
    std::vector<Affine> out;
    for (auto& one : found_) {
      if (!one) return std::nullopt;
      out.push_back(std::move(*one));
    }
    return out;
  }

 private:
  size_t open_in(const Affine& e) const {
    return static_cast<size_t>(
        std::count_if(e.terms.begin(), e.terms.end(), [&](const Term& t) { return !t.quasi && !found_[t.var]; }));
  }

  /// From e == value: what of it is not known yet are digits of the rest, the largest first, if the smaller ones
  /// together stay below each. True where some are found.
  bool solve(const Affine& e, Affine value) {
    if (!e.is_linear()) return false;
    std::vector<Term> open;
    value = value - Affine::of(e.constant);
    for (const Term& t : e.terms) {
      if (found_[t.var])
        value = value - t.coeff * *found_[t.var];
      else
        open.push_back(t);
    }
    if (open.empty()) return false;
    std::sort(open.begin(), open.end(),
              [](const Term& a, const Term& b) { return std::abs(a.coeff) > std::abs(b.coeff); });
    std::vector<std::pair<VarId, Affine>> digits;
    for (size_t k = 0; k < open.size(); ++k) {
      Affine low;
      for (size_t j = k + 1; j < open.size(); ++j) low = low + Affine::variable(open[j].var, open[j].coeff);
      const Bounds range = bounds_of(low, view_.box);
      const int64_t size = std::abs(open[k].coeff);
      if (!range || range->greatest - range->least >= size) return false;
      Affine digit = floor_div(value - Affine::of(range->least), size);
      if (open[k].coeff < 0) digit = Affine::of(0) - digit;
      value = value - open[k].coeff * digit;
      digits.emplace_back(open[k].var, std::move(digit));
    }
    for (auto& [var, digit] : digits) found_[var] = std::move(digit);
    return true;
  }

  const View& view_;
  std::vector<std::optional<Affine>> found_;
};

}  // namespace

std::optional<std::vector<Affine>> iteration_of_cell(const View& view) {
  return Inversion(view).run();
}

namespace {

/// { x : the iteration of x is in the view's domain and has the cell `cell_of_x` } for an iteration over the dimensions
/// of `space`.
Set where_iterated(const View& view, const std::vector<Affine>& iteration, const std::vector<Affine>& cell_of_x,
                   const Space& space) {
  isl_multi_aff* inverse = isl_multi_aff_zero(isl_space_map_from_domain_and_range(space.copy(), view.s->space.copy()));
  std::map<VarId, Affine> at;
  for (size_t d = 0; d < iteration.size(); ++d) {
    at[static_cast<VarId>(d)] = iteration[d];
    inverse = isl_multi_aff_set_aff(inverse, static_cast<int>(d), single_value_of(iteration[d], space)->take());
  }
  std::vector<Guard> is_its_cell;
  for (size_t x = 0; x < view.cell.size(); ++x) {
    const Affine rest = cell_of_x[x] - substitute(view.cell[x], at);
    if (!(rest == Affine())) is_its_cell.push_back(guard_eq0(rest));
  }
  Set reached(isl_set_preimage_multi_aff(view.s->domain.copy(), inverse));
  return intersect(std::move(reached), holds(guard_all(std::move(is_its_cell)), space));
}

std::vector<Affine> variables(size_t count) {
  std::vector<Affine> out;
  for (size_t x = 0; x < count; ++x) out.push_back(Affine::variable(static_cast<VarId>(x)));
  return out;
}

/// Quotients of cells as further variables, after the coordinates.
class Quotients {
 public:
  explicit Quotients(size_t coordinates) : coordinates_(coordinates) {}

  /// e without divisions.
  Affine over_variables(const Affine& e) {
    Affine out = Affine::of(e.constant);
    for (const Term& t : e.terms)
      out = out + t.coeff * (t.quasi ? quotient(t.quasi->e, t.quasi->den) : Affine::variable(t.var));
    return out;
  }
  size_t size() const { return all_.size(); }
  Guard definitions() const {
    std::vector<Guard> out;
    for (size_t k = 0; k < all_.size(); ++k) {
      const auto& [e, den] = all_[k];
      const Affine rest = e - den * variable(k);
      out.push_back(guard_ge0(rest));
      out.push_back(guard_ge0(Affine::of(den - 1) - rest));
    }
    return guard_all(std::move(out));
  }

 private:
  Affine variable(size_t k) const { return Affine::variable(static_cast<VarId>(coordinates_ + k)); }
  Affine quotient(const Affine& e, int64_t den) {
    std::pair<Affine, int64_t> one{over_variables(e), den};
    auto known = std::find(all_.begin(), all_.end(), one);
    if (known == all_.end()) known = all_.insert(known, std::move(one));
    return variable(static_cast<size_t>(known - all_.begin()));
  }

  size_t coordinates_;
  std::vector<std::pair<Affine, int64_t>> all_;
};

}  // namespace

Set cells_reached(const View& view, const Space& cells) {
  const auto iteration = iteration_of_cell(view);
  if (!iteration) return apply(view.s->domain, map_of(view.s->space, view.cell, "B"));
  return where_iterated(view, *iteration, variables(view.cell.size()), cells);
}

bool are_reached(const Set& points, const std::vector<const View*>& views, const Space& cells) {
  const auto coordinates = static_cast<size_t>(size(isl_set_dim(points.get(), isl_dim_set)));
  Quotients quotients(coordinates);
  std::vector<std::vector<Affine>> iterations;
  for (const View* view : views) {
    auto iteration = iteration_of_cell(*view);
    if (!iteration) break;
    for (Affine& e : *iteration) e = quotients.over_variables(e);
    iterations.push_back(std::move(*iteration));
  }
  if (iterations.size() < views.size()) {
    Set all(isl_set_empty(cells.copy()));
    for (const View* view : views) all = unite(std::move(all), cells_reached(*view, cells));
    return is_subset(points, all);
  }
  const auto more = static_cast<unsigned>(quotients.size());
  Set with_quotients(isl_set_reset_tuple_id(isl_set_add_dims(points.copy(), isl_dim_set, more)));
  const Space space(isl_set_get_space(with_quotients.get()));
  const Set defined = holds(quotients.definitions(), space);
  // One after the other: what is left of a chain of cases is small then, while a subset asked for at once keeps the
  // gaps between cases, which hold no integers.
  Set left = intersect(std::move(with_quotients), defined);
  for (size_t k = 0; k < views.size() && !is_empty(left); ++k)
    left = subtract(std::move(left), where_iterated(*views[k], iterations[k], variables(coordinates), space));
  return is_empty(left);
}

}  // namespace polyweft::poly::checker
