#include "poly/check/views.h"

#include <algorithm>

namespace polyweft::poly::check {

std::optional<Parting> part(const Statement& a, const Statement& b) {
  Parting out;
  if (a.number == b.number) return Parting{a.loops.size(), false, true};
  for (size_t t = 0; t < std::min(a.time.size(), b.time.size()); ++t) {
    if (a.time[t] == b.time[t]) {
      if (a.time[t].is_constant()) continue;
      bool is_loop = a.time[t] == Affine::variable(static_cast<VarId>(out.shared)) && out.shared < a.loops.size() && out.shared < b.loops.size() &&
                     a.loops[out.shared] == b.loops[out.shared];
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

/// The tiles of a block on the diagonal are told by either of its coordinates, whichever was written down.
static std::vector<Affine> forms_of(const Affine& coordinate, const View& view) {
  std::vector<Affine> out{coordinate};
  for (Affine zero : view.s->zero) {
    zero = substitute(zero, view.single_values());
    for (const Term& t : zero.terms) {
      const int64_t own = coordinate.coefficient(t.var);
      if (own == 0 || own % t.coeff != 0) continue;
      Affine other = coordinate - (own / t.coeff) * zero;
      if (bounds_of(other, view.box) && std::find(out.begin(), out.end(), other) == out.end()) out.push_back(std::move(other));
    }
  }
  return out;
}

std::optional<View> view_of(const LoopNest& nest, const Statements& statements, size_t number, const Access& access) {
  View out;
  out.s = &statements.all[number];
  for (VarId d = 0; d < statements.prefix[access.id]; ++d) out.cell.push_back(Affine::variable(d));
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
  }
  for (const Affine& e : out.cell) out.forms.push_back(forms_of(e, out));
  return out;
}

}  // namespace polyweft::poly::check
