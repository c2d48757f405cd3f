#include "poly/check/checker.h"

#include <ctime>
#include <set>

#include "ir/nests/asynchronous.h"
#include "ir/normalize/online_maximum.h"
#include "poly/check/branches.h"
#include "poly/check/folds.h"
#include "poly/check/padding.h"
#include "poly/check/races.h"
#include "poly/check/sharing.h"

namespace polyweft::poly::checker {
namespace {

class Proof {
 public:
  Proof(Context& context, const Program& program, const LoopNest& nest, bool by_arithmetic)
      : context_(context), program_(program), nest_(nest), by_arithmetic_(by_arithmetic) {}

  /// `has_no_races`: that is known of a nest that has these statements and more.
  void whole(bool has_no_races = false) {
    arguments();
    for (const Buffer& b : nest_.buffers) constant(b);
    statements_ = statements_of(context_, nest_);
    add_results();
    Flow flow(context_, program_, nest_, statements_, by_arithmetic_);
    each_by_itself(flow);
    if (!has_no_races) prove_no_races(context_, nest_, statements_, flow, uses_, when_);
    std::vector<Use> results;
    for (size_t k = 0; k < results_.size(); ++k) results.push_back({result_of_[k], &results_[k], false});
    prove_apart_in_time(nest_, statements_, uses_, results);
    values(flow);
  }

  /// All but the values that are read.
  void bodies_and_cells() {
    statements_ = statements_of(context_, nest_);
    Flow flow(context_, program_, nest_, statements_, by_arithmetic_);
    each_by_itself(flow);
    prove_no_races(context_, nest_, statements_, flow, uses_, when_);
  }

 private:
  void each_by_itself(Flow& flow) {
    collect_uses();
    for (const Statement& s : statements_.all) cells(s);
    for (const Statement& s : statements_.all) points_.push_back(good_part(s));
    std::vector<Set> good = points_;
    for (const Statement& s : statements_.all)
      if (s.compute)
        good[s.number] = unite(std::move(good[s.number]), neutral_folds(program_, s, flow, points_[s.number]));
    flow.set_good(good);
    for (const Statement& s : statements_.all) instance(s, good[s.number], points_[s.number]);
  }

  // --- the call ---
  void arguments() {
    if (program_.parameters.size() != nest_.params.size())
      throw Refuted{"PW0404", "the nest has other parameters than the program"};
    for (size_t p = 0; p < nest_.params.size(); ++p)
      if (program_.parameters[p].value != nest_.params[p].value)
        throw Refuted{"PW0404",
                      "the nest was made for " + nest_.params[p].name + " = " + std::to_string(nest_.params[p].value)};
    std::vector<TensorId> wanted = program_.inputs(), outputs = program_.outputs();
    size_t inputs = wanted.size();
    wanted.insert(wanted.end(), outputs.begin(), outputs.end());
    if (wanted.size() != nest_.arguments.size())
      throw Refuted{"PW0404", "the nest has another number of arguments than the program"};
    for (size_t k = 0; k < wanted.size(); ++k) argument(nest_.buffers[nest_.arguments[k]], wanted[k], k >= inputs);
    for (const Pack& p : nest_.packs) {
      argument_layout(nest_.buffers[p.source], nest_.buffers[p.packed].tensor);
      if (nest_.buffers[p.source].tensor != nest_.buffers[p.packed].tensor)
        throw Refuted{"PW0404", "a pack of another tensor"};
    }
  }

  void argument(const Buffer& b, TensorId tensor, bool is_output) const {
    const Tensor& t = program_.tensors[tensor];
    bool fits =
        b.tensor == tensor && b.is_output == is_output && b.type == t.type && (!b.is_packed || t.is_const_input);
    if (!fits) throw Refuted{"PW0404", "argument " + b.name + " does not stand for " + t.name};
    if (!b.is_packed)
      argument_layout(b, tensor);
    else
      require_pack(b);
  }

