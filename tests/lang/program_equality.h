// Structural equality of programs: everything but spans, const parameters (printed as numbers) and the source text.
#pragma once

#include <string>

#include "polyweft/program.h"

namespace polyweft::lang_test {

inline bool same_tensor(const Tensor& a, const Tensor& b) {
  return a.name == b.name && a.kind == b.kind && a.type == b.type && a.rank == b.rank && a.shape == b.shape &&
         a.is_const_input == b.is_const_input && a.partial == b.partial && a.hidden == b.hidden &&
         a.values_lo == b.values_lo && a.values_hi == b.values_hi && a.data == b.data;
}

inline bool same_slots(const Equation& a, const Equation& b) {
  if (a.slots.size() != b.slots.size()) return false;
  for (size_t i = 0; i < a.slots.size(); ++i) {
    const Slot& s = a.slots[i];
    const Slot& t = b.slots[i];
    if (s.var != t.var || !(s.lo == t.lo) || !(s.hi == t.hi) || !(s.position == t.position)) return false;
  }
  return true;
}

inline bool same_combiner(const Combiner& a, const Combiner& b) {
  bool same = a.name == b.name && a.left == b.left && a.right == b.right && a.types == b.types &&
              a.identity == b.identity && a.associative == b.associative && a.commutative == b.commutative &&
              a.result.size() == b.result.size();
  for (size_t i = 0; same && i < a.result.size(); ++i) same = equal(a.result[i], b.result[i]);
  return same;
}

/// Names the first part that differs; empty when equal.
inline std::string difference(const Program& a, const Program& b) {
  if (a.name != b.name) return "name";
  if (a.parameters != b.parameters) return "parameters";
  if (a.assumptions != b.assumptions) return "assumptions";
  if (a.tensors.size() != b.tensors.size()) return "number of tensors";
  for (size_t i = 0; i < a.tensors.size(); ++i)
    if (!same_tensor(a.tensors[i], b.tensors[i])) return "tensor " + a.tensors[i].name;
  if (a.combiners.size() != b.combiners.size()) return "number of combiners";
  for (size_t i = 0; i < a.combiners.size(); ++i)
    if (!same_combiner(a.combiners[i], b.combiners[i])) return "combiner " + a.combiners[i].name;
  if (a.equations.size() != b.equations.size()) return "number of equations";
  for (size_t i = 0; i < a.equations.size(); ++i) {
    const Equation& p = a.equations[i];
    const Equation& q = b.equations[i];
    std::string place = "equation " + std::to_string(i) + ": ";
    if (p.targets != q.targets) return place + "targets";
    if (!same_slots(p, q)) return place + "slots";
    if (!(p.where == q.where)) return place + "where";
    if (p.index_names != q.index_names) return place + "index names";
    if (!equal(p.rhs, q.rhs)) return place + "right-hand side";
  }
  return "";
}

}  // namespace polyweft::lang_test
