#include "poly/boxes.h"

#include <algorithm>

#include "ir/values/output_extents.h"
#include "poly/model.h"

namespace polyweft::poly {
namespace {

Box box_hull(const Set& set, uint32_t rank) {
  Box box{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  if (is_empty(set)) return box;
  for (uint32_t d = 0; d < rank; ++d) {
    box.lo[d] = least(set, d);
    box.hi[d] = greatest(set, d) + 1;
  }
  return box;
}

Box box_of(const Model& model, TensorId id) {
  const Tensor& tensor = model.program().tensors[id];
  if (tensor.kind == TensorKind::local) return box_hull(model.defined(id), tensor.rank);
  Box box{std::vector<int64_t>(tensor.rank, 0), std::vector<int64_t>(tensor.rank, 0)};
  if (tensor.kind == TensorKind::output) return box;  // its extents have another source
  for (uint32_t d = 0; d < tensor.rank; ++d) box.hi[d] = std::max<int64_t>(0, tensor.shape[d].constant);
  return box;
}

}  // namespace

Result<std::vector<Box>> boxes(const Program& bound) {
  const auto extents = ir::output_extents(bound);
  if (!extents) return extents.error();
  Context context;
  Model model(context, bound, Sizes::bound);
  std::vector<Box> out;
  for (TensorId id = 0; id < bound.tensors.size(); ++id) {  // a quota for each: there may be hundreds
    auto box =
        answer(context, kQuota, bound.name + ": box of " + bound.tensors[id].name, [&] { return box_of(model, id); });
    if (!box) return box.error();
    out.push_back(*std::move(box));
  }
  const std::vector<TensorId> outputs = bound.outputs();
  for (size_t k = 0; k < outputs.size(); ++k) out[outputs[k]].hi = (*extents)[k];
  return out;
}

}  // namespace polyweft::poly
