// index_set_split Y y, t mod 2: the instances of Y in classes of residues, each class a statement of its own, one after
// the other.
//
//   for y, t: if (y - t) % 2 == 0: Y[y] += X[(y - t) / 2] W[t]        for y, t: Y[2 y] += X[y - t] W[2 t]  ;  for y, t:
//   Y[2 y + 1] += X[y - t] W[2 t + 1]
//
// In a class the indices count its own values (y stands for 2 y + c), so that quotients are sums and conditions on
// residues are constants: a strided scatter (a transposed convolution) becomes dense stencils. index_set_split Y y at
// 1, 13 makes ranges instead: borders and interior, with those conditions that are not constants there.
//
// Legal by T9: no relation leads from an instance of one part to another's. Elements do not depend on elements of their
// own statement here, so what remains is that all folds of one element stay in one part.
#include <algorithm>
#include <numeric>

#include "ir/values/affine_facts.h"
#include "schedules/queries.h"
#include "schedules/steps.h"
#include "support/integer_division.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kMostResidues = 4096;  ///< looked at
constexpr size_t kMostSplitParts = 64;   ///< made

/// One part: the indices of the statement over the part's own, and the equation in those terms.
struct Part {
  std::map<VarId, Affine> map;
  std::vector<int64_t> residues;  ///< of the step's indices
  Equation equation;
  bool is_empty = false;       ///< no point of the domain
  bool folds_nothing = false;  ///< its reduction has no point
};

bool is_false(const Guard& g) {
  return g.kind == Guard::Kind::any && g.of.empty();
}

/// The values m * v + c in [lo, hi), by v.
void count_class(Affine& lo, Affine& hi, int64_t modulus, int64_t residue) {
  lo = Affine::of(ceil_quotient(lo.constant - residue, modulus));
  hi = Affine::of(ceil_quotient(hi.constant - residue, modulus));
}

bool is_reduced(const Stage& stage, uint32_t index) {
  return index >= stage.data_indices;
}

/// The range of an index in its equation; null bounds where there is none.
std::pair<Affine*, Affine*> range_of(Equation& equation, Reduction* reduction, VarId var) {
  for (Slot& slot : equation.slots)
    if (slot.var == var) return {&slot.lo, &slot.hi};
  if (reduction)
    for (IndexRange& range : reduction->ranges)
      if (range.var == var) return {&range.lo, &range.hi};
  return {nullptr, nullptr};
}

/// The equation with a range for each index of its slots again, where an earlier split made a position of it.
Equation with_ranges(const Program& program, const Stage& stage, Equation equation) {
  if (!stage.origin) return equation;
  for (Slot& slot : equation.slots)
    for (uint32_t k = 0; k < stage.data_indices; ++k)
      if (slot.var == kNoVar && slot.position.coefficient(program.index_var(k)) != 0)
        slot = Slot{program.index_var(k), slot.lo, slot.hi, {}};
  return equation;
}

/// The equation with its own indices replaced by the map; ranges of replaced indices are set by the caller.
void rewrite_by(Part& part) {
  Equation& e = part.equation;
  e.where = substitute(e.where, part.map);
  for (Slot& slot : e.slots) {
    slot.lo = substitute(slot.lo, part.map);
    slot.hi = substitute(slot.hi, part.map);
    if (slot.var == kNoVar) slot.position = substitute(slot.position, part.map);
  }
  if (e.rhs->op != Op::reduce) {
    e.rhs = substitute(e.rhs, part.map);
    return;
  }
  auto rhs = std::make_shared<ExprNode>(*e.rhs);
  for (IndexRange& range : rhs->reduction.ranges) {
    range.lo = substitute(range.lo, part.map);
    range.hi = substitute(range.hi, part.map);
  }
  rhs->reduction.where = substitute(rhs->reduction.where, part.map);
  part.folds_nothing = is_false(rhs->reduction.where);
  for (Expr& arg : rhs->args) arg = substitute(arg, part.map);
  e.rhs = std::move(rhs);
}

struct Splitter {
  const NestTemplate& t;
  const Stage& stage;
  const std::vector<uint32_t>& indices;
  std::string subject;

  VarId var(uint32_t index) const { return t.program.index_var(index); }

