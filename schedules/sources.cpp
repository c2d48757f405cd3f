#include "schedules/sources.h"

#include <algorithm>
#include <map>

#include "schedules/hulls.h"

namespace polyweft::schedules {
namespace {

/// The values of a subscript over the hull of an equation.
Interval span_of(const Subscript& s, const std::vector<Interval>& values) {
  Interval out = interval_of(s.affine, values);
  if (!s.data) return out;
  out.lo += interval_of(s.lo, values).lo;
  out.hi += interval_of(s.hi, values).hi;
  return out;
}

std::vector<Interval> defined_box(const Equation& equation, const std::vector<Interval>& values) {
  std::vector<Interval> out;
  for (const Slot& slot : equation.slots)
    out.push_back(slot.var == kNoVar ? interval_of(slot.position, values) : values[slot.var]);
  return out;
}

bool meet(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  for (size_t d = 0; d < a.size(); ++d)
    if (a[d].hi < b[d].lo || b[d].hi < a[d].lo) return false;
  return true;
}

/// What the element read must satisfy to be one that `source` defines: linear conditions e >= 0 over the reader's
/// indices. Conditions that subscripts do not settle are left out.
std::vector<Affine> conditions_on(const Equation& source, const Domain& domain, const Access& read) {
  std::map<VarId, Affine> map;
  for (size_t d = 0; d < source.slots.size(); ++d)
    if (source.slots[d].var != kNoVar && !read.index[d].data) map[source.slots[d].var] = read.index[d].affine;
  std::vector<Affine> out;
  const auto add = [&](const Affine& e, const Affine& plus) {
    std::vector<VarId> used;
    collect_variables(e, used);
    if (std::all_of(used.begin(), used.end(), [&](VarId v) { return map.count(v) > 0; }))
      out.push_back(substitute(e, map) + plus);
  };
  for (const Affine& e : domain.inside) add(e, Affine::of(0));
  for (size_t d = 0; d < source.slots.size(); ++d) {
    const Slot& slot = source.slots[d];
    if (slot.var != kNoVar || read.index[d].data) continue;
    add(slot.position, Affine::of(0) - read.index[d].affine);
    add(Affine::of(0) - slot.position, read.index[d].affine);
  }
  return out;
}

/// Does some pair of conditions rule each other out? That settles triangles: j < i for the reader, i < j for the
/// source.
bool exclude(const Domain& reader, const std::vector<Affine>& conditions) {
  for (const Affine& wanted : conditions) {
    if (interval_of(wanted, reader.values).hi < 0) return true;
    for (const Affine& given : reader.inside)
      if (interval_of(wanted + given, reader.values).hi < 0) return true;
  }
  return false;
}

}  // namespace

std::vector<std::vector<uint32_t>> sources_of(const Program& program) {
  size_t count = program.equations.size();
  std::vector<Domain> domains;
  for (const Equation& equation : program.equations) domains.push_back(domain_of(program, equation));
  std::vector<std::vector<Interval>> boxes;
  for (size_t q = 0; q < count; ++q) boxes.push_back(defined_box(program.equations[q], domains[q].values));
  std::vector<std::vector<uint32_t>> out(count);
  for (size_t q = 0; q < count; ++q) {
    visit(program.equations[q].rhs, [&](const ExprNode& e) {
      if (e.op != Op::read) return;
      std::vector<Interval> wanted;
      for (const Subscript& s : e.access.index) wanted.push_back(span_of(s, domains[q].values));
      for (uint32_t r = 0; r < count; ++r) {
        const auto& targets = program.equations[r].targets;
        if (std::find(targets.begin(), targets.end(), e.access.id) != targets.end() && meet(wanted, boxes[r]) &&
            !exclude(domains[q], conditions_on(program.equations[r], domains[r], e.access)))
          out[q].push_back(r);
      }
    });
  }
  return out;
}

}  // namespace polyweft::schedules
