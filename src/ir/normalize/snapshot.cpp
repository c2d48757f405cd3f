#include "ir/normalize/snapshot.h"

#include <algorithm>

#include "ir/values/scope.h"

namespace polyweft::ir {
namespace {

struct FoundRead {
  const ExprNode* read = nullptr;
  ExprScope scope;
};

/// The read of the tensor with this number, in the order of visit(), and what is in force there. Subscripts that depend
/// on data are read first.
void find(const Expr& e, const ExprScope& scope, TensorId tensor, uint32_t& left, FoundRead& out) {
  if (left == 0) return;
  if (e->op == Op::read && e->access.id == tensor && --left == 0) {
    out = {e.get(), scope};
    return;
  }
  const ExprScope own = e->op == Op::reduce ? inside(scope, e->reduction) : scope;
  for (size_t k = 0; k < e->args.size(); ++k)
    find(e->args[k], e->op == Op::guarded ? under(own, k == 0 ? e->guard : guard_not(e->guard)) : own, tensor, left,
         out);
  for (const Subscript& s : e->access.index)
    if (s.data) find(s.data, own, tensor, left, out);
}

Error malformed_snapshot(const std::string& what) {
  return fail("PW0605", "snapshot: " + what);
}

/// The equation that makes a snapshot; the first with its tensor.
EquationId maker_of(const Program& program, TensorId tensor) {
  for (EquationId q = 0; q < program.equations.size(); ++q)
    if (program.equations[q].targets.front() == tensor) return q;
  PW_CHECK(false);
  return 0;
}

}  // namespace

Result<Program> with_snapshot(const Program& program, const Snapshot& snapshot) {
  if (snapshot.equation >= program.equations.size() || snapshot.tensor >= program.tensors.size() || snapshot.read == 0)
    return malformed_snapshot("of nothing that the program has");
  const std::string subject = "snapshot " + snapshot.name;
  Equation reader = program.equations[snapshot.equation];
  uint32_t left = snapshot.read;
  FoundRead found;
  find(reader.rhs, scope_of(reader), snapshot.tensor, left, found);
  if (!found.read)
    return malformed_snapshot("the statement reads " + program.tensors[snapshot.tensor].name + " less often");
  const Access& access = found.read->access;
  std::vector<VarId> used;
  for (const Subscript& s : access.index) {
    if (s.data || !s.affine.is_linear())
      return fail("PW0308", subject + ": what is read depends on data, or on quotients and clamps");
    collect_variables(s.affine, used);
  }
  const VarId first = program.index_var(0);
  const std::set<VarId> needed = needed_indices(found.scope, least_parameters(program), first, used);
  for (VarId var : needed)
    if (!dimension_of(access, var))
      return fail("PW0308", subject + ": it would hold an element once for each " + reader.index_names[var - first],
                  {"each index that the read or its conditions move with is to be a subscript of its own"});
  Program out = program;
  Tensor tensor;
  tensor.name = snapshot.name;
  tensor.type = found.read->type;
  tensor.rank = static_cast<uint32_t>(needed.size());
  const auto made = static_cast<TensorId>(out.tensors.size());
  out.tensors.push_back(std::move(tensor));
  Equation copies;
  copies.targets = {made};
  copies.index_names = reader.index_names;
  copies.where_defined = reader.where_defined;
  Access own{made, {}};
  for (const IndexRange& range : found.scope.indices) {
    if (needed.count(range.var) == 0) continue;
    copies.slots.push_back({range.var, range.lo, range.hi, {}});
    own.index.push_back({Affine::variable(range.var), nullptr, {}, {}});
  }
  copies.where = guard_all(found.scope.conditions);
  copies.rhs = make_read(found.read->type, access, found.read->where);
  renumber(program, copies);
  const ExprNode* read = found.read;
  reader.rhs = rewrite(reader.rhs, [&](const Expr& node) -> Expr {
    return node.get() == read ? make_read(node->type, own, node->where) : nullptr;
  });
  out.equations[snapshot.equation] = std::move(reader);
  out.equations.push_back(std::move(copies));
  return out;
}

void make_copies(LoopNest& nest, const Program& program, const std::vector<Snapshot>& snapshots) {
  // The last first: it may be a copy of an earlier one.
  for (auto snapshot = snapshots.rbegin(); snapshot != snapshots.rend(); ++snapshot) {
    const auto at = std::find_if(program.tensors.begin(), program.tensors.end(),
                                 [&](const Tensor& t) { return t.name == snapshot->name; });
    const auto made = static_cast<TensorId>(at - program.tensors.begin());
    const EquationId maker = maker_of(program, made);
    const Equation& equation = program.equations[maker];
    const Access& source = equation.rhs->access;
    for (Buffer& buffer : nest.buffers) {
      if (buffer.tensor != made) continue;
      std::map<VarId, Affine> element;
      for (size_t d = 0; d < equation.slots.size(); ++d) element[equation.slots[d].var] = buffer.element[d];
      buffer.tensor = source.id;
      buffer.element.clear();
      for (const Subscript& s : source.index) buffer.element.push_back(substitute(s.affine, element));
    }
    for (Node& node : nest.nodes) {
      const auto* compute = std::get_if<Compute>(&node);
      if (!compute || compute->equation != maker) continue;
      Copy copy;
      copy.dst = compute->dst.front();
      copy.src = compute->rhs.front()->access;
      copy.fill.type = nest.buffers[copy.dst.id].type;
      node = std::move(copy);
    }
  }
}

}  // namespace polyweft::ir