  /// Sets the range of an index: the part's own values.
  template <class F>
  void set_range(Part& part, uint32_t index, const F& f) const {
    std::shared_ptr<ExprNode> rhs;
    if (part.equation.rhs->op == Op::reduce) rhs = std::make_shared<ExprNode>(*part.equation.rhs);
    auto [lo, hi] = range_of(part.equation, rhs ? &rhs->reduction : nullptr, var(index));
    f(*lo, *hi);
    part.is_empty |= !is_reduced(stage, index) && lo->constant >= hi->constant;
    part.folds_nothing |= is_reduced(stage, index) && lo->constant >= hi->constant;
    if (rhs) part.equation.rhs = std::move(rhs);
  }
  Part residue_class(int64_t modulus, std::vector<int64_t> residues) const {
    Part part;
    part.equation = with_ranges(t.program, stage, equation_of(t, stage));
    for (size_t k = 0; k < indices.size(); ++k) {
      set_range(part, indices[k], [&](Affine& lo, Affine& hi) { count_class(lo, hi, modulus, residues[k]); });
      part.map[var(indices[k])] = Affine::variable(var(indices[k]), modulus) + Affine::of(residues[k]);
    }
    rewrite_by(part);
    part.is_empty |= is_false(part.equation.where);
    part.residues = std::move(residues);
    return part;
  }
  Part range_part(int64_t from, int64_t to) const {
    Part part;
    part.equation = with_ranges(t.program, stage, equation_of(t, stage));
    set_range(part, indices[0], [&](Affine& lo, Affine& hi) {
      lo = Affine::of(std::max(lo.constant, from));
      hi = Affine::of(std::min(hi.constant, to));
    });
    ir::AffineFacts facts(t.program);
    for (const Slot& slot : part.equation.slots)
      if (slot.var != kNoVar) facts = facts.with(IndexRange{slot.var, slot.lo, slot.hi});
    part.equation.where = facts.simplified(part.equation.where);
    part.is_empty |= is_false(part.equation.where);
    return part;
  }
  bool same_elements(const Part& a, const Part& b) const {
    for (size_t k = 0; k < indices.size(); ++k)
      if (!is_reduced(stage, indices[k]) && a.residues[k] != b.residues[k]) return false;
    return true;
  }
  /// The classes that have points; where no class of some elements folds anything, one that sets their first value.
  Result<std::vector<Part>> residue_classes(int64_t modulus) const {
    std::vector<Part> out;
    std::vector<int64_t> residues(indices.size(), 0);
    for (bool more = true; more;) {
      Part part = residue_class(modulus, residues);
      if (!part.is_empty) {
        auto same = std::find_if(out.begin(), out.end(), [&](const Part& other) { return same_elements(part, other); });
        if (same == out.end())
          out.push_back(std::move(part));
        else if (same->folds_nothing)
          *same = std::move(part);
        else if (!part.folds_nothing)
          if (auto status = refuse_two(*same, part); !status) return status.error();
      }
      size_t k = residues.size();
      while (k > 0 && ++residues[k - 1] == modulus) residues[--k] = 0;
      more = k > 0;
    }
    return out;
  }
  std::vector<Part> ranges(const std::vector<int64_t>& at) const {
    std::vector<Part> out;
    for (size_t k = 0; k <= at.size(); ++k)
      out.push_back(range_part(k ? at[k - 1] : INT64_MIN, k < at.size() ? at[k] : INT64_MAX));
    std::erase_if(out, [](const Part& part) { return part.is_empty; });
    return out;
  }
  std::vector<int64_t> in_statement(const Part& part, std::vector<int64_t> point) const {
    std::vector<int64_t> values(t.program.parameters.size(), 0);
    values.insert(values.end(), point.begin(), point.end());
    for (auto& [v, e] : part.map) point[v - var(0)] = evaluate(e, values);
    return point;
  }
  /// Folds of one element in two classes are refused, if there are such: the second nest would start the element again.
  Status refuse_two(const Part& a, const Part& b) const {
    NestTemplate scratch = t;
    std::vector<Stage> both;
    for (const Part* part : {&a, &b}) {
      scratch.program.equations.push_back(part->equation);
      both.push_back(fresh_stage(scratch, static_cast<EquationId>(scratch.program.equations.size() - 1)));
    }
    std::vector<std::string> notes;
    if (auto first = first_point(scratch, both[0])) {
      for (uint32_t k = 0; k < stage.data_indices; ++k) both[1].lo[k] = (*first)[k], both[1].hi[k] = (*first)[k] + 1;
      if (auto second = first_point(scratch, both[1]))
        notes.push_back(instance_text(t, stage, in_statement(a, *first)) + " and " +
                        instance_text(t, stage, in_statement(b, *second)) +
                        " fold into one element and lie in two classes");
    }
    notes.push_back("split data indices only, or those reduced ones whose residue they determine");
    return fail("PW0306", subject + ": the folds of an element would run in two nests", notes);
  }
};

Status check_stage(const NestTemplate& t, uint32_t id, const std::string& subject) {
  const Stage& stage = t.stages[id];
  const bool is_plain = std::all_of(stage.loops.begin(), stage.loops.end(), [](const TemplateLoop& loop) {
    return loop.mark == Mark{} && is_point_loop(loop);
  });
  if (!is_plain || stage.placement.kind != Placement::Kind::at_root || !used_depths(t, id).empty() ||
      !stage.ahead.empty())
    return fail("PW0304", subject + ": other steps shaped its loops already", {"split the index set first"});
  if (equation_of(t, stage).targets.size() != 1)
    return fail("PW0304", subject + ": it defines several tensors at once");
  for (const Stage& reader : t.stages)
    for (const Promotion& promotion : reader.promotions)
      if (promotion.tensor == equation_of(t, stage).targets[0])
        return fail("PW0304", subject + ": " + reader.name + " reads a promoted copy", {"split the index set first"});
  return Ok{};
}

