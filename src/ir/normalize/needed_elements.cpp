#include "ir/normalize/needed_elements.h"

#include <algorithm>
#include <optional>

#include "ir/values/index_boxes.h"
#include "ir/values/reduction_ranges.h"

namespace polyweft::ir {
namespace {

constexpr Wide kAny = Wide{1} << 40;     ///< of a parameter: beyond all that one can be
constexpr Wide kFinite = Wide{1} << 34;  ///< ends beyond come from a parameter

/// A place in a right-hand side: the values of the indices there, and what holds there.
struct Place {
  IndexBox box;
  std::vector<Guard> conditions;

  bool is_reached() const { return !is_empty(box); }
  void add(const Guard& g) {
    if (g.is_true()) return;
    conditions.push_back(g);
    narrow(conditions, box);
  }
  void add(const IndexRange& range) {
    box[range.var] = {values_of(range.lo, box).lo, values_of(range.hi, box).hi - 1};
    add(guard_all({guard_ge0(Affine::variable(range.var) - range.lo),
                   guard_ge0(range.hi - Affine::of(1) - Affine::variable(range.var))}));
  }
};

Place domain_of(const Program& program, const Equation& equation) {
  Place out;
  out.box.assign(program.parameters.size(), Values{-kAny, kAny});
  out.box.resize(program.parameters.size() + equation.index_names.size());
  for (const Guard& g : program.assumptions) out.add(g);
  for (const Slot& slot : equation.slots)
    if (slot.var != kNoVar) out.add(IndexRange{slot.var, slot.lo, slot.hi});
  out.add(equation.where);
  return out;
}

Affine position_in(const Slot& slot) {
  return slot.var == kNoVar ? slot.position : Affine::variable(slot.var);
}

IndexBox elements_per_tensor(const Equation& equation, const Place& place) {
  IndexBox out;
  for (const Slot& slot : equation.slots) out.push_back(values_of(position_in(slot), place.box));
  return out;
}

bool is_finite(Wide value) {
  return value > -kFinite && value < kFinite;
}

/// The element of the equation lies in this box of elements; ends that depend on parameters bound nothing.
std::vector<Guard> is_inside(const Equation& equation, const IndexBox& elements) {
  std::vector<Guard> out;
  for (size_t d = 0; d < equation.slots.size(); ++d) {
    const Affine position = position_in(equation.slots[d]);
    if (is_finite(elements[d].lo))
      out.push_back(guard_ge0(position - Affine::of(static_cast<int64_t>(elements[d].lo))));
    if (is_finite(elements[d].hi))
      out.push_back(guard_ge0(Affine::of(static_cast<int64_t>(elements[d].hi)) - position));
  }
  return out;
}

double volume(const IndexBox& box) {
  double out = 1;
  for (const Values& v : box) out *= v.is_empty() ? 0 : static_cast<double>(v.hi - v.lo) + 1;
  return out;
}

bool box_contains(const IndexBox& outer, const IndexBox& inner) {
  return hull(outer, inner) == outer;
}

bool overlap(const IndexBox& a, const IndexBox& b) {
  for (size_t d = 0; d < a.size(); ++d)
    if (a[d].hi < b[d].lo || b[d].hi < a[d].lo) return false;
  return true;
}

/// A few disjoint boxes around the elements of one local that are needed.
class NeededBoxes {
 public:
  const std::vector<IndexBox>& boxes() const { return boxes_; }

  /// Whether it grew. `whole`: around all elements that there are.
  bool add(const IndexBox& box, const IndexBox& whole) {
    if (is_empty(box) ||
        std::any_of(boxes_.begin(), boxes_.end(), [&](const IndexBox& known) { return box_contains(known, box); }))
      return false;
    const IndexBox before = around(boxes_.empty() ? box : boxes_.front());
    boxes_.push_back(box);
    while (merge_two()) {
    }
    if (++growths_ > kMostGrowths) widen(before, whole);
    return true;
  }

 private:
  static constexpr size_t kMostBoxes = 4;
  static constexpr int kMostGrowths = 16;
  static constexpr double kWaste = 2;  ///< apart, boxes cost an equation each

