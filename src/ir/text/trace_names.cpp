#include "ir/text/trace_names.h"

#include <algorithm>

namespace polyweft::ir {

std::string name_in_traces(const Program& program, EquationId equation) {
  const auto& targets = program.equations[equation].targets;
  auto written = std::find_if(targets.begin(), targets.end(), [&](TensorId id) { return !program.tensors[id].hidden; });
  const TensorId target = written == targets.end() ? targets.front() : *written;
  int number = 0, count = 0;
  for (EquationId q = 0; q < program.equations.size(); ++q) {
    const auto& others = program.equations[q].targets;
    if (std::find(others.begin(), others.end(), target) == others.end()) continue;
    ++count;
    if (q <= equation) ++number;
  }
  return program.tensors[target].name + (count > 1 ? "@" + std::to_string(number) : "");
}

namespace {

LinearText linear_text(const Program& program, const Affine& e, const std::vector<std::string>& names) {
  LinearText out;
  out.constant = e.constant;
  for (const Term& term : e.terms) {
    if (term.var < program.index_var(0))
      out.constant += term.coeff * program.parameters[term.var].value;
    else
      out.terms.emplace_back(term.coeff, names[term.var]);
  }
  return out;
}

}  // namespace

std::string suffix_of(SumPart part) {
  return part == SumPart::first ? ".first" : part == SumPart::folds ? ".folds" : "";
}

BandStep band_step(const Program& program, const std::vector<BandPlace>& statements,
                   const std::vector<std::string>& members, const std::string& name) {
  BandStep out;
  out.name = name;
  out.members = members;
  std::vector<std::pair<EquationId, SumPart>> done;
  for (const BandPlace& statement : statements) {
    if (std::find(done.begin(), done.end(), std::pair(statement.equation, statement.part)) != done.end()) continue;
    done.emplace_back(statement.equation, statement.part);
    const std::vector<std::string> names = variable_names(program, program.equations[statement.equation]);
    out.statements.push_back({name_in_traces(program, statement.equation) + suffix_of(statement.part), {}});
    for (const Affine& member : statement.members)
      out.statements.back().members.push_back(linear_text(program, member, names));
  }
  return out;
}

}  // namespace polyweft::ir
