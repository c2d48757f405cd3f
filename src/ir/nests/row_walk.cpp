#include "ir/nests/row_walk.h"

#include <algorithm>

namespace polyweft::ir {
namespace {

template <class Expression>
bool has_variable(const Expression& e, VarId var) {
  std::vector<VarId> used;
  collect_variables(e, used);
  return std::find(used.begin(), used.end(), var) != used.end();
}

}  // namespace

bool mentions(const Affine& e, VarId var) {
  return has_variable(e, var);
}

bool mentions(const Guard& g, VarId var) {
  return has_variable(g, var);
}

Walk walk_of(const Access& access, VarId var) {
  Walk out = Walk::stays;
  for (size_t d = 0; d < access.index.size(); ++d) {
    const Subscript& s = access.index[d];
    if (s.data) return Walk::other;
    if (!mentions(s.affine, var)) continue;
    const Affine rest = s.affine - Affine::variable(var, s.affine.coefficient(var));
    if (d + 1 < access.index.size() || s.affine.coefficient(var) != 1 || mentions(rest, var)) return Walk::other;
    out = Walk::along_rows;
  }
  return out;
}

}  // namespace polyweft::ir
