#include "poly/check/bodies.h"

#include "ir/values/commutative.h"
#include "ir/values/exact.h"
#include "ir/values/slots.h"

namespace polyweft::poly::checker {
namespace {

constexpr size_t kMaxInlining = 8;

Affine position_of(const Slot& slot, const Indices& indices) {
  return substitute(ir::position_of(slot), indices);
}

/// The value of an expression that is an affine function of indices; nothing for other expressions.
std::optional<Affine> affine_value(const ExprNode& e, const Indices& variables) {
  if (e.type != ElementType::i64) return std::nullopt;
  if (e.op == Op::variable) return substitute(Affine::variable(e.var), variables);
  if (e.op == Op::affine) return substitute(e.affine, variables);
  if (e.op == Op::literal) return Affine::of(e.literal.i);
  return std::nullopt;
}

void add_range(std::vector<Guard>& all, const Affine& index, const Affine& lo, const Affine& hi,
               const Indices& indices) {
  all.push_back(guard_ge0(index - substitute(lo, indices)));
  all.push_back(guard_ge0(substitute(hi, indices) - index - Affine::of(1)));
}

}  // namespace

Indices indices_of(const Program& program, const Statement& s) {
  const Compute& c = *s.compute;
  const Equation& equation = program.equations[c.equation];
  Indices out;
  for (VarId p = 0; p < program.parameters.size(); ++p) out[p] = Affine::of(program.parameters[p].value);
  std::vector<VarId> order;
  for (const Slot& slot : equation.slots)
    if (slot.var != kNoVar) order.push_back(slot.var);
  if (c.how != Write::init && c.how != Write::merge) {
    order.clear();
    for (uint32_t k = 0; k < equation.index_names.size(); ++k) order.push_back(program.index_var(k));
  }
  if (order.size() != c.instance.size())
    throw Refuted{"PW0401", "a compute of equation " + std::to_string(c.equation) + " has " +
                                std::to_string(c.instance.size()) + " indices, the equation " +
                                std::to_string(order.size())};
  for (size_t k = 0; k < order.size(); ++k) out[order[k]] = s.over_dims(c.instance[k]);
  return out;
}

Guard domain_guard(const Equation& equation, const Indices& indices, bool reduced) {
  std::vector<Guard> all;
  for (const Slot& slot : equation.slots)
    if (slot.var != kNoVar) add_range(all, indices.at(slot.var), slot.lo, slot.hi, indices);
  all.push_back(substitute(equation.where, indices));
  if (reduced) {
    for (const IndexRange& range : equation.rhs->reduction.ranges)
      add_range(all, indices.at(range.var), range.lo, range.hi, indices);
    all.push_back(substitute(equation.rhs->reduction.where, indices));
  }
  return guard_all(std::move(all));
}

std::vector<Affine> element_of(const Equation& equation, const Indices& indices) {
  std::vector<Affine> out;
  for (const Slot& slot : equation.slots) out.push_back(position_of(slot, indices));
  return out;
}

std::vector<Affine> element_of_cell(const Statement& s, const Buffer& buffer, const Access& access) {
  std::map<VarId, Affine> cell = s.dims;
  for (uint32_t d = 0; d < access.index.size(); ++d) cell[kCellVar + d] = s.over_dims(access.index[d].affine);
  std::vector<Affine> out;
  for (const Affine& e : buffer.element) out.push_back(substitute(e, cell));
  return out;
}

bool agree(const Affine& a, const Affine& b, const Set& when) {
  Affine difference = a - b;
  if (difference.is_constant()) return difference.constant == 0 || is_empty(when);
  Space space(isl_set_get_space(when.get()));
  return is_empty(intersect(when, differs(difference, space)));
}

void Bodies::compare(const Statement& s, const Set& good, std::vector<Read>& reads) {
  const Compute& c = *s.compute;
  if (c.how == Write::init || is_empty(good)) return;
  const Equation& equation = program_.equations[c.equation];
  Indices indices = indices_of(program_, s);
  if (c.how == Write::merge) return compare_merged(s, good, equation, indices);
  std::vector<Expr> wanted{equation.rhs};
  if (c.how == Write::accumulate)
    wanted = equation.rhs->args;
  else if (equation.rhs->op == Op::tuple)
    wanted = equation.rhs->args;
  bool ranked = c.how == Write::accumulate && (c.reducer == Reducer::argmax || c.reducer == Reducer::argmin);
  if (ranked)
    for (const IndexRange& range : equation.rhs->reduction.ranges) wanted.push_back(make_variable(range.var));
  if (wanted.size() != c.rhs.size())
    throw Refuted{"PW0402", "equation " + std::to_string(c.equation) + " has another number of components"};
  for (size_t k = 0; k < wanted.size(); ++k) {
    if (same(c.rhs[k], wanted[k], good, {s, indices, reads, 0})) continue;
    throw Refuted{"PW0402", "the value stored for " + program_.tensors[equation.targets[k]].name +
                                " is not the right-hand side of its equation"};
  }
}

/// A merge adds what another cell holds of the same element, and nothing else; who made it is asked by Folds.
void Bodies::compare_merged(const Statement& s, const Set& good, const Equation& equation,
                            const Indices& indices) const {
  const Compute& c = *s.compute;
  bool fits = c.rhs.size() == equation.targets.size() && !c.fused;
  std::vector<Affine> element = element_of(equation, indices);
  for (size_t k = 0; fits && k < c.rhs.size(); ++k) {
    const ExprNode& e = *c.rhs[k];
    fits = e.op == Op::read && e.type == program_.tensors[equation.targets[k]].type &&
           nest_.buffers[e.access.id].tensor == equation.targets[k];
    for (const Subscript& sub : e.access.index) fits = fits && !sub.data;
    if (!fits) break;
    std::vector<Affine> cell = element_of_cell(s, nest_.buffers[e.access.id], e.access);
    fits = cell.size() == element.size();
    for (size_t d = 0; fits && d < cell.size(); ++d) fits = agree(cell[d], element[d], good);
  }
  if (!fits)
    throw Refuted{"PW0402", "a merge adds something else than an accumulator of the same element of " +
                                program_.tensors[equation.targets[0]].name};
}

bool Bodies::same(const Expr& nest, const Expr& wanted, const Set& when, const Here& here) {
  if (nest->op == Op::guarded || wanted->op == Op::guarded) return same_guarded(nest, wanted, when, here);
  if (same_index(nest, wanted, when, here)) return true;
  if (nest->op == Op::read && wanted->op == Op::read) {
    size_t before = here.reads.size();
    if (same_read(*nest, *wanted, when, here)) return true;
    here.reads.erase(here.reads.begin() + static_cast<std::ptrdiff_t>(before), here.reads.end());
  }
  if (wanted->op == Op::read) return same_inlined(nest, *wanted, when, here);
  if (nest->op == Op::fma && same_fused(*nest, *wanted, when, here)) return true;
  return same_operation(*nest, *wanted, when, here);
}

/// Where a guard of either side holds its `then` counts, elsewhere its `else`.
bool Bodies::same_guarded(const Expr& nest, const Expr& wanted, const Set& when, const Here& here) {
  bool in_nest = nest->op == Op::guarded;
  Guard guard = in_nest ? here.s.over_dims(nest->guard) : substitute(wanted->guard, here.indices);
  Set holding = intersect(when, holds(guard, here.s.space));
  Set rest = subtract(when, holding);
  auto side = [&](size_t k, const Set& part) {
    return is_empty(part) ||
           (in_nest ? same(nest->args[k], wanted, part, here) : same(nest, wanted->args[k], part, here));
  };
  return side(0, holding) && side(1, rest);
}

bool Bodies::same_index(const Expr& nest, const Expr& wanted, const Set& when, const Here& here) {
  auto have = affine_value(*nest, here.s.dims);
  auto want = affine_value(*wanted, here.indices);
  return have && want && agree(*have, *want, when);
}

bool Bodies::same_operation(const ExprNode& nest, const ExprNode& wanted, const Set& when, const Here& here) {
  if (nest.op != wanted.op || nest.type != wanted.type || nest.args.size() != wanted.args.size()) return false;
  if (nest.op == Op::literal) return nest.literal == wanted.literal;
  if (nest.args.empty()) return false;
  const bool is_exact = here.is_exact && (ir::is_exact_operator(wanted) || ir::is_exact_condition(wanted));
  const Here inside = {here.s, here.indices, here.reads, here.depth, is_exact};
  if (same_arguments(nest, wanted, false, when, inside)) return true;
  return ir::is_commutative(nest.op) && same_arguments(nest, wanted, true, when, inside);
}

bool Bodies::same_arguments(const ExprNode& nest, const ExprNode& wanted, bool swapped, const Set& when,
                            const Here& here) {
  size_t before = here.reads.size(), count = nest.args.size();
  for (size_t k = 0; k < count; ++k) {
    if (same(nest.args[k], wanted.args[swapped ? count - 1 - k : k], when, here)) continue;
    here.reads.erase(here.reads.begin() + static_cast<std::ptrdiff_t>(before), here.reads.end());
    return false;
  }
  return true;
}

/// fma(a, b, c) for a * b + c, fma(a, b, -c) for a * b - c and fma(-a, b, c) for c - a * b, which every class but
/// strict allows.
bool Bodies::same_fused(const ExprNode& nest, const ExprNode& wanted, const Set& when, const Here& here) {
  if (nest_.cls == NumericsClass::strict || (wanted.op != Op::add && wanted.op != Op::sub) || nest.type != wanted.type)
    return false;
  for (size_t product = 0; product < 2; ++product) {
    if (wanted.args[product]->op != Op::mul && wanted.args[product]->op != Op::read)
      continue;  // a read: of a product that was put in its place
    Expr factor = nest.args[0], addend = nest.args[2];
    if (wanted.op == Op::sub) {
      Expr& negative = product == 1 ? factor : addend;
      if (negative->op != Op::neg) continue;
      negative = negative->args[0];
    }
    size_t before = here.reads.size();
    Expr mul = make_op(Op::mul, nest.type, {factor, nest.args[1]});
    bool fits = same(mul, wanted.args[product], when, here) && same(addend, wanted.args[1 - product], when, here);
    if (fits) return true;
    here.reads.erase(here.reads.begin() + static_cast<std::ptrdiff_t>(before), here.reads.end());
  }
  return false;
}

bool Bodies::same_read(const ExprNode& nest, const ExprNode& wanted, const Set& when, const Here& here) {
  const Buffer& buffer = nest_.buffers[nest.access.id];
  if (buffer.tensor != wanted.access.id || nest.type != wanted.type ||
      buffer.element.size() != wanted.access.index.size())
    return false;
  std::vector<Affine> element = element_of_cell(here.s, buffer, nest.access);
  bool gathers = false;
  for (const Subscript& sub : nest.access.index) gathers |= sub.data != nullptr;
  for (const Subscript& sub : wanted.access.index) gathers |= sub.data != nullptr;
  if (gathers && nest.access.index.size() != element.size()) return false;
  for (size_t d = 0; d < element.size(); ++d) {
    static const Subscript kPlain;
    if (gathers) {
      Affine origin = buffer.element[d] - Affine::variable(kCellVar + static_cast<VarId>(d));
      std::vector<VarId> used;
      collect_variables(origin, used);
      for (VarId v : used)
        if (v >= kCellVar) return false;
    }
    if (!same_subscript(gathers ? nest.access.index[d] : kPlain, wanted.access.index[d], element[d], when, here))
      return false;
  }
  here.reads.push_back({here.s.number, &nest.access, buffer.tensor, when});
  return true;
}

bool Bodies::same_subscript(const Subscript& nest, const Subscript& wanted, const Affine& element, const Set& when,
                            const Here& here) {
  Affine want = substitute(wanted.affine, here.indices);
  if (!agree(element, want, when)) return false;
  if (!nest.data && !wanted.data) return true;
  if (!nest.data || !wanted.data) return false;
  Affine least = substitute(wanted.lo, here.indices) - here.s.over_dims(nest.lo);
  Affine greatest = here.s.over_dims(nest.hi) - substitute(wanted.hi, here.indices);
  Set inside = intersect(holds(guard_ge0(least), here.s.space), holds(guard_ge0(greatest), here.s.space));
  return is_subset(when, inside) &&
         same(nest.data, wanted.data, when, {here.s, here.indices, here.reads, here.depth, true});
}

/// The element wanted may stand written out: the right-hand side of the equation that defines it, with its indices
/// replaced.
bool Bodies::same_inlined(const Expr& nest, const ExprNode& wanted, const Set& when, const Here& here) {
  if (here.depth >= kMaxInlining) return false;
  for (const Subscript& sub : wanted.access.index)
    if (sub.data) return false;
  Set rest = when;
  for (const Equation& equation : program_.equations) {
    if (equation.targets.size() != 1 || equation.targets[0] != wanted.access.id || equation.rhs->op == Op::reduce)
      continue;
    if (here.is_exact && ir::is_exact_operator(*equation.rhs))
      return false;  // the element wraps, what stands in its place would not
    Indices indices;
    for (VarId p = 0; p < program_.parameters.size(); ++p) indices[p] = Affine::of(program_.parameters[p].value);
    std::vector<Guard> place;
    for (size_t d = 0; d < equation.slots.size(); ++d) {
      Affine at = substitute(wanted.access.index[d].affine, here.indices);
      if (equation.slots[d].var != kNoVar) indices[equation.slots[d].var] = at;
    }
    for (size_t d = 0; d < equation.slots.size(); ++d)
      if (equation.slots[d].var == kNoVar)
        place.push_back(guard_eq0(substitute(wanted.access.index[d].affine, here.indices) -
                                  position_of(equation.slots[d], indices)));
    place.push_back(domain_guard(equation, indices, false));
    Set part = intersect(rest, holds(guard_all(place), here.s.space));
    if (is_empty(part)) continue;
    if (!same(nest, equation.rhs, part, {here.s, indices, here.reads, here.depth + 1, here.is_exact})) return false;
    rest = subtract(std::move(rest), std::move(part));
  }
  return is_empty(rest);
}

}  // namespace polyweft::poly::checker
