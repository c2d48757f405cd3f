#include "ir/values/domain.h"

#include <algorithm>

namespace polyweft::ir {
namespace {

bool walk_domain(const std::vector<IndexRange>& ranges, size_t depth, const Guard& where, Environment& env,
                 const std::function<bool()>& f) {
  if (depth == ranges.size()) return !evaluate(where, env) || f();
  const IndexRange& range = ranges[depth];
  int64_t lo = evaluate(range.lo, env), hi = evaluate(range.hi, env);
  for (int64_t value = lo; value < hi; ++value) {
    env[range.var] = value;
    if (!walk_domain(ranges, depth + 1, where, env, f)) return false;
  }
  return true;
}

struct DomainHull {
  std::vector<int64_t> lo, hi;  ///< hi exclusive
  bool empty = true;

  void include(const std::vector<int64_t>& point) {
    if (empty) {
      lo = point;
      hi.assign(point.size(), INT64_MIN);
    }
    empty = false;
    for (size_t d = 0; d < point.size(); ++d) {
      lo[d] = std::min(lo[d], point[d]);
      hi[d] = std::max(hi[d], point[d] + 1);
    }
  }
  void include(const DomainHull& other) {
    if (other.empty) return;
    std::vector<int64_t> last = other.hi;
    for (int64_t& x : last) --x;
    include(other.lo);
    include(last);
  }
};

bool is_rectangular(const Equation& equation) {
  auto constant_slot = [](const Slot& slot) {
    return slot.var == kNoVar ? slot.position.is_constant() : slot.lo.is_constant() && slot.hi.is_constant();
  };
  return equation.where.is_true() && std::all_of(equation.slots.begin(), equation.slots.end(), constant_slot);
}

DomainHull rectangular_hull(const Equation& equation) {
  std::vector<int64_t> first, last;
  for (const Slot& slot : equation.slots) {
    first.push_back(slot.var == kNoVar ? slot.position.constant : slot.lo.constant);
    last.push_back(slot.var == kNoVar ? slot.position.constant : slot.hi.constant - 1);
    if (last.back() < first.back()) return {};
  }
  DomainHull out;
  out.include(first);
  out.include(last);
  return out;
}

DomainHull hull_of(const Program& program, const Equation& equation) {
  if (is_rectangular(equation)) return rectangular_hull(equation);
  DomainHull out;
  Environment env = environment_of(program, equation);
  for_each_point(slot_ranges(equation), equation.where, env, [&] {
    out.include(element_at(equation, env));
    return true;
  });
  return out;
}

/// LANGUAGE.md section 2, Outputs: the upper bound of the slot's range where that is a number, else 1 + the largest
/// value.
void widen_output(Box& box, const Equation& equation, const DomainHull& hull) {
  for (size_t d = 0; d < equation.slots.size(); ++d) {
    const Slot& slot = equation.slots[d];
    bool from_range = slot.var != kNoVar && slot.hi.is_constant();
    int64_t end = from_range ? slot.hi.constant : hull.empty ? 0 : hull.hi[d];
    box.hi[d] = std::max(box.hi[d], end);
  }
}

Box fixed_box(const Tensor& tensor) {
  Box box;
  for (const Affine& extent : tensor.shape) {
    PW_CHECK(extent.is_constant());
    box.lo.push_back(0);
    box.hi.push_back(std::max<int64_t>(extent.constant, 0));
  }
  return box;
}

Box empty_box(uint32_t rank) {
  return {std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
}

}  // namespace

Environment environment_of(const Program& program, const Equation& equation) {
  Environment env(program.parameters.size() + equation.index_names.size(), 0);
  for (size_t p = 0; p < program.parameters.size(); ++p) env[p] = program.parameters[p].value;
  return env;
}

bool for_each_point(const std::vector<IndexRange>& ranges, const Guard& where, Environment& env,
                    const std::function<bool()>& f) {
  return walk_domain(ranges, 0, where, env, f);
}

std::vector<IndexRange> slot_ranges(const Equation& equation) {
  std::vector<IndexRange> out;
  for (const Slot& slot : equation.slots)
    if (slot.var != kNoVar) out.push_back({slot.var, slot.lo, slot.hi});
  return out;
}

std::vector<int64_t> element_at(const Equation& equation, const Environment& env) {
  std::vector<int64_t> point;
  for (const Slot& slot : equation.slots)
    point.push_back(slot.var == kNoVar ? evaluate(slot.position, env) : env[slot.var]);
  return point;
}

bool solve(const Equation& equation, const std::vector<int64_t>& point, Environment& env) {
  for (size_t d = 0; d < point.size(); ++d)
    if (equation.slots[d].var != kNoVar) env[equation.slots[d].var] = point[d];
  for (size_t d = 0; d < point.size(); ++d) {
    const Slot& slot = equation.slots[d];
    if (slot.var == kNoVar ? evaluate(slot.position, env) != point[d]
                           : point[d] < evaluate(slot.lo, env) || point[d] >= evaluate(slot.hi, env))
      return false;
  }
  return evaluate(equation.where, env);
}

std::vector<Box> boxes(const Program& bound) {
  std::vector<DomainHull> hulls(bound.tensors.size());
  std::vector<Box> out;
  for (const Tensor& tensor : bound.tensors) {
    bool given = tensor.kind == TensorKind::input || tensor.kind == TensorKind::constant;
    out.push_back(given ? fixed_box(tensor) : empty_box(tensor.rank));
  }
  for (const Equation& equation : bound.equations) {
    DomainHull hull = hull_of(bound, equation);
    for (TensorId id : equation.targets) {
      hulls[id].include(hull);
      if (bound.tensors[id].kind == TensorKind::output) widen_output(out[id], equation, hull);
    }
  }
  for (TensorId id = 0; id < out.size(); ++id)
    if (bound.tensors[id].kind == TensorKind::local && !hulls[id].empty) out[id] = {hulls[id].lo, hulls[id].hi};
  return out;
}

}  // namespace polyweft::ir
