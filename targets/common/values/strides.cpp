#include "targets/common/values/strides.h"

#include <algorithm>

namespace polyweft::targets {

bool Strides::is_symbolic(BufferId id) const {
  const auto& pieces = nest_.buffers[id].layout.pieces;
  return std::any_of(pieces.begin(), pieces.end(), [](const Piece& piece) { return piece.factor == kSymbolicExtent; });
}

Affine Strides::symbolic_offset(BufferId id, std::vector<Affine> index) {
  const Buffer& buffer = nest_.buffers[id];
  for (const Fold& each : buffer.folds) index[each.dim] = variables_.facts().remainder(index[each.dim], each.window);
  Affine out;
  Row row{id, {}};
  std::string name = std::to_string(id);
  for (size_t d = index.size(); d-- > 0;) {
    if (auto* stride = llvm::dyn_cast<llvm::ConstantInt>(strides_[id][d + 1])) {
      out = out + stride->getSExtValue() * index[d];
    } else if (!(index[d] == Affine::of(0))) {
      row.terms.emplace_back(d, index[d]);
      name += ":" + std::to_string(d) + "," + key_of(index[d]);
    }
  }
  if (row.terms.empty()) return out;
  const auto [found, is_new] = row_numbers_.emplace(name, static_cast<VarId>(kRow + rows_.size()));
  if (is_new) rows_.push_back(std::move(row));
  return out + Affine::variable(found->second);
}

const Strides::Row* Strides::row_of(VarId var) const {
  return var >= kRow && var - kRow < rows_.size() ? &rows_[var - kRow] : nullptr;
}

bool Strides::moves(const Affine& e, VarId var) const {
  std::vector<VarId> used;
  collect_variables(e, used);
  return std::any_of(used.begin(), used.end(), [&](VarId v) {
    if (v == var) return true;
    const Row* row = row_of(v);
    return row &&
           std::any_of(row->terms.begin(), row->terms.end(), [&](const auto& term) { return moves(term.second, var); });
  });
}

}  // namespace polyweft::targets
