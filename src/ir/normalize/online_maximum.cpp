#include "ir/normalize/online_maximum.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/normalize/hidden_tensors.h"
#include "ir/normalize/needed.h"
#include "ir/values/scalar.h"
#include "ir/values/scope.h"
#include "ir/values/variables.h"

namespace polyweft::ir {
namespace {

Error no_online_form(const std::string& tensor, const std::string& why) {
  return fail("PW0308", "online " + tensor + ": " + why);
}

std::vector<EquationId> readers_of(const Program& program, TensorId id) {
  std::vector<EquationId> out;
  for (EquationId q = 0; q < program.equations.size(); ++q) {
    bool reads = false;
    visit(program.equations[q].rhs,
          [&](const ExprNode& e) { reads = reads || (e.op == Op::read && e.access.id == id); });
    if (reads) out.push_back(q);
  }
  return out;
}

/// One equation for all of a local, with an index a slot and no conditions.
bool is_plain(const Program& program, const Equation& equation) {
  return equation.targets.size() == 1 && program.tensors[equation.targets[0]].kind == TensorKind::local &&
         makers_of(program, equation.targets[0]).size() == 1 && equation.where.is_true() &&
         std::all_of(equation.slots.begin(), equation.slots.end(), [](const Slot& s) { return s.var != kNoVar; });
}

/// The index that stands alone in each subscript.
std::optional<std::vector<VarId>> indices_alone(const Access& access) {
  std::vector<VarId> out;
  for (const Subscript& s : access.index) {
    if (s.data || s.affine.constant != 0 || s.affine.terms.size() != 1 || s.affine.terms[0].coeff != 1 ||
        s.affine.terms[0].quasi)
      return std::nullopt;
    out.push_back(s.affine.terms[0].var);
  }
  return out;
}

bool is_one_range(const ExprNode& reduce, Reducer reducer) {
  const Reduction& reduction = reduce.reduction;
  return reduce.op == Op::reduce && reduction.reducer == reducer && reduction.ranges.size() == 1 &&
         reduction.where.is_true() && reduction.ranges[0].lo.is_constant() && reduction.ranges[0].hi.is_constant();
}

/// Ranges of indices of an equation, slots and reduced ones.
std::map<VarId, IndexRange> ranges_of(const Equation& equation) {
  std::map<VarId, IndexRange> out;
  for (const Slot& s : equation.slots)
    if (s.var != kNoVar) out[s.var] = {s.var, s.lo, s.hi};
  if (equation.rhs->op == Op::reduce)
    for (const IndexRange& range : equation.rhs->reduction.ranges) out[range.var] = range;
  return out;
}

/// A maximum of a local of one reduced index, and the terms below it.
class Below {
 public:
  Below(const Program& program, EquationId maximum)
      : program_(program), equation_(program.equations[maximum]), tensor_(equation_.targets[0]) {
    out_.maximum = maximum;
  }

  std::optional<BelowMaximum> run() {
    const ExprNode& reduce = *equation_.rhs;
    if (!is_plain(program_, equation_) || !is_one_range(reduce, Reducer::max) ||
        (reduce.type != ElementType::f32 && reduce.type != ElementType::f64))
      return std::nullopt;
    range_ = reduce.reduction.ranges[0];
    out_.extent = range_.hi.constant - range_.lo.constant;
    if (out_.extent < 2 * kLeastOnlineBlock) return std::nullopt;
    for (EquationId q : readers_of(program_, tensor_))
      if (!admits_reader(q)) return std::nullopt;
    if (out_.sums.empty()) return std::nullopt;
    const auto has_own_indices = [&](EquationId q) {
      return program_.equations[q].slots.size() > equation_.slots.size();
    };
    if (std::count_if(out_.sums.begin(), out_.sums.end(), has_own_indices) > 1) return std::nullopt;
    return out_;
  }

