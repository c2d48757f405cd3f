#include "ir/instantiate/body.h"

#include <algorithm>

#include "ir/instantiate/conditions.h"

namespace polyweft::ir {

bool is_null_reduction(const Body& body) {
  if (!body.stage->reduces) return false;
  for (uint32_t k = body.stage->data_indices; k < body.stage->lo.size(); ++k)
    if (body.stage->hi[k] <= body.stage->lo[k]) return true;
  return false;
}

bool has_no_elements(const Body& body) {
  for (uint32_t k = 0; k < body.ranges.size(); ++k)
    if (body.ranges[k].extent == 0 && (k < body.stage->data_indices || !body.stage->reduces)) return true;
  return false;
}

bool all_register_from(const Body& body, size_t depth) {
  return std::all_of(body.from(depth), body.loops.end(),
                     [](const SizedLoop& loop) { return loop.is_determined || loop.is_register(); });
}

int64_t whole_lanes(const Body& body, uint32_t index) {
  int64_t out = std::max<int64_t>(1, body.ranges[index].extent);
  for (const SizedLoop& loop : body.loops)
    if (loop.index == index && loop.mark == MarkKind::vector) out = (out + loop.lanes - 1) / loop.lanes * loop.lanes;
  return out;
}

std::map<VarId, Affine> coordinates(const Body& body) {
  std::map<VarId, Affine> out;
  for (uint32_t k = 0; k < body.ranges.size(); ++k) out[body.index_var(k)] = body.ranges[k].origin;
  return out;
}

std::vector<Affine> element_of(const Body& body, const std::map<VarId, Affine>& map) {
  std::vector<Affine> out;
  for (const Slot& slot : body.equation->slots)
    out.push_back(slot.var == kNoVar ? substitute(slot.position, map) : map.at(slot.var));
  return out;
}

Body without_sum(const Body& body, size_t depth, Leaf leaf) {
  Body data = body;
  data.leaf = leaf;
  data.loops.clear();
  for (size_t k = depth; k < body.loops.size(); ++k)
    if (!body.loops[k].reduced) data.loops.push_back(body.loops[k]);
  for (size_t k = 0; k < data.done.size(); ++k)
    if (mentions_reduced(body, body.conditions()[k])) data.done[k] = 1;
  return data;
}

}  // namespace polyweft::ir
