#include "schedules/sketches/neighbours.h"

#include <algorithm>
#include <map>

namespace polyweft::schedules {

Affine coordinate(const Slot& slot) {
  return slot.var == kNoVar ? slot.position : Affine::variable(slot.var);
}

std::optional<std::vector<Affine>> members_at(const Program& program, const poly::BandProposal& proposal,
                                              TensorId tensor, const std::vector<Affine>& element) {
  const BandPlace* widest = nullptr;
  for (const BandPlace& place : proposal.statements) {
    const auto& targets = program.equations[place.equation].targets;
    const bool writes = std::count(targets.begin(), targets.end(), tensor) > 0;
    if (writes && (!widest || program.equations[place.equation].index_names.size() >
                                  program.equations[widest->equation].index_names.size()))
      widest = &place;
  }
  if (!widest) return std::nullopt;
  const Equation& equation = program.equations[widest->equation];
  std::map<VarId, Affine> at;
  for (size_t d = 0; d < equation.slots.size(); ++d)
    if (equation.slots[d].var != kNoVar) at[equation.slots[d].var] = element[d];
  std::vector<Affine> out;
  for (const Affine& member : widest->members) {
    for (const Term& term : member.terms)
      if (term.quasi || (term.var >= program.index_var(0) && !at.count(term.var))) return std::nullopt;
    out.push_back(substitute(member, at));
  }
  return out;
}

std::optional<std::pair<TensorId, std::vector<Affine>>> element_read(const Equation& equation,
                                                                     const std::set<TensorId>& tensors) {
  std::optional<std::pair<TensorId, std::vector<Affine>>> out;
  bool is_one = true;
  visit(equation.rhs, [&](const ExprNode& e) {
    if (e.op != Op::read || !tensors.count(e.access.id)) return;
    std::vector<Affine> element;
    for (const Subscript& s : e.access.index) {
      is_one &= !s.data && s.affine.is_linear();
      element.push_back(s.affine);
    }
    is_one &= !out || *out == std::pair(e.access.id, element);
    out = {e.access.id, std::move(element)};
  });
  return is_one ? out : std::nullopt;
}

std::set<TensorId> tensors_of(const Program& program, const poly::BandProposal& proposal) {
  std::set<TensorId> out;
  for (const BandPlace& place : proposal.statements)
    out.insert(program.equations[place.equation].targets.begin(), program.equations[place.equation].targets.end());
  return out;
}

}  // namespace polyweft::schedules
