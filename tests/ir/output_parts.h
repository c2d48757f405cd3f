// Programs that need parts of what they define.
#pragma once

#include <algorithm>
#include <random>

#include "ir/values/output_extents.h"

namespace polyweft::ir {

/// Outputs become locals, of which new outputs read some elements, rows or corners.
inline Program with_parts_for_outputs(Program program, std::mt19937_64& rng) {
  for (TensorId id : program.outputs()) {
    const auto extents = output_extents(program, id);
    if (!extents || program.tensors[id].partial || std::find(extents->begin(), extents->end(), 0) != extents->end())
      continue;
    program.tensors[id].kind = TensorKind::local;
    const TensorId part = static_cast<TensorId>(program.tensors.size());
    Tensor tensor = program.tensors[id];
    tensor.name = "part" + std::to_string(id);
    tensor.kind = TensorKind::output;
    Equation equation;
    const auto one_read = [&](bool binds) {
      Access access{id, {}};
      for (size_t d = 0, slot = 0; d < extents->size(); ++d) {
        const int64_t extent = (*extents)[d];
        Affine at = Affine::of(static_cast<int64_t>(rng() % static_cast<uint64_t>(extent)));
        if (binds && rng() % 3 != 0) {
          const VarId var = program.index_var(static_cast<uint32_t>(equation.slots.size()));
          equation.index_names.push_back("i" + std::to_string(d));
          equation.slots.push_back(
              {var, Affine::of(0), Affine::of(rng() % 2 ? std::min<int64_t>(extent, 2) : extent), {}});
        }
        if (slot < equation.slots.size())
          at = rng() % 4 ? Affine::variable(equation.slots[slot].var)
                         : modulo(Affine::variable(equation.slots[slot].var), 2),
          ++slot;
        const bool may_leave = !at.is_constant() && equation.slots[slot - 1].hi.constant > extent;
        access.index.push_back({may_leave ? clamp(at, Affine::of(0), Affine::of(extent - 1)) : at, nullptr, {}, {}});
        if (!at.is_constant() && extent < 2) access.index.back().affine = Affine::of(0);
      }
      return make_read(tensor.type, access);
    };
    equation.rhs = one_read(true);
    if (rng() % 3 == 0 && tensor.type != ElementType::boolean)
      equation.rhs = make_op(Op::max, tensor.type, {equation.rhs, one_read(false)});
    tensor.rank = static_cast<uint32_t>(equation.slots.size());
    equation.targets = {part};
    program.tensors.push_back(tensor);
    program.equations.push_back(std::move(equation));
  }
  return program;
}

}  // namespace polyweft::ir