  void require_pack(const Buffer& b) const {
    for (const Pack& p : nest_.packs)
      if (&nest_.buffers[p.packed] == &b) return;
    throw Refuted{"PW0404", "argument " + b.name + " has no pack"};
  }

  /// Row-major, dense, one cell an element: what the caller hands over.
  void argument_layout(const Buffer& b, TensorId tensor) const {
    const Tensor& t = program_.tensors[tensor];
    bool plain = b.folds.empty() && b.layout.pieces == row_major(b.extents).pieces && b.type == t.type &&
                 b.element.size() == t.rank && b.extents.size() == t.rank;
    for (int64_t pad : b.layout.pad) plain = plain && pad == 0;
    for (uint32_t d = 0; plain && d < t.rank; ++d) {
      plain = b.element[d] == Affine::variable(kCellVar + d);
      if (plain && t.kind == TensorKind::input) plain = evaluate(t.shape[d], parameter_values()) == b.extents[d];
    }
    if (!plain) throw Refuted{"PW0404", "argument " + b.name + " has not the layout of the call"};
    if (b.values != promised_values(t))
      throw Refuted{"PW0404", "argument " + b.name + " has other promised values than the program"};
  }

  std::vector<int64_t> parameter_values() const {
    std::vector<int64_t> out;
    for (const Parameter& p : program_.parameters) out.push_back(p.value);
    return out;
  }

  void constant(const Buffer& b) const {
    if (b.scope != Scope::constant) return;
    bool fits = b.tensor < program_.tensors.size() && program_.tensors[b.tensor].kind == TensorKind::constant &&
                program_.tensors[b.tensor].data == b.data && b.element.size() == b.extents.size() && b.folds.empty() &&
                b.layout.pieces == row_major(b.extents).pieces;
    for (uint32_t d = 0; fits && d < b.element.size(); ++d)
      fits = b.element[d] == Affine::variable(kCellVar + d) &&
             evaluate(program_.tensors[b.tensor].shape[d], parameter_values()) == b.extents[d];
    if (!fits) throw Refuted{"PW0404", "constant " + b.name + " differs from the program's"};
  }

  // --- what must be there at the end ---
  /// One statement after all others for each output, over its cells; it reads the elements that the program defines.
  void add_results() {
    for (BufferId id : nest_.arguments) {
      const Buffer& b = nest_.buffers[id];
      if (!b.is_output) continue;
      size_t number = statements_.all.size(), rank = b.extents.size();
      Space space = named_space(context_, "S" + std::to_string(number), rank);
      Access access;
      access.id = id;
      for (VarId d = 0; d < rank; ++d) access.index.push_back({Affine::variable(d), nullptr, {}, {}});
      results_.push_back(std::move(access));
      statements_.all.push_back(
          {number, nullptr, nullptr, {}, {}, {Affine::of(int64_t{1} << 40)}, {}, {}, defined(b.tensor, space), space});
      result_of_.push_back(number);
    }
  }

  /// The elements of a tensor that equations define, in `space`.
  Set defined(TensorId tensor, const Space& space) const {
    Set all(isl_set_empty(space.copy()));
    for (const Equation& equation : program_.equations)
      for (TensorId target : equation.targets)
        if (target == tensor) all = unite(std::move(all), defined_by(equation, space));
    return all;
  }

  Set defined_by(const Equation& equation, const Space& space) const {
    Indices indices;
    for (VarId p = 0; p < program_.parameters.size(); ++p) indices[p] = Affine::of(program_.parameters[p].value);
    for (uint32_t d = 0; d < equation.slots.size(); ++d)
      if (equation.slots[d].var != kNoVar) indices[equation.slots[d].var] = Affine::variable(d);
    std::vector<Guard> all{domain_guard(equation, indices, false)};
    std::vector<Affine> element = element_of(equation, indices);
    for (uint32_t d = 0; d < element.size(); ++d) all.push_back(guard_eq0(element[d] - Affine::variable(d)));
    return holds(guard_all(all), space);
  }

