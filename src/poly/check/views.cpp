#include "poly/check/views.h"

#include <algorithm>

#include "support/integer_division.h"

namespace polyweft::poly::checker {

std::optional<Parting> part(const Statement& a, const Statement& b) {
  Parting out;
  if (a.number == b.number) return Parting{a.loops.size(), false, true};
  for (size_t t = 0; t < std::min(a.time.size(), b.time.size()); ++t) {
    if (a.time[t] == b.time[t]) {
      if (a.time[t].is_constant()) continue;
      bool is_loop = a.time[t] == Affine::variable(static_cast<VarId>(out.shared)) && out.shared < a.loops.size() &&
                     out.shared < b.loops.size() && a.loops[out.shared] == b.loops[out.shared] &&
                     a.loops[out.shared] != kNoNode;
      if (!is_loop) return std::nullopt;
      ++out.shared;
      continue;
    }
    if (!a.time[t].is_constant() || !b.time[t].is_constant()) return std::nullopt;
    out.first_is_before = a.time[t].constant < b.time[t].constant;
    return out;
  }
  return std::nullopt;
}

/// floor((4 r + g) / 4) is r where g lies in 0 .. 4.
static Affine without_known_quotients(const Affine& e, const Box& box) {
  Affine out = Affine::of(e.constant);
  for (const Term& term : e.terms) {
    if (!term.quasi || term.quasi->kind != Quasi::Kind::floor_div) {
      out = out + Affine{{term}, 0};
      continue;
    }
    const int64_t den = term.quasi->den;
    Affine whole, rest = Affine::of(term.quasi->e.constant);
    for (const Term& part : term.quasi->e.terms) {
      if (!part.quasi && part.coeff % den == 0)
        whole = whole + Affine::variable(part.var, part.coeff / den);
      else
        rest = rest + Affine{{part}, 0};
    }
    const Bounds range = bounds_of(rest, box);
    const bool is_known = range && floor_quotient(range->least, den) == floor_quotient(range->greatest, den);
    out = out + (is_known ? term.coeff * (whole + Affine::of(floor_quotient(range->least, den))) : Affine{{term}, 0});
  }
  return out;
}

/// The tiles of a block on the diagonal are told by either of its coordinates, whichever was written down.
static std::vector<Affine> forms_of(const Affine& coordinate, const View& view) {
  std::vector<Affine> out{coordinate};
  for (Affine zero : view.s->zero) {
    zero = substitute(zero, view.single_values());
    for (const Term& t : zero.terms) {
      const int64_t own = coordinate.coefficient(t.var);
      if (own == 0 || own % t.coeff != 0) continue;
      Affine other = coordinate - (own / t.coeff) * zero;
      if (bounds_of(other, view.box) && std::find(out.begin(), out.end(), other) == out.end())
        out.push_back(std::move(other));
    }
  }
  return out;
}

std::optional<View> view_of(const LoopNest& nest, const Statements& statements, size_t number, const Access& access) {
  View out;
  out.s = &statements.all[number];
  for (NodeId loop : statements.around[access.id]) {  // the outer ones, but where time has others before them
    const auto& loops = out.s->loops;
    const auto at = std::find(loops.begin(), loops.end(), loop);
    if (at == loops.end()) return std::nullopt;
    out.cell.push_back(Affine::variable(static_cast<VarId>(at - loops.begin())));
  }
  for (const Coordinate& c : logical_cell(*out.s, access)) {
    if (c.is_interval) return std::nullopt;
    out.cell.push_back(c.first);
  }
  auto box = box_of(*out.s, nest);
  if (!box) return std::nullopt;
  out.box = *std::move(box);
  std::map<VarId, Affine> single = out.single_values();
  for (Affine& e : out.cell) {
    if (!bounds_of(e, out.box)) return std::nullopt;  // so no product below leaves 64 bits
    if (!single.empty()) e = substitute(e, single);
    e = without_known_quotients(e, out.box);
  }
  for (const Affine& e : out.cell) out.forms.push_back(forms_of(e, out));
  return out;
}

Differences::Differences(const View& a, const View& b, Class c) : a_(a), b_(b), box_(b.box) {
  for (size_t m = 0; m < a.dimensions(); ++m) {
    const auto own = static_cast<VarId>(m), fresh = static_cast<VarId>(box_.size());
    if (m < c.equal) {
      box_[m] = {std::max(box_[m].least, a.box[m].least), std::min(box_[m].greatest, a.box[m].greatest)};
      is_never_ |= box_[m].least > box_[m].greatest;
      at_[own] = Affine::variable(own);
    } else if (c.is_carried && m == c.equal) {
      const int64_t most = b.box[m].greatest - a.box[m].least;  // how many iterations later b may be
      is_never_ |= most < 1;
      box_.push_back({1, std::max<int64_t>(most, 1)});
      at_[own] = Affine::variable(own) - Affine::variable(fresh);
    } else {
      box_.push_back(a.box[m]);
      at_[own] = Affine::variable(fresh);
    }
  }
}

Bounds Differences::of(size_t coordinate) const {
  Bounds least;
  for (const Affine& first : a_.forms[coordinate])
    for (const Affine& second : b_.forms[coordinate]) {
      const Bounds one = bounds_of(substitute(first, at_) - second, box_);
      if (!one) continue;
      least = least ? Interval{std::max(least->least, one->least), std::min(least->greatest, one->greatest)} : *one;
    }
  return least;
}

}  // namespace polyweft::poly::checker