  bool merge_two() {
    size_t first = 0, second = 0;
    double least = kWaste;
    const bool has_too_many = boxes_.size() > kMostBoxes;
    for (size_t a = 0; a < boxes_.size(); ++a)
      for (size_t b = a + 1; b < boxes_.size(); ++b) {
        const double waste = overlap(boxes_[a], boxes_[b])
                                 ? 0
                                 : volume(hull(boxes_[a], boxes_[b])) / (volume(boxes_[a]) + volume(boxes_[b]));
        if (second != 0 ? waste >= least : !has_too_many && waste > kWaste) continue;
        least = waste, first = a, second = b;
      }
    if (second == 0) return false;
    boxes_[first] = hull(boxes_[first], boxes_[second]);
    boxes_.erase(boxes_.begin() + static_cast<std::ptrdiff_t>(second));
    return true;
  }

  IndexBox around(IndexBox out) const {
    for (const IndexBox& box : boxes_) out = hull(out, box);
    return out;
  }

  /// One box; all of the domain on the sides that still move.
  void widen(const IndexBox& before, const IndexBox& whole) {
    IndexBox out = around(before);
    for (size_t d = 0; d < out.size(); ++d) {
      if (out[d].lo < before[d].lo) out[d].lo = whole[d].lo;
      if (out[d].hi > before[d].hi) out[d].hi = whole[d].hi;
    }
    boxes_ = {std::move(out)};
  }

  std::vector<IndexBox> boxes_;
  int growths_ = 0;
};

/// The components of a tuple are one group: one equation makes them.
class ElementFinder {
 public:
  explicit ElementFinder(const Program& program) : program_(program) {
    for (TensorId id = 0; id < program.tensors.size(); ++id) group_.push_back(id);
    for (const Equation& equation : program.equations)
      for (TensorId target : equation.targets) join(target, equation.targets.front());
    needed_.resize(group_.size());
    whole_.resize(group_.size());
    defined_.resize(group_.size());
    stays_.resize(group_.size());
    for (const Equation& equation : program.equations) define(equation);
    do follow_all();
    while (keep_whole());
  }

  /// The boxes to which this equation's tensors are cut; none where they stay whole.
  std::vector<IndexBox> cut_of(const Equation& equation) const {
    const TensorId id = group_[equation.targets.front()];
    return stays_[id] ? std::vector<IndexBox>{} : needed_[id].boxes();
  }

 private:
  static constexpr double kMostShare = 0.5;

  void follow_all() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t q = program_.equations.size(); q-- > 0;) changed |= follow(program_.equations[q]);
    }
  }

  /// Tensors of which too much is needed: what stays whole needs more of others. Whether there was one.
  bool keep_whole() {
    bool out = false;
    for (const Equation& equation : program_.equations) {
      const TensorId id = group_[equation.targets.front()];
      double needed = 0;
      for (const IndexBox& box : needed_[id].boxes()) needed += volume(box);
      if (stays_[id] || (needed > 0 && needed <= kMostShare * defined_[id])) continue;
      stays_[id] = out = true;
    }
    return out;
  }

  void join(TensorId a, TensorId b) {
    const TensorId from = group_[a], to = group_[b];
    for (TensorId& one : group_)
      if (one == from) one = to;
  }

  void define(const Equation& equation) {
    const TensorId id = group_[equation.targets.front()];
    for (TensorId target : equation.targets)
      stays_[id] = stays_[id] || program_.tensors[target].kind != TensorKind::local;
    const Place place = domain_of(program_, equation);
    if (!place.is_reached()) return;
    const IndexBox elements = elements_per_tensor(equation, place);
    whole_[id] = whole_[id].empty() && defined_[id] == 0 ? elements : hull(whole_[id], elements);
    defined_[id] += volume(elements);
  }

  bool follow(const Equation& equation) {
    const TensorId id = group_[equation.targets.front()];
    changed_ = false;
    const Place all = domain_of(program_, equation);
    if (stays_[id] && all.is_reached()) visit(equation.rhs, all);
    if (stays_[id]) return changed_;
    for (const IndexBox& box : std::vector<IndexBox>(needed_[id].boxes())) {
      Place place = all;
      for (const Guard& g : is_inside(equation, box)) place.add(g);
      if (place.is_reached()) visit(equation.rhs, place);
    }
    return changed_;
  }

  void visit(const Expr& e, const Place& place) {
    if (e->op == Op::guarded) return visit_branches(*e, place);
    if (e->op == Op::reduce) return visit_terms(*e, place);
    if (e->op == Op::read) read(e->access, place);
    for (const Expr& arg : e->args) visit(arg, place);
  }

  void visit_branches(const ExprNode& e, const Place& place) {
    for (size_t k = 0; k < 2; ++k) {
      Place branch = place;
      branch.add(k == 0 ? e.guard : guard_not(e.guard));
      if (branch.is_reached()) visit(e.args[k], branch);
    }
  }

  void visit_terms(const ExprNode& e, Place place) {
    for (const IndexRange& range : e.reduction.ranges) {
      place.add(range);
      if (!place.is_reached()) return;
    }
    place.add(e.reduction.where);
    if (!place.is_reached()) return;
    for (const Expr& arg : e.args) visit(arg, place);
  }

  void read(const Access& access, const Place& place) {
    const TensorId id = group_[access.id];
    IndexBox elements;
    for (size_t d = 0; d < access.index.size(); ++d) {
      const Subscript& s = access.index[d];
      Values at = values_of(s.affine, place.box);
      if (s.data) {
        visit(s.data, place);
        at = {at.lo + values_of(s.lo, place.box).lo, at.hi + values_of(s.hi, place.box).hi};
      }
      elements.push_back(at);
    }
    if (program_.tensors[access.id].kind != TensorKind::local || stays_[id] || defined_[id] == 0) return;
    for (size_t d = 0; d < elements.size(); ++d)
      elements[d] = {std::max(elements[d].lo, whole_[id][d].lo), std::min(elements[d].hi, whole_[id][d].hi)};
    changed_ |= needed_[id].add(elements, whole_[id]);
  }

  const Program& program_;
  std::vector<TensorId> group_;
  std::vector<NeededBoxes> needed_;  ///< of a group's first tensor, as all that follow
  std::vector<IndexBox> whole_;      ///< around all its elements
  std::vector<double> defined_;      ///< how many its equations make, at most
  std::vector<char> stays_;          ///< has an output
  bool changed_ = false;
};