Result<std::vector<uint32_t>> indices_of(const NestTemplate& t, const Stage& stage, const IndexSetSplitStep& step,
                                         const std::string& subject) {
  std::vector<uint32_t> out;
  double classes = 1;
  for (const std::string& name : step.indices) {
    auto index = index_named(t, stage, name);
    if (!index) return index.error();
    if (std::count(out.begin(), out.end(), *index))
      return fail("PW0304", subject + ": index " + name + " is named twice");
    Equation equation = with_ranges(t.program, stage, equation_of(t, stage));
    Reduction reduction = equation.rhs->op == Op::reduce ? equation.rhs->reduction : Reduction{};
    auto [lo, hi] = range_of(equation, &reduction, t.program.index_var(*index));
    if (!lo || !lo->is_constant() || !hi->is_constant())
      return fail("PW0304", subject + ": the range of " + name + " depends on other indices");
    out.push_back(*index);
    classes *= static_cast<double>(step.modulus);
  }
  if (step.modulus && classes > static_cast<double>(kMostResidues))
    return fail("PW0304", subject + ": more than 4096 classes",
                {"name fewer indices, or split them one after the other"});
  if (step.modulus) return out;
  if (out.size() != 1 || is_reduced(stage, out[0]))
    return fail("PW0304", subject + ": ranges are made of one data index",
                {"split S r at .. takes a reduced loop apart"});
  if (step.at.front() <= stage.lo[out[0]] || step.at.back() >= stage.hi[out[0]])
    return fail("PW0303",
                subject + ": the index runs from " + std::to_string(stage.lo[out[0]]) + " to " +
                    std::to_string(stage.hi[out[0]] - 1),
                {"split where a part of it begins"});
  return out;
}

/// The instances of the program's own equation, through a statement that may be a part itself.
Origin origin_of(const NestTemplate& t, const Stage& stage, const Part& part) {
  Origin out;
  out.equation = stage.origin ? stage.origin->equation : stage.equation;
  for (uint32_t k = 0; k < stage.lo.size(); ++k) {
    const Affine own = stage.origin ? stage.origin->instance[k] : Affine::variable(t.program.index_var(k));
    out.instance.push_back(substitute(own, part.map));
  }
  return out;
}

/// A slot whose index counts every other element is a position (its range stays beside it); ranges and conditions are
/// the stage's by now.
void place_slots(Equation& equation, const Origin& origin, VarId first) {
  for (Slot& slot : equation.slots)
    if (slot.var != kNoVar && !(origin.instance[slot.var - first] == Affine::variable(slot.var)))
      slot = Slot{kNoVar, slot.lo, slot.hi, origin.instance[slot.var - first]};
}

Stage stage_of_part(NestTemplate& t, const Stage& whole, const Part& part) {
  t.program.equations.push_back(part.equation);
  const auto id = static_cast<EquationId>(t.program.equations.size() - 1);
  Stage stage = fresh_stage(t, id);
  stage.data_indices = whole.data_indices;
  stage.origin = origin_of(t, whole, part);
  if (part.folds_nothing)
    for (size_t k = stage.data_indices; k < stage.lo.size(); ++k) stage.hi[k] = stage.lo[k];
  place_slots(t.program.equations[id], *stage.origin, t.program.index_var(0));
  return stage;
}

}  // namespace

Result<NestTemplate> index_set_split(NestTemplate t, const IndexSetSplitStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  const Stage stage = t.stages[*id];
  const std::string subject = "index_set_split " + stage.name;
  if (auto status = check_stage(t, *id, subject); !status) return status.error();
  auto indices = indices_of(t, stage, step, subject);
  if (!indices) return indices.error();
  const Splitter splitter{t, stage, *indices, subject};
  Result<std::vector<Part>> parts = step.modulus ? splitter.residue_classes(step.modulus) : splitter.ranges(step.at);
  if (!parts) return parts.error();
  if (parts->empty() || parts->size() > kMostSplitParts)
    return fail("PW0304", subject + ": " + std::to_string(parts->size()) + " parts", {"between 1 and 64 can be made"});
  std::vector<Stage> made;
  for (const Part& part : *parts) {
    made.push_back(stage_of_part(t, stage, part));
    made.back().name = stage.name + ".p" + std::to_string(made.size());
  }
  renumber_stages(t, *id, static_cast<int64_t>(made.size()) - 1);
  t.stages.erase(t.stages.begin() + *id);
  t.stages.insert(t.stages.begin() + *id, made.begin(), made.end());
  return t;
}

}  // namespace polyweft::schedules
