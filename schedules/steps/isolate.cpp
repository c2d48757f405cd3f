// isolate L.1, L.2 in cholesky at j.1 where j - k - 1: tiles of one class have loops of their own.
//
//   for k.1, i.1, j.1: <all statements, point by point>      for k.1, i.1, j.1: if <j > k in the whole tile>: {
//   L.1.far; L.2.far } else <all statements>
//
// Index-set splitting by the position of the tile (T9): where the condition holds at every point of a tile no other
// statement has an instance in it (their greatest value of the condition is negative), so that in these tiles the named
// statements run one after the other, each in any order of its own that the relations allow. Once more at a loop
// further in, of the tiles that are left: S.far2.
#include <algorithm>
#include <set>

#include "schedules/bands.h"
#include "schedules/hulls.h"

namespace polyweft::schedules {
namespace {

/// A condition over the members, as frame and statements number them, and the program's parameters.
Result<Affine> condition_of(const NestTemplate& t, const Band& band, const LinearText& text) {
  Affine out = Affine::of(text.constant);
  for (const auto& [coeff, name] : text.terms) {
    auto member = member_named(t, band, name);
    const auto parameter = std::find_if(t.program.parameters.begin(), t.program.parameters.end(),
                                        [&, n = name](const Parameter& p) { return p.name == n; });
    if (!member && parameter != t.program.parameters.end()) {
      out.constant += coeff * parameter->value;
      continue;
    }
    if (!member) return member.error();
    out = out + coeff * Affine::variable(t.program.index_var(*member));
  }
  return out;
}

/// Its greatest value over the instances of a statement.
int64_t greatest(const NestTemplate& t, const BandPlace& place, const Affine& condition) {
  std::map<VarId, Affine> map;
  for (uint32_t m = 0; m < place.members.size(); ++m) map[t.program.index_var(m)] = place.members[m];
  Equation instances = t.program.equations[place.equation];
  for (const Guard& of_piece : place.piece) instances.where = guard_all({instances.where, of_piece});
  return interval_of(substitute(condition, map), domain_of(t.program, instances).values).hi;
}

}  // namespace

Result<NestTemplate> isolate(NestTemplate t, const IsolateStep& step) {
  const std::string subject = "isolate in " + step.band;
  auto number = band_named(t, step.band);
  if (!number) return number.error();
  const Band& band = t.bands[*number];
  auto depth = depth_of(t.stages[band.frame], step.at);
  if (!depth) return depth.error();
  if (*depth < band.overlap.depth)
    return fail("PW0304", subject + ": tiles inside this loop overlap", {"isolate at a loop further in"});
  std::set<uint32_t> levels;
  for (uint32_t k : alone_in(t, *number)) levels.insert(t.stages[k].placement.depth);
  if (!levels.empty() && *levels.rbegin() >= *depth)
    return fail("PW0304", subject + ": it has tiles apart at this loop or inside it already",
                {"isolate the largest tiles first"});
  std::vector<Affine> conditions;
  for (const LinearText& text : step.where) {
    auto condition = condition_of(t, band, text);
    if (!condition) return condition.error();
    conditions.push_back(std::move(*condition));
  }
  const std::vector<uint32_t> attached_stages = stages_of(t, *number);
  std::vector<char> is_named(attached_stages.size(), 0);
  for (const std::string& name : step.statements) {
    bool found = false;
    for (size_t k = 0; k < attached_stages.size(); ++k)
      if (t.stages[attached_stages[k]].name == name) is_named[k] = found = true;
    if (!found) return fail("PW0302", subject + ": it has no statement '" + name + "'");
  }
  for (size_t k = 0; k < attached_stages.size(); ++k)
    if (!is_named[k] && std::all_of(conditions.begin(), conditions.end(),
                                    [&](const Affine& c) { return greatest(t, band.places[k], c) >= 0; }))
      return fail("PW0306",
                  subject + ": " + t.stages[attached_stages[k]].name + " may have instances where the conditions hold",
                  {"name it too, or choose another condition"});
  std::vector<Stage> far;
  for (size_t k = 0; k < attached_stages.size(); ++k) {
    if (!is_named[k]) continue;
    Stage stage = t.stages[attached_stages[k]];
    stage.name += levels.empty() ? ".far" : ".far" + std::to_string(levels.size() + 1);
    stage.placement.depth = *depth;
    stage.placement.alone = conditions;
    std::map<VarId, Affine> map;
    std::vector<uint32_t> order(stage.placement.ties.size());
    for (auto [own, member] : stage.placement.ties) {
      map[t.program.index_var(member)] = Affine::variable(t.program.index_var(own));
      order[member] = own;
    }
    for (const Affine& condition : conditions) stage.inside.push_back(substitute(condition, map));
    stage.loops = point_loops(t, stage, order);
    far.push_back(std::move(stage));
  }
  t.stages.insert(t.stages.end(), far.begin(), far.end());
  return t;
}

}  // namespace polyweft::schedules