/// Indices of one value become it; those that stay, also of reductions inside, are numbered anew.
Equation without_unit_ranges(const Program& program, Equation equation) {
  std::map<VarId, Affine> values;
  for (Slot& slot : equation.slots) {
    if (slot.var == kNoVar || !slot.lo.is_constant() || !(slot.hi - slot.lo == Affine::of(1))) continue;
    values[slot.var] = slot.lo;
    slot = {kNoVar, {}, {}, slot.lo};
  }
  if (values.empty()) return equation;
  std::vector<std::string> names;
  for (uint32_t k = 0; k < equation.index_names.size(); ++k) {
    if (values.count(program.index_var(k))) continue;
    values[program.index_var(k)] = Affine::variable(program.index_var(static_cast<uint32_t>(names.size())));
    names.push_back(equation.index_names[k]);
  }
  for (Slot& slot : equation.slots) {
    if (slot.var != kNoVar) slot.var = values[slot.var].terms[0].var;
    slot.position = substitute(slot.position, values);
    slot.lo = substitute(slot.lo, values);
    slot.hi = substitute(slot.hi, values);
  }
  equation.where = substitute(equation.where, values);
  equation.rhs = substitute(equation.rhs, values);
  equation.index_names = std::move(names);
  return equation;
}

/// The equation on one box; nothing where it has no element there.
std::optional<Equation> cut(const Program& program, const Equation& equation, const IndexBox& box,
                            const AffineFacts& facts) {
  Reduction domain;
  std::vector<Guard> conditions = is_inside(equation, box);
  conditions.insert(conditions.begin(), equation.where);
  domain.where = guard_all(std::move(conditions));
  for (const Slot& slot : equation.slots)
    if (slot.var != kNoVar) domain.ranges.push_back({slot.var, slot.lo, slot.hi});
  domain = narrowed(domain, facts);
  if (domain.where.kind == Guard::Kind::any && domain.where.of.empty()) return std::nullopt;
  Equation out = equation;
  out.where = domain.where;
  auto range = domain.ranges.begin();
  for (Slot& slot : out.slots)
    if (slot.var != kNoVar) slot.lo = range->lo, slot.hi = range->hi, ++range;
  return without_unit_ranges(program, std::move(out));
}

}  // namespace

Program without_unneeded_elements(const Program& program) {
  const ElementFinder finder(program);
  const AffineFacts facts(program);
  Program out = program;
  out.equations.clear();
  for (const Equation& equation : program.equations) {
    const std::vector<IndexBox> boxes = finder.cut_of(equation);
    if (boxes.empty()) out.equations.push_back(equation);
    for (const IndexBox& box : boxes)
      if (auto part = cut(program, equation, box, facts)) out.equations.push_back(*std::move(part));
  }
  return out;
}

}  // namespace polyweft::ir