  // --- accesses ---
  void use_reads(const Statement& s, const Expr& e, Guard guard) {
    if (!e) return;
    if (e->op == Op::guarded) {
      Guard here = s.over_dims(e->guard);
      use_reads(s, e->args[0], guard_all({guard, here}));
      use_reads(s, e->args[1], guard_all({guard, guard_not(here)}));
      return;
    }
    for (const Expr& arg : e->args) use_reads(s, arg, guard);
    for (const Subscript& sub : e->access.index) use_reads(s, sub.data, guard);
    if (e->op == Op::read) add_use(s, e->access, false, guard);
  }

  void add_use(const Statement& s, const Access& access, bool writes, Guard guard) {
    uses_.push_back({s.number, &access, writes});
    when_.push_back(guard.is_true() ? s.domain : intersect(s.domain, holds(guard, s.space)));
  }

  void collect_uses() {
    for (const Statement& s : statements_.all) {
      if (s.copy) {
        add_use(s, s.copy->dst, true, {});
        if (s.copy->has_src) add_use(s, s.copy->src, false, s.over_dims(s.copy->valid));
      }
      if (!s.compute) continue;
      bool reads_state = s.compute->how == Write::accumulate || s.compute->how == Write::merge;
      for (const Access& dst : s.compute->dst) {
        add_use(s, dst, true, {});
        if (reads_state) add_use(s, dst, false, {});
      }
      for (const Expr& e : s.compute->rhs) use_reads(s, e, {});
    }
  }

  void cells(const Statement& s) const {
    for (size_t u = 0; u < uses_.size(); ++u) {
      if (uses_[u].statement != s.number) continue;
      const Access& access = *uses_[u].access;
      std::vector<Coordinate> cell = logical_cell(s, access);
      for (size_t d = 0; d < cell.size(); ++d) {
        const Affine& last = cell[d].is_interval ? cell[d].last : cell[d].first;
        coordinate_inside(s, when_[u], cell[d].first, access, d);
        coordinate_inside(s, when_[u], Affine::of(nest_.buffers[access.id].extents[d] - 1) - last, access, d);
      }
    }
  }

  void coordinate_inside(const Statement& s, const Set& when, const Affine& room, const Access& access,
                         size_t d) const {
    if (room.is_constant() && room.constant >= 0) return;
    Set outside = intersect(when, holds(guard_ge0(Affine::of(-1) - room), s.space));
    if (is_empty(outside)) return;
    const Buffer& b = nest_.buffers[access.id];
    std::vector<int64_t> at = sample(outside);
    Coordinate c = logical_cell(s, access)[d];
    throw Refuted{"PW0404", "subscript " + std::to_string(d) + " of " + b.name + " is " +
                                std::to_string(evaluate(c.first, at)) + ", outside 0.." + std::to_string(b.extents[d])};
  }

  // --- instances and bodies ---
  Set good_part(const Statement& s) const {
    if (!s.compute) return s.domain;
    const Compute& c = *s.compute;
    if (c.equation >= program_.equations.size())
      throw Refuted{"PW0401", "a compute of an equation that the program has not"};
    const Equation& equation = program_.equations[c.equation];
    bool reduces = equation.rhs->op == Op::reduce;
    if (reduces != (c.how != Write::store))
      throw Refuted{"PW0401", "a compute writes " + program_.tensors[equation.targets[0]].name +
                                  " in another way than its equation"};
    if (reduces) reducer(c, equation);
    return intersect(s.domain,
                     holds(domain_guard(equation, indices_of(program_, s), c.how == Write::accumulate), s.space));
  }

  void reducer(const Compute& c, const Equation& equation) const {
    const Reduction& r = equation.rhs->reduction;
    bool fits = r.reducer == c.reducer &&
                (r.reducer != Reducer::combiner || (r.combiner == c.combiner && combiner_fits(c.combiner)));
    if (!fits)
      throw Refuted{"PW0402", "a compute folds " + program_.tensors[equation.targets[0]].name +
                                  " by another reducer than its equation"};
    if (c.fused && nest_.cls == NumericsClass::strict) throw Refuted{"PW0402", "a fused multiply-add in class strict"};
    if (c.fused && nest_.cls != NumericsClass::reassoc && c.rhs[0]->op != Op::mul)
      throw Refuted{"PW0402", "products of a sum folded one by one outside class reassoc"};
  }

