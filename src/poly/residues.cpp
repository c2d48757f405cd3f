#include "poly/residues.h"

#include <numeric>

namespace polyweft::poly {
namespace {

constexpr int64_t kGreatestStep = int64_t{1} << 30;  // so that no product or sum here leaves 64 bits
constexpr int64_t kGreatestOffset = int64_t{1} << 60;

/// Nothing is said where the numbers are beyond the limits.
Residue residue(int64_t step, __int128 offset) {
  if (step > kGreatestStep || offset > kGreatestOffset || offset < -kGreatestOffset) return {};
  auto number = static_cast<int64_t>(offset);
  if (step != 0) number = ((number % step) + step) % step;
  return {step, number};
}

Affine without(const Affine& e, VarId var) {
  return e - Affine::variable(var, e.coefficient(var));
}

/// What e == 0 says of each variable that stands there once: v = -(rest) or v = rest.
void refine(const Affine& e, std::vector<Residue>& variables) {
  for (const Term& term : e.terms) {
    if (term.quasi || term.var >= variables.size() || (term.coeff != 1 && term.coeff != -1)) continue;
    const Residue rest = residue_of(without(e, term.var), variables);
    const Residue found = residue(rest.step, static_cast<__int128>(-term.coeff) * rest.offset);
    Residue& known = variables[term.var];
    if (known.step != 0 && (found.step == 0 || found.step > known.step)) known = found;
  }
}

void refine(const Guard& g, std::vector<Residue>& variables) {
  if (g.kind == Guard::Kind::eq0) refine(g.e, variables);
  if (g.kind != Guard::Kind::all) return;
  for (const Guard& each : g.of) refine(each, variables);
}

}  // namespace

bool may_be_equal(const Residue& a, const Residue& b) {
  const int64_t step = std::gcd(a.step, b.step);
  if (step == 0) return a.offset == b.offset;
  return (a.offset % step + step) % step == (b.offset % step + step) % step;
}

Residue residue_of(const Affine& e, const std::vector<Residue>& variables) {
  int64_t step = 0;
  __int128 offset = e.constant;
  for (const Term& term : e.terms) {
    const Residue of = term.quasi || term.var >= variables.size() ? Residue{} : variables[term.var];
    const __int128 times = static_cast<__int128>(term.coeff) * of.step;
    if (times > kGreatestOffset || times < -kGreatestOffset) return {};
    step = std::gcd(step, static_cast<int64_t>(times));
    offset += static_cast<__int128>(term.coeff) * of.offset;
  }
  return residue(step, offset);
}

std::vector<Residue> residues_of(const Program& program, const Equation& equation) {
  std::vector<Residue> out(program.index_var(static_cast<uint32_t>(equation.index_names.size())));
  refine(equation.where, out);
  return out;
}

}  // namespace polyweft::poly