  /// exp(a[p', k'] - m[p']): the indices p', then k'.
  std::optional<std::vector<VarId>> exponential(const Expr& e) const {
    if (e->op != Op::exp || e->args[0]->op != Op::sub) return std::nullopt;
    const Expr &term = e->args[0]->args[0], &below = e->args[0]->args[1];
    if (below->op != Op::read || below->access.id != tensor_) return std::nullopt;
    auto indices = indices_alone(below->access);
    if (!indices) return std::nullopt;
    std::map<VarId, Affine> renamed;
    for (size_t k = 0; k < indices->size(); ++k) renamed[equation_.slots[k].var] = Affine::variable((*indices)[k]);
    for (VarId var : free_variables(term)) {
      if (var < program_.index_var(0) || contains(*indices, var)) continue;
      std::map<VarId, Affine> all = renamed;
      all[range_.var] = Affine::variable(var);
      if (!equal(substitute(equation_.rhs->args[0], all), term)) return std::nullopt;
      indices->push_back(var);
      return indices;
    }
    return std::nullopt;
  }

  bool has_ranges(const Equation& equation, const std::vector<VarId>& indices) const {
    const auto ranges = ranges_of(equation);
    for (size_t k = 0; k < indices.size(); ++k) {
      const bool is_last = k + 1 == indices.size();
      const IndexRange& range = ranges.at(indices[k]);
      const Affine &lo = is_last ? range_.lo : equation_.slots[k].lo, &hi = is_last ? range_.hi : equation_.slots[k].hi;
      if (!(range.lo == lo) || !(range.hi == hi) || !lo.is_constant() || !hi.is_constant()) return false;
    }
    return true;
  }

  /// The exponential as a factor of a sum's term: itself, or a read of it; the indices p, then k.
  std::optional<std::vector<VarId>> weight(const Expr& factor) const {
    if (auto direct = exponential(factor)) return direct;
    if (factor->op != Op::read) return std::nullopt;
    for (EquationId q : out_.weights) {
      const Equation& maker = program_.equations[q];
      if (maker.targets[0] != factor->access.id) continue;
      const auto at = indices_alone(factor->access), own = exponential(maker.rhs);
      if (!at || !own) return std::nullopt;
      std::vector<VarId> out;
      for (VarId var : *own)
        for (size_t d = 0; d < maker.slots.size(); ++d)
          if (maker.slots[d].var == var) out.push_back((*at)[d]);
      return out;
    }
    return std::nullopt;
  }

  /// Of a sum's term, the factor that is an exponential below the maximum; null where it has none, or several.
  Expr factor_of(const Equation& sum) const {
    const VarId reduced = sum.rhs->reduction.ranges[0].var;
    Expr out;
    std::vector<Expr> open = {sum.rhs->args[0]};
    while (!open.empty()) {
      const Expr e = open.back();
      open.pop_back();
      const auto found = weight(e);
      if (found && !out && found->back() == reduced && has_ranges(sum, *found))
        out = e;
      else if (e->op == Op::mul)
        open.insert(open.end(), e->args.begin(), e->args.end());
      else if (depends(e))
        return nullptr;
    }
    return out;
  }

 private:
  bool depends(const Expr& e) const {
    bool out = false;
    visit(e, [&](const ExprNode& node) {
      if (node.op != Op::read) return;
      out = out || node.access.id == tensor_ ||
            std::any_of(out_.weights.begin(), out_.weights.end(),
                        [&](EquationId q) { return program_.equations[q].targets[0] == node.access.id; });
    });
    return out;
  }

  bool admits_sum(EquationId q) {
    const Equation& sum = program_.equations[q];
    if (!is_plain(program_, sum) || !is_one_range(*sum.rhs, Reducer::sum) || sum.rhs->type != equation_.rhs->type ||
        !factor_of(sum))
      return false;
    const auto slots_first = indices_of_slots(sum);
    const auto indices = *weight(factor_of(sum));
    // Its slots are those of the maximum, in this order, and then its own.
    if (slots_first.size() < equation_.slots.size() ||
        !std::equal(indices.begin(), indices.end() - 1, slots_first.begin()))
      return false;
    for (size_t d = indices.size() - 1; d < sum.slots.size(); ++d)
      if (!sum.slots[d].lo.is_constant() || !sum.slots[d].hi.is_constant()) return false;
    if (!contains(out_.sums, q)) out_.sums.push_back(q);
    return true;
  }

