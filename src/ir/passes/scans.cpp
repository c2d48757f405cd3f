#include "ir/passes/scans.h"

#include <algorithm>

#include "ir/nests/row_walk.h"

namespace polyweft::ir {
namespace {

constexpr int64_t kFewestScanned = 4, kFewestScannedVectors = 2;

/// In different rows, wherever along them.
bool are_other_rows(const Access& a, const Access& b, VarId var) {
  for (size_t d = 0; d < a.index.size() && d < b.index.size(); ++d) {
    if (mentions(a.index[d].affine, var) || mentions(b.index[d].affine, var)) continue;
    const Affine difference = a.index[d].affine - b.index[d].affine;
    if (difference.is_constant() && difference.constant != 0) return true;
  }
  return false;
}

class ScanFinder {
 public:
  ScanFinder(LoopContext& context, VarId var) : context_(context), nest_(context.nest()), var_(var) {}

  /// May the iterations be lanes, but for chains?
  bool goes_along(const std::vector<Statement>& statements, size_t k) {
    const Statement& statement = statements[k];
    if (statement.compute.how != Write::store || statement.stores.size() != 1) return false;
    const Access& dst = statement.stores[0];
    if (step_along(dst) != 1 || !context_.sharers(dst.id).empty()) return false;
    if (std::any_of(dst.index.begin(), dst.index.end(), [](const Subscript& s) { return !s.affine.is_linear(); }))
      return false;
    const Access before = with(dst, var_, Affine::variable(var_) - Affine::of(1));
    const bool has_chain = is_chain(statement, before);
    if (has_chain) chains.push_back(dst);
    for (size_t other = 0; other < statements.size(); ++other) {
      for (const Access& read : statements[other].reads) {
        const bool is_own = other == k && has_chain && is_same_element(read, before);
        if (read.id == dst.id && !is_own && !is_same_element(read, dst) && !are_other_rows(read, dst, var_))
          return false;
      }
      for (const Access& store : statements[other].stores)
        if (store.id == dst.id && !is_same_element(store, dst) && !are_other_rows(store, dst, var_)) return false;
    }
    return std::all_of(statement.reads.begin(), statement.reads.end(), [&](const Access& read) {
      const auto step = step_along(read);
      return step && (*step == 0 || *step == 1);
    });
  }

  std::vector<Access> chains;

 private:
  /// Elements between one value of the variable and the next; nothing where that is not one number.
  std::optional<int64_t> step_along(const Access& access) const {
    const Buffer& buffer = nest_.buffers[access.id];
    if (has_data(access) || buffer.scope == Scope::reg || is_of_units(buffer.scope) || !buffer.shape.empty())
      return std::nullopt;
    std::vector<Affine> index;
    for (const Subscript& s : access.index) index.push_back(s.affine);
    const Affine offset = context_.facts().offset(buffer, index);
    const int64_t step = offset.coefficient(var_);
    return mentions(offset - Affine::variable(var_, step), var_) ? std::nullopt : std::optional(step);
  }

  /// The value without conditions that are decided.
  Expr undecided(const Expr& e) const {
    const auto known = e->op == Op::guarded ? context_.facts().decide(context_.fold(e->guard)) : std::nullopt;
    return known ? undecided(e->args[*known ? 0 : 1]) : e;
  }

  /// Does the statement take one operand of a scanned operation, and nothing else, from the iteration before?
  bool is_chain(const Statement& statement, const Access& before) {
    const VariableValues outside = std::exchange(context_.values(), statement.values);
    const Expr value = undecided(statement.compute.rhs[0]);
    std::vector<Expr> terms;
    if (is_scanned(value->op, value->type) && value->type == nest_.buffers[before.id].type)
      collect_scan_terms(value, value->op, terms);
    const bool is_term = std::any_of(terms.begin(), terms.end(), [&](const Expr& term) {
      return term->op == Op::read && is_same_element(context_.fold(term->access), before);
    });
    context_.values() = outside;
    const auto is_before = [&](const Access& read) { return is_same_element(read, before); };
    return is_term && std::count_if(statement.reads.begin(), statement.reads.end(), is_before) == 1;
  }

  LoopContext& context_;
  const LoopNest& nest_;
  VarId var_;
};

}  // namespace

bool is_scanned(Op op, ElementType type) {
  if (type == ElementType::f16 || type == ElementType::bf16 || type == ElementType::boolean) return false;
  if (op == Op::max || op == Op::min) return true;
  return is_integer(type) &&
         (op == Op::add || op == Op::mul || op == Op::bit_and || op == Op::bit_or || op == Op::bit_xor);
}

void collect_scan_terms(const Expr& e, Op op, std::vector<Expr>& out) {
  if (e->op != op) {
    out.push_back(e);
    return;
  }
  for (const Expr& arg : e->args) collect_scan_terms(arg, op, out);
}

Access with(const Access& access, VarId var, const Affine& value) {
  Access out = access;
  for (Subscript& s : out.index) s.affine = substitute(s.affine, {{var, value}});
  return out;
}

std::optional<Scan> scan_along(LoopContext& context, const Loop& loop, int64_t vector_bits) {
  const auto length = context.constant_length(loop);
  if (context.nest().symbolic || loop.step != 1 || loop.mark.kind != MarkKind::serial || !length) return std::nullopt;
  const ValueFacts outside = context.facts();
  context.enter(loop);
  const auto statements = statements_of(context, loop.body, false);
  Scan out;
  ScanFinder finder(context, loop.var);
  bool fits = statements.has_value();
  int64_t bytes = 1;
  for (size_t k = 0; fits && k < statements->size(); ++k) {
    fits = finder.goes_along(*statements, k);
    for (const auto* accesses : {&(*statements)[k].reads, &(*statements)[k].stores})
      for (const Access& access : *accesses)
        bytes = std::max(bytes, size_bytes(context.nest().buffers[access.id].type));
  }
  context.facts() = outside;
  out.chains = std::move(finder.chains);
  out.lanes = vector_bits / 8 / bytes;
  out.vectors = *length / std::max<int64_t>(out.lanes, 1);
  if (!fits || out.chains.empty() || out.lanes < kFewestScanned || out.vectors < kFewestScannedVectors)
    return std::nullopt;
  return out;
}

}  // namespace polyweft::ir
