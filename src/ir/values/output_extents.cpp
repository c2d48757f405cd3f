#include "ir/values/output_extents.h"

#include <algorithm>

#include "ir/values/index_boxes.h"
#include "support/integer_division.h"

namespace polyweft::ir {
namespace {

class Maximum {
 public:
  Maximum(const Program& bound, const Equation& equation, const Affine& e, int64_t most_boxes)
      : e_(e), left_(most_boxes) {
    for (const Parameter& p : bound.parameters) start_.push_back({p.value, p.value});
    start_.resize(bound.parameters.size() + equation.index_names.size());
    for (const Slot& slot : equation.slots) {
      if (slot.var == kNoVar) continue;
      slots_.push_back(slot.var);
      start_[slot.var] = {values_of(slot.lo, start_).lo, values_of(slot.hi, start_).hi - 1};
      add(guard_ge0(Affine::variable(slot.var) - slot.lo));
      add(guard_ge0(slot.hi - Affine::of(1) - Affine::variable(slot.var)));
    }
    add(equation.where);
  }

  /// False where the boxes were spent.
  bool run() { return search(start_); }
  std::optional<int64_t> best() const { return best_ ? std::optional(static_cast<int64_t>(*best_)) : std::nullopt; }

 private:
  void add(const Guard& g) {
    if (g.kind == Guard::Kind::all)
      conditions_.insert(conditions_.end(), g.of.begin(), g.of.end());
    else
      conditions_.push_back(g);
  }

  Truth truth(const IndexBox& box) const {
    Truth out = Truth::yes;
    for (const Guard& g : conditions_) {
      const Truth one = truth_of(g, box);
      if (one == Truth::no) return one;
      if (one == Truth::open) out = one;
    }
    return out;
  }

  /// Of what is to be maximized first, then the narrowest.
  std::optional<VarId> variable_to_halve(const IndexBox& box) const {
    std::vector<VarId> wanted;
    collect_variables(e_, wanted);
    std::optional<VarId> out;
    bool is_wanted = false;
    for (VarId var : slots_) {
      if (box[var].is_point()) continue;
      const bool is_one = std::find(wanted.begin(), wanted.end(), var) != wanted.end();
      if (out && (is_wanted && !is_one)) continue;
      if (!out || (is_one && !is_wanted) || box[var].hi - box[var].lo < box[*out].hi - box[*out].lo)
        out = var, is_wanted = is_one;
    }
    return out;
  }

  bool search(IndexBox box) {
    if (left_-- <= 0) return false;
    narrow(conditions_, box);
    if (is_empty(box)) return true;
    const Truth all = truth(box);
    const Wide most = values_of(e_, box).hi;
    if (all == Truth::no || (best_ && most <= *best_)) return true;
    const std::optional<VarId> var = variable_to_halve(box);
    if (all == Truth::yes && (!var || e_.is_linear())) return best_ = most, true;
    PW_CHECK(var);
    const Values whole = box[*var];
    const Wide middle = floor_quotient<Wide>(whole.lo + whole.hi, 2);
    const Values below{whole.lo, middle}, above{middle + 1, whole.hi};
    const bool rises = !e_.is_linear() || e_.coefficient(*var) >= 0;
    for (const Values& half : rises ? std::vector<Values>{above, below} : std::vector<Values>{below, above}) {
      box[*var] = half;
      if (!search(box)) return false;
    }
    return true;
  }

  const Affine e_;
  int64_t left_;
  IndexBox start_;
  std::vector<VarId> slots_;
  std::vector<Guard> conditions_;
  std::optional<Wide> best_;
};

}  // namespace

Result<std::optional<int64_t>> greatest_value(const Program& bound, const Equation& equation, const Affine& e,
                                              int64_t most_boxes) {
  Maximum maximum(bound, equation, e, most_boxes);
  if (maximum.run()) return maximum.best();
  return fail("PW0838",
              bound.name + ": the extents of " + bound.tensors[equation.targets.front()].name +
                  " are not found: the largest value of " + print(e, variable_names(bound, equation)) +
                  " is not decided within " + std::to_string(most_boxes) + " boxes",
              {"give the slot a range whose upper bound is a sum of parameters"});
}

Result<std::vector<int64_t>> output_extents(const Program& bound, TensorId output) {
  std::vector<int64_t> out(bound.tensors[output].rank, 0);
  for (const Equation& equation : bound.equations) {
    if (std::find(equation.targets.begin(), equation.targets.end(), output) == equation.targets.end()) continue;
    for (size_t d = 0; d < equation.slots.size(); ++d) {
      const Slot& slot = equation.slots[d];
      if (slot.var != kNoVar && slot.hi.is_constant()) {
        out[d] = std::max(out[d], slot.hi.constant);
        continue;
      }
      auto most = greatest_value(bound, equation, slot.var == kNoVar ? slot.position : Affine::variable(slot.var));
      if (!most) return most.error();
      if (*most) out[d] = std::max(out[d], **most + 1);
    }
  }
  return out;
}

Result<std::vector<std::vector<int64_t>>> output_extents(const Program& bound) {
  std::vector<std::vector<int64_t>> out;
  for (TensorId id : bound.outputs()) {
    auto one = output_extents(bound, id);
    if (!one) return one.error();
    out.push_back(*std::move(one));
  }
  return out;
}

}  // namespace polyweft::ir