  static std::vector<VarId> indices_of_slots(const Equation& equation) {
    std::vector<VarId> out;
    for (const Slot& s : equation.slots) out.push_back(s.var);
    return out;
  }

  bool admits_reader(EquationId q) {
    const Equation& equation = program_.equations[q];
    if (const auto own = exponential(equation.rhs)) {
      if (!is_plain(program_, equation) || equation.slots.size() != own->size() || !has_ranges(equation, *own))
        return false;
      out_.weights.push_back(q);
      const auto readers = readers_of(program_, equation.targets[0]);
      return std::all_of(readers.begin(), readers.end(), [&](EquationId r) { return admits_sum(r); });
    }
    if (equation.rhs->op == Op::reduce && equation.rhs->reduction.reducer == Reducer::sum) return admits_sum(q);
    // Others may read the maximum itself, but take no exponential below it.
    bool has_exponential = false;
    visit(equation.rhs, [&](const ExprNode& e) {
      has_exponential = has_exponential || exponential(std::make_shared<ExprNode>(e)).has_value();
    });
    return !has_exponential && equation.rhs->op != Op::reduce;
  }

  const Program& program_;
  const Equation& equation_;
  TensorId tensor_;
  IndexRange range_;
  BelowMaximum out_;
};

/// Writes the form.
class OnlineWriter {
 public:
  OnlineWriter(const Program& program, const BelowMaximum& below, int64_t block)
      : source_(program),
        out_(program),
        below_(below),
        block_(block),
        maximum_(program.equations[below.maximum]),
        type_(maximum_.rhs->type) {}

  Program run() {
    const size_t p = maximum_.slots.size();
    blocks_ = below_.extent / block_;
    const TensorId x = declared(name_of(maximum_.targets[0], "x"), p + 1),
                   e = declared(name_of(maximum_.targets[0], "e"), p + 2);
    add_block_maximum(x);
    add_weights(e, x);
    wide_ = below_.sums.front();
    for (EquationId q : below_.sums)
      if (source_.equations[q].slots.size() > p) wide_ = q;
    std::vector<TensorId> parts;
    for (EquationId q : below_.sums) parts.push_back(add_part(q, e));
    add_tuple(x, parts);
    replace_reads();
    drop_equations();
    return without_unneeded(out_);
  }

 private:
  std::string name_of(TensorId of, const std::string& kind) const { return source_.tensors[of].name + "." + kind; }

  TensorId declared(const std::string& wanted, size_t rank) {
    std::string name = wanted;
    for (int k = 1; has_tensor(out_, name); ++k) name = wanted + std::to_string(k);
    return add_hidden(out_, std::move(name), type_, rank);
  }

  Affine var(size_t k) const { return Affine::variable(out_.index_var(static_cast<uint32_t>(k))); }
  VarId var_id(size_t k) const { return out_.index_var(static_cast<uint32_t>(k)); }

  Expr read(TensorId id, const std::vector<Affine>& index) const {
    Access access{id, {}};
    for (const Affine& e : index) access.index.push_back({e, nullptr, {}, {}});
    return make_read(out_.tensors[id].type, std::move(access), maximum_.where_defined);
  }

  /// The indices of the maximum's slots, their names and ranges, as the first ones of an equation.
  Equation begun(TensorId target) const {
    Equation out;
    out.targets = {target};
    out.where_defined = maximum_.where_defined;
    for (size_t k = 0; k < maximum_.slots.size(); ++k) {
      out.slots.push_back({var_id(k), maximum_.slots[k].lo, maximum_.slots[k].hi, {}});
      out.index_names.push_back(name_of_index(maximum_, maximum_.slots[k].var));
    }
    return out;
  }
  std::string name_of_index(const Equation& equation, VarId var) const {
    return equation.index_names[var - source_.index_var(0)];
  }
  std::string reduced_name() const { return name_of_index(maximum_, maximum_.rhs->reduction.ranges[0].var); }
  std::string block_name(const Equation& equation) const {
    std::string out = reduced_name() + "b";
    while (std::find(equation.index_names.begin(), equation.index_names.end(), out) != equation.index_names.end())
      out += "b";
    return out;
  }
  void add_slot(Equation& equation, std::string name, Affine lo, Affine hi) const {
    equation.slots.push_back({var_id(equation.slots.size()), std::move(lo), std::move(hi), {}});
    equation.index_names.push_back(std::move(name));
  }
  void add_block_slot(Equation& equation) const {
    add_slot(equation, block_name(equation), Affine::of(0), Affine::of(blocks_));
  }