  bool combiner_fits(uint32_t k) const {
    if (k >= nest_.combiners.size() || k >= program_.combiners.size()) return false;
    const Combiner &a = nest_.combiners[k], &b = program_.combiners[k];
    bool fits = a.types == b.types && a.identity == b.identity && a.result.size() == b.result.size();
    for (size_t i = 0; fits && i < a.result.size(); ++i) fits = equal(a.result[i], b.result[i]);
    return fits;
  }

  void instance(const Statement& s, const Set& good, const Set& points) {
    if (!s.compute) return;
    const Equation& equation = program_.equations[s.compute->equation];
    std::vector<Affine> element = element_of(equation, indices_of(program_, s));
    if (s.compute->dst.size() != equation.targets.size())
      throw Refuted{"PW0401", "a compute with another number of targets than its equation"};
    for (size_t k = 0; k < s.compute->dst.size(); ++k) {
      const Buffer& b = nest_.buffers[s.compute->dst[k].id];
      std::vector<Affine> cell = element_of_cell(s, b, s.compute->dst[k]);
      bool fits = b.tensor == equation.targets[k] && cell.size() == element.size();
      for (const Subscript& sub : s.compute->dst[k].index) fits = fits && !sub.data;
      for (size_t d = 0; fits && d < cell.size(); ++d) fits = agree(cell[d], element[d], good);
      if (!fits)
        throw Refuted{"PW0403", "an element of " + program_.tensors[equation.targets[k]].name +
                                    " is written to a cell of " + b.name + " that is said to hold something else"};
    }
    Bodies(program_, nest_).compare(s, points, reads_);
  }

  // --- values ---
  void values(Flow& flow) {
    Folds folds(context_, program_, nest_, statements_, flow, points_);
    for (size_t k = 0; k < results_.size(); ++k) {
      const Statement& s = statements_.all[result_of_[k]];
      TensorId tensor = nest_.buffers[results_[k].id].tensor;
      box_is_whole(s, tensor, results_[k].id);
      reads_.push_back({s.number, &results_[k], tensor, s.domain});
    }
    for (const Read& read : reads_) folds.wanted(read.statement, flow.origins(read));
    folds.prove();
    for (size_t u = 0; u < uses_.size(); ++u) overshoot(flow, u);
  }

  /// Iterations outside their equation's domain compute nothing of worth; still they may read only what something has
  /// written.
  void overshoot(Flow& flow, size_t u) {
    const Statement& s = statements_.all[uses_[u].statement];
    if (!s.compute || uses_[u].writes) return;
    Set outside = subtract(when_[u], flow.good(s.number));
    flow.require_written(s.number, *uses_[u].access, outside);
  }

  /// An output buffer has exactly the box of the defined elements; what a partial output leaves undefined is never
  /// written.
  void box_is_whole(const Statement& s, TensorId tensor, BufferId id) const {
    const Buffer& b = nest_.buffers[id];
    std::vector<Guard> inside;
    for (VarId d = 0; d < b.extents.size(); ++d) {
      inside.push_back(guard_ge0(Affine::variable(d)));
      inside.push_back(guard_ge0(Affine::of(b.extents[d] - 1) - Affine::variable(d)));
    }
    Set box = holds(guard_all(inside), s.space);
    if (!is_subset(s.domain, box)) throw Refuted{"PW0404", "output " + b.name + " is smaller than its tensor"};
    if (!program_.tensors[tensor].partial) {
      if (!is_subset(box, s.domain)) throw Refuted{"PW0404", "output " + b.name + " is larger than its tensor"};
      return;
    }
    for (size_t u = 0; u < uses_.size(); ++u) {
      const auto& within = nest_.buffers[uses_[u].access->id].within;
      if ((uses_[u].access->id != id && !(within && within->host == id)) || !uses_[u].writes) continue;
      const Statement& writer = statements_.all[uses_[u].statement];
      const auto cell = output_cell(nest_, id, writer, *uses_[u].access);
      if (!cell) throw Undecided{"which elements of " + b.name + " a buffer within it touches"};
      Map cells = map_of(writer.space, *cell, s.tuple());
      Set stray = subtract(apply(writer.domain, std::move(cells)), s.domain);
      if (!is_empty(stray))
        throw Refuted{"PW0401", "an element of " + b.name + " that the program leaves undefined is written"};
    }
  }

