#include "poly/check/shadows.h"

#include <algorithm>
#include <map>

namespace polyweft::poly::checker {
namespace {

Set without_divisions(Set s) {
  return Set(isl_set_from_basic_set(isl_set_simple_hull(s.take())));
}

size_t common(const std::vector<NodeId>& a, const std::vector<NodeId>& b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

/// { [loops, cell] of the writer -> [loops, cell] of the reader }
Map pairs_of(const Set& writer, const Set& reader, size_t writer_loops, size_t reader_loops,
             const CellRelation& cells) {
  Map pairs(isl_map_from_domain_and_range(writer.copy(), reader.copy()));
  const size_t coordinates = static_cast<size_t>(size(isl_set_dim(reader.get(), isl_dim_set))) - reader_loops;
  for (size_t x = 0; x < coordinates; ++x) {
    const int own = static_cast<int>(writer_loops + x), theirs = static_cast<int>(reader_loops + x);
    if (x != cells.later) {
      pairs = Map(isl_map_equate(pairs.take(), isl_dim_in, own, isl_dim_out, theirs));
      continue;
    }
    isl_constraint* apart = isl_constraint_alloc_inequality(isl_local_space_from_space(isl_map_get_space(pairs.get())));
    apart = isl_constraint_set_coefficient_si(apart, isl_dim_in, own, 1);
    apart = isl_constraint_set_coefficient_si(apart, isl_dim_out, theirs, -1);
    apart = isl_constraint_set_constant_val(apart, isl_val_int_from_si(isl_map_get_ctx(pairs.get()), -cells.by));
    pairs = Map(isl_map_add_constraint(pairs.take(), apart));
  }
  return pairs;
}

}  // namespace

bool OuterOrder::may_be_before() const {
  return std::any_of(before.begin(), before.end(), [](bool b) { return b; });
}

std::vector<WriterGroup> groups_of(const std::vector<View>& writers) {
  std::map<NodeId, WriterGroup> by_loop;
  for (size_t k = 0; k < writers.size(); ++k) {
    const std::vector<NodeId>& loops = writers[k].s->loops;
    if (loops.empty()) continue;
    WriterGroup& group = by_loop[loops[0]];
    if (group.writers.empty()) group.loops = loops;
    group.loops.resize(common(group.loops, loops));
    group.writers.push_back(k);
  }
  std::vector<WriterGroup> out;
  for (auto& [loop, group] : by_loop)
    if (group.writers.size() > 1) out.push_back(std::move(group));
  for (WriterGroup& group : out) {
    for (size_t k : group.writers) {
      Set one = shadow_of(writers[k], group.loops.size());
      group.shadow = group.shadow ? unite(*std::move(group.shadow), std::move(one)) : std::move(one);
    }
    group.shadow = without_divisions(*std::move(group.shadow));
  }
  return out;
}

size_t shared_loops(const WriterGroup& group, const Statement& reader) {
  return common(group.loops, reader.loops);
}

Set shadow_of(const View& view, size_t depth) {
  std::vector<Affine> at;
  for (VarId m = 0; m < depth; ++m) at.push_back(Affine::variable(m));
  at.insert(at.end(), view.cell.begin(), view.cell.end());
  const Set iterations(isl_set_remove_divs(view.s->domain.copy()));
  return without_divisions(Set(isl_set_remove_divs(apply(iterations, map_of(view.s->space, at, "O")).take())));
}

OuterOrder outer_order(const WriterGroup& group, const Set& reader_shadow, size_t depth, const CellRelation& cells,
                       First first) {
  Map pairs = pairs_of(*group.shadow, reader_shadow, group.loops.size(), depth, cells);
  OuterOrder out;
  for (int level = 0; level < static_cast<int>(depth); ++level) {
    const auto ordered = first == First::writer ? isl_map_order_lt : isl_map_order_gt;
    out.before.push_back(!is_empty(Map(ordered(pairs.copy(), isl_dim_in, level, isl_dim_out, level))));
    pairs = Map(isl_map_equate(pairs.take(), isl_dim_in, level, isl_dim_out, level));
  }
  out.may_be_equal = !is_empty(pairs);
  return out;
}

}  // namespace polyweft::poly::checker