  /// lo + W * b + j
  Affine place(size_t b, size_t j) const { return maximum_.rhs->reduction.ranges[0].lo + block_ * var(b) + var(j); }
  /// The maximum's term at indices 0 .. of an equation that has b and j there.
  Expr term(size_t b, size_t j) const {
    std::map<VarId, Affine> map;
    for (size_t k = 0; k < maximum_.slots.size(); ++k) map[maximum_.slots[k].var] = var(k);
    map[maximum_.rhs->reduction.ranges[0].var] = place(b, j);
    return substitute(maximum_.rhs->args[0], map);
  }

  Expr reduced(const Expr& like, size_t j, Expr body) const {
    auto copy = std::make_shared<ExprNode>(*like);
    copy->reduction.ranges = {{var_id(j), Affine::of(0), Affine::of(block_)}};
    copy->args = {std::move(body)};
    return copy;
  }

  void add_block_maximum(TensorId x) {
    const size_t p = maximum_.slots.size();
    Equation made = begun(x);
    add_block_slot(made);
    made.index_names.push_back(reduced_name());
    made.rhs = reduced(maximum_.rhs, p + 1, term(p, p + 1));
    out_.equations.push_back(std::move(made));
  }

  Expr number(double value) const { return make_literal(float_literal(type_, value)); }
  Expr is_least(const Expr& e) const {
    return make_op(Op::eq, ElementType::boolean, {e, number(-std::numeric_limits<double>::infinity())});
  }
  /// 0 where it is -inf: what is subtracted from -inf leaves -inf then, and its exponential is 0.
  Expr or_zero(const Expr& e) const { return make_op(Op::select, type_, {is_least(e), number(0), e}); }
  Expr exp_below(const Expr& e, const Expr& below) const {
    return make_op(Op::exp, type_, {make_op(Op::sub, type_, {e, below})});
  }

  void add_weights(TensorId e, TensorId x) {
    const size_t p = maximum_.slots.size();
    Equation made = begun(e);
    add_block_slot(made);
    add_slot(made, reduced_name(), Affine::of(0), Affine::of(block_));
    std::vector<Affine> at;
    for (size_t k = 0; k <= p; ++k) at.push_back(var(k));
    made.rhs = exp_below(term(p, p + 1), or_zero(read(x, at)));
    out_.equations.push_back(std::move(made));
  }

  /// The part of a sum that a block has: its slots with the block behind those of the maximum.
  TensorId add_part(EquationId q, TensorId e) {
    const Equation& sum = source_.equations[q];
    const size_t p = maximum_.slots.size(), own = sum.slots.size() - p, j = p + 1 + own;
    const TensorId id = declared(name_of(sum.targets[0], "b"), p + 1 + own);
    Equation made = begun(id);
    add_block_slot(made);
    std::map<VarId, Affine> map;
    for (size_t k = 0; k < p; ++k) map[sum.slots[k].var] = var(k);
    for (size_t k = 0; k < own; ++k) {
      const Slot& slot = sum.slots[p + k];
      map[slot.var] = var(p + 1 + k);
      add_slot(made, name_of_index(sum, slot.var), slot.lo, slot.hi);
    }
    const VarId reduced_index = sum.rhs->reduction.ranges[0].var;
    made.index_names.push_back(name_of_index(sum, reduced_index));
    map[reduced_index] = place(p, j);
    std::vector<Affine> at;
    for (size_t k = 0; k <= p; ++k) at.push_back(var(k));
    at.push_back(var(j));
    const Expr weight = Finder(source_, below_).factor_of(sum);
    made.rhs = reduced(sum.rhs, j, with_factor(sum.rhs->args[0], weight, read(e, at), map));
    out_.equations.push_back(std::move(made));
    return id;
  }

