// Symbolic nests: sizes are values of the function, strides are products of them. What of an offset no affine
// expression holds (an index times a stride) becomes a variable of its own, so that the rest of code generation sees
// affine offsets: a row's start and a constant stride along it.
#include "targets/common/nest_code.h"

namespace polyweft::targets {

/// Binds the sizes to `values` and computes the strides, where the builder stands.
void NestCode::open_sizes(const std::vector<llvm::Value*>& values) {
  for (VarId p = 0; p < nest_.params.size(); ++p) {
    substitution_.erase(p);
    VarFacts facts{-kLargestSize, kLargestSize, 1};
    for (const Guard& g : nest_.assumptions)
      if (g.kind == Guard::Kind::ge0 && g.e.terms.size() == 1 && g.e.coefficient(p) == 1)
        facts.lo = std::max(facts.lo, -g.e.constant);
    bind_variable(p, values[p], facts);
  }
  compute_strides();
}

void NestCode::compute_strides() {
  strides_.assign(nest_.buffers.size(), {});
  for (BufferId id = 0; id < nest_.buffers.size(); ++id) {
    const Buffer& buffer = nest_.buffers[id];
    const std::vector<int64_t> extents = folded_extents(buffer);
    llvm::Value* stride = b_.getInt64(1);
    strides_[id].resize(extents.size() + 1);
    for (size_t d = extents.size(); d-- > 0;) {
      strides_[id][d + 1] = stride;
      llvm::Value* extent = b_.getInt64(static_cast<uint64_t>(extents[d]));
      if (extents[d] == kSymbolicExtent)
        extent = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, integer(fold(buffer.shape[d])), b_.getInt64(0));
      stride = b_.CreateMul(stride, extent);
    }
    strides_[id][0] = stride;  // all elements
  }
}

bool NestCode::is_symbolic(BufferId id) const {
  const auto& pieces = nest_.buffers[id].layout.pieces;
  return std::any_of(pieces.begin(), pieces.end(), [](const Piece& piece) { return piece.factor == kSymbolicExtent; });
}

/// Affine along the dimensions whose strides are numbers, a row variable for the others.
Affine NestCode::symbolic_offset(BufferId id, std::vector<Affine> index) {
  const Buffer& buffer = nest_.buffers[id];
  for (const Fold& each : buffer.folds) index[each.dim] = facts_.remainder(index[each.dim], each.window);
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

const NestCode::Row* NestCode::row_of(VarId var) const {
  return var >= kRow && var - kRow < rows_.size() ? &rows_[var - kRow] : nullptr;
}

llvm::Value* NestCode::row_start(const Row& row) {
  llvm::Value* sum = nullptr;
  for (const auto& [dim, index] : row.terms) {
    std::vector<llvm::Value*> factors = {integer(index), strides_[row.buffer][dim + 1]};
    scalar_.unify(factors);
    llvm::Value* product = b_.CreateMul(factors[0], factors[1]);
    if (!sum) {
      sum = product;
      continue;
    }
    std::vector<llvm::Value*> both = {sum, product};
    scalar_.unify(both);
    sum = b_.CreateAdd(both[0], both[1]);
  }
  return sum;
}

/// Does e change with the variable, by way of rows too?
bool NestCode::moves(const Affine& e, VarId var) const {
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