  Context& context_;
  const Program& program_;
  const LoopNest& nest_;
  bool by_arithmetic_;
  Statements statements_;
  std::vector<Access> results_;
  std::vector<size_t> result_of_;
  std::vector<Use> uses_;
  std::vector<Set> when_;
  std::vector<Set> points_;  ///< of each statement: the iterations that are points of its equation
  std::vector<Read> reads_;
};

/// Whether each statement of it passes by itself.
bool has_right_bodies(Context& context, const Program& program, const LoopNest& nest, bool by_arithmetic) {
  try {
    Proof(context, program, nest, by_arithmetic).bodies_and_cells();
    return true;
  } catch (const Refuted&) {  // by iterations, perhaps, that the nest as it is does not have
  } catch (const Undecided&) {
  }
  return false;
}

/// By way of a simpler nest that does the same, where there is one.
void prove(Context& context, const Program& program, const LoopNest& nest, bool by_arithmetic) {
  const auto simpler = without_twin_branches(context, program, nest);
  const bool is_enough = simpler && has_right_bodies(context, program, simpler->special, by_arithmetic);
  Proof(context, program, is_enough ? simpler->general : nest, by_arithmetic).whole(is_enough);
}

NestCheck judged(Context& context, const Program& program, const LoopNest& nest, bool by_arithmetic) {
  NestCheck out;
  Status rules = verify(nest);
  if (!rules) return {Verdict::refuted, rules.error().code, rules.error().message, 0, 0};
  if (const Status arrive = ir::verify_arrivals(nest); !arrive)
    return {arrive.error().code == "PW0409" ? Verdict::not_proven : Verdict::refuted, arrive.error().code,
            arrive.error().message, 0, 0};
  try {
    prove(context, program, nest, by_arithmetic);
    out.verdict = Verdict::proven;
  } catch (const Refuted& why) {
    out = {Verdict::refuted, why.code, why.message, 0, 0};
  } catch (const Undecided& why) {
    out = {Verdict::not_proven, "PW0409", why.message, 0, 0};
  } catch (const IslFailure&) {
    std::string why = context.quota_spent() ? "the quota of isl operations is spent" : "isl gave no result";
    out = {Verdict::not_proven, "PW0409", why, 0, 0};
  }
  return out;
}

/// Of this thread: what others do on the machine is no part of a proof's time.
double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

}  // namespace
}  // namespace polyweft::poly::checker

namespace polyweft::poly {
namespace {

/// The program in the form that the nest says it computes: equal in class reassoc alone (T11).
Result<Program> computed_form(const Program& program, const LoopNest& nest) {
  if (!nest.online.empty() && nest.cls != NumericsClass::reassoc)
    return fail("PW0406", std::string("a form of class reassoc in a nest of class ") + name_of(nest.cls));
  return ir::with_online_maxima(program, nest.online);
}

}  // namespace

NestCheck check_nest(const Program& program, const LoopNest& nest, const NestCheckLimits& limits) {
  const double start = checker::processor_ms();
  const auto form = computed_form(program, nest);
  if (!form) {
    NestCheck out;
    out.verdict = Verdict::refuted;
    out.code = form.error().code;
    out.message = form.error().message;
    return out;
  }
  Context context;
  context.set_quota(limits.isl_operations);
  NestCheck out = checker::judged(context, *form, nest, limits.by_arithmetic);
  out.isl_operations = context.operations(limits.isl_operations);
  out.ms = checker::processor_ms() - start;
  return out;
}

}  // namespace polyweft::poly