  /// The term with its weight replaced, everything else moved to the new indices.
  static Expr with_factor(const Expr& e, const Expr& weight, const Expr& instead, const std::map<VarId, Affine>& map) {
    if (e == weight) return instead;
    if (e->op != Op::mul) return substitute(e, map);
    auto copy = std::make_shared<ExprNode>(*e);
    for (Expr& arg : copy->args) arg = with_factor(arg, weight, instead, map);
    return copy;
  }

  /// What factor_of needs to know of weights.
  struct Finder {
    Finder(const Program& program, const BelowMaximum& below) : known(program, below.maximum) { known.run(); }
    Expr factor_of(const Equation& sum) const { return known.factor_of(sum); }
    Below known;
  };

  uint32_t add_combiner(size_t sums) {
    Combiner made;
    made.name = "online";
    for (int k = 1;
         std::any_of(out_.combiners.begin(), out_.combiners.end(),
                     [&](const Combiner& c) { return c.name == made.name; }) ||
         std::any_of(out_.tensors.begin(), out_.tensors.end(), [&](const Tensor& t) { return t.name == made.name; });
         ++k)
      made.name = "online" + std::to_string(k);
    const size_t n = sums + 1;
    const auto component = [&](size_t k) {
      auto node = std::make_shared<ExprNode>();
      node->op = Op::variable;
      node->type = type_;
      node->var = static_cast<VarId>(k);
      return Expr(node);
    };
    const Expr greater = make_op(Op::max, type_, {component(0), component(n)}), common = or_zero(greater);
    const Expr left = exp_below(component(0), common), right = exp_below(component(n), common);
    for (size_t k = 0; k < n; ++k) {
      made.left.push_back("l" + std::to_string(k));
      made.right.push_back("r" + std::to_string(k));
      made.types.push_back(type_);
      made.identity.push_back(float_literal(type_, k == 0 ? -std::numeric_limits<double>::infinity() : 0));
      made.result.push_back(k == 0 ? greater
                                   : make_op(Op::add, type_,
                                             {make_op(Op::mul, type_, {component(k), left}),
                                              make_op(Op::mul, type_, {component(n + k), right})}));
    }
    made.associative = made.commutative = true;
    out_.combiners.push_back(std::move(made));
    return static_cast<uint32_t>(out_.combiners.size() - 1);
  }

  void add_tuple(TensorId x, const std::vector<TensorId>& parts) {
    const size_t p = maximum_.slots.size();
    const Equation& wide = source_.equations[wide_];
    const size_t own = wide.slots.size() - p, b = p + own;
    Equation made = begun(0);
    made.targets.clear();
    for (size_t k = 0; k < own; ++k)
      add_slot(made, name_of_index(wide, wide.slots[p + k].var), wide.slots[p + k].lo, wide.slots[p + k].hi);
    made.targets.push_back(declared(name_of(maximum_.targets[0], "m"), made.slots.size()));
    tuple_of_[maximum_.targets[0]] = made.targets.back();
    for (EquationId q : below_.sums) {
      const TensorId of = source_.equations[q].targets[0];
      made.targets.push_back(declared(name_of(of, "s"), made.slots.size()));
      tuple_of_[of] = made.targets.back();
    }
    std::vector<Affine> at;
    for (size_t k = 0; k < p; ++k) at.push_back(var(k));
    at.push_back(var(b));
    auto reduce = std::make_shared<ExprNode>();
    reduce->op = Op::reduce;
    reduce->type = type_;
    reduce->where = maximum_.rhs->where;
    reduce->reduction.reducer = Reducer::combiner;
    reduce->reduction.combiner = add_combiner(parts.size());
    reduce->reduction.ranges = {{var_id(b), Affine::of(0), Affine::of(blocks_)}};
    reduce->args.push_back(read(x, at));
    for (size_t k = 0; k < parts.size(); ++k) {
      std::vector<Affine> of_part = at;
      if (below_.sums[k] == wide_)
        for (size_t d = 0; d < own; ++d) of_part.push_back(var(p + d));
      reduce->args.push_back(read(parts[k], of_part));
    }
    made.index_names.push_back(block_name(made));
    made.rhs = std::move(reduce);
    out_.equations.push_back(std::move(made));
  }

