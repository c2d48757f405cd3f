#include "poly/check/sharing.h"

#include <algorithm>

#include "ir/nests/shared_memory.h"
#include "poly/check/views.h"

namespace polyweft::poly::checker {
namespace {

struct Order {
  bool before_all = true;          ///< all accesses of the other buffer come first
  bool after_none_written = true;  ///< or all its writes come later
};

/// Where `write` stands to one access of the other buffer, whose Alloc has `prefix` loops around it.
void place(const Statement& write, const Statement& other, bool writes, size_t prefix, Order& order) {
  if (write.number == other.number) {  // a statement reads before it writes
    const bool is_first = !writes && write.loops.size() <= prefix;
    order.before_all &= is_first;
    order.after_none_written &= !writes;
    return;
  }
  const auto parting = part(other, write);
  const bool known = parting && parting->shared <= prefix;
  order.before_all &= known && parting->first_is_before;
  if (writes) order.after_none_written &= known && !parting->first_is_before;
}

std::string name(const LoopNest& nest, BufferId id) {
  return nest.buffers[id].name;
}

}  // namespace

void prove_apart_in_time(const LoopNest& nest, const Statements& statements, const std::vector<Use>& uses,
                         const std::vector<Use>& results) {
  const auto sharers = ir::sharers_of(nest);
  std::vector<std::vector<Use>> of(nest.buffers.size());
  for (const auto* some : {&uses, &results})
    for (const Use& use : *some) of[use.access->id].push_back(use);
  for (const Use& use : uses) {
    if (!use.writes) continue;
    const Statement& write = statements.all[use.statement];
    for (BufferId other : sharers[use.access->id]) {
      if (write.compute && ir::stays_in_place(nest, *write.compute, other)) continue;
      Order order;
      for (const Use& touched : of[other])
        place(write, statements.all[touched.statement], touched.writes, statements.prefix[other], order);
      if (!order.before_all && !order.after_none_written)
        throw Refuted{"PW0403",
                      name(nest, use.access->id) + " and " + name(nest, other) + " share memory while both are in use"};
    }
  }
}

std::optional<std::vector<Affine>> output_cell(const LoopNest& nest, BufferId output, const Statement& s,
                                               const Access& access) {
  const Buffer &out = nest.buffers[output], &in = nest.buffers[access.id];
  std::vector<Affine> index;
  for (const Coordinate& c : logical_cell(s, access)) {
    if (c.is_interval) return std::nullopt;
    index.push_back(c.first);
  }
  if (access.id == output) return index;
  const auto extents = folded_extents(in);
  const bool is_plain = in.layout.pieces == row_major(extents).pieces &&
                        std::all_of(in.layout.pad.begin(), in.layout.pad.end(), [](int64_t pad) { return pad == 0; });
  if (!is_plain || in.within->at_bytes != 0 || in.type != out.type) return std::nullopt;
  std::vector<Affine> kept;
  std::vector<int64_t> kept_extents;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 1) continue;
    for (const Fold& fold : in.folds)
      if (fold.dim == d && fold.window < in.extents[d]) index[d] = modulo(index[d], fold.window);
    kept.push_back(index[d]);
    kept_extents.push_back(extents[d]);
  }
  std::vector<Affine> cell;
  size_t next = 0;
  for (int64_t extent : out.extents) {
    if (extent != 1 && (next == kept.size() || kept_extents[next] != extent)) return std::nullopt;
    cell.push_back(extent == 1 ? Affine::of(0) : kept[next++]);
  }
  if (next != kept.size()) return std::nullopt;
  return cell;
}

}  // namespace polyweft::poly::checker
