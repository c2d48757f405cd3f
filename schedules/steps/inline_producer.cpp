// inline P: every read of P becomes P's right-hand side at the subscripts.
//
//   P[y] = X[y-1] where ..        C = sum P[y+r] * K          C = sum (X[y+r-1] where ..) * K
//
// Legal by T5 (a value may be computed any number of times) and syntactic substitution: the read's point lies in P's
// domain, which the checks of the language proved.
#include <algorithm>

#include "ir/values/exact.h"
#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

/// Sums do not wrap inside a subscript: a producer's value may not be computed there.
bool is_read_in_subscript(const Expr& e, TensorId tensor) {
  bool found = false;
  visit(e, [&](const ExprNode& node) {
    for (const Subscript& s : node.access.index)
      visit(s.data, [&](const ExprNode& inner) { found |= inner.op == Op::read && inner.access.id == tensor; });
  });
  return found;
}

Status check(const NestTemplate& t, uint32_t id, const std::string& subject) {
  const Stage& stage = t.stages[id];
  const Equation& equation = equation_of(t, stage);
  if (stage.reduces) return fail("PW0308", subject + ": it is a reduction", {"use compute_at"});
  if (equation.targets.size() != 1 || definitions(t, equation.targets[0]).size() != 1)
    return fail("PW0308", subject + ": several equations define it");
  if (t.program.tensors[equation.targets[0]].kind != TensorKind::local)
    return fail("PW0308", subject + ": an output is stored");
  if (reads(t, stage, equation.targets[0])) return fail("PW0308", subject + ": it reads itself");
  for (const Slot& slot : equation.slots)
    if (slot.var == kNoVar) return fail("PW0308", subject + ": a slot is not an index");
  if (stage.placement.kind != Placement::Kind::at_root || !used_depths(t, id).empty())
    return fail("PW0304", subject + ": it is placed already");
  for (const Stage& reader : t.stages)
    for (const Access& access : reads_of(t, reader, equation.targets[0]))
      for (const Subscript& s : access.index)
        if (s.data) return fail("PW0308", subject + ": " + reader.name + " reads it at a place that the data choose");
  for (const Stage& reader : t.stages)
    if (ir::is_exact_operator(*equation.rhs) && is_read_in_subscript(equation_of(t, reader).rhs, equation.targets[0]))
      return fail("PW0308", subject + ": " + reader.name + " reads it inside a subscript, where integers do not wrap");
  return Ok{};
}

/// The producer's value at the subscripts of a read.
Expr value_at(const Program& program, const Equation& producer, const Access& access) {
  std::map<VarId, Affine> map;
  for (size_t d = 0; d < producer.slots.size(); ++d) map[producer.slots[d].var] = access.index[d].affine;
  (void)program;
  return substitute(producer.rhs, map);
}

}  // namespace

Result<NestTemplate> inline_producer(NestTemplate t, const InlineStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  if (auto status = check(t, *id, "inline " + step.statement); !status) return status.error();
  const Equation producer = equation_of(t, t.stages[*id]);
  TensorId tensor = producer.targets[0];
  for (Stage& reader : t.stages) {
    Equation& equation = t.program.equations[reader.equation];
    equation.rhs = rewrite(equation.rhs, [&](const Expr& e) -> Expr {
      return e->op == Op::read && e->access.id == tensor ? value_at(t.program, producer, e->access) : nullptr;
    });
    std::erase_if(reader.promotions, [&](const Promotion& promotion) { return promotion.tensor == tensor; });
  }
  t.stages[*id].placement.kind = Placement::Kind::inlined;
  return t;
}

}  // namespace polyweft::schedules