  /// Reads of the maximum and of the sums become reads of the tuple's tensors. One without own indices is the same for
  /// all values of the others' indices: it is read beside a sum that has them, where there is one.
  void replace_reads() {
    const TensorId wide = source_.equations[wide_].targets[0];
    for (EquationId q = 0; q < source_.equations.size(); ++q) {
      const Expr& rhs = source_.equations[q].rhs;
      out_.equations[q].rhs = rewrite(rhs, [&](const Expr& e) -> Expr {
        if (e->op != Op::read || !tuple_of_.contains(e->access.id)) return nullptr;
        Access access = e->access;
        if (access.index.size() < source_.equations[wide_].slots.size()) append_own(access, rhs, wide);
        access.id = tuple_of_.at(maximum_.targets[0]);
        const Expr greatest = make_read(type_, access, e->where);
        if (e->access.id == maximum_.targets[0]) return greatest;
        access.id = tuple_of_.at(e->access.id);
        return make_op(
            Op::select, type_,
            {is_least(greatest), number(std::numeric_limits<double>::quiet_NaN()), make_read(type_, access, e->where)},
            e->where);
      });
    }
  }

  void append_own(Access& access, const Expr& rhs, TensorId wide) const {
    const size_t p = access.index.size();
    const Equation& maker = source_.equations[wide_];
    std::vector<Subscript> own;
    for (size_t k = p; k < maker.slots.size(); ++k) own.push_back({maker.slots[k].lo, nullptr, {}, {}});
    visit(rhs, [&](const ExprNode& e) {
      if (e.op != Op::read || e.access.id != wide) return;
      for (size_t k = 0; k < p; ++k)
        if (!(e.access.index[k].affine == access.index[k].affine) || e.access.index[k].data) return;
      own.assign(e.access.index.begin() + static_cast<std::ptrdiff_t>(p), e.access.index.end());
    });
    access.index.insert(access.index.end(), own.begin(), own.end());
  }

  void drop_equations() {
    std::vector<EquationId> gone = below_.sums;
    gone.insert(gone.end(), below_.weights.begin(), below_.weights.end());
    gone.push_back(below_.maximum);
    std::sort(gone.rbegin(), gone.rend());
    for (EquationId q : gone) out_.equations.erase(out_.equations.begin() + q);
  }

  const Program& source_;
  Program out_;
  const BelowMaximum& below_;
  int64_t block_;
  const Equation& maximum_;
  ElementType type_;
  int64_t blocks_ = 0;
  EquationId wide_ = 0;
  std::map<TensorId, TensorId> tuple_of_;
};

}  // namespace

std::optional<BelowMaximum> below_maximum(const Program& program, EquationId maximum) {
  return Below(program, maximum).run();
}

Result<Program> with_online_maximum(const Program& program, const OnlineMaximum& online) {
  if (online.maximum >= program.tensors.size()) return fail("PW0605", "online: of nothing that the program has");
  const std::string& name = program.tensors[online.maximum].name;
  const auto makers = makers_of(program, online.maximum);
  const auto below = makers.size() == 1 ? below_maximum(program, makers[0]) : std::nullopt;
  if (!below) return no_online_form(name, "it is no maximum over one index with sums of exponentials below it alone");
  if (online.block < kLeastOnlineBlock)
    return no_online_form(name, "a block has at least " + std::to_string(kLeastOnlineBlock) + " values, not " +
                                    std::to_string(online.block));
  if (below->extent % online.block != 0 || below->extent < 2 * online.block)
    return no_online_form(name, std::to_string(below->extent) + " values are not two or more whole blocks of " +
                                    std::to_string(online.block));
  return OnlineWriter(program, *below, online.block).run();
}

Result<Program> with_online_maxima(Program program, const std::vector<OnlineMaximum>& online) {
  for (const OnlineMaximum& each : online) {
    auto next = with_online_maximum(program, each);
    if (!next) return next;
    program = std::move(*next);
  }
  return program;
}

}  // namespace polyweft::ir
