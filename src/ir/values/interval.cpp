#include "ir/values/interval.h"

#include <algorithm>
#include <cmath>

namespace polyweft::ir {
namespace {

Interval quasi_interval(const Quasi& q, const Intervals& known) {
  Interval e = interval_of(q.e, known);
  double den = static_cast<double>(q.den);
  if (q.kind == Quasi::Kind::floor_div) return {std::floor(e.lo / den), std::floor(e.hi / den)};
  Interval lo = interval_of(q.lo, known), hi = interval_of(q.hi, known);
  return {std::min(std::max(e.lo, lo.lo), hi.lo), std::min(std::max(e.hi, lo.hi), hi.hi)};
}

}  // namespace

Interval interval_of(const Affine& e, const Intervals& known) {
  Interval out = {static_cast<double>(e.constant), static_cast<double>(e.constant)};
  for (const Term& term : e.terms) {
    Interval x = term.quasi ? quasi_interval(*term.quasi, known) : known.at(term.var);
    double c = static_cast<double>(term.coeff);
    out.lo += c > 0 ? c * x.lo : c * x.hi;
    out.hi += c > 0 ? c * x.hi : c * x.lo;
  }
  return out;
}

void add_interval(Intervals& known, const IndexRange& range) {
  double lo = interval_of(range.lo, known).lo, hi = interval_of(range.hi, known).hi - 1;
  known[range.var] = {lo, std::max(lo, hi)};
}

Intervals slot_intervals(const Equation& equation) {
  Intervals known;
  for (const Slot& slot : equation.slots)
    if (slot.var != kNoVar) add_interval(known, {slot.var, slot.lo, slot.hi});
  return known;
}

double most_points(const std::vector<IndexRange>& ranges, Intervals known) {
  double points = 1;
  for (const IndexRange& range : ranges) {
    points *= std::max(0.0, interval_of(range.hi - range.lo, known).hi);
    add_interval(known, range);
  }
  return points;
}

}  // namespace polyweft::ir
